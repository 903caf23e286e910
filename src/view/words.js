// What the panel says of a search in words.

const SEARCHES = {
  bwas: "batch-weighted A*",
  beam: "beam search",
  astar: "A*",
  idastar: "iterative-deepening A*",
  nbs: "bidirectional A*",
  "best-first": "best-first search",
  bfs: "breadth-first search",
  bidirectional: "breadth-first search from both ends",
  random: "a random walk",
  exhaustive: "exhaustive search",
};

// What was done, in words: which search with which estimate, and how much is known exactly.
function chosen({ search, heuristic, model, config }, byAuto) {
  const asked = byAuto ? "auto chose " : "";
  const width = config.n ? `, ${new Intl.NumberFormat("en").format(config.n)} ${search === "beam" ? "wide" : "nodes a step"}` : "";
  const by = model ? `, led by the network ${model}` : heuristic ? `, led by ${heuristic}` : "";
  const known = config.perimeter ? `; distances are exact within ${config.perimeter} moves of the goal` : "";
  const images = config.symmetries ? `, on ${config.symmetries} symmetric images` : "";
  const text = `${asked}${SEARCHES[search] ?? search}${width}${images}${by}${known}`;
  return text[0].toUpperCase() + text.slice(1);
}

const WHY = {
  width: "Not solved: the beam is empty, and a wider one goes further",
  moves: "Not solved: the walk has made all its 10,000 moves",
  time: "Not solved: the time is up",
  nodes: "Not solved: the nodes are used up",
  memory: "Not solved: the memory is used up",
  stopped: "Stopped before an answer was found",
  "no solution": "There is no solution: every state that can be reached was seen",
};

const secondsOf = ({ seconds }) => `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`;
const lengthOf = ({ length, playback }) => playback?.counted ?? `${length} ${length === 1 ? "move" : "moves"}`;

// Texts of the panel about a search.

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
  reduction: "reduction to a 3×3×3",
};

// The search in words: its name and settings, the estimate, and the perimeter.
function chosen({ search, heuristic, model, config }, byAuto) {
  const prefix = byAuto ? "auto chose " : "";
  const width = config.n ? `, ${new Intl.NumberFormat("en").format(config.n)} ${["beam", "reduction"].includes(search) ? "wide" : "nodes a step"}` : "";
  const by = model ? `, led by the network ${model}` : heuristic ? `, led by ${heuristic}` : "";
  const known = config.perimeter ? `; distances are exact within ${config.perimeter} moves of the goal` : "";
  const images = config.symmetries ? `, on ${config.symmetries} symmetric images` : "";
  const text = `${prefix}${SEARCHES[search] ?? search}${width}${images}${by}${known}`;
  return capitalized(text);
}

const capitalized = (text) => text[0].toUpperCase() + text.slice(1);

const secondsOf = ({ seconds }) => `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`;
const lengthOf = ({ length, playback }) => playback?.counted ?? `${length} ${length === 1 ? "move" : "moves"}`;

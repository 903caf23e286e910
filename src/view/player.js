// The player: where it is, what moves, and what the keys, buttons and fingers do.
//
// A program (a test, or a server's page) speaks to it through window.costar:
//   load(playback)   shows another playback: the object in this page's element #playback is one
//   state()          { puzzle, position, moves, scramble, move, state, solved, playing, moving, verdict }: how many moves
//                    are made, of how many, how many of them the scramble; the last one made; the state in costar's own
//                    notation, from the moves that this page has played; whether it counts as solved (null: unknown);
//                    verdict: { solved, agrees, illegal, differs, independent } as `played` in rules.js gives it
//   go(position)     shows the state after so many moves
//   play(), pause()

const TURN_MILLISECONDS = 460;
const FIRST_VIEW = { yaw: -33, pitch: 27 };
const element = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

let playback; // what was loaded
let run; // what `played` gave for it
let at = 0; // moves made, when the one on its way is there
let way = null; // a move on its way: { from, to, begun, milliseconds }
let playing = false;
let view = { ...FIRST_VIEW };
let viewGoal = null; // where the view turns to
let look;
let waiting = false; // for the next frame

const kind = () => KINDS[playback.pictures[0].kind];
const isCube = () => playback.pictures[0].kind === "cube";
const end = () => run.pictures.length - 1;

function load(loaded) {
  playback = loaded;
  run = played(playback);
  [at, way, playing, view, viewGoal] = [0, null, false, { ...FIRST_VIEW }, null];
  document.body.dataset.kind = playback.pictures[0].kind;
  const drawn = playback.pictures[0].kind in DRAWINGS;
  element("board").hidden = !drawn;
  element("text").hidden = drawn;
  element("scrubber").max = end();
  element("scrubber").style.setProperty("--split", share(Math.min(playback.scramble, end())));
  element("notation").textContent = kind().notation;
  showVerdict();
  showMoves();
  arrive();
}

const share = (position) => (end() === 0 ? "0%" : `${(100 * position) / end()}%`);

function go(position) {
  [at, way] = [Math.max(0, Math.min(end(), Math.round(position))), null];
  arrive();
}

function step(by) {
  const to = at + by;
  if (to < 0 || to > end()) return;
  if (calm.matches && !playing) return go(to);
  const speed = Number(element("speed").value);
  const hurry = Math.min(at, to) < playback.scramble ? 0.55 : 1;
  way = { from: at, to, begun: performance.now(), milliseconds: (TURN_MILLISECONDS * hurry) / speed };
  at = to;
  arrive();
}

function play() {
  if (end() === 0) return;
  if (at === end()) go(0);
  playing = true;
  step(1);
}

function pause() {
  playing = false;
  arrive();
}

// Shows where the player is now.
function arrive() {
  showNow();
  markMoves();
  const scrubber = element("scrubber");
  scrubber.value = at;
  scrubber.style.setProperty("--done", share(at));
  scrubber.setAttribute("aria-valuetext", `${at} of ${end()} moves`);
  for (const [id, off] of [["first", at === 0], ["back", at === 0], ["forward", at === end()], ["last", at === end()]]) {
    element(id).setAttribute("aria-disabled", off);
  }
  const button = element("play");
  button.classList.toggle("playing", playing);
  button.setAttribute("aria-label", playing ? "Pause" : "Play");
  button.setAttribute("aria-disabled", end() === 0);
  element("now").setAttribute("aria-live", playing ? "off" : "polite");
  element("board").setAttribute("aria-label", kind().words(run.pictures[at]));
  element("text").setAttribute("aria-label", kind().words(run.pictures[at]));
  redraw();
}

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame((now) => {
    waiting = false;
    frame(now);
  });
}

function frame(now) {
  if (viewGoal) turnTowardsGoal();
  const made = way ? Math.max(0, (now - way.begun) / way.milliseconds) : 1;
  if (way && made >= 1) {
    way = null;
    if (playing && at < end()) return step(1);
    if (playing) pause();
  }
  draw(way ? eased(made) : 1);
  if (way || viewGoal) redraw();
}

const eased = (share) => (calm.matches ? 0 : share < 0.5 ? 4 * share ** 3 : 1 - 4 * (1 - share) ** 3);

function draw(made) {
  const canvas = element("board");
  if (canvas.hidden) {
    element("text").textContent = kind().text(run.pictures[at]);
    return;
  }
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  // Back is the same way, the other way round.
  const [low, high] = way ? [Math.min(way.from, way.to), Math.max(way.from, way.to)] : [at, at];
  const fraction = !way ? 0 : way.to > way.from ? made : 1 - made;
  const [before, after] = [run.pictures[low], run.pictures[high]];
  const move = way ? playback.moves[low] : null;
  look.letters = element("letters").checked;
  DRAWINGS[before.kind]({ context, width, height, before, after, move, fraction, look, view, goals: playback.goals });
}

function turnTowardsGoal() {
  const gap = { yaw: viewGoal.yaw - view.yaw, pitch: viewGoal.pitch - view.pitch };
  const near = calm.matches || Math.hypot(gap.yaw, gap.pitch) < 0.4;
  view = near ? { ...viewGoal } : { yaw: view.yaw + gap.yaw * 0.18, pitch: view.pitch + gap.pitch * 0.18 };
  if (near) viewGoal = null;
}

function turnView(yaw, pitch) {
  viewGoal = null;
  view = { yaw: view.yaw + yaw, pitch: Math.max(-89, Math.min(89, view.pitch + pitch)) };
  redraw();
}

// Behind, or back at the first view.
function viewFrom(behind) {
  element("behind").setAttribute("aria-pressed", behind);
  view.yaw = ((view.yaw % 360) + 540) % 360 - 180;
  viewGoal = behind ? { yaw: FIRST_VIEW.yaw + 180, pitch: -FIRST_VIEW.pitch } : { ...FIRST_VIEW };
  redraw();
}

const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

function showVerdict() {
  const length = playback.moves.length - playback.scramble;
  const { solved, agrees, illegal, differs, independent } = run;
  const both = independent
    ? "This page and costar came to this separately."
    : "costar has played the moves.";
  let [word, sign, text] = ["wrong", "✘ Wrong", ""];
  if (!agrees) {
    const where = differs === null ? "about the last state" : `after move ${differs}`;
    text = `This page and costar disagree ${where}: this is a bug in one of them, and nothing is proven here.`;
  } else if (illegal !== null) {
    text = `Move ${illegal - playback.scramble} of the solution, ${playback.moves[illegal - 1]}, cannot be made where it stands. ${both}`;
  } else if (solved) {
    [word, sign] = ["right", "✔ Solved"];
    text = `${length === 0 ? "No move is needed." : `in ${plural(length, "move")}.`} ${both}`;
  } else {
    text = `After ${plural(length, "move")}, the puzzle is not solved. ${both}`;
  }
  const verdict = element("verdict");
  verdict.className = word;
  verdict.replaceChildren(made("strong", sign), " ", text);
  const title = titleOf(playback.puzzle);
  element("title").textContent = title;
  document.title = `${sign.slice(0, 1)} ${title} – costar`;
}

function titleOf(puzzle) {
  const [, word, number] = /^([a-z]+)(\d+)$/.exec(puzzle) ?? [];
  if (puzzle === "cube3") return "Rubik’s Cube";
  if (puzzle === "cube2") return "2×2×2 cube";
  if (word === "puzzle") return `${number}-puzzle`;
  if (word === "lightsout") return `Lights Out ${number} × ${number}`;
  return puzzle.startsWith("jugs:") ? `Water jugs ${puzzle.slice(5).replaceAll(",", ", ")}` : puzzle;
}

function made(tag, text, attributes = {}) {
  const created = document.createElement(tag);
  created.textContent = text;
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  return created;
}

// The list of moves: the scramble's, or the instance as it was written, and the solution's.
function showMoves() {
  const { moves, scramble, instance } = playback;
  const parts = scramble > 0 ? [listOf("Scramble", 0, scramble)] : [made("h2", "Instance"), made("p", instance || "the start", { class: "instance" })];
  parts.push(listOf("Solution", scramble, moves.length));
  element("moves").replaceChildren(...parts);
}

function listOf(name, from, to) {
  const part = document.createElement("div");
  part.append(made("h2", `${name} (${to - from})`));
  const list = made("ol", "", { "aria-label": `Moves of the ${name.toLowerCase()}` });
  for (let i = from; i < to; i++) {
    const label = `${playback.moves[i]}, move ${i - from + 1} of the ${name.toLowerCase()}`;
    const button = made("button", playback.moves[i], { type: "button", "data-position": i + 1, "aria-label": label, tabindex: -1 });
    if (i + 1 > end()) button.setAttribute("aria-disabled", true);
    if (i + 1 === run.illegal) button.classList.add("illegal");
    const item = document.createElement("li");
    item.append(button);
    list.append(item);
  }
  part.append(list);
  return part;
}

// Marks the move that is being made, or was made last, and those before it.
function markMoves() {
  const list = element("moves");
  for (const button of list.querySelectorAll("[data-position]")) {
    const position = Number(button.dataset.position);
    const current = position === (way ? Math.max(way.from, way.to) : at);
    button.classList.toggle("made", position <= at);
    button.tabIndex = current || (at === 0 && position === 1) ? 0 : -1;
    if (!current) {
      button.removeAttribute("aria-current");
      continue;
    }
    button.setAttribute("aria-current", "step");
    const [shown, outer] = [button.getBoundingClientRect(), list.getBoundingClientRect()];
    if (shown.top < outer.top + 40) list.scrollTop += shown.top - outer.top - 40;
    if (shown.bottom > outer.bottom - 12) list.scrollTop += shown.bottom - outer.bottom + 12;
  }
}

function showNow() {
  const number = way ? Math.max(way.from, way.to) : at;
  const { moves, scramble } = playback;
  const now = element("now");
  if (number === 0) {
    now.replaceChildren(scramble > 0 ? "Before the scramble" : "The instance");
    return;
  }
  const move = moves[number - 1];
  const [part, first, count] = number <= scramble ? ["Scramble", 0, scramble] : ["Solution", scramble, moves.length - scramble];
  const meaning = kind().meaning(move, run.pictures[number - 1]);
  now.replaceChildren(`${part} ${number - first} of ${count}: `, made("strong", move), meaning && ` – ${meaning}`);
}

function state() {
  const picture = run.pictures[at];
  const solved = kind().solved(picture, playback.goals) ?? (at === playback.moves.length ? run.solved : null);
  const { pictures, ...verdict } = run;
  return {
    puzzle: playback.puzzle,
    position: at,
    moves: playback.moves.length,
    scramble: playback.scramble,
    move: at > 0 ? playback.moves[at - 1] : null,
    state: kind().text(picture),
    solved,
    playing,
    moving: way !== null,
    verdict,
  };
}

// The page's colours, for the canvas.
function readLook() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["accent", "frame", "tile", "night", "muted", "focus", "glass", "water", "ink", "goal", "wall", "crate", "plastic", "shadow"];
  look = Object.fromEntries(names.map((name) => [name, read(name)]));
  Object.assign(look, { onAccent: read("on-accent"), onTile: read("on-tile"), crateHome: read("crate-home"), waterEdge: read("water-edge") });
  Object.assign(look, { lampOn: read("lamp-on"), lampOff: read("lamp-off"), lampCore: read("lamp-core") });
  look.stickers = Object.fromEntries(FACES.map((face) => [face, read(`sticker-${face.toLowerCase()}`)]));
  look.palette = read("palette").split(/\s+/);
}

function faster(by) {
  const speed = element("speed");
  speed.selectedIndex = Math.max(0, Math.min(speed.length - 1, speed.selectedIndex + by));
}

const KEYS = {
  " ": () => (playing ? pause() : play()),
  ArrowLeft: () => walk(-1),
  ArrowRight: () => walk(1),
  Home: () => jump(0),
  End: () => jump(end()),
  "+": () => faster(1),
  "=": () => faster(1),
  "-": () => faster(-1),
};
const CUBE_KEYS = {
  l: () => element("letters").click(),
  0: () => viewFrom(false),
  "Shift+ArrowLeft": () => turnView(-15, 0),
  "Shift+ArrowRight": () => turnView(15, 0),
  "Shift+ArrowUp": () => turnView(0, -15),
  "Shift+ArrowDown": () => turnView(0, 15),
};

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const control = event.target.closest("button, summary, select, input, textarea");
  if (control?.matches("select, textarea, input:not([type=range], [type=checkbox])")) return;
  if (event.key === " " && control && control.type !== "range") return; // space is the control's own
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const arrow = event.shiftKey && key.startsWith("Arrow");
  const action = (arrow ? undefined : KEYS[key]) ?? (isCube() ? CUBE_KEYS[arrow ? `Shift+${key}` : key] : undefined);
  if (!action) return;
  event.preventDefault();
  action();
}

// A step or a jump by hand ends the playing.
function walk(by) {
  playing = false;
  step(by);
  arrive();
}

function jump(position) {
  playing = false;
  go(position);
}

function listen() {
  document.addEventListener("keydown", pressed);
  const clicks = { first: () => jump(0), back: () => walk(-1), forward: () => walk(1), last: () => jump(end()), play: KEYS[" "] };
  for (const [id, action] of Object.entries(clicks)) element(id).addEventListener("click", action);
  element("scrubber").addEventListener("input", (event) => jump(Number(event.target.value)));
  element("letters").addEventListener("change", redraw);
  element("behind").addEventListener("click", () => viewFrom(element("behind").getAttribute("aria-pressed") !== "true"));
  element("moves").addEventListener("click", (event) => {
    const position = event.target.closest("[data-position]")?.dataset.position;
    if (position) jump(Number(position));
  });
  const board = element("board");
  board.addEventListener("pointerdown", (event) => isCube() && board.setPointerCapture(event.pointerId));
  board.addEventListener("pointermove", (event) => {
    if (board.hasPointerCapture(event.pointerId)) turnView(event.movementX * 0.5, event.movementY * 0.5);
  });
  board.addEventListener("dblclick", () => isCube() && viewFrom(false));
  new ResizeObserver(redraw).observe(board);
  for (const query of [dark, calm]) {
    query.addEventListener("change", () => {
      readLook();
      redraw();
    });
  }
}

readLook();
listen();
const embedded = element("playback").textContent.trim();
if (embedded) {
  load(JSON.parse(embedded));
  // page.html#12 opens after 12 moves.
  if (/^#\d+$/.test(location.hash)) go(Number(location.hash.slice(1)));
}
window.costar = { load, state, go, play, pause };

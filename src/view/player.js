// The player: its position, its animation, and its keys, buttons and gestures.
//
// Programs (a test, or a server's page) use window.costar:
//   load(playback)   shows a playback, such as the object in the element #playback; if that is empty, the page waits for
//                    the first call
//   state()          { puzzle, position, moves, scramble, move, state, solved, playing, moving, verdict }: `position` moves
//                    of `moves` are made, the first `scramble` of them are the scramble; the last `move` made; the `state`
//                    in costar's notation, from the moves that this page played; `solved` is null if unknown;
//                    verdict: { solved, agrees, illegal, differs, independent } of `played` in rules.js
//   go(position)     shows the state after this number of moves
//   play(), pause()
//   turn(move)       { axis, degrees }: the rotation that draws a move of a solid from a file; null if there is none

const TURN_MILLISECONDS = 460;
const FIRST_VIEW = { yaw: -33, pitch: 27 };
const element = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

let playback; // what was loaded
let run; // the result of `played`
let steps; // see `stepsOf`
let at = 0; // moves made, including the moving one
let way = null; // the moving step: { from, to, started, milliseconds }
let playing = false;
let view = { ...FIRST_VIEW };
let viewGoal = null; // the view to turn to
let look;
let waiting = false; // whether the next frame is requested

const kind = () => KINDS[playback.pictures[0].kind];
// Whether it can be seen from all sides.
const isSolid = () => playback.pictures[0].kind === "cube" || isSolidShape(playback.geometry);
const end = () => run.pictures.length - 1;
// The step that makes a move, counted from 1.
const stepOf = (number) => steps.find(({ from, to }) => from < number && number <= to);

function load(loaded) {
  playback = loaded;
  run = played(playback);
  steps = stepsOf(playback);
  [at, way, playing, view, viewGoal] = [0, null, false, { ...FIRST_VIEW }, null];
  document.body.dataset.kind = playback.pictures[0].kind;
  document.body.dataset.solid = isSolid();
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
  if (at === (by > 0 ? end() : 0)) return;
  const to = by > 0 ? Math.min(stepOf(at + 1).to, end()) : stepOf(at).from;
  if (calm.matches && !playing) return go(to);
  const speed = Number(element("speed").value);
  const hurry = Math.min(at, to) < playback.scramble ? 0.55 : 1;
  way = { from: at, to, started: performance.now(), milliseconds: (TURN_MILLISECONDS * hurry) / speed };
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

// Shows the present position.
function arrive() {
  showNow();
  markMoves();
  const scrubber = element("scrubber");
  scrubber.value = at;
  scrubber.style.setProperty("--done", share(at));
  scrubber.setAttribute("aria-valuetext", `${at} of ${end()} moves`);
  for (const [id, off] of [
    ["first", at === 0],
    ["back", at === 0],
    ["forward", at === end()],
    ["last", at === end()],
  ]) {
    element(id).setAttribute("aria-disabled", off);
  }
  const button = element("play");
  button.classList.toggle("playing", playing);
  button.setAttribute("aria-label", playing ? "Pause" : "Play");
  button.setAttribute("aria-disabled", end() === 0);
  element("now").setAttribute("aria-live", playing ? "off" : "polite");
  element("board").setAttribute("aria-label", kind().words(run.pictures[at], playback.geometry));
  element("text").setAttribute("aria-label", kind().words(run.pictures[at], playback.geometry));
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
  if (!run) return; // nothing is loaded yet
  if (viewGoal) turnTowardsGoal();
  const made = way ? Math.max(0, (now - way.started) / way.milliseconds) : 1;
  if (way && made >= 1) {
    way = null;
    if (playing && at < end()) return step(1);
    if (playing) pause();
    else showNow(); // after a step back, the last move is another one
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
  // A step back is the step forward in reverse.
  const [low, high] = way ? [Math.min(way.from, way.to), Math.max(way.from, way.to)] : [at, at];
  const fraction = !way ? 0 : way.to > way.from ? made : 1 - made;
  const [before, after] = [run.pictures[low], run.pictures[high]];
  const moves = playback.moves.slice(low, high);
  const move = moves[0];
  look.letters = element("letters").checked;
  const { goals, geometry } = playback;
  DRAWINGS[before.kind]({ context, width, height, before, after, move, moves, fraction, look, view, goals, geometry });
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

// Turns the view to the back, or to the first view.
function viewFrom(behind) {
  element("behind").setAttribute("aria-pressed", behind);
  view.yaw = (((view.yaw % 360) + 540) % 360) - 180;
  viewGoal = behind ? { yaw: FIRST_VIEW.yaw + 180, pitch: -FIRST_VIEW.pitch } : { ...FIRST_VIEW };
  redraw();
}

function state() {
  const picture = run.pictures[at];
  const solved = kind().solved(picture, playback.goals, playback.puzzle) ?? (at === playback.moves.length ? run.solved : null);
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

// Reads the colours of the page for the canvas.
function readLook() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = [
    "accent",
    "frame",
    "tile",
    "night",
    "muted",
    "focus",
    "glass",
    "water",
    "ink",
    "goal",
    "wall",
    "crate",
    "plastic",
    "shadow",
  ];
  look = Object.fromEntries(names.map((name) => [name, read(name)]));
  Object.assign(look, {
    onAccent: read("on-accent"),
    onTile: read("on-tile"),
    crateHome: read("crate-home"),
    waterEdge: read("water-edge"),
  });
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
const SOLID_KEYS = {
  l: () => element("letters").click(),
  0: () => viewFrom(false),
  "Shift+ArrowLeft": () => turnView(-15, 0),
  "Shift+ArrowRight": () => turnView(15, 0),
  "Shift+ArrowUp": () => turnView(0, -15),
  "Shift+ArrowDown": () => turnView(0, 15),
};

function pressed(event) {
  if (!run || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const control = event.target.closest("button, summary, select, input, textarea");
  if (control?.matches("select, textarea, input:not([type=range], [type=checkbox])")) return;
  if (event.key === " " && control && control.type !== "range") return; // the control uses space itself
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const arrow = event.shiftKey && key.startsWith("Arrow");
  const action = (arrow ? undefined : KEYS[key]) ?? (isSolid() ? SOLID_KEYS[arrow ? `Shift+${key}` : key] : undefined);
  if (!action) return;
  event.preventDefault();
  action();
}

// A manual step or jump stops the playing.
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
  const clicks = {
    first: () => jump(0),
    back: () => walk(-1),
    forward: () => walk(1),
    last: () => jump(end()),
    play: KEYS[" "],
  };
  for (const [id, action] of Object.entries(clicks)) element(id).addEventListener("click", () => run && action());
  element("scrubber").addEventListener("input", (event) => run && jump(stepOf(Number(event.target.value))?.to ?? 0));
  element("letters").addEventListener("change", redraw);
  element("behind").addEventListener("click", () =>
    viewFrom(element("behind").getAttribute("aria-pressed") !== "true"),
  );
  element("moves").addEventListener("click", (event) => {
    const position = event.target.closest("[data-position]")?.dataset.position;
    if (position) jump(Number(position));
  });
  const board = element("board");
  board.addEventListener("pointerdown", (event) => isSolid() && board.setPointerCapture(event.pointerId));
  board.addEventListener("pointermove", (event) => {
    if (board.hasPointerCapture(event.pointerId)) turnView(event.movementX * 0.5, event.movementY * 0.5);
  });
  board.addEventListener("dblclick", () => isSolid() && viewFrom(false));
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
  // page.html#12 opens at the state after 12 moves.
  if (/^#\d+$/.test(location.hash)) go(Number(location.hash.slice(1)));
}
const turn = (move) => (isSolidShape(playback.geometry) ? turnOfMove(shapeOf(playback.geometry), move) : null);
window.costar = { load, state, go, play, pause, turn };

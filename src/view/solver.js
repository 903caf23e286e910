// The panel of a server's page: the instance, the settings, and the running search.
//
// Programs (a test) use window.costarSolver:
//   state()   { phase, judgement, possible, progress, solutions, search }: phase is "idle", "waiting", "searching",
//             "done" or "failed"; judgement is the text about the instance, possible is null until it is known;
//             progress (the last one) and solutions are as the server sent them

const element = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const narrow = matchMedia("(max-width: 760px)");
const wide = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

let offers = []; // the response of GET /puzzles
let checks = 0; // number of the newest POST /check
let timer = 0;
let possible = null;
let run = null; // the search: { phase, question, request, number, points, solutions, controller, … }
let staged = null; // the playback on show
const net = makeNet(painted);
const setup = makeSetup(arranged);

const offer = () => offers.find(({ puzzle }) => puzzle === element("puzzle").value);
// The layers of a whole cube; 0 for another puzzle, and for a stage of the search `reduction`.
const cubeSize = () => Number(/^cube(\d+)(:(htm|obtm|oriented))?$/.exec(element("puzzle").value)?.[1] ?? 0);
const isCube = () => cubeSize() > 0;

// The result of a request; names the cause if the server is gone.
async function received(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the server does not answer: start it again with `costar serve`");
  }
}

const reach = (path, options) => received(fetch(path, options));

async function ask(path, body) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await reach(path, options);
  const data = await response.json();
  if (!response.ok) throw new Error(data.error);
  return data;
}

// An instance without the space around it. In a level, the space before a row is part of it.
function trimmed(text) {
  if (!offer()?.takes_lines) return text.trim();
  const rows = text.split("\n").map((row) => row.trimEnd());
  return rows.join("\n").replace(/^\n+|\n+$/g, "");
}

const typedInstance = () => trimmed(element("instance").value);

// The question that a search answers.
const question = () => JSON.stringify([element("puzzle").value, typedInstance(), goal()]);

// Called with every change of the question, before it is checked.
function changed() {
  checks += 1;
  clearTimeout(timer);
  element("notice").textContent = "";
  judge("wait", "…");
  forgetOther();
}

// Drops the search of another question.
function forgetOther() {
  if (run && run.question !== question()) forget();
}

// Ends the search and removes its solutions. If one is on show, its instance stays.
function forget() {
  if (isBusy()) run.controller.abort();
  run = null;
  showButtons();
  element("watch").hidden = true;
  if (!staged || document.body.classList.contains("preview")) return;
  const { moves, pictures, scramble } = staged;
  show({ ...staged, moves: moves.slice(0, scramble), pictures: pictures.slice(0, scramble + 1) }, true);
}

// Leaves the present question.
function leave() {
  changed();
  forget();
}

function judge(className, text) {
  const judgement = element("judgement");
  judgement.className = className;
  judgement.textContent = text;
  element("instance").setAttribute("aria-invalid", className === "wrong");
  possible = className === "wait" ? null : className !== "wrong";
  showButtons();
}

function checkSoon() {
  clearTimeout(timer);
  timer = setTimeout(check, 180);
}

function edited() {
  changed();
  checkSoon();
}

async function check() {
  clearTimeout(timer);
  const [puzzle, instance, number] = [element("puzzle").value, typedInstance(), ++checks];
  remember(false);
  element("level").selectedIndex = LEVELS.findIndex(([, level]) => trimmed(level) === instance);
  if (paintedIn(instance) && showPainted(paintedIn(instance))) return;
  try {
    const result = await ask("check", { puzzle, instance, goal: goal() });
    if (number !== checks) return;
    if (result.possible) accept(result);
    else refuse(result.reason);
  } catch (error) {
    if (number === checks) refuse(error.message);
  }
}

function accept(result) {
  judge("right", result.solved ? "✔ Solved already" : `✔ Possible${movesOf(result)}`);
  // Painted facelets stay as they are painted.
  if (isCube() && !paintedIn(typedInstance())) net.show(result.state);
  setup.show(result.playback.pictures[result.playback.scramble]);
  if (!run) show(result.playback, true);
}

// Dims the board, which shows another instance.
function refuse(reason) {
  judge("wrong", `✘ ${reason}`);
  if (!run) document.body.classList.add("stale");
}

const movesOf = ({ playback: { scramble } }) => (scramble ? `: ${scramble} ${scramble === 1 ? "move" : "moves"}` : "");

// The facelets of a text, with "." for blank ones; null if it is not facelets. The centres of a 3×3×3 distinguish it from
// moves.
function paintedIn(text) {
  const letters = text.replaceAll("·", ".");
  if (!isCube() || !/^[URFDLB.]+$/.test(letters)) return null;
  if (letters.length !== 6 * cubeSize() ** 2) return null;
  return cubeSize() !== 3 || FACES.every((face, i) => letters[9 * i + 4] === face) ? letters : null;
}

const withDots = (letters) => letters.replaceAll(".", "·");

// A facelet was painted: it is shown at once; costar judges the whole.
function painted(letters) {
  element("instance").value = withDots(letters);
  changed();
  showPainted(letters);
  checkSoon();
}

// Shows a cube as it is painted, and says what is impossible, or how much is blank; whether there was anything to say.
function showPainted(letters) {
  const problem = net.show(letters);
  const blank = letters.split(".").length - 1;
  if (!run) show(painting(letters), true);
  if (problem) judge("wrong", `✘ Impossible: ${problem.text}`);
  else if (blank > 0) judge("wait", `${blank} ${blank === 1 ? "facelet is" : "facelets are"} blank`);
  return Boolean(problem) || blank > 0;
}

// Called after a click on the board: shows it at once, then checks it.
function arranged(text, picture) {
  element("instance").value = text;
  changed();
  if (!run) show(still(text, picture), true);
  checkSoon();
}

// The playback of a painted cube, which may have blank facelets.
function painting(facelets) {
  return still(facelets, { kind: "cube", size: Math.round(Math.sqrt(facelets.length / 6)), facelets });
}

// The playback of a picture alone.
function still(instance, picture) {
  const puzzle = element("puzzle").value;
  return { puzzle, instance, moves: [], scramble: 0, pictures: [picture], goals: [], solves: false };
}

// Shows a playback after its scramble: an instance, or a solution.
function show(playback, isPreview) {
  staged = playback;
  document.body.classList.toggle("preview", isPreview);
  document.body.classList.remove("stale");
  costar.load(playback);
  costar.go(playback.scramble);
  if (isPreview) document.title = "costar";
}

// Puts a random instance into the form; a step adds an entry to the history.
async function scramble(isStep) {
  changed();
  const number = checks;
  const query = new URLSearchParams({ puzzle: element("puzzle").value });
  if (element("depth").value) query.set("depth", element("depth").value);
  try {
    const { instance } = await ask(`scramble?${query}`);
    if (number === checks) await put(instance, isStep);
  } catch (error) {
    if (number === checks) refuse(error.message);
  }
}

function put(instance, isStep) {
  element("instance").value = instance;
  forgetOther();
  remember(isStep);
  return check();
}

// Sets the form up for the chosen puzzle.
function describePuzzle() {
  const { notation, searches, heuristics, models, scramble_depth: depth, takes_lines: lines, takes_goal } = offer();
  fill("estimate", [
    ["", "auto"],
    ...models.map(({ model }) => [`model ${model}`, `network ${model}`]),
    ...heuristics.map((name) => [`heuristic ${name}`, name]),
  ]);
  fill("search", [["", "auto"], ...searches.map((name) => [name, name === "bwas" ? "bwas, as published" : name])]);
  element("hint").textContent = isCube() ? "" : notation;
  element("instance").placeholder = isCube() ? "R U R' F' …" : "";
  element("paint").hidden = !isCube();
  setup.show(null);
  element("level-label").hidden = !lines;
  element("goal-label").hidden = !takes_goal;
  element("goal").value = "";
  element("depth").placeholder = depth ?? "auto";
  element("instance").rows = lines ? 7 : 2;
  element("instance-label").textContent = isCube() ? "Scramble or facelets" : lines ? "Level" : "Instance";
  element("instance").value = lines ? LEVELS[0][1] : "";
  if (isCube()) net.show([..."URFDLB"].map((face) => face.repeat(cubeSize() ** 2)).join(""));
  showAnytime();
}

function choosePuzzle() {
  describePuzzle();
  changed();
  return beginPuzzle(true);
}

// An instance to begin with: a scramble, or if moves cannot be undone, a level or the puzzle's start.
function beginPuzzle(isStep) {
  return offer().scramble_depth === null ? put(element("instance").value, isStep) : scramble(isStep);
}

// The name of a puzzle, with its file if two have the same name.
const nameOf = ({ puzzle, name }) => (offers.filter((other) => other.name === name).length > 1 ? `${name} (${puzzle})` : name);

const showOffers = () => fill("puzzle", offers.map((offer) => [offer.puzzle, nameOf(offer)]));

function fill(id, entries) {
  const options = entries.map(([value, text]) => Object.assign(document.createElement("option"), { value, textContent: text }));
  element(id).replaceChildren(...options);
}

// Only bwas goes on after its first solution.
function showAnytime() {
  const goesOn = ["", "bwas"].includes(element("search").value);
  element("anytime").disabled = !goesOn;
  if (!goesOn) element("anytime").checked = false;
}

function listen() {
  element("puzzle").addEventListener("change", choosePuzzle);
  element("scramble").addEventListener("click", () => scramble(true));
  for (const id of ["instance", "goal"]) element(id).addEventListener("input", edited);
  element("instance").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || offer()?.takes_lines) return;
    event.preventDefault();
    check().then(() => !element("solve").disabled && solve());
  });
  element("search").addEventListener("change", showAnytime);
  element("level").addEventListener("change", () => {
    changed();
    put(LEVELS[element("level").value][1], false);
  });
  for (const id of [...SETTINGS, "anytime"]) element(id).addEventListener("change", () => remember(false));
  addEventListener("popstate", recall);
  element("net-clear").addEventListener("click", () => net.reset(false));
  element("net-solved").addEventListener("click", () => net.reset(true));
  element("stop").addEventListener("click", stop);
  element("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!element("solve").disabled) solve();
  });
  new ResizeObserver(drawRun).observe(element("chart"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawRun);
}

async function begin() {
  listen();
  element("options").open = !narrow.matches;
  showButtons();
  try {
    const [list, status] = await Promise.all([ask("puzzles"), ask("status")]);
    offers = list;
    element("seconds").placeholder = status.max_seconds;
    fill("level", LEVELS.map(([name], i) => [i, name]));
    showOffers();
    await recall();
  } catch (error) {
    judge("wrong", `✘ ${error.message}`);
  }
}

window.costarSolver = {
  state: () => ({
    phase: run?.phase ?? "idle",
    judgement: element("judgement").textContent,
    possible,
    progress: run?.points.at(-1) ?? null,
    solutions: run?.solutions ?? [],
    search: run?.number ?? null,
  }),
};
begin();

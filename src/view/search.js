// The search: the request to the server, and the events that it sends.

function request() {
  const number = (id) => {
    const text = element(id).value.trim().replaceAll("_", "");
    return text === "" ? undefined : Number.isNaN(Number(text)) ? text : Number(text);
  };
  const [kind, name] = element("estimate").value.split(/ (.*)/);
  const [n, lambda, anytime] = [number("n"), number("lambda"), element("anytime").checked];
  const isBwas = isAuto() && (anytime || n !== undefined || lambda !== undefined);
  const { named, asked } = modelFor(isBwas);
  return {
    puzzle: element("puzzle").value,
    instance: typedInstance(),
    goal: goal(),
    model: named?.model,
    heuristic: kind === "heuristic" ? name : undefined,
    search: element("search").value || (anytime ? "bwas" : undefined),
    n,
    lambda,
    anytime: anytime || undefined,
    // With a policy head, deferred evaluation is the better search.
    deferred: (isBwas && asked?.policy) || undefined,
    max_seconds: number("seconds"),
  };
}

// The model that the request names, and the one that the server uses. If nothing is chosen, batch-weighted A* uses the
// puzzle's own model, which needs no name, or the first on offer; but no model with another goal.
function modelFor(isBwas) {
  const estimate = element("estimate").value;
  const { models, own_model: own } = offer();
  const isOpen = isBwas && estimate === "" && goal() === undefined;
  const chosen = models.find(({ model }) => estimate === `model ${model}`);
  const named = chosen ?? (isOpen && !own ? models[0] : undefined);
  return { named, asked: named ?? (isOpen ? own : undefined) };
}

const isAuto = () => element("search").value === "";

const goal = () => element("goal").value.trim() || undefined;
const isBusy = () => run?.phase === "waiting" || run?.phase === "searching";

function showButtons() {
  element("solve").disabled = possible !== true || isBusy();
  element("stop").disabled = !isBusy() || run.stopping;
}

function say(phase, text, className = "") {
  run.phase = phase;
  element("phase").textContent = isBusy() && run.stopping ? "Stopping…" : text;
  element("phase").className = className;
  showButtons();
}

async function solve() {
  run = { phase: "waiting", question: question(), request: request(), byAuto: isAuto(), number: null };
  Object.assign(run, { points: [], solutions: [], stopping: false, controller: new AbortController() });
  remember(true);
  isKept = true;
  element("chosen").textContent = "";
  element("watch").hidden = false;
  element("solutions").replaceChildren();
  for (const id of ["nodes", "rate", "best-f", "best-h", "time"]) element(id).textContent = "–";
  say("waiting", "Asking…");
  drawRun();
  const mine = run;
  try {
    const response = await reach("solve", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
      body: JSON.stringify(run.request),
      signal: run.controller.signal,
    });
    if (!response.ok) throw new Error((await response.json()).error);
    for await (const [name, data] of eventsOf(response.body)) if (run === mine) EVENTS[name]?.(data);
    if (run === mine && isBusy()) throw new Error("the server has closed the connection");
  } catch (error) {
    if (run === mine) say("failed", `✘ ${mine.stopping ? "Stopped" : error.message}`, "wrong");
  }
}

// Server-sent events, each as a name and data.
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await received(reader.read());
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const field = (name) => new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1];
      if (field("event")) yield [field("event"), JSON.parse(field("data"))];
    }
  }
}

const EVENTS = {
  queued({ search, ahead }) {
    run.number = search;
    const others = ahead === 1 ? "another search is" : `${ahead} searches are`;
    say("waiting", ahead > 0 ? `Waiting: ${others} before this one` : "Loading what is needed…");
  },
  started: () => say("searching", "Searching…"),
  progress(progress) {
    const before = run.points.findLast((point) => point.seconds < progress.seconds - 0.8) ?? { seconds: 0, nodes_generated: 0 };
    const rate = (progress.nodes_generated - before.nodes_generated) / Math.max(0.05, progress.seconds - before.seconds);
    run.points.push(progress);
    thin(run.points);
    showNumbers(progress, rate);
    drawRun();
  },
  incumbent(solution) {
    run.solutions.push(solution);
    say("searching", `${lengthOf(solution)}; looking for shorter ones…`);
    showSolutions();
    if (!costar.state().playing) present(solution);
    drawRun();
  },
  done(report) {
    showNumbers({ ...run.points.at(-1), ...report }, report.nodes_generated / Math.max(0.001, report.seconds));
    element("chosen").textContent = chosen(report, run.byAuto);
    if (!report.solved) return say("done", `✘ ${capitalized(report.reason.replace(/ \(`\w+`\)|`/g, ""))}`, "wrong");
    const best = run.solutions.at(-1);
    if (String(best?.moves) !== String(report.moves)) run.solutions.push(report);
    const better = report.cost === report.length ? "shorter" : "cheaper";
    const proven = report.proven_optimal ? `: proven, no solution is ${better}` : `; a ${better} one may exist`;
    say("done", `✔ ${lengthOf(report)}, in ${secondsOf(report)}${proven}`, "right");
    showSolutions();
    drawRun();
    if (!report.playback || costar.state().playing) return;
    present(run.solutions.at(-1));
    if (narrow.matches) element("board").scrollIntoView({ block: "center", behavior: calm.matches ? "auto" : "smooth" });
    if (!calm.matches) costar.play();
  },
  error: ({ error }) => say("failed", `✘ ${error}`, "wrong"),
};

// Drops every other point if there are many.
function thin(points) {
  if (points.length > 600) points.splice(0, points.length, ...points.filter((_, i) => i % 2 === 0 || i === points.length - 1));
}

function showNumbers(progress, rate) {
  const fixed = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits));
  element("nodes").textContent = progress.nodes_generated < 1e6 ? wide.format(progress.nodes_generated) : short.format(progress.nodes_generated);
  element("rate").textContent = short.format(Math.round(rate));
  element("best-f").textContent = fixed(progress.least_f, 1);
  element("best-f").parentElement.hidden = (progress.least_f ?? null) === null;
  element("best-h").textContent = fixed(progress.best_h, 1);
  element("time").textContent = fixed(progress.seconds, 1);
}

function drawRun() {
  if (!run) return;
  drawChart(element("chart"), run);
  const last = run.points.at(-1);
  const best = (last?.least_f ?? null) === null ? `the nearest h is ${last?.best_h?.toFixed(1) ?? "unknown"}` : `the best f is ${last.least_f.toFixed(1)}`;
  const numbers = last ? `after ${last.seconds.toFixed(0)} seconds ${best}` : "no progress yet";
  element("chart").setAttribute("aria-label", `Plot of the search: ${numbers}; ${run.solutions.length} ${run.solutions.length === 1 ? "solution" : "solutions"}`);
}

function showSolutions() {
  const items = run.solutions.map((solution) => {
    const button = Object.assign(document.createElement("button"), { type: "button" });
    const when = Object.assign(document.createElement("span"), { textContent: `after ${secondsOf(solution)}` });
    button.append(lengthOf(solution), when);
    button.setAttribute("aria-pressed", solution === run.shown);
    button.disabled = !solution.playback;
    button.addEventListener("click", () => {
      present(solution);
      if (!calm.matches) costar.play();
    });
    const item = document.createElement("li");
    item.append(button);
    return item;
  });
  element("solutions").replaceChildren(...items.reverse());
}

// Loads a solution into the player.
function present(solution) {
  if (!solution.playback) return;
  run.shown = solution;
  show(solution.playback, false);
  showSolutions();
}

// Stops the search. It may still return a solution: the connection stays open until the end.
async function stop() {
  run.stopping = true;
  say(run.phase, "Stopping…");
  if (run.number === null) return run.controller.abort();
  try {
    await ask("stop", { search: run.number });
  } catch {
    // The search has just ended.
  }
}

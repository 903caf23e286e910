// The texts of the page: the verdict, the lists of moves, and the present move.

const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

function showVerdict() {
  const length = playback.moves.length - playback.scramble;
  const counted = playback.counted ?? plural(length, "move");
  const { solved, agrees, illegal, differs, independent } = run;
  const both = independent ? "Played by this page and by costar, each by its own rules." : "Played by costar.";
  let [word, sign, text] = ["wrong", "✘ Wrong", ""];
  if (!agrees) {
    const where = differs === null ? "about the last state" : `after move ${differs}`;
    text = `This page and costar disagree ${where}: one of them has a bug, so this proves nothing.`;
  } else if (illegal !== null) {
    const move = `Move ${illegal - playback.scramble} of the solution, ${playback.moves[illegal - 1]},`;
    text = `${move} cannot be made here. ${both}`;
  } else if (solved) {
    [word, sign] = ["right", "✔ Solved"];
    text = `${length === 0 ? "No move is needed." : `in ${counted}.`} ${both}`;
  } else {
    text = `After ${counted}, the puzzle is not solved. ${both}`;
  }
  const verdict = element("verdict");
  verdict.className = word;
  verdict.replaceChildren(create("strong", sign), " ", text);
  const title = titleOf(playback.puzzle);
  element("title").textContent = title;
  document.title = `${sign.slice(0, 1)} ${title} – costar`;
}

function titleOf(puzzle) {
  const [, word, number] = /^([a-z]+)(\d+)$/.exec(puzzle) ?? [];
  if (puzzle === "cube3") return "Rubik’s Cube";
  if (puzzle === "cube3:htm") return "Rubik’s Cube, half-turn metric";
  const [, size, metric] = /^cube(\d+)(?::(htm|obtm|oriented|reduction|centres|edges))?$/.exec(puzzle) ?? [];
  const metrics = { htm: ", half-turn metric", obtm: ", outer block turns", oriented: ", held still", reduction: ", reduction to a 3×3×3", centres: ", centres", edges: ", edges" };
  // A puzzle from a file may have the name of a cube, and is shown as a row, as the stages of a reduction are.
  const isStage = ["reduction", "centres", "edges"].includes(metric);
  if (size && (isStage || playback.pictures[0].kind === "cube")) return `${size}×${size}×${size} cube${metrics[metric] ?? ""}`;
  const plain = ["megaminx", "pyraminx", "skewb", "professor-tetraminx", "hungarian-rings", "supercube3", "periodic15"];
  if (plain.includes(puzzle)) return puzzle[0].toUpperCase() + puzzle.slice(1).replaceAll("-", " ");
  if (word === "puzzle") return `${number}-puzzle`;
  if (word === "lightsout") return `Lights Out ${number} × ${number}`;
  if (puzzle.startsWith("sokoban")) return "Sokoban";
  return puzzle.startsWith("jugs:") ? `Water jugs ${puzzle.slice(5).replaceAll(",", ", ")}` : puzzle;
}

function create(tag, text, attributes = {}) {
  const created = document.createElement(tag);
  created.textContent = text;
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  return created;
}

// Shows the moves of the scramble, or the instance as it was written, and the moves of the solution.
function showMoves() {
  const { scramble, instance } = playback;
  const isScrambling = ({ to }) => to <= scramble;
  const parts =
    scramble > 0
      ? [listOf("Scramble", steps.filter(isScrambling))]
      : [create("h2", "Instance"), create("p", instance || "the start", { class: "instance" })];
  parts.push(listOf("Solution", steps.filter((step) => !isScrambling(step))));
  element("moves").replaceChildren(...parts);
}

function listOf(name, own) {
  const part = document.createElement("div");
  const moves = own.reduce((sum, { from, to }) => sum + to - from, 0);
  const count = own.length === moves ? moves : `${plural(own.length, "word")}, ${plural(moves, "move")}`;
  part.append(create("h2", `${name} (${count})`));
  const list = create("ol", "", { "aria-label": `Moves of the ${name.toLowerCase()}` });
  for (const [i, { names, to }] of own.entries()) {
    const label = `${names.join(" ")}, move ${i + 1} of the ${name.toLowerCase()}`;
    const button = create("button", names.join(" "), {
      type: "button",
      "data-position": to,
      "aria-label": label,
      tabindex: -1,
    });
    if (to > end()) button.setAttribute("aria-disabled", true);
    if (to === run.illegal) button.classList.add("illegal");
    const item = document.createElement("li");
    item.append(button);
    list.append(item);
  }
  part.append(list);
  return part;
}

// Marks the present or last move, and the moves before it.
function markMoves() {
  const list = element("moves");
  const present = stepOf(way ? Math.max(way.from, way.to) : at)?.to;
  for (const [i, button] of list.querySelectorAll("[data-position]").entries()) {
    const position = Number(button.dataset.position);
    const current = position === present;
    button.classList.toggle("made", position <= at);
    button.tabIndex = current || (at === 0 && i === 0) ? 0 : -1;
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
  const step = stepOf(way ? Math.max(way.from, way.to) : at);
  const { scramble } = playback;
  const now = element("now");
  if (!step) {
    now.replaceChildren(scramble > 0 ? "Before the scramble" : "The instance");
    return;
  }
  const isScramble = step.to <= scramble;
  const own = steps.filter(({ to }) => to <= scramble === isScramble);
  const meaning = step.names.map((move) => kind().meaning(move, run.pictures[step.from])).join("; ");
  now.replaceChildren(
    `${isScramble ? "Scramble" : "Solution"} ${own.indexOf(step) + 1} of ${own.length}: `,
    create("strong", step.names.join(" ")),
    meaning && ` – ${meaning}`,
  );
}

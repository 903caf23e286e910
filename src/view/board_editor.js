// Boards set up by clicking: tiles change places, lights switch, jugs are filled. Also Sokoban levels.
//
// makeSetup(changed) returns { show(picture) }, which shows a board, or hides the set-up if there is nothing to click.
// `changed(text, picture)` is called after each click.

// Sokoban levels, easy ones first.
const LEVELS = [
  ["One box at home", "#######\n#@ $ .#\n# $ *.#\n#     #\n#######"],
  ["Round the corner", "########\n#   #  #\n# $   .#\n# #@#  #\n# $   .#\n#   #  #\n########"],
  ["Two rooms", "#########\n#   # . #\n# $ #   #\n#   @   #\n# $ #   #\n#   # . #\n#########"],
  ["Four boxes", "##########\n#        #\n# $ ## . #\n#  $  .  #\n#    @   #\n#  $  .  #\n# $ ## . #\n#        #\n##########"],
];

const positionOf = (cell, columns) => `row ${Math.floor(cell / columns) + 1}, column ${(cell % columns) + 1}`;

// Kinds of pictures with cells to click: the look of a cell, and the picture after a click.
const CLICKED = {
  tiles: {
    hint: "Click two tiles, or a tile and the blank: they change places.",
    text: ({ tiles }) => tiles.join(" "),
    cell: ({ columns, tiles }, i) => ({ text: tiles[i] || "", label: `${positionOf(i, columns)}: ${tiles[i] || "blank"}`, on: tiles[i] > 0 }),
    count: ({ tiles }) => tiles.length,
    click(picture, i, chosen) {
      if (chosen === null || chosen === i) return null;
      const tiles = [...picture.tiles];
      [tiles[i], tiles[chosen]] = [tiles[chosen], tiles[i]];
      return { ...picture, tiles };
    },
  },
  lights: {
    hint: "Click a light to switch it alone; a move switches its neighbours too.",
    text: ({ lit }) => lit.map(Number).join(""),
    cell: ({ columns, lit }, i) => ({ text: "", label: `${positionOf(i, columns)}: ${lit[i] ? "on" : "off"}`, on: lit[i] }),
    count: ({ lit }) => lit.length,
    click: (picture, i) => ({ ...picture, lit: picture.lit.map((light, cell) => light !== (cell === i)) }),
  },
};

function makeSetup(changed) {
  const frame = document.getElementById("arrange");
  const board = document.getElementById("arrange-board");
  const hint = document.getElementById("arrange-hint");
  let picture = null;
  let chosen = null; // the first of two tiles
  let focused = 0;

  function change(text, next) {
    picture = next;
    changed(text, next);
  }

  function drawCells(kind) {
    const count = kind.count(picture);
    if (board.dataset.kind !== `${picture.kind} ${count}`) {
      board.dataset.kind = `${picture.kind} ${count}`;
      board.style.gridTemplateColumns = `repeat(${picture.columns}, minmax(0, 1fr))`;
      const button = (_, i) => Object.assign(document.createElement("button"), { type: "button", onclick: () => press(i) });
      board.replaceChildren(...Array.from({ length: count }, button));
      focused = 0;
    }
    for (const [i, button] of [...board.children].entries()) {
      const { text, label, on } = kind.cell(picture, i);
      button.textContent = text;
      button.tabIndex = i === focused ? 0 : -1;
      button.classList.toggle("on", on);
      button.setAttribute("aria-label", label);
      button.setAttribute("aria-pressed", picture.kind === "lights" ? on : i === chosen);
    }
  }

  function press(i) {
    const kind = CLICKED[picture.kind];
    const next = kind.click(picture, i, chosen);
    chosen = next || chosen === i || picture.kind !== "tiles" ? null : i;
    focused = i;
    if (next) change(kind.text(next), next);
    drawCells(kind);
  }

  function drawJugs() {
    const { capacities, volumes } = picture;
    if (board.dataset.kind !== `jugs ${capacities}`) {
      board.dataset.kind = `jugs ${capacities}`;
      board.style.gridTemplateColumns = "minmax(0, 1fr)";
      const slider = (capacity, jug) => {
        const input = Object.assign(document.createElement("input"), { type: "range", min: 0, max: capacity, step: 1 });
        input.addEventListener("input", () => {
          const next = picture.volumes.map((volume, i) => (i === jug ? Number(input.value) : volume));
          change(next.join(","), { ...picture, volumes: next });
          drawJugs();
        });
        const label = document.createElement("label");
        label.append(document.createElement("span"), input);
        return label;
      };
      board.replaceChildren(...capacities.map(slider));
    }
    for (const [jug, label] of [...board.children].entries()) {
      label.firstChild.textContent = `Jug ${jug}: ${volumes[jug]} of ${capacities[jug]}`;
      label.lastChild.value = volumes[jug];
    }
  }

  function draw() {
    const kind = CLICKED[picture?.kind];
    frame.hidden = !kind && picture?.kind !== "jugs";
    if (frame.hidden) return;
    board.className = picture.kind;
    hint.textContent = kind ? kind.hint : "Set the volume of each jug at the start.";
    if (kind) drawCells(kind);
    else drawJugs();
  }

  // Arrow keys move from cell to cell.
  board.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -picture.columns, ArrowDown: picture.columns }[event.key];
    if (step === undefined || !CLICKED[picture.kind]) return;
    event.preventDefault();
    event.stopPropagation();
    if (!board.children[focused + step]) return;
    focused += step;
    drawCells(CLICKED[picture.kind]);
    board.children[focused].focus();
  });

  return {
    show(next) {
      picture = next;
      chosen = null;
      draw();
    },
  };
}

// The net of a cube, painted with mouse, finger or keys, and the check of a partly painted cube.
//
// makeNet(changed) returns { show(letters), letters(), reset(solved) }; `show` returns a problem as `problemOf` does.
// `changed(letters)` is called after each stroke. Letters are the faces U R F D L B, row by row; "." is blank.

const FACES = ["U", "R", "F", "D", "L", "B"];
const COLOURS = { U: "white", R: "red", F: "green", D: "yellow", L: "orange", B: "blue", ".": "blank" };
const SIDES = { U: "upper", R: "right", F: "front", D: "lower", L: "left", B: "back" };
// Column and row of each face in the net.
const NET_POSITIONS = { U: [1, 0], L: [0, 1], F: [1, 1], R: [2, 1], B: [3, 1], D: [1, 2] };

// The facelets of each piece of the 3×3×3; a corner's clockwise from U or D.
const CORNERS = [
  [8, 9, 20],
  [6, 18, 38],
  [0, 36, 47],
  [2, 45, 11],
  [29, 26, 15],
  [27, 44, 24],
  [33, 53, 42],
  [35, 17, 51],
];
const EDGES = [
  [5, 10],
  [7, 19],
  [3, 37],
  [1, 46],
  [32, 16],
  [28, 25],
  [30, 43],
  [34, 52],
  [23, 12],
  [21, 41],
  [50, 39],
  [48, 14],
];

// Why no cube can have these facelets: { text, facelets }, or null. This checks partly painted cubes; costar checks whole
// ones.
function problemOf(letters) {
  const each = letters.length / 6;
  for (const face of FACES) {
    const facelets = [...letters.keys()].filter((i) => letters[i] === face);
    if (facelets.length > each) {
      return { text: `${facelets.length} facelets are ${face} (${COLOURS[face]}), and a cube has ${each}`, facelets: [] };
    }
  }
  if (letters.length !== 54) return null;
  for (const [kind, pieces] of [
    ["corner", CORNERS],
    ["edge", EDGES],
  ]) {
    const turned = (word) => [...word].map((_, i) => word.slice(i) + word.slice(0, i));
    const real = new Map(
      pieces.flatMap((piece, number) => turned(piece.map((i) => FACES[Math.floor(i / 9)]).join("")).map((word) => [word, number])),
    );
    const seen = new Map();
    for (const piece of pieces) {
      const word = piece.map((i) => letters[i]).join("");
      if (word.includes(".")) continue;
      const colours = [...word].map((letter) => COLOURS[letter]).join(", ");
      if (!real.has(word)) {
        const why = sorted([...real.keys()]).has(sort(word)) ? "the mirror image of a real one" : "and there is no such piece";
        return { text: `a ${kind} reads ${word} (${colours}), ${why}`.replace("a edge", "an edge"), facelets: piece };
      }
      const earlier = seen.get(real.get(word));
      if (earlier) return { text: `the ${kind} ${word} (${colours}) is there twice`, facelets: [...earlier, ...piece] };
      seen.set(real.get(word), piece);
    }
  }
  return null;
}
const sort = (word) => [...word].sort().join("");
const sorted = (words) => new Set(words.map(sort));

function makeNet(changed) {
  const net = document.getElementById("net");
  const palette = document.getElementById("palette");
  let letters = [];
  let size = 0;
  let brush = "U";
  let focused = 0;
  let strokes = false; // a mouse button is down

  const isCentre = (i) => size === 3 && i % 9 === 4;
  const solved = () => FACES.flatMap((face) => Array(size * size).fill(face));

  function build() {
    // The gap of three pixels between faces is a track.
    const tracks = (faces, track) => Array(faces).fill(`repeat(${size}, ${track})`).join(" 3px ");
    net.style.gridTemplate = `${tracks(3, "auto")} / ${tracks(4, "minmax(0, 1fr)")}`;
    const buttons = solved().map((face, i) => {
      const [row, column] = [Math.floor((i % (size * size)) / size), i % size];
      const [right, down] = NET_POSITIONS[face];
      const button = Object.assign(document.createElement("button"), { type: "button", tabIndex: -1 });
      button.style.gridArea = `${down * (size + 1) + row + 1} / ${right * (size + 1) + column + 1}`;
      Object.assign(button.dataset, { facelet: i, row: down * size + row, column: right * size + column });
      button.classList.toggle("centre", isCentre(i));
      return button;
    });
    net.replaceChildren(...buttons);
  }

  function draw() {
    const problem = problemOf(letters);
    for (const [i, button] of [...net.children].entries()) {
      const letter = letters[i];
      colour(button, letter);
      button.textContent = letter === "." ? "" : letter;
      button.classList.toggle("blank", letter === ".");
      button.classList.toggle("odd", Boolean(problem?.facelets.includes(i)));
      button.tabIndex = i === focused ? 0 : -1;
      const face = FACES[Math.floor(i / (size * size))];
      const where = `${SIDES[face]} face, row ${Math.floor((i % (size * size)) / size) + 1}, column ${(i % size) + 1}`;
      button.setAttribute("aria-label", `${where}: ${COLOURS[letter]}${isCentre(i) ? ", fixed" : ""}`);
    }
    for (const button of palette.children) {
      const letter = button.dataset.letter;
      const count = letters.filter((other) => other === letter).length;
      const most = size * size;
      button.setAttribute("aria-checked", letter === brush);
      button.tabIndex = letter === brush ? 0 : -1;
      button.classList.toggle("over", letter !== "." && count > most);
      // A narrow button breaks the line after the "/".
      button.lastElementChild.textContent = letter === "." ? count : `${count}/\u200b${most}`;
      button.setAttribute("aria-label", letter === "." ? `blank: ${count}` : `${COLOURS[letter]}, ${letter}: ${count} of ${most}`);
    }
    return problem;
  }

  function paint(i, letter) {
    if (isCentre(i) || letters[i] === letter) return;
    letters[i] = letter;
    changed(letters.join(""));
  }

  function choose(letter) {
    brush = letter;
    draw();
  }

  function focus(i) {
    focused = i;
    draw();
    net.children[i].focus();
  }

  // The next facelet in a direction of the net, over gaps and around the row of four.
  function beside(i, [right, down]) {
    let [row, column] = [Number(net.children[i].dataset.row), Number(net.children[i].dataset.column)];
    for (let step = 0; step < 4 * size; step++) {
      row = (row + down + 3 * size) % (3 * size);
      column = (column + right + 4 * size) % (4 * size);
      const found = net.querySelector(`[data-row="${row}"][data-column="${column}"]`);
      if (found) return Number(found.dataset.facelet);
    }
    return i;
  }

  // The next paintable facelet in the order of the faces; `by` is 1 or -1.
  function next(i, by) {
    const to = (i + by + letters.length) % letters.length;
    return isCentre(to) ? next(to, by) : to;
  }

  // A key paints and moves on to the next facelet.
  function type(i, letter) {
    paint(i, letter);
    focus(next(i, 1));
  }

  // Clears the facelet, or the one before if it is blank.
  function typeBack(i) {
    const to = letters[i] === "." ? next(i, -1) : i;
    paint(to, ".");
    focus(to);
  }

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const faceletOf = (target) => target?.closest?.("#net [data-facelet]")?.dataset.facelet;

  net.addEventListener("keydown", (event) => {
    const i = faceletOf(event.target);
    if (i === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const letter = event.key.toUpperCase();
    if (event.key in ARROWS) focus(beside(Number(i), ARROWS[event.key]));
    else if (FACES.includes(letter)) type(Number(i), letter);
    else if (["Delete", "."].includes(event.key)) type(Number(i), ".");
    else if (event.key === "Backspace") typeBack(Number(i));
    else return;
    event.preventDefault();
  });
  net.addEventListener("click", (event) => {
    const i = faceletOf(event.target);
    if (i === undefined) return;
    focused = Number(i);
    paint(focused, brush);
  });
  net.addEventListener("pointerdown", (event) => {
    strokes = event.pointerType === "mouse" && event.button === 0;
  });
  net.addEventListener("pointerover", (event) => {
    const i = faceletOf(event.target);
    if (strokes && event.buttons === 1 && i !== undefined) paint(Number(i), brush);
  });
  net.addEventListener("pointerout", (event) => {
    // A stroke includes the facelet where the button was pressed.
    const i = faceletOf(event.target);
    if (strokes && event.buttons === 1 && i !== undefined) paint(Number(i), brush);
  });

  for (const letter of [...FACES, "."]) {
    const button = Object.assign(document.createElement("button"), { type: "button" });
    button.dataset.letter = letter;
    button.setAttribute("role", "radio");
    colour(button, letter);
    button.append(letter === "." ? "⌫" : letter, document.createElement("small"));
    button.addEventListener("click", () => choose(letter));
    palette.append(button);
  }
  palette.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!by) return;
    const all = [...FACES, "."];
    choose(all[(all.indexOf(brush) + by + all.length) % all.length]);
    palette.querySelector("[tabindex='0']").focus();
    event.preventDefault();
  });

  return {
    show(text) {
      const length = Math.round(Math.sqrt(text.length / 6));
      letters = [...text];
      if (length !== size) {
        size = length;
        focused = 0;
        build();
      }
      return draw();
    },
    letters: () => letters.join(""),
    reset(whole) {
      letters = solved().map((face, i) => (whole || isCentre(i) ? face : "."));
      changed(letters.join(""));
    },
  };
}

function colour(button, letter) {
  const dark = ["R", "B"].includes(letter);
  button.style.setProperty("--colour", letter === "." ? "transparent" : `var(--sticker-${letter.toLowerCase()})`);
  button.style.setProperty("--on-colour", letter === "." ? "inherit" : dark ? "#ffffff" : "#14181f");
}

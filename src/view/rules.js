// The page's own rules of the puzzles: they are independent of the solver that the page checks.
//
// KINDS has an entry for each kind of picture:
//   apply(picture, move)     the picture after a move; null if the move is illegal; absent if the rules are unknown
//   solved(picture, goals, puzzle)   true or false; undefined if the page does not know
//   text(picture)            the state in costar's notation
//   words(picture, geometry) the state for screen readers
//   meaning(move, picture)   the move in words
//   together(picture, moves, word)   the names for moves that can be made at the same time, and that were written as `word`;
//                            null if they cannot; absent if no moves can
//   notation                 how moves are written
// Pictures are never changed in place.

const FACES = ["U", "R", "F", "D", "L", "B"];

// For each face its normal, and the directions right and down in which its facelets are read.
// x points to the right face, y up, z to the front.
const LAYOUT = {
  U: { normal: [0, 1, 0], right: [1, 0, 0], down: [0, 0, 1] },
  R: { normal: [1, 0, 0], right: [0, 0, -1], down: [0, -1, 0] },
  F: { normal: [0, 0, 1], right: [1, 0, 0], down: [0, -1, 0] },
  D: { normal: [0, -1, 0], right: [1, 0, 0], down: [0, 0, -1] },
  L: { normal: [-1, 0, 0], right: [0, 0, 1], down: [0, -1, 0] },
  B: { normal: [0, 0, -1], right: [-1, 0, 0], down: [0, -1, 0] },
};

// The facelets of a cube with `size` cubies per edge, in the order U R F D L B, row by row. Cubies are 2 wide, with centres
// at -(size - 1), …, size - 1.
const faceletsOf = remember((size) => {
  const facelets = [];
  for (const face of FACES) {
    const { normal, right, down } = LAYOUT[face];
    for (let row = 0; row < size; row++) {
      for (let column = 0; column < size; column++) {
        const along = (axis) =>
          normal[axis] * (size - 1) + right[axis] * (2 * column - size + 1) + down[axis] * (2 * row - size + 1);
        facelets.push({ cubie: [along(0), along(1), along(2)], normal, right, down });
      }
    }
  }
  return facelets;
});

// A slice turns the layers in the middle, in the direction of a face.
const SLICES = { M: "L", E: "D", S: "F" };

// A turn by name: its axis, the centres of its first and last layer along the axis, and its quarter turns, counter-clockwise
// seen from the positive end of the axis. null for another name.
function turnOf(move, size) {
  const [, slice, turned] = /^([MES])(2|'?)$/.exec(move) ?? [];
  if (slice) return turnOf(`${Math.ceil(size / 2)}-${Math.floor(size / 2) + 1}${SLICES[slice]}w${turned}`, size);
  const [, first, last, letter, wide, suffix] = /^(?:(\d+)-)?(\d+)?([URFDLBxyz])(w?)(2|'?)$/.exec(move) ?? [];
  if (letter === undefined) return null;
  const whole = "xyz".indexOf(letter);
  const normal = whole < 0 ? LAYOUT[letter].normal : [0, 1, 2].map((axis) => (axis === whole ? 1 : 0));
  const axis = normal.findIndex((part) => part !== 0);
  const clockwise = suffix === "2" ? 2 : suffix === "'" ? -1 : 1;
  const to = whole < 0 ? Number(last ?? (wide ? 2 : 1)) : size;
  const from = Number(first ?? (wide || whole >= 0 ? 1 : to));
  const ends = [from, to].map((layer) => normal[axis] * (size + 1 - 2 * layer)).sort((a, b) => a - b);
  return { axis, ends, quarters: -clockwise * normal[axis] };
}

const isTurned = ({ axis, ends }, cubie) => ends[0] <= cubie[axis] && cubie[axis] <= ends[1];

// Turns about one axis, made at the same time: the axis, and the quarter turns of each layer, the one at the negative end
// first. null for turns about several axes, and for other moves.
function layersTurned(moves, size) {
  const turns = moves.map((move) => turnOf(move, size));
  if (turns.some((turn) => !turn || turn.axis !== turns[0].axis)) return null;
  const quarters = Array.from({ length: size }, (_, layer) => {
    const centre = 2 * layer - size + 1;
    const own = turns.filter(({ ends }) => ends[0] <= centre && centre <= ends[1]);
    return own.reduce((sum, turn) => sum + turn.quarters, 0);
  });
  return { axis: turns[0].axis, quarters };
}

// The layers that a turn moves, as text: equal for equal turns.
const turnedBy = remember((move, size) => textOf(layersTurned([move], size)));
const textOf = (turned) => turned && `${turned.axis}: ${turned.quarters.map((quarters) => ((quarters % 4) + 4) % 4)}`;

// The names of all turns of the whole cube or of layers beside each other, those of layers near their face first.
const turnNames = remember((size) => {
  const layers = Array.from({ length: size }, (_, i) => i + 1);
  const name = (first, last, face) => {
    if (first === last) return (last === 1 ? "" : last) + face;
    return (first > 1 ? `${first}-${last}` : last === 2 ? "" : last) + `${face}w`;
  };
  const names = layers.flatMap((last) =>
    layers.slice(0, last).flatMap((first) => FACES.map((face) => name(first, last, face))),
  );
  return ["x", "y", "z", ...names].flatMap((name) => [name, `${name}'`, `${name}2`]);
});

// For each facelet, the facelet that its colour comes from.
const sourcesOf = remember((size, move) => {
  const turn = turnOf(move, size);
  if (!turn) return null;
  const facelets = faceletsOf(size);
  const key = (cubie, normal) => `${cubie}|${normal}`;
  const places = new Map(facelets.map(({ cubie, normal }, place) => [key(cubie, normal), place]));
  const sources = facelets.map((_, place) => place);
  facelets.forEach(({ cubie, normal }, place) => {
    if (!isTurned(turn, cubie)) return;
    const turned = (vector) => quarterTurned(vector, turn.axis, turn.quarters);
    sources[places.get(key(turned(cubie), turned(normal)))] = place;
  });
  return sources;
});

function quarterTurned(vector, axis, quarters) {
  const [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
  let turned = vector;
  for (let i = 0; i < ((quarters % 4) + 4) % 4; i++) {
    const next = [...turned];
    // "+ 0" turns -0 into 0, which has another text.
    [next[b], next[c]] = [-turned[c] + 0, turned[b]];
    turned = next;
  }
  return turned;
}

// The function with each result computed once.
function remember(compute) {
  const known = new Map();
  return (...words) => {
    const key = words.join(" ");
    if (!known.has(key)) known.set(key, compute(...words));
    return known.get(key);
  };
}

const replaced = (list, changes) => list.map((value, i) => changes.get(i) ?? value);
const sameList = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);
const facesOf = ({ size, facelets }) =>
  FACES.map((_, face) => facelets.slice(face * size * size, (face + 1) * size * size));
const rowsOf = (list, columns) =>
  Array.from({ length: Math.ceil(list.length / columns) }, (_, row) => list.slice(row * columns, (row + 1) * columns));

const FACE_NAMES = { U: "upper", R: "right", F: "front", D: "lower", L: "left", B: "back" };
const WAYS = { U: "up", D: "down", L: "left", R: "right" };
const COLOUR_NAMES = { U: "white", R: "red", F: "green", D: "yellow", L: "orange", B: "blue" };

const KINDS = {
  cube: {
    apply(picture, move) {
      const sources = sourcesOf(picture.size, move);
      return sources && { ...picture, facelets: sources.map((source) => picture.facelets[source]).join("") };
    },
    // In any orientation, unless the cube is held still.
    solved: (picture, goals, puzzle) =>
      puzzle.endsWith(":oriented")
        ? goals.some(({ facelets }) => facelets === picture.facelets)
        : facesOf(picture).every((face) => face === face[0].repeat(face.length)),
    text: (picture) => picture.facelets,
    words(picture) {
      const face = (letters, i) =>
        `${FACE_NAMES[FACES[i]]} face: ${[...letters].map((letter) => COLOUR_NAMES[letter] ?? "blank").join(" ")}`;
      return `Cube. ${facesOf(picture).map(face).join("; ")}`;
    },
    together({ size }, moves, word) {
      const turned = layersTurned(moves, size);
      if (!turned?.quarters.some((quarters) => quarters % 4)) return null;
      const name = [word, ...turnNames(size)].find((name) => turnedBy(name, size) === textOf(turned));
      return name ? [name] : moves;
    },
    meaning(move) {
      const way = move.endsWith("2") ? "by half a turn" : move.endsWith("'") ? "counter-clockwise" : "clockwise";
      const whole = { x: "right", y: "upper", z: "front" }[move[0]];
      if (whole) return `the whole cube as the ${whole} face, ${way}`;
      if (move[0] in SLICES) return `the middle as the ${FACE_NAMES[SLICES[move[0]]]} face, ${way}`;
      const [, first, last, letter, wide] = /^(?:(\d+)-)?(\d+)?([URFDLB])(w?)/.exec(move);
      const face = `${FACE_NAMES[letter]} face`;
      if (first) return `layers ${first} to ${last} from the ${face}, ${way}`;
      if (wide) return `the ${last ?? 2} layers at the ${face}, ${way}`;
      return last ? `layer ${last} from the ${face}, ${way}` : `${face} ${way}`;
    },
    notation:
      "U R F D L B turn the upper, right, front, lower, left and back face clockwise, seen from outside; ' is " +
      "counter-clockwise. 2R turns the second layer from the right, 3Rw the first three. M, E and S turn the middle as L, " +
      "D and F do, x, y and z the whole cube as R, U and F do. Upper is white, front green, right red.",
  },

  tiles: {
    apply(picture, move) {
      const { columns, tiles } = picture;
      const blank = tiles.indexOf(0);
      const [row, column] = [Math.floor(blank / columns), blank % columns];
      const [down, right] = { U: [-1, 0], D: [1, 0], L: [0, -1], R: [0, 1] }[move] ?? [tiles.length, 0];
      const outside = (place, count) => place < 0 || place >= count;
      if (outside(row + down, tiles.length / columns) || outside(column + right, columns)) return null;
      const other = blank + down * columns + right;
      return {
        ...picture,
        tiles: replaced(
          tiles,
          new Map([
            [blank, tiles[other]],
            [other, 0],
          ]),
        ),
      };
    },
    solved: (picture, goals) => (goals.length ? goals.some((goal) => sameList(goal.tiles, picture.tiles)) : undefined),
    text: (picture) => picture.tiles.join(" "),
    words: (picture) =>
      `Tiles, row by row: ${rowsOf(picture.tiles, picture.columns)
        .map((row) => row.map((tile) => tile || "blank").join(" "))
        .join("; ")}`,
    meaning: (move) => `the blank goes ${WAYS[move]}`,
    notation: "U, D, L and R are the way that the blank goes: the tile there slides the other way.",
  },

  lights: {
    apply(picture, move) {
      const { columns, lit } = picture;
      const [row, column] = move.split(",").map((number) => Number(number) - 1);
      const within = (place) => Number.isInteger(place) && place >= 0 && place < columns;
      if (!within(row) || !within(column)) return null;
      const near = (cell) => Math.abs(Math.floor(cell / columns) - row) + Math.abs((cell % columns) - column) <= 1;
      return { ...picture, lit: lit.map((light, cell) => light !== near(cell)) };
    },
    solved: (picture) => !picture.lit.includes(true),
    text: (picture) => picture.lit.map(Number).join(""),
    words: (picture) =>
      `Lights, row by row: ${rowsOf(picture.lit, picture.columns)
        .map((row) => row.map((light) => (light ? "on" : "off")).join(" "))
        .join("; ")}`,
    meaning: (move) => `press in row ${move.replace(",", ", column ")}`,
    notation: "row,column presses a light: it and its neighbours turn over. Solved with all lights off.",
  },

  jugs: {
    apply(picture, move) {
      const { capacities, volumes } = picture;
      const [from, to] = pourOf(move);
      if (!(from in volumes) || !(to in volumes) || from === to) return null;
      const poured = Math.min(volumes[from], capacities[to] - volumes[to]);
      const after = new Map([
        [from, volumes[from] - poured],
        [to, volumes[to] + poured],
      ]);
      return poured > 0 ? { ...picture, volumes: replaced(volumes, after) } : null;
    },
    solved({ volumes, marks, every }) {
      const reached = marks.map((mark, jug) => volumes[jug] === mark);
      return reached.length > 0 && (every ? !reached.includes(false) : reached.includes(true));
    },
    text: (picture) => picture.volumes.join(","),
    words: ({ capacities, volumes }) =>
      `Jugs: ${volumes.map((volume, jug) => `jug ${jug} holds ${volume} of ${capacities[jug]}`).join("; ")}`,
    meaning(move) {
      const [from, to] = pourOf(move);
      return `pour from jug ${from} into jug ${to}`;
    },
    notation: "(0,1) pours from jug 0 into jug 1, until the one is empty or the other full. Dashes are the goal.",
  },

  row: {
    solved: (picture, goals) =>
      goals.length ? goals.some((goal) => sameList(goal.symbols, picture.symbols)) : undefined,
    text: (picture) => picture.symbols.join(picture.symbols.every((symbol) => [...symbol].length === 1) ? "" : " "),
    words({ symbols }, geometry) {
      const face = ({ name, positions }) => `${name}: ${positions.map((position) => symbols[position]).join(" ")}`;
      if (geometry?.faces.length) return `Symbols by face. ${geometry.faces.map(face).join("; ")}`;
      return `Symbols by position: ${symbols.join(" ")}`;
    },
    meaning: () => "",
    notation: "The moves are those of the puzzle's file.",
  },

  sokoban: {
    // The page allows pushes that costar refuses because no solution is left after them.
    isLaxer: true,
    apply(picture, move) {
      const [down, right] = { U: [-1, 0], D: [1, 0], L: [0, -1], R: [0, 1] }[move] ?? [0, 0];
      const from = picture.rows.findIndex((row) => /[@+]/.test(row));
      const column = from < 0 ? 0 : picture.rows[from].search(/[@+]/);
      const at = (steps) => picture.rows[from + steps * down]?.[column + steps * right] ?? "#";
      const pushes = "$*".includes(at(1));
      if (from < 0 || (down === 0 && right === 0) || at(1) === "#" || (pushes && "#$*".includes(at(2)))) return null;
      const rows = picture.rows.map((row) => [...row]);
      const put = (steps, onFloor, onGoal) => {
        const onto = ".*+".includes(at(steps)) ? onGoal : onFloor;
        rows[from + steps * down][column + steps * right] = onto;
      };
      put(0, " ", ".");
      put(1, "@", "+");
      if (pushes) put(2, "$", "*");
      return { ...picture, rows: rows.map((row) => row.join("")) };
    },
    solved: (picture) => !picture.rows.some((row) => row.includes("$")),
    text: (picture) => picture.rows.join("\n"),
    words: (picture) => `Sokoban level, row by row: ${picture.rows.join("; ")}`,
    meaning: (move) => `the player goes ${WAYS[move]}`,
    notation:
      "U, D, L and R are the way that the player goes, pushing one box at a time, until all boxes are on goals. " +
      "costar refuses a push after which no solution is left.",
  },

  text: {
    solved: () => undefined,
    text: (picture) => picture.text,
    words: (picture) => picture.text,
    meaning: () => "",
    notation: "",
  },
};

// The steps in which the page plays: a word that was written for moves that can be made at the same time is one, every other
// move is one of its own. { names, from, to }: the names of its moves, and the number of moves made before and after it.
function stepsOf({ moves, scramble, pictures, words = [] }) {
  const { together } = KINDS[pictures[0].kind];
  const single = (from, to) =>
    moves.slice(from, to).map((move, i) => ({ names: [move], from: from + i, to: from + i + 1 }));
  return [
    [0, scramble],
    [scramble, moves.length],
  ].flatMap(([from, to], part) => {
    const written = words[part] ?? [];
    if (!together || written.reduce((sum, [, count]) => sum + count, 0) !== to - from) return single(from, to);
    let made = from;
    return written.flatMap(([word, count]) => {
      const step = { from: made, to: (made += count) };
      const names = count > 0 ? together(pictures[0], moves.slice(step.from, step.to), word) : null;
      return names ? [{ names, ...step }] : single(step.from, step.to);
    });
  });
}

const pourOf = (move) => (/^\((\d+),(\d+)\)$/.exec(move) ?? []).slice(1).map(Number);

// Plays all moves. Returns the pictures up to the first illegal move, that move (or null), and the first move after which
// this page and costar disagree (or null). Without rules, the page takes costar's pictures.
function played({ puzzle, moves, pictures, goals, solves }) {
  const kind = KINDS[pictures[0].kind];
  const own = [pictures[0]];
  let differs = null;
  for (const [i, move] of moves.entries()) {
    const theirs = pictures[i + 1] ?? null; // costar's
    const next = kind.apply && !(kind.isLaxer && !theirs) ? kind.apply(own[i], move) : theirs;
    if (differs === null && (next ? kind.text(next) : null) !== (theirs ? kind.text(theirs) : null)) {
      differs = i + 1;
    }
    if (!next) break;
    own.push(next);
  }
  const illegal = own.length <= moves.length ? own.length : null;
  const judged = kind.solved(own[own.length - 1], goals, puzzle);
  const solved = illegal === null && (judged ?? solves);
  return {
    pictures: own,
    illegal,
    differs,
    solved,
    agrees: differs === null && solved === solves,
    independent: Boolean(kind.apply),
  };
}

// Draws flat boards on a canvas, at rest and during a move.
//
// DRAWINGS has a function for each kind of picture that is drawn on a canvas. Its argument holds the context and size of
// the canvas, the pictures `before` and `after` a step (the same at rest), its `moves`, which are several only on a cube, the
// first `move` of them, the `fraction` of the step that is done, the `look` (colours of the page), the `goals`, and the
// `geometry` of the puzzle, if any.

const DRAWINGS = {
  cube: drawCube,
  tiles: drawTiles,
  lights: drawLights,
  jugs: drawJugs,
  row: (scene) => (scene.geometry ? drawShape(scene) : drawRow(scene)),
  sokoban: drawSokoban,
};

const mix = (a, b, fraction) => a + (b - a) * fraction;

// A centred grid of square cells.
function gridIn({ width, height }, columns, rows, margin = 12) {
  const cell = Math.min((width - 2 * margin) / columns, (height - 2 * margin) / rows, 110);
  const [left, top] = [(width - cell * columns) / 2, (height - cell * rows) / 2];
  return {
    cell,
    left,
    top,
    width: cell * columns,
    height: cell * rows,
    x: (column) => left + cell * column,
    y: (row) => top + cell * row,
  };
}

function box(context, x, y, width, height, radius, fill) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
  context.fillStyle = fill;
  context.fill();
}

function write(context, text, x, y, pixels, fill, weight = 600) {
  context.font = `${weight} ${pixels}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = fill;
  context.fillText(text, x, y + pixels * 0.05);
}

function drawTiles({ context, width, height, before, after, fraction, look, goals }) {
  const { columns, tiles } = before;
  const grid = gridIn({ width, height }, columns, tiles.length / columns, 20);
  const edge = 10;
  box(context, grid.left - edge, grid.top - edge, grid.width + 2 * edge, grid.height + 2 * edge, 14, look.frame);
  tiles.forEach((tile, cell) => {
    if (tile === 0) return;
    const target = after.tiles.indexOf(tile);
    const column = mix(cell % columns, target % columns, fraction);
    const row = mix(Math.floor(cell / columns), Math.floor(target / columns), fraction);
    const home = goals.length > 0 && goals[0].tiles[fraction < 0.5 ? cell : target] === tile;
    const [x, y, gap] = [grid.x(column), grid.y(row), grid.cell * 0.035];
    const face = [x + gap, y + gap, grid.cell - 2 * gap, grid.cell - 2 * gap];
    box(context, face[0], face[1] + grid.cell * 0.025, face[2], face[3], grid.cell * 0.13, "rgba(0, 0, 0, 0.25)");
    box(context, ...face, grid.cell * 0.13, home ? look.accent : look.tile);
    write(context, tile, x + grid.cell / 2, y + grid.cell / 2, grid.cell * 0.42, home ? look.onAccent : look.onTile);
  });
}

function drawLights({ context, width, height, before, after, move, fraction, look }) {
  const { columns, lit } = before;
  const grid = gridIn({ width, height }, columns, columns, 26);
  const edge = 8;
  box(context, grid.left - edge, grid.top - edge, grid.width + 2 * edge, grid.height + 2 * edge, 14, look.night);
  for (let i = 0; i < columns; i++) {
    const pixels = Math.min(13, grid.cell * 0.5);
    write(context, i + 1, grid.x(i + 0.5), grid.top - edge - 9, pixels, look.muted, 500);
    write(context, i + 1, grid.left - edge - 10, grid.y(i + 0.5), pixels, look.muted, 500);
  }
  lit.forEach((light, cell) => {
    const [column, row] = [cell % columns, Math.floor(cell / columns)];
    const on = mix(Number(light), Number(after.lit[cell]), fraction);
    drawLight(context, grid.x(column + 0.5), grid.y(row + 0.5), grid.cell, on, look);
    if (fraction > 0 && move === `${row + 1},${column + 1}`) {
      context.strokeStyle = look.focus;
      context.lineWidth = Math.max(2, grid.cell * 0.05);
      context.beginPath();
      context.roundRect(grid.x(column) + 2, grid.y(row) + 2, grid.cell - 4, grid.cell - 4, grid.cell * 0.2);
      context.stroke();
    }
  });
}

// A lamp; `on` is 1, 0, or between.
function drawLight(context, x, y, cell, on, look) {
  const half = cell * 0.41;
  box(context, x - half, y - half, 2 * half, 2 * half, cell * 0.16, look.lampOff);
  context.save();
  context.globalAlpha = on;
  const glow = context.createRadialGradient(x, y, 0, x, y, cell * 0.6);
  glow.addColorStop(0, look.lampCore);
  glow.addColorStop(1, look.lampOn);
  context.shadowColor = look.lampOn;
  context.shadowBlur = cell * 0.35;
  box(context, x - half, y - half, 2 * half, 2 * half, cell * 0.16, glow);
  context.restore();
}

function drawJugs({ context, width, height, before, after, move, fraction, look }) {
  const { capacities, volumes, marks } = before;
  const most = Math.max(...capacities);
  const pitch = Math.min((width - 24) / capacities.length, 150);
  const glass = Math.min(pitch * 0.62, 92);
  const tall = height - 128;
  const floor = height - 54;
  const unit = tall / most;
  const middle = (jug) => width / 2 + (jug - (capacities.length - 1) / 2) * pitch;
  capacities.forEach((capacity, jug) => {
    const [x, top] = [middle(jug) - glass / 2, floor - Math.max(capacity * unit, 14)];
    const level = mix(volumes[jug], after.volumes[jug], fraction) * unit;
    const shape = [x, top - 8, glass, floor - top + 8];
    const corners = [3, 3, 12, 12];
    box(context, ...shape, corners, look.glass);
    context.save();
    context.beginPath();
    context.roundRect(...shape, corners);
    context.clip();
    box(context, x, floor - level, glass, level + 1, 0, look.water);
    box(context, x, floor - level, glass, Math.min(level, 3), 0, look.waterEdge);
    context.restore();
    drawScale(context, { x, floor, glass, unit, capacity, mark: marks[jug] }, look);
    context.strokeStyle = look.muted;
    context.lineWidth = 2.5;
    context.beginPath();
    context.roundRect(...shape, corners);
    context.stroke();
    const shown = fraction < 0.5 ? volumes[jug] : after.volumes[jug];
    write(context, `${shown} of ${capacity}`, middle(jug), floor + 18, Math.min(16, pitch * 0.19), look.ink);
    write(context, `jug ${jug}`, middle(jug), floor + 39, Math.min(13, pitch * 0.17), look.muted, 500);
  });
  if (fraction > 0 && fraction < 1) {
    const [from, to] = pourOf(move).map(middle);
    drawStream(context, from, to, floor - tall - 14, look);
  }
}

// A line per unit if there is space, and a dashed line at the goal.
function drawScale(context, { x, floor, glass, unit, capacity, mark }, look) {
  context.strokeStyle = look.muted;
  context.lineWidth = 1;
  context.beginPath();
  for (let volume = 1; volume < capacity && unit >= 6; volume++) {
    context.moveTo(x + glass, floor - volume * unit);
    context.lineTo(x + glass - 8, floor - volume * unit);
  }
  context.stroke();
  if (mark === undefined || mark > capacity) return;
  context.save();
  context.strokeStyle = look.goal;
  context.lineWidth = 2.5;
  context.setLineDash([7, 5]);
  context.beginPath();
  context.moveTo(x - 6, floor - mark * unit);
  context.lineTo(x + glass + 6, floor - mark * unit);
  context.stroke();
  context.restore();
}

function drawStream(context, from, to, top, look) {
  context.strokeStyle = context.fillStyle = look.water;
  context.lineWidth = 4;
  context.lineCap = "round";
  const way = Math.sign(to - from);
  context.beginPath();
  context.moveTo(from, top + 6);
  context.quadraticCurveTo((from + to) / 2, top - 34, to - 6 * way, top - 2);
  context.stroke();
  context.beginPath();
  context.moveTo(to, top + 8);
  context.lineTo(to - 14 * way, top - 4);
  context.lineTo(to - 2 * way, top - 12);
  context.fill();
}

function drawRow({ context, width, height, before, after, fraction, look, goals }) {
  const { symbols } = before;
  const columns = Math.min(symbols.length, Math.max(3, Math.ceil(Math.sqrt(symbols.length * 1.6))));
  const grid = gridIn({ width, height }, columns, Math.ceil(symbols.length / columns), 14);
  const names = [...new Set((goals[0] ?? before).symbols)];
  symbols.forEach((symbol, place) => {
    const changes = after.symbols[place] !== symbol;
    const shown = fraction < 0.5 ? symbol : after.symbols[place];
    // A symbol that changes turns over like a card.
    const wide = changes ? Math.abs(1 - 2 * fraction) : 1;
    const colour = look.palette[names.indexOf(shown) % look.palette.length];
    const [x, y] = [grid.x((place % columns) + 0.5), grid.y(Math.floor(place / columns) + 0.5)];
    const half = grid.cell * 0.45;
    context.save();
    context.translate(x, y);
    context.scale(Math.max(wide, 0.02), 1);
    box(context, -half, -half, 2 * half, 2 * half, grid.cell * 0.14, colour);
    const pixels = grid.cell * Math.min(0.46, 1 / [...shown].length);
    write(context, shown, 0, -grid.cell * 0.04, pixels, brightness(colour) > 0.32 ? "rgba(0, 0, 0, 0.8)" : "#ffffff");
    write(
      context,
      place + 1,
      0,
      grid.cell * 0.33,
      grid.cell * 0.15,
      brightness(colour) > 0.32 ? "rgba(0, 0, 0, 0.65)" : "rgba(255, 255, 255, 0.85)",
      500,
    );
    context.restore();
  });
}

function drawSokoban({ context, width, height, before, after, fraction, look }) {
  const columns = Math.max(...before.rows.map((row) => row.length));
  const grid = gridIn({ width, height }, columns, before.rows.length, 12);
  const cells = cellsOf(before);
  const later = new Set(
    cellsOf(after)
      .filter(({ box }) => box)
      .map(String),
  );
  const { cell } = grid;
  for (const { column, row, letter } of cells) drawGround(context, grid.x(column), grid.y(row), cell, letter, look);
  // The pushed box is the one on a cell where no box will be.
  const [man, manAfter] = [cells, cellsOf(after)].map((list) => list.find(({ player }) => player));
  const arrived = cellsOf(after).find((place) => place.box && !cells[place.index].box);
  for (const place of cells.filter((place) => place.box)) {
    const target = !later.has(String(place)) && arrived ? arrived : place;
    const [column, line] = [mix(place.column, target.column, fraction), mix(place.row, target.row, fraction)];
    drawCrate(
      context,
      grid.x(column),
      grid.y(line),
      cell,
      "*+.".includes(fraction < 0.5 ? place.letter : target.letter),
      look,
    );
  }
  if (!man || !manAfter) return;
  const [x, y] = [
    grid.x(mix(man.column, manAfter.column, fraction) + 0.5),
    grid.y(mix(man.row, manAfter.row, fraction) + 0.5),
  ];
  context.fillStyle = look.accent;
  context.beginPath();
  context.arc(x, y, cell * 0.33, 0, 2 * Math.PI);
  context.fill();
  for (const way of [-1, 1]) {
    context.fillStyle = look.onAccent;
    context.beginPath();
    context.arc(x + way * cell * 0.12, y - cell * 0.06, cell * 0.055, 0, 2 * Math.PI);
    context.fill();
  }
}

// The cells of a level; as text, each is its position.
const cellsOf = ({ rows }) => {
  const cells = rows.flatMap((text, row) => [...text].map((letter, column) => ({ letter, row, column })));
  return cells.map((place, index) => ({
    ...place,
    index,
    box: "$*".includes(place.letter),
    player: "@+".includes(place.letter),
    toString: () => `${place.row},${place.column}`,
  }));
};

function drawGround(context, x, y, cell, letter, look) {
  if (letter === "#") {
    box(context, x + 0.5, y + 0.5, cell - 1, cell - 1, cell * 0.12, look.wall);
    return;
  }
  if (!".*+".includes(letter)) return;
  context.strokeStyle = look.goal;
  context.lineWidth = Math.max(2, cell * 0.07);
  context.beginPath();
  context.roundRect(x + cell * 0.3, y + cell * 0.3, cell * 0.4, cell * 0.4, cell * 0.1);
  context.stroke();
}

function drawCrate(context, x, y, cell, home, look) {
  const inset = cell * 0.1;
  box(
    context,
    x + inset,
    y + inset,
    cell - 2 * inset,
    cell - 2 * inset,
    cell * 0.1,
    home ? look.crateHome : look.crate,
  );
  context.strokeStyle = "rgba(0, 0, 0, 0.35)";
  context.lineWidth = Math.max(1.5, cell * 0.05);
  context.strokeRect(x + 2 * inset, y + 2 * inset, cell - 4 * inset, cell - 4 * inset);
  context.beginPath();
  // A tick on a crate on a goal, a cross on the others.
  const at = (u, v) => [x + cell * u, y + cell * v];
  const lines = home
    ? [
        [0.34, 0.52],
        [0.46, 0.64],
        [0.67, 0.37],
      ]
    : [
        [0.2, 0.2],
        [0.8, 0.8],
      ];
  lines.forEach(([u, v], i) => (i ? context.lineTo(...at(u, v)) : context.moveTo(...at(u, v))));
  if (!home) {
    context.moveTo(...at(0.8, 0.2));
    context.lineTo(...at(0.2, 0.8));
  }
  context.stroke();
}

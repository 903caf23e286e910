// Draws a cube on a canvas in perspective, with lit faces and turning layers.
//
// Faces are drawn from the farthest to the nearest. This order is exact: planes separate layers that turn differently, and
// the cubies of each part form a grid, which a camera outside sees in order along each axis.

const DISTANCE = 8.5; // from the eye to the centre; the edge of a cube is 2
const LIGHT = normalised([-0.15, 0.75, 0.65]);
const STICKER = 0.87; // half the edge of a sticker; half the edge of a cubie is 1
const CORNER = 0.22; // radius of a sticker's corners

function drawCube({ context, width, height, before, moves, fraction, look, view }) {
  const { size } = before;
  const { axis, quarters } = (fraction > 0 && layersTurned(moves, size)) || { axis: 0, quarters: Array(size).fill(0) };
  const eyed = product(rotation(0, view.pitch), rotation(1, view.yaw));
  const focus = Math.min(width, height) * 0.5 * DISTANCE * 0.535;
  const scene = { context, size, look, facelets: before.facelets, focus, centre: [width / 2, height * 0.485] };
  drawShadow(scene, eyed);
  const eye = eyeOf(eyed, size)[axis];
  const centre = (layer) => 2 * layer - size + 1;
  // From a layer to the one before the next layer that turns differently.
  const starts = quarters.flatMap((turned, layer) => (turned === quarters[layer - 1] ? [] : [layer]));
  const slabs = starts.map((start, i) => {
    const [from, to] = [centre(start), centre((starts[i + 1] ?? size) - 1)];
    return {
      cubies: shellOf(size).filter((cubie) => from <= cubie[axis] && cubie[axis] <= to),
      pose: product(eyed, rotation(axis, quarters[start] * 90 * fraction)),
      far: Math.max(from - 1 - eye, eye - to - 1),
    };
  });
  for (const part of slabs.sort((a, b) => b.far - a.far)) drawSlab(scene, part);
}

// The cubies on the surface.
const shellOf = remember((size) => {
  const ends = Array.from({ length: size }, (_, i) => 2 * i - size + 1);
  const all = ends.flatMap((x) => ends.flatMap((y) => ends.map((z) => [x, y, z])));
  return all.filter((cubie) => cubie.some((part) => Math.abs(part) === size - 1));
});

// The facelets by cubie and side.
const faceletAt = remember((size) => {
  const facelets = new Map();
  faceletsOf(size).forEach((facelet, place) =>
    facelets.set(`${facelet.cubie}|${facelet.normal}`, { ...facelet, place }),
  );
  return facelets;
});

function drawSlab(scene, { cubies, pose }) {
  const eye = eyeOf(pose, scene.size);
  const far = (cubie, axis) => Math.abs(cubie[axis] - eye[axis]);
  const ordered = [...cubies].sort((a, b) => far(b, 0) - far(a, 0) || far(b, 1) - far(a, 1) || far(b, 2) - far(a, 2));
  const here = new Set(cubies.map(String));
  for (const cubie of ordered) {
    for (let axis = 0; axis < 3; axis++) {
      for (const side of [-1, 1]) {
        const neighbour = cubie.map((part, i) => part + (i === axis ? 2 * side : 0));
        const visible = side * (eye[axis] - cubie[axis] - side) > 0;
        if (visible && !here.has(String(neighbour))) drawFace(scene, pose, cubie, axis, side);
      }
    }
  }
}

function drawFace(scene, pose, cubie, axis, side) {
  const { context, look, size } = scene;
  const normal = [0, 0, 0].map((_, i) => (i === axis ? side : 0));
  const lit = 0.86 + 0.14 * Math.max(0, dot(times(pose, normal), LIGHT));
  const at = (u, v) => {
    const point = cubie.map((part, i) => part + normal[i]);
    point[(axis + 1) % 3] += u;
    point[(axis + 2) % 3] += v;
    return project(scene, pose, point);
  };
  context.fillStyle = context.strokeStyle = shaded(look.plastic, lit);
  context.lineWidth = 1;
  context.lineJoin = "round";
  trace(context, [at(-1, -1), at(1, -1), at(1, 1), at(-1, 1)]);
  context.fill();
  context.stroke();
  const facelet = faceletAt(size).get(`${cubie}|${normal}`);
  if (!facelet) return;
  const letter = scene.facelets[facelet.place];
  const colour = look.stickers[letter] ?? look.plastic;
  context.fillStyle = sheen(context, at, colour, lit);
  trace(
    context,
    roundedSquare().map(([u, v]) => at(u, v)),
  );
  context.fill();
  if (look.letters) drawLetter(scene, pose, facelet, letter, colour);
}

// A gloss: the colour is lighter towards the top of the screen.
function sheen(context, at, colour, lit) {
  const corners = [at(-1, -1), at(1, -1), at(1, 1), at(-1, 1)].sort((a, b) => a[1] - b[1]);
  const [top, bottom] = [corners[0], corners[3]];
  const gradient = context.createLinearGradient(...top, ...bottom);
  gradient.addColorStop(0, shaded(colour, lit, 0.1));
  gradient.addColorStop(0.6, shaded(colour, lit));
  gradient.addColorStop(1, shaded(colour, lit * 0.94));
  return gradient;
}

function drawLetter(scene, pose, { cubie, normal, right, down }, letter, colour) {
  const { context } = scene;
  const on = (rightwards, downwards) =>
    project(
      scene,
      pose,
      cubie.map((part, i) => part + normal[i] + rightwards * right[i] + downwards * down[i]),
    );
  const [centre, east, south] = [on(0, 0), on(0.5, 0), on(0, 0.5)];
  context.save();
  context.transform(
    (east[0] - centre[0]) / 50,
    (east[1] - centre[1]) / 50,
    (south[0] - centre[0]) / 50,
    (south[1] - centre[1]) / 50,
    ...centre,
  );
  context.font = "600 92px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = brightness(colour) > 0.32 ? "rgba(0, 0, 0, 0.72)" : "rgba(255, 255, 255, 0.92)";
  context.fillText(letter, 0, 6);
  context.restore();
}

function drawShadow(scene, pose) {
  const { context, size, look, focus, centre } = scene;
  const below = times(pose, [0, -1.3 * size, 0]);
  const scale = focus / (DISTANCE * size - below[2]);
  const radius = 1.45 * size * scale;
  context.save();
  context.translate(centre[0] + below[0] * scale, centre[1] - below[1] * scale);
  context.scale(1, Math.max(0.06, Math.abs(times(pose, [0, 1, 0])[2])));
  const gradient = context.createRadialGradient(0, 0, 0, 0, 0, radius);
  gradient.addColorStop(0, look.shadow);
  gradient.addColorStop(0.55, look.shadow);
  gradient.addColorStop(1, "transparent");
  context.fillStyle = gradient;
  context.beginPath();
  context.arc(0, 0, radius, 0, 2 * Math.PI);
  if (times(pose, [0, 1, 0])[2] > 0) context.fill();
  context.restore();
}

const roundedSquare = remember(() => {
  const points = [];
  const inner = STICKER - CORNER;
  for (let quarter = 0; quarter < 4; quarter++) {
    const [u, v] = [
      [1, 1],
      [-1, 1],
      [-1, -1],
      [1, -1],
    ][quarter];
    for (let i = 0; i <= 6; i++) {
      const angle = (quarter + i / 6) * (Math.PI / 2);
      points.push([inner * u + CORNER * Math.cos(angle), inner * v + CORNER * Math.sin(angle)]);
    }
  }
  return points;
});

function trace(context, points) {
  context.beginPath();
  points.forEach((point, i) => (i ? context.lineTo(...point) : context.moveTo(...point)));
  context.closePath();
}

// The position of a point on the canvas.
function project({ focus, centre, size }, pose, point) {
  const [x, y, z] = times(pose, point);
  const scale = focus / (DISTANCE * size - z);
  return [centre[0] + x * scale, centre[1] - y * scale];
}

// The eye in the coordinates of a cube in this pose.
const eyeOf = (pose, size) => pose[2].map((part) => part * DISTANCE * size);

// Matrices are three rows; angles are degrees, counter-clockwise seen from the positive end of the axis.
function rotation(axis, degrees) {
  const [cos, sin] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
  const [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
  const matrix = [
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ];
  matrix[axis][axis] = 1;
  [matrix[b][b], matrix[b][c], matrix[c][b], matrix[c][c]] = [cos, -sin, sin, cos];
  return matrix;
}

const product = (a, b) => a.map((row) => [0, 1, 2].map((j) => row[0] * b[0][j] + row[1] * b[1][j] + row[2] * b[2][j]));
const times = (matrix, vector) => matrix.map((row) => dot(row, vector));
function dot(a, b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
function normalised(vector) {
  const length = Math.hypot(...vector);
  return vector.map((part) => part / length);
}

// "#rrggbb", darkened to a share of its light, then mixed with white.
function shaded(colour, lit, white = 0) {
  const parts = channels(colour).map((part) => Math.round(Math.min(1, part * lit + (1 - part * lit) * white) * 255));
  return `rgb(${parts})`;
}
const channels = remember((colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255));
function brightness(colour) {
  const [red, green, blue] = channels(colour).map((part) => part ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

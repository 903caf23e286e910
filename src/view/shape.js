// Draws a puzzle whose file has a shape: flat polygons, or the polygons of a solid.
//
// A move whose permutation is a rotation of the polygons is drawn as that rotation. For any other move, flat symbols travel
// from place to place, and symbols of a solid turn over like cards.
//
// The middle of a face may have no polygon, as on a Megaminx: it has the colour of the face.

const STICKER_SHARE = 0.86; // of a polygon; the rest shows the body
const FITS = 1e-3; // tolerance for a rotation that brings each polygon to the next

const isSolidShape = (geometry) => geometry?.polygons[0]?.[0]?.length === 3;

function drawShape(scene) {
  const shape = shapeOf(scene.geometry);
  const paint = colouring(scene);
  if (shape.solid) drawSolid(scene, shape, paint);
  else drawFlat(scene, shape, paint);
}

const shapes = new WeakMap();

// The polygons, centred and scaled, then those of uncovered middles; their centres; the face of each middle; and the
// permutation of each move.
function shapeOf(geometry) {
  if (!shapes.has(geometry)) {
    const solid = isSolidShape(geometry);
    const polygons = normalisedPolygons(geometry.polygons.length ? geometry.polygons : blocks(geometry.faces), solid);
    const sources = new Map(geometry.moves.map(({ name, from }) => [name, from]));
    const shapeWith = (polygons) => ({ solid, polygons, centres: polygons.map(meanOf), sources, turns: new Map() });
    const middles = solid ? middlesOf(geometry.faces, shapeWith(polygons)) : [];
    const shape = shapeWith([...polygons, ...middles.map(({ polygon }) => polygon)]);
    shapes.set(geometry, { ...shape, faceOf: new Map(middles.map(({ face }, i) => [polygons.length + i, face])) });
  }
  return shapes.get(geometry);
}

const meanOf = (points) =>
  points[0].map((_, axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);

// Centres and scales polygons: a solid within 1.5 of the origin, a flat figure within 1 along its longer side.
function normalisedPolygons(polygons, solid) {
  const points = polygons.flat();
  const ends = points[0].map((_, axis) => {
    const along = points.map((point) => point[axis]);
    return [Math.min(...along), Math.max(...along)];
  });
  const middle = solid ? meanOf(polygons.map(meanOf)) : ends.map(([low, high]) => (low + high) / 2);
  const moved = (point) => point.map((part, axis) => part - middle[axis]);
  const reach = solid
    ? Math.max(...points.map((point) => Math.hypot(...moved(point)))) / 1.5
    : Math.max(...ends.map(([low, high]) => (high - low) / 2));
  return polygons.map((polygon) => polygon.map((point) => moved(point).map((part) => part / reach)));
}

// The middles of faces that no polygon covers; none if a move may carry one to another face.
function middlesOf(faces, shape) {
  const middles = faces.flatMap((face) => {
    const polygon = uncovered(face.positions.map((position) => shape.polygons[position]));
    return polygon ? [{ face, polygon }] : [];
  });
  const stays = (move) => {
    const turn = turnOfMove(shape, move);
    if (!turn) return false;
    const along = (point) => dot(point, turn.axis);
    const turned = [...turn.places].flatMap((place) => shape.polygons[place].map(along));
    return middles.every(({ polygon }) => {
      const centre = meanOf(polygon);
      const isTurned = Math.min(...turned) < along(centre) + FITS && along(centre) - FITS < Math.max(...turned);
      return !isTurned || Math.hypot(...cross(minus(centre, turn.middle), turn.axis)) < FITS;
    });
  };
  return middles.length && [...shape.sources.keys()].every(stays) ? middles : [];
}

// The middle of a face whose polygons surround it without covering it; null if there is none.
function uncovered(polygons) {
  if (polygons.length < 3) return null;
  const [a, b, c] = polygons[0];
  const normal = normalised(cross(minus(b, a), minus(c, a)));
  const rim = outline(normal, polygons.flat());
  const distance = (point, [from, to]) => Math.hypot(...cross(normalised(minus(to, from)), minus(point, from)));
  const sides = rim.map((corner, i) => [corner, rim[(i + 1) % rim.length]]);
  const inner = polygons.flat().filter((point) => sides.every((side) => distance(point, side) > FITS));
  const isFirst = (point, i) => inner.findIndex((other) => Math.hypot(...minus(point, other)) < FITS) === i;
  const corners = inner.filter(isFirst);
  if (corners.length < 3) return null;
  const middle = outline(normal, corners);
  const covered = polygons.reduce((sum, polygon) => sum + surfaceOf(polygon), 0);
  return Math.abs(surfaceOf(rim) - surfaceOf(middle) - covered) < 0.01 * covered ? middle : null;
}

const surfaceOf = (polygon) => {
  const parts = polygon.map((corner, i) => cross(corner, polygon[(i + 1) % polygon.length]));
  return Math.hypot(...[0, 1, 2].map((axis) => parts.reduce((sum, part) => sum + part[axis], 0))) / 2;
};

// A block of squares per face, for a file with faces only.
function blocks(faces) {
  const side = Math.max(...faces.map(({ positions }) => Math.ceil(Math.sqrt(positions.length))));
  const columns = Math.ceil(Math.sqrt(faces.length * 1.5));
  const squares = [];
  faces.forEach(({ positions }, face) => {
    const columnsHere = Math.ceil(Math.sqrt(positions.length));
    const [left, top] = [(face % columns) * (side + 0.6), Math.floor(face / columns) * (side + 1.1)];
    positions.forEach((position, i) => {
      const [x, y] = [left + (i % columnsHere), -(top + Math.floor(i / columnsHere))];
      squares[position] = [
        [x, y],
        [x + 1, y],
        [x + 1, y - 1],
        [x, y - 1],
      ];
    });
  });
  return squares;
}

// The colour of each symbol: the colour of its face in the goal, or its own without faces.
function colouring({ geometry, goals, before, look }) {
  const home = (goals[0] ?? before).symbols;
  const { faces } = geometry;
  const names = faces.length ? faces.map(({ name }) => name) : [...new Set(home)];
  const stickers = faces.length > 0 && names.every((name) => name in look.stickers);
  const colourOf = (i) => (stickers ? look.stickers[names[i]] : look.palette[i % look.palette.length]);
  const colours = new Map();
  if (faces.length) {
    faces.forEach(({ positions }, face) =>
      positions.forEach((position) => {
        if (!colours.has(home[position])) colours.set(home[position], colourOf(face));
      }),
    );
  } else names.forEach((symbol, i) => colours.set(symbol, colourOf(i)));
  const isUnique = new Set(colours.values()).size === colours.size; // whether a colour stands for one symbol
  return { colour: (symbol) => colours.get(symbol) ?? look.plastic, home, isUnique };
}

function drawFlat({ context, width, height, geometry, before, after, move, fraction, look }, shape, paint) {
  const { polygons, centres } = shape;
  const scale = Math.min(width, height) / 2 - 34;
  const spot = ([x, y]) => [width / 2 + x * scale, height / 2 - y * scale];
  const sources = fraction > 0 ? shape.sources.get(move) : undefined;
  const pieces = before.symbols.map((symbol, place) => {
    const to = sources ? sources.indexOf(place) : place;
    const by = centres[to].map((part, axis) => (part - centres[place][axis]) * fraction);
    const polygon = polygons[place].map((corner, i) => {
      // Polygons with equally many corners change into each other.
      const target = polygons[to].length === polygons[place].length ? polygons[to][i] : null;
      return corner.map((part, axis) => (target ? mix(part, target[axis], fraction) : part + by[axis]));
    });
    return { symbol, polygon, moves: to !== place };
  });
  for (const polygon of polygons) drawPatch(context, polygon.map(spot), look.frame, 1);
  for (const { symbol, polygon } of [...pieces].sort((a, b) => a.moves - b.moves)) {
    const colour = paint.colour(symbol);
    drawPatch(context, shrunk(polygon, STICKER_SHARE).map(spot), colour, 3);
    drawSymbol(context, symbol, polygon.map(spot), colour);
  }
  for (const { name, positions } of geometry.faces) {
    write(context, name, ...spot(labelAt(shape, positions, 16 / scale)), 14, look.muted, 500);
  }
}

// The position of a label: the middle of a face if no polygon is near, else outside.
function labelAt({ polygons, centres }, positions, gap) {
  const middle = meanOf(positions.map((position) => centres[position]));
  const isNear = (place) => Math.hypot(...minus(centres[place], middle)) < Math.sqrt(Math.abs(areaOf(polygons[place])));
  if (!polygons.some((_, place) => isNear(place))) return middle;
  const corners = positions.flatMap((position) => polygons[position]);
  const top = Math.max(...corners.map((corner) => corner[1]));
  const bottom = Math.min(...corners.map((corner) => corner[1]));
  return [middle[0], middle[1] >= -0.01 ? top + gap : bottom - gap];
}

function shrunk(polygon, share) {
  const centre = meanOf(polygon);
  return polygon.map((corner) => corner.map((part, axis) => mix(centre[axis], part, share)));
}

function drawPatch(context, points, colour, rounding) {
  context.fillStyle = context.strokeStyle = colour;
  context.lineWidth = rounding;
  context.lineJoin = "round";
  trace(context, points);
  context.fill();
  context.stroke();
}

function drawSymbol(context, symbol, points, colour) {
  const pixels = Math.sqrt(Math.abs(areaOf(points))) * Math.min(0.5, 0.9 / [...symbol].length);
  if (pixels < 5) return;
  write(context, symbol, ...meanOf(points), pixels, brightness(colour) > 0.32 ? "rgba(0, 0, 0, 0.75)" : "#ffffff");
}

const areaOf = (points) =>
  points.reduce((sum, [x, y], i) => {
    const [nextX, nextY] = points[(i + 1) % points.length];
    return sum + (x * nextY - nextX * y) / 2;
  }, 0);

function drawSolid({ context, width, height, before, after, move, fraction, look, view }, shape, paint) {
  const eyed = product(rotation(0, view.pitch), rotation(1, view.yaw));
  const focus = Math.min(width, height) * 0.5 * DISTANCE * 0.535;
  const scene = { context, size: 1, look, focus, centre: [width / 2, height * 0.485] };
  drawShadow(scene, eyed);
  const turn = fraction > 0 ? turnOfMove(shape, move) : null;
  const cards = fraction > 0 && !turn ? shape.sources.get(move) : undefined;
  const patches = shape.polygons.map((polygon, place) => {
    const turned = turn !== null && turn.places.has(place);
    const face = shape.faceOf.get(place);
    if (face) return { polygon, share: STICKER_SHARE, symbol: paint.home[face.positions[0]], isMiddle: true, turned };
    const flips = cards !== undefined && cards[place] !== place;
    const share = flips ? STICKER_SHARE * Math.max(0.05, Math.abs(1 - 2 * fraction)) : STICKER_SHARE;
    const symbol = (flips && fraction >= 0.5 ? after : before).symbols[place];
    return { polygon, share, symbol, isMiddle: false, turned };
  });
  const still = { patches: patches.filter(({ turned }) => !turned), pose: eyed };
  if (!turn) return drawHull(scene, still, paint);
  const matrix = rotationAbout(turn.axis, turn.degrees * fraction);
  const turned = ({ polygon, ...rest }) => ({
    ...rest,
    polygon: polygon.map((point) => around(turn.middle, matrix, point)),
  });
  const moving = { patches: patches.filter((patch) => patch.turned).map(turned), pose: eyed };
  const eye = eyed[2].map((part) => part * DISTANCE);
  const movingIsNear = dot(eye, turn.axis) * turn.side > turn.offset * turn.side;
  for (const hull of movingIsNear ? [still, moving] : [moving, still]) drawHull(scene, hull, paint);
}

// A point turned by a matrix about a centre.
const around = (middle, matrix, point) => times(matrix, minus(point, middle)).map((part, i) => part + middle[i]);

// Draws the faces that look away first: the inside of a turned part is visible. The outer side of a face is away from the
// centre of the solid. Between the patches of a face is the body.
function drawHull(scene, { patches, pose }, paint) {
  const { context, look } = scene;
  const eye = pose[2].map((part) => part * DISTANCE);
  const seen = patches.map((patch) => {
    const centre = meanOf(patch.polygon);
    const [a, b, c] = patch.polygon;
    const across = cross(minus(b, a), minus(c, a));
    const normal = normalised(dot(across, centre) < 0 ? across.map((part) => -part) : across);
    return { ...patch, normal, front: dot(normal, minus(eye, centre)) > 0, far: -dot(pose[2], centre) };
  });
  seen.sort((a, b) => a.front - b.front || b.far - a.far);
  const bodies = facesOfSolid(seen).map((face) => {
    const corners = face.flatMap(({ polygon }) => polygon);
    return { ...face[0], polygon: outline(face[0].normal, corners), share: 0 };
  });
  const drawn = [false, true].flatMap((front) => [...bodies, ...seen].filter((patch) => patch.front === front));
  for (const { polygon, share, symbol, isMiddle, normal, front } of drawn) {
    const lit = 0.86 + 0.14 * Math.max(0, dot(times(pose, normal), LIGHT));
    const spot = (point) => project(scene, pose, point);
    drawPatch(context, polygon.map(spot), shaded(look.plastic, front ? lit : 0.6), 1);
    if (!front || share === 0) continue;
    const colour = paint.colour(symbol);
    drawPatch(context, shrunk(polygon, share).map(spot), shaded(colour, lit, 0.04), 2.5);
    if (paint.isUnique ? look.letters : !isMiddle) drawSymbol(context, symbol, polygon.map(spot), colour);
  }
}

// Patches that lie in one plane.
function facesOfSolid(patches) {
  const faces = new Map();
  for (const patch of patches) {
    const plane = [...patch.normal, dot(patch.normal, patch.polygon[0])];
    const key = plane.map((part) => Math.round(part * 50) + 0).join();
    faces.set(key, [...(faces.get(key) ?? []), patch]);
  }
  return [...faces.values()];
}

// The convex outline of points in a plane (Andrew's monotone chain).
function outline(normal, points) {
  const right = normalised(minus(points[1], points[0]));
  const up = cross(normal, right);
  const flat = points
    .map((point) => ({ point, x: dot(right, point), y: dot(up, point) }))
    .sort((a, b) => a.x - b.x || a.y - b.y);
  const half = (points) => {
    const kept = [];
    for (const c of points) {
      const bends = ([a, b]) => (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) <= 1e-9;
      while (kept.length > 1 && bends(kept.slice(-2))) kept.pop();
      kept.push(c);
    }
    return kept.slice(0, -1);
  };
  return [...half(flat), ...half(flat.reverse())].map(({ point }) => point);
}

const minus = (a, b) => a.map((part, i) => part - b[i]);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

// A move as a rotation: its axis and a point on it, its angle, the places that turn, and a plane across the axis that
// separates them from the others; null if the move is not a rotation.
function turnOfMove(shape, move) {
  if (!shape.turns.has(move)) shape.turns.set(move, turnOfSources(shape, shape.sources.get(move)));
  return shape.turns.get(move);
}

function turnOfSources({ centres }, sources) {
  const places = new Set((sources ?? []).flatMap((source, place) => (source === place ? [] : [place])));
  if (places.size < 2) return null;
  // The centre of the places that turn is on the axis.
  const middle = meanOf([...places].map((place) => centres[place]));
  const pairs = [...places].map((place) => [minus(centres[sources[place]], middle), minus(centres[place], middle)]);
  const { axis, degrees } = bestRotation(pairs);
  const matrix = rotationAbout(axis, degrees);
  const misses = ([from, to]) => Math.hypot(...minus(times(matrix, from), to)) > FITS;
  if (Math.abs(degrees) < 1 || pairs.some(misses)) return null;
  const along = (place) => dot(centres[place], axis);
  const moved = [...places].map(along);
  const side = Math.sign(moved.reduce((sum, part) => sum + part, 0)) || 1;
  const nearest = side * Math.min(...moved.map((part) => part * side));
  // A polygon on the axis turns in place with the others.
  centres.forEach((centre, place) => {
    const offAxis = Math.hypot(...cross(minus(centre, middle), axis)) > FITS;
    if (!offAxis && along(place) * side > nearest * side) places.add(place);
  });
  const rest = centres.flatMap((_, place) => (places.has(place) ? [] : [along(place) * side]));
  const offset = rest.length ? (nearest * side + Math.max(...rest)) / 2 : -Infinity;
  return { axis, degrees, middle, places, side, offset: offset * side };
}

// The rotation that brings the first point of each pair nearest to the second (Horn 1987, "Closed-form solution of
// absolute orientation using unit quaternions", section 4): the eigenvector of the greatest eigenvalue of a matrix.
function bestRotation(pairs) {
  const sum = (i, j) => pairs.reduce((total, [from, to]) => total + from[i] * to[j], 0);
  const [xx, xy, xz, yx, yy, yz, zx, zy, zz] = [0, 1, 2].flatMap((i) => [0, 1, 2].map((j) => sum(i, j)));
  const matrix = [
    [xx + yy + zz, yz - zy, zx - xz, xy - yx],
    [yz - zy, xx - yy - zz, xy + yx, zx + xz],
    [zx - xz, xy + yx, yy - xx - zz, yz + zy],
    [xy - yx, zx + xz, yz + zy, zz - xx - yy],
  ];
  // No eigenvalue is below -shift: with the shift added, the greatest has the greatest magnitude.
  const shift = Math.max(...matrix.map((row) => row.reduce((total, part) => total + Math.abs(part), 0)));
  let vector = [0.5, 0.53, 0.47, 0.51];
  for (let i = 0; i < 3000; i++) {
    const next = matrix.map((row, j) => row.reduce((total, part, k) => total + part * vector[k], shift * vector[j]));
    const length = Math.hypot(...next);
    vector = next.map((part) => part / length);
  }
  const [w, ...axis] = vector;
  const length = Math.hypot(...axis);
  const degrees = (2 * Math.atan2(length, w) * 180) / Math.PI;
  return {
    axis: length > 1e-9 ? axis.map((part) => part / length) : [0, 0, 1],
    degrees: degrees > 180 ? degrees - 360 : degrees,
  };
}

// The rotation by an angle in degrees, counter-clockwise seen from the positive end of the axis (Rodrigues).
function rotationAbout([x, y, z], degrees) {
  const [cos, sin] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
  const rest = 1 - cos;
  return [
    [cos + x * x * rest, x * y * rest - z * sin, x * z * rest + y * sin],
    [y * x * rest + z * sin, cos + y * y * rest, y * z * rest - x * sin],
    [z * x * rest - y * sin, z * y * rest + x * sin, cos + z * z * rest],
  ];
}

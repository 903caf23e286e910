// The plot of a running search over time: the least f in the open list, the least h, and solutions as dots.

function drawChart(canvas, { points, solutions }) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (width === 0) return;
  const ratio = window.devicePixelRatio || 1;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const [left, right, top, bottom] = [30, 12, 20, 22];
  const last = Math.max(1, ...points.slice(-1).map((point) => point.seconds), ...solutions.map((solution) => solution.seconds));
  const values = points.flatMap((point) => [point.least_f, point.best_h]).concat(solutions.map((solution) => solution.cost));
  const most = niceAbove(Math.max(4, ...values.filter((value) => (value ?? null) !== null)));
  const x = (seconds) => left + (seconds / last) * (width - left - right);
  const y = (value) => height - bottom - (value / most) * (height - top - bottom);

  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const value of [0, most / 2, most]) {
    context.fillStyle = read("--muted");
    context.textAlign = "right";
    context.fillText(value, left - 6, y(value));
    line(context, [[left, y(value)], [width - right, y(value)]], read("--line"), 1);
  }
  context.textBaseline = "alphabetic";
  for (const seconds of [0, last]) {
    context.textAlign = seconds ? "right" : "left";
    context.fillText(seconds ? `${last.toFixed(last < 10 ? 1 : 0)} s` : "0", x(seconds), height - 5);
  }
  const curves = [
    ["least_f", "best f = λ·g + h", read("--accent"), []],
    ["best_h", "nearest h", read("--goal"), [5, 4]],
  ];
  let legend = left + 2;
  for (const [field, name, colour, dash] of curves) {
    const known = points.filter((point) => (point[field] ?? null) !== null);
    if (known.length === 0) continue; // a beam has no open list, so no best f
    line(context, known.map((point) => [x(point.seconds), y(point[field])]), colour, 2.2, dash);
    context.textAlign = "left";
    line(context, [[legend, 9], [legend + 18, 9]], colour, 2.2, dash);
    context.fillStyle = read("--ink");
    context.fillText(name, legend + 23, 13);
    legend += 23 + context.measureText(name).width + 16;
  }
  for (const { seconds, cost, length } of solutions) {
    const [dotX, dotY] = [x(seconds), y(cost)];
    context.beginPath();
    context.arc(dotX, dotY, 5, 0, 2 * Math.PI);
    context.fillStyle = read("--right");
    context.fill();
    context.lineWidth = 2;
    context.strokeStyle = read("--card");
    context.stroke();
    context.fillStyle = read("--ink");
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = dotX > width - 70 ? "right" : "left";
    context.fillText(length, dotX + (dotX > width - 70 ? -9 : 9), dotY + 4);
  }
}

function line(context, points, colour, thickness, dash = []) {
  if (points.length === 0) return;
  context.beginPath();
  points.forEach((point, i) => (i ? context.lineTo(...point) : context.moveTo(...point)));
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.lineJoin = "round";
  context.setLineDash(dash);
  context.stroke();
  context.setLineDash([]);
}

const niceAbove = (value) => [4, 6, 8, 10, 12, 16, 20, 24, 30, 40, 50, 60, 80, 100].find((nice) => nice >= value) ?? 100 * Math.ceil(value / 100);

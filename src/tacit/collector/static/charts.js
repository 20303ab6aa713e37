// The kinds of charts. Each gives the `paint` and `tabulate` of a Figure; see chart.js for what a mark is.

import { scale, ticks, logTicks, rootTicks } from "./chart.js";
import { count, percent, step } from "./words.js";

const NARROW = 560;
const COLOURS = 6;
const ROW = 42; // of a quantity below a density

// Shares with intervals: data = { items: [{ key, label, estimate, low, high, first }], level }.
export const bars = {
  paint(pen, { items }, width) {
    const narrow = width < NARROW;
    const left = narrow ? 0 : Math.min(Math.max(width * 0.3, 150), 330);
    const value = 64;
    const row = narrow ? 50 : 34;
    const top = 6;
    const highest = Math.min(Math.max(...items.map((item) => item.high), 0.01) * 1.04, 1);
    const x = scale(0, highest, left + 8, width - value - 8);
    const bottom = top + row * items.length;
    grid(pen, x, ticks(0, highest, narrow ? 4 : 6), top, bottom, (t, all) => percent(t, step(all, 100)));
    items.forEach((item, i) => {
      const lines = [item.label, `estimate ${percent(item.estimate)}`, `interval ${percent(item.low)} to ${percent(item.high)}`];
      if (item.first !== undefined) lines.push(`largest with probability ${percent(item.first)}`);
      const g = pen.mark(`row ${item.key}`, { class: "row", transform: `translate(0 ${top + i * row})` }, lines);
      const middle = narrow ? 34 : row / 2;
      pen.draw(`hit ${item.key}`, "rect", { class: "hit", x: 0, y: 1, width, height: row - 2, rx: 6 }, null, g);
      pen.label(`label ${item.key}`, { x: narrow ? 4 : 6, y: narrow ? 15 : middle + 5 }, item.label, (narrow ? width : left) - 14, g);
      whisker(pen, item.key, g, x, middle, item);
      pen.draw(`value ${item.key}`, "text", { class: "value", x: width - 6, y: middle + 5, "text-anchor": "end" }, percent(item.estimate), g);
    });
    return bottom + 26;
  },
  tabulate: ({ items, level }) => ({
    caption: `Estimated shares, with intervals that hold the true share with probability ${percent(level, 0)}`,
    head: ["Answer", "Estimate", "From", "To", ...(items.some((item) => item.first !== undefined) ? ["Largest with probability"] : [])],
    rows: items.map((item) => [item.label, percent(item.estimate), percent(item.low), percent(item.high),
      ...(item.first === undefined ? [] : [percent(item.first)])]),
  }),
};

function whisker(pen, key, g, x, y, { estimate, low, high }) {
  const at = (value) => Math.round(x(value) * 10) / 10;
  pen.draw(`bar ${key}`, "rect", { class: "bar-fill", x: at(0), y: y - 7, width: Math.max(at(estimate) - at(0), 0), height: 14, rx: 2 }, null, g);
  pen.draw(`range ${key}`, "rect", { class: "range", x: at(low), y: y - 2, width: Math.max(at(high) - at(low), 1), height: 4, rx: 2 }, null, g);
  for (const [end, value] of [["a", low], ["b", high]]) pen.draw(`cap ${end} ${key}`, "rect", { class: "range", x: at(value) - 1, y: y - 6, width: 2, height: 12 }, null, g);
  pen.draw(`dot ${key}`, "circle", { class: "dot", cx: at(estimate), cy: y, r: 5 }, null, g);
}

function grid(pen, x, values, top, bottom, format) {
  for (const t of values) {
    pen.draw(`grid ${t}`, "line", { class: "grid", x1: x(t), x2: x(t), y1: top, y2: bottom });
    pen.draw(`tick ${t}`, "text", { class: "tick", x: x(t), y: bottom + 18, "text-anchor": "middle" }, format(t, values));
  }
}

// Probabilities of ranks: data = { labels, values }, values[j][r]; r = 0 is the largest share.
export const ranks = {
  paint(pen, { labels, values }, width) {
    const k = labels.length;
    const left = Math.min(Math.max(width * 0.28, 84), 260);
    const cell = Math.min((width - left - 4) / k, 64);
    const tall = Math.min(Math.max(cell, 20), 34);
    const every = Math.ceil(20 / cell);
    pen.columns = k;
    for (let r = 0; r < k; r++) {
      if (r % every === 0) pen.draw(`rank ${r}`, "text", { class: "tick", x: left + (r + 0.5) * cell, y: 14, "text-anchor": "middle" }, String(r + 1));
    }
    labels.forEach((label, j) => {
      const y = 22 + j * tall;
      pen.label(`label ${j}`, { x: 2, y: y + tall / 2 + 5 }, label, left - 12);
      values[j].forEach((value, r) => {
        const g = pen.mark(`cell ${j} ${r}`, {}, [label, `rank ${r + 1}`, percent(value, 0)]);
        pen.draw(`square ${j} ${r}`, "rect", { class: "cell", x: left + r * cell + 1, y: y + 1, width: Math.max(cell - 2, 1), height: tall - 2, rx: 3 }, null, g);
        pen.draw(`heat ${j} ${r}`, "rect", { class: "heat rank", x: left + r * cell + 1, y: y + 1, width: Math.max(cell - 2, 1), height: tall - 2, rx: 3, "fill-opacity": (value ** 0.7).toFixed(3) }, null, g);
        if (cell >= 38 && value >= 0.005) {
          pen.draw(`text ${j} ${r}`, "text", { class: "in", x: left + (r + 0.5) * cell, y: y + tall / 2 + 4.5, "text-anchor": "middle" }, (100 * value).toFixed(0), g);
        }
      });
    });
    return 26 + k * tall;
  },
  tabulate: ({ labels, values }) => ({
    caption: "Probability of each rank; rank 1 is the largest share",
    head: ["Answer", ...labels.map((_, r) => `Rank ${r + 1}`)],
    rows: labels.map((label, j) => [label, ...values[j].map((value) => percent(value, 0))]),
  }),
};

// Lines over numbers of reports: data = { series: [{ key, label, colour, points: [{ n, middle, low?, high? }] }], format, floor, root,
// caption }. Each number of reports is one mark, a slice through all lines. `root`: heights are square roots, so that small
// shares have room.
export const lines = {
  paint(pen, data, width) {
    const { series, format } = data;
    const places = [...new Set(series.flatMap(({ points }) => points.map(({ n }) => n)))].sort((a, b) => a - b);
    const narrow = width < NARROW;
    const [left, right, top, height] = [54, narrow ? 12 : 150, 12, narrow ? 230 : 290];
    const log = places.length > 2 && places[0] > 0 && places.at(-1) / places[0] > 12;
    const x = scale(log ? places[0] : Math.min(0, places[0]), places.at(-1) || 1, left, width - right, log ? Math.log : undefined);
    const all = series.flatMap(({ points }) => points.flatMap((p) => [p.low ?? p.middle, p.high ?? p.middle]));
    const [bottom, ceiling] = room(Math.min(...all), Math.max(...all), data.floor);
    const y = scale(bottom, ceiling, top + height, top, data.root ? Math.sqrt : undefined);
    axes(pen, { x, y, log, root: data.root, places, bottom, ceiling, left, width, right, top, height, format });
    for (const line of series) drawLine(pen, line, x, y);
    if (!narrow) nameEnds(pen, series, y, width - right + 8, right - 10, top, top + height);
    slices(pen, data, places, x, { top, height, left, end: width - right });
    return top + height + 44 + (narrow ? legend(pen, series, top + height + 52, width) : 0);
  },
  tabulate({ series, format, caption }) {
    const places = [...new Set(series.flatMap(({ points }) => points.map(({ n }) => n)))].sort((a, b) => a - b);
    const at = (line, n) => line.points.find((point) => point.n === n);
    const cell = (point) => !point ? "" : point.low === undefined ? format(point.middle) : `${format(point.middle)} (${format(point.low)} to ${format(point.high)})`;
    return { caption, head: ["Reports", ...series.map(({ label }) => label)], rows: places.map((n) => [count(n), ...series.map((line) => cell(at(line, n)))]) };
  },
};

function room(low, high, floor) {
  const span = high - low || Math.abs(high) || 1;
  return [Math.max(low - span * 0.06, floor ?? -Infinity), high + span * 0.06];
}

function axes(pen, { x, y, log, root, places, bottom, ceiling, left, width, right, top, height, format }) {
  const up = root ? rootTicks(ceiling) : ticks(bottom, ceiling, 5);
  for (const t of up) {
    pen.draw(`grid ${t}`, "line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) });
    pen.draw(`tick ${t}`, "text", { class: "tick", x: left - 8, y: y(t) + 4, "text-anchor": "end" }, format(t, step(up)));
  }
  const along = log ? logTicks(places[0], places.at(-1), Math.floor((width - left - right) / 70)) : ticks(0, places.at(-1), Math.floor((width - left - right) / 90)).filter(Number.isInteger);
  for (const t of along) pen.draw(`place ${t}`, "text", { class: "tick", x: x(t), y: top + height + 18, "text-anchor": "middle" }, count(t));
  pen.draw("axis", "text", { class: "tick name", x: (left + width - right) / 2, y: top + height + 37, "text-anchor": "middle" }, log ? "reports, on a logarithmic scale" : "reports");
}

function drawLine(pen, { key, points, colour = COLOURS, dash = false, ribbon = true }, x, y) {
  const at = ({ n, middle }) => `${x(n).toFixed(1)} ${y(middle).toFixed(1)}`;
  const tone = colour < COLOURS ? `c${colour}` : "plain";
  if (ribbon && points.every((p) => p.low !== undefined)) {
    const up = points.map((p) => `${x(p.n).toFixed(1)} ${y(p.high).toFixed(1)}`);
    const down = [...points].reverse().map((p) => `${x(p.n).toFixed(1)} ${y(p.low).toFixed(1)}`);
    pen.draw(`ribbon ${key}`, "path", { class: `ribbon ${tone}`, d: `M${[...up, ...down].join("L")}Z` });
  }
  pen.draw(`line ${key}`, "path", { class: `line ${tone} ${dash ? "dashed" : ""}`, d: `M${points.map(at).join("L")}` });
  const last = points.at(-1);
  if (last) pen.draw(`end ${key}`, "circle", { class: `end ${tone}`, cx: x(last.n), cy: y(last.middle), r: 3.5 });
}

// The names of lines beside their ends, each far enough below the one before.
function nameEnds(pen, series, y, x, width, top, bottom) {
  const gap = Math.min(17, (bottom - top) / Math.max(series.length, 1));
  const ends = series.filter(({ points, named }) => points.length && named !== false).map((line) => ({ ...line, at: y(line.points.at(-1).middle) })).sort((a, b) => a.at - b.at);
  let place = -Infinity;
  for (const end of ends) end.at = place = Math.max(end.at, place + gap);
  let limit = bottom + 8;
  for (const end of [...ends].reverse()) {
    end.at = Math.min(end.at, limit);
    limit = end.at - gap;
  }
  for (const { key, label, colour = COLOURS, at } of ends) pen.label(`name ${key}`, { class: colour < COLOURS ? `c${colour}` : "plain", x, y: at + 4 }, label, width);
}

function legend(pen, series, top, width) {
  const shown = series.filter(({ named }) => named !== false).reverse();
  const columns = width > 400 && shown.length > 2 ? 2 : 1;
  const rows = Math.ceil(shown.length / columns);
  shown.forEach(({ key, label, colour = COLOURS }, i) => {
    const tone = colour < COLOURS ? `c${colour}` : "plain";
    const [left, y] = [4 + Math.floor(i / rows) * (width / columns), top + (i % rows) * 22];
    pen.draw(`swatch ${key}`, "rect", { class: `swatch ${tone}`, x: left, y: y + 3, width: 18, height: 4, rx: 2 });
    pen.label(`name ${key}`, { x: left + 26, y: y + 10 }, label, width / columns - 36);
  });
  return rows * 22 + 6;
}

function slices(pen, { series, format }, places, x, { top, height, left, end }) {
  places.forEach((n, i) => {
    const from = i ? (x(places[i - 1]) + x(n)) / 2 : left;
    const to = i + 1 < places.length ? (x(places[i + 1]) + x(n)) / 2 : Math.max(end, x(n) + 2);
    const words = series.flatMap(({ label, points }) => {
      const point = points.find((p) => p.n === n);
      return !point ? [] : [`${label}: ${format(point.middle)}${point.low === undefined ? "" : ` (${format(point.low)} to ${format(point.high)})`}`];
    });
    const g = pen.mark(`slice ${n}`, { class: "slice" }, [`${count(n)} reports`, ...words]);
    pen.draw(`strip ${n}`, "rect", { class: "strip", x: from, y: top, width: Math.max(to - from, 1), height }, null, g);
    pen.draw(`rule ${n}`, "line", { class: "rule", x1: x(n), x2: x(n), y1: top, y2: top + height }, null, g);
  });
}

// What each channel keeps apart: data = { labels, order, rounds: [{ number, n, keeps, words }] }; rows are drawn in that order.
export const kept = {
  paint(pen, { labels, order, rounds }, width) {
    const tall = labels.length > 30 ? 7 : labels.length > 12 ? 18 : 24;
    const left = tall < 18 ? 2 : Math.min(Math.max(width * 0.3, 90), 330);
    const column = Math.min((width - left - 4) / rounds.length, 46);
    const gap = tall < 18 ? 1 : 2;
    const every = Math.ceil(26 / column);
    const bottom = 24 + labels.length * tall;
    if (tall >= 18) order.forEach((j, at) => pen.label(`label ${j}`, { x: 2, y: 24 + at * tall + tall / 2 + 5 }, labels[j], left - 12));
    rounds.forEach((round, i) => {
      const x = left + i * column;
      const apart = new Set(round.keeps);
      const named = round.keeps.map((j) => labels[j]).filter((label) => label !== undefined);
      const told = apart.size === labels.length ? `tells all ${labels.length} apart` : `tells ${apart.size} of ${labels.length} apart: ${named.slice(0, 8).join(", ")}${named.length > 8 ? " and more" : ""}`;
      const g = pen.mark(`round ${round.number}`, { class: "slice" }, [`Round ${round.number}`, `${count(round.n)} reports`, told, ...(round.words ? [round.words] : [])]);
      pen.draw(`strip ${round.number}`, "rect", { class: "strip", x, y: 2, width: column, height: bottom - 2, rx: 4 }, null, g);
      if (i % every === 0) pen.draw(`number ${round.number}`, "text", { class: "tick", x: x + column / 2, y: 15, "text-anchor": "middle" }, String(round.number), g);
      order.forEach((j, at) => pen.draw(`kept ${round.number} ${j}`, "rect", { class: apart.has(j) ? "heat" : "cell", x: x + 2, y: 24 + at * tall + gap, width: Math.max(column - 4, 1), height: tall - 2 * gap, rx: gap + 1 }, null, g));
    });
    return bottom + 4;
  },
  tabulate: ({ labels, rounds }) => ({
    caption: "Rounds: their reports, and the answers that their channel keeps apart",
    head: ["Round", "Reports", "Keeps apart", "Which", "In words"],
    rows: rounds.map(({ number, n, keeps, words }) => [String(number), count(n), `${keeps.length} of ${labels.length}`, keeps.length === labels.length ? "all" : keeps.map((j) => labels[j]).join("; "), words ?? ""]),
  }),
};

// The cuts of a number, round by round: data = { lowest, highest, unit, rounds: [{ number, n, keeps, words }] }.
export const cuts = {
  paint(pen, { lowest, highest, unit, rounds }, width) {
    const left = 66;
    const x = scale(lowest, highest, left, width - 14);
    const tall = Math.min(Math.max(300 / rounds.length, 12), 26);
    const bottom = 8 + rounds.length * tall;
    grid(pen, x, ticks(lowest, highest, width < NARROW ? 4 : 8), 4, bottom, (t) => String(t));
    rounds.forEach((round, i) => {
      const y = 8 + i * tall;
      const places = round.keeps.map(Number);
      const g = pen.mark(`round ${round.number}`, { class: "slice" }, [`Round ${round.number}`, `${count(round.n)} reports`, `cuts at ${places.join(", ")} ${unit}`, ...(round.words ? [round.words] : [])]);
      pen.draw(`strip ${round.number}`, "rect", { class: "strip", x: 0, y, width, height: tall, rx: 4 }, null, g);
      pen.draw(`number ${round.number}`, "text", { class: "tick", x: 4, y: y + tall / 2 + 4 }, `Round ${round.number}`, g);
      if (places.length) pen.draw(`span ${round.number}`, "rect", { class: "bar-fill", x: x(Math.min(...places)), y: y + tall / 2 - 3, width: Math.max(x(Math.max(...places)) - x(Math.min(...places)), 1), height: 6, rx: 3 }, null, g);
      places.forEach((cut, j) => pen.draw(`cut ${round.number} ${j}`, "rect", { class: "range", x: x(cut) - 1.2, y: y + 3, width: 2.4, height: tall - 6, rx: 1 }, null, g));
    });
    pen.draw("unit", "text", { class: "tick name", x: width - 14, y: bottom + 35, "text-anchor": "end", direction: "ltr" }, unit);
    return bottom + 42;
  },
  tabulate: ({ rounds, unit }) => ({
    caption: `Rounds: their reports, and where they cut the range, in ${unit}`,
    head: ["Round", "Reports", "Cuts", "In words"],
    rows: rounds.map(({ number, n, keeps, words }) => [String(number), count(n), keeps.map(Number).join(", "), words ?? ""]),
  }),
};

// A density with intervals of location and scale: data = { x, y, unit, marks: [{ key, label, words, low, middle, high }], format }.
export const density = {
  paint(pen, { x: places, y: heights, unit, marks, format }, width) {
    const [left, right, top, height] = [12, 12, 14, width < NARROW ? 150 : 210];
    const x = scale(places[0], places.at(-1), left, width - right);
    const y = scale(0, Math.max(...heights), top + height, top);
    const bottom = top + height + marks.length * ROW + 4;
    grid(pen, x, ticks(places[0], places.at(-1), width < NARROW ? 4 : 8), top, bottom, (t) => String(t));
    const curve = places.map((p, i) => `${x(p).toFixed(1)} ${y(heights[i]).toFixed(1)}`).join("L");
    pen.draw("area", "path", { class: "ribbon c0", d: `M${x(places[0])} ${y(0)}L${curve}L${x(places.at(-1))} ${y(0)}Z` });
    pen.draw("curve", "path", { class: "line c0", d: `M${curve}` });
    marks.forEach((m, i) => {
      const place = top + height + 34 + i * ROW;
      const inside = (value) => Math.min(Math.max(x(value), left), width - right);
      const g = pen.mark(`mark ${m.key}`, { class: "row" }, [m.label, `estimate ${format(m.middle)} ${unit}`, `interval ${format(m.low)} to ${format(m.high)} ${unit}`]);
      const [a, b] = m.around === undefined ? [m.low, m.high] : [m.around - m.middle, m.around + m.middle];
      const thick = m.around === undefined ? 4 : 8;
      pen.draw(`hit ${m.key}`, "rect", { class: "hit", x: 0, y: place - 26, width, height: ROW - 4, rx: 6 }, null, g);
      pen.draw(`range ${m.key}`, "rect", { class: m.around === undefined ? "range" : "bar-fill", x: inside(a), y: place - thick / 2, width: Math.max(inside(b) - inside(a), 1), height: thick, rx: 2 }, null, g);
      if (m.around === undefined) pen.draw(`dot ${m.key}`, "circle", { class: "dot", cx: inside(m.middle), cy: place, r: 5 }, null, g);
      pen.label(`label ${m.key}`, { class: "plain", x: width / 2, y: place - 11, "text-anchor": "middle" }, m.short, width - 24, g);
    });
    return bottom + 26;
  },
  tabulate: ({ marks, unit, format, x, y }) => ({
    caption: `Location and scale, in ${unit}; below them the predicted density of one answer`,
    head: ["Quantity", "Estimate", "From", "To"],
    rows: [...marks.map((m) => [m.label, format(m.middle), format(m.low), format(m.high)]),
      ...x.map((place, i) => [`Density at ${format(place)}`, Number(y[i]).toPrecision(3), "", ""])],
  }),
};

// Reports per minute, as this page saw them come: data = { minutes: [{ ago, n }] }, oldest first.
export const pace = {
  paint(pen, { minutes }, width) {
    const [top, height] = [16, 90];
    const column = (width - 8) / minutes.length;
    const most = Math.max(...minutes.map(({ n }) => n), 1);
    pen.draw("floor", "line", { class: "grid", x1: 0, x2: width, y1: top + height, y2: top + height });
    minutes.forEach(({ ago, n }, i) => {
      const tall = height * n / most;
      const g = pen.mark(`minute ${i}`, { class: "row" }, [ago === 0 ? "this minute" : `${ago} min ago`, `${count(n)} reports`]);
      pen.draw(`hit ${i}`, "rect", { class: "hit", x: 4 + i * column, y: top, width: column, height }, null, g);
      pen.draw(`bar ${i}`, "rect", { class: "pace", x: 4 + i * column + 1, y: top + height - tall, width: Math.max(column - 2, 1), height: tall, rx: 2 }, null, g);
      if (n && n === most) pen.draw(`top ${i}`, "text", { class: "tick", x: 4 + (i + 0.5) * column, y: top + height - tall - 4, "text-anchor": "middle" }, count(n), g);
    });
    if (minutes.every(({ n }) => n === 0)) pen.draw("none", "text", { class: "tick", x: width / 2, y: top + height / 2, "text-anchor": "middle" }, "none since this page was opened");
    pen.draw("from", "text", { class: "tick", x: 4, y: top + height + 18 }, `${minutes[0].ago} min ago`);
    pen.draw("to", "text", { class: "tick", x: width - 4, y: top + height + 18, "text-anchor": "end" }, "now");
    return top + height + 26;
  },
  tabulate: ({ minutes }) => ({
    caption: "Reports per minute, as this page saw the count rise", head: ["Minutes ago", "Reports"],
    rows: minutes.map(({ ago, n }) => [String(ago), count(n)]),
  }),
};

// Pushes down and up: data = { items: [{ key, label, down, up, words }], caption }; the two words stand left and right of the bars.
export const pushes = {
  paint(pen, { items }, width) {
    const narrow = width < NARROW;
    const left = narrow ? 0 : Math.min(Math.max(width * 0.3, 120), 330);
    const row = narrow ? 46 : 30;
    const most = Math.max(...items.flatMap(({ down, up }) => [down, up]), 1e-9);
    const x = scale(-most, most, left + 72, width - 72);
    items.forEach(({ key, label, down, up, words }, i) => {
      const g = pen.mark(`row ${key}`, { class: "row", transform: `translate(0 ${4 + i * row})` }, [label, `down by up to ${words[0]}`, `up by up to ${words[1]}`]);
      const middle = narrow ? 32 : row / 2;
      pen.draw(`hit ${key}`, "rect", { class: "hit", x: 0, y: 1, width, height: row - 2, rx: 6 }, null, g);
      pen.label(`label ${key}`, { x: 6, y: narrow ? 16 : middle + 5 }, label, (narrow ? width : left) - 14, g);
      pen.draw(`push ${key}`, "rect", { class: "push", x: x(-down), y: middle - 4, width: Math.max(x(up) - x(-down), 1), height: 8, rx: 3 }, null, g);
      pen.draw(`zero ${key}`, "rect", { class: "zero", x: x(0) - 1, y: middle - 8, width: 2, height: 16 }, null, g);
      pen.draw(`down ${key}`, "text", { class: "tick", x: x(-down) - 6, y: middle + 4, "text-anchor": "end" }, words[0], g);
      pen.draw(`up ${key}`, "text", { class: "tick", x: x(up) + 6, y: middle + 4 }, words[1], g);
    });
    return 8 + items.length * row;
  },
  tabulate: ({ items, caption }) => ({ caption, head: ["What", "Down by up to", "Up by up to"], rows: items.map(({ label, words }) => [label, ...words]) }),
};

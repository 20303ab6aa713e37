// From an estimate to the figures of the dashboard.

import { Figure } from "./chart.js";
import * as kinds from "./charts.js";
import { h } from "./page.js";
import { count, list, many, measure, percent } from "./words.js";

const TOP = 20; // answers that are drawn when there are many
const COLOURED = 6; // lines with a colour and a name
const RIBBONS = 3; // of them, with their intervals drawn
const MINUTES = 20;

export function panels(study) {
  return study.question.labels ? categories(study) : numbers(study);
}

function shell(wide, grid, more) {
  const figures = [...wide, ...grid];
  return { figures, element: h("div", {}, wide.map((f) => f.element), h("div", { class: "grid" }, grid.map((f) => f.element))), ...more };
}

function paceFigure() {
  return new Figure({ title: "Reports per minute", note: "As this page saw the count rise since it was opened. The collector keeps no times.", ...kinds.pace });
}

// Per minute, from what the page saw: `seen` is [{ at, n }] in the order of time.
function minutes(seen, now = Date.now()) {
  const out = Array.from({ length: MINUTES }, (_, i) => ({ ago: MINUTES - 1 - i, n: 0 }));
  seen.forEach(({ at, n }, i) => {
    const ago = Math.floor((now - at) / 60_000);
    if (i && ago < MINUTES) out[MINUTES - 1 - ago].n += Math.max(n - seen[i - 1].n, 0);
  });
  return { minutes: out };
}

const showPace = (figure) => (seen) => {
  const data = minutes(seen);
  figure.show(data, `${count(data.minutes.reduce((sum, { n }) => sum + n, 0))} reports in the last ${MINUTES} minutes, as this page saw them.`);
};

function categories(study) {
  const labels = study.question.labels;
  const view = { by: "share", all: false, estimate: null };
  const press = (name, text, value) => h("button", { class: "quiet tiny", type: "button", "aria-pressed": String(view[name] === value), onclick(event) {
    view[name] = name === "all" ? !view.all : value;
    for (const button of name === "all" ? [event.currentTarget] : sorting) button.setAttribute("aria-pressed", String(name === "all" ? view.all : button === event.currentTarget));
    drawBars();
  } }, text);
  const sorting = [press("by", "By share", "share"), press("by", "As asked", "asked"), press("by", "By name", "label")];
  const all = labels.length > TOP ? press("all", `All ${labels.length}`, true) : null;
  const bars = new Figure({ title: "What people answered", ...kinds.bars, tabulate: (data) => kinds.bars.tabulate({ ...data, items: data.all }), controls: [...sorting, all].filter(Boolean) });
  const history = new Figure({ title: "How the estimate settled", note: "The largest shares, three of them with their 90 % intervals, by the number of reports and not by the clock.", ...kinds.lines });
  const ranks = new Figure({ title: "Which place each answer has", note: "In per cent: how probable each rank is. Rank 1 is the largest share.", ...kinds.ranks });
  const kept = new Figure({ title: "What each round kept apart", ...kinds.kept });
  const error = new Figure({ title: "Accuracy", ...kinds.lines });
  const push = new Figure({ title: "If some reports were fake", ...kinds.pushes });
  const pace = paceFigure();

  function drawBars() {
    const { estimate } = view;
    const items = ordered(estimate, labels);
    const shown = view.all ? items : items.slice(0, TOP);
    const tail = items.slice(shown.length);
    const sorted = { share: shown, asked: [...shown].sort((a, b) => a.key - b.key), label: [...shown].sort((a, b) => a.label.localeCompare(b.label)) }[view.by];
    const rest = tail.length ? ` ${many(tail.length, "more answer")}, together ${percent(tail.reduce((sum, { estimate: e }) => sum + e, 0))}, ${tail.length === 1 ? "is" : "are"} in the table.` : "";
    bars.show({ items: sorted, all: items, level: estimate.level }, describe(items),
      `The dot is the estimate; the line holds the true share of those who answer with probability ${percent(estimate.level, 0)}.${rest}`);
  }

  return shell([bars], [history, ranks, kept, error, push, pace], {
    pace: showPace(pace),
    show(estimate) {
      view.estimate = estimate;
      drawBars();
      showHistory(history, estimate, labels);
      showRanks(ranks, estimate, labels);
      kept.element.hidden = estimate.rounds.length < 2;
      kept.show({ labels, order: ordered(estimate, labels).map(({ key }) => key), rounds: estimate.rounds }, `${many(estimate.rounds.length, "round")}.`, "Columns are rounds. A filled square: the round's channel tells this answer from the others. An empty one: it does not, and spends its noise elsewhere. Rows are sorted by share.");
      showError(error, estimate, (value, digits) => percent(value, digits === undefined ? 2 : Math.max(digits - 2, 0)), "Total variation: the part of the answers that would have to move for the estimate to be exact.");
      showPush(push, estimate, labels, points);
    },
  });
}

function ordered({ estimate, low, high, first }, labels) {
  return labels.map((label, j) => ({ key: j, label, estimate: estimate[j], low: low[j], high: high[j], first: first?.[j] })).sort((a, b) => b.estimate - a.estimate || a.key - b.key);
}

function describe(items) {
  const top = items.slice(0, 3).map(({ label, estimate, low, high }) => `${label} ${percent(estimate)} (${percent(low)} to ${percent(high)})`);
  return `${many(items.length, "answer")}. The largest: ${list(top)}.`;
}

function showHistory(figure, estimate, labels) {
  const order = ordered(estimate, labels).map(({ key }) => key);
  const coloured = new Map(order.slice(0, COLOURED).map((key, i) => [key, i]));
  const rows = estimate.history.filter(({ n }) => n > 0);
  const series = order.slice(0, TOP).reverse().map((j) => ({
    key: j, label: labels[j], colour: coloured.get(j), named: coloured.has(j), ribbon: coloured.get(j) < RIBBONS,
    points: rows.map((row) => ({ n: row.n, middle: row.estimate[j], ...(coloured.has(j) ? { low: row.low[j], high: row.high[j] } : {}) })),
  }));
  figure.element.hidden = rows.length < 2;
  if (rows.length > 1) figure.show({ series, floor: 0, root: true, format: (value, digits) => percent(value, digits === undefined ? 1 : Math.max(digits - 2, 0)), caption: "Estimates and intervals after each number of reports" },
    `${many(rows.length, "estimate")}, the last after ${many(rows.at(-1).n, "report")}.`);
}

function showRanks(figure, { ranks, estimate }, labels) {
  figure.element.hidden = !ranks;
  if (!ranks) return;
  const order = labels.map((_, j) => j).sort((a, b) => estimate[b] - estimate[a]);
  figure.show({ labels: order.map((j) => labels[j]), values: order.map((j) => ranks[j]) }, `${labels[order[0]]} is the largest with probability ${percent(ranks[order[0]][0], 0)}.`);
}

const errorOf = (value) => typeof value === "number" ? value : value?.expected;

// The error that the posterior expects, and what the best static channel could reach: its bound falls like 1 / sqrt(n).
function showError(figure, estimate, format, note) {
  const rows = estimate.history.filter((row) => row.n > 0 && Number.isFinite(errorOf(row.error)));
  figure.element.hidden = rows.length < 2;
  if (rows.length < 2) return;
  const { bound, static: fixed } = estimate.error;
  const series = [{ key: "expected", label: "expected by the posterior", colour: 0, points: rows.map((row) => ({ n: row.n, middle: errorOf(row.error) })) }];
  const curve = (value) => rows.map(({ n }) => ({ n, middle: value * Math.sqrt(estimate.used / n) }));
  if (fixed > 0) series.push({ key: "static", label: "bound, best static channel", colour: 1, dash: true, points: curve(fixed) });
  const reached = bound > 0 ? ` The channels that were used allow about ${format(bound)} at best with ${many(estimate.used, "report")}; the posterior expects ${format(errorOf(estimate.error))}.` : "";
  const top = Math.max(...series[0].points.map(({ middle }) => middle)) * 1.6;
  for (const line of series) line.points = line.points.filter(({ middle }) => middle <= top);
  figure.show({ series: series.filter(({ points }) => points.length), floor: 0, format, caption: "Error after each number of reports" }, `Expected error ${format(errorOf(estimate.error))}.`, note + reached);
}

// `poisoning` has arrays `up` and `down`, in the order of the labels or of mu and sigma.
function showPush(figure, { poisoning, estimate }, labels, words) {
  figure.element.hidden = !poisoning;
  if (!poisoning) return;
  const { up, down, fakes, n } = poisoning;
  const order = labels.map((_, j) => j).sort(Array.isArray(estimate) ? (a, b) => estimate[b] - estimate[a] : () => 0).slice(0, TOP);
  const items = order.map((j) => ({ key: j, label: labels[j], up: up[j], down: down[j], words: [words(-down[j]), words(up[j])] }));
  figure.show({ items, caption: `How far ${many(fakes, "fake report")} could have pushed each estimate` }, `${many(items.length, "estimate")}.`,
    `How far ${many(fakes, "fake report")} among ${count(n)} could have pushed each estimate, about: whoever lies in step with others moves a private poll further than an open one.`);
}

const points = (value) => `${value < 0 ? "\u2212" : "+"}${Math.abs(100 * value).toFixed(1)} points`;

function numbers(study) {
  const { unit, lowest, highest } = study.question;
  const shape = new Figure({ title: "What people answered", ...kinds.density });
  const centre = new Figure({ title: "How the location settled", note: "mu and its 90 % interval, by the number of reports and not by the clock.", ...kinds.lines });
  const spread = new Figure({ title: "How the scale settled", note: "sigma and its 90 % interval, by the number of reports.", ...kinds.lines });
  const cuts = new Figure({ title: "Where each round cut the range", note: "A report says between which cuts an answer lies, more or less: the closer the cuts, the finer the question.", ...kinds.cuts });
  const error = new Figure({ title: "Accuracy", ...kinds.lines });
  const push = new Figure({ title: "If some reports were fake", ...kinds.pushes });
  const pace = paceFigure();
  return shell([shape], [centre, spread, cuts, error, push, pace], {
    pace: showPace(pace),
    show(estimate) {
      const span = Math.min(estimate.high.mu - estimate.low.mu, estimate.high.sigma - estimate.low.sigma);
      const format = (value) => measure(value, span);
      showShape(shape, estimate, unit, format);
      for (const [figure, which] of [[centre, "mu"], [spread, "sigma"]]) showTrace(figure, estimate, which, unit, span);
      cuts.show({ lowest: Number(lowest), highest: Number(highest), unit, rounds: estimate.rounds }, `${many(estimate.rounds.length, "round")}.`);
      showError(error, estimate, (value, digits) => digits === undefined ? String(Number(value.toPrecision(2))) : value.toFixed(digits), `Mean absolute error, in ${unit}.`);
      showPush(push, estimate, ["mu, the centre", "sigma, the spread"], (value) => `${value < 0 ? "\u2212" : "+"}${Math.abs(value).toPrecision(2)}`);
    },
  });
}

function showShape(figure, { density, estimate, low, high, level }, unit, format) {
  const named = { mu: "mu, the centre", sigma: "sigma, the spread" };
  const marks = ["mu", "sigma"].filter((key) => estimate[key] !== undefined).map((key) => ({
    key, label: named[key], middle: estimate[key], low: low[key], high: high[key],
    short: `${named[key]}: ${format(estimate[key])} (${format(low[key])} to ${format(high[key])})`, around: key === "sigma" ? estimate.mu : null,
  }));
  figure.show({ x: density.x, y: density.y, unit, marks: marks.map((m) => m.around === null ? { ...m, around: undefined } : m), format },
    `${marks.map(({ short }) => short).join("; ")}, in ${unit}.`,
    `The curve is the predicted distribution of an answer, in ${unit}. Below it the centre with its ${percent(level, 0)} interval, and the spread as one sigma to both sides.`);
}

function showTrace(figure, estimate, which, unit, span) {
  const rows = estimate.history.filter((row) => row.n > 0 && row.estimate?.[which] !== undefined);
  figure.element.hidden = rows.length < 2;
  if (rows.length < 2) return;
  const points = rows.map((row) => ({ n: row.n, middle: row.estimate[which], low: row.low[which], high: row.high[which] }));
  figure.show({ series: [{ key: which, label: which, colour: which === "mu" ? 0 : 1, points }], format: (value, digits) => digits === undefined ? measure(value, span) : value.toFixed(digits), caption: `Estimates of ${which} and intervals, in ${unit}` },
    `${which} is ${measure(points.at(-1).middle, span)} ${unit} after ${many(points.at(-1).n, "report")}.`);
}

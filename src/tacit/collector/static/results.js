// The dashboard: what a study knows, drawn, in words and as tables, and kept up to date by events.

import { addressed, h, json, path, put, s, trouble, Problem } from "./page.js";
import { count, decimal, factor, many, percent } from "./words.js";
import { listen } from "./live.js";
import { panels } from "./panels.js";
import { exportsCard } from "./exports.js";
import { methodCard } from "./method.js";

const QUIET = 20_000; // between two announcements to people who listen
const main = document.getElementById("main");
const [name] = addressed().studies;
const page = { study: null, estimate: null, key: null, seen: [], live: h("span", { class: "state" }, "connecting"), said: 0 };

start();

async function start() {
  try {
    page.study = await json(path("studies", name));
    const labels = [["Answer", `/s/${name}`], ["Privacy", `/s/${name}/privacy`]];
    put(document.getElementById("nav"), labels.map(([text, href]) => h("a", { href }, text)));
    document.title = `Results: ${page.study.question.text}`;
    if (page.study.results === "key" && !page.key) askKey();
    else await open();
  } catch (error) {
    put(main, trouble(error, start));
  }
}

function askKey(wrong = false) {
  const field = h("input", { type: "password", autocomplete: "off", id: "key", "aria-describedby": "key-note", required: true });
  const form = h("form", { class: "key" }, h("label", { for: "key" }, "Administrator's key", field), h("button", {}, "Show the results"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    page.key = field.value.trim();
    open().catch((error) => error instanceof Problem && [401, 403].includes(error.status) ? askKey(true) : put(main, trouble(error, start)));
  });
  put(main, heading(), h("div", { class: "card" }, wrong && h("p", { class: "note bad", role: "alert" }, "The key is not the right one."),
    form, h("p", { class: "muted small", id: "key-note" }, "The results of this study are shown with the key only. The key stays in this page's memory and is forgotten with it.")));
  if (wrong) field.focus();
}

const heading = () => h("h1", { dir: "auto" }, page.study.question.text);

async function open() {
  const estimate = await newest();
  page.view = view();
  put(main, page.view.element);
  tally(page.study.n ?? 0);
  show(estimate);
  setInterval(() => page.view.pace(page.seen), 10_000);
  if (page.estimate?.state === "closed") return; // the last estimate of a closed study may still be on its way
  let first = true;
  const ended = await listen(path("studies", name, "events"), {
    key: page.key,
    hear,
    state(state) {
      if (page.estimate?.state !== "closed") live(state);
      if (state === "live" && !first) newest().then(show, () => {}); // what came while nobody listened
      first = false;
    },
  });
  live("waiting");
  main.prepend(trouble(ended, () => location.reload()));
}

async function newest() {
  try {
    return await json(path("studies", name, "estimate"), { key: page.key });
  } catch (error) {
    if (error instanceof Problem && error.status === 404 && error.code !== "study_unknown") return null; // none was made yet
    throw error;
  }
}

function hear(event, data) {
  const now = JSON.parse(data);
  if (now.state === "closed" && page.study.state !== "closed") return void location.reload();
  if (event === "count") tally(now.n);
  if (event === "estimate" && now.estimates > 0) newest().then(show, () => {}); // the next event tells again
  return undefined;
}

function tally(n) {
  if (!Number.isInteger(n)) return;
  page.seen.push({ at: Date.now(), n });
  page.view.count(n, page.estimate?.used);
  page.view.pace(page.seen);
}

function live(state) {
  page.live.className = `state ${state}`;
  page.live.textContent = { live: "live", waiting: "connection lost, trying again", closed: "closed" }[state];
}

function show(estimate) {
  if (!estimate) return;
  page.estimate = estimate;
  if (estimate.state === "closed") live("closed");
  page.view.show(estimate, page.seen.at(-1).n);
  if (Date.now() - page.said > QUIET) {
    page.said = Date.now();
    document.getElementById("news").textContent = `Estimate from ${many(estimate.used, "report")}.`;
  }
}

// The page for a study: built once, then shown each estimate.
function view() {
  const { study } = page;
  const tiles = { reports: tile("Reports"), used: tile("In the estimate"), error: tile("Expected error"), epsilon: tile("Privacy of one answer") };
  tiles.epsilon.say(`epsilon ${decimal(study.epsilon)}`, `odds change at most by the factor ${factor(study.epsilon)}`);
  const charts = panels(study);
  const method = methodCard(study);
  const empty = h("div", { class: "card" }, h("h2", {}, "No estimate yet"), h("p", {}, "It appears here when the first reports have been taken in. Nothing can be said from none."),
    study.state === "open" && h("p", {}, h("a", { class: "button", href: `/s/${name}` }, "To the question")));
  const tables = h("button", { class: "quiet tiny", type: "button", "aria-pressed": "false", onclick: () => {
    const open = tables.getAttribute("aria-pressed") !== "true";
    tables.setAttribute("aria-pressed", String(open));
    for (const figure of charts.figures) figure.showTable(open);
  } }, "All tables");
  const element = h("div", {}, h("p", { class: "muted status" }, stateWords(study), " ", page.live, " ", tables), heading(),
    h("ul", { class: "figures" }, Object.values(tiles).map((t) => t.element)), empty, charts.element, method.element, exportsCard(study, () => page.key));
  charts.element.hidden = true;
  return {
    element,
    pace: (seen) => charts.pace(seen),
    count(n, used = null) {
      if (used !== null) tiles.used.say(count(used), n > used ? `${many(n - used, "report")} wait for the next refresh` : "all that are held");
      tiles.reports.say(count(n), study.expected ? `of ${count(study.expected)} planned` : "", study.expected ? n / study.expected : null);
    },
    show(estimate, held) {
      const some = estimate.used > 0;
      empty.hidden = some;
      charts.element.hidden = !some;
      this.count(held, estimate.used);
      tiles.error.say(...errorWords(estimate, some));
      if (some) charts.show(estimate);
      method.show(estimate, held);
    },
  };
}

const stateWords = ({ state }) => ({ open: "Open for answers,", draft: "Not open yet,", closed: "Closed for answers," })[state] ?? "";

function errorWords({ error, question }, some) {
  if (!some || !error || !Number.isFinite(error.expected)) return ["unknown", "before reports"];
  if (error.unit === "mae") return [`${Number(error.expected.toPrecision(2))} ${question.unit}`, "mean absolute error that the posterior expects"];
  return [percent(error.expected), "of the answers would have to move for the estimate to be exact"];
}

function tile(what) {
  const [n, more] = [h("span", { class: "n" }), h("span", { class: "more" })];
  const inner = s("rect", { class: "range", x: 0, y: 0, height: 4, width: 0 });
  const bar = s("svg", { class: "progress", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, inner);
  bar.classList.add("hidden");
  return {
    element: h("li", {}, h("span", { class: "what" }, what), n, more, bar),
    say(value, note = "", share = null) {
      n.textContent = value;
      more.textContent = note;
      bar.classList.toggle("hidden", share === null);
      if (share !== null) inner.setAttribute("width", Math.min(100 * share, 100));
    },
  };
}

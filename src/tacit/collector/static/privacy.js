// The privacy statement for people, from the one for machines.

import { addressed, h, json, path, put, sentence, trouble } from "./page.js";
import { count, decimal, factor, many } from "./words.js";
import { oddsFigure } from "./odds.js";

const main = document.getElementById("main");
const [name] = addressed().studies;

start();

async function start() {
  try {
    const [study, statement] = await Promise.all([json(path("studies", name)), json(path("studies", name, "privacy"))]);
    document.title = `Privacy: ${study.question.text}`;
    put(document.getElementById("nav"), h("a", { href: `/s/${name}` }, "Answer"), h("a", { href: `/s/${name}/results` }, "Results"));
    put(main, h("h1", {}, "What happens to your answer"), h("p", { class: "lead", dir: "auto" }, study.question.text),
      part("In one sentence", h("p", {}, "Your answer stays on your device; what travels is a report that chance has changed, and whoever sees it learns at most what stands below.")),
      part("What a report gives away, at most", oddsFigure(statement.epsilon, "odds"), loss(statement)),
      part("What is kept", lists(statement), retention(statement)),
      part("Erasing", h("p", {}, sentence(statement.erasure)), h("p", {}, "The page where you answered does it for you, as long as this browser keeps its data.")),
      part("Who is trusted", trust(statement)), part("What administrators did", actions(statement)));
  } catch (error) {
    put(main, trouble(error, start));
  }
}

const part = (title, ...content) => h("section", { class: "card" }, h("h2", {}, title), content);

function loss({ epsilon, loss: worst, certified, rounds, unit }) {
  return h("dl", { class: "facts" }, [
    ["Epsilon", `${decimal(epsilon)}: odds change at most by the factor ${factor(epsilon)}`],
    ["Counted for", unit],
    ["Computed", certified ? `from the whole numbers in the table of every round (${count(rounds)} so far): the worst gives away ${decimal(worst)}` : "at least one table gives away more than it states: devices refuse it"],
    ["Added up", "answers to several studies add up; your device keeps the sum and has a limit of its own"],
  ].map(([term, words]) => [h("dt", {}, term), h("dd", {}, words)]));
}

const list = (items) => h("ul", {}, items.map((item) => h("li", {}, item)));

const lists = ({ stored, not_stored: never }) => [h("h3", {}, "Stored"), list(stored), h("h3", {}, "Not stored"), list(never)];

function retention({ retention_days: days, purged }) {
  const words = purged ? "The reports were deleted; rounds and estimates stay."
    : days === null ? "Reports are kept until the study is deleted." : `Reports are deleted ${many(days, "day")} after the study closes; rounds and estimates stay.`;
  return [h("h3", {}, "For how long"), h("p", {}, words)];
}

const trust = ({ served_code: words }) => [list([
  "Your device and your browser: they see your answer.", "Nobody else with your answer: the collector sees reports only, and your device checks every question before it answers.",
  "The collector with the count: that it counts each report once, and shows everybody the same rounds. Rounds form a chain, so that two different stories can be told apart.",
]), h("p", {}, sentence(words))];

function actions({ actions: all }) {
  if (!all?.length) return h("p", {}, "Nothing yet.");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Actions of administrators" }, h("table", { class: "words" }, h("caption", {}, `${count(all.length)} in all; times are rounded to the hour`),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Hour"), h("th", { scope: "col" }, "What"))),
    h("tbody", {}, all.map(({ hour, action }) => h("tr", {}, h("td", {}, hour.replace("T", " ").replace("Z", " UTC")), h("td", {}, action))))));
}

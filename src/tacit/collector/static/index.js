// The index: the polls and studies that want to be found.

import { h, json, path, put, trouble } from "./page.js";
import { decimal, factor, many } from "./words.js";

const main = document.getElementById("main");

start();

async function start() {
  try {
    const [{ studies }, { polls }] = await Promise.all([json(path("studies")), json(path("polls"))]);
    put(main, h("h1", {}, "Questions that keep your answer private"), h("p", { class: "lead" }, "Your answer stays on your device. It sends a report that chance has changed, and the picture of all emerges from many."),
      polls.length ? [h("h2", {}, "Polls"), polls.map(poll)] : [], studies.length ? [polls.length > 0 && h("h2", {}, "Single questions"), studies.map(study)] : h("p", { class: "card" }, "No question is listed here at the moment."));
  } catch (error) {
    put(main, trouble(error, start));
  }
}

const poll = ({ name, title, studies, epsilon }) => h("article", { class: "card" }, h("h3", { dir: "auto" }, h("a", { href: `/p/${name}` }, title)),
  h("p", { class: "muted small" }, many(studies.length, "question"), epsilon === undefined ? "" : `, together epsilon ${decimal(epsilon)}`));

const study = ({ name, question, state, n, epsilon, results }) => h("article", { class: "card" }, h("h3", { dir: "auto" }, h("a", { href: state === "open" ? `/s/${name}` : `/s/${name}/results` }, question.text)),
  h("p", { class: "muted small" }, h("span", { class: `state ${state}` }, { open: "open", closed: "closed", draft: "not open yet" }[state] ?? state), ` · ${many(n ?? 0, "report")} · epsilon ${decimal(epsilon)} (odds × ${factor(epsilon)})`),
  h("p", { class: "small" }, h("a", { href: `/s/${name}/results` }, results === "key" ? "Results (with the key)" : "Results"), " · ", h("a", { href: `/s/${name}/privacy` }, "Privacy")));

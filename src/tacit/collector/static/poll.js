// The poll page: questions, answers that stay here, reports that go.

import { addressed, collector, h, hosted, json, path, Problem, put, s, said, trouble } from "./page.js";
import { asksWhat, CollectorError, Own, limits, setLimits, usable } from "./device.js";
import { named } from "./report.js";
import { count, decimal, factor, many } from "./words.js";
import { oddsFigure } from "./odds.js";

const main = document.getElementById("main");
const page = { own: null, studies: [], title: null, cards: [], sending: false };

start();

async function start() {
  try {
    Object.assign(page, await questions());
    document.title = page.title ?? page.studies[0].question.text;
    putLinks();
    if (framed()) return put(main, heading(), alone());
    if (!usable()) return put(main, heading(), insecure());
    page.own = new Own(page.studies);
    await show();
  } catch (error) {
    put(main, trouble(error, start));
  }
  return undefined;
}

async function questions() {
  const { studies, poll, title = null } = addressed();
  const found = poll ? await json(path("polls", poll)) : { title, studies };
  const list = await Promise.all(found.studies.map((study) => typeof study === "string" ? called(study) : study));
  return { studies: list, title: found.title };
}

// The study of this name. Under another one the device would answer it once more.
async function called(name) {
  const study = await json(path("studies", name));
  if (study.name === name) return study;
  throw new Problem(200, { code: "study_mixed", detail: "the collector gave another study than the one that this page asks for" });
}

function putLinks() {
  const [{ name }] = page.studies;
  const links = page.studies.length === 1 ? [["Results", `${collector}/s/${name}/results`], ["Privacy", `${collector}/s/${name}/privacy`]] : [];
  put(document.getElementById("nav"), links.map(([label, href]) => h("a", { href }, label)));
}

const heading = () => page.title ? h("h1", { dir: "auto" }, page.title) : page.studies.length === 1 ? null : h("h1", {}, many(page.studies.length, "question"));

// In another site's frame a browser gives the page a ledger of its own, one for each such site; and what is drawn over it decides
// what people click.
const framed = () => globalThis.top !== globalThis.self;

const alone = () => h("div", { class: "note bad", role: "alert" }, h("p", {}, h("strong", {}, "Nothing can be sent from here. ")),
  h("p", {}, "This page is shown inside another one. There it could not know what this device has answered before. ", h("a", { href: location.href, target: "_blank", rel: "noopener" }, "Open it by itself"), "."));

const insecure = () => h("div", { class: "note bad", role: "alert" }, h("p", {}, h("strong", {}, "Nothing can be sent from here. ")),
  h("p", {}, "This page did not come over HTTPS, so somebody on the way could have changed it, and the browser withholds what an answer needs to be protected. Open the address with https://."));

// One card a question; those that are answered show their report.
async function show() {
  page.cards = [];
  for (const [i, study] of page.studies.entries()) page.cards.push(await card(study, i));
  const form = h("form", { novalidate: true, id: "form" }, page.cards.map(({ element }) => element), actions());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  put(main, heading(), promise(), total(), form, h("div", { id: "outbox", role: "status" }), gives(), about());
  put(document.getElementById("foot"), h("p", {}, "No cookies, no third parties. The collector stores no address and no time of a report."));
  settle();
  if ((await waitingStudies()).length) deliver();
}

const lock = () => s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("rect", { x: 5, y: 11, width: 14, height: 9, rx: 2 }), s("path", { d: "M8 11V8a4 4 0 0 1 8 0v3" }));

const promise = () => h("p", { class: "promise" }, lock(), h("span", {}, h("strong", {}, "Your answer stays on this device. "),
  "What is sent is a report: chance changes your answer first, so nobody, not even who runs this poll, can be sure of it."));

// What everything on the page costs, before the first answer.
function total() {
  if (page.studies.length < 2) return null;
  const sum = page.studies.reduce((all, { epsilon }) => all + Number(epsilon), 0);
  return h("p", { class: "cost", id: "total" }, `All ${count(page.studies.length)} questions together: epsilon ${decimal(sum)}. Whatever somebody believes about all your answers, your reports change the odds at most by the factor ${factor(sum)}. You may leave questions out.`);
}

async function card(study, i) {
  const holder = h("section", { class: "card", "aria-labelledby": `question-${i}` });
  const made = { study, i, element: holder, read: () => null, open: false };
  const report = await page.own.device().kept(study.name);
  if (report) await showReport(made, report);
  else ask(made);
  return made;
}

function title({ study, i }) {
  const single = page.studies.length === 1 && !page.title;
  return h(single ? "h1" : "h2", { id: `question-${i}`, dir: "auto" }, study.question.text);
}

function ask(card) {
  const { study, i } = card;
  if (study.state !== "open") {
    put(card.element, title(card), h("p", { class: "note" }, study.state === "closed" ? "This study is closed: it takes no more answers." : "This study is not open yet."));
    return;
  }
  card.open = true;
  const wrong = h("p", { class: "wrong", id: `wrong-${i}`, role: "alert" });
  const { field, read, focus } = study.question.labels ? choices(study, i) : number(study, i);
  Object.assign(card, { read, focus, wrong });
  put(card.element, h("fieldset", { "aria-describedby": `cost-${i} wrong-${i}` }, h("legend", {}, title(card)), field, wrong), cost(card), greedy(card));
}

const cost = ({ study, i }) => h("p", { class: "cost", id: `cost-${i}` }, `Costs epsilon ${decimal(study.epsilon)}: your report changes any odds about your answer at most by the factor ${factor(study.epsilon)}.`);

// More than this device gives is said before the answer, and the device would refuse it anyway.
function greedy({ study }) {
  const { cap } = limits();
  if (Number(study.epsilon) <= Number(cap)) return null;
  return h("p", { class: "note bad" }, `This study asks for more than this device gives: epsilon ${decimal(study.epsilon)}, and your limit for one answer is ${decimal(cap)}. It will stay silent unless you raise the limit below. `,
    `At epsilon ${decimal(study.epsilon)} one report can change odds by the factor ${factor(study.epsilon)}.`);
}

function choices({ question }, i) {
  const inputs = question.labels.map((label, j) => h("input", { type: "radio", name: `answer-${i}`, value: j, id: `answer-${i}-${j}`, autocomplete: "off" }));
  const field = h("div", { class: "answers" }, question.labels.map((label, j) => h("label", { class: "answer", for: `answer-${i}-${j}` }, inputs[j], said(label, "span"))));
  return {
    field,
    focus: () => inputs[0].focus(),
    read: () => question.labels[inputs.findIndex((input) => input.checked)] ?? null,
  };
}

function number({ question }, i) {
  const { unit, lowest, highest, step } = question;
  const input = h("input", { type: "number", id: `answer-${i}`, min: lowest, max: highest, step, inputmode: "decimal", autocomplete: "off", "aria-describedby": `range-${i} wrong-${i}` });
  const field = h("div", {}, h("div", { class: "number" }, h("label", { class: "unseen", for: `answer-${i}` }, `Your answer in ${unit}`), input, said(unit, "span")),
    h("p", { class: "muted small", id: `range-${i}` }, `From ${lowest} to ${highest}, in steps of ${step}. If yours lies beyond, you may give the nearest end.`));
  return { field, focus: () => input.focus(), read: () => input.validity.badInput ? "" : input.value.trim() || null };
}

function actions() {
  return h("div", { class: "buttons", id: "actions" }, h("button", { id: "send" }, "Make my report and send it"), h("span", { class: "muted small", id: "hint" }));
}

// What the buttons offer now.
function settle() {
  document.getElementById("actions").hidden = !page.cards.some(({ open }) => open);
}

const say = (words) => { document.getElementById("news").textContent = words; };

async function submit() {
  if (page.sending) return;
  const asked = page.cards.filter(({ open }) => open);
  for (const { wrong } of asked) wrong.textContent = "";
  const answered = asked.map((card) => ({ card, answer: card.read() })).filter(({ answer }) => answer !== null);
  if (!answered.length) {
    asked[0].wrong.textContent = "Give an answer first. Nothing was sent.";
    asked[0].focus();
    return;
  }
  const button = document.getElementById("send");
  page.sending = true;
  button.setAttribute("aria-disabled", "true");
  let made = null;
  for (const { card, answer } of answered) made = await answerOne(card, answer) ? made ?? card : made;
  page.sending = false;
  button.removeAttribute("aria-disabled");
  settle();
  if (made) {
    made.element.querySelector(".report").focus();
    deliver();
  }
}

async function answerOne(card, answer) {
  try {
    const round = await page.own.round(card.study.name);
    if (!asksWhat(card.study, round)) throw Object.assign(new Error("another question"), { code: "question_changed" });
    const report = await page.own.answer(round, answer, card.study.epsilon);
    await showReport(card, report, round);
    return true;
  } catch (error) {
    card.wrong.textContent = refusal(error, card.study);
    if (error.code === "answer_unknown") card.focus();
    return false;
  }
}

// Why this device does not answer. None of it depends on which of the possible answers was given.
function refusal(error, { epsilon, question }) {
  const nothing = " Nothing was sent, nothing was charged.";
  const { cap, total } = limits();
  switch (error.code) {
    case "answer_unknown": return question.labels ? `Choose one of the answers.${nothing}` : `Give a number from ${question.lowest} to ${question.highest} in steps of ${question.step}.${nothing}`;
    case "loss_above_cap": return `The channel would give away more than you allow: it was announced with epsilon ${decimal(epsilon)}, and your limit for one answer is ${decimal(cap)}.${nothing}`;
    case "question_changed": return `The collector asks something else than this page shows. This device answers neither.${nothing} Load the page again; if it goes on, tell others.`;
    case "channel_leaks": return `The collector sent a channel that leaks more than it states. This device does not answer through it.${nothing}`;
    case "budget_exhausted": return `Your answers so far have used up what this device may give in all (epsilon ${decimal(total)}).${nothing} You can raise the limit below, if you want that.`;
    case "store_unusable": return `This browser does not let the page keep your report, as in some private windows. Without it you could be asked twice, so the device stays silent.${nothing}`;
    case "server_unreachable": return `The collector cannot be reached just now.${nothing} Try again in a while.`;
    case "study_closed": case "study_unknown": return `The study takes no answers any more.${nothing}`;
    default: return `This device refused the question (${error.code ?? error.name}).${nothing}`;
  }
}

async function showReport(card, report, round = null) {
  card.open = false;
  const asked = round ?? await page.own.roundOf(report).catch(() => null);
  const names = asked ? named(asked, report) : null;
  card.status = h("p", { class: "mark" });
  card.buttons = h("div", { class: "buttons" });
  put(card.element, title(card), h("div", { class: "report", tabindex: "-1", role: "group", "aria-label": "Your report" },
    names && [h("p", { class: "muted" }, names.length > 1 ? "Your report names these answers:" : "Your report says:"),
      h("ul", { class: "named" }, names.slice(0, 40).map((name) => h("li", { dir: "auto" }, name)), names.length > 40 && h("li", {}, `and ${count(names.length - 40)} more`)),
      h("p", {}, "Chance had a hand in it: it may be what you answered, or not. That is what protects you. It was made once; asked again, this device repeats it.")],
    h("details", {}, h("summary", {}, "The report, as it travels"), h("pre", { tabindex: "0", role: "region", "aria-label": "The report, as it travels" }, report.toJson())),
    card.status, card.buttons));
  card.report = report;
  await showState(card);
}

// received, waiting, refused or erased, with what can be done.
async function showState(card, refused = null) {
  const { own } = page;
  const erased = own.erased(card.report);
  const waits = await own.waiting(card.study.name) !== null;
  const [state, words] = erased ? ["erased", "Erased at the collector, for good. This device keeps its own copy, so that it never answers this study twice."]
    : refused ? ["refused", `The collector does not take this report: ${refusedWords(refused)}`]
      : waits ? ["waiting", "Kept safely here, and on its way."]
        : ["received", "Received: the collector has given a receipt."];
  card.status.className = `mark ${state}`;
  card.status.textContent = words;
  const button = (label, work) => h("button", { type: "button", class: "quiet tiny", onclick: (event) => work(card, event.currentTarget) }, label);
  put(card.buttons, erased ? [] : [state === "received" && button("Send it again", resend), state === "received" && button("Erase it at the collector", erase)]);
}

function refusedWords({ code, hint }) {
  return {
    study_closed: "the study is closed.", invite_required: "it takes answers by invitation only, and this address carries no invitation. Open the link of your invitation again.",
    invite_used: "this invitation was used for another report. Ask for another one.", report_erased: "it was erased there, for good.",
    round_unknown: "it does not know the question that this report answers.", study_unknown: "it has no such study any more.",
  }[code] ?? `${hint} (${code}).`;
}

const waitingStudies = async () => (await page.own.device().pending()).map(({ study }) => study).filter((study) => page.studies.some(({ name }) => name === study));

// The outbox: sends until each report is received or refused for good, and says what it is waiting for.
async function deliver() {
  if (page.delivering) return;
  page.delivering = true;
  const box = document.getElementById("outbox");
  let { waiting } = { waiting: [] };
  try {
    ({ waiting } = await page.own.deliver(page.studies.map(({ name }) => name), (milliseconds) => pausing(box, milliseconds)));
  } catch (error) {
    put(box, trouble(error, deliver));
  }
  page.delivering = false;
  put(box);
  const refused = new Map(waiting.filter(({ error }) => error instanceof CollectorError && error.code !== "elsewhere").map(({ report, error }) => [report.study, error]));
  const shown = page.cards.filter(({ report }) => report);
  for (const card of shown) await showState(card, refused.get(card.study.name) ?? null);
  if (!refused.size && shown.length) {
    if (page.cards.every(({ open }) => !open)) page.own.forgetInvite(); // a poll's token is good for each of its questions
    say("Your report was received.");
  } else if (refused.size) say("The collector did not take your report.");
}

function pausing(box, milliseconds) {
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  put(box, h("div", { class: "note" }, h("p", {}, navigator.onLine === false ? "This device is offline. Your report is safe here and goes out when there is a connection, now or when you open this page again."
    : `The collector did not answer. Your report is safe here; the next try is in ${many(seconds, "second")}, or when you open this page again.`),
  h("p", {}, h("button", { type: "button", class: "quiet tiny", onclick: () => page.own.wake?.() }, "Send now"))));
}

async function resend(card) {
  card.status.className = "mark waiting";
  card.status.textContent = "Sending the same report again.";
  try {
    await page.own.send(card.report);
    await showState(card);
    say("The collector confirmed that it holds your report, once.");
    card.status.textContent = "Received: the collector confirmed it again. However often it is sent, it counts once.";
  } catch (error) {
    if (error.final) await showState(card, error);
    else {
      await showState(card);
      card.status.textContent = "The collector did not answer. It has confirmed this report before.";
    }
  }
}

async function erase(card, button) {
  if (button.dataset.sure !== "yes") {
    button.dataset.sure = "yes";
    button.textContent = "Erase it for good? Press again";
    return;
  }
  try {
    await page.own.erase(card.report);
    await showState(card);
    say("Your report was erased at the collector.");
    card.element.querySelector(".report").focus();
  } catch {
    card.status.textContent = "The collector did not answer; nothing was erased. Try again later.";
  }
}

// What a report gives away, as a picture; the sum where there are several.
function gives() {
  const sum = page.studies.reduce((all, { epsilon }) => all + Number(epsilon), 0);
  return h("section", { class: "card" }, h("h2", {}, page.studies.length > 1 ? "What all reports together give away, at most" : "What your report gives away, at most"), oddsFigure(sum, "odds", page.studies.length > 1 ? "sets of answers you gave" : undefined));
}

function about() {
  return h("div", {}, h("details", {}, h("summary", {}, "What happens when I answer?"),
    h("p", {}, "This page asks the collector for the current question and its table of chances. It checks, with whole numbers and no rounding, that the table gives away at most what is stated here. Then it lets chance decide what to report, writes the report and its cost into this browser, and sends it. The answer itself is neither kept nor sent."),
    h("p", {}, "What the collector learns besides: that somebody took part. It keeps no address and no time.")),
  h("details", {}, h("summary", {}, "Whom do I have to trust?"), trust()), h("details", { id: "limits" }, h("summary", {}, "Limits of this device"), limitsForm()));
}

const trust = () => hosted
  ? [h("p", {}, `This page is hosted apart from the collector (${collector}). The collector sees reports only, and cannot change this page. You trust whoever hosts it, your browser and this device.`),
    h("p", {}, "Anybody can check it: the same release of tacit writes the same files, and ", h("a", { href: "./SHA256SUMS" }, "their hashes"), " stand beside it.")]
  : [h("p", {}, "This page came from the collector itself. It protects you from everybody who sees reports: thieves of the database, readers of the export, and an operator who keeps to the rules."),
    h("p", {}, "It cannot protect you from an operator who does not: whoever serves a page could serve another one, to everybody or to you alone. If that matters, answer through the same page on another origin (made by “tacit study page”, with hashes that anybody can check), or through an app that you installed.")];

function limitsForm() {
  const { cap, total } = limits();
  const used = h("p", { class: "muted small" });
  page.own.device().spent().then((spent) => { used.textContent = `Used so far in this browser, for this site: epsilon ${decimal(spent)}.`; }, () => {});
  const field = (label, name, value) => h("label", { for: name }, h("span", {}, label), h("input", { type: "text", inputmode: "decimal", id: name, value, autocomplete: "off" }));
  const answer = h("p", { role: "status", class: "small" });
  const save = h("button", { type: "button", class: "quiet", onclick() {
    const value = (id) => document.getElementById(id).value.trim();
    try {
      setLimits({ cap: value("cap"), total: value("most") });
      answer.textContent = "Saved in this browser.";
      for (const card of page.cards) if (card.open) ask(card);
    } catch (error) {
      answer.textContent = `Not saved: ${error.hint ?? error.message}.`;
    }
  } }, "Save the limits");
  return [h("p", {}, "The collector has no say in these. A device refuses a question that costs more than the first, and falls silent when all its answers together would cost more than the second."),
    h("div", { class: "limits" }, field("Epsilon for one answer", "cap", cap), field("Epsilon for all answers", "most", total)), save, answer, used];
}

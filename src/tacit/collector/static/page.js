// What all pages do: build elements, read the address, talk to the collector.
//
// A page served by the collector talks to where it came from. A page made by `tacit study page` names its collector and
// its studies in meta elements, and its policy lets the browser talk to nobody else.

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? null;

export const collector = meta("tacit-collector") ?? "";
export const hosted = collector !== "";

const SVG = "http://www.w3.org/2000/svg";
const MESSAGE_LIMIT = 1 << 20;

// Elements without markup: text is only ever set as text. `on*` are listeners; what is null, undefined or false is left out.
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Text whose direction follows its own letters.
export const said = (text, tag = "bdi") => h(tag, { dir: "auto" }, text);

// Which studies or poll the address, or the page itself, names.
export function addressed() {
  const studies = meta("tacit-studies");
  if (studies) return { studies: studies.split(" "), title: meta("tacit-title") };
  const [, kind, name] = location.pathname.split("/");
  const named = decodeURIComponent(name ?? "");
  return kind === "p" ? { poll: named } : { studies: [named] };
}

// A secret after "#" never travels: browsers do not send fragments. It leaves the address bar once read.
export function secret(name) {
  const value = new URLSearchParams(location.hash.slice(1)).get(name);
  if (value !== null) history.replaceState(null, "", location.pathname + location.search);
  return value;
}

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `the collector answered ${status}`);
    Object.assign(this, { status, code: body.code ?? `status_${status}`, hint: body.hint ?? "", body });
  }
}

export const path = (...parts) => `${collector}/v1/${parts.map(encodeURIComponent).join("/")}`;

// A request; refusals are Problems. No cookie travels, and no referrer.
export async function ask(url, { key = null, headers = {}, ...rest } = {}) {
  const all = key ? { ...headers, Authorization: `Bearer ${key}` } : headers;
  const answer = await fetch(url, {
    ...rest, headers: all, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "error",
  });
  if (answer.ok) return answer;
  throw new Problem(answer.status, await answer.json().catch(() => ({})));
}

export const json = async (url, options) => (await ask(url, options)).json();

export async function text(url, options) {
  const found = await (await ask(url, options)).text();
  if (found.length > MESSAGE_LIMIT) throw new Problem(200, { detail: "the collector sent more than a message may hold" });
  return found;
}

// Put children in place of what an element holds.
export const put = (element, ...children) => element.replaceChildren(...children.flat(3).filter((child) => child));

// What went wrong, for people, with what they can do.
export function trouble(error, again = null) {
  const known = {
    study_unknown: "There is no such study here. Perhaps it was deleted, or the address has a typing error.",
    poll_unknown: "There is no such poll here. Perhaps it was deleted, or the address has a typing error.",
    key_wrong: "The key is not the right one.",
  };
  const offline = !(error instanceof Problem);
  const words = offline ? "The collector cannot be reached just now." : known[error.code] ?? sentence(error.message);
  return h("div", { class: "note bad", role: "alert" }, h("p", {}, words), !offline && error.hint && !known[error.code] && h("p", {}, sentence(error.hint)),
    again && h("p", {}, h("button", { class: "quiet tiny", type: "button", onclick: again }, "Try again")));
}

export const sentence = (text) => {
  const all = text.trim();
  return all ? all[0].toUpperCase() + all.slice(1) + (/[.!?]$/.test(all) ? "" : ".") : all;
};

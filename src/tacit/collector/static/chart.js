// The shell of every chart: a figure with a title, a description, a picture, a table of the same numbers, a tooltip.
//
// A picture is one SVG of real elements, drawn again in place: an element with the same key keeps its node, so that the style
// sheet can move it gently. What carries numbers is a mark: it has a label for people who listen, the same words in a tooltip for
// pointer and keyboard, and its numbers stand in the table. A figure is one stop of the Tab key; arrows, Home and End
// go from mark to mark.

import { h, s, put } from "./page.js";

let figures = 0;

export class Figure {
  // `paint(pen, data, width)` draws and returns the height; `tabulate(data)` gives { caption, head, rows }.
  constructor({ title, note = "", paint, tabulate, controls = [], level = "h2" }) {
    this.id = `figure-${++figures}`;
    Object.assign(this, { paint, tabulate, data: null, width: 0 });
    this.note = h("p", { class: "muted small", id: `${this.id}-note` }, note);
    this.toggle = h("button", { class: "quiet tiny", type: "button", "aria-pressed": "false", onclick: () => this.showTable() },
      "Table", h("span", { class: "unseen" }, ` of ${title}`));
    this.svg = s("svg", { role: "group", "aria-roledescription": "chart", "aria-labelledby": `${this.id}-title ${this.id}-desc` });
    this.desc = s("desc", { id: `${this.id}-desc` });
    this.svg.append(s("title", { id: `${this.id}-title` }, title), this.desc);
    this.pen = new Pen(this.svg);
    this.tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
    this.stage = h("div", { class: "stage" }, this.svg, this.tip);
    this.table = h("div", { class: "scroll", hidden: true, tabindex: "0", role: "region", "aria-label": `Table: ${title}` });
    this.element = h("figure", { class: "card chart", id: this.id },
      h("div", { class: "bar" }, h(level, {}, title), h("div", { class: "tools" }, controls, this.toggle)), this.note, this.stage, this.table);
    this.listen();
    new ResizeObserver(() => this.fit()).observe(this.stage);
  }

  listen() {
    const mark = (event) => event.target.closest?.("[data-mark]");
    this.svg.addEventListener("pointerover", (event) => mark(event) && this.say(mark(event)));
    this.svg.addEventListener("pointerleave", () => this.hush());
    this.svg.addEventListener("focusin", (event) => mark(event) && this.say(mark(event)));
    this.svg.addEventListener("focusout", () => this.hush());
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  show(data, description, note = null) {
    this.data = data;
    this.desc.textContent = description;
    if (note !== null) this.note.textContent = note;
    put(this.table, tableOf(this.tabulate(data)));
    this.draw();
  }

  fit() {
    const width = Math.floor(this.stage.clientWidth);
    if (width && width !== this.width) {
      this.width = width;
      this.svg.classList.add("still"); // a change of size is no news: nothing glides
      this.draw();
      requestAnimationFrame(() => this.svg.classList.remove("still"));
    }
  }

  draw() {
    if (!this.width || this.data === null) return;
    this.pen.begin();
    const height = Math.ceil(this.paint(this.pen, this.data, this.width));
    this.pen.end();
    for (const [name, value] of [["viewBox", `0 0 ${this.width} ${height}`], ["width", this.width], ["height", height]]) this.svg.setAttribute(name, value);
  }

  showTable(open = this.table.hidden) {
    this.table.hidden = !open;
    this.toggle.setAttribute("aria-pressed", String(open));
  }

  say(mark) {
    const lines = this.pen.said.get(mark.dataset.mark) ?? [];
    put(this.tip, lines.map((line, i) => h(i ? "span" : "strong", { dir: "auto" }, line)));
    this.tip.hidden = false;
    const [box, stage] = [mark.getBoundingClientRect(), this.stage.getBoundingClientRect()];
    const room = this.stage.clientWidth - this.tip.offsetWidth;
    const left = Math.min(Math.max(box.left - stage.left + box.width / 2 - this.tip.offsetWidth / 2, 0), Math.max(room, 0));
    const above = box.top - stage.top - this.tip.offsetHeight - 8;
    this.tip.style.left = `${left}px`; // through the object model, which the policy allows
    this.tip.style.top = `${above < 0 ? box.bottom - stage.top + 8 : above}px`;
  }

  hush() {
    this.tip.hidden = true;
  }

  key(event) {
    const marks = this.pen.marks;
    const at = marks.indexOf(document.activeElement);
    if (event.key === "Escape") return this.hush();
    const step = { ArrowRight: 1, ArrowDown: this.pen.columns, ArrowLeft: -1, ArrowUp: -this.pen.columns }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : at + (step ?? NaN);
    if (at < 0 || Number.isNaN(to)) return undefined;
    event.preventDefault();
    this.pen.enter(marks[Math.min(Math.max(to, 0), marks.length - 1)]);
    document.activeElement.blur();
    marks[Math.min(Math.max(to, 0), marks.length - 1)].focus();
    return undefined;
  }
}

// Draws with keys: what was drawn before under the same key is moved, what is not drawn again goes.
class Pen {
  constructor(svg) {
    Object.assign(this, { svg, nodes: new Map(), used: new Set(), said: new Map(), marks: [], columns: 1 });
  }

  begin() {
    this.used.clear();
    this.said.clear();
    this.marks = [];
    this.columns = 1;
  }

  draw(key, tag, attributes, content = null, parent = this.svg) {
    let node = this.nodes.get(key);
    if (!node) {
      node = s(tag);
      this.nodes.set(key, node);
      parent.append(node);
    }
    this.used.add(key);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined) node.removeAttribute(name);
      else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
    }
    if (content !== null && node.textContent !== content) node.textContent = content;
    return node;
  }

  // A group that carries numbers: `lines` are its words, the first one its name.
  mark(key, attributes, lines, parent) {
    const node = this.draw(key, "g", { ...attributes, role: "img", "data-mark": key, "aria-label": lines.join(", ") }, null, parent);
    if (!node.hasAttribute("tabindex")) node.setAttribute("tabindex", "-1");
    this.said.set(key, lines);
    this.marks.push(node);
    return node;
  }

  enter(node) {
    for (const mark of this.marks) mark.setAttribute("tabindex", mark === node ? "0" : "-1");
  }

  end() {
    for (const [key, node] of this.nodes) {
      if (this.used.has(key)) continue;
      node.remove();
      this.nodes.delete(key);
    }
    if (this.marks.length && !this.marks.some((mark) => mark.getAttribute("tabindex") === "0")) this.marks[0].setAttribute("tabindex", "0");
  }

  // A text of at most `width` pixels, cut between whole characters as people see them.
  label(key, attributes, content, width, parent) {
    const node = this.draw(key, "text", { ...attributes, class: `label ${attributes.class ?? ""}` }, null, parent);
    const fitted = `${content}\u0000${Math.floor(width)}`;
    if (node.fitted === fitted) return node;
    node.fitted = fitted;
    node.textContent = content;
    if (node.getComputedTextLength() <= width) return node;
    const parts = [...new Intl.Segmenter("en", { granularity: "grapheme" }).segment(content)].map((part) => part.segment);
    let [low, high] = [0, parts.length];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      node.textContent = `${parts.slice(0, middle).join("").trimEnd()}\u2026`;
      if (node.getComputedTextLength() <= width) low = middle;
      else high = middle - 1;
    }
    node.textContent = `${parts.slice(0, low).join("").trimEnd()}\u2026`;
    return node;
  }
}

export function tableOf({ caption, head, rows }) {
  return h("table", {}, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col", dir: "auto" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => i ? h("td", {}, cell) : h("th", { scope: "row", dir: "auto" }, cell))))));
}

// A line of numbers onto pixels, as they are or after a function such as Math.log.
export function scale(from, to, start, end, f = Number) {
  const span = f(to) - f(from) || 1;
  return (value) => start + (end - start) * (f(value) - f(from)) / span;
}

// About `wanted` round numbers between two ends, both ends inside.
export function ticks(from, to, wanted = 5) {
  const rough = (to - from) / Math.max(wanted, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((m) => m >= rough * (1 - 1e-9));
  const out = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}

// 1, 2 or 5 times powers of ten between two ends, as few as leave the line legible.
export function logTicks(from, to, most = 7) {
  for (const digits of [[1, 2, 5], [1, 3], [1]]) {
    const out = [];
    for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
      for (const digit of digits) {
        const value = Number((digit * 10 ** power).toPrecision(3));
        if (value >= from * 0.999 && value <= to * 1.001) out.push(value);
      }
    }
    if (out.length <= most || digits.length === 1) return out;
  }
  return [];
}

// Shares on an axis of square roots, from 0.
export function rootTicks(to) {
  return [0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1].filter((value) => value <= to);
}

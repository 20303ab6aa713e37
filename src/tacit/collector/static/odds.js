// What epsilon means, as a picture: a hundred guesses before and after somebody sees the report.

import { h, s } from "./page.js";
import { after, factor } from "./words.js";

const GAP = 13;
const WIDE = 10 * GAP;

function square(x, on, more) {
  const dots = Array.from({ length: 100 }, (_, i) => s("circle", {
    class: i < on ? "dot on" : i < on + more ? "dot more" : "dot",
    cx: x + (i % 10) * GAP + GAP / 2, cy: Math.floor(i / 10) * GAP + GAP / 2 + 24, r: 4.6,
  }));
  return dots;
}

// Of `right` guesses in a hundred, in words that stay true at the ends.
const times = (right) => right > 99.5 ? "more than 99" : String(Math.ceil(right - 1e-9));

export function oddsFigure(epsilon, id, answers = "answers you gave") {
  const best = 100 * after(0.5, epsilon);
  const shown = Math.min(Math.ceil(best - 1e-9), 100);
  const title = s("title", { id: `${id}-title` }, "A hundred guesses, before and after the report");
  const desc = s("desc", { id: `${id}-desc` }, `Before: 50 of 100 guesses are right. After, at worst: ${times(best)} of 100.`);
  const right = WIDE + 70;
  const picture = s("svg", { viewBox: `0 0 ${2 * WIDE + 70} ${WIDE + 30}`, role: "img", "aria-labelledby": `${id}-title ${id}-desc` },
    title, desc,
    s("text", { class: "big", x: 2, y: 14 }, "50 right"), square(0, 50, 0),
    s("path", { class: "arrow", d: `M${WIDE + 18} ${WIDE / 2 + 24} h32 m-8 -6 l8 6 l-8 6` }),
    s("text", { class: "big", x: right + 2, y: 14 }, best > 99.5 ? "> 99 right" : `${times(best)} right`), square(right, 50, shown - 50));
  return h("figure", { class: "odds" }, picture, h("figcaption", {},
    `Somebody who guesses which of two ${answers} is right 50 times in 100 without your report, and at most ${times(best)} times in 100 with it. `,
    `In odds: whatever they believed, the report changes it at most by the factor ${factor(epsilon)}.`));
}

/** What the tests share: vectors, rounds to ask, and the refusal to expect. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parseChannel, Question, Receipt, Report, Round, TacitError } from "../tacit-client.js";

export const HEAD = "ab".repeat(32);
export const LABELS = ["tea", "coffee", "neither"];
export const [OWN, OTHER] = ["5977564955925", "2199023255552"]; // their ratio is just below e

export const READERS = {
  channel: parseChannel,
  question: Question.fromJson,
  round: Round.fromJson,
  report: Report.fromJson,
  receipt: Receipt.fromJson,
};

export function vectors(name) {
  return JSON.parse(readFileSync(new URL(`../../../vectors/v1/${name}.json`, import.meta.url), "utf8"));
}

/** The canonical text of a message whose keys are ASCII, made without the code under test. */
export function canonical(value) {
  const sorted = (_, part) =>
    part && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part;
  return JSON.stringify(value, sorted);
}

const HEADER = { type: "channel", version: "1", epsilon: "1" };

/** Randomised response; honest for epsilon 1 unless weights or epsilon say otherwise. */
export function srr(k, own = OWN, other = OTHER, epsilon = "1") {
  return { ...HEADER, kind: "blocks", k: String(k), epsilon, subset: [], inside: ["0", "0", "0"], outside: [own, "0", other] };
}

export function subset(k, size, epsilon = "1") {
  return { ...HEADER, kind: "subset", k: String(k), epsilon, size: String(size), own: OWN, other: OTHER };
}

export function question(labels = LABELS, text = "What do you drink?") {
  return { type: "question", version: "1", id: "drink", text, labels };
}

/** The message of a round, honest unless its channel is not. */
export function roundMessage({ study = "office", labels = LABELS, channel, number = 0, text } = {}) {
  return {
    type: "round",
    version: "1",
    study,
    question: question(labels, text),
    number: String(number),
    channel: channel ?? srr(labels.length),
    previous: number ? HEAD : null,
  };
}

export function asked(options) {
  return Round.fromJson(canonical(roundMessage(options)));
}

/** The TacitError that a call ends in. */
export async function refused(call, ...codes) {
  let found = null;
  try {
    await call();
  } catch (error) {
    found = error;
  }
  assert.ok(found instanceof TacitError, `${found?.stack ?? "nothing was thrown"}`);
  assert.ok(codes.includes(found.code), found.stack);
  assert.ok(found.hint.trim() && found.message.includes(found.hint));
  return found;
}

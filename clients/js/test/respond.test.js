/**
 * `respond` against the exact law of the weights: chi-square tests at a false-alarm rate of 1e-6 each.
 *
 * Power. With n = 10,000 draws a test with d degrees of freedom detects, with probability 0.999, any law whose
 * chi-square distance sum (p - q)^2 / q is at least 0.0064 (d = 1) to 0.0102 (d = 19), twice that of
 * tests/statistical/test_samplers.py. That the tests see a wrong law is tested by the law of another answer. The draws of all
 * vectors and all branches of toy weights are compared exactly, here and in vectors.test.js.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseChannel } from "../tacit-client.js";
import { canonical, OTHER, OWN, refused, srr, subset } from "./support.js";

const DRAWS = 10_000;
// The value that chi-square with 1, 2, ... 20 degrees of freedom passes once in a million: scipy.stats.chi2.isf(1e-6, d).
const LIMITS = [
  23.928, 27.631, 30.665, 33.377, 35.888, 38.258, 40.522, 42.701, 44.811, 46.863, 48.866, 50.825, 52.747, 54.635, 56.493,
  58.324, 60.131, 61.914, 63.677, 65.421,
];

const blocks = { inside: ["10817448881723", "4398046511104", "2199023255552"], outside: ["5977564955925", "4398046511104", "4839883925798"] };
const CHANNELS = {
  srr: srr(4),
  "srr of two, even": srr(2, "101", "100"),
  rrrr: { ...srr(4), ...blocks, subset: ["0", "2"] },
  subset: subset(5, 2),
  "subset of three": subset(6, 3),
  coarse: { ...subset(7, 2), keep: ["1", "4", "6"] },
  hashed: { type: "channel", version: "1", kind: "hashed", k: "50", epsilon: "1", buckets: "4", own: OWN, other: OTHER },
  dense: { type: "channel", version: "1", kind: "dense", k: "3", epsilon: "2", rows: [["5", "1", "2"], ["2", "6", "3"], ["1", "1", "3"], ["2", "2", "2"]] },
  binned: { type: "channel", version: "1", kind: "binned", k: "3", epsilon: "1", cuts: ["-1.5", "2"], inner: { kind: "subset", size: "1", own: OWN, other: OTHER } },
};

/** All sets of `size` of the cells 0..m-1. */
function sets(m, size, first = 0) {
  if (size === 0) return [[]];
  const found = [];
  for (let cell = first; cell < m; cell++) found.push(...sets(m, size - 1, cell + 1).map((rest) => [cell, ...rest]));
  return found;
}

function reportsOf(message) {
  const inner = message.inner ?? message;
  if (inner.kind === "dense") return message.rows.map((_, y) => y);
  if (inner.kind === "subset") return sets(inner.keep ? inner.keep.length + 1 : Number(message.k), Number(inner.size));
  return Array.from({ length: Number(message.k) }, (_, y) => y);
}

function chiSquare(counts, law) {
  const n = counts.reduce((a, b) => a + b);
  return counts.reduce((sum, count, i) => sum + (count - n * law[i]) ** 2 / (n * law[i]), 0);
}

/** Whether draws of answer x pass the test of a law over the reports. */
function passes(draw, reports, law) {
  const index = new Map(reports.map((report, i) => [String(report), i]));
  const counts = reports.map(() => 0);
  for (let i = 0; i < DRAWS; i++) counts[index.get(String(draw()))]++;
  return chiSquare(counts, law) < LIMITS[reports.length - 2];
}

function lawOf(channel, reports, x) {
  const weights = reports.map((report) => channel.weight(report, x));
  const total = weights.reduce((a, b) => a + b);
  return weights.map((weight) => Number(weight) / Number(total));
}

for (const [name, message] of Object.entries(CHANNELS)) {
  const channel = parseChannel(canonical(message));
  if (name === "hashed") continue;
  test(`${name}: reports follow the weights`, () => {
    const reports = reportsOf(message);
    for (const x of new Set([0, channel.k >> 1, channel.k - 1])) {
      assert.ok(passes(() => channel.respond(x), reports, lawOf(channel, reports, x)), `answer ${x}`);
    }
  });
  test(`${name}: the law of another answer is found to be wrong`, () => {
    if (name === "srr of two, even") return assert.ok(passes(() => channel.respond(0), [0, 1], [101 / 201, 100 / 201]));
    const reports = reportsOf(message);
    assert.ok(!passes(() => channel.respond(0), reports, lawOf(channel, reports, channel.k - 1)));
  });
}

test("hashed: the function is uniform and blind, the bucket follows the weights", () => {
  const channel = parseChannel(canonical(CHANNELS.hashed));
  const p = Number(OWN) / (Number(OWN) + 3 * Number(OTHER));
  for (const x of [0, 25, 49]) {
    const [ofA, ofB, shift] = [Array(16).fill(0), Array(16).fill(0), Array(4).fill(0)];
    for (let i = 0; i < DRAWS; i++) {
      const [a, b, bucket] = channel.respond(x);
      ofA[Math.floor((a * 16) / (2 ** 31 - 1))]++;
      ofB[Math.floor((b * 16) / (2 ** 31 - 1))]++;
      shift[(bucket - channel.bucket(a, b, x) + 4) % 4]++;
    }
    for (const counts of [ofA, ofB]) assert.ok(chiSquare(counts, Array(16).fill(1 / 16)) < LIMITS[14]);
    assert.ok(chiSquare(shift, [p, (1 - p) / 3, (1 - p) / 3, (1 - p) / 3]) < LIMITS[2]);
  }
});

/** The exact law of `_draw`: every value that every call of `random` can return, with its probability. */
function enumeratedLaw(channel, x) {
  const law = new Map();
  const stack = [[[], 1]];
  while (stack.length > 0) {
    const [prefix, probability] = stack.pop();
    const script = [...prefix];
    const report = (() => {
      try {
        return channel._draw(x, (bound) => {
          if (script.length > 0) return BigInt(script.shift());
          throw { bound: Number(bound) };
        });
      } catch (more) {
        if (!more.bound) throw more;
        for (let i = 0; i < more.bound; i++) stack.push([[...prefix, i], probability / more.bound]);
        return null;
      }
    })();
    if (report !== null) law.set(String(report), (law.get(String(report)) ?? 0) + probability);
  }
  return law;
}

const toy = { own: "3", other: "1", epsilon: "2" };
const TOYS = {
  srr: srr(4, "3", "1", "2"),
  "rrrr of two and two": { ...srr(4), subset: ["1", "3"], inside: ["6", "2", "2"], outside: ["4", "2", "4"] },
  "one outside": { ...srr(3), subset: ["0", "1"], inside: ["5", "2", "1"], outside: ["4", "2", "0"] },
  "one inside": { ...srr(3), subset: ["1"], inside: ["4", "0", "2"], outside: ["3", "3", "2"] },
  subset: { ...subset(4, 2), ...toy },
  "all but one": { ...subset(4, 3), ...toy },
  coarse: { ...subset(5, 2), ...toy, keep: ["1", "3"] },
  dense: CHANNELS.dense,
};
for (const [name, message] of Object.entries(TOYS)) {
  test(`${name}: all branches together give exactly the weights`, () => {
    const channel = parseChannel(canonical(message));
    const reports = reportsOf(message);
    for (let x = 0; x < channel.k; x++) {
      const law = enumeratedLaw(channel, x);
      const wanted = lawOf(channel, reports, x);
      for (const [i, report] of reports.entries()) {
        assert.ok(Math.abs((law.get(String(report)) ?? 0) - wanted[i]) < 1e-12, `${report} under ${x}`);
      }
      assert.ok(law.size <= reports.length);
    }
  });
}

test("integers below a bound are uniform, just above a power of two too", () => {
  // A channel whose total is the bound shows what is drawn: 255, 256, 257 lie on both sides of a byte.
  for (const total of [5n, 16n, 17n]) {
    const rows = Array.from({ length: Number(total) }, () => ["1", "1"]);
    const channel = parseChannel(canonical({ type: "channel", version: "1", kind: "dense", k: "2", epsilon: "1", rows }));
    assert.equal(channel.total, total);
    const reports = rows.map((_, y) => y);
    assert.ok(passes(() => channel.respond(0), reports, reports.map(() => 1 / reports.length)));
  }
  const wide = srr(2, String(2n ** 400n / 3n), String(2n ** 400n / 3n)); // a total just above a power of two
  const channel = parseChannel(canonical(wide));
  assert.ok(passes(() => channel.respond(0), [0, 1], [0.5, 0.5]));
});

test("no seed reaches a real answer", async () => {
  const channel = parseChannel(canonical(srr(3)));
  assert.equal(channel.respond.length, 1);
  for (const x of [-1, 3, 0.5, NaN, "1", null, undefined, 1n]) await refused(() => channel.respond(x), "argument_invalid");
  const { readFileSync } = await import("node:fs");
  const source = readFileSync(new URL("../tacit-client.js", import.meta.url), "utf8");
  assert.ok(!source.includes("Math.random") && !/\bimport\b[^*]*\bfrom\b/.test(source.replace(/\/\*[^]*?\*\//g, "")));
});

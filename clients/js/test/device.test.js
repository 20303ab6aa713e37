/** A device answers a study once, within its limits, and its refusals tell nothing about its answer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { Device, MemoryStore, Receipt, Report, Round } from "../tacit-client.js";
import { asked, canonical, HEAD, LABELS, refused, roundMessage, srr, subset } from "./support.js";

const LIMITS = { cap: "1", total: "5" };
const newDevice = (store = new MemoryStore(), limits = LIMITS) => new Device(store, limits);
const rowsOf = async (store) => {
  let found;
  await store.transact((rows) => ((found = structuredClone(rows)), null));
  return found;
};

const AGAIN = {
  "the same round": [{}, "tea"],
  "another answer": [{}, "coffee"],
  "a later round": [{ number: 1 }, "tea"],
  "an answer that is none": [{ number: 9 }, "marmalade"],
  "another channel": [{ channel: subset(3, 1) }, "tea"],
  "a channel over the cap": [{ channel: srr(3, "8886110520507", "1099511627776", "9") }, "tea"],
  "a channel that lies": [{ channel: srr(3, "99", "1") }, "tea"],
  "another question": [{ labels: ["yes", "no"] }, "yes"],
};
for (const [name, [options, answer]] of Object.entries(AGAIN)) {
  test(`a study is answered once: ${name}`, async () => {
    const store = new MemoryStore();
    const first = await newDevice(store).answer(asked(), "tea");
    const before = await rowsOf(store);
    for (const limits of [LIMITS, { cap: 0.01, total: 0.01 }]) {
      const kept = await newDevice(store, limits).answer(asked(options), answer);
      assert.equal(kept.toJson(), first.toJson());
    }
    assert.equal(first.round, await asked().id());
    assert.deepEqual(await rowsOf(store), before);
  });
}

test("two answers at once make one report and one charge", async () => {
  const store = new MemoryStore();
  const reports = await Promise.all(
    Array.from({ length: 20 }, (_, i) => newDevice(store).answer(asked({ number: i }), LABELS[i % 3])),
  );
  assert.equal(new Set(reports.map((report) => report.toJson())).size, 1);
  assert.equal(await newDevice(store).spent(), "1");
});

test("a channel above the cap is refused, and answered under a higher cap", async () => {
  const two = srr(3, "8124353099062", "1099511627776", "2");
  const store = new MemoryStore();
  await refused(() => newDevice(store, { cap: "1.999", total: 9 }).answer(asked({ channel: two }), "tea"), "loss_above_cap");
  assert.deepEqual(await rowsOf(store), []);
  assert.ok(await newDevice(store, { cap: 2, total: 9 }).answer(asked({ channel: two }), "tea"));
  assert.equal(await newDevice(store).spent(), "2");
});

test("the proof is exact: one unit of a weight decides", async () => {
  // e is 2.718281828459045235...
  const just = { ...subset(3, 1), own: "2718281828459045235", other: "1000000000000000000" };
  assert.ok(await newDevice().answer(asked({ channel: just }), "tea"));
  const over = { ...just, own: "2718281828459045236" };
  await refused(() => newDevice().answer(asked({ channel: over }), "tea"), "channel_leaks");
  const most = { ...subset(3, 1, "50"), own: "9".repeat(128), other: "1" };
  await refused(() => new Device(new MemoryStore(), { cap: 50, total: 10 ** 6 }).answer(asked({ channel: most }), "tea"), "channel_leaks");
});

test("the total admits five studies and no sixth", async () => {
  const store = new MemoryStore();
  const device = newDevice(store);
  const first = [];
  for (let i = 0; i < 5; i++) first.push(await device.answer(asked({ study: `s${i}` }), "tea"));
  assert.equal(await device.spent(), "5");
  const tiny = srr(3, "1000000001", "1000000000", "0.000000001");
  for (const channel of [srr(3), tiny]) {
    await refused(() => device.answer(asked({ study: "sixth", channel }), "tea"), "budget_exhausted");
  }
  for (let i = 0; i < 5; i++) assert.deepEqual(await device.answer(asked({ study: `s${i}` }), "coffee"), first[i]);
  assert.equal((await newDevice(store, { cap: 1, total: 6 }).answer(asked({ study: "sixth" }), "tea")).study, "sixth");
});

test("the ledger adds exactly, and a study that tells nothing costs a little", async () => {
  for (const [epsilon, own] of [["0.1", "11"], ["0.3", "13"], ["0.7", "20"]]) {
    const store = new MemoryStore();
    const ten = { "0.1": "1", "0.3": "3", "0.7": "7" }[epsilon];
    const device = new Device(store, { cap: 1, total: ten });
    for (let i = 0; i < 10; i++) await device.answer(asked({ study: `s${i}`, channel: srr(3, own, "10", epsilon) }), "tea");
    assert.equal(await device.spent(), ten); // ten times 0.1 is not 1 in floats
    const nothing = asked({ study: "more", channel: srr(3, "1", "1", "0.000000001") });
    await refused(() => device.answer(nothing, "tea"), "budget_exhausted");
  }
  const store = new MemoryStore();
  await newDevice(store).answer(asked({ channel: srr(3, "1", "1", "0.000000001") }), "tea");
  assert.equal(await newDevice(store).spent(), "0.001");
  const odd = srr(3, "11", "10", "0.1234567890123456789");
  await newDevice(store).answer(asked({ study: "odd", channel: odd }), "tea");
  assert.equal(await newDevice(store).spent(), "0.124456789013");
});

test("an unknown answer costs nothing and is not repeated", async () => {
  const store = new MemoryStore();
  const ages = { type: "question", version: "1", id: "age", text: "How old?", unit: "years", lowest: "0", highest: "110", step: "1" };
  const channel = { type: "channel", version: "1", kind: "binned", k: "2", epsilon: "1", cuts: ["50"], inner: { kind: "dense", rows: [["2", "1"], ["1", "2"]] } };
  const number = Round.fromJson(canonical({ ...roundMessage({ study: "ages" }), question: ages, channel }));
  for (const round of [asked(), number]) {
    for (const answer of ["Marmalade-7f3a", "31415926535", "", "Tea", "tea ", 31.5, 31415926535, 31415926535n, null, undefined, true, ["tea"], { toString: () => "tea" }]) {
      const error = await refused(() => newDevice(store).answer(round, answer), "answer_unknown");
      const told = inspect(error, { depth: 9, showHidden: true }) + error.stack;
      for (const secret of ["Marmalade", "31415926535", "31.5"]) assert.ok(!told.includes(secret), told);
      assert.equal(error.cause, undefined);
    }
  }
  assert.deepEqual(await rowsOf(store), []);
  for (const answer of ["31", "031.0", 31, 31n, -0]) assert.ok(await newDevice().answer(number, answer));
});

test("a refusal is the same for every answer", async () => {
  const full = new MemoryStore();
  await new Device(full, { cap: 1, total: 1 }).answer(asked({ study: "before" }), "tea");
  const two = srr(3, "8124353099062", "1099511627776", "2");
  const refusals = [
    ["loss_above_cap", newDevice(), two],
    ["channel_leaks", newDevice(), srr(3, "3", "1")],
    ["budget_exhausted", new Device(full, { cap: 1, total: 1 }), srr(3)],
  ];
  for (const [code, device, channel] of refusals) {
    const told = new Set();
    for (const label of [...LABELS, "none of them"]) {
      const error = await refused(() => device.answer(asked({ channel }), label), code);
      told.add(error.message);
      assert.ok(!error.message.includes(label));
    }
    assert.equal(told.size, 1);
  }
});

test("the answer is never written", async () => {
  const store = new MemoryStore();
  const secret = "Quincunx-Zephyr-0451";
  for (let i = 0; i < 30; i++) {
    const round = asked({ study: `s${i}`, labels: ["tea", secret, "coffee"], channel: srr(3, "11", "10", "0.1") });
    await newDevice(store).answer(round, secret);
  }
  const text = JSON.stringify(await rowsOf(store));
  assert.ok(text.includes("s29") && !text.includes("Quincunx") && !text.includes("tea"));
  assert.deepEqual(Object.keys((await rowsOf(store))[0]).sort(), ["charge", "head", "report", "study"]);
});

test("kept reports follow the channel, and their ids are all different", async () => {
  const ids = new Set();
  const counts = [0, 0, 0];
  for (let i = 0; i < 3000; i++) {
    const report = await newDevice().answer(asked(), "coffee");
    ids.add(report.id);
    counts[report.value]++;
  }
  assert.equal(ids.size, 3000);
  const [own, other] = [Math.E / (Math.E + 2), 1 / (Math.E + 2)];
  const law = [other, own, other].map((p) => 3000 * p);
  const chiSquare = counts.reduce((sum, count, i) => sum + (count - law[i]) ** 2 / law[i], 0);
  assert.ok(chiSquare < 27.631, `${counts}`); // 2 degrees of freedom, passed once in a million
});

test("limits are finite decimals in range", async () => {
  for (const cap of [NaN, Infinity, true, 0, -1, null, [1], "1e", "0x1", " 1", 50.1, "50.1", 1e-10, "", {}, undefined, "9".repeat(99), "1e+99999999"]) {
    assert.equal((await refused(() => new Device(new MemoryStore(), { cap, total: 5 }), "argument_invalid")).argument, "cap");
  }
  for (const total of [NaN, Infinity, 0, -1, "x", 1_000_001, null]) {
    assert.equal((await refused(() => new Device(new MemoryStore(), { cap: 1, total }), "argument_invalid")).argument, "total");
  }
  for (const cap of [1e-9, "0.000000001", 50, "50", 1.5]) assert.ok(new Device(new MemoryStore(), { cap, total: 1e6 }));
});

test("a store is a store and a round is a round that was read", async () => {
  for (const store of [null, undefined, {}, "path", { transact: 1 }]) {
    await refused(() => new Device(store, LIMITS), "argument_invalid");
  }
  const real = asked();
  const lying = { ...real, channel: { ...real.channel, worst: () => ({ high: 1n, low: 1n }), respond: (x) => x } };
  const forged = Object.assign(Object.create(Round.prototype), { study: "forged", channel: real.channel });
  for (const round of [null, "text", real.text, lying, forged, real.question, new Proxy(real, {})]) {
    for (const call of [(d) => d.answer(round, "tea"), (d) => d.certify(round)]) {
      assert.equal((await refused(() => call(newDevice()), "argument_invalid")).argument, "round");
    }
  }
});

test("a crash at any moment leaves charge and report, or neither", async () => {
  // The store fails before reading, before the decision, before writing, or after it; then it works again.
  for (const moment of ["before", "decided", "written"]) {
    const inner = new MemoryStore();
    let broken = false;
    const store = {
      async transact(decide) {
        if (broken && moment === "before") throw new Error("power");
        let row = null;
        await inner.transact((rows) => {
          row = decide(rows);
          if (row && broken && moment === "decided") throw new Error("power");
          return row;
        });
        if (row && broken && moment === "written") throw new Error("power");
      },
    };
    const device = newDevice(store);
    broken = true;
    await refused(() => device.answer(asked(), "tea"), "store_unusable");
    const rows = await rowsOf(inner);
    assert.equal(rows.length, moment === "written" ? 1 : 0, moment);
    broken = false;
    const report = await device.answer(asked(), "coffee");
    if (moment === "written") assert.equal(report.toJson(), rows[0].report);
    assert.equal(await device.spent(), "1");
    assert.equal((await device.answer(asked(), "neither")).toJson(), report.toJson());
  }
});

test("a store that does not keep its word is found out", async () => {
  const inner = new MemoryStore();
  const bad = {
    "swallows the refusal": { transact: (decide) => inner.transact(decide).catch(() => {}) },
    "asks twice": { transact: async (decide) => { decide([]); decide([]); } },
    "does not ask": { transact: async () => {} },
    "gives nothing": { transact: async (decide) => void decide(undefined) },
    "gives a damaged row": { transact: async (decide) => void decide([{ study: "office", charge: "x", report: "{}", head: null }]) },
  };
  for (const [name, store] of Object.entries(bad)) {
    const round = name.startsWith("swallows") ? asked({ labels: ["a", "b"] }) : asked();
    await refused(() => newDevice(store).answer(round, "z"), "store_unusable", "answer_unknown");
  }
  const good = await newDevice().answer(asked(), "tea");
  const base = { study: "office", charge: "1", report: good.toJson(), head: null };
  for (const damage of [{ study: "other" }, { charge: "-1" }, { charge: 1 }, { head: "x" }, { head: undefined }, { report: null }, { report: `${base.report} ` }]) {
    const store = { transact: async (decide) => void decide([{ ...base, ...damage }]) };
    await refused(() => newDevice(store).answer(asked(), "tea"), "store_unusable");
  }
  await refused(() => newDevice({ transact: async (decide) => void decide([null]) }).spent(), "store_unusable");
});

test("a report waits until a receipt names it", async () => {
  const store = new MemoryStore();
  const device = newDevice(store);
  const report = await device.answer(asked(), "tea");
  const other = await device.answer(asked({ study: "other" }), "tea");
  const wrong = [null, "ok", true, {}, new Receipt({ report: "00".repeat(16), head: HEAD }), { report: report.id, head: HEAD }];
  for (const receipt of wrong) {
    await refused(() => device.confirm(report, receipt), "receipt_mismatch");
    const { receipts, waiting } = await device.flush(async () => receipt);
    assert.equal(receipts.length, 0);
    assert.deepEqual(waiting.map(({ error }) => error.code), ["receipt_mismatch", "receipt_mismatch"]);
  }
  const changed = new Report({ ...report, value: (report.value + 1) % 3 });
  await refused(() => device.confirm(changed, new Receipt({ report: report.id, head: HEAD })), "receipt_mismatch");
  await device.confirm(report, new Receipt({ report: report.id, head: HEAD }));
  assert.deepEqual((await device.pending()).map(({ id }) => id), [other.id]);
  assert.equal((await rowsOf(store)).find((row) => row.study === "office").head, HEAD);
  assert.equal((await device.answer(asked(), "coffee")).toJson(), report.toJson());
  assert.equal(await device.spent(), "2");
});

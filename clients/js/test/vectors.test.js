/** The vectors that every client must pass: the same bytes, ids, certificates, draws and refusals as in Python. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { category, certify, contentId, Device, MemoryStore, parseChannel, Round } from "../tacit-client.js";
import { READERS, vectors } from "./support.js";

const written = (report) => (Array.isArray(report) ? report.map(String) : String(report));
const unwritten = (report) => (Array.isArray(report) ? report.map(Number) : Number(report));

for (const vector of vectors("channels")) {
  test(`channel: ${vector.name}`, async () => {
    const channel = parseChannel(vector.text);
    const certificate = certify(channel);
    assert.equal(await contentId(vector.text), vector.id);
    assert.equal(certificate.ratio, vector.ratio);
    assert.deepEqual([certificate.likely, certificate.unlikely].map(String), [vector.likely, vector.unlikely]);
    assert.deepEqual(written(certificate.report), vector.report);
    assert.equal(certificate.holds, !vector.leaks);
    for (const { report, weights } of vector.likelihood ?? []) {
      assert.deepEqual(weights.map((_, x) => String(channel.weight(unwritten(report), x))), weights);
    }
    for (const draw of vector.draws) {
      const [bounds, values] = [[...draw.bounds], [...draw.values]];
      const random = (bound) => {
        assert.equal(String(bound), bounds.shift());
        return BigInt(values.shift());
      };
      assert.deepEqual(written(channel._draw(Number(draw.answer), random)), draw.report);
      assert.equal(bounds.length, 0);
    }
  });
}

test("the loss is the logarithm of the ratio, rounded up", () => {
  for (const vector of vectors("channels")) {
    const [high, low] = vector.ratio.split("/").map(Number);
    const { loss, within } = certify(parseChannel(vector.text));
    const exact = high / low < 1.5 ? Math.log1p((high - low) / low) : Math.log(high / low);
    assert.ok(loss >= exact - 1e-13 && loss <= exact + 3e-12, `${vector.name}: ${loss} for ${exact}`);
    assert.ok(within(BigInt(Math.round(loss * 1e12)) * 10n ** 28n), `${vector.name}: the bound is proved`);
  }
});

for (const vector of vectors("messages")) {
  test(`message: ${vector.name}`, async () => {
    const bytes = new TextEncoder().encode(vector.text);
    for (const message of [READERS[vector.type](vector.text), READERS[vector.type](bytes)]) {
      if (vector.type === "round") assert.deepEqual([await message.id(), message.text], [vector.id, vector.text]);
      if (vector.type === "report" || vector.type === "receipt") assert.equal(message.toJson(), vector.text);
      assert.ok(Object.isFrozen(message));
    }
  });
}

/** The cell into which a device puts an answer; a channel alone is asked through a question as fine as can be. */
function cellOf(vector) {
  if (vector.type === "round") return category(Round.fromJson(vector.text), vector.answer);
  const channel = parseChannel(vector.text);
  const plain = { type: "question", version: "1", id: "q", text: "q", unit: "u" };
  const question = READERS.question(JSON.stringify(
    { highest: "9".repeat(40), id: "q", lowest: `-${"9".repeat(39)}`, step: `0.${"0".repeat(37)}1`, text: "q", ...plain },
    ["highest", "id", "lowest", "step", "text", "type", "unit", "version"],
  ));
  return channel.cell(question.number(vector.answer));
}

for (const vector of vectors("answers")) {
  test(`answer: ${vector.name}`, async () => {
    if (vector.code) {
      assert.throws(() => cellOf(vector), { code: vector.code });
      return;
    }
    assert.equal(String(cellOf(vector)), vector.cell);
    if (vector.type === "round") {
      const device = new Device(new MemoryStore(), { cap: "50", total: "50" });
      const report = await device.answer(Round.fromJson(vector.text), vector.answer);
      assert.equal(report.study, Round.fromJson(vector.text).study);
    }
  });
}

for (const vector of vectors("refused")) {
  test(`refused: ${vector.name}`, () => {
    const bytes = vector.hex && Uint8Array.from(vector.hex.match(/../g), (byte) => parseInt(byte, 16));
    const text = vector.hex ? bytes : vector.text.repeat(vector.times ?? 1);
    assert.throws(() => READERS[vector.type](text), { code: vector.code });
    if (!vector.hex) assert.throws(() => READERS[vector.type](new TextEncoder().encode(text)), { code: vector.code });
  });
}

test("a device refuses every channel that leaks, whatever its cap", async () => {
  for (const vector of vectors("channels").filter(({ leaks }) => leaks)) {
    const channel = JSON.parse(vector.text);
    const k = Number(channel.k);
    const labels = { labels: Array.from({ length: k }, (_, i) => `label ${i}`) };
    const number = { unit: "u", lowest: "0", highest: "1", step: "0.5" };
    const { canonical } = await import("./support.js");
    const text = canonical({
      type: "round", version: "1", study: "s", number: "0", previous: null, channel,
      question: { type: "question", version: "1", id: "q", text: "q", ...(channel.kind === "binned" ? number : labels) },
    });
    const device = new Device(new MemoryStore(), { cap: 50, total: 50 });
    const answer = channel.kind === "binned" ? "0" : "label 0";
    await assert.rejects(device.answer(Round.fromJson(text), answer), { code: "channel_leaks" }, vector.name);
    assert.equal(await device.spent(), "0");
  }
});

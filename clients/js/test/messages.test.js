/** A message is accepted only when its canonical encoding is the bytes that came, and nothing in it is more than data. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { certify, parseChannel, Question, Report, Round } from "../tacit-client.js";
import { asked, canonical, HEAD, LABELS, question, READERS, refused, roundMessage, srr, subset } from "./support.js";

const SRR = canonical(srr(3));

const NOT_CANONICAL = [
  '{"a":"1","a":"1"}', '{"a":"1","\\u0061":"2"}', '{"a":{"b":"1","b":"1"}}', '{"a": "1"}', ' {"a":"1"}', '{"a":"1"}\n',
  '{"a":["1", "2"]}', '{"b":"1","a":"2"}', '{"a":{"z":"1","y":"2"}}', '{"a":"\\u0041"}', '{"a":"\\/"}', '{"a":"\\u00e9"}',
  '{"a":"\\u001F"}', '{"a":"\\u000a"}', '{"a":"\\u202e"}', '{"a":"\\ud83d\\ude00"}', '{"a":true,"a":"1"}',
  '{"10":"a","9":"b","1":"c"}', '{"\u{1F600}":"1","\uffee":"2"}', '{"__proto__":"1","a":"2","__proto__":"1"}',
];
const MALFORMED = [
  '{"a":NaN}', '{"a":1e999}', '{"a":1}', '{"a":-0}', '{"a":1.5}', '{"a":[1]}', `{"a":${"9".repeat(100_000)}}`, '{"a":1,"a":"1"}',
  '{"a":true}', '{"a":["x",false]}', "7", "[]", '["a"]', '"a"', "null", "true", "", " ", "{", '{"a":"1"', '{"a":"1"}x', '{"a":"1",}',
  "{'a':'1'}", '{a:"1"}', '{"a":"\n"}', '{"a":"\x00"}', '{"a":"\\x41"}', '{"a":"\\u12"}', '{"a":"\\ud800"}', '{"a":"\\udc00\\ud800"}',
  '{"\\udfff":"1"}', '{"a":"\ud800"}', '\ufeff{"a":"1"}', "\ud800",
];
const BYTES = ["efbbbf7b7d", "7b2261223a22ff227d", "7b2261223a22c0af227d", "7b2261223a22eda080227d", "7b2261223a22f4908080227d", "7b00"];

for (const [code, texts] of [["message_not_canonical", NOT_CANONICAL], ["message_malformed", MALFORMED]]) {
  for (const text of texts) {
    test(`${code}: ${JSON.stringify(text).slice(0, 50)}`, async () => {
      await refused(() => parseChannel(text), code);
      if (!/\p{Cs}/u.test(text)) await refused(() => parseChannel(new TextEncoder().encode(text)), code);
    });
  }
}

test("bytes that are no UTF-8, and what is no text at all", async () => {
  for (const hex of BYTES) await refused(() => parseChannel(Buffer.from(hex, "hex")), "message_malformed");
  for (const bad of [null, undefined, 3, {}, [], new ArrayBuffer(3), { length: 3 }]) {
    await refused(() => parseChannel(bad), "argument_invalid");
  }
});

test("keys are sorted by code point, not by UTF-16 unit", async () => {
  // U+1F600 is a pair of surrogates, which as units come before U+FFEE.
  await refused(() => parseChannel('{"\uffee":"2","\u{1F600}":"1"}'), "field_missing");
});

test("size is checked before anything is parsed", async () => {
  for (const text of ["[".repeat(2 ** 20 + 1), "\u{1F375}".repeat(2 ** 18 + 1), `{"a":"${"é".repeat(2 ** 19)}"}`]) {
    await refused(() => parseChannel(text), "message_too_large");
    await refused(() => parseChannel(new TextEncoder().encode(text)), "message_too_large");
  }
});

const DEPTH = 2 ** 17;
const HEAVY = {
  "open lists": "[".repeat(2 ** 20),
  "closed lists": `{"a":${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}}`,
  objects: `${'{"a":'.repeat(DEPTH)}"1"${"}".repeat(DEPTH)}`,
  "a long string": `{"a":"${"x".repeat(2 ** 20 - 8)}"}`,
  "escapes only": `{"a":"${"\\\\".repeat(2 ** 19 - 8)}"}`,
  "an open string of escapes": `{"a":"${"\\\\".repeat(2 ** 19 - 8)}`,
  quotes: `["${'","'.repeat(2 ** 18)}"]`,
  "a long number": `{"a":${"9".repeat(2 ** 20 - 8)}}`,
  "a long string of digits": SRR.replace('"k":"3"', `"k":"${"9".repeat(2 ** 20 - 300)}"`),
  "a long epsilon": SRR.replace('"epsilon":"1"', `"epsilon":"0.${"1".repeat(2 ** 20 - 300)}"`),
  "many keys": `{${Array.from({ length: 60_000 }, (_, i) => `"k${100_000 + i}":null`).join(",")}}`,
  "keys with a long common start": `{${Array.from({ length: 500 }, (_, i) => `"${"k".repeat(2000)}${1000 + i}":null`).join(",")}}`,
  "spaces": " ".repeat(2 ** 20),
  "a label of spaces": canonical(question(["a", " ".repeat(2 ** 20 - 200)])),
};
for (const [name, text] of Object.entries(HEAVY)) {
  test(`one mebibyte of ${name} is refused in two seconds of work`, async () => {
    const start = process.cpuUsage(); // a busy machine makes no test fail
    for (const read of [parseChannel, Question.fromJson]) {
      await refused(() => read(text), "message_malformed", "message_not_canonical", "field_missing", "field_invalid");
    }
    const { user, system } = process.cpuUsage(start);
    assert.ok(user + system < 2e6, `${user + system} microseconds`);
  });
}

test("the largest weights and counts are certified in a second of work", () => {
  const nines = "9".repeat(128);
  const start = process.cpuUsage();
  const heavy = srr(2 ** 21, nines, "1", "50");
  const certificate = certify(parseChannel(canonical(heavy)));
  assert.equal(certificate.holds, false);
  assert.ok(Math.abs(certificate.loss - 128 * Math.log(10)) < 1e-9, "ln of 10^128");
  assert.ok(certify(parseChannel(canonical(srr(2, nines, nines)))).loss === 0);
  const rows = Array.from({ length: 40 }, () => Array.from({ length: 80 }, () => nines));
  const dense = { ...srr(80), kind: "dense", rows };
  for (const field of ["subset", "inside", "outside"]) delete dense[field];
  assert.equal(certify(parseChannel(canonical(dense))).ratio, "1/1");
  assert.ok(process.cpuUsage(start).user < 1e6);
});

test("names of JavaScript's own objects are data like any other", async () => {
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"]) {
    const channel = JSON.parse(`{"${name}":"1"}`);
    await refused(() => parseChannel(canonical({ ...srr(3), ...channel, [name]: undefined, ["x" + name]: "1" })), "field_unknown");
    await refused(() => parseChannel(SRR.replace('"kind":"blocks"', `"kind":"${name}"`)), "field_invalid");
    await refused(() => parseChannel(`{"${name}":{"type":"channel","version":"1"}}`), "field_missing");
    const round = asked({ labels: [name, "coffee", "tea"] });
    assert.deepEqual([...round.question.labels], [name, "coffee", "tea"]);
  }
  // As first key it sorts before all others, so the text is canonical: it is refused for what it is, an unknown field.
  await refused(() => parseChannel(`{"__proto__":"x",${SRR.slice(1)}`), "field_unknown");
  assert.equal(asked({ study: "constructor" }).study, "constructor");
});

test("a polluted prototype adds no field", async () => {
  const polluted = { keep: ["0"], type: "channel", version: "1", kind: "blocks", k: "3" };
  for (const [field, value] of Object.entries(polluted)) {
    Object.defineProperty(Object.prototype, field, { value, configurable: true, enumerable: false, writable: true });
  }
  try {
    assert.equal(parseChannel(canonical(subset(5, 2))).keep, null);
    await refused(() => parseChannel("{}"), "field_missing");
    await refused(() => parseChannel('{"type":"channel","version":"1"}'), "field_missing");
  } finally {
    for (const field of Object.keys(polluted)) delete Object.prototype[field];
  }
});

test("nothing in a round can change after it was read", () => {
  const round = asked({ channel: srr(3) });
  const all = [round, round.question, round.question.labels, round.channel, round.channel.outside, round.channel.inside, round.channel.subset];
  const kinds = [round.channel, parseChannel(canonical(subset(5, 2)))];
  all.push(...kinds, ...kinds.map(Object.getPrototypeOf), Object.getPrototypeOf(Object.getPrototypeOf(round.channel)));
  for (const part of all) assert.ok(Object.isFrozen(part));
  for (const change of [
    () => (round.channel = null),
    () => (round.channel.total = 1n),
    () => (round.channel.outside[0] = 10n ** 100n),
    () => round.question.labels.push("more"),
    () => (round.study = "other"),
    () => (Object.getPrototypeOf(round.channel)._draw = () => 0),
  ]) {
    assert.throws(change, TypeError);
  }
});

test("the id of a round is the hash of its bytes, and changes with them", async () => {
  const ids = new Set();
  const changes = [{}, { study: "Office" }, { number: 1 }, { text: "Which?" }, { labels: ["coffee", "tea", "neither"] }, { channel: subset(3, 1) }];
  for (const change of changes) {
    const text = canonical(roundMessage(change));
    const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    const id = await Round.fromJson(text).id();
    assert.equal(id, Buffer.from(bytes).toString("hex"));
    ids.add(id);
  }
  assert.equal(ids.size, changes.length);
});

test("labels are distinct to the eye", async () => {
  const bad = [
    ["tea"], ["tea", "tea"], ["tea", ""], ["tea", " "], ["tea", "\u00a0\u3000"], ["tea", "x".repeat(201)], ["tea", "t\u200dea"],
    ["tea", "\uff54ea"], ["a b", "a \u00a0b"], ["tea", "caf\u0065\u0301"], ["tea", "\u3164"], ["tea", "\u2800"], ["tea", "\ufe0f"],
    ...["\x07", "\n", "\x85", "\u2028", "\u202e", "\u2066", "\u200e", "\u061c", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u{E0041}", "\ue000"]
      .flatMap((c) => [["tea", `te${c}x`], ["tea", `${c}x`], ["tea", `x${c}`]]),
  ];
  for (const labels of bad) await refused(() => Question.fromJson(canonical(question(labels))), "field_invalid");
  for (const labels of [["tea", "\u{1F375}".repeat(200)], ["نمی\u200cخواهم", "بله"], ["\u{1F468}\u200d\u{1F469}", "été"]]) {
    assert.deepEqual([...Question.fromJson(canonical(question(labels))).labels], labels);
  }
  await refused(() => Question.fromJson(canonical(question(LABELS, "x".repeat(2001)))), "field_invalid");
  assert.equal(Question.fromJson(canonical(question(LABELS, "\u{1F375}".repeat(2000)))).text.length, 4000);
});

test("names are plain, numbers have one spelling, reports are small integers", async () => {
  for (const study of ["", ".a", "-a", "a b", "a/b", "a\n", "é", "a".repeat(65), "ａ", "../x"]) {
    await refused(() => asked({ study }), "field_invalid");
  }
  const report = { type: "report", version: "1", id: "0f".repeat(16), study: "office", round: HEAD, value: "1" };
  assert.equal(Report.fromJson(canonical(report)).toJson(), canonical(report));
  for (const value of ["01", "-1", "1.0", "2147483649", "", null, {}, [["1"]], ["1", null], "٣"]) {
    await refused(() => Report.fromJson(canonical({ ...report, value })), "field_invalid");
  }
  for (const value of [1.5, -1, NaN, "1", 2 ** 31 + 1, [1, NaN]]) {
    await refused(() => new Report({ ...report, value }), "argument_invalid");
  }
});

test("one message is not taken for another, and no other version is read", async () => {
  const texts = { channel: SRR, question: canonical(question()), round: canonical(roundMessage()) };
  for (const [kind, text] of Object.entries(texts)) {
    for (const other of Object.keys(READERS)) {
      if (other !== kind) assert.equal((await refused(() => READERS[other](text), "field_invalid")).argument, "type");
    }
    await refused(() => READERS[kind](text.replace(/"version":"1"}$/, '"version":"2"}')), "version_unknown");
  }
});

test("a refusal is printed in visible ASCII and bounded length", async () => {
  const error = await refused(() => asked({ study: `\u202e\u0007"${"x".repeat(5000)}` }), "field_invalid");
  assert.match(error.message, /^[ -~]{1,300}$/);
});

test("weights that favour a lie over the answer are refused", async () => {
  await refused(() => parseChannel(canonical(srr(3, "1", "2"))), "channel_weights");
  await refused(() => parseChannel(canonical({ ...srr(3), subset: ["0", "1"], inside: ["1", "2", "2"], outside: ["1", "2", "0"] })), "channel_weights");
  await refused(() => parseChannel(canonical({ ...subset(5, 2), own: "1", other: "2" })), "channel_weights");
});

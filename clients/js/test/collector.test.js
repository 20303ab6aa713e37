/** Reports travel unchanged until a receipt names them; what is final is told apart from what is not. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { Collector, CollectorError, Device, MemoryStore, Receipt } from "../tacit-client.js";
import { asked, canonical, HEAD, refused, roundMessage } from "./support.js";

let server;
let url;
let answer; // (request, body, response) => void
before(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => answer(request, body, response));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${server.address().port}/`;
});
after(() => (server.closeAllConnections(), server.close()));

const newDevice = () => new Device(new MemoryStore(), { cap: 1, total: 5 });
const receiptFor = (body) => new Receipt({ report: JSON.parse(body).id, head: HEAD }).toJson();
const problem = (status, code, headers = {}) => (_, __, response) => {
  response.writeHead(status, { "Content-Type": "application/problem+json", ...headers });
  response.end(JSON.stringify({ type: `urn:tacit:error:${code}`, title: code, status, code, detail: `no \u202e ${code}`, hint: "wait" }));
};
const page = (status) => (_, __, response) => {
  response.writeHead(status, { "Content-Type": "text/html" });
  response.end("<html>Log in to this network</html>");
};
const accept = (_, body, response) => {
  response.writeHead(201);
  response.end(receiptFor(body));
};

test("a round is asked for by its study, and only that study's is taken", async () => {
  const collector = new Collector(url);
  const asks = [];
  answer = (request, _, response) => {
    asks.push([request.method, request.url, request.headers.cookie, request.headers.referer]);
    response.end(canonical(roundMessage()));
  };
  const round = await collector.round("office");
  assert.equal(round.text, asked().text);
  assert.deepEqual(asks, [["GET", "/v1/studies/office/round", undefined, undefined]]);
  await refused(() => collector.round("other-study"), "field_invalid");
  for (const bad of ["../x", "a/b", "", "a?b", null, ".."]) await refused(() => collector.round(bad), "field_invalid");
  assert.equal(asks.length, 2);
});

test("a round that is none, or too long, or with a byte order mark is refused", async () => {
  const collector = new Collector(url);
  const bodies = { "<html>": "message_malformed", "": "message_malformed", [`\ufeff${asked().text}`]: "message_malformed", [` ${asked().text}`]: "message_not_canonical" };
  for (const [text, code] of Object.entries(bodies)) {
    answer = (_, __, response) => response.end(text);
    await refused(() => collector.round("office"), code);
  }
  let sent = 0;
  answer = (_, __, response) => {
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(65_536))) sent += 65_536;
      if (!response.destroyed && sent < 2 ** 28) response.once("drain", more);
    };
    more();
  };
  await refused(() => collector.round("office"), "message_too_large");
  assert.ok(sent < 2 ** 27, `${sent} bytes were sent before it stopped listening`);
});

test("a report travels as its bytes, with the token where there is one", async () => {
  const device = newDevice();
  const report = await device.answer(asked(), "tea");
  const seen = [];
  answer = (request, body, response) => {
    seen.push([request.method, request.url, body, request.headers["tacit-invite"]]);
    accept(request, body, response);
  };
  const collector = new Collector(url);
  const { receipts } = await device.flush((pending) => collector.send(pending, { invite: "token-1" }));
  assert.deepEqual(receipts, [new Receipt({ report: report.id, head: HEAD })]);
  assert.deepEqual(seen, [["POST", "/v1/studies/office/reports", report.toJson(), "token-1"]]);
  assert.deepEqual([await device.pending(), await device.seen("office"), await device.seen("other")], [[], [report.round, HEAD], []]);
  answer = (request, _, response) => (seen.push([request.method, request.url]), response.writeHead(204).end());
  await collector.erase(report);
  assert.deepEqual(seen[1], ["DELETE", `/v1/studies/office/reports/${report.id}`]);
});

const FINAL = [[400, "message_malformed"], [401, "key_wrong"], [403, "invite_used"], [404, "round_unknown"], [409, "report_conflict"], [410, "report_erased"], [413, "message_too_large"], [422, "report_impossible"]];
for (const [status, code] of FINAL) {
  test(`final: ${status} ${code}`, async () => {
    const device = newDevice();
    const report = await device.answer(asked(), "tea");
    let count = 0;
    answer = (...all) => (count++, problem(status, code)(...all));
    const collector = new Collector(url);
    const { receipts, waiting } = await device.deliver((pending) => collector.send(pending), { wait: () => assert.fail("it waits") });
    assert.deepEqual([receipts.length, count, waiting[0].error.code, waiting[0].error.final], [0, 1, code, true]);
    assert.match(waiting[0].error.message, /^[ -~]+$/);
    assert.deepEqual((await device.pending()).map(({ id }) => id), [report.id], "the report is kept");
  });
}

test("what is not final is sent again, unchanged, until a receipt names it", async () => {
  const device = newDevice();
  const report = await device.answer(asked(), "tea");
  const other = (_, __, response) => response.end(new Receipt({ report: "00".repeat(16), head: HEAD }).toJson());
  const cut = (request) => request.socket.destroy();
  const half = (_, body, response) => (response.writeHead(201, { "Content-Length": "999" }), response.write(receiptFor(body).slice(0, 9)), setTimeout(() => response.destroy(), 5));
  const away = (_, __, response) => response.writeHead(307, { Location: `${url}elsewhere` }).end();
  const script = [problem(503, "store_unusable"), problem(429, "rate_limited", { "Retry-After": "7" }), page(403), page(200), page(409), cut, half, other, away, problem(500, "x"), problem(408, "slow"), accept];
  const [bodies, waits] = [[], []];
  answer = (request, body, response) => {
    assert.notEqual(request.url, "/elsewhere");
    bodies.push(body);
    script[bodies.length - 1](request, body, response);
  };
  const collector = new Collector(url);
  const { receipts, waiting } = await device.deliver((pending) => collector.send(pending), { first: 8, most: 64, wait: async (time) => void waits.push(time) });
  assert.deepEqual([receipts.length, waiting.length], [1, 0]);
  assert.deepEqual(new Set(bodies), new Set([report.toJson()]));
  assert.equal(bodies.length, script.length);
  assert.equal(waits[1], 7000, "no less than Retry-After");
  for (const [turn, time] of waits.entries()) {
    const longest = Math.min(64, 8 * 2 ** turn);
    if (turn !== 1) assert.ok(time >= longest / 2 && time <= longest, `${time} in turn ${turn}`);
  }
});

test("a final refusal of one report does not stop the others", async () => {
  const device = newDevice();
  for (const study of ["a", "b", "c"]) await device.answer(asked({ study }), "tea");
  const sent = [];
  answer = (request, body, response) => {
    const { study } = JSON.parse(body);
    sent.push(study);
    if (study === "a") problem(409, "report_conflict")(request, body, response);
    else if (study === "b" && sent.length < 6) problem(503, "store_unusable")(request, body, response);
    else accept(request, body, response);
  };
  const collector = new Collector(url);
  const { receipts, waiting } = await device.deliver((pending) => collector.send(pending), { wait: async () => {} });
  assert.equal(receipts.length, 2);
  assert.deepEqual(waiting.map(({ report, error }) => [report.study, error.code]), [["a", "report_conflict"]]);
  assert.equal(sent.filter((study) => study === "a").length, 1);
});

test("waiting ends when it is called off, and absurd waits are cut", async () => {
  const device = newDevice();
  await device.answer(asked(), "tea");
  answer = problem(503, "store_unusable", { "Retry-After": "99999999999" });
  const collector = new Collector(url);
  const error = await refused(() => collector.send({ study: "office", toJson: () => "{}" }), "store_unusable");
  assert.deepEqual([error instanceof CollectorError, error.final, error.status, error.retryAfter], [true, false, 503, 3_600_000]);
  const abort = new AbortController();
  const delivery = device.deliver((pending) => collector.send(pending), { signal: abort.signal });
  setTimeout(() => abort.abort(), 50);
  const { waiting } = await delivery;
  assert.equal(waiting[0].error.code, "store_unusable");
  for (const header of ["Wed, 21 Oct 2099 07:28:00 GMT", "-5", "NaN", "1e999", ""]) {
    answer = problem(429, "rate_limited", { "Retry-After": header });
    const { retryAfter } = await refused(() => collector.send({ study: "office", toJson: () => "{}" }), "rate_limited");
    assert.ok(retryAfter >= 0 && retryAfter <= 3_600_000);
  }
});

test("a collector that hangs is given up after a time", async () => {
  answer = () => {};
  const error = await refused(() => new Collector(url, { timeout: 50 }).round("office"), "server_unreachable");
  assert.equal(error.final, false);
  await refused(() => new Collector("http://127.0.0.1:1").round("office"), "server_unreachable");
});

test("a poll is what the collector says, when it is JSON", async () => {
  const told = { title: "Two questions", studies: ["tea", "ages"], epsilon: 2 };
  answer = (request, _, response) => response.end(request.url === "/v1/polls/two" ? JSON.stringify(told) : "");
  assert.deepEqual(await new Collector(url).poll("two"), told);
  for (const text of ["", "<html>", "\ufeff{}", "[".repeat(2 ** 21)]) {
    answer = (_, __, response) => response.end(text);
    await refused(() => new Collector(url).poll("two"), "server_unreachable", "message_too_large");
  }
});

test("an address is https, or of this machine", async () => {
  const bad = ["http://poll.example.org", "ftp://x.org", "https://u@x.org", "https://x.org/?a", "https://x.org/#a", "", "/v1", "javascript:0", "http://127.0.0.1.x.org", "http://localhost.x.org", null];
  for (const address of bad) assert.equal((await refused(() => new Collector(address), "argument_invalid")).argument, "url");
  for (const address of ["https://poll.example.org", "https://x.org/base/", new URL("http://localhost:8"), "http://[::1]:8"]) assert.ok(new Collector(address));
});

test("codes and words of a collector cannot be more than codes and words", async () => {
  for (const document of ['{"code":"<script>"}', '{"code":["x"]}', "null", "[]", '{"code":"__proto__"}', `{"code":"x","detail":"${"<b>".repeat(1000)}"}`, '{"code":"x","detail":{},"hint":[]}']) {
    answer = (_, __, response) => response.writeHead(422, { "Content-Type": "application/problem+json; charset=utf-8" }).end(document);
    const error = await refused(() => new Collector(url).round("office"), "server_unreachable", "x");
    assert.ok(error.message.length < 300);
    assert.equal(error.final, error.code === "x");
  }
});

test("a receipt for another report is none", async () => {
  const device = newDevice();
  const report = await device.answer(asked(), "tea");
  answer = (_, __, response) => response.end(new Receipt({ report: "0".repeat(32), head: HEAD }).toJson());
  await refused(() => new Collector(url).send(report), "receipt_mismatch");
  assert.equal((await device.pending()).length, 1);
});

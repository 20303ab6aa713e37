/** One contract for every store that Node can run; those of browsers are tested in tests/browser/test_js_stores.py. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FileStore } from "../file-store.js";
import { Device, IndexedDbStore, LocalStore, MemoryStore, openStore, Receipt } from "../tacit-client.js";
import { asked, HEAD, refused, srr } from "./support.js";

const folder = mkdtempSync(join(tmpdir(), "tacit-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newPath = () => join(folder, `store-${files++}`);

/** What localStorage does: strings by key, and an error when it is full. */
class FakeStorage {
  constructor(quota = Infinity) {
    this.entries = new Map();
    this.quota = quota;
  }
  getItem(key) {
    return this.entries.get(key) ?? null;
  }
  setItem(key, text) {
    if (text.length > this.quota) throw new DOMException("full", "QuotaExceededError");
    this.entries.set(key, text);
  }
}

/** What Web Locks do: one holder of a name at a time, the others in order. */
class FakeLocks {
  #last = Promise.resolve();
  request(name, work) {
    const turn = this.#last.then(() => work({ name }));
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** For each kind: a function that opens the same store again. */
const KINDS = {
  memory: () => {
    const store = new MemoryStore();
    return () => store;
  },
  local: () => {
    const options = { storage: new FakeStorage(), locks: new FakeLocks() };
    return () => new LocalStore("tacit", options);
  },
  file: () => {
    const path = newPath();
    return () => new FileStore(path);
  },
  "a given object": () => {
    let rows = [];
    const transact = async (decide) => {
      const row = decide(rows.map((kept) => ({ ...kept })));
      if (row) rows = [...rows.filter(({ study }) => study !== row.study), row];
    };
    return () => ({ transact });
  },
};
const row = (study, charge = "1") => ({ study, charge, report: "text", head: null });

for (const [kind, make] of Object.entries(KINDS)) {
  test(`${kind}: rows are kept, replaced by study, and read back`, async () => {
    const open = make();
    const seen = async () => {
      let found;
      await open().transact((rows) => ((found = rows.map((kept) => ({ ...kept }))), null));
      return found.sort((a, b) => (a.study < b.study ? -1 : 1));
    };
    assert.deepEqual(await seen(), []);
    for (const study of ["b", "a", "constructor"]) await open().transact(() => row(study));
    await open().transact((rows) => ({ ...rows.find(({ study }) => study === "a"), head: HEAD }));
    assert.deepEqual(await seen(), [{ ...row("a"), head: HEAD }, row("b"), row("constructor")]);
  });

  test(`${kind}: an error in the decision writes nothing and comes out`, async () => {
    const open = make();
    await open().transact(() => row("a"));
    await assert.rejects(open().transact(() => { throw new RangeError("no"); }), /no/);
    let found;
    await open().transact((rows) => ((found = rows.map(({ study }) => study)), null));
    assert.deepEqual(found, ["a"]);
  });

  test(`${kind}: transactions do not overlap`, async () => {
    const open = make();
    const add = () => open().transact((rows) => row("a", String(Number(rows[0]?.charge ?? 0) + 1)));
    await Promise.all(Array.from({ length: 40 }, add));
    await open().transact(([only]) => (assert.equal(only.charge, "40"), null));
  });

  test(`${kind}: a device answers once, and confirms`, async () => {
    const open = make();
    const device = () => new Device(open(), { cap: 1, total: 2 });
    const reports = await Promise.all(["tea", "coffee", "tea"].map((answer) => device().answer(asked(), answer)));
    assert.equal(new Set(reports.map((report) => report.toJson())).size, 1);
    await device().answer(asked({ study: "second" }), "tea");
    await refused(() => device().answer(asked({ study: "third" }), "tea"), "budget_exhausted");
    await device().confirm(reports[0], new Receipt({ report: reports[0].id, head: HEAD }));
    assert.deepEqual((await device().pending()).map(({ study }) => study), ["second"]);
    assert.equal(await device().spent(), "2");
  });
}

test("local: rows are read and written under the lock of their name", async () => {
  let held = null;
  const touched = [];
  const locks = {
    async request(name, work) {
      held = name;
      await work();
      held = null;
    },
  };
  const storage = { getItem: () => (touched.push(["read", held]), null), setItem: () => void touched.push(["written", held]) };
  await new LocalStore("mine", { storage, locks }).transact(() => (touched.push(["decided", held]), row("a")));
  assert.deepEqual(touched, ["read", "decided", "written"].map((step) => [step, "tacit-store:mine"]));
});

test("local: a full storage refuses, and keeps what it has", async () => {
  const storage = new FakeStorage(450);
  const device = new Device(new LocalStore("tacit", { storage, locks: new FakeLocks() }), { cap: 1, total: 9 });
  const first = await device.answer(asked(), "tea");
  await refused(() => device.answer(asked({ study: "second" }), "tea"), "store_unusable");
  assert.equal((await device.answer(asked(), "coffee")).toJson(), first.toJson());
  assert.equal(await device.spent(), "1");
});

test("local: what is damaged, or of a later version, is never taken for empty", async () => {
  const kept = { "": "store_unusable", "{": "store_unusable", "null": "store_unusable", "[]": "store_unusable", '{"rows":[]}': "store_unusable" };
  for (const [text, code] of Object.entries({ ...kept, '{"version":"1","rows":{}}': "store_unusable", '{"version":"2","rows":[]}': "version_unknown" })) {
    const storage = new FakeStorage();
    storage.setItem("tacit-store:tacit", text);
    const device = new Device(new LocalStore("tacit", { storage, locks: new FakeLocks() }), { cap: 1, total: 9 });
    await refused(() => device.answer(asked(), "tea"), code);
    assert.equal(storage.getItem("tacit-store:tacit"), text);
  }
});

test("local: without Web Locks only an application with one page is served", async () => {
  const storage = new FakeStorage();
  await refused(() => new LocalStore("tacit", { storage, locks: undefined, onePage: false }), "store_unusable");
  const device = new Device(new LocalStore("tacit", { storage, onePage: true, locks: undefined }), { cap: 1, total: 9 });
  assert.equal((await device.answer(asked(), "tea")).study, "office");
});

test("where there is no storage at all the refusal says so", async () => {
  await refused(() => openStore(), "store_unusable");
  await refused(() => new Device(new LocalStore("x", { onePage: true }), { cap: 1, total: 9 }).answer(asked(), "tea"), "store_unusable");
  await refused(() => new Device(new IndexedDbStore(), { cap: 1, total: 9 }).answer(asked(), "tea"), "store_unusable");
  for (const name of ["", "a b", "../x", null, "x".repeat(65)]) await refused(() => new IndexedDbStore(name), "field_invalid");
});

test("file: only its owner reads it, and nothing else stays in the folder", async () => {
  const path = join(mkdtempSync(join(folder, "own-")), "store");
  await new Device(new FileStore(path), { cap: 1, total: 9 }).answer(asked(), "tea");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(path, "..")), ["store"]);
  assert.ok(!readFileSync(path, "utf8").includes("tea"));
});

test("file: one that vanished, is damaged or held is not replaced", async () => {
  const path = newPath();
  const device = new Device(new FileStore(path, { patience: 50 }), { cap: 1, total: 9 });
  await device.answer(asked(), "tea");
  writeFileSync(`${path}.lock`, "");
  const error = await refused(() => device.answer(asked({ study: "second" }), "tea"), "store_unusable");
  assert.ok(error.message.includes(".lock"));
  rmSync(`${path}.lock`);
  rmSync(path);
  await refused(() => device.answer(asked(), "tea"), "store_unusable");
  writeFileSync(path, "something else");
  await refused(() => device.answer(asked(), "tea"), "store_unusable");
  assert.equal(readFileSync(path, "utf8"), "something else");
  await refused(() => new FileStore(join(folder, "no", "such", "folder")), "store_unusable");
});

const WORKER = `
  import { Device } from ${JSON.stringify(new URL("../tacit-client.js", import.meta.url).href)};
  import { FileStore } from ${JSON.stringify(new URL("../file-store.js", import.meta.url).href)};
  import { asked, LABELS } from ${JSON.stringify(new URL("./support.js", import.meta.url).href)};
  const device = new Device(new FileStore(process.argv[1]), { cap: 1, total: 3 });
  for (let i = 0; i < 6; i++) {
    const report = await device.answer(asked({ study: "s" + i }), LABELS[i % 3]).catch((error) => error);
    console.log(report.code ?? report.toJson());
  }`;

test("file: several processes at once give one report a study and keep to the total", async () => {
  const path = newPath();
  const outputs = await Promise.all(Array.from({ length: 3 }, () => new Promise((resolve, reject) => {
    const worker = spawn(process.execPath, ["--input-type=module", "-e", WORKER, path], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    worker.stdout.on("data", (part) => (text += part));
    worker.on("error", reject);
    worker.on("close", () => resolve(text.trim().split("\n")));
  })));
  for (let i = 0; i < 6; i++) assert.equal(new Set(outputs.map((lines) => lines[i])).size, 1, JSON.stringify(outputs));
  assert.equal(outputs[0].filter((line) => line === "budget_exhausted").length, 3);
});

test("file: killed at any time, what was given out is kept", async () => {
  const path = newPath();
  const endless = WORKER.replace("total: 3", "total: 100000").replace("i < 6", "i < 1e6").replace('asked({ study: "s" + i })', `asked({ study: "s" + i, channel: ${JSON.stringify(srr(3, "11", "10", "0.1"))} })`);
  for (let turn = 0; turn < 3; turn++) {
    const worker = spawn(process.execPath, ["--input-type=module", "-e", endless, path], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    await new Promise((resolve) => {
      worker.stdout.on("data", (part) => {
        text += part;
        if (text.split("\n").length > 20 * (turn + 1)) worker.kill("SIGKILL");
      });
      worker.on("close", resolve);
    });
    rmSync(`${path}.lock`, { force: true }); // the owner has seen that the program is dead
    const device = new Device(new FileStore(path), { cap: 1, total: 100_000 });
    const given = text.split("\n").slice(0, -1);
    assert.ok(given.length > 10);
    for (const [i, line] of given.entries()) assert.equal((await device.kept(`s${i}`))?.toJson(), line);
  }
});

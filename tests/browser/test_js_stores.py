"""The JavaScript client in a real Chromium: its stores under several pages, reloads, full disks, kills and refusals."""

import json
import os
import re
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pytest

from requirements import require
from tacit.collector.static import client_js
from tacit_client import Question, Receipt, Report, Round, build

CHROMIUM = Path("/usr/bin/chromium")
require("chromium", CHROMIUM.exists() and find_spec("playwright") is not None)

VECTORS = Path(__file__).parents[2] / "vectors" / "v1"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP poll.test 127.0.0.1",
]  # fmt: skip
LABELS = ("tea", "coffee", "neither")

# What every page of these tests can do. `sort` of a store: the class that the client exports, with its arguments.
PAGE = """<!doctype html><meta charset="utf-8"><title>test</title><script type="module">
import * as tacit from "/tacit-client.js";
const stores = {
  indexed: () => new tacit.IndexedDbStore(),
  local: () => new tacit.LocalStore(),
  best: () => tacit.openStore(),
  // A planted fault: what is read in one transaction is decided on and written in another.
  torn: () => ({
    async transact(decide) {
      const store = new tacit.IndexedDbStore();
      let rows;
      await store.transact((found) => ((rows = found), null));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const row = decide(rows);
      await store.transact(() => row);
    },
  }),
};
const device = (kind) => new tacit.Device(stores[kind](), { cap: "1", total: "50" });
const outcome = (promise) => promise.then((report) => report.toJson(), (error) => error.code ?? String(error));
window.tacit = tacit;
const read = tacit.Round.fromJson;
window.answer = (kind, text, label) => outcome((async () => device(kind).answer(read(text), label))());
window.race = async (kind, texts, label, start) => {
  await new Promise((resolve) => setTimeout(resolve, start - Date.now()));
  return Promise.all(texts.map((text) => window.answer(kind, text, label)));
};
window.spent = (kind) => device(kind).spent();
window.ready = true;
</script>"""


def asked(study):
    question = Question("drink", "What do you drink?", LABELS)
    return Round(study, question, 0, build.srr(3, 1), None).to_json()


GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "answer-in-a-browser.md").read_text(encoding="utf-8")
POLICY = re.search(r"Content-Security-Policy: (.*)", GUIDE)[1]
FILES = {
    "/": ("text/html", PAGE.encode()),
    "/tacit-client.js": ("text/javascript", client_js()),
    "/poll.html": ("text/html", re.search(r"^```html\n(.*?)^```$", GUIDE, re.M | re.S)[1].encode()),
    "/poll.js": ("text/javascript", re.search(r"^```javascript\n(.*?)^```$", GUIDE, re.M | re.S)[1].encode()),
    "/v1/studies/office-2026/round": ("application/json", asked("office-2026").encode()),
}


class Handler(BaseHTTPRequestHandler):
    """The files of the tests and of the guide, and a collector that is busy the first time."""

    received: ClassVar[list[bytes]] = []

    def do_GET(self):
        self.reply(200, *FILES.get(self.path, ("text/html", b"")))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append(body)
        if len(self.received) == 1:
            problem = {"type": "urn:tacit:error:store_unusable", "status": 503, "code": "store_unusable"}
            self.reply(503, "application/problem+json", json.dumps(problem).encode())
            return
        report = Report.from_json(body)
        self.reply(201, "application/json", Receipt(report.id, report.round).to_json().encode())

    def reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Access-Control-Allow-Origin", "*")  # a sandboxed frame has no origin of its own
        if self.path.startswith("/poll"):
            self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def port():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def playwright():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def browser(playwright):
    browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
    yield browser
    browser.close()


@pytest.fixture
def context(browser):
    """A profile of its own, gone afterwards."""
    context = browser.new_context()
    yield context
    context.close()


def opened(context, port, host="127.0.0.1"):
    page = context.new_page()
    page.goto(f"http://{host}:{port}/")
    page.wait_for_function("window.ready")
    return page


def answer(page, kind, study, label="tea"):
    return page.evaluate("([k, t, l]) => answer(k, t, l)", [kind, asked(study), label])


def rows(page):
    """All that IndexedDB holds, read without the client."""
    return page.evaluate("""() => new Promise((resolve) => {
      const request = indexedDB.open("tacit");
      request.onsuccess = () => {
        request.result.transaction("kept").objectStore("kept").getAll().onsuccess = (event) => {
          request.result.close();
          resolve(event.target.result);
        };
      };
    })""")


def raced(context, port, kind):
    """What three pages say that answer the same twelve studies at the same time."""
    pages = [opened(context, port) for _ in range(3)]
    texts = [asked(f"s{i}") for i in range(12)]
    start = time.time() * 1000 + 300
    for page, label in zip(pages, LABELS, strict=True):
        race = "([k, t, l, s]) => { window.raced = race(k, t, l, s); return null; }"
        page.evaluate(race, [kind, texts, label, start])
    outcomes = [page.evaluate("raced") for page in pages]
    return pages[0].evaluate("k => spent(k)", kind), list(zip(*outcomes, strict=True))


@pytest.mark.parametrize("kind", ["indexed", "local", "best"])
def test_pages_at_once_give_one_report_a_study(context, port, kind):
    spent, studies = raced(context, port, kind)
    assert spent == "12"
    assert [len(set(reports)) for reports in studies] == [1] * 12
    assert len({json.loads(reports[0])["id"] for reports in studies}) == 12


def test_a_store_that_lets_go_between_reading_and_writing_is_caught(context, port):
    _, studies = raced(context, port, "torn")
    assert max(len(set(reports)) for reports in studies) > 1


@pytest.mark.parametrize("kind", ["indexed", "local"])
def test_a_reload_changes_nothing(context, port, kind):
    page = opened(context, port)
    first = answer(page, kind, "office")
    page.reload()
    page.wait_for_function("window.ready")
    assert answer(page, kind, "office", "coffee") == first
    page.close()
    assert answer(opened(context, port), kind, "office", "neither") == first


def test_the_answer_is_not_in_the_store(context, port):
    page = opened(context, port)
    for i in range(5):
        answer(page, "indexed", f"s{i}", "coffee")
    assert answer(page, "indexed", "unknown", "marmalade") == "answer_unknown"
    kept = json.dumps(rows(page))
    assert "unknown" not in kept
    assert '\\"study\\":\\"s4\\"' in kept
    assert "coffee" not in kept
    assert page.evaluate("Object.keys(localStorage)") == []


# Fill another database of the origin until not a kilobyte is left.
FILL = """async () => {
  const open = indexedDB.open("ballast", 1);
  open.onupgradeneeded = () => open.result.createObjectStore("mass", { autoIncrement: true });
  const database = await new Promise((resolve) => (open.onsuccess = () => resolve(open.result)));
  const put = (size) => new Promise((resolve) => {
    const transaction = database.transaction("mass", "readwrite");
    transaction.objectStore("mass").put(crypto.getRandomValues(new Uint8Array(size)));
    transaction.oncomplete = () => resolve(true);
    transaction.onabort = () => resolve(false);
  });
  for (let size = 2 ** 16; size >= 64; size /= 2) while (await put(size));
  database.close();
}"""


def test_a_full_disk_refuses_and_keeps_what_is_there(context, port):
    page = opened(context, port)
    session = context.new_cdp_session(page)
    origin = {"origin": f"http://127.0.0.1:{port}"}
    session.send("Storage.overrideQuotaForOrigin", origin | {"quotaSize": 2_000_000})
    first = answer(page, "indexed", "office")
    page.evaluate(FILL)
    assert answer(page, "indexed", "second") == "store_unusable"
    assert answer(page, "indexed", "office", "coffee") == first
    assert [row["study"] for row in rows(page)] == ["office"]
    page.evaluate(
        "new Promise((resolve) => (indexedDB.deleteDatabase('ballast').onsuccess = resolve)).then(() => 0)"
    )
    session.send("Storage.overrideQuotaForOrigin", origin)
    page.wait_for_function(
        "async ([k, t]) => (await answer(k, t, 'tea')) !== 'store_unusable'", arg=["indexed", asked("second")]
    )
    assert json.loads(answer(page, "indexed", "second"))["study"] == "second"


def test_a_full_local_storage_refuses_and_keeps_what_is_there(context, port):
    page = opened(context, port)
    first = answer(page, "local", "office")
    page.evaluate("""() => {
      for (let size = 2 ** 22; size >= 1; size /= 2) {
        for (let i = 0; i < 3; i++) try { localStorage.setItem(`${size}-${i}`, "x".repeat(size)); } catch {}
      }
    }""")
    assert answer(page, "local", "second") == "store_unusable"
    assert answer(page, "local", "office", "coffee") == first
    assert page.evaluate("spent('local')") == "1"


def test_a_page_without_storage_stays_silent(context, port):
    page = opened(context, port)
    page.evaluate("""() => {
      const frame = document.createElement("iframe");
      frame.sandbox = "allow-scripts";
      frame.src = "/";
      document.body.append(frame);
    }""")
    page.wait_for_timeout(100)
    frame = next(frame for frame in page.frames if frame.parent_frame)
    frame.wait_for_function("window.ready")
    for kind in ("indexed", "local", "best"):
        assert frame.evaluate("([k, t]) => answer(k, t, 'tea')", [kind, asked("office")]) == "store_unusable"
    assert frame.evaluate("tacit.persist()") is False


def test_a_page_that_anybody_on_the_way_could_change_stays_silent(context, port):
    page = opened(context, port, "poll.test")  # http, and not this machine: no crypto.subtle
    assert page.evaluate("isSecureContext") is False
    assert answer(page, "indexed", "office") == "dependency_missing"
    message = page.evaluate("tacit.contentId('x').catch((error) => error.message)")
    assert "HTTPS" in message
    assert "localhost" in message


def test_a_store_of_a_later_version_is_refused(context, port):
    page = opened(context, port)
    page.evaluate("""() => new Promise((resolve) => {
      const request = indexedDB.open("tacit", 2);
      request.onupgradeneeded = () => request.result.createObjectStore("kept", { keyPath: "study" });
      request.onsuccess = () => (request.result.close(), resolve());
    })""")
    assert answer(page, "indexed", "office") == "version_unknown"
    assert rows(page) == []


def test_a_foreign_database_is_refused(context, port):
    page = opened(context, port)
    page.evaluate("""() => new Promise((resolve) => {
      const request = indexedDB.open("tacit", 1);
      request.onsuccess = () => (request.result.close(), resolve());
    })""")
    assert answer(page, "indexed", "office") == "store_unusable"


def test_the_best_store_is_the_one_that_holds_the_ledger(context, port):
    page = opened(context, port)
    assert page.evaluate("tacit.openStore().constructor.name") == "IndexedDbStore"
    answer(page, "best", "office")
    assert len(rows(page)) == 1
    assert page.evaluate("tacit.openStore('other').constructor.name") == "IndexedDbStore"
    page.evaluate("localStorage.setItem('tacit-store:old', JSON.stringify({ version: '1', rows: [] }))")
    assert page.evaluate("tacit.openStore('old').constructor.name") == "LocalStore"
    assert isinstance(page.evaluate("tacit.persist()"), bool)


def test_the_vectors_hold_in_a_browser(context, port):
    page = opened(context, port)
    channels, refused = (
        json.loads((VECTORS / f"{n}.json").read_text("utf-8")) for n in ("channels", "refused")
    )
    found = page.evaluate(
        """(texts) => texts.map((text) => {
          const { ratio, likely, unlikely, holds } = tacit.certify(tacit.parseChannel(text));
          return [ratio, String(likely), String(unlikely), !holds];
        })""",
        [vector["text"] for vector in channels],
    )
    assert found == [[v["ratio"], v["likely"], v["unlikely"], v["leaks"]] for v in channels]
    small = [v for v in refused if "text" in v and v.get("times", 1) < 2000 and v["type"] != "receipt"]
    found = page.evaluate(
        """(vectors) => vectors.map(({ type, text }) => {
          const kinds = { question: tacit.Question, round: tacit.Round, report: tacit.Report };
          try { (kinds[type] ? kinds[type].fromJson : tacit.parseChannel)(text); } catch (error) { return error.code; }
        })""",
        small,
    )
    assert found == [v["code"] for v in small]
    assert len(found) > 80


def test_reports_follow_the_channel_in_a_browser(context, port):
    # 2 degrees of freedom: 27.63 is passed once in a million. With 20,000 draws an error of 0.03 in P is found surely.
    page, n = opened(context, port), 20_000
    counts = page.evaluate(
        """([text, n]) => {
          const { channel } = tacit.Round.fromJson(text);
          const counts = [0, 0, 0];
          for (let i = 0; i < n; i++) counts[channel.respond(1)]++;
          return counts;
        }""",
        [asked("s"), n],
    )
    e = 2.718281828459045
    law = [n / (e + 2), n * e / (e + 2), n / (e + 2)]
    assert sum((c - p) ** 2 / p for c, p in zip(counts, law, strict=True)) < 27.63


def test_the_page_of_the_guide_asks_answers_and_sends(context, port):
    page, trouble = context.new_page(), []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    Handler.received.clear()
    page.goto(f"http://127.0.0.1:{port}/poll.html")
    page.get_by_role("button", name="coffee").click()
    page.get_by_text("The collector has your report.").wait_for(timeout=15_000)
    assert page.locator("h1").inner_text() == "What do you drink?"
    assert page.get_by_role("button").all_inner_texts() == list(LABELS)
    first, again = (Report.from_json(body) for body in Handler.received)
    assert first == again
    assert first.study == "office-2026"
    page.get_by_role("button", name="tea").click()
    page.get_by_text("The collector has your report.").wait_for()
    (row,) = rows(page)
    assert (row["report"], row["head"], len(Handler.received)) == (first.to_json(), first.round, 2)
    assert [text for text in trouble if "503" not in text] == []


@contextmanager
def chromium(folder):
    """A browser of our own, with its profile in a folder, to be killed."""
    flags = [*FLAGS, "--headless", "--remote-debugging-port=0", f"--user-data-dir={folder}"]
    told = folder / "DevToolsActivePort"
    told.unlink(missing_ok=True)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([str(CHROMIUM), *flags, "about:blank"], start_new_session=True, **quiet)
    try:
        end = time.monotonic() + 60
        while not (told.exists() and re.match(r"\d+\n", told.read_text())) and time.monotonic() < end:
            time.sleep(0.05)
        yield f"http://127.0.0.1:{told.read_text().split()[0]}", partial(kill, process)
    finally:
        kill(process)


def kill(process):
    """End the browser and all processes it started, at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)


def test_what_was_given_out_outlives_a_killed_browser(playwright, port, tmp_path):
    profile, given = tmp_path / "profile", []
    profile.mkdir()
    for turn in range(3):
        with chromium(profile) as (address, kill_now):
            page = opened(playwright.chromium.connect_over_cdp(address).contexts[0], port)
            assert [answer(page, "indexed", f"s{i}", "coffee") for i in range(turn)] == given
            given.append(answer(page, "indexed", f"s{turn}"))
            kill_now()
    assert len({json.loads(report)["id"] for report in given}) == 3

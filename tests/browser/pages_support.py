"""For tests of the pages: a collector on this machine, with the real application and worker, and a browser."""

from __future__ import annotations

import itertools
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import uvicorn

from requirements import require
from tacit import channels
from tacit.collector.app import create_app
from tacit.collector.options import Options
from tacit.collector.serving import configure, listen
from tacit.collector.store import Store
from tacit.collector.worker import Pace, Worker
from tacit_client import Report, Round

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
KEY = "a-key-for-tests-and-nothing-else"
AS_ADMIN = {"Authorization": f"Bearer {KEY}"}
PATIENCE = 30.0
GROWTH = 1.5  # reports come in chunks, so that the worker looks as often as it would

TRAVEL = {
    "Driving a car or van": 0.575,
    "On foot": 0.107,
    "Bus or coach": 0.073,
    "Works at home": 0.065,
    "Train": 0.06,
    "Passenger in a car": 0.05,
    "Underground": 0.041,
    "Bicycle": 0.029,
}
NUMBER = {
    "text": "How old were you when you first used a computer?",
    "unit": "years", "lowest": "0", "highest": "90", "step": "1",
}  # fmt: skip


class Collector:
    """A server and its worker, which looks when it is told to."""

    def __init__(self, url: str, store: Store) -> None:
        self.url = url
        self.store = store
        # Hours pass between two looks of the worker, so that every refresh is due.
        self.worker = Worker(store, Pace(), clock=itertools.count(0, 10_000).__next__)
        self.http = httpx.Client(base_url=url, headers=AS_ADMIN, timeout=PATIENCE)

    def ask(self, method: str, path: str, **body: object) -> httpx.Response:
        """A request of the administrator; refusals raise."""
        return self.http.request(method, f"/v1/{path}", json=body or None).raise_for_status()

    def study(self, name: str, question: dict | None = None, **settings: object) -> str:
        """Make a study; its name."""
        asked = question or {"text": "How do you usually travel to work?", "labels": list(TRAVEL)}
        self.ask("POST", "studies", **{"name": name, "question": asked, "epsilon": "1", **settings})
        self.refresh()
        return name

    def round(self, name: str) -> Round:
        return Round.from_json(self.http.get(f"/v1/studies/{name}/round").content)

    def fill(self, name: str, truth: object, n: int, seed: int) -> None:
        """`n` simulated reports through the channels that the study asks for, round by round."""
        rng = np.random.default_rng(seed)
        sent = 0
        while sent < n:
            rnd = self.round(name)
            chunk = min(max(100, int((GROWTH - 1) * sent)), n - sent)
            self._batch(rnd, sample(rnd, truth, chunk, rng), rng)
            sent += chunk
            self.refresh()

    def _batch(self, rnd: Round, values: np.ndarray, rng: np.random.Generator) -> None:
        plain = [tuple(int(part) for part in value) if np.ndim(value) else int(value) for value in values]
        lines = [Report(rng.bytes(16).hex(), rnd.study, rnd.id, value).to_json() for value in plain]
        for start in range(0, len(lines), 1000):
            body = "\n".join(lines[start : start + 1000])
            answer = self.http.post(
                f"/v1/studies/{rnd.study}/batches",
                content=body,
                headers={"Content-Type": "application/x-ndjson"},
            )
            assert answer.status_code == 200, answer.text
            assert '"type":"receipt"' in answer.text.splitlines()[0], answer.text[:300]

    def refresh(self) -> None:
        """Let the worker look until nothing is due."""
        for _ in range(3):
            self.worker.look()

    def estimate(self, name: str) -> dict:
        return self.ask("GET", f"studies/{name}/estimate").json()


def sample(rnd: Round, truth: object, n: int, rng: np.random.Generator) -> np.ndarray:
    """Simulated reports of `n` people: shares of the labels, or (mean, spread) of a number."""
    channel = channels.from_table(rnd.channel)
    if rnd.question.numeric:
        low, high, _ = (float(end) for end in rnd.question.scale)
        mean, spread = truth
        return channel.sample(np.clip(np.round(rng.normal(mean, spread, n)), low, high), rng)
    shares = np.array(list(truth.values()) if isinstance(truth, dict) else truth, dtype=float)
    return channel.sample(rng.choice(len(shares), n, p=shares / shares.sum()), rng)


@contextmanager
def collector(folder: Path, port: int = 0):
    """A collector on a port, by default a free one, with its database in a folder."""
    store = Store.open(f"sqlite:///{folder}/tacit.db")
    app = create_app(store, Options.of(KEY, rate=0.0, poll_seconds=0.1))
    listener = listen("127.0.0.1", port)
    server = uvicorn.Server(configure(app))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while not server.started:
        assert thread.is_alive(), "the server has ended"
        assert time.monotonic() < deadline, "the server does not start"
        time.sleep(0.01)
    made = Collector(f"http://127.0.0.1:{listener.getsockname()[1]}", store)
    try:
        yield made
    finally:
        made.http.close()
        server.should_exit = True
        thread.join(PATIENCE)
        store.close()


@contextmanager
def browser():
    """Debian's Chromium; without it the test is skipped, or fails where it is required."""
    require("chromium", Path(CHROMIUM).exists())
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield started
        finally:
            started.close()


class Watched:
    """A page whose every complaint and every request is written down."""

    def __init__(self, context) -> None:
        self.context = context
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.expected: tuple[str, ...] = ()  # parts of complaints that a test provokes
        self.page.set_default_timeout(1000 * PATIENCE / 3)
        self.page.on(
            "console", lambda said: said.type in ("error", "warning") and self.complaints.append(said.text)
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.add_init_script(
            "addEventListener('securitypolicyviolation', "
            "e => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`))"
        )

    def wrong(self) -> list[str]:
        return [said for said in self.complaints if not any(part in said for part in self.expected)]

    def abroad(self, *origins: str) -> list[str]:
        """Requests that went elsewhere than to these origins."""
        own = tuple(f"{origin}/" for origin in origins)
        return [url for url in self.requests if not url.startswith((*own, "data:", "blob:"))]


def _evaluated(page, condition: str) -> object:
    """The value of an expression; nothing while the page is being loaded anew."""
    from playwright.sync_api import Error

    try:
        return page.evaluate(condition)
    except Error as error:
        if "Execution context was destroyed" not in str(error):
            raise
        return None


def until(page, condition: str) -> object:
    """Wait for an expression of JavaScript. Playwright's own way needs `eval` in the page, which its policy forbids."""
    deadline = time.monotonic() + PATIENCE
    while not (found := _evaluated(page, condition)):
        assert time.monotonic() < deadline, f"{page.url} waits for {condition}"
        page.wait_for_timeout(50)
    return found

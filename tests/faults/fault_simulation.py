"""A collector in a bad world: each accepted report counts exactly once, whatever is lost, repeated, late or killed.

    python tests/faults/fault_simulation.py --runs 1000 [--workers 2] [--first 0] [--database URL] [--copies 2]

One run is a function of its seed and of how the machine happens to schedule it. Servers and workers, real processes
over a database on disk, one of each or several, learn from reports that a simulated network treats badly:

* a request is cut short, or its answer is never read; a request is sent twice, or much later, or for an old round;
* a byte is changed on the way, so that another report, or none, arrives under the same id;
* the server or the worker is killed by SIGKILL at any moment, also while many requests are under way;
* reports are erased, and come again.

Afterwards everything whose fate is unknown is sent again, as a device does, until there is a definite answer. Then:
an id stands for one content, and a content that ever got a receipt still has it; the export holds exactly
the accepted reports; the Evidence is that of these reports, folded here; the estimate of the worker is made
of all of them; the rounds form one chain, and no head that a receipt named has left it.

The processes are forked from one that has imported everything (`forkserver`), which makes a start cheap.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import shutil
import socket
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

from tacit import Evidence, channels
from tacit.collector import serving, worker
from tacit.collector.app import create_app
from tacit.collector.options import Options
from tacit.collector.store import Store
from tacit_client import Receipt, Report, Round, TacitError, value_to_text

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "faults.jsonl"
KEY = "k" * 40
PATIENCE = 90.0  # seconds until something that must happen has happened
FAULTS = ["none", "cut", "unread", "twice", "late", "changed"]
QUESTIONS: dict[str, dict[str, Any]] = {
    "colour": {"text": "Which colour?", "labels": ["red", "green", "blue", "grey"]},
    "age": {"text": "How old are you?", "unit": "years", "lowest": "0", "highest": "120", "step": "1"},
}
# Policies that choose anew by a draw of the posterior, so that rounds change often.
POLICIES = {"colour": "honest", "age": "truncation"}


def _serve(database: str, port: int, log: str) -> None:
    """Be a server; runs in a process of its own."""
    _log_to(log)
    store = Store.open(database)
    listener = serving.listen("127.0.0.1", port)
    app = create_app(store, Options.of(KEY, rate=0.0))
    uvicorn.Server(serving.configure(app)).run(sockets=[listener])


def _work(database: str, log: str) -> None:
    """Be a worker in a hurry; runs in a process of its own."""
    _log_to(log)
    worker.run(database, worker.Pace(max_age=2.0, rest=0.2, patience=0.5, look=0.05))


def _log_to(log: str) -> None:
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Machine:
    """Servers and workers over one database; each can be killed and started at any time."""

    def __init__(self, folder: Path, database: str, copies: int = 1) -> None:
        self.folder = folder
        self.ports = [free_port() for _ in range(copies)]
        self._turns = cycle(self.ports)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__])
        self._jobs: dict[str, tuple[Any, tuple[Any, ...]]] = {}
        for i, port in enumerate(self.ports):
            self._jobs[f"server {i}"] = (_serve, (database, port, str(folder / f"server{i}.log")))
            self._jobs[f"worker {i}"] = (_work, (database, str(folder / f"worker{i}.log")))
        self._running: dict[str, Any] = {}

    @property
    def port(self) -> int:
        """That of one server after the other, as a proxy in front of them would choose."""
        return next(self._turns)

    def names(self, kind: str) -> list[str]:
        """All servers, or all workers."""
        return [name for name in self._jobs if name.startswith(kind)]

    def start(self, kind: str = "") -> None:
        """Start what is not running, and wait until every server answers."""
        for name in self.names(kind):
            process = self._running.get(name)
            if process is None or not process.is_alive():
                job, given = self._jobs[name]
                process = self._context.Process(target=job, args=given, daemon=True)
                process.start()
                self._running[name] = process
        for port in self.ports:
            self.wait("the server answers", lambda port=port: self.ask("GET", "/v1", port=port)[0] == 200)

    def kill(self, name: str) -> None:
        """SIGKILL, and wait for the end."""
        process = self._running.pop(name, None)
        if process is not None:
            process.kill()
            process.join()

    def stop(self) -> None:
        """End both."""
        for name in list(self._running):
            self.kill(name)

    def ask(
        self, method: str, path: str, body: bytes | None = None, port: int | None = None, **headers: str
    ) -> tuple[int | None, bytes]:
        """Status and body of an answer; None if there was no answer."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=30)
        try:
            kind = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, body, kind | headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return None, b""
        finally:
            connection.close()

    def tell(self, method: str, path: str, message: object = None) -> Any:
        """What an administrator does; it must succeed."""
        body = None if message is None else json.dumps(message).encode()
        status, answer = self.ask(method, path, body, Authorization=f"Bearer {KEY}")
        assert status is not None, f"{method} {path}: {status} {answer!r}"
        assert 200 <= status < 300, f"{method} {path}: {status} {answer!r}"
        return json.loads(answer) if answer else None

    def wait(self, what: str, done: Any) -> None:
        """Until `done()` is true."""
        end = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > end:
                logs = "\n".join(f.read_text()[-2000:] for f in self.folder.glob("*.log"))
                raise AssertionError(f"waited {PATIENCE} s in vain: {what}\n{logs}")
            time.sleep(0.05)


@dataclass
class Fate:
    """What this side knows of one report id: the contents sent under it, and what has been answered."""

    texts: set[bytes] = field(default_factory=set)
    receipted: bytes | None = None  # the content that a receipt was given for
    erasing: bool = False  # an erasure was asked for, perhaps in vain
    erased: bool = False


class Run:
    """One study in a bad world."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine = machine
        self.rng = np.random.default_rng(seed)
        self.kind = str(self.rng.choice(list(QUESTIONS)))
        self.study = f"{self.kind}-{seed}"
        self.base = f"/v1/studies/{self.study}"
        self.rounds: list[Round] = []
        self.fates: dict[str, Fate] = {}
        self.late: list[bytes] = []
        self.heads: set[str] = set()
        self.events: Counter[str] = Counter()
        self.lock = threading.Lock()

    # --- what people and the network do

    def fetch(self) -> None:
        """Look at the current round."""
        status, body = self.machine.ask("GET", f"{self.base}/round")
        if status == 200:
            found = Round.from_json(body)
            if found.id not in {known.id for known in self.rounds}:
                self.rounds.append(found)

    def linger(self) -> None:
        """Give the worker a moment, and look whether the round has changed."""
        time.sleep(0.3)
        self.fetch()

    def made(self) -> bytes:
        """A new report, to the newest round known or to an old one."""
        late = self.rng.random() < 0.2
        asked = self.rounds[int(self.rng.integers(len(self.rounds)))] if late else self.rounds[-1]
        cells = asked.channel.k
        cell = int(self.rng.integers(cells)) if self.rng.random() < 0.5 else 0
        report = Report(Report.new_id(), self.study, asked.id, asked.channel.respond(cell))
        self.events["report to an old round" if asked != self.rounds[-1] else "report"] += 1
        return report.to_json().encode()

    def send(self, text: bytes) -> int | None:
        """Send a report and take in what is answered."""
        with self.lock:
            self.note(text)
        status, answer = self.machine.ask("POST", f"{self.base}/reports", text)
        with self.lock:
            self.learn(text, status, answer)
        return status

    def note(self, text: bytes) -> Fate | None:
        """Remember that this content was sent under its id; None if it is no report at all."""
        try:
            report = Report.from_json(text)
        except TacitError:
            return None
        fate = self.fates.setdefault(report.id, Fate())
        fate.texts.add(text)
        return fate

    def learn(self, text: bytes, status: int | None, answer: bytes) -> None:
        """Take in an answer; no answer at all says nothing."""
        fate = self.note(text)
        if status in (200, 201):
            assert fate is not None, f"accepted what is no report: {text!r}"
            receipt = Receipt.from_json(answer)
            assert receipt.report == Report.from_json(text).id
            assert fate.receipted in (None, text), "two contents under one id, and a receipt for each"
            assert not fate.erased, "an erased report came back"
            self.heads.add(receipt.head)
            fate.receipted = text
        elif status is not None and status < 500:
            code = json.loads(answer)["code"]
            self.events[f"refused: {code}"] += 1
            if fate is not None and fate.receipted == text:
                assert fate.erasing, f"a report that had a receipt is refused: {code}"
                assert code == "report_erased"
                fate.erased = True
        elif status is not None:
            assert status == 503, f"{status}: {answer!r}"
            self.events["refused for now"] += 1

    def send_badly(self) -> None:
        """One report, and one thing that can go wrong on its way."""
        text = self.made()
        fault = str(
            self.rng.choice(
                ["none", "cut", "unread", "twice", "late", "changed"], p=[0.4, 0.12, 0.12, 0.12, 0.12, 0.12]
            )
        )
        self.events[f"network: {fault}"] += 1
        if fault == "late":
            self.note(text)
            self.late.append(text)
            return
        if fault == "changed":
            self.send(self.changed(text))
        if fault in ("cut", "unread"):
            self.note(text)
            self.break_off(text, whole=fault == "unread")
        else:
            self.send(text)
        if fault == "twice":
            self.send(text)

    def changed(self, text: bytes) -> bytes:
        """The text with one byte changed: often malformed, now and then another report."""
        data = bytearray(text)
        data[int(self.rng.integers(len(data)))] = int(
            self.rng.choice(np.frombuffer(b'0123456789abcdef"},{', "u1"))
        )
        return bytes(data)

    def break_off(self, text: bytes, whole: bool) -> None:
        """Send a request, or the beginning of one, and hang up without listening."""
        head = f"POST {self.base}/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        data = head.encode() + f"Content-Length: {len(text)}\r\n\r\n".encode() + text
        sent = data if whole else data[: int(self.rng.integers(1, len(data)))]
        try:
            with socket.create_connection(("127.0.0.1", self.machine.port), timeout=5) as connection:
                connection.sendall(sent)
                if whole and self.rng.random() < 0.5:
                    time.sleep(0.01)
        except OSError:
            self.events["no connection"] += 1

    def send_batch(self) -> None:
        """Many reports by one request, old ones, repeated ones and nonsense among them."""
        texts = [self.made() for _ in range(int(self.rng.integers(1, 30)))]
        known = [text for fate in self.fates.values() for text in fate.texts]
        if known:
            texts += [known[int(i)] for i in self.rng.integers(len(known), size=3)]
        texts += [texts[0], b'{"no":"report"}']
        self.rng.shuffle(texts)  # type: ignore[arg-type]
        for text in texts:
            self.note(text)
        headers = {"Content-Type": "application/x-ndjson"}
        status, answer = self.machine.ask(
            "POST", f"{self.base}/batches", b"\n".join(texts) + b"\n", **headers
        )
        self.events["batch"] += 1
        if status == 200:
            lines = answer.splitlines()
            assert len(lines) == len(texts)
            for text, line in zip(texts, lines, strict=True):
                problem = json.loads(line)
                self.learn(text, problem.get("status", 200), line)

    def send_under_fire(self) -> None:
        """Many requests at once, and a SIGKILL of the server or the worker in their midst."""
        texts = [self.made() for _ in range(12)]
        threads = [threading.Thread(target=self.send, args=(text,)) for text in texts]
        for thread in threads:
            thread.start()
        time.sleep(float(self.rng.random()) * 0.04)
        kind = "server" if self.rng.random() < 0.7 else "worker"
        self.machine.kill(str(self.rng.choice(self.machine.names(kind))))
        for thread in threads:
            thread.join()
        self.events[f"kill -9 {kind}"] += 1
        self.machine.start()

    def erase(self) -> None:
        """Erase a report whose receipt is known."""
        held = [name for name, fate in self.fates.items() if fate.receipted and not fate.erasing]
        if held:
            name = held[int(self.rng.integers(len(held)))]
            self.fates[name].erasing = True
            status, _ = self.machine.ask("DELETE", f"{self.base}/reports/{name}")
            self.fates[name].erased = status == 204
            self.events["erased"] += 1

    def deliver_late(self) -> None:
        """What was held back arrives, in another order."""
        self.rng.shuffle(self.late)  # type: ignore[arg-type]
        while self.late:
            self.send(self.late.pop())

    # --- the study, from its beginning to its end

    def live(self) -> None:
        """A study of some hundred reports."""
        settings = {"name": self.study, "question": QUESTIONS[self.kind], "epsilon": "1", "expected": 500}
        settings["policy"] = POLICIES[self.kind]
        self.machine.tell("POST", "/v1/studies", settings)
        self.fetch()
        doings = [
            self.send_badly,
            self.send_batch,
            self.send_under_fire,
            self.erase,
            self.deliver_late,
            self.fetch,
        ]
        for doing in self.rng.choice(len(doings), size=60, p=[0.6, 0.1, 0.06, 0.07, 0.07, 0.1]):
            doings[int(doing)]()

    def settle(self) -> None:
        """Send everything again until its fate is known."""
        self.machine.start()
        self.deliver_late()
        for name, fate in self.fates.items():
            if fate.erasing and not fate.erased:
                self.machine.wait(
                    "erased",
                    lambda name=name: self.machine.ask("DELETE", f"{self.base}/reports/{name}")[0] == 204,
                )
                fate.erased = True
            for text in sorted(fate.texts):
                self.machine.wait("a definite answer", lambda text=text: self.send(text) not in (None, 503))

    def check(self) -> None:
        """Each accepted report counts exactly once."""
        accepted = [
            Report.from_json(fate.receipted)
            for fate in self.fates.values()
            if fate.receipted is not None and not fate.erased
        ]
        self.machine.wait("an estimate of all reports", lambda: self.used() == len(accepted))
        self.machine.tell("POST", f"{self.base}/close")
        chain = [
            Round.from_json(line) for line in self.machine.ask("GET", f"{self.base}/rounds")[1].splitlines()
        ]
        assert [asked.previous for asked in chain] == [None, *(asked.id for asked in chain[:-1])]
        assert self.heads <= {asked.id for asked in chain}, "a head has left the chain"
        rows = json.loads(self.machine.ask("GET", f"{self.base}/export?format=json")[1])["reports"]
        exported = Counter((row["round"], row["value"]) for row in rows)
        assert exported == Counter((report.round, value_to_text(report.value)) for report in accepted)
        mine = Evidence()
        for asked in chain:
            values = [report.value for report in accepted if report.round == asked.id]
            if values:
                mine = mine.add(channels.from_table(asked.channel), values)
        theirs = Evidence.from_bytes(self.machine.ask("GET", f"{self.base}/evidence")[1])
        assert theirs == mine, f"{len(theirs)} reports in the evidence, {len(mine)} accepted"
        self.events["accepted"] += len(accepted)
        self.events["rounds"] += len(chain)

    def used(self) -> int:
        """How many reports the newest estimate is made of."""
        status, body = self.machine.ask("GET", f"{self.base}/estimate")
        return int(json.loads(body)["used"]) if status == 200 else 0


def simulate(seed: int, database: str | None = None, copies: int = 1) -> Counter[str]:
    """One run; raises AssertionError if a law is broken. Returns how often each thing happened."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-faults-"))
    machine = Machine(folder, database or f"sqlite:///{folder}/collector.sqlite", copies)
    try:
        machine.start()
        run = Run(machine, seed)
        run.live()
        run.settle()
        run.check()
        return run.events
    except Exception as error:
        raise AssertionError(f"seed {seed}: {error}") from error
    finally:
        machine.stop()
        shutil.rmtree(folder)


def main() -> None:
    """Many runs, and how often each thing happened in them; goes on where an earlier call stopped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--database", help="a URL shared by all runs; an SQLite file for each if left out")
    parser.add_argument("--copies", type=int, default=1, help="servers, and workers, of each run")
    parser.add_argument(
        "--output", type=Path, default=RESULTS, help="a line for each run; seeds in it are left out"
    )
    options = parser.parse_args()
    done = (
        [json.loads(line) for line in options.output.read_text().splitlines()]
        if options.output.exists()
        else []
    )
    wanted = range(options.first, options.first + options.runs)
    left = sorted(set(wanted) - {run["seed"] for run in done})
    with ProcessPoolExecutor(options.workers) as pool, options.output.open("a") as out:
        waiting = {pool.submit(simulate, seed, options.database, options.copies): seed for seed in left}
        for future in as_completed(waiting):
            out.write(json.dumps({"seed": waiting[future], **dict(sorted(future.result().items()))}) + "\n")
            out.flush()
    runs = [json.loads(line) for line in options.output.read_text().splitlines()]
    total = sum((Counter({k: v for k, v in run.items() if k != "seed"}) for run in runs), Counter())
    print(json.dumps({"runs": len(runs), **dict(sorted(total.items()))}, indent=1))


if __name__ == "__main__":
    main()

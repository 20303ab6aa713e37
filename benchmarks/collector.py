"""How much a collector on this machine takes in: single reports, batches, bytes on disk, the time of a round.

    python benchmarks/collector.py [--quick] [--seconds 30] [--reports 1000000] [--output FILE]

Everything runs on loopback, the load generator beside the server on the same cores, and every report is on disk
(SQLite: synchronous=FULL; PostgreSQL: its default, fsync on) before its receipt is sent. Single reports arrive by a
Poisson process whose rate does not care how the server is doing, and a latency counts from when a report was due
(`open_loop.py`). Batches of 500 are a closed loop over four connections, up to a million reports, during which the
memory of the server is read from the kernel. The time of a round is that of one look of the worker at a study of 10^5
reports: counting the reports in the database, the posterior, the policy, the estimate. PostgreSQL is started
here, in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import open_loop
import psycopg
from rich.console import Console
from rich.table import Table

from tacit import channels
from tacit.collector.intake import read_submission
from tacit.collector.settings import StudySettings
from tacit.collector.store import Store
from tacit.collector.worker import Pace, Worker
from tacit_client import Report, Round

RESULTS = Path(__file__).parent / "results" / "collector.json"
KEY = "benchmark-" * 4
K = 10
LINES = 500
Row = dict[str, Any]


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server of our own, as an unprivileged user; yields its URL."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        raise FileNotFoundError("PostgreSQL is not installed")
    port = open_loop.free_port()
    folder = Path(tempfile.mkdtemp(prefix="tacit-postgres-"))
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")
    run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder}
    subprocess.run(
        [*as_user, found[-1] / "initdb", "-D", folder / "data", "-A", "trust", "-U", "tacit"], **run
    )
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    control = [*as_user, found[-1] / "pg_ctl", "-D", folder / "data", "-w"]
    subprocess.run([*control, "-l", folder / "log", "-o", options, "start"], **run)
    try:
        yield f"postgresql://tacit@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "fast", "stop"], **run)
        shutil.rmtree(folder)


class Server:
    """`tacit serve` with its worker, and what an administrator asks of it."""

    def __init__(self, database: str, worker: bool = True) -> None:
        self.port = open_loop.free_port()
        command = [Path(sys.executable).parent / "tacit", "serve", "--database", database]
        command += ["--port", str(self.port), "--rate", "0"] + ([] if worker else ["--no-worker"])
        self.process = subprocess.Popen(
            command,
            env=os.environ | {"TACIT_ADMIN_KEY": KEY},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for _ in range(600):
            try:
                self.ask("GET", "/v1")
                return
            except urllib.error.URLError:
                time.sleep(0.1)
        raise TimeoutError("the server does not answer")

    def ask(self, method: str, path: str, message: object = None) -> bytes:
        body = None if message is None else json.dumps(message).encode()
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, headers, method=method)
        with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310
            return bytes(answer.read())

    def study(self, name: str) -> Round:
        """Begin a study of K colours; its first round."""
        question = {"text": "Which colour?", "labels": [f"colour {i}" for i in range(K)]}
        settings = {"name": name, "question": question, "epsilon": "1", "expected": 1_000_000}
        self.ask("POST", "/v1/studies", settings)
        return Round.from_json(self.ask("GET", f"/v1/studies/{name}/round"))

    def memory(self) -> dict[str, float]:
        """MiB that the server process and the worker hold; they are children, begun in this order."""
        lists = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        children = sorted(int(pid) for each in lists for pid in each.read_text().split())
        return {
            f"{name} MiB": resident(pid) for name, pid in zip(("server", "worker"), children, strict=True)
        }

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def resident(pid: int) -> float:
    """MiB of memory that a process holds."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise ValueError("no VmRSS")


def reports(asked: Round, count: int, seed: int) -> list[bytes]:
    """Simulated reports to a round, as canonical bytes."""
    rng = np.random.default_rng(seed)
    channel = channels.from_table(asked.channel)
    values = channel.sample(rng.choice(K, count, p=np.arange(1, K + 1) / (K * (K + 1) / 2)), rng).tolist()
    ids = secrets.token_hex(16 * count)
    named = ((ids[32 * i : 32 * (i + 1)], value) for i, value in enumerate(values))
    return [
        Report(name, asked.study, asked.id, tuple(value) if isinstance(value, list) else value)
        .to_json()
        .encode()
        for name, value in named
    ]


def single(database: str, seconds: float, rates: list[float]) -> list[Row]:
    """Single reports at several rates of arrival."""
    rows = []
    server = Server(database)
    try:
        for rate in rates:
            study = f"single-{rate:g}-{secrets.token_hex(3)}"
            asked = server.study(study)
            path = f"/v1/studies/{study}/reports"
            sent = [open_loop.request("POST", path, text) for text in reports(asked, int(rate * seconds), 1)]
            done = open_loop.load(server.port, sent, rate)
            assert done.statuses == {201: len(sent)}, done.statuses
            rows.append(
                {"arrive a second": rate, "answered a second": done.rate, "reports": len(sent)}
                | {f"p{share:g} ms": done.quantile(share / 100) for share in (50, 90, 99, 99.9)}
            )
    finally:
        server.stop()
    return rows


def batches(database: str, total: int) -> list[Row]:
    """Batches in a closed loop; memory and rate after each tenth."""
    rows = []
    server = Server(database)
    try:
        study = f"batches-{secrets.token_hex(3)}"
        asked = server.study(study)
        for tenth in range(1, 11):
            texts = reports(asked, total // 10, tenth)
            sent = [
                open_loop.request(
                    "POST",
                    f"/v1/studies/{study}/batches",
                    b"\n".join(texts[start : start + LINES]) + b"\n",
                    "application/x-ndjson",
                )
                for start in range(0, len(texts), LINES)
            ]
            done = open_loop.load(server.port, sent, np.inf, connections=4)
            assert done.statuses == {200: len(sent)}, done.statuses
            rate = len(texts) / done.seconds
            rows.append(
                {
                    "reports so far": tenth * total // 10,
                    "reports a second": rate,
                    "p99 ms": done.quantile(0.99),
                }
                | server.memory()
            )
        held = json.loads(server.ask("GET", f"/v1/studies/{study}"))["n"]
        assert held == 10 * (total // 10), held
    finally:
        server.stop()
    return rows


def look(folder: str, k: int, options: argparse.Namespace) -> Row:
    """Seconds that the worker takes for the first round of a study with many reports, and for the second look."""
    store = Store.open(f"sqlite:///{folder}/worker-{k}.sqlite")
    question = {"text": "Which colour?", "labels": [f"colour {i}" for i in range(k)]}
    total = options.reports // 10
    made = store.create_study(
        StudySettings.read({"name": "study", "question": question, "epsilon": "1", "expected": 10 * total})
    )
    asked = Round.from_json(store.round(made.name).text)
    texts = reports(asked, total, 1)
    for start in range(0, total, 4000):
        store.submit([read_submission(text, "study") for text in texts[start : start + 4000]])
    spent = []
    for more in (b"", *reports(Round.from_json(store.round("study").text), 1, 2)):
        if more:
            store.submit([read_submission(more, "study")])
        start_at = time.perf_counter()
        assert Worker(store, Pace(rest=0.0, patience=0.0)).look() == 1
        spent.append(time.perf_counter() - start_at)
    store.close()
    return {"k": k, "reports": total, "a round, s": spent[0], "an estimate, s": spent[1]}


def size(database: str) -> int:
    """Bytes of the database on disk, with its indexes, after it has put its house in order."""
    if database.startswith("sqlite:///"):
        path = Path(database.removeprefix("sqlite:///"))
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.stat().st_size
    with psycopg.connect(database) as connection:
        connection.execute("CHECKPOINT")
        found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert found is not None
    return int(found[0])


def measured(database: str, options: argparse.Namespace, rates: list[float]) -> dict[str, Any]:
    """All that is measured on one database."""
    found: dict[str, Any] = {"single reports": single(database, options.seconds, rates)}
    before = size(database)
    found["batches of 500"] = batches(database, options.reports)
    per_million = (size(database) - before) / options.reports * 1e6 / 2**20
    found["disk"] = [{"MiB per million reports": per_million}]
    return found


def show(title: str, rows: list[Row], console: Console) -> None:
    """One section as a table."""
    table = Table(*rows[0], title=title, title_justify="left")
    for row in rows:
        table.add_row(
            *(
                f"{v:,.1f}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else v
                for v in row.values()
            )
        )
    console.print(table)


def main() -> None:
    """Measure both databases, print, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds: to see that it runs")
    parser.add_argument("--seconds", type=float, default=30.0, help="of single reports, at each rate")
    parser.add_argument("--reports", type=int, default=1_000_000, help="in batches")
    parser.add_argument("--rates", default="250,500,1000,1500", help="single reports a second")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.reports, options.rates = 2.0, 20_000, "100"
    rates = [float(rate) for rate in options.rates.split(",")]
    console = Console()
    sections: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="tacit-collector-") as folder, postgres() as url:
        for name, database in (("SQLite", f"sqlite:///{folder}/collector.sqlite"), ("PostgreSQL", url)):
            sections[name] = measured(database, options, rates)
            for title, rows in sections[name].items():
                show(f"{name}: {title}", rows, console)
        sections["worker"] = {"a round": [look(folder, k, options) for k in (20, 200)]}
    show("worker: a round", sections["worker"]["a round"], console)
    result = {
        "when": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load average at the end": os.getloadavg()[0],
        "quick": options.quick,
        "sections": sections,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

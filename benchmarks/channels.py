"""How fast the channels are, beside other libraries, and what the time of a response gives away.

    python benchmarks/channels.py [--quick] [--output FILE]

Every number is the best of several repetitions, each long enough to time well; the last section gives medians.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import numpy as np
import peers
from response_time import response_times
from rich.console import Console
from rich.table import Table

from tacit import channels
from tacit_client import build, certify

LIBRARIES = [
    *("tacit", "tacit-client", "numpy", "scipy", "numba"),
    *("pure-ldp", "multi-freq-ldpy", "opendp", "xxhash"),
]
RESULTS = Path(__file__).parent / "results" / "channels.json"
TARGET_RATIO, TARGET_SUPPORT_US, TARGET_RESPOND_US, TARGET_CERTIFY_MS = 10, 20, 100, 1000
TARGET_IMPORT_MS = {"tacit": 500, "tacit_client": 100}

Row = dict[str, object]


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    repetitions: int
    seconds: float  # of one repetition, at least
    users: int  # of a peer's loop
    answers: int  # of one call of `sample`
    largest: int  # call of `sample`
    calls: int  # timed one by one, of each answer and outcome


FULL = Effort(repetitions=7, seconds=0.3, users=10_000, answers=10**6, largest=10**7, calls=50_000)
QUICK = Effort(repetitions=5, seconds=0.001, users=100, answers=10**4, largest=10**5, calls=500)


def best(run: Callable[[], object], effort: Effort) -> float:
    """Seconds of one call of `run`: calls are repeated to fill a repetition, and the best repetition counts."""

    def timed(loops: int) -> float:
        start = time.perf_counter()
        for _ in range(loops):
            run()
        return time.perf_counter() - start

    run()  # compile, fill the caches
    loops, spent = 1, timed(1)
    while spent < effort.seconds:
        loops = max(loops + 1, math.ceil(1.2 * loops * effort.seconds / spent))
        spent = timed(loops)
    return min(timed(loops) for _ in range(effort.repetitions)) / loops


def peer_seconds(peer: peers.Peer, answers: np.ndarray, effort: Effort) -> float | str:
    """Seconds that a peer takes for one of the answers, or why there is no number."""
    if peer.prepare is None:
        return "not installed"
    try:
        return best(peer.prepare(answers), effort) / len(answers)
    except Exception as error:  # one broken peer does not stop the others
        return f"fails here: {error}"


def scaled(value: float | str, factor: float) -> float | str:
    """`value` in another unit, if it is a number."""
    return value if isinstance(value, str) else value * factor


def target(holds: bool) -> str:
    """The word for a target."""
    return "met" if holds else "missed"


def _contestants(k: int) -> list[tuple[str, channels.Channel, str]]:
    """The name and the channel of tacit, and the group of peers that it is compared with."""
    if k > 1000:
        return [("hashed", channels.hashed(k, 2), "local hashing")]
    return [
        ("srr", channels.srr(k, 1), "randomised response"),
        ("rrrr", channels.rrrr(k, range(k // 4), 1, 0.9), "randomised response"),
        ("subset", channels.subset(k, 1), "subset selection"),
        ("coarse", channels.coarse(k, range(k // 10), 1), f"subset selection, {k // 10 + 1} categories"),
    ]


def _rivals(k: int) -> list[tuple[str, int, list[peers.Peer]]]:
    """The groups of peers, each with its number of categories."""
    if k > 1000:
        return [("local hashing", k, peers.hashing(k, 2.0))]
    cells = k // 10 + 1
    return [
        ("randomised response", k, peers.direct(k, 1.0)),
        ("subset selection", k, peers.subset(k, 1.0)),
        (f"subset selection, {cells} categories", cells, peers.subset(cells, 1.0)),
        ("others", k, peers.others(k, 1.0)),
    ]


def sample(effort: Effort) -> tuple[list[Row], list[Row]]:
    """Reports a second of simulated people: tacit's ratio to the fastest peer, and all numbers of peers."""
    ratios, rows, rng = [], [], np.random.default_rng(1)
    for k in (20, 1000, 100_000):
        rates: dict[tuple[str, bool], float] = {}
        for group, top, rivals in _rivals(k):
            answers = rng.integers(0, top, effort.users)
            for peer in rivals:
                seconds = peer_seconds(peer, answers, effort)
                rate = seconds if isinstance(seconds, str) else 1 / seconds
                rows.append(
                    {"K": k, "mechanism": group, "library": peer.library, "call": peer.call}
                    | {"covers": peer.covers, "reports a second": rate}
                )
                if isinstance(rate, float):
                    kind = group, peer.covers == peers.COMPILED
                    rates[kind] = max(rate, rates.get(kind, 0.0))
        for name, channel, group in _contestants(k):
            n = effort.answers // 10 if k == 1000 and name in ("subset", "coarse") else effort.answers
            answers = rng.integers(0, k, n)
            rate = n / best(lambda c=channel, x=answers: c.sample(x, rng), effort)
            ratios.append(_ratio(k, name, group, rate, rates))
    return ratios, rows


def _ratio(k: int, name: str, group: str, rate: float, rates: dict[tuple[str, bool], float]) -> Row:
    documented, compiled = rates.get((group, False)), rates.get((group, True))
    by = [rate / peer if peer else None for peer in (documented, compiled)]
    fits = [value is None or value >= TARGET_RATIO for value in by]
    verdict = "met" if all(fits) else "met by the documented loop" if fits[0] else "missed"
    return {
        "K": k,
        "channel": name,
        "reports a second": rate,
        "peers": group,
        "documented loop": documented or "none",
        "ratio": by[0] or "-",
        "our compiled loop": compiled or "none",
        "ratio, compiled": by[1] or "-",
        f"{TARGET_RATIO} times": verdict if documented or compiled else "-",
    }


def support(effort: Effort) -> list[Row]:
    """Microseconds a report to find the categories that support hashed reports, K = 1,000, epsilon 1."""
    k, n = 1000, effort.users
    answers = np.random.default_rng(2).integers(0, k, n)
    channel = channels.hashed(k, 1)
    reports = channel.sample(answers, 2)
    rows = []
    for call, covers in (("tally", "support counts"), ("likelihood", "a row of K probabilities a report")):
        us = best(lambda c=call: getattr(channel, c)(reports), effort) / n * 1e6
        rows.append({"library": "tacit", "call": f"hashed(...).{call}", "covers": covers, "us a report": us})
        rows[-1]["below 20 us"] = target(us < TARGET_SUPPORT_US)
    for peer in peers.support_counting(k, 1.0):
        # One by one a report costs the peers half a millisecond; FastLHServer needs many for its fixed cost.
        few = np.tile(answers, 10) if peer.call == "FastLHServer" else answers[: max(n // 10, 20)]
        us = scaled(peer_seconds(peer, few, effort), 1e6)
        rows.append({"library": peer.library, "call": peer.call, "covers": peer.covers, "us a report": us})
    return rows


def respond(effort: Effort) -> list[Row]:
    """Microseconds a real report, epsilon 1, from the operating system's randomness."""
    rows: dict[str, Row] = {}
    for k in (20, 1000):
        answers = np.random.default_rng(3).integers(0, k, min(effort.users, 2000))
        made = {name: channel for name, channel, _ in _contestants(k)} | {"hashed": channels.hashed(k, 1)}
        if k == 20:
            made["from_matrix"] = channels.from_matrix(channels.srr(k, 1).matrix(), 1)
        for name, channel in made.items():
            items, call = answers.tolist(), channel.respond
            us = best(lambda f=call, x=items: [f(i) for i in x], effort) / len(items) * 1e6
            row = rows.setdefault(name, {"library": "tacit", "channel": name})
            row[f"us, K = {k:,}"] = us
            if k == 20:
                row["below 100 us at K = 20"] = target(us < TARGET_RESPOND_US)
        peer = peers.opendp_response(k, 1.0)
        row = rows.setdefault(peer.call, {"library": peer.library, "channel": peer.call})
        row[f"us, K = {k:,}"] = scaled(peer_seconds(peer, answers, effort), 1e6)
    return list(rows.values())


def certificate(effort: Effort) -> list[Row]:
    """Milliseconds of the exact loss of a table: `certify(table)`, `.loss` and `.holds`, nothing cached."""
    matrix = channels.srr(200, 1).matrix().tolist()
    tables = {
        "rrrr, K = 1,000": build.rrrr(1000, range(250), 1, 0.9),
        "subset, K = 1,000": build.subset(1000, 1),
        "hashed, K = 100,000": build.hashed(100_000, 2),
        "dense, K = 200": build.dense(matrix, 1),
    }

    def run(table: object) -> None:
        found = certify(replace(table))  # a new table, checked again: what a device does with a message
        assert found.holds
        assert found.loss <= table.epsilon

    rows = []
    for name, table in tables.items():
        ms = best(lambda t=table: run(t), effort) * 1e3
        rows.append({"table": name, "ms": ms, "below 1 s": target(ms < TARGET_CERTIFY_MS)})
    return rows


def import_time(effort: Effort) -> list[Row]:
    """Milliseconds to import in a new interpreter: the best of ten, with and without the interpreter's own."""

    def run(code: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    spent = {"pass": math.inf, "import tacit_client": math.inf, "import tacit": math.inf}
    for _ in range(max(10, effort.repetitions)):
        for code in spent:
            start = time.perf_counter()
            run(code)
            spent[code] = min(spent[code], (time.perf_counter() - start) * 1e3)
    rows: list[Row] = [{"module": "none (the interpreter alone)", "ms": spent["pass"]}]
    for name, limit in TARGET_IMPORT_MS.items():
        ms, loaded = spent[f"import {name}"], run(f"import sys, {name}; print('numba' in sys.modules)")
        rows.append(
            {"module": name, "ms": ms, "ms without the interpreter": ms - spent["pass"], "limit ms": limit}
            | {"target": target(ms < limit), "loads numba": "yes" if b"True" in loaded.stdout else "no"}
        )
    return rows


def growth(effort: Effort) -> list[Row]:
    """Nanoseconds a report of `sample` as the answers n and the categories K grow, epsilon 1."""
    rng, rows = np.random.default_rng(4), []

    def add(name: str, channel: channels.Channel, n: int) -> None:
        answers = rng.integers(0, channel.k, n)
        ns = best(lambda: channel.sample(answers, rng), effort) / n * 1e9
        cells = getattr(channel.table, "size", None)
        row = {"channel": name, "n": n, "K": channel.k, "ns a report": ns}
        rows.append(row | ({"cells a report": cells, "ns a category": ns / channel.k} if cells else {}))

    for power in range(4, 8):
        if 10**power <= effort.largest:
            add("srr", channels.srr(20, 1), 10**power)
    for name, make in (("srr", channels.srr), ("hashed", channels.hashed)):
        for power in range(1, 6):
            add(name, make(10**power, 1), effort.answers)
    for k in (10, 20, 50, 100, 200, 500, 1000, 2000):
        add("subset", channels.subset(k, 1), effort.answers // 10)
    return rows


def show(console: Console, title: str, rows: list[Row]) -> None:
    """Print one section."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    table = Table(title=title, title_justify="left")
    for column in columns:
        numeric = any(isinstance(row.get(column), int | float) for row in rows)
        table.add_column(column.strip(), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(shown(row.get(column, "")) for column in columns))
    console.print(table)


def shown(value: object) -> str:
    """A number with three significant digits, or the text."""
    if isinstance(value, float):
        rounded = float(f"{value:.3g}")
        return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def version(library: str) -> str:
    """The installed version of a distribution."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "not installed"


def main() -> None:
    """Run every section, print it, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds: to see that it runs")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where to write the JSON")
    options = parser.parse_args()
    effort, console = QUICK if options.quick else FULL, Console()
    ratios, rates = sample(effort)
    sections = {"sample, against the fastest peer": ratios, "sample, every peer": rates}
    for section in (support, respond, certificate, import_time, growth):
        sections[section.__name__] = section(effort)
    sections["response_times"] = response_times(effort.calls)
    for title, rows in sections.items():
        show(console, title, rows)
    result = {
        "versions": {library: version(library) for library in LIBRARIES},
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "repetitions": effort.repetitions,
        "quick": options.quick,
        "sections": sections,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

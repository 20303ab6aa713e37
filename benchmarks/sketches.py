"""How fast the sketches are, beside Apache DataSketches and plain NumPy, and what the exact noise adds.

    python benchmarks/sketches.py [--quick] [--output FILE]

Rates are the best of many short repetitions, which is what a busy machine still gets right; the whole stream is
timed once, from beginning to end. A cell update is one addition to one row. Items are Zipf(1) draws from 2^29, as
in `experiments/sketches`. DataSketches has no call for many items, so it runs in a Python loop over a list that was
made before.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from tacit.sketch import CountMinSketch, CountSketch, UseAndKeep, hashing, noise

LIBRARIES = ("tacit", "numpy", "numba", "datasketches", "opendp", "xxhash", "pyarrow")
RESULTS = Path(__file__).parent / "results" / "sketches.json"
W = 5000
Row = dict[str, Any]


def best(run: Callable[[], object], repetitions: int) -> float:
    """Seconds of the fastest call, after one that compiles and fills the caches."""
    run()
    spent = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        spent.append(time.perf_counter() - start)
    return min(spent)


def zipf(count: int, seed: int) -> np.ndarray:
    """Zipf(1) draws from 1..2^29: the inverse of the continuous law, rounded. Close enough for speed."""
    u = np.random.default_rng(seed).random(count)
    return np.exp(u * np.log(2**29)).astype(np.int64)


def numpy_update(keys: np.ndarray, words: np.ndarray, cells: np.ndarray, signed: bool) -> None:
    """The same hashes by NumPy's own functions, one row after the other."""
    digests = hashing.digest(keys, 0)
    low, high = digests & np.uint64(2**32 - 1), digests >> np.uint64(32)
    for i, row in enumerate(words):
        column = (((low + row[0]) * (high + row[1]) + row[2]) >> np.uint64(32)) * np.uint64(W) >> np.uint64(
            32
        )
        weights = None
        if signed:
            weights = 1.0 - 2.0 * (((low + row[3]) * (high + row[4]) + row[5]) >> np.uint64(63)).astype(float)
        cells[i] += np.bincount(column.astype(np.int64), weights, W).astype(np.int64)


def updates(count: int, repetitions: int) -> list[Row]:
    """Millions of items, and of cells, a second."""
    from datasketches import count_min_sketch

    keys = zipf(count, 1)
    few = keys[: count // 10].tolist()
    names = [f"item {k}" for k in few]
    distinct = [f"item {k}" for k in range(len(few))]
    column = pa.array(names)
    rows: list[Row] = []

    def add(library: str, call: str, items: str, d: int, n: int, run: Callable[[], object]) -> None:
        rate = n / best(run, repetitions) / 1e6
        row = {"library": library, "call": call, "items": items, "d": d}
        rows.append(row | {"M items / s": rate, "M cells / s": rate * d})

    for d in (5, 9):
        for kind in (CountMinSketch, CountSketch):
            sketch = kind(d, W)
            name = kind.__name__
            add("tacit", name, "integers", d, count, lambda s=sketch: s.update(keys))
            if d == 5:
                add("tacit", name, "strings, list", d, len(names), lambda s=sketch: s.update(names))
                add(
                    "tacit",
                    name,
                    "distinct strings, list",
                    d,
                    len(names),
                    lambda s=sketch: s.update(distinct),
                )
                add("tacit", name, "strings, Arrow", d, len(names), lambda s=sketch: s.update(column))
            words, cells = hashing.coefficients(0, d), np.zeros((d, W), np.int64)
            signed = kind is CountSketch
            add("NumPy", f"bincount, {'signed' if signed else 'unsigned'}", "integers", d, count,
                lambda w=words, c=cells, s=signed: numpy_update(keys, w, c, s))  # fmt: skip

    def loop(sketch: Any, items: list[Any]) -> None:
        update = sketch.update
        for item in items:
            update(item)

    for d in (5, 9):
        peer = count_min_sketch(d, W)
        add("DataSketches", "count_min_sketch", "integers", d, len(few), lambda p=peer: loop(p, few))
        add("DataSketches", "count_min_sketch", "strings, list", d, len(few), lambda p=peer: loop(p, names))
        add(
            "DataSketches",
            "count_min_sketch",
            "distinct strings, list",
            d,
            len(few),
            lambda p=peer: loop(p, distinct),
        )
    return rows


def targets(rows: list[Row], stream: list[Row], reads: list[Row]) -> list[Row]:
    """What was asked for, and what was found."""

    def rate(library: str, items: str, call: str, unit: str = "M items / s", d: int = 5) -> float:
        found = [
            r for r in rows if (r["library"], r["items"], r["call"], r["d"]) == (library, items, call, d)
        ]
        return float(found[0][unit])

    peer = {
        kind: rate("DataSketches", kind, "count_min_sketch")
        for kind in ("integers", "strings, list", "distinct strings, list")
    }
    checks = [
        ("M cells / s, integers, CountMinSketch", rate("tacit", "integers", "CountMinSketch", "M cells / s"), 150.0),
        ("M cells / s, integers, CountSketch", rate("tacit", "integers", "CountSketch", "M cells / s"), 150.0),
        ("times DataSketches, integers", rate("tacit", "integers", "CountMinSketch") / peer["integers"], 3.0),
        ("times DataSketches, strings", rate("tacit", "strings, list", "CountMinSketch") / peer["strings, list"], 1.0),
        ("times DataSketches, distinct strings",
         rate("tacit", "distinct strings, list", "CountMinSketch") / peer["distinct strings, list"], 1.0),
    ]  # fmt: skip
    out = [
        {"what": what, "found": found, "at least": least, "met": "yes" if found >= least else "no"}
        for what, found, least in checks
    ]
    for row, key, most in ((stream[0], "seconds", 30.0), (reads[0], "seconds", 0.1)):
        out.append(
            {
                "what": row["what"],
                "found": row[key],
                "at most": most,
                "met": "yes" if row[key] <= most else "no",
            }
        )
    return out


def whole_stream(count: int) -> list[Row]:
    """Seconds to count a stream of this length with d = 9, in chunks of a million that are made outside the clock."""
    rows = []
    for kind in (CountSketch, CountMinSketch):
        sketch, spent, done = kind(9, W), 0.0, 0
        sketch.update([1])
        while done < count:
            keys = zipf(min(10**6, count - done), done)
            start = time.perf_counter()
            sketch.update(keys)
            spent += time.perf_counter() - start
            done += len(keys)
        rows.append({"what": f"{count:,} items, d = 9, {kind.__name__}", "seconds": spent})
    return rows


def queries(count: int, repetitions: int) -> list[Row]:
    """Seconds for a batch of queries: the plain sketch, and the private one with and without noise drawn ahead."""
    items = np.arange(count)
    plain = CountSketch(9, W)
    plain.update(zipf(10**6, 5))
    rows = [
        {
            "what": f"{count:,} queries before noise, d = 9",
            "seconds": best(lambda: plain.query(items), repetitions),
        }
    ]
    private = UseAndKeep(CountSketch(9, W), 1.0)
    private.update(zipf(10**6, 5))
    cells = len(private._flat(private._read(items))[2])

    def timed(what: str) -> Row:
        start = time.perf_counter()
        private.query(items)
        return {"what": what, "seconds": time.perf_counter() - start, "cells noised": cells}

    private.query(items)
    rows.append(timed("the same, private, noise drawn at the query"))
    start = time.perf_counter()
    noise.EXACT.prepare(private._law, cells).join()
    ahead = time.perf_counter() - start
    rows.append(timed("the same, private, noise drawn ahead"))
    rows.append({"what": "drawing that noise ahead", "seconds": ahead, "cells noised": cells})
    rows.append({"what": "one draw of OpenDP, microseconds", "seconds": ahead / cells * 1e6})
    single = best(lambda: private.query([1]), 200)
    rows.append({"what": "one query, private, noise drawn ahead", "seconds": single, "cells noised": 9})
    return rows


def memory() -> list[Row]:
    """Bytes of the sketches, which nothing else grows."""
    from datasketches import count_min_sketch

    private, peer = UseAndKeep(CountSketch(9, W), 1.0), count_min_sketch(9, W)
    peer.update(1)
    return [
        {"what": "cells of a sketch, d = 9", "bytes": private._sketch.cells.nbytes},
        {"what": "numbers of uses of a private one", "bytes": private._uses.nbytes},
        {"what": "tacit, written", "bytes": len(private.to_bytes())},
        {"what": "DataSketches, written", "bytes": len(peer.serialize())},
    ]


def show(console: Console, title: str, rows: list[Row]) -> None:
    """Print one section."""
    table = Table(title=title, title_justify="left")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    for column in columns:
        table.add_column(column, justify="left" if isinstance(rows[0].get(column), str) else "right")
    for row in rows:
        values = (row.get(column, "") for column in columns)
        table.add_row(
            *(
                f"{v:,.3g}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else str(v)
                for v in values
            )
        )
    console.print(table)


def main() -> None:
    """Run every section, print it, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds: to see that it runs")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where to write the JSON")
    options = parser.parse_args()
    count, length, repetitions = (10**5, 10**6, 2) if options.quick else (10**6, 2**27, 40)
    sections = {
        "updates": updates(count, repetitions),
        "a whole stream": whole_stream(length),
        "queries": queries(10**5, repetitions),
        "memory": memory(),
    }
    sections["targets"] = targets(sections["updates"], sections["a whole stream"], sections["queries"])
    for title, rows in sections.items():
        show(Console(), title, rows)
    result = {
        "versions": {library: metadata.version(library) for library in LIBRARIES},
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "quick": options.quick,
        "sections": sections,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

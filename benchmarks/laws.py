"""How fast the likelihoods of numbers and the search for the best interval are.

    python benchmarks/laws.py [--output FILE]

All times are those of the processor; one thread does the work.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from tacit import LocationScale
from tacit.models import CellTable, ClippedTable, clipped_information
from tacit.policies import best_graded, best_interval
from tacit.policies.intervals import _best

RESULTS = Path(__file__).parent / "results" / "laws.json"
FAMILIES = ("normal", "logistic", "laplace", "student:4")
POINTS = 1000
Row = dict[str, object]


def points(rng: np.random.Generator) -> np.ndarray:
    """Particles of a posterior that has seen some hundred reports."""
    return np.column_stack([rng.normal(50, 0.5, POINTS), rng.uniform(2.8, 3.6, POINTS)])


def seconds(table: CellTable | ClippedTable, model: LocationScale, where: np.ndarray) -> float:
    """Of one evaluation, after the kernel was loaded."""
    table.value(model, where[:1])
    start = time.process_time()
    table.value(model, where)
    return time.process_time() - start


def cells() -> list[Row]:
    """Channels with one report each, every one with its own cuts."""
    rng = np.random.default_rng(1)
    where = points(rng)
    rows = []
    for name, n, cuts in (
        *((name, 10_000, 1) for name in FAMILIES),
        ("normal", 10_000, 4),
        ("normal", 100_000, 1),
    ):
        matrix = rng.dirichlet(np.ones(cuts + 1), 1)
        places = rng.normal(50, 1, n)[:, None] + np.linspace(-3, 3, cuts) * (cuts > 1)
        table = CellTable.of([(place, matrix, [1]) for place in places])
        taken = seconds(table, LocationScale(name, mean=0, sd=100), where)
        rows.append({"family": name, "channels": n, "cuts": cuts, "seconds": taken,
                     "ns a report, point and cut": 1e9 * taken / (n * POINTS * cuts)})  # fmt: skip
    return rows


def noise() -> list[Row]:
    """Reports of clipped noise, on an interval of 0.6 sigma and on one of 20 sigma."""
    rng = np.random.default_rng(2)
    where, n = points(rng), 1000
    rows = []
    for name in FAMILIES:
        for kind in ("laplace", "gaussian"):
            row: Row = {"family": name, "noise": kind}
            for half in (1.0, 30.0):
                reports = rng.normal(50, 3 * half, n)
                table = ClippedTable.of(reports, 50 - half, 50 + half, 2 * half, kind)
                taken = seconds(table, LocationScale(name, mean=0, sd=100), where)
                row[f"ns a report and point, 50 +- {half:g}"] = 1e9 * taken / (n * POINTS)
            rows.append(row)
    return rows


def searches() -> list[Row]:
    """Milliseconds of one information matrix and of a search that is not in the cache."""
    start = time.process_time()
    for _ in range(100):
        clipped_information("normal", -0.7, 0.7, 1.4, [[0.0, 1.0]])
    rows: list[Row] = [{"what": "one information matrix", "ms": 10 * (time.process_time() - start)}]
    best_interval("normal", 3.0)  # loads the optimiser
    for score in ("mu", "sigma", "det"):
        for find in (best_interval, best_graded):
            _best.cache_clear()
            start = time.process_time()
            find("normal", 1.0, score)
            rows.append({"what": f"{find.__name__}, {score}", "ms": 1e3 * (time.process_time() - start)})
    return rows


def main() -> None:
    """Measure, print, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = {"cells": cells(), "noise": noise(), "searches": searches()}
    for title, rows in results.items():
        table = Table(*rows[0], title=title)
        for row in rows:
            table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()))
        Console().print(table)
    options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

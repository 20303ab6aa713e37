"""How fast the subsample priors are, beside cross-validation, and how they grow with rows.

    python -m benchmarks.regression_subsample [--quick] [--output FILE]

CPU seconds of one thread, the best of several interleaved rounds. Peers run in the same rounds, on simulated rows in
the shape of abalone (3132 x 7). Large tables have 20 columns; memory is the highest resident size of a process of its
own above the one before the fit, over the size of the table, and the table itself.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).parent / "results" / "regression_subsample.json"
COLUMNS = 20


def rows(count: int, columns: int, kind: str) -> tuple[Any, Any]:
    """A table and its answers."""
    rng = np.random.default_rng(count)
    x = rng.normal(size=(count, columns))
    eta = x @ np.linspace(-0.5, 0.5, columns)
    if kind == "ridge":
        return x, eta + rng.normal(size=count)
    if kind == "poisson":
        return x, rng.poisson(np.exp(0.3 * eta)).astype(float)
    return x, (eta + rng.logistic(size=count) > 0).astype(float)


def estimators(kind: str) -> dict[str, Any]:
    """Ours and cross-validation's."""
    from sklearn.linear_model import LogisticRegressionCV, PoissonRegressor, RidgeCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    from tacit.regression import SubsampleLinearSVC, SubsampleLogistic, SubsamplePoisson, SubsampleRidge

    if kind == "ridge":
        return {
            "SubsampleRidge": SubsampleRidge(random_state=1),
            "RidgeCV": RidgeCV(np.logspace(-3, 4, 15), cv=10),
        }
    if kind == "poisson":
        search = GridSearchCV(
            PoissonRegressor(solver="newton-cholesky"), {"alpha": np.logspace(-5, 2, 15)}, cv=10
        )
        return {"SubsamplePoisson": SubsamplePoisson(random_state=1), "GridSearchCV": search}
    if kind == "machine":
        machines = GridSearchCV(LinearSVC(), {"C": np.logspace(-4, 2, 7)}, cv=10)
        return {"SubsampleLinearSVC": SubsampleLinearSVC(random_state=1), "GridSearchCV": machines}
    other = LogisticRegressionCV(cv=10, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy")
    return {"SubsampleLogistic": SubsampleLogistic(random_state=1), "LogisticRegressionCV": other}


def beside(kind: str, rounds: int) -> list[dict[str, Any]]:
    """The best CPU seconds of each, in turn."""
    x, y = rows(3132, 7, kind)
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, estimator in estimators(kind).items():
            start = time.process_time()
            estimator.fit(x, y)
            best[name] = min(best.get(name, np.inf), time.process_time() - start)
    return [{"what": f"{kind}, 3132 x 7", "estimator": name, "seconds": s} for name, s in best.items()]


def _large(kind: str, count: int, pipe: Any) -> None:
    with threadpool_limits(1):
        x, y = rows(count, COLUMNS, kind)
        small = rows(1000, COLUMNS, kind)
        (ours, _) = estimators(kind).values()
        ours.fit(*small)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        wall, start = time.perf_counter(), time.process_time()
        ours.fit(x, y)
        spent, wall = time.process_time() - start, time.perf_counter() - wall
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        pipe.send({
            "what": f"{kind}, {count} x {COLUMNS}", "estimator": type(ours).__name__, "seconds": spent,
            "wall": wall, "memory": 1 + more / x.nbytes,
        })  # fmt: skip


def large(kind: str, count: int) -> dict[str, Any]:
    """One fit of a large table in a fresh process; `memory` counts the table itself."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_large, args=(kind, count, there))
    process.start()
    found: dict[str, Any] = here.recv()
    process.join()
    return found


def main() -> None:
    """Print a table and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, one round")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the JSON file")
    options = parser.parse_args()
    rounds, sizes = (1, (10_000, 100_000)) if options.quick else (5, (10_000, 100_000, 1_000_000))
    found: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for kind in ("ridge", "logistic", "poisson", "machine"):
            found += beside(kind, rounds)
    found += [large(kind, count) for kind in ("ridge", "logistic", "poisson", "machine") for count in sizes]
    table = Table("rows", "estimator", "CPU seconds", "wall", "memory / table")
    for row in found:
        extra = [f"{row[key]:.2f}" if key in row else "" for key in ("wall", "memory")]
        table.add_row(row["what"], row["estimator"], f"{row['seconds']:.4f}", *extra)
    Console(width=110).print(table)
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

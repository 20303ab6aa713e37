"""Every method of chapter 2 on the same splits, one line of results/subsample.jsonl for a data set and a repeat.

    TACIT_DATA=DIR python -m experiments.regression.subsample_run [--data DIR] [--task NAME] [--repeats 50]

A finished line stays, so the command may be stopped at any time and goes on where it stood. A split gives three
quarters of the rows to training; columns, and y of the linear sets, are standardised on them. A line has `error` (mean
squared error, misclassified per cent, or Poisson deviance per row) and `seconds` of `fit`, for each method: CPU seconds
of one process, since a busy machine stretches the clock and not those. Numerical libraries are held to one thread.

Without a folder the sets are those that scikit-learn bundles. Large sets get fewer repeats (`REPEATS`).
The task `closed` is table A.1, simulated; `bayes` runs in the first 10 repeats of small sets.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from experiments.regression import subsample_data, subsample_methods
from rich.progress import track
from scipy.stats import invwishart
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).parent / "results" / "subsample.jsonl"
TASKS = ("linear", "logistic", "poisson", "svm", "closed")
REPEATS = {
    ("poisson", "bikeshare"): 10,
    ("poisson", "bikeshare-honest"): 10,
    ("poisson", "NMES1988"): 15,
    ("poisson", "NMES1988-honest"): 15,
    ("svm", "spambase"): 15,
    ("svm", "abalone"): 25,
    ("logistic", "spambase"): 25,
}
SMALL = 1600  # rows up to which the slow searches run
BAYES = 10  # and in how many repeats
CLOSED = [
    (rows, 100, law, noise, zeros)
    for law in ("normal", "norm-IW")
    for rows in (2000, 1000)
    for noise in (100, 10)
    for zeros in (0.25, 0.5, 0.75)
]
CLOSED_METHODS = ("tacit", "none", "cv", "full", "jackknife", "closed", "closed-thesis", "subagging")
Line = dict[str, Any]
Split = tuple[Any, Any, Any, Any]


def simulated(name: str, repeat: int) -> tuple[Any, Any]:
    """A table of A.1: rows, columns, law of the columns, deviation of the noise, share of zero coefficients."""
    rows, columns, law, noise, zeros = CLOSED[int(name)]
    rng = np.random.default_rng([repeat, int(name)])
    x = rng.normal(size=(rows, columns))
    if law == "norm-IW":
        cov = invwishart.rvs(columns + 2, np.eye(columns), random_state=rng)
        x = x @ np.linalg.cholesky(cov).T
    b = rng.normal(size=columns) * (rng.random(columns) >= zeros)
    x /= x.std(axis=0)
    return x, x @ b + noise * rng.normal(size=rows)


def split(task: str, x: Any, y: Any, repeat: int) -> Split:
    """Training and test rows, standardised on the former."""
    train_x, test_x, train_y, test_y = train_test_split(x, y, test_size=0.25, random_state=repeat)
    scaler = StandardScaler().fit(train_x)
    if task == "linear":
        middle, deviation = train_y.mean(), train_y.std()
        train_y, test_y = (train_y - middle) / deviation, (test_y - middle) / deviation
    return scaler.transform(train_x), scaler.transform(test_x), train_y, test_y


def error(task: str, y: Any, predicted: Any) -> float:
    """What a table shows."""
    if task in ("logistic", "svm"):
        return float(100 * np.mean(predicted != y))
    if task == "poisson":
        return float(mean_poisson_deviance(y, np.clip(predicted, 1e-12, 1e12)))
    return float(np.mean((y - predicted) ** 2))


def one(task: str, name: str, repeat: int, folder: Path | None) -> Line:
    """A line."""
    kind = "linear" if task == "closed" else task
    x, y = simulated(name, repeat) if task == "closed" else subsample_data.read(task, name, folder)
    train_x, test_x, train_y, test_y = split(task, x, y, repeat)
    small = task != "closed" and len(y) <= SMALL and repeat < BAYES
    chosen = CLOSED_METHODS if task == "closed" else subsample_methods.methods(kind, small)
    errors, seconds, size, count = {}, {}, 0, 0
    for method in chosen:
        estimator = subsample_methods.made(kind, method, repeat, size, count)
        start = time.process_time()
        estimator.fit(train_x, train_y)
        seconds[method] = time.process_time() - start
        errors[method] = error(kind, test_y, estimator.predict(test_x))
        if method == "tacit":
            size, count = estimator.size_, estimator.n_subsamples_
    return {
        "task": task, "data": name, "repeat": repeat, "size": size, "count": count,
        "error": {m: float(f"{v:.6g}") for m, v in errors.items()},
        "seconds": {m: float(f"{v:.3g}") for m, v in seconds.items()},
    }  # fmt: skip


def wanted(tasks: tuple[str, ...], repeats: int, folder: Path | None) -> Iterator[tuple[str, str, int]]:
    """All lines, repeat by repeat, so that a run that is stopped is even."""
    for repeat in range(repeats):
        for task in tasks:
            sets = map(str, range(len(CLOSED))) if task == "closed" else subsample_data.names(task, folder)
            most = 12 if task == "closed" else repeats
            for name in sets:
                if repeat < min(REPEATS.get((task, name), most), repeats):
                    yield task, name, repeat


def finished(path: Path = RESULTS) -> list[Line]:
    """The lines made so far; one that is still being written does not count."""
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines(keepends=True) if text.endswith("\n")]


def make(tasks: tuple[str, ...], repeats: int, folder: Path | None, path: Path = RESULTS) -> None:
    """Add the lines that are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    there = {(line["task"], line["data"], line["repeat"]) for line in finished(path)}
    if path.exists():
        with path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
    missing = [cell for cell in wanted(tasks, repeats, folder) if cell not in there]
    subsample_methods.quiet()
    with path.open("a") as out, threadpool_limits(1):
        for task, name, repeat in track(missing, f"{len(missing)} splits"):
            out.write(json.dumps(one(task, name, repeat, folder), separators=(",", ":")) + "\n")
            out.flush()


def main() -> None:
    """Make the missing lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("TACIT_DATA"), help="the folder of the sets"
    )
    parser.add_argument("--task", choices=TASKS, help="only one")
    parser.add_argument("--repeats", type=int, default=50, help="splits of each set")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of lines")
    options = parser.parse_args()
    folder = Path(options.data) if options.data else None
    make((options.task,) if options.task else TASKS, options.repeats, folder, options.output)


if __name__ == "__main__":
    main()

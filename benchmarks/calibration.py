"""Whole adaptive studies with the truth drawn from their own prior: do the intervals hold it as often as they say?

    python benchmarks/calibration.py [--studies 1000] [--workers 2] [--quick]

Each study draws theta from its prior, asks n simulated people in rounds by an adaptive policy, and looks at its
equal-tailed intervals once, at the end. Theta is the shares of categories, or the (mu, sigma) of a number. A study
counts by the share of its intervals that hold the truth, so that standard errors are clustered by study. Under a
right sampler the rank of the truth among independent draws is uniform; chi2 compares the ranks of the first
parameter with that (simulation-based calibration). Results go to results/calibration.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import chi2, norm

from tacit import Categorical, LocationScale, Normal, simulate
from tacit_client import Question

RESULTS = Path(__file__).parent / "results" / "calibration.json"
LEVELS = (0.5, 0.9, 0.95)
BINS = 20
DRAWS = 500
DESIGNS = {
    "learned, risk": (Categorical(8), "risk", 1.0, 1500),
    "learned, honest": (Categorical(6), "honest", 2.0, 800),
    "fixed 1, risk": (Categorical(8, 1.0), "risk", 2.0, 1000),
    "fixed 0.3, semi:0.9": (Categorical(6, 0.3), "semi:0.9", 1.0, 800),
    "normal, information": (Normal(mean=50, sd=10, shape=4, rate=300), "information", 2.0, 600),
    "normal, information:mu": (Normal(mean=50, sd=10, shape=4, rate=300), "information:mu", 1.0, 600),
    "student:5, truncation": (
        LocationScale("student:5", mean=50, sd=10, shape=4, rate=300),
        "truncation",
        2.0,
        600,
    ),
}
QUESTION = Question("number", "What is your number?", (), "units", lowest="0", highest="100", step="0.5")


def one_study(name: str, number: int) -> list[float]:
    """The share of categories inside at each level, and the rank of the first category's truth, in 0..1."""
    model, policy, epsilon, n = DESIGNS[name]
    rng = np.random.default_rng([list(DESIGNS).index(name), number, 5])
    if isinstance(model, Categorical):
        theta = model.sample_prior(1, rng).theta[0]
        theta /= theta.sum()
        result: Any = simulate(theta, epsilon, policy, n=n, model=model, seed=rng)
        # Draws are not independent: one of every chain, far enough apart, are nearly so.
        chains = result.posterior.chains
        thinned = chains[:, :: max(1, chains.shape[1] // 4), 0].ravel()
    else:
        theta = model.sample_prior(1, rng)[0]
        result = simulate(theta, epsilon, policy, n=n, model=model, question=QUESTION, seed=rng)
        thinned = result.posterior.draws[-100:, 0]  # where the chains of the last move ended
    shares = []
    for level in LEVELS:
        low, high = result.posterior.interval(level)
        shares.append(float(((low <= theta) & (theta <= high)).mean()))
    below = (thinned < theta[0]).sum() + rng.random() * ((thinned == theta[0]).sum() + 1)
    return [*shares, float(below / (len(thinned) + 1))]


def summarise(rows: np.ndarray) -> dict[str, Any]:
    """Coverage with its standard error and 99.9 % interval, and the p-value of the ranks."""
    count = len(rows)
    out: dict[str, Any] = {"studies": count}
    for i, level in enumerate(LEVELS):
        mean, error = float(rows[:, i].mean()), float(rows[:, i].std(ddof=1) / math.sqrt(count))
        reach = float(norm.ppf(0.9995)) * error
        out[f"{level:g}"] = {"coverage": mean, "se": error, "holds": bool(abs(mean - level) <= reach)}
    counts = np.histogram(rows[:, -1], BINS, (0, 1))[0]
    statistic = float(((counts - count / BINS) ** 2 / (count / BINS)).sum())
    return out | {"rank p-value": float(chi2.sf(statistic, BINS - 1)), "ranks": counts.tolist()}


def main() -> None:
    """Run the studies and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=1000, help="of each design")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--only", choices=DESIGNS, action="append", help="this design; may be given again")
    parser.add_argument("--quick", action="store_true", help="40 studies each, printed and not kept")
    options = parser.parse_args()
    count = 40 if options.quick else options.studies
    shown = Table(title="Coverage of intervals (standard error, clustered by study)")
    for heading in ("design", "studies", *(f"{level:.0%}" for level in LEVELS), "ranks: p"):
        shown.add_column(heading, justify="right")
    out = json.loads(RESULTS.read_text()) if options.only and RESULTS.exists() else {}
    with ProcessPoolExecutor(options.workers) as pool:
        for name in options.only or DESIGNS:
            jobs = pool.map(one_study, [name] * count, range(count))
            rows = np.array(list(track(jobs, name, total=count)))
            out[name] = found = summarise(rows)
            cells = [
                f"{found[f'{level:g}']['coverage']:.3f} ({found[f'{level:g}']['se']:.3f})" for level in LEVELS
            ]
            shown.add_row(name, str(count), *cells, f"{found['rank p-value']:.2g}")
    Console(width=120).print(shown)
    if not options.quick:
        RESULTS.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""How fast posteriors, utilities, policies and studies are.

    python benchmarks/posterior.py [--output FILE]

Effective draws a second are counted by each sampler's slowest category. The cost of a round is that of a study in which
the reports before it have already come.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from tacit import Categorical, Evidence, Study, channels, posterior
from tacit.policies import optimal_matrix, risk, utility_curve
from tacit.policies.utilities import UTILITIES

RESULTS = Path(__file__).parent / "results" / "posterior.json"
Row = dict[str, object]


def best(run: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of some calls, after one to warm up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def gathered(k: int, n: int, epsilon: float = 1.0) -> Evidence:
    """n reports of the static subset channel, from a population that is not even."""
    rng = np.random.default_rng(k)
    channel = channels.subset(k, epsilon)
    theta = rng.dirichlet(np.ones(k))
    return Evidence().add(channel, channel.sample(rng.choice(k, n, p=theta), rng))


def samplers() -> list[Row]:
    """Effective draws a second at K = 20, n = 10,000."""
    evidence = gathered(20, 10_000)
    rows = []
    for method, model in (("exact", Categorical(20)), ("exact", Categorical(20, 1.0)), ("moments", Categorical(20)),
                          ("gibbs", Categorical(20, 1.0))):  # fmt: skip
        start = time.perf_counter()
        drawn = posterior.sample(model, evidence, method, draws=1000, seed=1)
        seconds = time.perf_counter() - start
        effective = float(drawn.ess().min())
        rows.append({"sampler": method, "concentration": "learned" if model.learned else "fixed", "seconds": seconds,
                     "effective draws": effective, "a second": effective / seconds})  # fmt: skip
    return rows


def utilities() -> list[Row]:
    """Milliseconds of a whole curve, and the growth from K = 500 to 2,000."""
    rng = np.random.default_rng(1)
    rows = []
    thetas = {k: rng.dirichlet(np.ones(k)) for k in (500, 1000, 2000)}
    for name in UTILITIES:
        times = {k: best(partial(utility_curve, theta, 1.0, 0.9, name)) for k, theta in thetas.items()}
        rows.append(
            {"utility": name, "ms at K = 1,000": 1e3 * times[1000], "2,000 / 500": times[2000] / times[500]}
        )
    return rows


def steps() -> list[Row]:
    """Milliseconds of one risk-policy step and of the optimal matrix."""
    rng = np.random.default_rng(2)
    rows: list[Row] = []
    for k in (20, 200):
        draws = rng.dirichlet(np.full(k, 20.0), 250)
        rows.append(
            {"step": f"risk policy, K = {k}", "ms": 1e3 * best(partial(risk.choose, draws, 1.0, 5000))}
        )
    theta = rng.dirichlet(np.ones(20))
    for utility in ("linear", "cross_entropy"):
        rows.append(
            {
                "step": f"optimal matrix, {utility}, K = 20",
                "ms": 1e3 * best(partial(optimal_matrix, theta, 1.0, utility)),
            }
        )
    return rows


def rounds() -> list[Row]:
    """Seconds to take in 1,000 reports and to close a round, after n have come; K = 10, epsilon 1."""
    rows = []
    for n in (10**3, 10**4, 10**5, 10**6):
        study = Study([f"c{i}" for i in range(10)], epsilon=1.0, policy="risk", expected=10 * n, seed=1)
        rng = np.random.default_rng(3)
        people = rng.choice(10, n, p=np.arange(1, 11) / 55)
        study.add(study.channel, study.channel.sample(people, rng))
        channel = study.channel
        values = channel.sample(people[:1000], rng)
        start = time.perf_counter()
        study.add(channel, values)
        study.advance()
        rows.append({"reports before": n, "ms of a round": 1e3 * (time.perf_counter() - start)})
    return rows


def main() -> None:
    """Measure, print, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = {
        "samplers, K = 20, n = 10,000": samplers(),
        "utilities": utilities(),
        "steps": steps(),
        "rounds": rounds(),
    }
    for title, rows in results.items():
        table = Table(title=title)
        for heading in rows[0]:
            table.add_column(heading, justify="right")
        for row in rows:
            table.add_row(
                *(f"{value:,.3g}" if isinstance(value, float) else str(value) for value in row.values())
            )
        Console().print(table)
    options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""How fast posteriors, utilities, policies and studies are.

    python benchmarks/posterior.py [--output FILE]

Effective draws a second are counted by each sampler's slowest category. The cost of a round is that of a study in
which the reports before it have already come. All times are those of the processor, since other programs on the same
machine stretch those of the clock; one thread does the work.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import linprog
from scipy.sparse import coo_array

from tacit import Categorical, Evidence, Study, channels, posterior
from tacit.policies import optimal_matrix, risk, utility_curve
from tacit.policies.utilities import UTILITIES

RESULTS = Path(__file__).parent / "results" / "posterior.json"
Row = dict[str, object]


def best(run: Callable[[], object], repeats: int = 5) -> float:
    """Processor seconds of the fastest of some calls, after one to warm up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def gathered(k: int, n: int, epsilon: float = 1.0) -> Evidence:
    """n reports of the static subset channel, from a population that is not even."""
    rng = np.random.default_rng(k)
    channel = channels.subset(k, epsilon)
    theta = rng.dirichlet(np.ones(k))
    return Evidence().add(channel, channel.sample(rng.choice(k, n, p=theta), rng))


def samplers() -> list[Row]:
    """Effective draws a second for 10,000 reports, warm-up included."""
    asked = [
        (20, "exact", "learned"),
        (20, "exact", 1.0),
        (20, "moments", "learned"),
        (20, "gibbs", 1.0),
        (20, "sgld", 1.0),
        (50, "exact", "learned"),
        (50, "moments", "learned"),
        (200, "exact", "learned"),
        (200, "moments", "learned"),
    ]
    rows = []
    for k, method, concentration in asked:
        model, evidence = Categorical(k, concentration), gathered(k, 10_000)
        posterior.sample(model, evidence, method, draws=25, seed=1)  # loads and builds what is made once
        start = time.process_time()
        drawn = posterior.sample(model, evidence, method, draws=1000, seed=1)
        seconds = time.process_time() - start
        effective = float(drawn.ess().min())
        kind = "learned" if model.learned else "fixed"
        rows.append({"K": k, "sampler": method, "concentration": kind, "seconds": seconds,
                     "effective draws": effective, "a second": effective / seconds})  # fmt: skip
    return rows


def utilities() -> list[Row]:
    """Milliseconds of a whole curve, and the growth from K = 500 to 2,000."""
    rng = np.random.default_rng(1)
    rows = []
    thetas = {k: rng.dirichlet(np.ones(k)) for k in (500, 1000, 2000)}
    for name in UTILITIES:
        times = {k: best(partial(utility_curve, theta, 1.0, 0.9, name), 20) for k, theta in thetas.items()}
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
    rows.append(
        {
            "step": "optimal matrix, cross_entropy, K = 20",
            "ms": 1e3 * best(partial(optimal_matrix, theta, 1.0, "cross_entropy")),
        }
    )
    return rows


def by_pairs(theta: np.ndarray, ratio: float) -> np.ndarray:
    """The linear optimum as the thesis writes it: K^2 variables, P_yx <= ratio P_yx' for every y and x != x'."""
    k = len(theta)
    y, x, other = (index.ravel() for index in np.meshgrid(*[np.arange(k)] * 3, indexing="ij"))
    y, x, other = (index[x != other] for index in (y, x, other))
    place, ones = np.arange(len(y)), np.ones(len(y))
    entries = np.concatenate([ones, -ratio * ones])
    columns = np.concatenate([y * k + x, y * k + other])
    rows = coo_array((entries, (np.concatenate([place, place]), columns)), (len(y), k * k))
    return _by_highs(-np.diag(theta).ravel(), rows, k)


def by_floors(theta: np.ndarray, ratio: float) -> np.ndarray:
    """The same with one more variable a row, m_y <= P_yx <= ratio m_y: 2 K^2 constraints."""
    k = len(theta)
    place = np.arange(k * k)
    floor, ones = k * k + place // k, np.ones(k * k)
    entries = np.concatenate([-ones, ones, ones, -ratio * ones])
    constraint = np.concatenate([place, place, k * k + place, k * k + place])
    columns = np.concatenate([place, floor, place, floor])
    rows = coo_array((entries, (constraint, columns)), (2 * k * k, k * k + k))
    return _by_highs(np.concatenate([-np.diag(theta).ravel(), np.zeros(k)]), rows, k)


def _by_highs(objective: np.ndarray, rows: coo_array, k: int) -> np.ndarray:
    """P (K, K): the first K^2 variables, the columns summing to one."""
    columns = np.tile(np.arange(k), k)
    sums = coo_array((np.ones(k * k), (columns, np.arange(k * k))), (k, len(objective)))
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(objective, rows.tocsc(), np.zeros(rows.shape[0]), sums.tocsc(), np.ones(k),
                    (0, 1), "highs", options=tight)  # fmt: skip
    if found.status:
        raise RuntimeError(found.message)
    return found.x[: k * k].reshape(k, k)


def programs() -> list[Row]:
    """The optimal linear matrix at K = 20 in three formulations, and how far their optima are apart."""
    theta, ratio = np.random.default_rng(2).dirichlet(np.ones(20)), float(np.e)
    forms: dict[str, tuple[str, Callable[[], np.ndarray], int]] = {
        "tacit": ("4 K", partial(optimal_matrix, theta, 1.0, "linear"), 20),
        "a floor a row": ("2 K^2", partial(by_floors, theta, ratio), 3),
        "the thesis": ("K^3 - K^2", partial(by_pairs, theta, ratio), 1),
    }
    values = {name: float(theta @ np.diag(solve())) for name, (_, solve, _) in forms.items()}
    return [
        {
            "formulation": name,
            "constraints": size,
            "ms": 1e3 * best(solve, repeats),
            "optimum": values[name],
            "less tacit's": f"{values[name] - values['tacit']:.0e}",
        }
        for name, (size, solve, repeats) in forms.items()
    ]


def rounds() -> list[Row]:
    """Milliseconds to take in 1,000 reports and to close a round, after n have come; epsilon 1."""
    rows = []
    for k, n in ((10, 10**3), (10, 10**4), (10, 10**5), (10, 10**6), (50, 10**4), (200, 10**4)):
        study = Study([f"c{i}" for i in range(k)], epsilon=1.0, policy="risk", expected=10 * n, seed=1)
        rng = np.random.default_rng(3)
        people = rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
        study.add(study.channel, study.channel.sample(people, rng))
        times = []
        for _ in range(3):  # more rounds at nearly the same n
            channel = study.channel
            values = channel.sample(people[:1000], rng)
            start = time.process_time()
            study.add(channel, values)
            study.advance()
            times.append(time.process_time() - start)
        rows.append({"K": k, "reports before": n, "ms of a round": 1e3 * min(times)})
    return rows


def main() -> None:
    """Measure, print, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = {
        "samplers, n = 10,000": samplers(),
        "utilities": utilities(),
        "steps": steps(),
        "programs": programs(),
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

"""RRRR, standard randomised response and the optimal mechanism at a known theta: figures 5.7 to 5.10 of the thesis.

    python -m experiments.adobest.optimal [--runs 50]

For K = 20, theta is drawn from Dirichlet(rho*, ..., rho*), the same ones at every epsilon. A mechanism is judged by

    linear           sum theta_x P(x | x)
    cross_entropy    sum theta_x ln P(x | x)

RRRR takes the number k of likeliest categories that is best by that very utility; k = 0 is standard randomised
response (SRR), so it can never be the worse one. Both utilities depend on S through its mass T only, by
a T + e (1 - T) and T ln a + (1 - T) ln e, with the entries a, e of `tacit.policies.utilities`. The optimum over all
epsilon-LDP matrices is `tacit.policies.optimal_matrix`.

An optimum may use fewer than K reports, down to one: a mechanism that says the same whatever the answer is.

>>> theta = np.array([0.7, 0.2, 0.1])
>>> [float(curve(theta, 1.0, 0.9, utility).max().round(3)) for utility in UTILITIES]
[0.616, -0.519]
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from experiments.adobest.grid import KAPPAS, RUNS, YEAR
from experiments.adobest.matrices import Floats
from experiments.adobest.reading import RESULTS, write
from experiments.parallel import at_least_one
from rich.progress import track

from tacit import Categorical
from tacit.policies.optimal import UTILITIES, optimal_matrix
from tacit.policies.utilities import matrix_entries

K = 20
EPSILONS = (0.1, 0.5, 1.0)
RHOS = (0.5, 1.0, 2.0)
OUTPUT = RESULTS / "optimal.json"
USED = 1e-9  # a report that is likelier than this for some answer counts as used


def population(rho: float, run: int) -> Floats:
    """theta (K,) of one run."""
    rng = np.random.default_rng([YEAR, K, round(1000 * rho), run])
    theta = Categorical(K, rho).sample_prior(1, rng).theta[0]
    return np.asarray(theta / theta.sum())


def curve(theta: Floats, epsilon: float, kappa: float, utility: str) -> Floats:
    """The utility of RRRR with the k likeliest categories, for k = 0..K-1."""
    m = matrix_entries(len(theta), epsilon, kappa)
    ordered = np.sort(theta)[::-1]
    mass = np.concatenate(([0.0], np.cumsum(ordered)[:-1]))
    a, e = (m.a, m.e) if utility == "linear" else (np.log(m.a), np.log(m.e))
    return np.asarray(a * mass + e * (1 - mass))


def value(theta: Floats, matrix: Floats, utility: str) -> float:
    """The utility of a whole matrix P[y, x]."""
    diagonal = np.diag(matrix)
    if utility == "linear":
        return float(theta @ diagonal)
    held = theta > 0
    return float(theta[held] @ np.log(diagonal[held]))


def one_setting(epsilon: float, rho: float, utility: str, runs: int) -> dict[str, Any]:
    """Every mechanism on every run of a setting, and how long an optimum takes."""
    record: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "utility": utility}
    columns: dict[str, list[float]] = {"srr": [], "optimal": [], "reports": []}
    columns |= {f"rrrr {kappa}": [] for kappa in KAPPAS} | {f"k {kappa}": [] for kappa in KAPPAS}
    seconds = []
    for run in range(runs):
        theta = population(rho, run)
        for kappa in KAPPAS:
            found = curve(theta, epsilon, kappa, utility)
            columns[f"rrrr {kappa}"].append(found.max())
            columns[f"k {kappa}"].append(int(np.argmax(found)))
        columns["srr"].append(found[0])
        start = time.perf_counter()
        matrix = optimal_matrix(theta, epsilon, utility)
        seconds.append(time.perf_counter() - start)
        columns["optimal"].append(value(theta, matrix, utility))
        columns["reports"].append(int((matrix.max(axis=1) > USED).sum()))
    rounded = {
        name: [value if isinstance(value, int) else float(f"{value:.6g}") for value in values]
        for name, values in columns.items()
    }
    return record | rounded | {"seconds": float(f"{np.median(seconds):.1g}")}


def make(runs: int = RUNS, output: Path = OUTPUT) -> None:
    """All settings, written as one file."""
    settings = list(product(EPSILONS, RHOS, UTILITIES))
    made = [
        one_setting(epsilon, rho, utility, runs)
        for epsilon, rho, utility in track(settings, "optimal mechanisms")
    ]
    write(output, {"k": K, "runs": runs, "settings": made})


def main() -> None:
    """Make results/optimal.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=at_least_one, default=RUNS, help="runs of every setting")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the file of results")
    options = parser.parse_args()
    make(options.runs, options.output)


if __name__ == "__main__":
    main()

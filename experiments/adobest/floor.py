"""Why Theorem 4 does not reach the papers' sampler: its draws of theta have a floor.

At n reports one update moves theta by (a / 2) (n / m sum over the minibatch of score + ...) / s^2 + sqrt(a) W / s, with
s = sum(phi), scores that have covariance F (the Fisher information of a report) and a = c / n, c = 1/2. Near the
posterior mode that is an autoregression with pull (c / 2) F / s^2, and noise from the minibatch of covariance
(c / 2)^2 F / (m s^4) and from W of covariance c / (n s^2). Its stationary law has the covariance

    F^-1 / n  +  c / (4 m s^2) I

The first part is the posterior's. The second comes from the minibatch and does not shrink with n: a standard deviation
of 0.05 / s for m = 50. So the subsets are chosen at draws that never settle: when two shares at the edge of S* are no
further apart than some of these, P(S_n = S*) stays below 1. Here the reports come from standard randomised response,
and the draws of both samplers are judged by the S that "honest" would take.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.adobest.choice import RULES
from experiments.adobest.grid import YEAR
from experiments.adobest.loop import BATCH, STEP, langevin
from experiments.adobest.matrices import Floats, entries
from experiments.adobest.reading import short
from experiments.adobest.subsets import best_masks

from tacit import Categorical, Evidence, channels, posterior

THETA = np.array([0.40, 0.26, 0.25, 0.06, 0.03])  # the second and the third are 0.01 apart
K = len(THETA)
EPSILON, KAPPA, METHOD = 1.0, 0.8, "honest"
PEOPLE = (1_000, 10_000, 100_000, 1_000_000)
DRAWS = 4000
BETWEEN = 10  # updates from one draw to the next
BURN = 1000  # draws


def langevin_draws(rows: Floats, rng: np.random.Generator) -> tuple[Floats, float]:
    """Draws (DRAWS, K) by the papers' sampler at the last respondent, started at the truth, and the mean of 1 / s^2."""
    n = len(rows)
    phi, mean = THETA * K, np.empty(K)
    draws, inverse = np.empty((DRAWS, K)), 0.0
    for i in range(-BURN, DRAWS):
        langevin(phi, rows, n, BETWEEN, STEP / n, rng, mean)
        if i >= 0:
            draws[i] = phi / phi.sum()
            inverse += phi.sum() ** -2 / DRAWS
    return draws, inverse


def spread(draws: Floats) -> float:
    """The root mean square over categories of the standard deviations."""
    return float(np.sqrt(draws.var(axis=0).mean()))


def one_run(n: int, run: int) -> dict[str, float]:
    """Both samplers on the same n reports."""
    rng = np.random.default_rng([YEAR, 5, n, run])
    channel = channels.srr(K, EPSILON)
    reports = channel.sample(rng.choice(K, n, p=THETA), rng)
    exact = posterior.sample(Categorical(K, 1.0), Evidence().add(channel, reports), "exact", 1000, rng).draws
    rough, inverse = langevin_draws(channel.matrix()[reports], rng)
    matrix, code = entries(K, EPSILON, KAPPA), RULES.index(METHOD)
    best = best_masks(THETA[None], matrix, code)[0]
    # theta sums to one: of the K directions one has no noise.
    extra = STEP / (4 * BATCH) * inverse * (K - 1) / K
    return {
        "exact sd": spread(exact),
        "sgld sd": spread(rough),
        "predicted sd": float(np.sqrt(spread(exact) ** 2 + extra)),
        "exact best": float((best_masks(exact, matrix, code) == best).mean()),
        "sgld best": float((best_masks(rough, matrix, code) == best).mean()),
    }


def floors(runs: int) -> dict[str, Any]:
    """Means over the runs with standard errors, by the number of reports."""
    made = [[one_run(n, run) for run in range(runs)] for n in PEOPLE]
    settings = {"theta": THETA.tolist(), "epsilon": EPSILON, "kappa": KAPPA, "method": METHOD, "runs": runs}
    columns = {name: np.array([[run[name] for run in row] for row in made]) for name in made[0][0]}
    means = {name: short(values.mean(axis=1)) for name, values in columns.items()}
    errors = {
        f"{name} se": short(values.std(axis=1, ddof=1) / np.sqrt(runs)) for name, values in columns.items()
    }
    return settings | {"n": list(PEOPLE)} | means | errors

"""AdOBEst-LDP as its papers run it: one respondent, one channel, twenty updates of the sampler, and again.

For every respondent: order the current draw of theta, choose k of its likeliest categories as S, draw the report by
RRRR(S), then move theta by M = 20 updates of stochastic gradient Langevin dynamics (SGLD) with minibatches of m = 50
reports drawn with replacement. After the last respondent there are 2,000 updates, and the mean of the last 1,000 is the
estimate. With row_t = P(report t | .), s = sum(phi) and theta = phi / s, one update is

    phi <- abs(phi + (a / 2) (t / m sum over the minibatch of row / (row . phi) - t / s - 1) + sqrt(a) W)

which is the gradient of the papers with its Jacobian multiplied out, under their prior Gamma(1, 1). The step is
a = 0.5 / T ("fixed": the preprint and the published code) or 0.5 / t ("falling": the thesis). phi starts at 1 / K, as
in the code; where it starts matters, since s forgets its start only over a time of about T steps.

Nothing is allocated inside the sampler. The minibatch is gone through twice: first all the products row . phi, then all
the sums. That leaves the fetching of many rows in flight at once, and is more than twice as fast as one pass.

>>> answers = np.random.default_rng(1).choice(4, 2000, p=[0.7, 0.2, 0.1, 0.0])
>>> run(answers, 4, epsilon=2.0, method="honest", kappa=0.9, seed=1).estimate.round(1)
array([0.7, 0.2, 0.1, 0. ])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from experiments.adobest.choice import RULES, best_size, rule_of
from experiments.adobest.matrices import Floats, entries
from numba import njit

from tacit import TacitError, arrays
from tacit.rng import generator
from tacit_client import check

METHODS = ("srr", *(f"semi:{mass}" for mass in (0.2, 0.6, 0.8, 0.9, 0.95)), *RULES)
BATCH = 50  # m of the papers
UPDATES = 20  # M
FINAL = 2000
STEP = 0.5
STEPS = ("fixed", "falling")
FAST = {"reassoc", "contract", "nsz"}  # sums of products may be vectorised; infinities keep their meaning


class Result(NamedTuple):
    """`estimate` (K,) of theta; `mean_size` of S; `unrestricted`: the share of rounds with an empty S; `rows` (T, K):
    P(report | x) of every report that came."""

    estimate: Floats
    mean_size: float
    unrestricted: float
    rows: Floats


def run(
    answers: npt.ArrayLike,
    k: int,
    epsilon: float,
    method: str,
    kappa: float,
    seed: object,
    rule: str = "fixed",
    faulty: bool = False,
) -> Result:
    """Let everyone in `answers` take part, one after the other.

    `faulty` takes the matrices of the published code, whose true epsilon `matrices.worst_loss` gives.
    """
    size = check.integer(k, "k", 2, 1000)
    people = arrays.integers(answers, "answers", 0, size - 1)
    budget = float(check.epsilon(epsilon))
    share = float(check.bounded(kappa, "kappa", lambda v: 0 < v <= 1, "give a share above 0 and at most 1"))
    if rule not in STEPS:
        raise _refuse("rule", rule, STEPS)
    if method not in METHODS:
        raise _refuse("method", method, METHODS)
    code, mass = rule_of(method)
    if faulty and method not in RULES:
        raise TacitError(
            "argument_invalid",
            f"faulty is set for {method}",
            argument="faulty",
            hint=f"the published fault is in the utility methods: {', '.join(RULES)}",
        )
    rows = entries(size, budget, share, faulty)
    estimate, sizes, empty, reports = _loop(
        people, rows, code, mass, int(faulty), rule == "falling", generator(seed, "seed")
    )
    return Result(estimate, sizes / len(people), empty / len(people), reports)


def _refuse(argument: str, value: object, known: tuple[str, ...]) -> TacitError:
    return TacitError(
        "argument_invalid",
        f"{argument} is {check.shown(value)}",
        argument=argument,
        hint=f"give one of {', '.join(known)}",
    )


@njit(cache=True)
def draw_report(place, size, matrix, rng):
    """The place in the order of the report, for an answer at `place`; `matrix` (5, K) as in `matrices.entries`."""
    a, b, o, e, g = matrix[:, size]
    k = matrix.shape[1]
    left = rng.random()
    for y in range(k):
        if y < size:
            left -= a if y == place else b
        elif place < size:
            left -= o
        else:
            left -= e if y == place else g
        if left < 0:
            return y
    return k - 1  # rounding only: the column sums to one


@njit(cache=True)
def likelihood(row, order, y, size, matrix):
    """Write P(report | x) for every category x into `row`, for the report at place y of the order."""
    a, b, o, e, g = matrix[:, size]
    for place in range(len(order)):
        if y < size:
            row[order[place]] = a if place == y else b
        elif place < size:
            row[order[place]] = o
        else:
            row[order[place]] = e if place == y else g


@njit(cache=True, fastmath=FAST)
def slope(phi, rows, batch, inverse, out):
    """Write the sum over the minibatch of row / (row . phi) into `out`; `batch` holds the row numbers."""
    k = len(phi)
    for j in range(len(batch)):
        t, product = batch[j], 0.0
        for x in range(k):
            product += rows[t, x] * phi[x]
        inverse[j] = 1 / product
    out[:] = 0.0
    for j in range(len(batch)):
        t, weight = batch[j], inverse[j]  # read once: the compiler cannot know that `out` is not them
        for x in range(k):
            out[x] += rows[t, x] * weight


@njit(cache=True, fastmath=FAST)
def langevin(phi, rows, t, updates, step, rng, mean):
    """Move phi in place by SGLD on the first t rows; `mean` receives the average theta of the last half."""
    size = min(t, BATCH)
    batch = np.empty(size, np.int64)
    inverse = np.empty(size)
    gradient = np.empty_like(phi)
    noise = np.sqrt(step)
    mean[:] = 0.0
    burn = updates // 2
    for i in range(updates):
        for j in range(size):
            batch[j] = int(rng.random() * t)
        slope(phi, rows, batch, inverse, gradient)
        pull = t / phi.sum() + 1
        for x in range(len(phi)):
            moved = phi[x] + step / 2 * (t / size * gradient[x] - pull) + noise * rng.standard_normal()
            phi[x] = abs(moved)
        if i >= burn:
            mean += phi / phi.sum() / (updates - burn)


@njit(cache=True)
def _loop(answers, matrix, code, mass, smallest, falling, rng):
    """The estimate, the sum of |S|, the number of rounds with an empty S, and the likelihood of every report."""
    n, k = len(answers), matrix.shape[1]
    phi = np.full(k, 1.0 / k)
    rows = np.empty((n, k))
    place = np.empty(k, np.int64)
    mean = np.empty(k)
    sizes = empty = 0
    for t in range(n):
        theta = phi / phi.sum()
        order = np.argsort(-theta, kind="mergesort")
        for i in range(k):
            place[order[i]] = i
        size = best_size(theta[order], matrix, code, mass, smallest)
        y = draw_report(place[answers[t]], size, matrix, rng)
        likelihood(rows[t], order, y, size, matrix)
        sizes += size
        empty += size == 0
        updates = UPDATES if t < n - 1 else FINAL
        step = STEP / (t + 1 if falling else n)
        langevin(phi, rows, t + 1, updates, step, rng, mean)
    return mean, sizes, empty, rows

"""How small the error can be: the Cramer-Rao figure of a channel, the least of any channel, and van Trees' under a
prior.

    python benchmarks/bounds.py [--k 8] [--epsilon 1] [--rho 0.3] [--n 1000]

A mechanism is a list of weighted reports (w, v), where v holds P(report | x) up to a factor: sum of w v = 1 for
every x. Its information about theta from one report is I = sum of w v v' / (v . theta), and C = (I restricted to
sum 0)^-1 bounds the covariance of unbiased estimates. With n reports and normal errors, the expected total
variation error is

    tv = 1/2 sum over k of sqrt(2 C_kk / (pi n)).

*Least of any channel.* Every epsilon-LDP mechanism is outdone by one whose v are all in {1, exp(epsilon)}^K
(staircase mechanisms: Kairouz, Oh, Viswanath 2016), and then only the w are left to choose. 1 / C_kk is the least
x'Ix with x_k = 1, a concave function of w, and t^(-1/2) is convex and falling: so tv is convex in w, and the least
can be found with proof. For K up to 10 all 2^K - 2 columns take part in a primal-dual interior-point method; above
that, columns are generated, each time by looking at all of them. `least` returns a lower bound by duality, beside
the value that it reached.

*Van Trees.* Unbiased bounds do not hold for an estimate that uses a prior. For theta ~ Dirichlet(rho, ..., rho)
with rho known, in the coordinates z with theta = softmax(z), whose density has tails, and with D = d theta / d z,

    E |estimate - theta|^2 >= trace of E[D] (n E[D I D] + J)^-1 E[D],    J = A^2 Cov(theta),  A = K rho.

By symmetry all three matrices are multiples of 1 - 11'/K, so it is (K - 1) d^2 / (n i + j).

>>> theta = np.array([0.5, 0.3, 0.2])
>>> bound, reached = least(theta, 1.0)
>>> bool(reached / bound < 1.001), bool(reached < tv_error(from_matrix(channels.subset(3, 1.0).matrix()), theta))
(True, True)
"""

from __future__ import annotations

import argparse
import math
import os
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from tacit import Categorical, channels

Floats = npt.NDArray[np.float64]
ENUMERATED = 10  # categories up to which every column takes part
GAP = 1e-3  # of the value, between what is reached and what is proved
STEPS = 200
BATCH = 60  # columns that join at a time
MAX_CATEGORIES = 22


class Mechanism(NamedTuple):
    """Columns v (N, K) of P(report | x) up to a factor, and weights w (N,) with sum of w v = 1."""

    columns: Floats
    weights: Floats


def from_matrix(matrix: Floats) -> Mechanism:
    """Of P[y, x]."""
    low = matrix.min(axis=1)
    return Mechanism(matrix / low[:, None], low)


def covariance(mechanism: Mechanism, theta: Floats) -> Floats:
    """C of one report, (K, K)."""
    k = len(theta)
    along = np.vstack([np.eye(k - 1), -np.ones(k - 1)])
    scaled = mechanism.columns @ along * np.sqrt(mechanism.weights / (mechanism.columns @ theta))[:, None]
    out: Floats = along @ np.linalg.inv(scaled.T @ scaled) @ along.T
    return out


def tv_error(mechanism: Mechanism, theta: Floats) -> float:
    """The expected total variation error from one report; from n, it is 1 / sqrt(n) of this."""
    return float(np.sqrt(2 * np.diag(covariance(mechanism, theta)) / math.pi).sum() / 2)


def least(theta: Floats, epsilon: float) -> tuple[float, float]:
    """A proven lower bound of `tv_error` over all epsilon-LDP mechanisms, and the least that was reached."""
    k = len(theta)
    if k > MAX_CATEGORIES:
        raise ValueError(
            f"theta has {k} categories; all columns are looked at, so give at most {MAX_CATEGORIES}"
        )
    codes = np.arange(1, 2**k - 1) if k <= ENUMERATED else _first_codes(theta)
    while True:
        columns = _columns(codes, k, math.exp(epsilon))
        weights, dual = _optimal(columns, theta)
        value, slopes = (
            tv_error(Mechanism(columns, weights), theta),
            _slopes(Mechanism(columns, weights), theta)[0],
        )
        worst, new = (slopes + columns @ dual).min(), np.empty(0, dtype=np.int64)
        if k > ENUMERATED:
            worst, new = _priced(Mechanism(columns, weights), theta, dual, math.exp(epsilon))
            new = np.setdiff1d(new, codes)
        # For any mechanism s: slopes . s >= -sum(dual) + min(worst, 0) sum(s), and sum(s) <= 1 since columns are >=
        # 1.
        bound = value - slopes @ weights - dual.sum() + min(worst, 0.0)
        if value - bound <= GAP * value or not len(new):
            return float(bound), value
        codes = np.concatenate([codes, new])


def _columns(codes: npt.NDArray[np.int64], k: int, ratio: float) -> Floats:
    """Bit x of a code says whether v_x is exp(epsilon) or 1."""
    return np.where((codes[:, None] >> np.arange(k)) & 1, ratio, 1.0)


def _first_codes(theta: Floats) -> npt.NDArray[np.int64]:
    """Single categories, all but one, the likeliest few, and random sets: enough to start from."""
    k = len(theta)
    bits = 1 << np.arange(k)
    prefixes = np.cumsum(bits[np.argsort(-theta)])[:-1]
    some = np.random.default_rng(0).integers(1, 2**k - 1, 10 * k)
    return np.unique(np.concatenate([bits, bits.sum() - bits, prefixes, bits.sum() - prefixes, some]))


def _slopes(mechanism: Mechanism, theta: Floats) -> tuple[Floats, Floats]:
    """The derivatives (N,) of tv_error by the weights, and the second ones (N, N).

    With c = C v and d = 1 / (v . theta): dC / dw = -d c c', and C v changes by -d c (v'C v).
    """
    c = covariance(mechanism, theta)
    spread = np.sqrt(np.diag(c))
    moved = mechanism.columns @ c
    scale = 1 / (mechanism.columns @ theta)
    squares = moved**2 * scale[:, None]
    first = -squares @ (1 / spread) / 2
    mixed = (moved / spread) @ moved.T * (moved @ mechanism.columns.T) * np.outer(scale, scale)
    second = mixed - (squares / (4 * spread**3)) @ squares.T
    unit = math.sqrt(1 / (2 * math.pi))
    return unit * first, unit * second


def _optimal(columns: Floats, theta: Floats) -> tuple[Floats, Floats]:
    """The weights (N,) with the least tv_error among these columns, and the multipliers (K,) of sum w v = 1."""
    n, k = columns.shape
    weights = np.full(n, 1 / columns.sum(axis=0).mean())
    slopes, _ = _slopes(Mechanism(columns, weights), theta)
    dual = np.full(k, 1.1 * (-slopes / columns.sum(axis=1)).max())
    slack = slopes + columns @ dual
    for _ in range(STEPS):
        slopes, curvature = _slopes(Mechanism(columns, weights), theta)
        short = 1 - columns.T @ weights
        gap = slack @ weights
        wrong = np.abs(slopes + columns @ dual - slack) @ weights
        if (
            gap + wrong < GAP / 10 * tv_error(Mechanism(columns, weights), theta)
            and np.abs(short).max() < 1e-12
        ):
            break
        target = 0.1 * gap / n
        left = slopes + columns @ dual - target / weights
        system = np.block([[curvature + np.diag(slack / weights), columns], [columns.T, np.zeros((k, k))]])
        move = np.linalg.solve(system, np.concatenate([-left, short]))
        by_slack = (target - slack * move[:n]) / weights - slack
        reach = min(1.0, 0.95 / max(1e-9, -(move[:n] / weights).min(), -(by_slack / slack).min()))
        weights, dual = weights + reach * move[:n], dual + reach * move[n:]
        slack = slack + reach * by_slack
    return weights, dual


def _priced(
    mechanism: Mechanism, theta: Floats, dual: Floats, ratio: float
) -> tuple[float, npt.NDArray[np.int64]]:
    """The least reduced cost of any column, and the codes of the most promising ones."""
    k = len(theta)
    c = covariance(mechanism, theta)
    root = c / np.sqrt(2 * np.sqrt(np.diag(c)))[None, :] * (1 / (2 * math.pi)) ** 0.25
    worst, found = math.inf, []
    for start in range(1, 2**k - 1, 1 << 16):
        codes = np.arange(start, min(start + (1 << 16), 2**k - 1))
        columns = _columns(codes, k, ratio)
        cost = columns @ dual - ((columns @ root) ** 2).sum(axis=1) / (columns @ theta)
        few = np.argpartition(cost, BATCH)[:BATCH] if len(cost) > BATCH else np.arange(len(cost))
        worst = min(worst, float(cost[few].min()))
        found += list(zip(cost[few], codes[few], strict=True))
    return worst, np.array([code for _, code in sorted(found)[:BATCH]])


def van_trees(k: int, epsilon: float, rho: float, n: int, draws: int = 200, seed: int = 0) -> float:
    """A lower bound of the mean squared error (summed over categories) of any estimate from n reports through the
    static channel, for theta ~ Dirichlet(rho, ..., rho)."""
    mechanism = from_matrix(channels.subset(k, epsilon).matrix())
    thetas = Categorical(k, rho).sample_prior(draws, seed).theta
    known = 0.0
    for theta in thetas:
        by_z = np.diag(theta) - np.outer(theta, theta)
        scaled = mechanism.columns @ by_z * np.sqrt(mechanism.weights / (mechanism.columns @ theta))[:, None]
        known += float((scaled**2).sum()) / (k - 1) / draws
    total = k * rho
    slope = total / (total + 1) / k
    return (k - 1) * slope**2 / (n * known + total**2 / ((total + 1) * k))


def main() -> None:
    """Print the bounds for draws of one population."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--rho", type=float, default=0.3)
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--draws", type=int, default=5, help="of theta")
    options = parser.parse_args()
    k, epsilon, root = options.k, options.epsilon, math.sqrt(options.n)
    table = Table(title=f"Expected total variation error, K = {k}, epsilon = {epsilon:g}, n = {options.n:,}")
    for heading in ("theta's largest", "SRR", "subset", "any channel", "proved"):
        table.add_column(heading, justify="right")
    for theta in Categorical(k, options.rho).sample_prior(options.draws, 1).theta:
        made = [
            tv_error(from_matrix(make(k, epsilon).matrix()), theta)
            for make in (channels.srr, channels.subset)
        ]
        proved, reached = least(theta, epsilon)
        table.add_row(f"{theta.max():.3f}", *(f"{value / root:.5f}" for value in (*made, reached, proved)))
    Console().print(table)
    print(
        f"van Trees, root mean squared error: {math.sqrt(van_trees(k, epsilon, options.rho, options.n)):.5f}"
    )


if __name__ == "__main__":
    main()

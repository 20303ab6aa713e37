"""Slow and obvious versions of what the library computes cleverly. Only tests use them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr
from scipy.stats import norm

from tacit_client.tables import Table, Value

Law = dict[Value, Fraction]


class _More(Exception):
    def __init__(self, bound: int) -> None:
        self.bound = bound


def enumerated_law(table: Table, x: int) -> Law:
    """The exact law of `_draw`: every value that every call of randbelow can return, with its probability."""
    law: Law = defaultdict(Fraction)
    stack: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while stack:
        prefix, probability = stack.pop()
        script = iter(prefix)

        def randbelow(bound: int, script: Iterable[int] = script) -> int:
            for value in script:
                return value
            raise _More(bound)

        try:
            law[table._draw(x, randbelow)] += probability
        except _More as more:
            stack += [((*prefix, i), probability / more.bound) for i in range(more.bound)]
    return dict(law)


def exact_law(table: Table, reports: list[Value], x: int) -> Law:
    """P(report | x) from the weights, with the normalising sum taken over all reports."""
    total = sum(table.weight(report, x) for report in reports)
    return {report: Fraction(table.weight(report, x), total) for report in reports}


def brute_force_ratio(laws: list[Law]) -> Fraction:
    """The largest P(y | x) / P(y | x') over everything."""
    return max(one[report] / other[report] for report in laws[0] for one in laws for other in laws)


def rrrr_matrix(k: int, subset: Iterable[int], epsilon: float, kappa: float, faulty: str = "") -> np.ndarray:
    """RRRR as the paper's table has it, P[y, x], with its epsilon_2; `faulty` plants a published mistake."""
    s = sorted(subset)
    size, m = len(s), k - len(s)
    e1 = kappa * epsilon if size else epsilon
    e2 = epsilon
    if size and m > 1 and epsilon - e1 < math.log(m) and math.exp(e1 - epsilon) * m > 1:
        bound = (m - 1) / (math.exp(e1 - epsilon) * m - 1)
        e2 = min(epsilon, bound if faulty == "no logarithm" else math.log(bound))
    if faulty == "published" and size > 1 and math.exp(e1 - epsilon) * size > 1:
        e2 = min(epsilon, (size - 1) / (math.exp(e1 - epsilon) * size - 1))
    if faulty == "indexed by |S|" and size > 1 and math.exp(e1 - epsilon) * size > 1:
        e2 = min(epsilon, math.log((size - 1) / (math.exp(e1 - epsilon) * size - 1)))
    inside = np.isin(np.arange(k), s)
    if not size:
        first = np.exp(epsilon * np.eye(k))
        return first / first.sum(axis=0)
    # By the two steps of the mechanism: a stand-in R from outside S, then SRR over S and R.
    c = math.exp(e1) + size
    out = np.zeros((k, k))
    for x in range(k):
        stand_in = np.where(inside, 0.0, 1.0 / m)
        if not inside[x] and m > 1:
            stand_in = np.where(inside, 0.0, 1.0 / (math.exp(e2) + m - 1))
            stand_in[x] *= math.exp(e2)
        for r in np.flatnonzero(stand_in):
            answer = x if inside[x] else r
            for y in [*s, r]:
                out[y, x] += stand_in[r] * (math.exp(e1) if y == answer else 1.0) / c
    return out


def subset_law(m: int, size: int, epsilon: float) -> tuple[float, float]:
    """(p, q) of subset response: inclusion of the own cell and of another."""
    p = size * math.exp(epsilon) / (size * math.exp(epsilon) + m - size)
    return p, (p * (size - 1) + (1 - p) * size) / (m - 1)


def sample_subsets(
    cells: np.ndarray, m: int, include: float, rng: np.random.Generator, size: int
) -> np.ndarray:
    """The plain numpy twin of the kernel: the smallest random keys win, the own cell's fate is drawn first."""
    keys = rng.random((len(cells), m))
    keys[np.arange(len(cells)), cells] = np.where(rng.random(len(cells)) < include, -1.0, 2.0)
    return np.sort(np.argpartition(keys, size - 1, axis=1)[:, :size], axis=1)


def hashed_matches(reports: np.ndarray, buckets: int, k: int) -> np.ndarray:
    """Whether category x hashes to the bucket of report i, shape (n, k), by Python integers."""
    return np.array(
        [[(int(a) * x + int(b)) % (2**31 - 1) % buckets == int(y) for x in range(k)] for a, b, y in reports]
    )


def clipped_log_densities(y, lo, hi, scale, noise, points):
    """ln p(report | mu, sigma) of clipped normal answers with noise, (n, P): numpy twin of the compiled kernel."""
    y, lo, hi, b = (np.asarray(v, dtype=float)[:, None] for v in (y, lo, hi, scale))
    mu, sigma = np.asarray(points, dtype=float).T
    inside = np.clip(y, lo, hi)
    if noise == "gaussian":
        total, v = np.hypot(sigma, b), sigma * b / np.hypot(sigma, b)
        m = mu * (b / total) ** 2 + y * (sigma / total) ** 2
        low, high = (lo - m) / v, (hi - m) / v
        low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
        with np.errstate(divide="ignore", over="ignore"):
            share = np.log(-np.expm1(np.minimum(log_ndtr(low) - log_ndtr(high), 0)))
        terms = [
            norm.logpdf(y, lo, b) + log_ndtr((lo - mu) / sigma),
            norm.logpdf(y, hi, b) + log_ndtr((mu - hi) / sigma),
            norm.logpdf(y, mu, total) + log_ndtr(high) + share,
        ]
        return np.logaddexp.reduce(terms)
    s, z, left, right = sigma / b, (inside - mu) / sigma, (lo - mu) / sigma, (hi - mu) / sigma

    def tilted(z):
        near = np.exp(-(z**2) / 2) * erfcx((s - np.minimum(z, s)) / math.sqrt(2)) / 2
        return np.where(z <= s, near, np.exp(s * (s / 2 - np.maximum(z, s))) * ndtr(z - s))

    t = tilted(z) + tilted(-z)
    t += np.exp((lo - inside) / b) * (ndtr(left) - tilted(left))
    t += np.exp((inside - hi) / b) * (ndtr(-right) - tilted(-right))
    return np.log(t / (2 * b)) - np.abs(y - inside) / b

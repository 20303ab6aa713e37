"""Which d and w? The shape with the least expected error for a memory, a budget and a number of queries.

More rows make the median stabler, but each cell then gets d / epsilon of noise, and the columns are fewer. So the
best d is small where noise rules (small epsilon, many queries at different times) and grows where collisions rule.

The stream is taken to be Zipf with exponent `skew` over `domain` items: f_k = n k^-skew / H. The queries are evenly
spread over the `popular` most frequent items and come in batches of `batch`. In the end a queried cell has been
used U times,

    U = 1 + (queries / batch - 1) (1 - (1 - q)^batch),   q = (1 + (popular - 1) / w) / popular.

The error of a row has the characteristic function  prod_k (1 - (1 - cos(t f_k)) / w)  psi(t)^U,  psi that of one
draw of discrete Laplace noise. Its inversion gives the tail T(x) of a row, and the median errs by more than x with
probability 2 P(Bin(d, T(x)) >= (d + 1) / 2). Items too frequent for the grid make the tail beyond it: a row errs by
f_k or more when one of them collides.

>>> found = advise(n=10**6, epsilon=1.0, queries=1000, memory=2**18)
>>> found.d, found.w
(3, 7281)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit.sketch.noise import Law, laplace
from tacit_client import check

BYTES = 12  # of a cell and its number of uses
DEPTHS = range(1, 32, 2)
EXPLICIT = 200  # items with a factor of their own; the others stand in groups of neighbouring ranks
GROUPS = 200
POINTS = 512


@dataclass(frozen=True)
class Advice:
    """A shape, how often a queried cell will have been used, and the error to expect then."""

    d: int
    w: int
    uses: float
    mean_error: float  # of the absolute error
    error_95: float  # exceeded with probability 0.05

    def __str__(self) -> str:
        errors = f"mean error {self.mean_error:.4g}, below {self.error_95:.4g} for 95 %"
        return f"d={self.d}, w={self.w}: {errors}, after {self.uses:.4g} uses of a cell"


def advise(
    n: int,
    epsilon: float,
    queries: int,
    memory: int,
    *,
    batch: int = 1,
    popular: int = 1000,
    skew: float = 1.0,
    domain: int = 10**6,
) -> Advice:
    """The shape of a use-and-keep count sketch with the least mean error, in `memory` bytes."""
    return min(shapes(n, epsilon, queries, memory, batch=batch, popular=popular, skew=skew, domain=domain),
               key=lambda advice: advice.mean_error)  # fmt: skip


def shapes(
    n: int,
    epsilon: float,
    queries: int,
    memory: int,
    *,
    batch: int = 1,
    popular: int = 1000,
    skew: float = 1.0,
    domain: int = 10**6,
) -> list[Advice]:
    """The expected errors of every odd d up to 31 that fits."""
    n = check.integer(n, "n", 1, 2**62)
    budget = check.epsilon(epsilon)
    queries = check.integer(queries, "queries", 1, 2**62)
    memory = check.integer(memory, "memory", BYTES, 2**40)
    batch = check.integer(batch, "batch", 1, queries)
    popular = check.integer(popular, "popular", 1, 2**40)
    domain = check.integer(domain, "domain", 1, 2**62)
    power = float(check.bounded(skew, "skew", lambda v: 0 <= v <= 10, "give an exponent from 0 to 10"))
    if popular > domain:
        raise TacitError(
            "argument_invalid",
            f"popular is {popular}",
            argument="popular",
            hint=f"query at most the {domain} items of the domain",
        )
    counts, members = zipf_counts(n, power, domain)
    out = []
    for d in DEPTHS:
        w = memory // (BYTES * d)
        if w:
            uses = expected_uses(queries, batch, popular, w)
            out.append(_expected(d, w, uses, laplace(Fraction(d) / budget), counts, members))
    return out


def zipf_counts(n: int, skew: float, domain: int) -> tuple[Floats, Floats]:
    """Counts of a Zipf stream, and how many items have each: single items, then groups with their mean square."""
    single = min(EXPLICIT, domain)
    edges: list[int] = []
    if domain > single:
        edges = np.unique(np.geomspace(single, domain, GROUPS).round()).astype(np.int64).tolist()
    scale = n / _power_sum(skew, 0, domain)
    counts = list(scale * np.arange(1, single + 1, dtype=np.float64) ** -skew)
    members = [1.0] * single
    for low, high in pairwise(edges):
        counts.append(scale * math.sqrt(_power_sum(2 * skew, low, high) / (high - low)))
        members.append(float(high - low))
    return np.array(counts), np.array(members)


def _power_sum(power: float, after: int, last: int) -> float:
    """The sum of k^-power for after < k <= last: terms up to 10,000, then the integral between the midpoints."""
    near = min(last, max(after, 10_000))
    total = float((np.arange(after + 1, near + 1, dtype=np.float64) ** -power).sum())
    low, high = near + 0.5, last + 0.5
    if abs(power - 1) < 1e-9:
        return total + math.log(high / low)
    return float(total + (high ** (1 - power) - low ** (1 - power)) / (1 - power))


def expected_uses(queries: int, batch: int, popular: int, w: int) -> float:
    """How often the cell of a queried item has been used at the last query."""
    batches = max(queries / batch, 1.0)
    once = min((1 + (popular - 1) / w) / popular, 1.0)
    hit = 1.0 if once == 1.0 else -math.expm1(batch * math.log1p(-once))
    return 1 + (batches - 1) * hit


def _expected(d: int, w: int, uses: float, law: Law, counts: Floats, members: Floats) -> Advice:
    from scipy.special import betainc

    spread = math.sqrt(uses * law.variance)
    for _ in range(3):  # the spread without the items that are far above it
        spread = math.sqrt(
            uses * law.variance + float((members * np.minimum(counts, 5 * spread + 1) ** 2).sum()) / w
        )
    x, tail = row_tail(10 * spread, w, uses, law, counts, members)
    middle = (d + 1) // 2
    beyond = np.minimum(2 * betainc(middle, d + 1 - middle, np.clip(tail, 0.0, 0.5)), 1.0)
    inside = np.flatnonzero(beyond <= 0.05)
    reach = float(x[inside[0]]) if len(inside) else math.inf
    return Advice(d, w, uses, float(np.trapezoid(beyond, x)), reach)


def row_tail(
    reach: float, w: int, uses: float, law: Law, counts: Floats, members: Floats
) -> tuple[Floats, Floats]:
    """A grid of x, and the probability that a row errs by more than x upwards; beyond `reach` the heaviest decide."""
    heavy = counts > reach
    steps = 4 * POINTS
    grid = np.arange(steps) + 0.5
    t = math.pi / (4 * reach) * grid
    logs = np.log1p(-(1 - np.cos(np.outer(t, counts[~heavy]))) / w) @ members[~heavy]
    a = math.exp(-1 / law.scale)
    logs += uses * (2 * math.log1p(-a) - np.log1p(a * (a - 2 * np.cos(np.minimum(t, math.pi)))))
    near = np.linspace(0, reach, POINTS)
    weights = np.exp(logs) / grid / math.pi
    kept = weights > 1e-12
    above = np.clip(0.5 - np.sin(np.outer(near, t[kept])) @ weights[kept], 0.0, 0.5)
    far = np.geomspace(reach, max(float(counts.max()), reach) * 1.01, POINTS)[1:]
    x = np.concatenate([near, far])
    above = np.concatenate([above, np.zeros(len(far))])
    larger = (members * (counts[:, None] > np.maximum(x, reach)).T).sum(axis=1)
    lost = -np.expm1(larger * math.log1p(-1 / w)) if w > 1 else (larger > 0).astype(np.float64)
    return x, np.asarray((1 - lost) * above + lost / 2)

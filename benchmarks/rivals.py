"""Frequency oracles of pure-ldp and multi-freq-ldpy, each with every post-processing at hand.

The libraries randomise the answers; what they report is brought to one form here. For all of these mechanisms but one
the likelihood of a report is proportional to exp(epsilon) for the categories that it supports and 1 for the others,
and the share of reports that support j has mean q + (p - q) theta_j: (p, q) gives the unbiased estimate, and the
supports give the likelihood. So each mechanism is judged with

    projected     the unbiased estimate, projected on the simplex
    normalised    multi-freq-ldpy's own: negative entries cut, the rest scaled
    own IBU       multi-freq-ldpy's own iterative Bayesian update, which takes the support counts for reports
    IBU           iterative Bayesian update on the distinct reports, run until it has arrived: maximum likelihood

Mechanisms of pure-ldp that multi-freq-ldpy has too (DE is GRR; SUE, OUE, BLH, OLH) have the same law and are run
once. Its RAPPOR rounds a probability to two decimals and so misses its epsilon; its fast local hashing, count mean
sketch and sketches are heuristics for large domains with collisions. None of these is here. The Hadamard mechanism
indexes a transform of length K and fails unless K is a power of two: it gets the next one, as its domain. `check`
says whether an oracle is unbiased.

>>> rows = 1 + np.expm1(2.0) * np.eye(3)
>>> ibu(rows, np.array([600.0, 300.0, 100.0])).round(3)
array([0.725, 0.267, 0.008])
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import peers
import xxhash
from numba import njit

Floats = npt.NDArray[np.float64]
STEPS, TOLERANCE = 10_000, 1e-12  # multi-freq-ldpy's defaults
ARRIVED = 1e-3  # of log-likelihood, all reports together, that may still be missing when `ibu` stops


@dataclass(frozen=True)
class Reports:
    """What an oracle heard: distinct `rows` (D, K) proportional to P(report | x), their `counts` (D,), the unbiased
    estimate `raw` (K,), and the library's `own` post-processings."""

    rows: Floats
    counts: Floats
    raw: Floats
    own: dict[str, Floats] = field(default_factory=dict)

    def estimates(self) -> dict[str, Floats]:
        """Every post-processing by its name."""
        return {"projected": projected(self.raw), **self.own, "IBU": ibu(self.rows, self.counts)}


Oracle = Callable[[npt.NDArray[np.int64], int, float], Reports]


@njit
def _seed_compiled(seed: int) -> None:
    np.random.seed(seed)  # noqa: NPY002


def seed_all(seed: int) -> None:
    """Seed everything that the libraries draw from: `random`, numpy's global state, and that of compiled code."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    _seed_compiled(seed)


def projected(estimate: Floats) -> Floats:
    """The nearest distribution, in Euclidean distance."""
    ordered = np.sort(estimate)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(estimate) + 1)
    return np.maximum(estimate - excess[np.flatnonzero(ordered > excess)[-1]], 0)


def ibu(rows: Floats, counts: Floats, steps: int = STEPS) -> Floats:
    """Iterative Bayesian update from the uniform distribution, with squared extrapolation (SQUAREM) between steps.

    One step is theta <- theta * g with g = rows' (counts / (rows theta)) / n. No theta can have a log-likelihood more
    than n (max g - 1) above the present one: that is the rule for stopping.
    """
    n = counts.sum()
    shares = counts / n
    transposed = np.ascontiguousarray(rows.T)

    def step(theta: Floats) -> tuple[Floats, float, float]:
        h = rows @ theta
        g = transposed @ (shares / h)
        return theta * g, float(shares @ np.log(h)), float(n * (g.max() - 1))

    theta = np.full(rows.shape[1], 1 / rows.shape[1])
    first, _, gap = step(theta)
    for _ in range(steps):
        if gap < ARRIVED:
            return first
        second, value_first, _ = step(first)
        one, two = first - theta, second - 2 * first + theta
        length = -max(math.sqrt(one @ one / max(two @ two, 1e-300)), 1.0)
        ahead = theta - 2 * length * one + length**2 * two
        # Never to zero: a category that is there could not come back.
        ahead = np.maximum(ahead, 1e-3 * second)
        ahead /= ahead.sum()
        next_first, next_value, next_gap = step(ahead)
        if next_value >= value_first:
            theta, first, gap = ahead, next_first, next_gap
        else:
            theta, (first, _, gap) = second, step(second)
    return first


def distinct(supports: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], Floats]:
    """The distinct rows of (n, K) booleans and how often each was there."""
    packed, counts = np.unique(np.packbits(supports, axis=1), axis=0, return_counts=True)
    return np.unpackbits(packed, axis=1, count=supports.shape[1]).astype(bool), counts.astype(float)


def from_supports(supports: npt.NDArray[np.bool_], epsilon: float, p: float, q: float) -> Reports:
    """Reports whose likelihood is exp(epsilon) on the support and 1 elsewhere."""
    holds, counts = distinct(supports)
    return Reports(1 + np.expm1(epsilon) * holds, counts, (supports.mean(axis=0) - q) / (p - q))


def _multi_freq(supports: npt.NDArray[np.bool_], epsilon: float, p: float, q: float) -> Reports:
    """With the two estimates of multi-freq-ldpy, from the support counts that its aggregators make."""
    library = peers.module("multi_freq_ldpy.estimators.Histogram_estimator")
    counts = supports.sum(axis=0).astype(float)
    matrix = np.where(np.eye(len(counts), dtype=bool), p, q)
    update = library.IBU(len(counts), matrix, counts / counts.sum(), STEPS, TOLERANCE, "max_abs")
    found = from_supports(supports, epsilon, p, q)
    own = {"normalised": library.MI(counts, len(supports), p, q), "own IBU": update}
    return Reports(found.rows, found.counts, found.raw, own)


def grr(answers: npt.NDArray[np.int64], k: int, epsilon: float) -> Reports:
    """Generalised randomised response."""
    client = peers.multi_freq("GRR").GRR_Client
    reports = np.array([client(x, k, epsilon) for x in answers.tolist()])
    total = math.exp(epsilon) + k - 1
    return _multi_freq(reports[:, None] == np.arange(k), epsilon, math.exp(epsilon) / total, 1 / total)


def subset(answers: npt.NDArray[np.int64], k: int, epsilon: float) -> Reports:
    """Subset selection."""
    client = peers.multi_freq("SS").SS_Client
    reports = np.array([client(x, k, epsilon) for x in answers.tolist()])
    supports = np.zeros((len(reports), k), dtype=bool)
    np.put_along_axis(supports, reports, True, axis=1)
    size = reports.shape[1]
    p = size * math.exp(epsilon) / (size * math.exp(epsilon) + k - size)
    return _multi_freq(supports, epsilon, p, (size - p) / (k - 1))


def unary(optimal: bool) -> Oracle:
    """Unary encoding: symmetric (SUE, which is RAPPOR without its Bloom filter) or optimised (OUE)."""

    def run(answers: npt.NDArray[np.int64], k: int, epsilon: float) -> Reports:
        client = peers.multi_freq("UE").UE_Client
        supports = np.array([client(x, k, epsilon, optimal) for x in answers.tolist()]) > 0
        q = 1 / (math.exp(epsilon if optimal else epsilon / 2) + 1)
        return _multi_freq(supports, epsilon, 0.5 if optimal else 1 - q, q)

    return run


def hashing(optimal: bool) -> Oracle:
    """Local hashing, to two buckets (BLH) or the best number (OLH)."""

    def run(answers: npt.NDArray[np.int64], k: int, epsilon: float) -> Reports:
        client = peers.multi_freq("LH").LH_Client
        buckets = round(math.exp(epsilon)) + 1 if optimal else 2
        names, hashed = [str(v) for v in range(k)], xxhash.xxh32_intdigest
        reports = [client(x, k, epsilon, optimal) for x in answers.tolist()]
        digests = np.array([[hashed(v, seed) for v in names] for _, seed in reports])
        supports = digests % buckets == np.array([value for value, _ in reports])[:, None]
        p = math.exp(epsilon) / (math.exp(epsilon) + buckets - 1)
        return _multi_freq(supports, epsilon, p, 1 / buckets)

    return run


def hadamard_response(answers: npt.NDArray[np.int64], k: int, epsilon: float) -> Reports:
    """Hadamard response: each category has a set of reports that are exp(epsilon) times likelier."""
    library = peers.pure_ldp()
    server = library.HadamardResponseServer(epsilon, k)
    client = library.HadamardResponseClient(epsilon, k, server.get_hash_funcs())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it draws from ranges given as floats
        reports = np.array([client.privatise(x + 1) for x in answers.tolist()])
    server.aggregate_all(reports.tolist())
    values, counts = np.unique(reports, return_counts=True)
    holds = np.array([[_hadamard_holds(server.hr, x, int(y)) for x in range(k)] for y in values])
    raw = _estimates(server, k) / len(answers)
    return Reports(1 + np.expm1(epsilon) * holds, counts.astype(float), raw)


def _hadamard_holds(response: Any, x: int, y: int) -> bool:
    """Whether category x makes the report y likelier, from the library's own tables."""
    if not hasattr(response, "partsz"):
        return bool(response.parity_check(x + 1, y) == 0)
    block, place = divmod(response.permute[x], response.partsz - 1)
    return bool(response.entry_check((block << response.tailbit) + place + 1, y) == 0)


def hadamard_mechanism(one: bool) -> Oracle:
    """Hadamard mechanism: signs of one random coefficient, or of the best number of them."""

    def run(answers: npt.NDArray[np.int64], k: int, epsilon: float) -> Reports:
        library, size = peers.pure_ldp(), 1 << math.ceil(math.log2(k))
        options = {"t": 1, "use_optimal_t": not one}
        client = library.HadamardMechClient(epsilon, size, **options)
        server = library.HadamardMechServer(epsilon, size, **options)
        reports = [list(client.privatise(x + 1)) for x in answers.tolist()]
        server.aggregate_all(reports)
        pairs = np.array(reports)  # (n, t, 2): the index and the sign
        parity = np.bitwise_count(np.arange(size)[:, None] & np.arange(k)).astype(int) % 2
        supports = (1 - 2 * parity[pairs[:, :, 0]] == pairs[:, :, 1, None]).all(axis=1)
        holds, counts = distinct(supports)
        return Reports(1 + np.expm1(epsilon) * holds, counts, _estimates(server, k) / len(answers))

    return run


def histogram(answers: npt.NDArray[np.int64], k: int, epsilon: float) -> Reports:
    """Histogram encoding, a one-hot vector with Laplace noise: summed, or cut at the best threshold (THE)."""
    library = peers.pure_ldp()
    client = library.HEClient(epsilon, k)
    reports = np.array([client.privatise(x + 1) for x in answers.tolist()])
    # The densities of all coordinates but x are the same, whether the answer is x or not.
    rows = np.exp(epsilon / 2 * (np.abs(reports) - np.abs(reports - 1)))
    cut = library.HEServer(epsilon, k, use_the=True)
    cut.aggregate_all(reports.copy())  # it writes into what it is given
    own = {"threshold, projected": projected(_estimates(cut, k) / len(answers))}
    return Reports(rows, np.ones(len(reports)), reports.mean(axis=0), own)


def _estimates(server: Any, k: int) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # "small amounts of data"
        return np.asarray(server.estimate_all(range(1, k + 1), suppress_warnings=True), dtype=float)


MULTI_FREQ: dict[str, Oracle] = {
    "GRR": grr,
    "SS": subset,
    "SUE": unary(False),
    "OUE": unary(True),
    "BLH": hashing(False),
    "OLH": hashing(True),
}
PURE: dict[str, Oracle] = {
    "HR": hadamard_response,
    "HM, one": hadamard_mechanism(True),
    "HM, best": hadamard_mechanism(False),
    "HE": histogram,
}


@cache
def oracles() -> dict[str, Oracle]:
    """What is installed."""
    found = MULTI_FREQ if peers.multi_freq("GRR") else {}
    return found | (PURE if peers.pure_ldp() else {})


def check(name: str, k: int, epsilon: float, blocks: int = 20, size: int = 1000) -> str | None:
    """Why an oracle is left out, or None: its error over `blocks` repeats should be zero on average.

    The population is uneven. Every category's mean error is held against 5 of its standard errors by Student's t with
    blocks - 1 degrees of freedom: a sound oracle is refused with a probability below 2 K 10^-4.
    """
    rng = np.random.default_rng([k, round(1000 * epsilon)])
    theta = np.arange(k, 0, -1.0) ** 2
    answers = rng.choice(k, (blocks, size), p=theta / theta.sum())
    seed_all(int(rng.integers(2**31)))
    errors = []
    for block in answers:
        errors.append(oracles()[name](block, k, epsilon).raw - np.bincount(block, minlength=k) / size)
    z = np.mean(errors, axis=0) / (np.std(errors, axis=0, ddof=1) / math.sqrt(blocks))
    worst = int(np.abs(z).argmax())
    if abs(z[worst]) < 5:
        return None
    return f"{name} is biased at K = {k}, epsilon = {epsilon:g}: category {worst} by {z[worst]:.1f} standard errors"


def estimates(answers: npt.NDArray[np.int64], k: int, epsilon: float, seed: int) -> dict[str, Floats]:
    """Every oracle with every post-processing, by "oracle: post-processing"."""
    out = {}
    for place, (name, oracle) in enumerate(oracles().items()):
        seed_all(seed + place)  # so that an oracle's draws do not depend on which others are there
        for way, estimate in oracle(answers, k, epsilon).estimates().items():
            out[f"{name}: {way}"] = estimate
    return out

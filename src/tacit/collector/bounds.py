"""What the channels that were asked through allow: the error that no unbiased estimate is below, before any prior.

The information about theta in n reports of a channel is n sum over reports y of P(y | .) P(y | .)' / P(y), with P(y) =
sum over x of P(y | x) theta_x. Informations of channels add. On the simplex an efficient estimate has the covariance
C = U (U' I U)^-1 U', U a basis of the directions that sum to zero, and its error is close to normal, so that the
expected total variation is

    1/2 sum over k of sqrt(2 / pi) sqrt(C_kk).

A subset or hashed channel with too many reports to list is taken by the moments of its tally, whose information is that
of the best estimate that uses the tally only: a little less than all. Above 500 categories C_kk is the variance of
the unbiased estimate of each share by itself, channels weighted by their precision.

A number has the 2 x 2 information of (mu, sigma), and the expected absolute error of mu is sqrt(2 / pi) sqrt(C_11). An
error that the reports do not bound at all is infinite.

>>> from tacit import channels
>>> theta = np.array([0.5, 0.3, 0.2])
>>> round(categories_bound([(channels.srr(3, 1.0), 10_000)], theta), 4)
0.0154
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tacit import channels
from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.likelihood import MomentLikelihood
from tacit.models import LocationScale, finite_information
from tacit_client import Question

ENTRIES = 2 * 10**6  # of a matrix of reports and categories that is written out
MANY = 500  # categories above which no matrix of them is inverted
GRADES = (2, 3, 4, 6, 8, 12, 16)
_RATIO = math.sqrt(2 / math.pi)  # E|Z| of a standard normal


def categories_bound(used: Iterable[tuple[Channel[Any], int]], theta: Floats) -> float:
    """The least expected total variation at theta, of (channel, reports) together."""
    k = len(theta)
    if k > MANY:
        return _marginal_bound(used, theta)
    total = np.zeros((k, k))
    for channel, n in used:
        total += n * information(channel, theta)
    basis = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:]
    inner = basis.T @ total @ basis
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    if values[-1] <= 0 or values[0] <= values[-1] * 1e-12:
        return math.inf
    spread = ((basis @ vectors) ** 2 / values).sum(axis=1)
    return float(_RATIO * np.sqrt(spread).sum() / 2)


def _marginal_bound(used: Iterable[tuple[Channel[Any], int]], theta: Floats) -> float:
    precision = np.zeros(len(theta))
    for channel, n in used:
        _, variance = channel.unbiased(channel.frequencies(theta), n)
        precision += np.divide(1.0, variance, out=np.zeros(len(theta)), where=np.isfinite(variance))
    if (precision <= 0).any():
        return math.inf
    return float(_RATIO * np.sqrt(1 / precision).sum() / 2)


def information(channel: Channel[Any], theta: Floats) -> Floats:
    """The information in one report at theta, its entries taken as free: a matrix (K, K)."""
    inclusion = getattr(channel, "moments", None)
    try:
        rows = channel.matrix() if inclusion is None or _listed(channel) else None
    except TacitError:
        rows = None
    if rows is not None:
        scaled = rows / np.sqrt(rows @ theta)[:, None]
        return np.asarray(scaled.T @ scaled)
    if inclusion is None:
        return np.zeros((len(theta), len(theta)))
    mean = np.asarray(inclusion.q + inclusion.gain * np.bincount(inclusion.cell_of, theta, inclusion.cells))
    return MomentLikelihood.of(inclusion, mean, 1, theta).information(theta)


def _listed(channel: Channel[Any]) -> bool:
    try:
        return len(channel.reports()) * channel.k <= ENTRIES
    except TacitError:
        return False


def location_bound(
    used: Iterable[tuple[Channel[Any], int]], model: LocationScale, point: Floats, known_scale: bool = False
) -> float:
    """The least expected absolute error of mu at a point (mu, sigma), of (channel, reports) together."""
    total = np.zeros((2, 2))
    for channel, n in used:
        total += n * number_information(channel, model, point)
    if known_scale:
        return _RATIO / math.sqrt(total[0, 0]) if total[0, 0] > 0 else math.inf
    determinant = float(np.linalg.det(total))
    if determinant <= 1e-12 * total[0, 0] * total[1, 1] or total[0, 0] <= 0:
        return math.inf
    return _RATIO * math.sqrt(total[1, 1] / determinant)


def number_information(channel: Channel[Any], model: LocationScale, point: Floats) -> Floats:
    """The information about (mu, sigma) in one report: a matrix (2, 2)."""
    found = finite_information(model.family, channel.cuts, channel.matrix(), point[None])  # type: ignore[attr-defined]
    return np.asarray(found[0])


def static_bound(n: int, epsilon: float, theta: Floats) -> float:
    """`categories_bound` for the best channel that looks at no report: subset response of the best size.

    Of many categories, whose sets no device would send, it is the hashed channel, up to the epsilon that it has.
    """
    k = len(theta)
    channel: Channel[Any]
    try:
        channel = channels.hashed(k, epsilon) if k > MANY else channels.subset(k, epsilon)
    except TacitError:
        channel = channels.subset(k, epsilon)
    return categories_bound([(channel, n)], theta)


def static_location_bound(
    question: Question, n: int, epsilon: float, model: LocationScale, point: Floats
) -> float:
    """`location_bound` for graded response over the whole range of the question, with the best number of grades."""
    low, high = str(question.lowest), str(question.highest)
    tried = [channels.graded(low, high, steps, epsilon) for steps in GRADES]
    return min(location_bound([(channel, n)], model, point) for channel in tried)

"""Do reports of a number fit the model: each channel's tally, and the shape that all of them show together.

Every channel's counts N_y of its reports are compared with simulated ones at posterior draws of (mu, sigma), by

    sum over y of (N_y - n r_y)^2 / (n r_y (1 - r_y)),    r_y = sum_j P(y | cell j) p_j.

A channel with one cut has nothing to be compared with: some mu fits its counts whatever the shape. What tells a skewed
or a heavy-tailed law from the model is how the cells of many channels hang together. That is asked by Neyman's smooth
test: with u = F((x - mu) / sigma) and L_k the Legendre polynomials on [0, 1], the density is bent to

    f(x) [1 + g_3 L_3(u) + g_4 L_4(u)]

(g_3 bends it to one side, g_4 moves mass between the middle and the tails), and S is the derivative of the
log-likelihood by (g_3, g_4) at 0. What mu and sigma can account for is taken away,

    S - I_gt I_tt^-1 S_t,    with I the information of all reports about (g, t), t = (mu, sigma),

so that the rest hardly depends on the draw (Neyman's C(alpha)); its square in units of its own information is
compared with that of simulated reports. Reports with all cuts in one place say nothing of the shape: then nothing
can be noticed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit.arrays import Floats
from tacit.channels import BinnedChannel, Channel
from tacit.evidence import Evidence, Tally
from tacit.models import LocationScale

DEGREES = (3, 4)
FLAT = 1e-9  # of the largest: eigenvalues of the information that count as none


class Fit(NamedTuple):
    """How one channel's reports fit: the share of simulated tallies that lie at least as far from their mean."""

    channel: Channel[Any]
    n: int
    p_value: float


class NumberCheck(NamedTuple):
    """Every channel's `Fit`, and the p-value of the shape: of skewness and tails, from all reports together."""

    channels: list[Fit]
    p_value: float


class _Part(NamedTuple):
    """What one channel adds at every draw, real and simulated: scores (2, R, 4) and information (R, 4, 4)."""

    score: Floats
    information: Floats


def number_check(
    model: LocationScale, points: Floats, evidence: Evidence, rng: np.random.Generator
) -> NumberCheck:
    """One set of simulated reports for each of the `points` (R, 2), which are posterior draws."""
    fits, score, information = [], np.zeros((2, len(points), 4)), np.zeros((len(points), 4, 4))
    for tally in evidence.tallies:
        channel = tally.channel
        assert isinstance(channel, BinnedChannel)
        cells = model.cell_probabilities(channel.cuts, points)
        matrix = channel.matrix()
        chances = cells @ matrix.T
        chances /= chances.sum(axis=1, keepdims=True)
        counts = np.stack([np.broadcast_to(_counts(tally), chances.shape), rng.multinomial(tally.n, chances)])
        away = ((counts - tally.n * chances) ** 2 / (chances * (1 - chances))).sum(axis=2)
        fits.append(Fit(channel, tally.n, _p_value(away)))
        part = _part(chances, _slopes(model, channel.cuts, points) @ matrix.T, counts, tally.n)
        score += part.score
        information += part.information
    return NumberCheck(fits, _p_value(_bent(score, information, model.scale is not None)))


def _counts(tally: Tally) -> Floats:
    """How often every possible report was made, in the order of the rows of the channel's matrix."""
    assert tally.reports is not None
    assert tally.counts is not None
    rows = tally.channel.check_reports(tally.channel.reports())
    place = {row.tobytes(): i for i, row in enumerate(rows)}
    out = np.zeros(len(rows))
    for row, count in zip(tally.reports, tally.counts, strict=True):
        out[place[row.tobytes()]] = count
    return out


def _slopes(model: LocationScale, cuts: Floats, points: Floats) -> Floats:
    """Derivatives of the cells' probabilities by mu / sigma, ln sigma, g_3 and g_4: shape (4, R, cells)."""
    sigma = points[:, 1:]
    by_place = np.moveaxis(model.cell_gradient(cuts, points), 2, 0) * sigma
    u = model.family.cdf((cuts - points[:, :1]) / sigma)
    bent = [np.diff(_integral(k, u), axis=1, prepend=0.0, append=0.0) for k in DEGREES]
    return np.concatenate([by_place, np.stack(bent)])


def _integral(degree: int, u: Floats) -> Floats:
    """The integral of L_degree from 0 to u, which is 0 at both ends."""
    coefficients = np.zeros(degree + 2)
    coefficients[[degree - 1, degree + 1]] = -1.0, 1.0
    return np.asarray(np.polynomial.legendre.legval(2 * u - 1, coefficients) / (4 * degree + 2))


def _part(chances: Floats, slopes: Floats, counts: Floats, n: int) -> _Part:
    relative = slopes / chances
    score = np.einsum("sry,ary->sra", counts, relative)
    return _Part(score, n * np.einsum("ary,bry->rab", relative, slopes))


def _bent(score: Floats, information: Floats, known: bool) -> Floats:
    """The squared distance of the shape from the model's, (2, R), where the scale is `known` or not."""
    fitted = [0] if known else [0, 1]
    bend = [2, 3]
    within = information[:, fitted][:, :, fitted]
    across = information[:, bend][:, :, fitted]
    pull = across @ np.linalg.pinv(within, hermitian=True)
    rest = score[:, :, bend] - np.einsum("rab,srb->sra", pull, score[:, :, fitted])
    left = information[:, bend][:, :, bend] - pull @ np.swapaxes(across, 1, 2)
    # What is left of no information at all is rounding error.
    most = np.trace(information[:, bend][:, :, bend], axis1=1, axis2=2)
    values, vectors = np.linalg.eigh(left)
    inverse = np.where(values > FLAT * most[:, None], 1 / np.maximum(values, 1e-300), 0.0)
    turned = np.einsum("rab,sra->srb", vectors, rest)
    return np.asarray((turned**2 * inverse).sum(axis=2))


def _p_value(distances: Floats) -> float:
    """From the distances (2, R) of the real and of the simulated reports."""
    real, simulated = distances
    further = int((simulated >= real * (1 - 1e-9)).sum())
    return (further + 1) / (len(real) + 1)

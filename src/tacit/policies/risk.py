"""The risk policy: the coarse subset channel that is expected to leave the least error when all reports are in.

Let C be the posterior covariance of theta and t its mean, and let n more reports come through a candidate channel whose
inclusion indicators have mean q + (p - q) M theta, M the map from categories to cells, and covariance R at t. With
A = (p - q) M the best linear estimate has error

    C' = C - C A' [ (1 - 1/n) A C A' + R / n ]^-1 A C.

R is the covariance of one report when theta is not known, and so holds A C A' once already. A report always names the
same number of cells, so R is singular; one cell is left out. Candidates keep the k likeliest categories, for a ladder
of k, and name w of the cells. n is what is still expected, so that the last report is planned for, not only the next.
The static channel is among the candidates, and left only for a gain above MARGIN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit import channels
from tacit.arrays import Floats
from tacit.channels.subsets import SubsetChannel

MARGIN = 0.03
LADDER = 1.35  # ratio of successive numbers of kept categories


class Choice(NamedTuple):
    """A channel, and its expected error over that of the static channel."""

    channel: SubsetChannel
    ratio: float


def choose(draws: Floats, epsilon: float, n: int, aim: str = "tv") -> Choice:
    """The best candidate for n more reports, given posterior draws (N, K)."""
    k = draws.shape[1]
    mean, covariance = draws.mean(axis=0), np.cov(draws.T)
    order = np.argsort(-mean, kind="stable")
    static = channels.subset(k, epsilon)
    base = expected_error(static, mean, covariance, n, aim)
    best = Choice(static, 1.0)
    if not 0 < base < np.inf:  # the draws agree: there is nothing left to choose for
        return best
    for size in _ladder(k):
        keep = order[:size]
        whole = channels.coarse(k, keep, epsilon)
        for w in {
            max(1, whole.table.size - 1),
            whole.table.size,
            min(whole.table.cells - 1, whole.table.size + 1),
        }:
            candidate = channels.coarse(k, keep, epsilon, w)
            ratio = expected_error(candidate, mean, covariance, n, aim) / base
            if ratio < min(best.ratio, 1 - MARGIN):
                best = Choice(candidate, ratio)
    return best


def expected_error(channel: SubsetChannel, mean: Floats, covariance: Floats, n: int, aim: str) -> float:
    """Sum of standard deviations ("tv") or of variances ("mse") that n reports are expected to leave."""
    m = channel.moments
    kept = m.cells - 1
    t = np.bincount(m.cell_of, mean, m.cells)[:kept]
    # C A' and A C A' by sums over cells: the map M is never multiplied.
    by_cell = np.zeros((len(mean), m.cells))
    np.add.at(by_cell.T, m.cell_of, covariance)
    both = np.zeros((m.cells, m.cells))
    np.add.at(both, m.cell_of, by_cell)
    ca, aca = m.gain * by_cell[:, :kept], m.gain**2 * both[:kept, :kept]
    share = m.q + m.gain * t
    noise = m.both + m.extra * (t[:, None] + t) - np.outer(share, share)
    noise[np.diag_indices(kept)] = share * (1 - share)
    try:
        gained = np.linalg.solve((1 - 1 / n) * aca + noise / n, ca.T)
    except np.linalg.LinAlgError:  # a cell that is surely held or surely not: leave such a channel alone
        return float("inf")
    left = np.maximum(np.diag(covariance) - np.einsum("ij,ji->i", ca, gained), 0)
    return float(np.sqrt(left).sum() if aim == "tv" else left.sum())


def _ladder(k: int) -> list[int]:
    """Numbers of kept categories: 1, 2, 3, ... in growing steps, up to all."""
    sizes, size = [], 1.0
    while size < k - 1:
        sizes.append(int(size))
        size = max(size + 1, size * LADDER)
    return [*sizes, k]

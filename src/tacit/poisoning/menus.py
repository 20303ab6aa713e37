"""What a hostile respondent may send: the worst report of a channel, found without listing those of a subset channel.

A report enters the likelihood by its row r, proportional to P(report | cell). To first order in the
posterior's spread it moves a goal g by

    (r . a) / (r . b),    a = Cov(g, cells),    b = E[cells],

the covariance of g with ln(r . cells), the logarithm replaced by its tangent at b. Block, dense and graded
channels have few reports: all are tried. A subset report has r = 1 + (odds - 1) h with h the indicator of w
cells, and sum(a) = 0 since cells sum to 1. So the best set maximises a ratio of two sums over its cells,
which Dinkelbach's method (1967) solves: with the ratio L of the last set, take the w cells with the largest a
- L (odds - 1) b, until L stops growing. Each step is a sort, a handful of steps are enough, and the set found
is the best of all.

For a hashed channel the set may be any set of categories: its hash functions make almost every set when
categories are few, and for many this is a bound that no search reaches.

>>> from tacit import channels
>>> found = best(channels.subset(4, 1.0, 2), np.array([[0.3, -0.2, 0.0, -0.1]]), np.array([0.4, 0.3, 0.2, 0.1]))
>>> found.report(0)
[0, 2]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tacit.arrays import Floats, Integers
from tacit.channels import BinnedChannel, Channel
from tacit.channels.hashed import HashedChannel
from tacit.channels.subsets import SubsetChannel
from tacit.errors import TacitError

MAX_STEPS = 50  # of Dinkelbach's method: it needs four or five


class Found(NamedTuple):
    """The worst report for each of J goals: how far it moves the goal (J,), its row (J, k), and itself (J, ...)."""

    gain: Floats
    rows: Floats
    reports: Integers | None

    def report(self, goal: int) -> Any:
        """The report for one goal, as the channel takes it."""
        if self.reports is None:
            raise TacitError(
                "too_many_reports",
                "no report of a hashed channel was searched for",
                argument="exact",
                hint="the gauge without exact=True bounds what a hashed channel lets through",
            )
        return self.reports[goal].tolist()


def best(channel: Channel[Any], pull: Floats, mean: Floats) -> Found:
    """The report of `channel` with the largest (r . pull_j) / (r . mean), for each row of pull (J, k)."""
    inner = channel.inner if isinstance(channel, BinnedChannel) else channel
    if isinstance(inner, SubsetChannel):
        return _best_set(inner, pull, mean)
    if isinstance(inner, HashedChannel):
        return _best_any(inner, pull, mean)
    reports = inner.check_reports(inner.reports())
    rows = inner.likelihood(reports)
    rows /= rows.min(axis=1, keepdims=True)
    scores = (pull @ rows.T) / (rows @ mean)
    chosen = scores.argmax(axis=1)
    return Found(scores[np.arange(len(pull)), chosen], rows[chosen], reports[chosen])


def _best_set(channel: SubsetChannel, pull: Floats, mean: Floats) -> Found:
    """Of a fixed number of cells."""
    table, cell_of = channel.table, channel.cell_of
    more = table.own / table.other - 1
    by_cell = np.zeros((len(pull), table.cells))
    np.add.at(by_cell.T, cell_of, pull.T)
    weight = np.bincount(cell_of, mean, table.cells).astype(np.float64)
    total = by_cell.sum(axis=1)

    def take(slope: Floats) -> Floats:
        score = by_cell - slope[:, None] * weight
        top = np.argpartition(-score, table.size - 1, axis=1)[:, : table.size]
        out = np.zeros_like(by_cell)
        np.put_along_axis(out, top, 1.0, axis=1)
        return out

    held, gain = _dinkelbach(take, by_cell, weight, more, total)
    reports = np.nonzero(held)[1].reshape(len(pull), table.size).astype(np.int64)
    return Found(gain, 1 + more * held[:, cell_of], reports)


def _best_any(channel: HashedChannel, pull: Floats, mean: Floats) -> Found:
    """Of any cells: what no hash function can do better than."""
    more = channel.table.own / channel.table.other - 1

    def take(slope: Floats) -> Floats:
        return (pull - slope[:, None] * mean > 0).astype(np.float64)

    held, gain = _dinkelbach(take, pull, mean, more, pull.sum(axis=1))
    return Found(gain, 1 + more * held, None)


def _dinkelbach(
    take: Callable[[Floats], Floats], pull: Floats, mean: Floats, more: float, total: Floats
) -> tuple[Floats, Floats]:
    """The sets (J, cells) with the largest ratio (total + more pull . h) / (1 + more mean . h), and the ratios."""
    gain = np.full(len(pull), -np.inf)
    held = take(np.zeros(len(pull)))
    for _ in range(MAX_STEPS):
        ratio = (total + more * (pull * held).sum(axis=1)) / (mean.sum() + more * held @ mean)
        grown = ratio > gain
        if not grown.any():
            break
        gain = np.maximum(ratio, gain)
        held = np.where(grown[:, None], take(gain), held)
    return held, gain

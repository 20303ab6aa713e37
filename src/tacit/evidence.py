"""Evidence: all that the server remembers about reports, and the moment estimate it carries.

For every channel it keeps the number of reports and their tally (sums of K numbers at most). Tallies add up, so
Evidence is a commutative monoid: the order of reports, the way they were split and the moment at which they came
leave no trace.

Each channel's tally gives an unbiased estimate of theta. They are averaged category by category, weighted by
their precision at a uniform distribution: weights that do not look at the data keep the average unbiased.

>>> from tacit import channels
>>> channel = channels.srr(3, 2.0)
>>> evidence = Evidence().add(channel, [0, 0, 1]) + Evidence().add(channel, [2])
>>> len(evidence), evidence == Evidence().add(channel, [2, 0, 1, 0])
(4, True)
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from tacit.arrays import Floats, Integers
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit_client import check


class Tally(NamedTuple):
    """The reports of one channel: how many, and their sums."""

    channel: Channel[Any]
    n: int
    sums: Integers


@dataclass(frozen=True)
class Moments:
    """An unbiased estimate of theta (K,) with its standard errors: respondents and randomisation both vary.

    An unbiased estimate may be negative. A category no channel told apart has nan and an infinite error.
    """

    theta: Floats
    standard_error: Floats
    n: int

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Lower and upper ends of normal intervals at `level`, one category at a time, within 0..1."""
        share = check.bounded(level, "level", lambda v: 0 < v < 1, "give a level between 0 and 1")
        reach = NormalDist().inv_cdf(0.5 + float(share) / 2) * self.standard_error
        centre = np.where(np.isfinite(reach), self.theta, 0.5)
        return np.clip(centre - reach, 0, 1), np.clip(centre + reach, 0, 1)


@dataclass(frozen=True)
class Evidence:
    """Counts of reports by channel. Adding gives a new Evidence; nothing changes in place."""

    tallies: tuple[Tally, ...] = ()  # one for each channel, in the order of their ids

    def add(self, channel: Channel[Any], reports: object) -> Evidence:
        """This evidence and the reports that `channel` made."""
        if not isinstance(channel, Channel):
            raise TacitError(
                "argument_invalid",
                f"channel is {check.shown(channel)}",
                argument="channel",
                hint="give a channel of tacit.channels, then its reports",
            )
        rows = channel.check_reports(reports)
        return self + Evidence((Tally(channel, len(rows), channel.tally(rows)),))

    def __add__(self, other: Evidence) -> Evidence:
        if not isinstance(other, Evidence):
            return NotImplemented
        if None not in (self.k, other.k) and self.k != other.k:
            raise TacitError(
                "channel_mismatch",
                f"reports over {other.k} categories do not add to {self.k}",
                argument="channel",
                hint="keep a separate Evidence for every question",
            )
        merged = {tally.channel.id: tally for tally in self.tallies}
        for tally in other.tallies:
            old = merged.get(tally.channel.id)
            merged[tally.channel.id] = tally if old is None else _joined(old, tally)
        return Evidence(tuple(tally for _, tally in sorted(merged.items())))

    @property
    def k(self) -> int | None:
        """The number of categories; None while there is no evidence."""
        return self.tallies[0].channel.k if self.tallies else None

    def __len__(self) -> int:
        return sum(tally.n for tally in self.tallies)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Evidence)
            and len(self.tallies) == len(other.tallies)
            and all(
                a.channel == b.channel and a.n == b.n and np.array_equal(a.sums, b.sums)
                for a, b in zip(self.tallies, other.tallies, strict=True)
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def moments(self) -> Moments:
        """The unbiased moment estimate of theta, from all channels together."""
        k = self.k
        if k is None:
            raise TacitError(
                "argument_invalid",
                "there is no evidence yet",
                argument="evidence",
                hint="add reports first: Evidence().add(channel, reports)",
            )
        uniform = np.full(k, 1 / k)
        total, weights, spread = np.zeros(k), np.zeros(k), np.zeros(k)
        for channel, n, sums in self.tallies:
            _, expected = channel.unbiased(channel.frequencies(uniform), n)
            estimate, variance = channel.unbiased(sums / n, n)
            known = np.isfinite(expected)
            weight = np.divide(1.0, expected, out=np.zeros(k), where=known)
            weights += weight
            total += np.where(known, weight * estimate, 0)
            spread += np.where(known, weight**2 * np.where(known, variance, 0), 0)
        seen = weights > 0
        theta = np.divide(total, weights, out=np.full(k, np.nan), where=seen)
        error = np.divide(np.sqrt(spread), weights, out=np.full(k, np.inf), where=seen)
        return Moments(theta, error, len(self))


def _joined(a: Tally, b: Tally) -> Tally:
    return Tally(a.channel, a.n + b.n, a.sums + b.sums)

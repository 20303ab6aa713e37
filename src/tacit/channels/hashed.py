"""Numerical part of hashed response: the report is (a, b, bucket).

A category is supported by a report if it hashes to the bucket. That has probability p for the answer and
q for any other category, so the share of reports that support x has mean q + (p - q) theta_x. q takes the hash
family as it is: two categories collide with a probability a little below 1 / buckets.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats, Integers
from tacit.channels.base import Channel, ratio
from tacit.likelihood import Inclusion
from tacit_client.tables import Hashed, Value
from tacit_client.tables.hashed import PRIME


class HashedChannel(Channel[Hashed]):
    """Local hashing; nothing of size k^2 or (k, reports) is built except by `likelihood`."""

    @cached_property
    def inclusion(self) -> tuple[float, float]:
        """(p, q): the probability that a report supports the answer, and any one other category."""
        t = self.table
        total = t.own + (t.buckets - 1) * t.other
        size, larger = divmod(PRIME, t.buckets)
        together = larger * (size + 1) * size + (t.buckets - larger) * size * (size - 1)
        apart = PRIME * (PRIME - 1) - together
        others = t.buckets - 1
        q = ratio(
            together * t.own * others + apart * (total - t.own),
            PRIME * (PRIME - 1) * others * total,
        )
        return ratio(t.own, total), q

    @cached_property
    def moments(self) -> Inclusion:
        """First and second moments of which categories a report supports; three hashes count as independent."""
        p, q = self.inclusion
        return Inclusion(np.arange(self.k), self.k, q, p - q, q * q, (p - q) * q, fixed_size=False)

    def matrix(self) -> Floats:
        self.reports()  # explains that there are too many
        raise AssertionError("unreachable: a hashed channel has more than 2^62 reports")

    def frequencies(self, theta: Floats) -> Floats:
        p, q = self.inclusion
        return q + (p - q) * theta

    def unbiased(self, frequencies: Floats, n: int) -> tuple[Floats, Floats]:
        p, q = self.inclusion
        gain = p - q
        if self.table.own == self.table.other:
            return np.full(self.k, np.nan), np.full(self.k, np.inf)
        return (frequencies - q) / gain, frequencies * (1 - frequencies) / (n * gain**2)

    def _empty(self, n: int) -> npt.NDArray[np.integer]:
        return np.empty((n, 3), dtype=np.int64)

    def _sample(self, x: Integers, rng: np.random.Generator, out: npt.NDArray[np.integer]) -> None:
        t, n = self.table, len(x)
        a, b = rng.integers(1, PRIME, n), rng.integers(0, PRIME, n)
        own = (a * x + b) % PRIME % t.buckets
        total = t.own + (t.buckets - 1) * t.other
        u = rng.random(n) - ratio(t.own - t.other, total)
        other = np.minimum(u / ratio(t.other, total), t.buckets - 1).astype(np.int64)
        out[:, 0], out[:, 1], out[:, 2] = a, b, np.where(u < 0, own, other)

    def _likelihood(self, reports: Integers) -> Floats:
        from tacit.channels import kernels

        out = np.empty((len(reports), self.k))
        odds = ratio(self.table.own, self.table.other)
        kernels.hashed_likelihood(reports, self.table.buckets, odds, out)
        return out

    def _tally(self, reports: Integers, counts: Integers | None) -> Integers:
        from tacit.channels import kernels

        out = np.zeros(self.k, dtype=np.int64)
        made = np.ones(len(reports), dtype=np.int64) if counts is None else counts
        kernels.hashed_tally(reports, made, self.table.buckets, out)
        return out

    def _check_reports(self, reports: object) -> Integers:
        rows = arrays.integers(reports, "reports", 0, PRIME - 1, columns=3)
        if (rows[:, 0] < 1).any() or (rows[:, 2] >= self.table.buckets).any():
            raise arrays.refuse(
                reports, "reports", f"give rows a, b, bucket with a > 0, bucket < {self.table.buckets}"
            )
        return rows

    def _report_count(self) -> int:
        return PRIME * (PRIME - 1) * self.table.buckets

    def _reports(self) -> list[Value]:
        raise AssertionError("unreachable: refused by reports()")

    def __repr__(self) -> str:
        return f"hashed(k={self.k}, epsilon={self.epsilon:g})"

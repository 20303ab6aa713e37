"""What every channel offers: the exact part by its table, the numerical part by arrays.

A channel is a value. It wraps one table of `tacit_client` and exists only if the certificate of that table
holds. All floats here are derived from the table's integers; none of them takes part in a real answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats, Integers
from tacit.errors import TacitError
from tacit.rng import generator
from tacit_client.certificate import Certificate, require_honest
from tacit_client.channel import channel_id, channel_text
from tacit_client.tables import Table, Value

T = TypeVar("T", bound=Table)
_CHUNK = 1 << 15  # answers sampled at a time: the work arrays stay in the processor's cache
_MAX_MATRIX = 10**7


class Channel(ABC, Generic[T]):
    """A randomiser over the answers 0..k-1. Make one with the functions of `tacit.channels`."""

    def __init__(self, table: T) -> None:
        self.certificate: Certificate = require_honest(table)
        self.table = table
        if self.loss > self.epsilon:
            # Between a decimal epsilon and the float nearest to it; no table made here comes so near.
            raise TacitError(
                "channel_leaks",
                f"the loss {self.loss!r} rounds above epsilon {self.epsilon!r}",
                argument="epsilon",
                hint="state an epsilon that is larger by 1e-15",
            )

    @property
    def k(self) -> int:
        """The number of categories, or of cells."""
        return self.table.k

    @property
    def numeric(self) -> bool:
        """Whether answers are numbers, and 0..k-1 their cells; else they are the categories 0..k-1."""
        return False

    @property
    def epsilon(self) -> float:
        """The stated bound of the privacy loss."""
        return float(self.table.epsilon)

    @property
    def loss(self) -> float:
        """The exact worst log-ratio of the table, rounded up; at most `epsilon`."""
        return self.certificate.loss

    @cached_property
    def id(self) -> str:
        """SHA-256 of the canonical JSON."""
        return channel_id(self.table)

    def to_json(self) -> str:
        """The canonical JSON that devices read; `tacit.channels.from_json` reads it back."""
        return channel_text(self.table)

    def respond(self, answer: int) -> Value:
        """One real report: operating system randomness and exact integers. There is no seed."""
        return self.table.respond(answer)

    def sample(self, answers: npt.ArrayLike, rng: object) -> npt.NDArray[np.integer]:
        """Simulated reports of many answers, from a numpy Generator or a seed. Never for real answers."""
        x = arrays.integers(answers, "answers", 0, self.k - 1)
        random = generator(rng)
        out = self._empty(len(x))
        for start in range(0, len(x), _CHUNK):
            part = slice(start, start + _CHUNK)
            self._sample(x[part], random, out[part])
        return out

    def likelihood(self, reports: object) -> Floats:
        """Shape (n, k): row i is proportional to P(reports[i] | x) over the answers x."""
        return self._likelihood(self.check_reports(reports))

    def tally(self, reports: object, counts: object = None) -> Integers:
        """The sums over reports that carry the moments: see `frequencies`. Adding tallies merges data.

        `counts` says how often each report was made; left out, once.
        """
        rows = self.check_reports(reports)
        return self._tally(rows, None if counts is None else arrays.counts(counts, len(rows)))

    def check_reports(self, reports: object) -> Integers:
        """`reports` as an integer array, refused when one of them is impossible."""
        try:
            return self._check_reports(reports)
        except TacitError as error:
            raise TacitError(
                "report_impossible", error.message, argument="reports", hint=error.hint
            ) from None

    def reports(self) -> list[Value]:
        """Every possible report, in the order of the rows of `matrix()`."""
        if self._report_count() * self.k > _MAX_MATRIX:
            raise TacitError(
                "too_many_reports",
                f"the channel has more than {_MAX_MATRIX // self.k} reports",
                argument="channel",
                hint="use likelihood(reports) for the reports that you have",
            )
        return self._reports()

    @abstractmethod
    def matrix(self) -> Floats:
        """Shape (reports, k): P(report | x), for channels small enough to list their reports."""

    @abstractmethod
    def frequencies(self, theta: Floats) -> Floats:
        """The mean of `tally` for one report when answers follow theta (k,)."""

    @abstractmethod
    def unbiased(self, frequencies: Floats, n: int) -> tuple[Floats, Floats]:
        """From the mean tally of n reports: unbiased estimates (k,) and their sampling variances (k,).

        A category that the channel does not tell from others gets nan and an infinite variance.
        """

    @abstractmethod
    def _empty(self, n: int) -> npt.NDArray[np.integer]: ...

    @abstractmethod
    def _sample(self, x: Integers, rng: np.random.Generator, out: npt.NDArray[np.integer]) -> None: ...

    @abstractmethod
    def _likelihood(self, reports: Integers) -> Floats: ...

    @abstractmethod
    def _tally(self, reports: Integers, counts: Integers | None) -> Integers: ...

    @abstractmethod
    def _check_reports(self, reports: object) -> Integers: ...

    @abstractmethod
    def _report_count(self) -> int: ...

    @abstractmethod
    def _reports(self) -> list[Value]: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Channel) and self.table == other.table

    def __hash__(self) -> int:
        return hash(self.table)

    def __repr__(self) -> str:
        return f"<{self.table.kind} channel, k={self.k}, epsilon={self.epsilon:g}>"


def ratio(numerator: int, denominator: int) -> float:
    """A correctly rounded quotient of two integers of any size."""
    return numerator / denominator


def summed(cells: Integers, counts: Integers | None, size: int) -> Integers:
    """How often each of 0..size-1 occurs, in whole numbers: sums of floats would be exact only up to 2^53."""
    if counts is None:
        return np.bincount(cells, minlength=size)
    out = np.zeros(size, dtype=np.int64)
    np.add.at(out, cells, counts)
    return out

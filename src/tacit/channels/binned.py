"""Numerical part of a channel for numbers: cells between cuts, and a finite channel over the cells.

The report is that of the finite channel, so its likelihood has one entry a cell:

    P(report | x) = P(report | cell of x),      P(report) = sum over cells of P(report | cell) P(x in cell)

A model of the number gives the last factor; nothing else of the channel has to be known.

>>> import numpy as np
>>> from tacit import channels
>>> sign = channels.graded(lo=20, hi=80, steps=1, epsilon=1.0)
>>> sign.cuts, sign.cells([49.9, 50.0, 1e9])
(array([50.]), array([0, 1, 1]))
>>> sign.likelihood([1]).round(3)
array([[0.269, 0.731]])
"""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats, Integers
from tacit.channels.base import Channel
from tacit_client import check
from tacit_client.tables import Binned, Value

_SHOWN = 12


class BinnedChannel(Channel[Binned]):
    """A finite channel, `inner`, behind `cuts`: its reports are those of `inner`.

    Added to an Evidence with `inner` as their channel, they are evidence about the shares of the cells.
    """

    def __init__(self, table: Binned, inner: Channel[Any]) -> None:
        super().__init__(table)
        self.inner = inner

    @property
    def numeric(self) -> bool:
        return True

    @cached_property
    def cuts(self) -> Floats:
        """The k - 1 cuts, increasing: the floats nearest to the decimals of the table."""
        return np.array([float(cut) for cut in self.table.cuts])

    def cells(self, answers: npt.ArrayLike) -> Integers:
        """The cell of each number: how many cuts are not above it."""
        numbers = arrays.reals(answers, "answers")
        return np.searchsorted(self.cuts, numbers, side="right").astype(np.int64)

    def respond(self, answer: str | int | Decimal) -> Value:
        """One real report of a number, by exact comparison with the cuts, then as `inner` does."""
        return self.table.respond(self.table.cell(check.answered_number(answer)))

    def sample(self, answers: npt.ArrayLike, rng: object) -> npt.NDArray[np.integer]:
        """Simulated reports of many numbers, from a numpy Generator or a seed. Never for real answers."""
        return self.inner.sample(self.cells(answers), rng)

    def matrix(self) -> Floats:
        return self.inner.matrix()

    def frequencies(self, theta: Floats) -> Floats:
        return self.inner.frequencies(theta)

    def unbiased(self, frequencies: Floats, n: int) -> tuple[Floats, Floats]:
        return self.inner.unbiased(frequencies, n)

    def _empty(self, n: int) -> npt.NDArray[np.integer]:
        return self.inner._empty(n)

    def _sample(self, x: Integers, rng: np.random.Generator, out: npt.NDArray[np.integer]) -> None:
        self.inner._sample(x, rng, out)

    def _likelihood(self, reports: Integers) -> Floats:
        return self.inner._likelihood(reports)

    def _tally(self, reports: Integers, counts: Integers | None) -> Integers:
        return self.inner._tally(reports, counts)

    def _check_reports(self, reports: object) -> Integers:
        return self.inner._check_reports(reports)

    def _report_count(self) -> int:
        return self.inner._report_count()

    def _reports(self) -> list[Value]:
        return self.inner._reports()

    def __repr__(self) -> str:
        cuts = [check.format_decimal(cut) for cut in self.table.cuts]
        shown = ", ".join(cuts) if len(cuts) <= _SHOWN else f"<{len(cuts)} from {cuts[0]} to {cuts[-1]}>"
        return f"binned([{shown}], {self.inner!r})"

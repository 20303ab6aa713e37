"""The wrappers that keep the exact cells and draw fresh noise: use-and-forget, cell perturbation, median perturbation.

Exact cells show an element again at every use, so each use is paid for, until nothing is left; the ledger says how
much that is. `tacit.sketch.private` compares them with `UseAndKeep`.

>>> from tacit.sketch import CountSketch
>>> sketch = UseAndForget(CountSketch(d=3, w=100, seed=1), privacy=1.0)
>>> sketch.update(["ant", "bee"])
>>> spent = []
>>> for _ in range(3):
...     _ = sketch.query(["ant"])
...     spent.append(float(sketch.ledger.spent))
>>> [round(share, 6) for share in spent]
[0.5, 0.75, 0.875]
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Integers
from tacit.errors import TacitError
from tacit.sketch.answers import Answers, CellNoise, Survey
from tacit.sketch.items import Items
from tacit.sketch.noise import Law
from tacit.sketch.privacy import Privacy
from tacit.sketch.private import Parts, Private, Uses, refuse, survey_of
from tacit.sketch.sketches import Sketch
from tacit.sketch.touched import most_touched
from tacit_client import check


class UseAndForget(Private):
    """Exact cells; the u-th use of a cell, u from 0, may lose a share (1 - eta) eta^u of what is due to the cell.

    Algorithm 5 of the thesis; its inner loop runs over the d rows. The noise grows by 1 / eta with each use of a
    cell, until a query is refused.
    """

    method = "use-and-forget"

    def __init__(self, sketch: Sketch, privacy: Privacy | float, eta: float = 0.5) -> None:
        super().__init__(sketch, privacy)
        self.eta = check_eta(eta)
        self._laws = [self._law(0)]
        self._uses: Uses = np.zeros((self.d, self.w), np.int32)

    def _law(self, use: int) -> Law:
        return self.privacy.law(self.d, (1 - self.eta) * self.eta**use)

    def query(self, items: object) -> Answers:
        flat, signs, used = self._flat(self._read(items))
        before = self._uses.reshape(-1)[used]
        laws = self._laws + [self._law(u) for u in range(len(self._laws), int(before.max()) + 1)]
        ledger = self.ledger.charge(self._spent(laws, used, before), len(flat))
        draws = np.empty(len(used), np.int64)
        for use in np.unique(before):
            mine = before == use
            draws[mine] = self._source.draw(laws[use], int(mine.sum()))
        where = np.searchsorted(used, flat)
        rows = (self._sketch.cells.reshape(-1)[used] + draws)[where] * signs
        self._uses.reshape(-1)[used] += 1
        self._laws, self.ledger = laws, ledger
        which = before[where].astype(np.int64)
        return self._answers(rows, CellNoise(tuple(laws), which, np.ones_like(which)))

    def _spent(self, laws: list[Law], used: Integers, before: Uses) -> Fraction:
        """What the most used cells of all rows have lost together, after this batch."""
        most = self._uses.max(axis=1)
        np.maximum.at(most, used // self.w, before + 1)
        each = [law.loss(self.privacy.shift) for law in laws]
        return sum((sum(each[:uses], Fraction(0)) for uses in most.tolist()), Fraction(0))

    def _next_law(self) -> Law | None:
        return self._laws[0]

    def _record(self) -> dict[str, Any]:
        return {"eta": str(self.eta)}

    def _parts(self) -> Parts:
        return {"uses": self._uses}

    def _restore(self, parts: Parts) -> None:
        self._uses[:] = parts["uses"]
        self._laws = [self._law(u) for u in range(max(int(self._uses.max()), 1))]


class CellPerturbation(Private):
    """Every cell noised once. The first query ends the stream and spends all; from then on every query is free."""

    method = "cell-perturbation"

    def __init__(self, sketch: Sketch, privacy: Privacy | float) -> None:
        super().__init__(sketch, privacy)
        self._law = self.privacy.law(self.d)
        self._noised: npt.NDArray[np.uint8] = np.zeros((self.d, self.w), np.uint8)

    def update(self, items: object, weights: object = None) -> None:
        if self.ledger.batches:
            raise TacitError(
                "budget_exhausted",
                "this sketch was released and is frozen",
                argument="items",
                hint="new elements need new noise: feed them into a new sketch, or use UseAndKeep",
            )
        super().update(items, weights)

    def query(self, items: object) -> Answers:
        flat, signs, used = self._flat(self._read(items))
        self._release(used, len(flat))
        rows = self._sketch.cells.reshape(-1)[flat] * signs
        ones = np.ones_like(flat)
        return self._answers(rows, CellNoise((self._law,), np.zeros_like(flat), ones))

    def survey(self) -> Survey:
        """The size of the stream, from the frozen cells."""
        self._release(np.arange(self.d * self.w), 1)
        variance = np.full((self.d, self.w), self._law.variance)
        return survey_of(self._sketch.cells, variance, self._sketch.signed)

    def _release(self, used: Integers, answers: int) -> None:
        ledger = self.ledger.charge(self.privacy.loss(self._law, self.d), answers)
        fresh = used[self._noised.reshape(-1)[used] == 0]
        self._sketch.cells.reshape(-1)[fresh] += self._source.draw(self._law, len(fresh))
        self._noised.reshape(-1)[fresh] = 1
        self.ledger = ledger

    def _next_law(self) -> Law | None:
        return self._law

    def _parts(self) -> Parts:
        return {"noised": self._noised}

    def _restore(self, parts: Parts) -> None:
        self._noised[:] = parts["noised"]


class MedianPerturbation(Private):
    """Noise on the estimates of a batch, scaled by how many of them one element can touch (`touched`).

    `batches` share the budget equally; or, with `eta`, batch k = 1, 2, ... spends (1 - eta) eta^(k - 1) of it,
    without end (equation 4.6 of the thesis). An item that is named twice in a batch is answered once.
    """

    method = "median-perturbation"

    def __init__(
        self, sketch: Sketch, privacy: Privacy | float, batches: int | None = None, eta: float | None = None
    ) -> None:
        super().__init__(sketch, privacy)
        if batches is not None and eta is not None:
            raise refuse("eta", eta, "give batches or eta, not both")
        self.eta = None if eta is None else check_eta(eta)
        self.batches = check.integer(1 if batches is None else batches, "batches", 1, 2**31)

    def query(self, items: object) -> Answers:
        digests, where = np.unique(self._read(items).digests, return_inverse=True)
        distinct = Items(self._sketch.seed, None, digests)
        columns, _ = self._sketch.places(distinct)
        touched = most_touched(columns)
        law = self.privacy.law(touched, self._share())
        ledger = self.ledger.charge(self.ledger.spent + self.privacy.loss(law, touched), len(where))
        exact = self._sketch.estimate(self._sketch.rows(distinct))
        noisy = (exact + self._source.draw(law, len(exact), ahead=False))[where.ravel()]
        self.ledger = ledger
        zeros = np.zeros((len(noisy), 1), np.int64)
        found = CellNoise((law,), zeros, zeros + 1)
        rate = float(self.privacy.sampling)
        return Answers(noisy / rate, None, found, self._sketch.signed, self.d, self.w, rate)

    def _share(self) -> Fraction:
        if self.eta is not None:
            return (1 - self.eta) * self.eta**self.ledger.batches
        if self.ledger.batches >= self.batches:
            raise TacitError(
                "budget_exhausted",
                f"all {self.batches} batches are answered",
                argument="items",
                hint="nothing was released and nothing charged; begin a new sketch, or use UseAndKeep",
            )
        return Fraction(1, self.batches)

    def _record(self) -> dict[str, Any]:
        return {"eta": str(self.eta)} if self.eta is not None else {"batches": self.batches}


def check_eta(eta: object) -> Fraction:
    """A share inside (0, 1)."""
    return check.bounded(eta, "eta", lambda v: 0 < v < 1, "give a number between 0 and 1, such as 0.5")

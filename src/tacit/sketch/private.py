"""Private sketches: who may be told what a sketch holds, and at which cost.

A trusted curator feeds a stream into a sketch and answers queries whenever they come, between any two elements. All
four wrappers keep one promise (`tacit.sketch.privacy`) over the whole life of the sketch, against an observer who
sees every answer, chooses queries after the answers, and knows the hashes and all the stream but one element.

| wrapper | noise | a query costs |
| --- | --- | --- |
| `UseAndKeep` | each use of a cell adds noise, which stays in the cell | nothing: the promise is paid once, for life |
| `UseAndForget` | each use adds fresh noise to the exact cell, ever more | a geometric share of the cell's budget |
| `CellPerturbation` | each cell once, then the sketch is frozen | everything, at the first batch |
| `MedianPerturbation` | the estimates, not the cells | an equal or a geometric share, each batch |

**Why UseAndKeep is private for life** (Algorithm 6 and Theorem 4 of Aydin's thesis). Say a cell is used at times
t_1 < t_2 < ..., and let D_k be what the stream adds to it in (t_(k-1), t_k]. The value published at t_k is the one
published at t_(k-1) plus D_k plus fresh noise V_k. So the published values are a function of the D_k + V_k, one for
each interval and cell, and queries chosen after them change nothing. An element lies in one interval: it shifts one
D_k in one cell of every row, d terms in all, each by its weight. With noise of scale d / epsilon each term costs
epsilon / d, and all together epsilon. A cell is noised once in a batch: all its answers there read the same number.

**Pan-privacy.** The state equals what was published plus what came since, so who breaks in reads that exactly. With
`pan_private` the cells start with noise, and after each use a second, unpublished draw goes into the cell. Then
publications and one intrusion at any time differ step by step by increments with a draw of their own each, and the
promise holds for all of them together. After an intrusion that was noticed, `renoise` prepares for the next. No
draw waits in memory in this mode.

A saved state that is loaded twice, or restored after it answered, answers twice with fresh noise for the same
increments, and no promise holds: keep one copy and go on from it.

>>> from tacit.sketch import CountSketch
>>> sketch = UseAndKeep(CountSketch(d=3, w=100, seed=1), privacy=1.0)
>>> sketch.update(["ant"] * 500 + ["bee"] * 20)
>>> answers = sketch.query(["ant", "bee"])
>>> bool(abs(answers.estimates[0] - 500) < 100), float(sketch.ledger.spent) <= 1.0
(True, True)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tacit.arrays import Integers
from tacit.errors import TacitError
from tacit.sketch import noise, wire
from tacit.sketch.answers import Answers, CellNoise, Survey
from tacit.sketch.items import Items, read_items, read_weights
from tacit.sketch.noise import Law, Source
from tacit.sketch.privacy import Ledger, Privacy, promise
from tacit.sketch.sketches import LARGEST_BATCH, Sketch, unpack
from tacit.sketch.touched import most_touched
from tacit_client import check

Parts = dict[str, npt.NDArray[Any]]
Uses = npt.NDArray[np.int32]


class Private:
    """What the wrappers share: a secret sketch, the promise, and the ledger."""

    method: ClassVar[str]

    def __init__(self, sketch: Sketch, privacy: Privacy | float) -> None:
        if not isinstance(sketch, Sketch):
            raise _refuse("sketch", sketch, "give a CountSketch or a CountMinSketch")
        if sketch._moved:
            raise _refuse("sketch", sketch, "give an empty sketch, and the stream to `update` of this object")
        noise.require()
        self.privacy = promise(privacy)
        self.ledger = Ledger(self.privacy.budget)
        self._sketch = sketch.copy()
        self._source: Source = noise.EXACT

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._sketch!r}, {self.privacy!r})"

    @property
    def d(self) -> int:
        """The number of rows."""
        return self._sketch.d

    @property
    def w(self) -> int:
        """The number of columns."""
        return self._sketch.w

    def update(self, items: object, weights: object = None) -> None:
        """Add items of the stream. No absolute weight exceeds the `contribution` of the promise."""
        read = read_items(items, self._sketch.seed)
        most = self.privacy.contribution
        least = max(-most, self._sketch.least_weight)
        checked = read_weights(weights, len(read), least, most)
        if self.privacy.sampling != 1:
            kept = self._source.coins(self.privacy.kept_of_2_64, len(read))
            if not kept.any():
                return
            read = _subset(read, kept)
            checked = checked if len(checked) == 1 else checked[kept]
        self._sketch.add(read, checked)

    def query(self, items: object) -> Answers:
        """The private estimates of the counts of items, one batch."""
        raise NotImplementedError

    def prepare(self, count: int) -> None:
        """Draw noise for `count` uses of cells in the background, to have it ready at the next query."""
        count = check.integer(count, "count", 1, 2**31)
        law = self._next_law()
        if law is not None and isinstance(self._source, noise.Exact):
            self._source.prepare(law, count)

    def _next_law(self) -> Law | None:
        """The law of which draws may be taken ahead."""
        return None

    def _read(self, items: object) -> Items:
        read = read_items(items, self._sketch.seed)
        if len(read) * self.d > LARGEST_BATCH:
            raise TacitError(
                "argument_invalid",
                f"{len(read)} items of {self.d} rows do not fit into memory",
                argument="items",
                hint=f"query at most {LARGEST_BATCH // self.d} items at a time",
            )
        return read

    def _flat(self, items: Items) -> tuple[Integers, npt.NDArray[np.int8], Integers]:
        """Cell numbers (n, d) of items, signs (n, d), and the distinct cells, in order."""
        columns, signs = self._sketch.places(items)
        flat = columns + np.arange(self.d, dtype=np.int64) * self.w
        held = np.zeros(self.d * self.w, np.bool_)
        held[flat.ravel()] = True
        return flat, signs, np.flatnonzero(held)

    def _answers(self, rows: Integers, found: CellNoise) -> Answers:
        rate = float(self.privacy.sampling)
        sketch = self._sketch
        estimates = sketch.estimate(rows).astype(np.float64) / rate
        return Answers(estimates, rows.astype(np.float64), found, sketch.signed, self.d, self.w, rate)

    def _record(self) -> dict[str, Any]:
        return {}

    def _parts(self) -> Parts:
        return {}

    def _restore(self, parts: Parts) -> None:
        return None

    def to_bytes(self) -> bytes:
        """The secret state; `tacit.sketch.private_from_bytes` reads it back. Use each copy once."""
        record = {
            "method": self.method,
            "sketch": self._sketch.header(),
            "privacy": self.privacy.record(),
            "ledger": self.ledger.record(),
            "own": self._record(),
        }
        return wire.pack("private sketch", record, {"cells": self._sketch.cells} | self._parts())

    @classmethod
    def _from(cls, record: dict[str, Any], parts: Parts) -> Self:
        held = unpack(record["sketch"], parts)
        empty = type(held)(held.d, held.w, held.seed)
        own = {name: Fraction(v) if isinstance(v, str) else v for name, v in record["own"].items()}
        made = cls(empty, Privacy.from_record(record["privacy"]), **own)
        made._sketch = held
        made.ledger = Ledger.from_record(record["ledger"])
        made._restore(parts)
        return made


class UseAndKeep(Private):
    """Noise that is added at each use of a cell and kept: one epsilon for the whole life. The default.

    The variance of a cell grows by one draw with each use, never faster. Any number of queries is answered.
    `pan_private`: the promise also holds against one look into the memory.
    """

    method = "use-and-keep"

    def __init__(self, sketch: Sketch, privacy: Privacy | float, pan_private: bool = False) -> None:
        super().__init__(sketch, privacy)
        if not isinstance(pan_private, bool):
            raise _refuse("pan_private", pan_private, "give True or False")
        self.pan_private = pan_private
        self._law = self.privacy.law(self.d)
        self.ledger = Ledger(self.privacy.budget, spent=self.privacy.loss(self._law, self.d))
        self._uses: Uses = np.zeros((self.d, self.w), np.int32)
        if pan_private:
            self.renoise()

    def query(self, items: object) -> Answers:
        flat, signs, used = self._flat(self._read(items))
        rows, uses = self._publish(used, flat)
        self.ledger = self.ledger.charge(self.ledger.spent, len(flat))
        found = CellNoise((self._law,), np.zeros_like(flat), uses)
        return self._answers(rows * signs, found)

    def survey(self) -> Survey:
        """The size of the stream, by one use of every cell; see `Survey` for which number a sketch can tell."""
        everything = np.arange(self.d * self.w)
        cells, uses = self._publish(everything, everything.reshape(self.d, self.w))
        self.ledger = self.ledger.charge(self.ledger.spent, 1)
        return _survey(cells, uses.astype(np.float64) * self._law.variance, self._sketch.signed)

    def renoise(self) -> None:
        """Add a draw to every cell: after this, one more look into the memory is covered. For `pan_private`."""
        draws = self._source.draw(self._law, self.d * self.w, ahead=False)
        self._sketch.cells += draws.reshape(self.d, self.w)
        self._uses += 1

    def _publish(self, used: Integers, flat: Integers) -> tuple[Integers, Uses]:
        """Noise the cells `used`, and return the values and the numbers of draws of the cells `flat`."""
        cells, uses = self._sketch.cells.reshape(-1), self._uses.reshape(-1)
        draws = self._source.draw(self._law, len(used), ahead=not self.pan_private)
        unpublished = self._source.draw(self._law, len(used), ahead=False) if self.pan_private else None
        cells[used] += draws
        uses[used] += 1
        rows, counts = cells[flat], uses[flat]
        if unpublished is not None:
            cells[used] += unpublished
            uses[used] += 1
        return rows, counts

    def _next_law(self) -> Law | None:
        return None if self.pan_private else self._law

    def _record(self) -> dict[str, Any]:
        return {"pan_private": self.pan_private}

    def _parts(self) -> Parts:
        return {"uses": self._uses}

    def _restore(self, parts: Parts) -> None:
        self._uses[:] = parts["uses"]


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
        self._laws = [self._law(u) for u in range(int(self._uses.max()) + 1)]


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
        return _survey(self._sketch.cells, variance, self._sketch.signed)

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
            raise _refuse("eta", eta, "give batches or eta, not both")
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


METHODS: dict[str, type[Private]] = {
    kind.method: kind for kind in (UseAndKeep, UseAndForget, CellPerturbation, MedianPerturbation)
}


def private_from_bytes(data: bytes) -> Private:
    """The private sketch that `to_bytes` wrote; refused unless every byte is as it was."""
    record, parts = wire.unpack(data, "private sketch")
    try:
        return METHODS[record["method"]]._from(record, parts)
    except (KeyError, TypeError, ValueError):
        raise wire.damaged() from None


def from_bytes(data: bytes) -> Sketch:
    """The sketch that `to_bytes` wrote; refused unless every byte is as it was."""
    record, parts = wire.unpack(data, "sketch")
    try:
        return unpack(record, parts)
    except (KeyError, TypeError, ValueError):
        raise wire.damaged() from None


def check_eta(eta: object) -> Fraction:
    """A share inside (0, 1)."""
    return check.bounded(eta, "eta", lambda v: 0 < v < 1, "give a number between 0 and 1, such as 0.5")


def _survey(cells: Integers, variance: npt.NDArray[np.float64], signed: bool) -> Survey:
    if signed:
        squares = cells.astype(np.float64) ** 2 - variance
        return Survey(second_moment=max(float(np.median(squares.sum(axis=1))), 0.0))
    return Survey(total=max(float(cells.sum(axis=1).mean()), 0.0))


def _subset(items: Items, kept: npt.NDArray[np.bool_]) -> Items:
    keys = None if items.keys is None else items.keys[kept]
    return Items(items.seed, keys, None if items.hashed is None else items.hashed[kept])


def _refuse(argument: str, value: object, hint: str) -> TacitError:
    return TacitError("argument_invalid", f"{argument} is {check.shown(value)}", argument=argument, hint=hint)

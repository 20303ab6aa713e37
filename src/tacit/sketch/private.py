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
draw waits in memory in this mode, and the length of the stream is not kept.

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
from tacit_client import check

Parts = dict[str, npt.NDArray[Any]]
Uses = npt.NDArray[np.int32]


class Private:
    """What the wrappers share: a secret sketch, the promise, and the ledger."""

    method: ClassVar[str]

    def __init__(self, sketch: Sketch, privacy: Privacy | float) -> None:
        if not isinstance(sketch, Sketch):
            raise refuse("sketch", sketch, "give a CountSketch or a CountMinSketch")
        if sketch._moved:
            raise refuse("sketch", sketch, "give an empty sketch, and the stream to `update` of this object")
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
        self._forget_total()

    def query(self, items: object) -> Answers:
        """The private estimates of the counts of items, one batch."""
        raise NotImplementedError

    def _forget_total(self) -> None:
        """Called after every update: a state that may be seen must not count the stream exactly."""
        return

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
    def from_record(cls, record: dict[str, Any], parts: Parts) -> Self:
        """The state that `to_bytes` recorded; see `tacit.sketch.states`."""
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
            raise refuse("pan_private", pan_private, "give True or False")
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
        return survey_of(cells, uses.astype(np.float64) * self._law.variance, self._sketch.signed)

    def renoise(self) -> None:
        """Add a draw to every cell: after this, one more look into the memory is covered. For `pan_private`."""
        draws = self._source.draw(self._law, self.d * self.w, ahead=False)
        self._sketch.cells += draws.reshape(self.d, self.w)
        self._uses += 1

    def _forget_total(self) -> None:
        if self.pan_private:
            self._sketch.forget_total()

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


def survey_of(cells: Integers, variance: npt.NDArray[np.float64], signed: bool) -> Survey:
    """What noisy cells say of the whole stream; `variance` is that of the noise in each."""
    if signed:
        squares = cells.astype(np.float64) ** 2 - variance
        return Survey(second_moment=max(float(np.median(squares.sum(axis=1))), 0.0))
    return Survey(total=max(float(cells.sum(axis=1).mean()), 0.0))


def _subset(items: Items, kept: npt.NDArray[np.bool_]) -> Items:
    keys = None if items.keys is None else items.keys[kept]
    return Items(items.seed, keys, None if items.hashed is None else items.hashed[kept])


def refuse(argument: str, value: object, hint: str) -> TacitError:
    """The refusal of an argument."""
    return TacitError("argument_invalid", f"{argument} is {check.shown(value)}", argument=argument, hint=hint)

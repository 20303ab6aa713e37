"""Answers of a private sketch: estimates, and intervals for the true counts.

All that is here is released already, or public: estimates, the noisy rows behind them, how often each cell was noised.
Reading an interval costs nothing.

An interval comes in one of two ways; `tacit.sketch.bounds` has the inequalities.

* From the **rows**: two order statistics of the d noisy rows enclose the count. It needs d >= 7 for 95 %, and
  nothing else.
* From the **variances**: the exact law of the noise in every cell, and a `Survey` of the stream, which bounds what
  collides. `UseAndKeep.survey()` and `CellPerturbation.survey()` measure one privately; public bounds serve as
  well.

A Count-Min sketch's minimum of noisy cells is biased downwards by the smallest noise and upwards by collisions; the
estimate is not corrected, the interval is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats, Integers
from tacit.errors import TacitError
from tacit.sketch import bounds
from tacit.sketch.noise import Law

SPLITS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)  # shares of a row's tail that are given to the noise


@dataclass(frozen=True)
class Survey:
    """The kept stream as a whole: its weight `total` (n), and `second_moment` (F), the sum of the squared counts."""

    total: float | None = None
    second_moment: float | None = None

    def __post_init__(self) -> None:
        for name in ("total", "second_moment"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise TacitError(
                    "argument_invalid",
                    f"{name} is {value}",
                    argument=name,
                    hint="give a finite number, 0 or more",
                )


@dataclass(frozen=True)
class CellNoise:
    """The noise behind answers: cell k of them holds `uses` draws of the law number `which`; both (n, d) or (n, 1)."""

    laws: tuple[Law, ...]
    which: Integers
    uses: npt.NDArray[np.integer[Any]]

    @property
    def variance(self) -> Floats:
        """The exact variance of the noise in every cell."""
        each = np.array([law.variance for law in self.laws])
        return np.asarray(each[self.which] * self.uses, dtype=np.float64)

    def quantile(self, q: float) -> Floats:
        """What the noise of every cell exceeds with probability q or less."""
        pairs, where = np.unique(
            np.stack([self.which.ravel(), self.uses.ravel()]), axis=1, return_inverse=True
        )
        # One more covers the rounding to whole numbers.
        values = [self.laws[k].quantile(q, int(uses)) + 1 if uses else 0.0 for k, uses in pairs.T]
        return np.array(values)[where.ravel()].reshape(self.uses.shape)


@dataclass(frozen=True)
class Answers:
    """`estimates` (n,) of the counts, in the order of the queried items, and what their intervals need."""

    estimates: Floats
    rows: (
        Floats | None
    )  # (n, d), the released cells with their signs; None where only the estimate was released
    noise: CellNoise
    signed: bool
    d: int
    w: int
    sampling: float = 1.0

    def __len__(self) -> int:
        return len(self.estimates)

    def heaviest(self, count: int) -> Integers:
        """The positions of the `count` largest estimates, the largest first."""
        return np.argsort(-self.estimates, kind="stable")[:count]

    def interval(self, level: float = 0.95, survey: Survey | None = None) -> tuple[Floats, Floats]:
        """Ends (n,), (n,) of intervals that hold the true count with probability `level` or more, item by item."""
        alpha = 1 - bounds.check_level(level)
        inside = alpha if self.sampling == 1 else alpha / 2
        low, high = self._kept_interval(inside, survey)
        if self.sampling == 1:
            return low, high
        z = bounds.normal_quantile(alpha / 4)
        return _unsampled(low, -z, self.sampling), _unsampled(high, z, self.sampling)

    def _kept_interval(self, alpha: float, survey: Survey | None) -> tuple[Floats, Floats]:
        if not self.signed:
            return self._minimum_interval(alpha, _known(survey, "total"))
        if self.rows is None:
            variance = _known(survey, "second_moment") / self.w
            reach = bounds.median_reach(alpha / 2, self.d, variance) + self.noise.quantile(alpha / 4)[:, 0]
            kept = self.estimates * self.sampling
            return kept - reach, kept + reach
        if survey is None:
            return self._rank_interval(alpha)
        reach = self._median_reach(alpha, _known(survey, "second_moment") / self.w)
        middle = np.median(self.rows, axis=1)
        return middle - reach, middle + reach

    def _rank_interval(self, alpha: float) -> tuple[Floats, Floats]:
        k = bounds.ranks(alpha, self.d)
        if k == 0:
            raise TacitError(
                "argument_invalid",
                f"{self.d} rows alone give no interval at this level",
                argument="survey",
                hint="give a Survey (the sketch's survey() makes one), or take d = 7 rows or more for 95 %",
            )
        assert self.rows is not None
        ordered = np.sort(self.rows, axis=1)
        return ordered[:, k - 1], ordered[:, self.d - k]

    def _median_reach(self, alpha: float, variance: float) -> Floats:
        """The least of several valid reaches; which is least depends on public numbers and the survey only."""
        tail = bounds.row_tail(alpha, self.d)
        whole = np.sqrt((self.noise.variance.max(axis=1) + variance) / (2 * tail))
        reaches = [whole]
        for share in SPLITS:
            collisions = math.sqrt(variance / (2 * tail * (1 - share)))
            reaches.append(self.noise.quantile(tail * share).max(axis=1) + collisions)
        return np.asarray(np.min(reaches, axis=0))

    def _minimum_interval(self, alpha: float, total: float) -> tuple[Floats, Floats]:
        each = (alpha / 2) ** (1 / self.d)
        if self.rows is None:
            kept = self.estimates * self.sampling
            noise = self.noise.quantile(alpha / 4)[:, 0]
            return kept - noise - bounds.minimum_reach(alpha / 2, self.d, total / self.w), kept + noise
        high = (self.rows + self.noise.quantile(alpha / (2 * self.d))).min(axis=1)
        # One split for the whole batch, chosen by public numbers: the best for every item would look at answers twice.
        reaches = []
        for share in SPLITS:
            collisions = total / (self.w * each * (1 - share))
            reaches.append(self.noise.quantile(each * share) + collisions)
        shortest = min(reaches, key=lambda reach: float(reach.mean()))
        return (self.rows - shortest).min(axis=1), high


def _known(survey: Survey | None, name: str) -> float:
    value = None if survey is None else getattr(survey, name)
    if value is None:
        raise TacitError(
            "argument_invalid",
            f"the interval needs the {name.replace('_', ' ')} of the stream",
            argument="survey",
            hint=f"give Survey({name}=...): a public bound, or what survey() of the sketch measured",
        )
    return float(value)


def _unsampled(kept: Floats, z: float, rate: float) -> Floats:
    """The count f at which kept = rate f + z sqrt(rate (1 - rate) f), for what was kept of it at most or at least."""
    kept = np.maximum(kept, 0.0)
    half = z * math.sqrt(1 - rate) / 2
    root = half + np.sqrt(half**2 + kept)
    return np.asarray(root**2 / rate)

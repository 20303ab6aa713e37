"""Whole-number noise: its laws, and where draws come from.

* **Laplace**: P(v) proportional to a^abs(v), a = exp(-1 / scale), variance 2 a / (1 - a)^2. A shift by s costs s /
  scale of pure epsilon.
* **Gaussian**: P(v) proportional to exp(-v^2 / (2 scale^2)), variance at most scale^2. A shift by s costs s^2 / (2
  scale^2) of zCDP (Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy").

A scale is a float, which stands for one exact fraction; it is rounded up from the exact bound, so the loss computed
from it never exceeds what was asked for.

Released noise comes from OpenDP, which samples both laws exactly from the operating system's randomness. A draw
takes about ten microseconds, so blocks can be drawn ahead (`prepare`), in a thread beside the program. Drawn noise
is as secret as the cells: it is never written down, never used twice, and a forked process forgets it. `Simulated`
draws the same laws from a numpy Generator, for experiments: it protects nobody.

>>> law = laplace(Fraction(3))
>>> law.scale, law.loss(1), round(law.variance, 3)
(3.0, Fraction(1, 3), 17.834)
"""

from __future__ import annotations

import math
import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacit.arrays import Integers
from tacit.errors import TacitError
from tacit.sketch import bounds

LARGEST_SCALE = 2.0**40  # far above any count: more noise answers nothing
BLOCK = 4096  # draws in one call of OpenDP beside the program
LEAST = 128  # a call costs as much as fifty draws: never draw fewer, and keep the rest


@dataclass(frozen=True)
class Law:
    """One of the two laws: `kind` is "laplace" or "gaussian"."""

    kind: str
    scale: float

    def loss(self, shift: int) -> Fraction:
        """What noise of this law leaves visible of a shift: epsilon, or rho of zCDP. Exact."""
        if self.kind == "laplace":
            return abs(shift) / Fraction(self.scale)
        return Fraction(shift) ** 2 / (2 * Fraction(self.scale) ** 2)

    @property
    def variance(self) -> float:
        """The exact variance of one draw."""
        return _variance(self.kind, self.scale)

    def quantile(self, q: float, uses: int = 1) -> float:
        """A number that a sum of `uses` draws exceeds with probability q, up to rounding."""
        if self.kind == "laplace":
            return self.scale * bounds.laplace_quantile(q, uses)
        return self.scale * math.sqrt(uses) * max(bounds.normal_quantile(q), 0.0)


@lru_cache(maxsize=4096)
def _variance(kind: str, scale: float) -> float:
    if kind == "laplace":
        return 0.5 / math.sinh(0.5 / scale) ** 2 if scale > 1e-3 else 0.0
    if scale > 10:  # the sum over whole numbers is the integral to more digits than a float has
        return scale**2
    v = np.arange(-200, 201, dtype=np.float64)
    weights = np.exp(-(v**2) / (2 * scale**2))
    return float((v**2 * weights).sum() / weights.sum())


def laplace(scale: Fraction) -> Law:
    """Laplace noise of this scale or the next float above."""
    return Law("laplace", _rounded_up(scale))


def gaussian(variance: Fraction) -> Law:
    """Gaussian noise whose squared scale is this or a little more."""
    scale = _rounded_up(Fraction(math.sqrt(variance)))
    while Fraction(scale) ** 2 < variance:
        scale = math.nextafter(scale, math.inf)
    return Law("gaussian", scale)


def _rounded_up(number: Fraction) -> float:
    if number > LARGEST_SCALE:
        raise TacitError(
            "budget_exhausted",
            f"the noise would have a scale above 2^{int(math.log2(LARGEST_SCALE))}",
            argument="items",
            hint="nothing was released; use UseAndKeep, a larger epsilon, or fewer queries",
        )
    scale = float(number)
    return scale if Fraction(scale) >= number else math.nextafter(scale, math.inf)


class Source(Protocol):
    """Where draws come from."""

    def draw(self, law: Law, count: int, ahead: bool = True) -> Integers:
        """`count` independent draws; with `ahead`, some may have been drawn before."""
        ...

    def coins(self, threshold: int, count: int) -> npt.NDArray[np.bool_]:
        """`count` independent coins, each true with probability threshold / 2^64."""
        ...


class Exact:
    """OpenDP's draws, with blocks drawn ahead. One object serves the whole process, so no draw is used twice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: dict[Law, list[Integers]] = {}
        self._wanted: dict[Law, int] = {}
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._blocks, self._wanted = {}, {}

    def draw(self, law: Law, count: int, ahead: bool = True) -> Integers:
        """`count` draws: from the blocks first, then new ones."""
        taken = self._take(law, count) if ahead else []
        missing = count - sum(map(len, taken))
        if missing and ahead:
            block = _opendp(law, max(missing, LEAST))
            taken.append(block[:missing])
            if len(block) > missing:
                self._keep(law, block[missing:].copy())
        elif missing:
            taken.append(_opendp(law, missing))
        return np.concatenate(taken) if taken else np.empty(0, np.int64)

    def coins(self, threshold: int, count: int) -> npt.NDArray[np.bool_]:
        """Coins from the operating system's randomness."""
        words = np.frombuffer(os.urandom(8 * count), np.uint64)
        return words < np.uint64(threshold)

    def _take(self, law: Law, count: int) -> list[Integers]:
        with self._lock:
            blocks, taken = self._blocks.get(law, []), []
            while blocks and count:
                block = blocks.pop()
                if len(block) > count:
                    blocks.append(block[count:].copy())
                    block = block[:count]
                taken.append(block)
                count -= len(block)
            return taken

    def prepare(self, law: Law, count: int) -> threading.Thread:
        """Draw in the background until `count` draws are ready. `join()` the thread to wait for them."""
        _measurement(law)  # refuses here, and not in the thread
        with self._lock:
            self._wanted[law] = count
        worker = threading.Thread(target=self._fill, args=(law,), daemon=True)
        worker.start()
        return worker

    def _fill(self, law: Law) -> None:
        while True:
            with self._lock:
                missing = self._wanted.get(law, 0) - sum(map(len, self._blocks.get(law, [])))
            if missing <= 0:
                return
            block = _opendp(law, min(missing, BLOCK))
            self._keep(law, block)

    def _keep(self, law: Law, block: Integers) -> None:
        with self._lock:
            self._blocks.setdefault(law, []).append(block)

    def ready(self, law: Law) -> int:
        """How many draws of a law wait."""
        with self._lock:
            return sum(map(len, self._blocks.get(law, [])))


def _opendp(law: Law, count: int) -> Integers:
    drawn = _measurement(law)([0] * count)
    return np.array(drawn, dtype=np.int64)


def require() -> None:
    """Refuse before the stream begins, and not at the first query, when noise cannot be drawn."""
    if find_spec("opendp") is None:
        raise TacitError(
            "dependency_missing",
            "released noise is drawn by OpenDP, which is not installed",
            argument="privacy",
            hint="pip install 'tacit[sketch]'",
        )


@lru_cache(maxsize=256)
def _measurement(law: Law) -> Any:
    require()
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law.kind == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=law.scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=law.scale)


class Simulated:
    """The same laws from a numpy Generator. For experiments alone: who knows the seed knows the noise."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def draw(self, law: Law, count: int, ahead: bool = True) -> Integers:
        """`count` draws; `ahead` changes nothing."""
        if law.kind == "laplace":
            return self._laplace(law.scale, count)
        # Rejection from Laplace noise of scale t (Canonne, Kamath and Steinke, Algorithm 3).
        t = math.floor(law.scale) + 1
        kept: list[Integers] = []
        while sum(map(len, kept)) < count:
            tried = self._laplace(t, 2 * count + 16)
            chance = np.exp(-((np.abs(tried) - law.scale**2 / t) ** 2) / (2 * law.scale**2))
            kept.append(tried[self.rng.random(len(tried)) < chance])
        return np.concatenate(kept)[:count]

    def coins(self, threshold: int, count: int) -> npt.NDArray[np.bool_]:
        """Simulated coins."""
        return self.rng.integers(0, 2**64, count, np.uint64) < np.uint64(threshold)

    def _laplace(self, scale: float, count: int) -> Integers:
        # The difference of two geometric variables.
        stop = -math.expm1(-1 / scale)
        return self.rng.geometric(stop, count) - self.rng.geometric(stop, count)


EXACT = Exact()

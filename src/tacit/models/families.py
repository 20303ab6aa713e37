"""Base laws of the location-scale families: the answer is mu + sigma Z, and Z has one of these laws.

| name | density of Z |
| --- | --- |
| normal | exp(-z^2 / 2) / sqrt(2 pi) |
| logistic | exp(-z) / (1 + exp(-z))^2 |
| laplace | exp(-abs z) / 2 |
| student:D | proportional to (1 + z^2 / D)^(-(D + 1) / 2) |

All are symmetric. Everything is built from two functions of z >= 0 that keep their relative accuracy: `tail`, which is
P(Z > z), for large z, and `half`, which is P(0 < Z < z), for small z. The probability of an interval is taken
from whichever side does not cancel.

>>> law = family("normal")
>>> law.cdf(np.array([-30.0, 0.0]))
array([4.90671393e-198, 5.00000000e-001])
>>> family("student:5").quantile(0.975).round(3)
np.float64(2.571)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit_client import check

# Gauss-Legendre with four nodes: exact to the last digit on cells where the density changes by a tenth.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
NARROW = 0.1
MIN_DF, MAX_DF = 0.1, 1000.0
HINT = 'give "normal", "logistic", "laplace" or "student:5" (any degrees of freedom from 0.1 to 1000)'


class Family(ABC):
    """A symmetric base law, location 0 and scale 1. Functions take and return arrays."""

    code: ClassVar[int]

    @property
    @abstractmethod
    def name(self) -> str:
        """As given to `family`."""

    @property
    def key(self) -> tuple[int, float, float]:
        """What the compiled kernels ask for: code, degrees of freedom, ln of the density at 0."""
        return self.code, getattr(self, "df", math.inf), float(self.log_pdf(np.zeros(())))

    @abstractmethod
    def tail(self, z: Floats) -> Floats:
        """P(Z > z) for z >= 0."""

    @abstractmethod
    def half(self, z: Floats) -> Floats:
        """P(0 < Z < z) for z >= 0."""

    @abstractmethod
    def log_pdf(self, z: Floats) -> Floats:
        """The logarithm of the density."""

    @abstractmethod
    def score(self, z: Floats) -> Floats:
        """The derivative of `log_pdf`."""

    @abstractmethod
    def steepness(self, z: Floats) -> Floats:
        """How fast the density changes near z >= 0, relative to itself: an upper bound up to a small factor."""

    @abstractmethod
    def sample(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Independent draws."""

    @abstractmethod
    def _tail_quantile(self, q: Floats) -> Floats:
        """The z >= 0 with P(Z > z) = q, for 0 < q <= 1/2."""

    def pdf(self, z: Floats) -> Floats:
        """The density."""
        return np.asarray(np.exp(self.log_pdf(z)))

    def cdf(self, z: npt.ArrayLike) -> Floats:
        """P(Z <= z), with full relative accuracy in the lower tail."""
        z = np.asarray(z, dtype=float)
        return np.where(z < 0, self.tail(np.abs(z)), 0.5 + self.half(np.abs(z)))[()]

    def sf(self, z: npt.ArrayLike) -> Floats:
        """P(Z > z), with full relative accuracy in the upper tail."""
        return self.cdf(-np.asarray(z, dtype=float))

    def quantile(self, p: npt.ArrayLike) -> Floats:
        """The z with P(Z <= z) = p, for 0 < p < 1."""
        p = np.asarray(p, dtype=float)
        far = self._tail_quantile(np.where(p < 0.5, p, 1 - p))
        return np.asarray(np.where(p < 0.5, -far, far))[()]

    def mass(self, low: Floats, high: Floats, width: Floats) -> Floats:
        """P(low < Z < high); `width` is high - low, which the caller knows to more digits."""
        mirrored = high <= 0
        a, b = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
        around = self.half(np.abs(a)) + self.half(np.abs(b))
        return np.where(a < 0, around, self._beyond(np.maximum(a, 0.0), np.abs(b), width))

    def _beyond(self, a: Floats, b: Floats, width: Floats) -> Floats:
        """P(a < Z < b) for 0 <= a < b: by the tails, or by quadrature where these would cancel."""
        out = np.asarray(self.tail(a) - self.tail(b))
        narrow = np.asarray(width * np.maximum(self.steepness(a), self.steepness(b)) < NARROW)
        if narrow.any():
            h = np.asarray(width)[narrow] / 2
            inside = np.asarray(a)[narrow][..., None] + h[..., None] * (1 + _NODES)
            out[narrow] = h * (self.pdf(inside) @ _WEIGHTS)
        return out


@dataclass(frozen=True)
class NormalFamily(Family):
    """The standard normal law."""

    code = 0
    name = "normal"

    def tail(self, z: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr(-z))

    def half(self, z: Floats) -> Floats:
        from scipy.special import erf

        return np.asarray(erf(z * math.sqrt(0.5)) / 2)

    def log_pdf(self, z: Floats) -> Floats:
        return np.asarray(-0.5 * z * z - 0.5 * math.log(2 * math.pi))

    def score(self, z: Floats) -> Floats:
        return np.negative(z)

    def steepness(self, z: Floats) -> Floats:
        return np.maximum(z, 1.0)

    def sample(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        return rng.standard_normal(shape)

    def _tail_quantile(self, q: Floats) -> Floats:
        from scipy.special import ndtri

        return np.asarray(-ndtri(q))


@dataclass(frozen=True)
class LogisticFamily(Family):
    """The logistic law with scale 1: standard deviation pi / sqrt 3."""

    code = 1
    name = "logistic"

    def tail(self, z: Floats) -> Floats:
        e = np.exp(-z)
        return np.asarray(e / (1 + e))

    def half(self, z: Floats) -> Floats:
        return np.asarray(np.tanh(z / 2) / 2)

    def log_pdf(self, z: Floats) -> Floats:
        return np.asarray(-np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))))

    def score(self, z: Floats) -> Floats:
        return np.asarray(-np.tanh(z / 2))

    def steepness(self, z: Floats) -> Floats:
        return np.ones_like(z)

    def sample(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        return rng.logistic(size=shape)

    def _tail_quantile(self, q: Floats) -> Floats:
        return np.asarray(np.log1p(-q) - np.log(q))

    def _beyond(self, a: Floats, b: Floats, width: Floats) -> Floats:
        return np.asarray(self.tail(a) * (0.5 + self.half(b)) * -np.expm1(-width))


@dataclass(frozen=True)
class LaplaceFamily(Family):
    """The Laplace law with scale 1: standard deviation sqrt 2."""

    code = 2
    name = "laplace"

    def tail(self, z: Floats) -> Floats:
        return np.asarray(np.exp(-z) / 2)

    def half(self, z: Floats) -> Floats:
        return np.asarray(-np.expm1(-z) / 2)

    def log_pdf(self, z: Floats) -> Floats:
        return np.asarray(-np.abs(z) - math.log(2))

    def score(self, z: Floats) -> Floats:
        return np.asarray(-np.sign(z))

    def steepness(self, z: Floats) -> Floats:
        return np.ones_like(z)

    def sample(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        return rng.laplace(size=shape)

    def _tail_quantile(self, q: Floats) -> Floats:
        return np.asarray(-np.log(2 * q))

    def _beyond(self, a: Floats, b: Floats, width: Floats) -> Floats:
        return np.asarray(self.tail(a) * -np.expm1(-width))


@dataclass(frozen=True)
class StudentFamily(Family):
    """Student's t with `df` degrees of freedom: the fewer, the heavier the tails. One is the Cauchy law."""

    df: float

    code = 3

    def __post_init__(self) -> None:
        fits = check.bounded(
            self.df, "df", lambda v: MIN_DF <= float(v) <= MAX_DF, "give a number from 0.1 to 1000"
        )
        object.__setattr__(self, "df", float(fits))

    @property
    def name(self) -> str:
        return f"student:{self.df:.15g}"

    def tail(self, z: Floats) -> Floats:
        from scipy.special import betainc

        with np.errstate(over="ignore"):
            x = 1 / (1 + np.square(z) / self.df)
        return np.where(z > 1, betainc(self.df / 2, 0.5, x) / 2, 0.5 - self._near(z))

    def half(self, z: Floats) -> Floats:
        return np.where(z > 1, 0.5 - self.tail(z), self._near(z))

    def _near(self, z: Floats) -> Floats:
        # `half` for z <= 1: there 1 - x would keep half of the digits of z only.
        from scipy.special import betainc

        odds = np.square(np.minimum(z, 1.0)) / self.df
        return np.asarray(betainc(0.5, self.df / 2, odds / (1 + odds)) / 2)

    def log_pdf(self, z: Floats) -> Floats:
        # ln(1 + u^2) = 2 ln hypot(1, u), which does not overflow.
        u = np.abs(z) / math.sqrt(self.df)
        log = np.where(u < 1, np.log1p(np.minimum(u, 1.0) ** 2), 2 * np.log(np.hypot(1.0, u)))
        return np.asarray(self.log_constant - (self.df + 1) / 2 * log)

    @property
    def log_constant(self) -> float:
        """ln of the density at 0."""
        x = self.df / 2
        if x > 20:  # Stirling's series: the difference of two large lgamma would lose digits
            gap = math.log(x) / 2 - 1 / (8 * x) + 1 / (192 * x**3) - 1 / (640 * x**5) + 17 / (14336 * x**7)
        else:
            gap = math.lgamma(x + 0.5) - math.lgamma(x)
        return gap - 0.5 * math.log(self.df * math.pi)

    def score(self, z: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(-(self.df + 1) / (self.df + z * z) * z)

    def steepness(self, z: Floats) -> Floats:
        return np.asarray((self.df + 1) / np.hypot(math.sqrt(self.df), z))

    def sample(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        return rng.standard_t(self.df, size=shape)

    def _tail_quantile(self, q: Floats) -> Floats:
        from scipy.special import stdtrit

        return np.asarray(-stdtrit(self.df, q))


_NAMED: dict[str, Family] = {law.name: law for law in (NormalFamily(), LogisticFamily(), LaplaceFamily())}


def family(name: str | Family) -> Family:
    """The base law of a name, such as "normal" or "student:5"; a Family is returned as it is."""
    if isinstance(name, Family):
        return name
    if isinstance(name, str):
        kind, colon, number = name.partition(":")
        if kind == "student" and colon:
            try:
                return StudentFamily(float(number))
            except ValueError:
                pass
        elif name in _NAMED:
            return _NAMED[name]
    raise TacitError("argument_invalid", f"family is {check.shown(name)}", argument="family", hint=HINT)

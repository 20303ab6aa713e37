"""The components of a residual density: m-estimators as normalised densities.

An m-estimator minimises sum_i rho(r_i). Its loss belongs to a density f(r; s) proportional to exp(-rho), and a mixture
needs every f normalised, or the weights of its components mean nothing. Five families, t = r / s:

| family | density | weight w(r) = -(d log f / dr) / r |
| --- | --- | --- |
| `Gaussian` | exp(-t^2 / 2) / (s sqrt(2 pi)) | 1 / s^2 |
| `Laplace` | exp(-rho / s) / Z, rho = abs(r), below delta r^2 / (2 delta) + delta / 2 | 1 / (s max(abs(r), delta)) |
| `Cauchy` | 1 / (pi s (1 + t^2)) | 2 / (s^2 + r^2) |
| `StudentT` | Student's t with nu degrees of freedom | (nu + 1) / (nu s^2 + r^2) |
| `Huber` | exp(-t^2 / 2) up to k, exp(k^2 / 2 - k abs(t)) beyond, over Z | min(1, k / abs(t)) / s^2 |

Given weights z of the rows, the best scale has sum z (t psi(t) - 1) = 0 with psi = -g' / g for a density g(t) / s; for
Laplace it is where sum z rho / s + (sum z) log Z is least.

Every log density is a convex function of r^2, so it lies above its tangent there, and least squares with these weights
never lowers the likelihood. The true Laplace density with a weight cut at delta has no such promise, which is why the
density itself is smoothed: Z = 2 s exp(-delta / s) + exp(-delta / (2 s)) sqrt(2 pi s delta) erf(sqrt(delta / (2 s))).
After chapter 3 of Aydın's thesis, which leaves the densities without their constants.

>>> import numpy as np
>>> r = np.linspace(-60, 60, 600_001)
>>> [round(float(np.trapezoid(np.exp(f.log_density(r, 1.5)), r)), 3) for f in (Gaussian(), Laplace(), Huber())]
[1.0, 1.0, 1.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit.regression.checks import number, refusal

ENOUGH = 1e-6  # a relative Newton step in a scale that is the last one: what it leaves is of the order of its square
STEPS = 200  # of that search; about four are used


@dataclass(frozen=True)
class Family:
    """A symmetric density of residuals with one scale. `r` (n,) are residuals, `s` a scale above 0."""

    name: ClassVar[str]
    median: ClassVar[float]  # scale over median absolute value, near enough to start from

    def log_density(self, r: Floats, s: float) -> Floats:
        """log f(r; s)."""
        raise NotImplementedError

    def density(self, r: Floats, s: float) -> Floats:
        """f(r; s); it may be too small for a float where its logarithm is not."""
        found = self.log_density(r, s)
        np.exp(found, out=found)
        return found

    def weight(self, r: Floats, s: float) -> Floats | float:
        """What least squares counts a row with this residual for."""
        raise NotImplementedError

    def best_scale(self, r: Floats, z: Floats, s: float, low: float, high: float) -> float:
        """The scale in low..high of highest sum z log f(r; s); `s` is where the search starts."""
        raise NotImplementedError

    def slopes(self, r: Floats, s: float) -> tuple[Floats, ...]:
        """Derivatives of log f: by r, by log s, twice by r, by both, twice by log s.

        A kink at 0 is no part of the third; `kink` has it.
        """
        raise NotImplementedError

    def kink(self, s: float) -> float:
        """By how much the first derivative falls at 0."""
        return 0.0


class _Shape(Family):
    """A density g(r / s) / s: its scale solves sum z (turn(t) - 1) = 0 with turn(t) = t psi(t), psi = -g' / g."""

    def psi(self, t: Floats) -> tuple[Floats, Floats]:
        """psi(t) and its derivative."""
        raise NotImplementedError

    def turn(self, square: Floats, z: Floats, s: float) -> tuple[float, float]:
        """sum z t psi(t), and minus its derivative by log s, from r^2."""
        raise NotImplementedError

    def slopes(self, r: Floats, s: float) -> tuple[Floats, ...]:
        t = r / s
        psi, curve = self.psi(t)
        mixed = (psi + t * curve) / s
        return -psi / s, t * psi - 1, -curve / s**2, mixed, -t * mixed * s

    def best_scale(self, r: Floats, z: Floats, s: float, low: float, high: float) -> float:
        """Newton's method in log s inside a shrinking bracket: the sum falls in s, so its root is the maximum."""
        square, total = r * r, float(z.sum())
        s = min(max(s, low), high)
        bracket, tried = [low, high], [False, False]
        for _ in range(STEPS):
            turn, slope = self.turn(square, z, s)
            left = turn - total
            side = 0 if left > 0 else 1  # the root is above s, or not
            bracket[side], tried[side] = s, True
            step = left / slope if slope > 0 else math.copysign(math.inf, left)
            wanted = s * math.exp(min(max(step, -50.0), 50.0))
            if not bracket[0] < wanted < bracket[1]:
                end = 0 if wanted <= bracket[0] else 1
                wanted = math.sqrt(bracket[0] * bracket[1]) if tried[end] else bracket[end]
            if abs(wanted - s) <= ENOUGH * s:
                return wanted
            s = wanted
        return s


@dataclass(frozen=True)
class Gaussian(_Shape):
    """Least squares. Alone it is ordinary least squares; among others it is the core."""

    name: ClassVar[str] = "gaussian"
    median: ClassVar[float] = 1.4826

    def log_density(self, r: Floats, s: float) -> Floats:
        found = r * r
        found *= -0.5 / s**2
        found -= math.log(s * math.sqrt(2 * math.pi))
        return found

    def weight(self, r: Floats, s: float) -> Floats | float:
        return 1 / s**2

    def psi(self, t: Floats) -> tuple[Floats, Floats]:
        return t, np.ones_like(t)

    def best_scale(self, r: Floats, z: Floats, s: float, low: float, high: float) -> float:
        total = float(z.sum())
        found = math.sqrt(float(z @ (r * r)) / total) if total > 0 else s
        return min(max(found, low), high)


@dataclass(frozen=True)
class StudentT(_Shape):
    """Student's t with `nu` degrees of freedom: the fewer, the heavier its tails."""

    nu: float = 4.0
    name: ClassVar[str] = "student_t"
    median: ClassVar[float] = 1.35

    def __post_init__(self) -> None:
        number(self.nu, "nu", above=0)

    def log_density(self, r: Floats, s: float) -> Floats:
        nu = self.nu
        constant = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - math.log(s * math.sqrt(nu * math.pi))
        found = r * r
        found /= nu * s**2
        np.log1p(found, out=found)
        found *= -(nu + 1) / 2
        found += constant
        return found

    def weight(self, r: Floats, s: float) -> Floats | float:
        return (self.nu + 1) / (self.nu * s**2 + r * r)

    def psi(self, t: Floats) -> tuple[Floats, Floats]:
        nu, square = self.nu, t * t
        return (nu + 1) * t / (nu + square), (nu + 1) * (nu - square) / (nu + square) ** 2

    def turn(self, square: Floats, z: Floats, s: float) -> tuple[float, float]:
        share = square / (self.nu * s**2 + square)
        once = float(z @ share)
        share *= share
        return (self.nu + 1) * once, 2 * (self.nu + 1) * (once - float(z @ share))


@dataclass(frozen=True)
class Cauchy(StudentT):
    """Student's t with one degree of freedom: the tails of far outliers."""

    nu: float = 1.0
    name: ClassVar[str] = "cauchy"
    median: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if self.nu != 1:
            raise refusal("nu", self.nu, "a Cauchy density has nu = 1; use StudentT(nu)")

    def density(self, r: Floats, s: float) -> Floats:
        found = r * r
        found += s**2
        np.divide(s / math.pi, found, out=found)
        return found


@dataclass(frozen=True)
class Huber(_Shape):
    """Gaussian up to `k` scales, Laplace beyond. k = 1.345 keeps 95 % of the efficiency of least squares."""

    k: float = 1.345
    name: ClassVar[str] = "huber"
    median: ClassVar[float] = 1.3

    def __post_init__(self) -> None:
        number(self.k, "k", above=0)

    def log_density(self, r: Floats, s: float) -> Floats:
        k = self.k
        mass = math.sqrt(2 * math.pi) * math.erf(k / math.sqrt(2)) + 2 / k * math.exp(-k * k / 2)
        far = np.abs(r / s)
        near = np.minimum(far, k)
        return near * (0.5 * near - far) - math.log(s * mass)

    def weight(self, r: Floats, s: float) -> Floats | float:
        return 1 / (s * np.maximum(np.abs(r) / self.k, s))

    def psi(self, t: Floats) -> tuple[Floats, Floats]:
        return np.clip(t, -self.k, self.k), (np.abs(t) <= self.k).astype(np.float64)

    def turn(self, square: Floats, z: Floats, s: float) -> tuple[float, float]:
        t = np.sqrt(square) / s
        near = np.minimum(t, self.k)
        turn = float(z @ (near * t))
        return turn, turn + float(z @ (near * near * (t <= self.k)))


@dataclass(frozen=True)
class Laplace(Family):
    """Least absolute deviations, with the point at 0 smoothed below `delta`.

    In an estimator `delta` is in units of the typical residual (`unit_`).
    """

    delta: float = 1e-4
    name: ClassVar[str] = "laplace"
    median: ClassVar[float] = 1.4427

    def __post_init__(self) -> None:
        number(self.delta, "delta", above=0)

    def rho(self, r: Floats) -> Floats:
        """abs(r), with a parabola below delta."""
        found = np.abs(r)
        if found.size and found.min() < self.delta:
            near = found < self.delta
            found[near] = (found[near] ** 2 / self.delta + self.delta) / 2
        return found

    def log_mass(self, s: float) -> float:
        """log Z."""
        x = self.delta / s
        inner = math.sqrt(2 * math.pi * s * self.delta) * math.erf(math.sqrt(x / 2))
        return -x / 2 + math.log(2 * s * math.exp(-x / 2) + inner)

    def mean_rho(self, s: float) -> float:
        """E rho under the density, which rises in s."""
        d, x = self.delta, self.delta / s
        fall = math.exp(-x / 2)
        inner = math.sqrt(2 * math.pi * s * d) * math.erf(math.sqrt(x / 2))
        square = s * d * (inner - 2 * d * fall)
        outer = 2 * s * fall
        return (outer * (d + s) + d / 2 * inner + square / (2 * d)) / (outer + inner)

    def log_density(self, r: Floats, s: float) -> Floats:
        found = self.rho(r)
        found /= -s
        found -= self.log_mass(s)
        return found

    def weight(self, r: Floats, s: float) -> Floats | float:
        return 1 / (s * np.maximum(np.abs(r), self.delta))

    def best_scale(self, r: Floats, z: Floats, s: float, low: float, high: float) -> float:
        """E rho equals the mean of rho: an exponential family in 1 / s, so there is one maximum."""
        total = float(z.sum())
        if total <= 0:
            return min(max(s, low), high)
        mean = float(z @ self.rho(r)) / total
        if self.mean_rho(low) >= mean:
            return low
        if self.mean_rho(high) <= mean:
            return high
        for _ in range(3):  # E rho is s and a little, so this is nearly Newton's method
            step = mean - self.mean_rho(s)
            s = max(s + step, low)
            if abs(step) <= 1e-9 * s:
                return min(s, high)
        from scipy.optimize import brentq

        # E rho is near s for every s above delta: the root is below this.
        top = min(high, 4 * (mean + self.delta))
        return float(brentq(lambda v: self.mean_rho(v) - mean, low, top, xtol=1e-300, rtol=1e-14))

    def slopes(self, r: Floats, s: float) -> tuple[Floats, ...]:
        sign = np.clip(r / self.delta, -1, 1)
        step = 1e-5
        spread = (self.mean_rho(s * math.exp(step)) - self.mean_rho(s * math.exp(-step))) / (2 * step * s)
        by_scale = (self.rho(r) - self.mean_rho(s)) / s
        return -sign / s, by_scale, np.zeros_like(r), sign / s, -by_scale - spread

    def kink(self, s: float) -> float:
        return 2 / s


KINDS: dict[str, type[Family]] = {kind.name: kind for kind in (Gaussian, Laplace, Cauchy, StudentT, Huber)}


def read(components: object, most: int = 20) -> tuple[Family, ...]:
    """Families from names and `Family` objects; one name stands for itself."""
    if isinstance(components, str | Family):
        components = (components,)
    hint = f"give names among {', '.join(KINDS)}, or objects such as StudentT(nu=3)"
    if not isinstance(components, Sequence) or not components:
        raise refusal("components", components, hint)
    if len(components) > most:
        raise TacitError(
            "argument_invalid",
            f"components has {len(components)} entries",
            argument="components",
            hint=f"take {most} at most; residuals hardly tell three apart",
        )
    found = []
    for one in components:
        if isinstance(one, Family):
            found.append(one)
        elif isinstance(one, str) and one in KINDS:
            found.append(KINDS[one]())
        else:
            raise refusal("components", one, hint)
    return tuple(found)

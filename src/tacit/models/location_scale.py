"""Location-scale models: an answer is mu + sigma Z, where Z has a base law of `families`.

The prior is mu ~ N(mean, sd^2) and sigma^2 ~ inverse gamma(shape, rate), independent; or sigma is given (`scale`).
A finite channel sees the cell of an answer only. The cells lie between the cuts c_1 < ... < c_m, so the probability
of cell j is p_j = F(z_{j+1}) - F(z_j) with z = (c - mu) / sigma, and a report y has sum_j P(y | cell j) p_j.

Points are rows (mu, sigma). The prior density is by (mu, ln sigma), the coordinates in which samplers move.

>>> model = Normal(mean=50, sd=100)
>>> model.cell_probabilities([40, 60], [[50, 10]]).round(4)
array([[0.1587, 0.6827, 0.1587]])
>>> model.sample_prior(2, 1).shape
(2, 2)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Required, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.channels.clipped import LARGEST
from tacit.models import checks, families
from tacit.models.families import Family, StudentFamily
from tacit.rng import generator
from tacit_client import check

_CHUNK = 1 << 18  # entries of a work array


@dataclass(frozen=True, init=False)
class LocationScale:
    """Answers mu + sigma Z. The prior's `mean` and `sd` are those of mu; `shape` and `rate` belong to sigma^2.

    An inverse gamma law with shape 1 is proper, though its mean is infinite. With `scale`, sigma is known.
    """

    family: Family
    mean: float
    sd: float
    shape: float
    rate: float
    scale: float | None

    def __init__(
        self,
        family: str | Family = "normal",
        *,
        mean: float,
        sd: float,
        shape: float = 1.0,
        rate: float = 1.0,
        scale: float | None = None,
    ) -> None:
        place = check.bounded(mean, "mean", lambda v: abs(v) <= LARGEST, "give a number")
        for name, value in (
            ("family", families.family(family)),
            ("mean", float(place)),
            ("sd", _positive(sd, "sd")),
            ("shape", _shape(shape)),
            ("rate", _positive(rate, "rate")),
            ("scale", None if scale is None else _positive(scale, "scale")),
        ):
            object.__setattr__(self, name, value)

    def sample_prior(self, draws: int, rng: object) -> Floats:
        """Independent draws of (mu, sigma) from the prior: shape (draws, 2)."""
        random = generator(rng)
        draws = check.integer(draws, "draws", 1, 10**7)
        out = np.empty((draws, 2))
        out[:, 0] = random.normal(self.mean, self.sd, draws)
        if self.scale is None:
            out[:, 1] = np.sqrt(self.rate / random.gamma(self.shape, size=draws))
        else:
            out[:, 1] = self.scale
        return out

    def log_prior(self, points: npt.ArrayLike) -> Floats:
        """The log density by (mu, ln sigma) at rows (mu, sigma): shape (P,); minus infinity outside.

        It holds the Jacobian 2 sigma^2 of sigma^2 by ln sigma. With a known scale it is the density of mu.
        """
        rows = checks.rows(points)
        mu, sigma = rows[:, 0], rows[:, 1]
        inside = checks.supported(rows)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            out = -0.5 * ((mu - self.mean) / self.sd) ** 2 - math.log(self.sd) - 0.5 * math.log(2 * math.pi)
            if self.scale is None:
                log_square = 2 * np.log(sigma)
                out += self.shape * (math.log(self.rate) - log_square) - self.rate / sigma**2
                out += math.log(2) - math.lgamma(self.shape)
            else:
                inside &= sigma == self.scale
        return np.where(inside, out, -np.inf)

    def cell_probabilities(self, cuts: npt.ArrayLike, points: npt.ArrayLike) -> Floats:
        """The probability of each cell between the cuts (m,), at each point: shape (P, m + 1).

        The relative error is below 1e-12 in both tails and for narrow cells.
        """
        return cell_masses(self.family, checks.cuts(cuts), checks.points(points))

    def cell_gradient(self, cuts: npt.ArrayLike, points: npt.ArrayLike) -> Floats:
        """The derivatives of `cell_probabilities` by mu and sigma: shape (P, m + 1, 2).

        With f the base density at z = (c - mu) / sigma they are the differences of -f / sigma and of -z f / sigma.
        """
        return cell_slopes(self.family, checks.cuts(cuts), checks.points(points))

    def log_likelihood(
        self, cuts: npt.ArrayLike, rows: npt.ArrayLike, counts: npt.ArrayLike, points: npt.ArrayLike
    ) -> Floats:
        """The sum over distinct reports d of counts_d ln(sum_j rows_dj p_j), at each point: shape (P,).

        `rows` (D, m + 1) holds P(report | cell). This is for one channel; `CellTable` adds up many.
        """
        edges, table, times = checks.channel((cuts, rows, counts))
        where = checks.points(points)
        out = np.empty(len(where))
        size = max(1, _CHUNK // (len(edges) + 1 + len(times)))
        for start in range(0, len(where), size):
            part = slice(start, start + size)
            mixed = cell_masses(self.family, edges, where[part]) @ table.T
            with np.errstate(divide="ignore"):
                out[part] = np.log(mixed) @ times
        return out

    def sample(self, points: npt.ArrayLike, n: int, rng: object) -> Floats:
        """Answers, n at each point: shape (P, n)."""
        rows = checks.points(points)
        count = check.integer(n, "n", 1, 10**9)
        out: Floats = rows[:, :1] + rows[:, 1:] * self.family.sample((len(rows), count), generator(rng))
        return out

    def quantile(self, points: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """The quantiles of an answer at the levels p (L,), at each point: shape (P, L)."""
        rows = checks.points(points)
        out: Floats = rows[:, :1] + rows[:, 1:] * self.family.quantile(checks.levels(p))
        return out

    def predictive_cdf(self, points: npt.ArrayLike, x: npt.ArrayLike) -> Floats:
        """P(answer <= x), averaged over the points (draws of the posterior): shape (X,)."""
        rows = checks.points(points)
        places = checks.line(x, "x", "give one or more finite numbers")
        out = np.empty(len(places))
        size = max(1, _CHUNK // len(rows))
        for start in range(0, len(places), size):
            z = (places[start : start + size] - rows[:, :1]) / rows[:, 1:]
            out[start : start + size] = self.family.cdf(z).mean(axis=0)
        return out

    def predictive_quantile(self, points: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """The quantiles of the law whose cdf is `predictive_cdf`, at the levels p (L,), by bisection: shape (L,)."""
        levels = checks.levels(p)
        own = self.quantile(points, levels)
        low, high = own.min(axis=0), own.max(axis=0)
        for _ in range(80):
            middle = low + (high - low) / 2
            below = self.predictive_cdf(points, middle) < levels
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(high)


class Prior(TypedDict, total=False):
    """The arguments of `LocationScale` but for the family."""

    mean: Required[float]
    sd: Required[float]
    shape: float
    rate: float
    scale: float | None


def Normal(**prior: Unpack[Prior]) -> LocationScale:  # noqa: N802 - reads as the class of the model
    """A normal quantity: `LocationScale("normal", mean=, sd=, shape=, rate=, scale=)`."""
    return LocationScale("normal", **prior)


def Logistic(**prior: Unpack[Prior]) -> LocationScale:  # noqa: N802
    """A logistic quantity; sigma is the scale, sqrt(3) / pi times the standard deviation."""
    return LocationScale("logistic", **prior)


def Laplace(**prior: Unpack[Prior]) -> LocationScale:  # noqa: N802
    """A Laplace (two-sided exponential) quantity; sigma is the scale, the standard deviation over sqrt 2."""
    return LocationScale("laplace", **prior)


def StudentT(df: float, **prior: Unpack[Prior]) -> LocationScale:  # noqa: N802
    """A quantity with heavy tails: Student's t with `df` degrees of freedom, given, scaled by sigma."""
    return LocationScale(StudentFamily(df), **prior)


def cell_masses(law: Family, cuts: Floats, points: Floats) -> Floats:
    """`LocationScale.cell_probabilities`, unchecked: it depends on the base law only."""
    mu, sigma = points[:, :1], points[:, 1:]
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    with np.errstate(over="ignore"):
        z = (edges - mu) / sigma
        width = np.diff(edges) / sigma
    return law.mass(z[:, :-1], z[:, 1:], width)


def cell_slopes(law: Family, cuts: Floats, points: Floats) -> Floats:
    """`LocationScale.cell_gradient`, unchecked."""
    mu, sigma = points[:, :1], points[:, 1:]
    with np.errstate(over="ignore"):
        z = (cuts - mu) / sigma
        density = law.pdf(z) / sigma
    tilted = np.multiply(z, density, out=np.zeros_like(z), where=density > 0)
    return np.diff(np.stack([-density, -tilted], axis=-1), axis=1, prepend=0.0, append=0.0)


def _shape(value: object) -> float:
    # Below 0.1 the law spreads over hundreds of powers of ten, as an improper one would.
    hint = "give a number from 0.1 to 1e6: priors must be proper"
    return float(check.bounded(value, "shape", lambda v: 0.1 <= float(v) <= 1e6, hint))


def _positive(value: object, argument: str) -> float:
    # Anything else is an improper prior, which could leave the posterior improper too.
    hint = "give a positive number: priors must be proper"
    return float(check.bounded(value, argument, lambda v: 1 / LARGEST <= v <= LARGEST, hint))

"""The exact law of a clipped and noisy report, clip(X, lo, hi) + noise, when X = mu + sigma Z.

The answer X need not be simulated. With F and f the law of X and w the density of the noise at y - clip(x),

    p(y) = F(lo) w(lo) + (1 - F(hi)) w(hi) + int_lo^hi f w dx

and, since w is constant outside [lo, hi], the derivatives of p by mu and sigma are the integrals of f w' and z f w'
over [lo, hi], with z = (x - mu) / sigma.

For normal answers p(y) has a closed form. Laplace noise of scale b: with s = sigma / b, yc = clip(y), z_l, z and z_r
the standardised lo, yc and hi, and H(z) = exp(s^2 / 2 - s z) Phi(z - s),

    p(y) = T exp(-abs(y - yc) / b) / (2 b)
    T = H(z) + H(-z) + exp(-(yc - lo) / b) [Phi(z_l) - H(z_l)] + exp(-(hi - yc) / b) [Phi(-z_r) - H(-z_r)]

four terms that are not negative, with H by the scaled complementary error function where exp would overflow. Gaussian
noise gives three normal terms. The other families, and all scores, go by quadrature: Gauss-Legendre panels from the
middle of the law outwards, as short as the integrand is steep. The closed form of the score cancels when sigma is much
larger than b; the integrals do not, for w' has one sign on each side of the report.

This is for simulation and comparison: real devices run finite channels, see `tacit.channels`.

>>> from tacit.models.location_scale import Normal
>>> reports = ClippedTable.of([52.0, 47.5], lo=[45, 48], hi=[55, 52], scale=[10, 4])
>>> reports.value(Normal(mean=0, sd=100), [[50, 3], [40, 3]]).round(3)
array([-5.88 , -5.894])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats
from tacit.models import checks
from tacit.models.location_scale import LocationScale


@dataclass(frozen=True, eq=False)
class ClippedTable:
    """Reports, each with the interval and the scale of the noise it was made with; make one with `of`."""

    reports: Floats  # (n,)
    lo: Floats
    hi: Floats
    scale: Floats  # b of Laplace noise, the standard deviation of Gaussian noise
    noise: str

    @classmethod
    def of(
        cls,
        reports: npt.ArrayLike,
        lo: npt.ArrayLike,
        hi: npt.ArrayLike,
        scale: npt.ArrayLike,
        noise: str = "laplace",
    ) -> ClippedTable:
        """From n reports; the others are n numbers, or one for all. No epsilon above 50: hi - lo <= 50 scale."""
        checks.noise(noise)
        y = checks.line(reports, "reports", "give finite numbers")
        low, high = (checks.spread(v, name, len(y)) for v, name in ((lo, "lo"), (hi, "hi")))
        if (low >= high).any():
            raise arrays.refuse(hi, "hi", "give numbers above lo")
        width = checks.spread(scale, "scale", len(y))
        if (width < (high - low) / checks.SHARPEST).any():
            raise arrays.refuse(scale, "scale", "give positive numbers, at least (hi - lo) / 50")
        return cls(y, low, high, width, noise)

    def __add__(self, other: ClippedTable) -> ClippedTable:
        if not isinstance(other, ClippedTable):
            return NotImplemented
        if other.noise != self.noise:
            raise arrays.refuse(other.noise, "noise", f"add reports with {self.noise} noise")
        both = (
            (self.reports, other.reports),
            (self.lo, other.lo),
            (self.hi, other.hi),
            (self.scale, other.scale),
        )
        y, low, high, width = (np.concatenate(pair) for pair in both)
        return ClippedTable(y, low, high, width, self.noise)

    def __len__(self) -> int:
        return len(self.reports)

    def value(self, model: LocationScale, points: npt.ArrayLike) -> Floats:
        """The log-likelihood at each row (mu, sigma) of `points`: shape (P,)."""
        return np.asarray(self._values(model, points, 1)[0])

    def values(self, model: LocationScale, points: npt.ArrayLike) -> Floats:
        """The log-likelihood of each report at each point: shape (n, P)."""
        return self._values(model, points, len(self))

    def score(self, model: LocationScale, points: npt.ArrayLike) -> Floats:
        """The derivatives of `value` by mu and sigma: shape (P, 2)."""
        return np.asarray(self._scores(model, points, 1)[0])

    def scores(self, model: LocationScale, points: npt.ArrayLike) -> Floats:
        """The derivatives of `values` by mu and sigma: shape (n, P, 2)."""
        return self._scores(model, points, len(self))

    def _values(self, model: LocationScale, points: npt.ArrayLike, rows: int) -> Floats:
        from tacit.models import clipped_kernels

        where = np.ascontiguousarray(checks.points(points))
        out = np.zeros((rows, len(where)))
        clipped_kernels.log_densities(model.family.key, *self._arrays, where, True, out)
        return out

    def _scores(self, model: LocationScale, points: npt.ArrayLike, rows: int) -> Floats:
        from tacit.models import clipped_kernels

        where = np.ascontiguousarray(checks.points(points))
        out = np.zeros((rows, len(where), 2))
        clipped_kernels.scores(model.family.key, *self._arrays, where, out)
        return out

    @property
    def _arrays(self) -> tuple[bool, Floats, Floats, Floats, Floats]:
        return self.noise == "gaussian", self.reports, self.lo, self.hi, self.scale

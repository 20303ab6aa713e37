"""Compiled law of a clipped and noisy report; see `clipped`. Imported only when it is called.

The test oracles are adaptive quadrature in many digits and the numpy twin in tests/oracles.py.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tacit.arrays import Floats
from tacit.models.kernels import tail

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_SQRT_HALF = math.sqrt(0.5)
_LOG_ROOT = 0.5 * math.log(2 * math.pi)
_FALL = 16.0  # of the logarithm of the integrand over one panel, which 16 nodes integrate to the last digit
_NOTHING = 45.0  # below its top the logarithm of the integrand adds nothing

_Law = tuple[int, float, float]
_Noise = tuple[bool, float, float, float, float]  # gaussian, report, lo, hi, scale


@njit(cache=True)
def _erfcx(x: float) -> float:
    """exp(x^2) erfc(x) for x >= 0."""
    if x < 10:
        return math.exp(x * x) * math.erfc(x)
    term, total, step = 1.0, 1.0, -0.5 / (x * x)
    for k in range(1, 24, 2):
        term *= k * step
        total += term
    return total / (x * math.sqrt(math.pi))


@njit(cache=True)
def _tilted(z: float, s: float) -> float:
    """H(z) = exp(s^2 / 2 - s z) Phi(z - s), in [0, 1]: the mean of exp(-s (z - Z)) over Z < z."""
    if s >= z:
        return math.exp(-0.5 * z * z) * _erfcx((s - z) * _SQRT_HALF) / 2
    return math.exp(s * (0.5 * s - z)) * 0.5 * math.erfc((s - z) * _SQRT_HALF)


@njit(cache=True)
def _normal_laplace(noise: _Noise, mu: float, sigma: float) -> float:
    """ln density for normal answers and Laplace noise: four terms that are not negative."""
    _, y, lo, hi, b = noise
    inside = min(max(y, lo), hi)
    s = sigma / b
    z, left, right = (inside - mu) / sigma, (lo - mu) / sigma, (hi - mu) / sigma
    below = 0.5 * math.erfc(-left * _SQRT_HALF) - _tilted(left, s)
    above = 0.5 * math.erfc(right * _SQRT_HALF) - _tilted(-right, s)
    t = _tilted(z, s) + _tilted(-z, s)
    t += math.exp((lo - inside) / b) * max(below, 0.0) + math.exp((inside - hi) / b) * max(above, 0.0)
    return math.log(t / (2 * b)) - abs(y - inside) / b


@njit(cache=True)
def _log_tail(z: float) -> float:
    """ln P(Z > z), normal."""
    if z < 0:
        return math.log1p(-0.5 * math.erfc(-z * _SQRT_HALF))
    return math.log(0.5 * _erfcx(z * _SQRT_HALF)) - 0.5 * z * z


@njit(cache=True)
def _log_between(low: float, high: float) -> float:
    """ln P(low < Z < high), normal: the difference of the smaller tails."""
    if low < 0 and high > 0:
        return math.log(0.5 * (math.erf(high * _SQRT_HALF) - math.erf(low * _SQRT_HALF)))
    if high <= 0:
        low, high = -high, -low
    top = _log_tail(low)
    share = -math.expm1(_log_tail(high) - top)
    return top + math.log(share) if share > 0 else -math.inf


@njit(cache=True)
def _normal_gaussian(noise: _Noise, mu: float, sigma: float) -> float:
    """ln density for normal answers and Gaussian noise: clipped below, clipped above, and not clipped."""
    _, y, lo, hi, tau = noise
    width = math.hypot(sigma, tau)
    v = sigma * (tau / width)
    # The answer given the report is N(m, v^2) before clipping.
    m = mu * (tau / width) ** 2 + y * (sigma / width) ** 2
    below = _log_tail((mu - lo) / sigma) - 0.5 * ((y - lo) / tau) ** 2 - math.log(tau)
    above = _log_tail((hi - mu) / sigma) - 0.5 * ((y - hi) / tau) ** 2 - math.log(tau)
    within = _log_between((lo - m) / v, (hi - m) / v) - 0.5 * ((y - mu) / width) ** 2 - math.log(width)
    top = max(below, above, within)
    return top + math.log(math.exp(below - top) + math.exp(above - top) + math.exp(within - top)) - _LOG_ROOT


@njit(cache=True)
def _log_weight(noise: _Noise, gap: float) -> float:
    """ln of the noise density at y - x over that at y - clip(y); gap = x - clip(y)."""
    gaussian, y, lo, hi, scale = noise
    if gaussian:
        beyond = y - min(max(y, lo), hi)
        return gap / scale * (beyond - 0.5 * gap) / scale
    return -abs(gap) / scale


@njit(cache=True)
def _pull(noise: _Noise, gap: float, rising: bool) -> float:
    """The derivative of `_log_weight` by x; `rising` says on which side of the report x is."""
    gaussian, y, lo, hi, scale = noise
    if gaussian:
        return (y - min(max(y, lo), hi) - gap) / scale / scale
    return 1 / scale if rising else -1 / scale


@njit(cache=True)
def _log_density(law: _Law, z: float) -> float:
    code, df, log_constant = law
    if code == 0:
        return log_constant - 0.5 * z * z
    if code == 1:
        return -abs(z) - 2 * math.log1p(math.exp(-abs(z)))
    if code == 2:
        return log_constant - abs(z)
    return log_constant - (df + 1) * math.log(math.hypot(1.0, z / math.sqrt(df)))


@njit(cache=True)
def _slope(law: _Law, z: float) -> float:
    code, df, _ = law
    if code == 0:
        return -z
    if code == 1:
        return -math.tanh(z / 2)
    if code == 2:
        return -1.0 if z > 0 else 1.0
    return -(df + 1) / (df / z + z) if z != 0 else 0.0


@njit(cache=True)
def _longest(law: _Law, z: float) -> float:
    """A panel from z outwards over which the density is smooth for 16 nodes: its poles stay outside."""
    code, df, _ = law
    if code == 0:
        return 2.5
    if code == 1:
        return 4.0
    if code == 2:
        return math.inf
    return 0.8 * math.hypot(math.sqrt(df), z)


@njit(cache=True)
def _walk(
    law: _Law,
    noise: _Noise,
    sigma: float,
    middle: float,
    offset: float,
    start: float,
    end: float,
    rising: bool,
    top: float,
    sums: Floats,
) -> float:
    """Add up f w, f w' and z f w' over panels of z - middle from start to end, away from the middle of the law.

    At z = middle the answer is `offset` below clip(y). Distances are taken from there: an interval may be so narrow
    that its ends have nearly the same z. Returns the largest logarithm of the integrand met, and stops where a
    log-concave integrand has fallen to nothing.
    """
    outwards = 1.0 if end > start else -1.0
    cap = 2.5 * noise[4] / sigma if noise[0] else math.inf
    u = start
    while u != end:
        z, gap = middle + u, sigma * u - offset
        value = _log_density(law, z) + _log_weight(noise, gap)
        # At 0 the Laplace density has a corner: take the slope just outside.
        slope = _slope(law, z if z != 0 else outwards * 1e-300) + sigma * _pull(noise, gap, rising)
        if law[0] != 3 and value < top - _NOTHING and slope * outwards < 0:
            break
        top = max(top, value)
        steep = abs(slope)
        length = min(_longest(law, z), cap, _FALL / steep if steep > 0 else math.inf)
        after = u + outwards * length
        if abs(end - u) <= length * 1.0001 or after == u:
            after = end
        half = 0.5 * (after - u)
        for k in range(len(_NODES)):
            v = u + half * (1 + _NODES[k])
            z, gap = middle + v, sigma * v - offset
            mass = abs(half) * _WEIGHTS[k] * math.exp(_log_density(law, z) + _log_weight(noise, gap))
            change = mass * _pull(noise, gap, rising)
            sums[0] += mass
            sums[1] += change
            sums[2] += change * z
        u = after
    return top


@njit(cache=True)
def _integrals(law: _Law, noise: _Noise, mu: float, sigma: float, sums: Floats) -> None:
    """Set sums to T and its derivatives by mu and sigma, for the noise scaled to 1 at the report's clip."""
    _, y, lo, hi, _ = noise
    sums[:] = 0.0
    inside, nearest = min(max(y, lo), hi), min(max(mu, lo), hi)
    offset, middle = inside - nearest, (nearest - mu) / sigma
    left, at, right = (lo - nearest) / sigma, offset / sigma, (hi - nearest) / sigma
    if at > 0:
        top = _walk(law, noise, sigma, middle, offset, 0.0, at, True, -math.inf, sums)
        top = _walk(law, noise, sigma, middle, offset, at, right, False, top, sums)
        _walk(law, noise, sigma, middle, offset, 0.0, left, True, top, sums)
    else:
        top = _walk(law, noise, sigma, middle, offset, 0.0, at, False, -math.inf, sums)
        top = _walk(law, noise, sigma, middle, offset, at, left, True, top, sums)
        _walk(law, noise, sigma, middle, offset, 0.0, right, False, top, sums)
    left, right = (lo - mu) / sigma, (hi - mu) / sigma
    code, df, log_constant = law
    below = tail(code, df, log_constant, abs(left))
    above = tail(code, df, log_constant, abs(right))
    sums[0] += (below if left < 0 else 1 - below) * math.exp(_log_weight(noise, lo - inside))
    sums[0] += (above if right > 0 else 1 - above) * math.exp(_log_weight(noise, hi - inside))


@njit(cache=True)
def _by_quadrature(law: _Law, noise: _Noise, mu: float, sigma: float, sums: Floats) -> float:
    gaussian, y, lo, hi, scale = noise
    away = abs(y - min(max(y, lo), hi)) / scale
    _integrals(law, noise, mu, sigma, sums)
    if gaussian:
        return math.log(sums[0] / scale) - 0.5 * away * away - _LOG_ROOT
    return math.log(sums[0] / (2 * scale)) - away


@njit(cache=True, nogil=True)
def log_densities(
    law: _Law,
    gaussian: bool,
    reports: Floats,
    lo: Floats,
    hi: Floats,
    scale: Floats,
    points: Floats,
    exact: bool,
    out: Floats,
) -> None:
    """Add ln p(report i | point p) to out[i, p], or to out[0, p] when out has one row.

    `exact` takes the closed forms of the normal law, which are faster.
    """
    sums = np.zeros(3)
    for i in range(len(reports)):
        noise = (gaussian, reports[i], lo[i], hi[i], scale[i])
        row = i if len(out) == len(reports) else 0
        for p in range(len(points)):
            mu, sigma = points[p, 0], points[p, 1]
            if law[0] != 0 or not exact:
                out[row, p] += _by_quadrature(law, noise, mu, sigma, sums)
            elif gaussian:
                out[row, p] += _normal_gaussian(noise, mu, sigma)
            else:
                out[row, p] += _normal_laplace(noise, mu, sigma)


@njit(cache=True, nogil=True)
def scores(
    law: _Law,
    gaussian: bool,
    reports: Floats,
    lo: Floats,
    hi: Floats,
    scale: Floats,
    points: Floats,
    out: Floats,
) -> None:
    """Add the derivatives of ln p(report i | point p) by mu and sigma to out[i, p], or to out[0, p]."""
    sums = np.zeros(3)
    for i in range(len(reports)):
        noise = (gaussian, reports[i], lo[i], hi[i], scale[i])
        row = i if len(out) == len(reports) else 0
        for p in range(len(points)):
            _integrals(law, noise, points[p, 0], points[p, 1], sums)
            out[row, p, 0] += sums[1] / sums[0]
            out[row, p, 1] += sums[2] / sums[0]

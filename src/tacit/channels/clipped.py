"""Clipped noise, for simulation and comparison only: clip(answer, lo, hi) + noise on a real line.

`clipped_laplace` is the mechanism of Yildirim, "Differentially private online Bayesian estimation with adaptive
truncation". On paper it is epsilon-DP. Computed with floating-point numbers it is not: which of two answers can have
given a report shows in the report's last digits (Mironov, "On significance of the least significant bits for
differential privacy", 2012). Gaussian noise has an infinite pure loss, so no cap of a device covers it, and the same
weakness. So these two have no wire form and no way to answer for real. Devices run finite channels: `graded` and
`binned` do for numbers what these do, from integers.

The scale of Gaussian noise is the smallest that keeps (epsilon, delta) exactly (Balle and Wang, "Improving the Gaussian
mechanism for differential privacy", 2018): with u = (hi - lo) / scale,

    Phi(u / 2 - epsilon / u) - exp(epsilon) Phi(-u / 2 - epsilon / u) = delta

>>> channel = clipped_laplace(20, 80, epsilon=1.0)
>>> channel.scale, channel.sample([10, 50], rng=1).round()
(60.0, array([ 21., 189.]))
>>> round(clipped_gaussian(20, 80, epsilon=1.0, delta=1e-5).scale)
224
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats
from tacit.rng import generator
from tacit_client import check

LARGEST = 1e100  # of a parameter: squares and products of them stay finite


@dataclass(frozen=True)
class ClippedNoise:
    """A clipped and noisy report of a number. It can be simulated, and nothing else: see the module."""

    lo: float
    hi: float
    epsilon: float
    delta: float
    scale: float  # b of Laplace noise, the standard deviation of Gaussian noise
    noise: str

    def sample(self, answers: npt.ArrayLike, rng: object) -> Floats:
        """Simulated reports of many answers, from a numpy Generator or a seed. Never for real answers."""
        x = np.clip(_answers(answers), self.lo, self.hi)
        random = generator(rng)
        draw = random.laplace if self.noise == "laplace" else random.normal
        return x + draw(0.0, self.scale, len(x))


def clipped_laplace(lo: float, hi: float, epsilon: float) -> ClippedNoise:
    """Clip to [lo, hi] and add Laplace noise of scale (hi - lo) / epsilon. For simulation only.

    In floating point its reports give answers away (Mironov 2012), so it has no wire form and cannot respond.
    """
    low, high = interval(lo, hi)
    budget = float(check.epsilon(epsilon))
    return ClippedNoise(low, high, budget, 0.0, (high - low) / budget, "laplace")


def clipped_gaussian(lo: float, hi: float, epsilon: float, delta: float) -> ClippedNoise:
    """Clip to [lo, hi] and add Gaussian noise with the least scale that is (epsilon, delta)-DP. For simulation only.

    Its pure loss is infinite: no finite cap covers it, so it has no wire form and cannot respond.
    """
    low, high = interval(lo, hi)
    budget = float(check.epsilon(epsilon))
    slack = float(check.bounded(delta, "delta", lambda v: 0 < v < 1, "give a number above 0 and below 1"))
    if not 1e-300 < slack < 1 - 1e-9:
        raise arrays.refuse(delta, "delta", "give a number from 1e-300 to 1 - 1e-9; 1e-6 is usual")
    return ClippedNoise(low, high, budget, slack, (high - low) / _least_ratio(budget, slack), "gaussian")


def _least_ratio(epsilon: float, delta: float) -> float:
    """The largest u = (hi - lo) / scale whose delta is not above the one given, by bisection."""
    low, high = 1.0, 1.0
    while _log_delta(low, epsilon) > math.log(delta):
        low /= 2
    while _log_delta(high, epsilon) <= math.log(delta):
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if _log_delta(middle, epsilon) <= math.log(delta) else (low, middle)
    return low


def _log_delta(u: float, epsilon: float) -> float:
    """ln of the left side of the condition in the module.

    Its two terms are phi(x) m(x) and phi(x) m(x + u) with x = epsilon / u - u / 2 and the falling function
    m(x) = (1 - Phi(x)) / phi(x), the scaled complementary error function: only m cancels, and only for small u.
    """
    from scipy.special import erfcx, log_ndtr

    x = epsilon / u - u / 2
    if x < 0:
        top = float(log_ndtr(-x))
        return top + math.log1p(-math.exp(epsilon + float(log_ndtr(-x - u)) - top))
    gap = float(erfcx(x / math.sqrt(2)) - erfcx((x + u) / math.sqrt(2)))
    return math.log(gap / 2) - x * x / 2 if gap > 0 else -math.inf


def interval(lo: object, hi: object) -> tuple[float, float]:
    """Two finite numbers, lo below hi."""
    hint = "give two finite numbers, lo below hi"
    low = check.bounded(lo, "lo", lambda v: abs(v) <= LARGEST, hint)
    high = check.bounded(hi, "hi", lambda v: abs(v) <= LARGEST and v > low, hint)
    return float(low), float(high)


def _answers(answers: npt.ArrayLike) -> Floats:
    hint = "give a list of finite numbers"
    x = arrays.numbers(answers, "answers", hint)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise arrays.refuse(answers, "answers", hint)
    return x

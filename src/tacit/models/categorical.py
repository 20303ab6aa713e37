"""The categorical model: answers are independent draws from theta over K categories.

The prior is Dirichlet(rho b_1, ..., rho b_K). The base measure b is a vector of ones or the caller's; rho is a number,
or learned with theta under ln rho ~ N(location, scale^2).

>>> Categorical(3, concentration=0.5).sample_prior(2, 1).theta.shape
(2, 3)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit.rng import generator
from tacit_client import check

LEARNED = "learned"
MIN_CONCENTRATION, MAX_CONCENTRATION = 1e-5, 1e6


class PriorDraws(NamedTuple):
    """Draws of the prior: ln theta (P, K), exact where theta underflows, and ln rho (P,)."""

    log_theta: Floats
    log_rho: Floats

    @property
    def theta(self) -> Floats:
        return np.exp(self.log_theta)


@dataclass(frozen=True, init=False)
class Categorical:
    """`concentration`: a number, K numbers, or "learned" (one number, inferred along with theta)."""

    k: int
    base: tuple[float, ...]
    learned: bool
    location: float
    scale: float

    def __init__(
        self,
        k: int,
        concentration: float | npt.ArrayLike | str = LEARNED,
        location: float = 0.0,
        scale: float = 2.0,
    ) -> None:
        size = check.integer(k, "k", 2, check.MAX_CATEGORIES)
        learned = isinstance(concentration, str) and concentration == LEARNED
        base = np.ones(size) if learned else _concentrations(concentration, size)
        place = check.bounded(location, "location", lambda v: abs(v) <= 10, "give a number from -10 to 10")
        width = check.bounded(scale, "scale", lambda v: 0.01 <= v <= 5, "give a number from 0.01 to 5")
        for name, value in (
            ("k", size),
            ("base", tuple(float(b) for b in base)),
            ("learned", learned),
            ("location", float(place)),
            ("scale", float(width)),
        ):
            object.__setattr__(self, name, value)

    def sample_prior(self, draws: int, rng: object) -> PriorDraws:
        """Independent draws of (theta, rho) from the prior."""
        random = generator(rng)
        draws = check.integer(draws, "draws", 1, 10**7)
        log_rho = np.zeros(draws)
        if self.learned:
            log_rho = random.normal(self.location, self.scale, draws)
        alpha = np.exp(log_rho)[:, None] * np.array(self.base)
        # Gamma(a) = Gamma(a + 1) U^(1 / a): the logarithm stays finite however small a is.
        log_phi = np.log(random.gamma(alpha + 1)) + np.log(random.random(alpha.shape)) / alpha
        top = log_phi.max(axis=1, keepdims=True)
        log_sum = top + np.log(np.exp(log_phi - top).sum(axis=1, keepdims=True))
        return PriorDraws(log_phi - log_sum, log_rho)


def _concentrations(value: object, k: int) -> Floats:
    hint = f'give a number from 1e-5 to 1e6, {k} such numbers, or "{LEARNED}"'
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        raise arrays.refuse(value, "concentration", hint) from None
    if array.dtype.kind not in "iuf" or array.shape not in ((), (k,)):
        raise arrays.refuse(value, "concentration", hint)
    floats = np.broadcast_to(array.astype(np.float64), (k,))
    if (
        not np.isfinite(floats).all()
        or (floats < MIN_CONCENTRATION).any()
        or (floats > MAX_CONCENTRATION).any()
    ):
        raise TacitError(
            "argument_invalid",
            f"concentration is {check.shown(value)}",
            argument="concentration",
            hint=hint,
        )
    return floats

"""Policies by name: what to ask next, from posterior draws.

| name | channel |
| --- | --- |
| static-srr | standard randomised response, always |
| static-subset | subset response of the best size, always |
| static-hashed | local hashing, always: for many categories |
| semi:A | RRRR on the fewest likeliest categories with mass A, at one posterior draw (Thompson sampling) |
| fisher, entropy, tv_posterior, tv_marginal, mse, honest | RRRR on the best subset by that utility, at one draw |
| risk | coarse subset response with the least expected error, see `risk` |

>>> policy("semi:0.9", kappa=0.8).choose(np.array([[0.6, 0.3, 0.1]]), 1.0, 100, np.random.default_rng(1))
rrrr(k=3, subset=[0, 1], epsilon=1)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tacit import channels
from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.policies import risk
from tacit.policies.utilities import UTILITIES, best_subset
from tacit_client import check

STATIC: dict[str, Callable[[int, float], Channel[Any]]] = {
    "static-srr": channels.srr,
    "static-subset": channels.subset,
    "static-hashed": channels.hashed,
}


class Policy(Protocol):
    """Chooses a channel for the next round."""

    @property
    def name(self) -> str:
        """As given to `policy`."""

    @property
    def adaptive(self) -> bool:
        """Whether the choice looks at the draws."""

    def choose(self, draws: Floats, epsilon: float, n: int, rng: np.random.Generator) -> Channel[Any]:
        """From posterior draws (N, K) and the number n of reports still expected."""


@dataclass(frozen=True)
class Static:
    """One channel for the whole study."""

    name: str
    adaptive: bool = False

    def choose(self, draws: Floats, epsilon: float, n: int, rng: np.random.Generator) -> Channel[Any]:
        return STATIC[self.name](draws.shape[1], epsilon)


@dataclass(frozen=True)
class SemiAdaptive:
    """RRRR on the fewest likeliest categories that hold `mass` of a posterior draw, at most K - 1."""

    name: str
    mass: float
    kappa: float
    adaptive: bool = True

    def choose(self, draws: Floats, epsilon: float, n: int, rng: np.random.Generator) -> Channel[Any]:
        theta = draws[rng.integers(len(draws))]
        order = np.argsort(-theta, kind="stable")
        size = 1 + int(np.searchsorted(np.cumsum(theta[order]), self.mass))
        return channels.rrrr(len(theta), order[: min(size, len(theta) - 1)], epsilon, self.kappa)


@dataclass(frozen=True)
class ByUtility:
    """RRRR on the best subset by one of U1..U6 at a posterior draw."""

    name: str
    kappa: float
    adaptive: bool = True

    def choose(self, draws: Floats, epsilon: float, n: int, rng: np.random.Generator) -> Channel[Any]:
        theta = draws[rng.integers(len(draws))]
        theta = theta / theta.sum()
        return channels.rrrr(
            len(theta), best_subset(theta, epsilon, self.kappa, self.name), epsilon, self.kappa
        )


@dataclass(frozen=True)
class Risk:
    """Coarse subset response with the least expected error at the end of the study."""

    name: str = "risk"
    aim: str = "tv"
    adaptive: bool = True

    def choose(self, draws: Floats, epsilon: float, n: int, rng: np.random.Generator) -> Channel[Any]:
        return risk.choose(draws, epsilon, max(n, 2), self.aim).channel


def policy(name: object, kappa: object = 0.9) -> Policy:
    """The policy of a name; `kappa` is used by those over RRRR."""
    share = float(check.bounded(kappa, "kappa", lambda v: 0 < v <= 1, "give a share above 0 and at most 1"))
    if isinstance(name, str):
        if name in STATIC:
            return Static(name)
        if name in UTILITIES:
            return ByUtility(name, share)
        if name == "risk":
            return Risk()
        head, _, mass = name.partition(":")
        if head == "semi" and _is_share(mass):
            return SemiAdaptive(name, float(mass), share)
    known = [*STATIC, "semi:0.9", *UTILITIES, "risk"]
    raise TacitError(
        "argument_invalid",
        f"policy is {check.shown(name)}",
        argument="policy",
        hint=f"give one of {', '.join(known)}",
    )


def _is_share(text: str) -> bool:
    try:
        return 0 < float(text) <= 1
    except ValueError:
        return False

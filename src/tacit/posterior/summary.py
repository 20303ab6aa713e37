"""What posterior draws say: point estimates that fit an aim, intervals, ranks, and how far to trust the draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit_client import check

AIMS = ("tv", "mse", "mode")
KINDS = ("equal", "highest")


@dataclass(frozen=True)
class Posterior:
    """Draws of theta, and how they were made."""

    chains: Floats  # (chains, draws of each, K)
    log_rho: Floats | None  # (chains, draws of each), when the concentration is learned
    method: str
    divergences: int
    log_evidence: float | None = None  # of "smc": its differences between models of the same evidence

    @cached_property
    def draws(self) -> Floats:
        """All draws of theta, shape (n, K)."""
        return self.chains.reshape(-1, self.chains.shape[2])

    @property
    def mean(self) -> Floats:
        """The posterior mean: the estimate with the least expected squared error."""
        out: Floats = self.draws.mean(axis=0)
        return out

    def estimate(self, minimise: str = "tv") -> Floats:
        """The distribution with the least posterior expected loss: total variation, squared error, or the mode.

        For "tv" each share is the q-quantile of its draws, with the one q for which the shares sum to 1: the
        Lagrange condition of minimising the expected sum of absolute errors over distributions. "mode" takes each
        category's marginal mode (by halving samples) and scales the shares to sum to 1.
        """
        _one_of(minimise, "minimise", AIMS)
        if minimise == "mse":
            return self.mean
        if minimise == "tv":
            return _common_quantile(np.sort(self.draws, axis=0))
        modes = np.array([_half_sample_mode(column) for column in np.sort(self.draws, axis=0).T])
        if modes.sum() == 0:  # every category is most often absent: the mode of none tells nothing
            return self.mean
        modes /= modes.sum()
        return modes

    def interval(self, level: float = 0.9, kind: str = "equal") -> tuple[Floats, Floats]:
        """Lower and upper ends (K,) that hold `level` of the draws: equal tails, or the "highest" density, which
        reaches down to zero for a category that may be absent."""
        share = float(check.bounded(level, "level", lambda v: 0 < v < 1, "give a level between 0 and 1"))
        _one_of(kind, "kind", KINDS)
        ordered = np.sort(self.draws, axis=0)
        if kind == "equal":
            low, high = np.quantile(ordered, [(1 - share) / 2, (1 + share) / 2], axis=0)
            return low, high
        inside = min(len(ordered) - 1, int(np.ceil(share * len(ordered))))
        widths = ordered[inside:] - ordered[: len(ordered) - inside]
        start = widths.argmin(axis=0)
        columns = np.arange(ordered.shape[1])
        return ordered[start, columns], ordered[start + inside, columns]

    def ranks(self) -> Floats:
        """P[i, r]: the probability that category i has rank r, 0 for the largest share. Shape (K, K)."""
        order = np.argsort(-self.draws, axis=1)
        k = order.shape[1]
        out = np.zeros((k, k))
        for r in range(k):
            out[:, r] = np.bincount(order[:, r], minlength=k)
        out /= len(order)
        return out

    def exceeds(self, threshold: float) -> Floats:
        """The probability that each share is above a threshold, shape (K,)."""
        bound = float(
            check.bounded(threshold, "threshold", lambda v: 0 <= v <= 1, "give a share from 0 to 1")
        )
        out: Floats = (self.draws > bound).mean(axis=0)
        return out

    def rhat(self) -> Floats:
        """Split R-hat of every share, shape (K,): near 1 when the chains agree; above 1.05, draw more."""
        half = self.chains.shape[1] // 2
        if half < 2:
            return np.full(self.chains.shape[2], np.nan)
        split = np.concatenate([self.chains[:, :half], self.chains[:, -half:]])
        within = split.var(axis=1, ddof=1).mean(axis=0)
        between = split.mean(axis=1).var(axis=0, ddof=1)
        # Chains that never move have no spread within: then either nothing is known (nan), or they disagree.
        stuck = np.where(between > 0, np.inf, np.nan)
        ratio = np.divide(between, within, out=stuck, where=within > 0)
        out: Floats = np.sqrt((half - 1) / half + ratio)
        return out

    def ess(self) -> Floats:
        """Effective number of independent draws for every mean, shape (K,), by Geyer's initial positive pairs."""
        return np.array([_effective_size(self.chains[:, :, j]) for j in range(self.chains.shape[2])])

    def to_arviz(self) -> Any:
        """The draws as an ArviZ object, for its plots and diagnostics (`pip install arviz`)."""
        try:
            import arviz
        except ImportError:
            raise TacitError(
                "dependency_missing",
                "arviz is not installed",
                argument="to_arviz",
                hint="pip install arviz",
            ) from None
        draws = {"theta": self.chains}
        if self.log_rho is not None:
            draws["log_rho"] = self.log_rho
        if int(arviz.__version__.partition(".")[0]) >= 1:
            return arviz.from_dict({"posterior": draws})
        return arviz.from_dict(posterior=draws)


def _one_of(value: object, argument: str, names: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in names:
        raise TacitError(
            "argument_invalid",
            f"{argument} is {check.shown(value)}",
            argument=argument,
            hint=f"give one of {', '.join(names)}",
        )


def common_level(ordered: Floats) -> float:
    """The level q at which the q-quantiles sum to 1, by bisection; `ordered` (n, K) is sorted by column."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _quantiles(ordered, middle).sum() > 1 else (middle, high)
    return (low + high) / 2


def _common_quantile(ordered: Floats) -> Floats:
    """The vector of quantiles at the common level."""
    shares = _quantiles(ordered, common_level(ordered))
    shares /= shares.sum()
    return shares


def _quantiles(ordered: Floats, q: float) -> Floats:
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    part: Floats = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    return part


def _half_sample_mode(ordered: Floats) -> float:
    while len(ordered) > 2:
        half = (len(ordered) + 1) // 2
        start = int(np.argmin(ordered[half - 1 :] - ordered[: len(ordered) - half + 1]))
        ordered = ordered[start : start + half]
    return float(ordered.mean())


def _effective_size(chains: Floats) -> float:
    """Of (chains, T) draws: chains T / (1 + 2 sum of autocorrelations), the sum cut at the first negative pair."""
    count, length = chains.shape
    within = chains.var(axis=1, ddof=1).mean() if length > 1 else 0.0
    if within == 0:
        return float(len(np.unique(chains)))
    if length < 4:
        return float(count * length)
    between = chains.mean(axis=1).var(ddof=1) if count > 1 else 0.0
    total = within * (length - 1) / length + between
    centred = chains - chains.mean(axis=1, keepdims=True)
    covariance = np.array(
        [(centred[:, lag:] * centred[:, : length - lag]).sum(axis=1).mean() / length for lag in range(length)]
    )
    correlation = 1 - (within - covariance) / total
    tau = -1.0
    for lag in range(0, length - 1, 2):
        pair = correlation[lag] + correlation[lag + 1]
        if pair < 0:
            break
        tau += 2 * pair
    return float(count * length / max(tau, 1 / np.log10(max(count * length, 10))))

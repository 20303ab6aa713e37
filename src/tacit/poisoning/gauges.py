"""The gauge: every category's worst push by m fake reports, fast enough to be drawn after each round.

See `tacit.poisoning` for the formulas, and for what is a bound and what is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.models import Categorical, LocationScale
from tacit.poisoning import menus
from tacit.poisoning.attacks import Source, estimate, follow, source, tangent
from tacit.poisoning.moments import moment_push
from tacit.posterior.summary import common_level
from tacit.study import Study
from tacit_client import check

SHARE = 0.01  # of the reports that are fake, unless said otherwise
KEPT = 0.2  # of the draws that stay effective while they are reweighted
HALVINGS = 14


@dataclass(frozen=True)
class Gauge:
    """How far `fakes` reports, added to `n`, can push each estimate: arrays (K,), or (2,) for mu and sigma.

    `up` and `down` are approximations, or, if `exact`, attacks that were carried out. For a number,
    `plain_up` is that of the median of answers given without privacy, known for mu only, and there is no
    unbiased estimate.
    """

    names: tuple[str, ...]
    n: int
    fakes: int
    exact: bool
    estimate: Floats
    up: Floats
    down: Floats
    linear_up: Floats
    linear_down: Floats
    moment_up: Floats
    moment_down: Floats
    plain_up: Floats
    plain_down: Floats

    @property
    def price(self) -> Floats:
        """How many times further up than without privacy each estimate can be pushed."""
        out = np.full(len(self.up), np.nan)
        np.divide(self.up, self.plain_up, out=out, where=self.plain_up > 0)
        return out

    def record(self) -> dict[str, Any]:
        """For JSON; what is not known is None."""
        arrays = ("estimate", "up", "down", "linear_up", "linear_down", "moment_up", "moment_down")
        out: dict[str, Any] = {"fakes": self.fakes, "n": self.n, "exact": self.exact}
        for name in (*arrays, "plain_up", "plain_down", "price"):
            out[name] = [float(v) if math.isfinite(v) else None for v in getattr(self, name)]
        return out

    def say(self, names: Sequence[str] | None = None) -> str:
        """One sentence about the estimate that can be pushed furthest."""
        labels = self.names if names is None else names
        if len(self.moment_up) == 0:
            most, of = 0, f"mu by about {self.up[0]:.3g}"
            plain = f"the median, without privacy, by {self.plain_up[0]:.3g}"
        else:
            most = int(self.up.argmax())
            of = f"'{labels[most]}' by {'' if self.exact else 'about '}{self.up[most]:+.1%}"
            plain = f"without privacy by {self.plain_up[most]:.1%}"
        return f"{self.fakes:,} fake reports ({100 * self.fakes / self.n:.2g} %) can move {of}, {plain}"


class Judged(NamedTuple):
    """For each goal: the rate at which one report moves it, the push by those that draws could weigh, what is left."""

    rate: Floats
    push: Floats
    left: Floats


def gauge(
    of: Study | Evidence,
    fakes: int | None = None,
    *,
    model: Categorical | LocationScale | None = None,
    channels: Sequence[Channel[Any]] = (),
    minimise: str | None = None,
    exact: bool = False,
    posterior: Any = None,
    seed: object = 0,
) -> Gauge:
    """How far `fakes` reports (by default a hundredth of those there are) can push the estimate of a study.

    Of an Evidence give the `model` too, if it is not `Categorical(k)`; `channels` are further ones that fakes
    may use, and `posterior` its draws, if there are any. `minimise` is that of `Study.estimate`; "mode" is
    not gauged.
    """
    place = source(of, model, channels)
    n = len(place.evidence)
    count = max(1, round(SHARE * n)) if fakes is None else check.integer(fakes, "fakes", 1, 10**9)
    numeric = isinstance(place.model, LocationScale)
    aims = ("mae", "mse") if numeric else ("tv", "mse")
    if minimise is not None and minimise not in aims:
        raise TacitError(
            "argument_invalid",
            f"minimise is {check.shown(minimise)}",
            argument="minimise",
            hint=f"give one of {', '.join(aims)}",
        )
    found = place.posterior(seed=seed) if posterior is None else posterior
    if found.draws.shape[1] != len(place.names):
        raise TacitError(
            "argument_invalid",
            f"posterior has draws of {found.draws.shape[1]} numbers, and {len(place.names)} are estimated",
            argument="posterior",
            hint="give the posterior of this evidence, or leave it out",
        )
    with threadpool_limits(limits=1, user_api="blas"):
        pushed, linear = _pushed(place, found, count, minimise or aims[0])
    now = estimate(found, minimise)
    k = len(now)
    room = np.full(2 * k, np.inf)
    if not numeric:
        room = np.concatenate([1 - now, now])
    else:
        room[3] = now[1]  # sigma stays above zero
    if exact:
        pushed = np.array(
            [follow(place, goal, count, up, minimise, seed).push for up in (True, False) for goal in range(k)]
        )
    pushed, linear = np.clip(pushed, 0, room), np.clip(linear, 0, room)
    unbiased = (np.empty(0), np.empty(0)) if numeric else moment_push(place.evidence, count, place.channels)
    plain = _plain(place, now, n, count)
    return Gauge(
        place.names, n, count, exact, now, pushed[:k], pushed[k:], linear[:k], linear[k:], *unbiased, *plain
    )


def _plain(place: Source, now: Floats, n: int, fakes: int) -> tuple[Floats, Floats]:
    """Without privacy: a share of n + m answers; the median of a number, that sigma being as estimated."""
    if not isinstance(place.model, LocationScale):
        return fakes / (n + fakes) * (1 - now), fakes / (n + fakes) * now
    far = np.inf
    if fakes < n:
        far = float(place.model.quantile([[0.0, now[1]]], [(1 + fakes / n) / 2])[0, 0])
    return np.array([far, np.nan]), np.array([far, np.nan])


def _pushed(place: Source, found: Any, fakes: int, minimise: str) -> tuple[Floats, Floats]:
    """The push of every goal, up and then down (2K,), and the linear one."""
    draws = found.draws
    half = len(draws) // 2
    level = None
    if minimise != "mse":
        level = 0.5 if minimise == "mae" else common_level(np.sort(draws, axis=0))
    halves = ((draws[:half], draws[half:]), (draws[half:], draws[:half]))
    judged = [_judged(_by_draws(place, *pair), pair[1], fakes, level) for pair in halves]
    linear = fakes * np.mean([one.rate for one in judged], axis=0)
    n = len(place.evidence)
    if isinstance(place.model, LocationScale):
        tail = np.mean([one.rate for one in judged], axis=0)
        return _whole(judged, tail, n), linear
    tail, logs = _by_likelihood(place, found.mean, draws)
    single = [_judged(logs[:, part], draws[part], fakes, level) for part in (slice(half), slice(half, None))]
    linear = np.maximum(linear, fakes * np.mean([one.rate for one in single], axis=0))
    return np.maximum(_whole(judged, tail, n), _whole(single, tail, n)), linear


def _whole(judged: list[Judged], tail: Floats, n: int) -> Floats:
    pushes = [one.push + tail * one.left * n / (n + one.left) for one in judged]
    return np.asarray(np.mean(pushes, axis=0))


def _by_draws(place: Source, choosing: Floats, judging: Floats) -> Floats:
    """ln(r . theta) at the draws that judge (2K, N), r the worst report by the covariance of those that choose."""
    offset = (choosing - choosing.mean(axis=0)).T / len(choosing)
    gain = np.full(2 * len(offset), -np.inf)
    out = np.zeros((2 * len(offset), len(judging)))
    for channel in place.channels:
        cells = place.cells(channel, choosing)
        pull = offset @ cells
        found = menus.best(channel, np.concatenate([pull, -pull]), cells.mean(axis=0))
        better = found.gain > gain
        gain[better] = found.gain[better]
        out[better] = np.log(found.rows[better] @ place.cells(channel, judging).T)
    return out


def _by_likelihood(place: Source, mean: Floats, draws: Floats) -> tuple[Floats, Floats]:
    """The rate of the likelihood alone (2K,), and ln(r . theta) at the draws (2K, N), r its worst report."""
    pull = tangent(place, mean)
    gain = np.full(2 * len(mean), -np.inf)
    rows = np.ones((2 * len(mean), len(mean)))
    for channel in place.channels:
        found = menus.best(channel, np.concatenate([pull, -pull]), mean)
        better = found.gain > gain
        gain[better] = found.gain[better]
        rows[better] = found.rows[better]
    return gain, np.log(rows @ draws.T)


def _judged(logs: Floats, draws: Floats, fakes: int, level: float | None) -> Judged:
    """Reweight the draws (N, K) by exp(spent x logs), `logs` (2K, N) those of each goal's report, up and down."""
    goals = np.concatenate([draws.T, draws.T])
    sign = np.repeat([1.0, -1.0], draws.shape[1])
    logs = logs - logs.mean(axis=1, keepdims=True)
    rate = sign * (logs * (goals - goals.mean(axis=1, keepdims=True))).mean(axis=1)
    least = KEPT * len(draws)

    def fits(spent: Floats) -> Any:
        return 1 / (_weights(spent, logs) ** 2).sum(axis=1) >= least

    low, high = np.zeros(len(logs)), np.full(len(logs), float(fakes))
    low[fits(high)] = fakes
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = fits(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    weights = _weights(low, logs)
    before = np.full_like(weights, 1 / len(draws))
    moved = _centre(goals, weights, level) - _centre(goals, before, level)
    return Judged(rate, sign * moved, fakes - low)


def _weights(spent: Floats, logs: Floats) -> Floats:
    powers = spent[:, None] * logs
    out: Floats = np.exp(powers - powers.max(axis=1, keepdims=True))
    out /= out.sum(axis=1, keepdims=True)
    return out


def _centre(goals: Floats, weights: Floats, level: float | None) -> Floats:
    """The weighted mean of each row, or its weighted quantile at `level`, between draws in a straight line."""
    if level is None:
        return np.asarray((weights * goals).sum(axis=1))
    order = np.argsort(goals, axis=1)
    values = np.take_along_axis(goals, order, axis=1)
    parts = np.take_along_axis(weights, order, axis=1)
    below = np.cumsum(parts, axis=1) - parts / 2
    return np.array([np.interp(level, *pair) for pair in zip(below, values, strict=True)])

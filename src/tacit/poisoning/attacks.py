"""An attack that does exist: fakes chosen step by step, the posterior run again with them in it.

In each of several steps the posterior of all reports so far, fakes too, chooses the worst report of any
channel by its covariance; a part of the fakes is spent on it. For shares the same number of one report, the
one that the likelihood alone says is worst, is tried as well, and the better of both is kept. No promise is
made that no cleverer attack exists.

>>> from tacit import Evidence, channels
>>> channel = channels.srr(3, 2.0)
>>> evidence = Evidence().add(channel, channel.sample(np.repeat([0, 1, 2], [600, 300, 100]), rng=1))
>>> made = attack(evidence, 2, fakes=30)
>>> [(sent.value, sent.times) for sent in made.sent][0], 0.02 < made.push < 0.08
((2, 8), True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tacit import posterior as posteriors
from tacit.arrays import Floats
from tacit.channels import BinnedChannel, Channel, from_table
from tacit.errors import TacitError
from tacit.evidence import Evidence, Tally
from tacit.models import Categorical, LocationScale
from tacit.poisoning import menus
from tacit.study import Study
from tacit_client import check

STEPS = 4  # in which an attack looks again at what is worst
NUMBER = ("mu", "sigma")


class Source(NamedTuple):
    """What is attacked: the reports, what is learned from them and how, and the channels that fakes may use."""

    evidence: Evidence
    model: Categorical | LocationScale
    method: str
    channels: tuple[Channel[Any], ...]
    study: Study | None

    def posterior(self, evidence: Evidence | None = None, seed: object = 0) -> Any:
        """Draws given the reports, or given others; a study's own are made once."""
        if evidence is None and self.study is not None:
            return self.study.posterior(seed=seed)
        return posteriors.sample(self.model, evidence or self.evidence, self.method, seed=seed)

    @property
    def names(self) -> tuple[str, ...]:
        """Of what is estimated."""
        if isinstance(self.model, LocationScale):
            return NUMBER
        if self.study is not None:
            return tuple(self.study.question.labels)
        return tuple(f"category {i}" for i in range(self.model.k))

    def cells(self, channel: Channel[Any], draws: Floats) -> Floats:
        """The probability of each answer that the channel tells apart, at each draw: (N, k)."""
        if isinstance(self.model, LocationScale):
            assert isinstance(channel, BinnedChannel)
            return self.model.cell_probabilities(channel.cuts, draws)
        return draws


def source(of: object, model: object = None, channels: Sequence[Channel[Any]] = ()) -> Source:
    """A study with all its rounds, or Evidence with its model; `channels` are further ones."""
    if isinstance(of, Study):
        evidence, given, method, study = of.evidence, of.model, of.method, of
        used = [from_table(asked.channel) for asked in of.rounds]
    elif isinstance(of, Evidence):
        evidence, method, study, used = of, "auto", None, []
        given = Categorical(evidence.categories()) if model is None and len(of) else model
    else:
        raise TacitError(
            "argument_invalid",
            f"what is gauged is {check.shown(of)}",
            argument="of",
            hint="give a Study, or an Evidence and a model",
        )
    if not len(evidence):
        raise TacitError(
            "argument_invalid",
            "there is no evidence yet",
            argument="of",
            hint="gauge a study when it has reports: before, nothing is estimated",
        )
    if not isinstance(given, LocationScale if evidence.numeric else Categorical):
        raise TacitError(
            "argument_invalid",
            f"model is {check.shown(model)}",
            argument="model",
            hint="give a tacit.Normal or its like for a number, a tacit.Categorical for categories",
        )
    used += [tally.channel for tally in evidence.tallies]
    for channel in channels:
        fits = isinstance(channel, Channel) and channel.numeric == evidence.numeric
        if not fits or (not evidence.numeric and channel.k != evidence.k):
            raise TacitError(
                "channel_mismatch",
                f"one of channels is {check.shown(channel)}",
                argument="channels",
                hint="give channels for the question that the evidence is about",
            )
    menu = {channel.id: channel for channel in (*used, *channels)}
    return Source(evidence, given, method, tuple(menu.values()), study)


class Sent(NamedTuple):
    """Fakes of one kind."""

    channel: Channel[Any]
    value: Any
    times: int


class Attack(NamedTuple):
    """The fakes, the evidence with them, and the estimates before and after; `push` is that of the goal."""

    sent: tuple[Sent, ...]
    evidence: Evidence
    before: Floats
    after: Floats
    push: float


def attack(
    of: Study | Evidence,
    goal: int,
    fakes: int,
    up: bool = True,
    *,
    model: Categorical | LocationScale | None = None,
    channels: Sequence[Channel[Any]] = (),
    minimise: str | None = None,
    steps: int = STEPS,
    seed: object = 0,
) -> Attack:
    """Push category `goal` (of a number, 0 is mu and 1 sigma) up or down with `fakes` reports, late ones too.

    Each of the `steps` costs one posterior.
    """
    place = source(of, model, channels)
    target = check.integer(goal, "goal", 0, len(place.names) - 1)
    count = check.integer(fakes, "fakes", 1, 10**9)
    parts = check.integer(steps, "steps", 1, 1000)
    return follow(place, target, count, bool(up), minimise, seed, parts)


def follow(
    place: Source,
    goal: int,
    fakes: int,
    up: bool,
    minimise: str | None,
    seed: object,
    steps: int = STEPS,
) -> Attack:
    """The better of the attack in steps and, for shares, of one report repeated."""
    first = place.posterior(seed=seed)
    before = estimate(first, minimise)
    sign = 1.0 if up else -1.0

    def judged(sent: list[Sent], evidence: Evidence) -> Attack:
        after = estimate(place.posterior(evidence, seed), minimise)
        return Attack(tuple(sent), evidence, before, after, float(sign * (after[goal] - before[goal])))

    evidence, sent, seen = place.evidence, [], first
    for step, part in enumerate(np.diff(np.linspace(0, fakes, steps + 1).round().astype(int))):
        if part:
            seen = place.posterior(evidence, seed) if step else first
            sent.append(_worst(place, seen.draws, goal, sign, int(part)))
            evidence = _with(evidence, sent[-1])
    made = judged(sent, evidence)
    if isinstance(place.model, Categorical):
        single = _repeated(place, first.mean, goal, sign, fakes)
        made = max(made, judged([single], _with(place.evidence, single)), key=lambda one: one.push)
    return made


def estimate(found: Any, minimise: str | None) -> Floats:
    """What the study would report."""
    out: Floats = found.estimate() if minimise is None else found.estimate(minimise)
    return out


def _with(evidence: Evidence, sent: Sent) -> Evidence:
    one = Tally.of(sent.channel, [sent.value])
    assert one.counts is not None
    many = one._replace(n=sent.times, sums=one.sums * sent.times, counts=one.counts * sent.times)
    return evidence + Evidence((many,))


def _worst(place: Source, draws: Floats, goal: int, sign: float, count: int) -> Sent:
    """By the posterior covariance."""
    offset = sign * (draws[:, goal] - draws[:, goal].mean()) / len(draws)
    found = []
    for channel in place.channels:
        cells = place.cells(channel, draws)
        found.append(menus.best(channel, offset[None] @ cells, cells.mean(axis=0)))
    gains = [float(one.gain[0]) for one in found]
    most = int(np.argmax(gains))
    return Sent(place.channels[most], found[most].report(0), count)


def _repeated(place: Source, mean: Floats, goal: int, sign: float, count: int) -> Sent:
    """By the likelihood alone."""
    pull = sign * tangent(place, mean)[goal : goal + 1]
    found = [menus.best(channel, pull, mean) for channel in place.channels]
    most = int(np.argmax([float(one.gain[0]) for one in found]))
    return Sent(place.channels[most], found[most].report(0), count)


def tangent(place: Source, mean: Floats) -> Floats:
    """The inverse of the information on the simplex (K, K): its rows sum to zero.

    What a flat prior knows is added to the information, so that the inverse exists after few reports.
    """
    k = len(mean)
    moments = posteriors.choose(place.evidence, place.method) == "moments"
    information = place.evidence.likelihood(moments).information(mean)
    inverse = np.linalg.inv(information + k * (k + 1) * np.eye(k))
    edge = inverse.sum(axis=0)
    out: Floats = inverse - np.outer(edge, edge) / edge.sum()
    return out

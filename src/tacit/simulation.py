"""Simulated studies: what a policy would have learned, had the truth been theta.

Theta is a distribution over categories, or, with a location-scale `model`, the (mu, sigma) of a number.

>>> result = simulate([0.6, 0.3, 0.1], epsilon=2.0, policy="static-subset", n=2000, seed=1)
>>> result.tv < 0.05
True
>>> number = simulate((50, 8), epsilon=2.0, model="normal", n=2000, seed=1)
>>> (number.error < (1, 1)).all()
np.True_
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.models import Categorical, LocationScale
from tacit.models.families import family
from tacit.posterior import NumberPosterior, Posterior
from tacit.rng import generator
from tacit.study import Study
from tacit_client import Question, check


@dataclass(frozen=True)
class Simulation:
    """What a simulated study came to; `channels` holds each round's channel and its number of reports."""

    theta: Floats
    estimate: Floats
    posterior: Posterior
    channels: tuple[tuple[Channel[Any], int], ...]

    @property
    def tv(self) -> float:
        """Total variation between estimate and truth."""
        return float(np.abs(self.estimate - self.theta).sum() / 2)


@dataclass(frozen=True)
class NumberSimulation:
    """What a simulated study of a number came to. `theta` and `estimate` are (mu, sigma)."""

    theta: Floats
    estimate: Floats
    posterior: NumberPosterior
    channels: tuple[tuple[Channel[Any], int], ...]
    question: Question

    @property
    def error(self) -> Floats:
        """How far the estimates of mu and sigma are off."""
        out: Floats = np.abs(self.estimate - self.theta)
        return out


Progress = Callable[[int, int], object]


@overload
def simulate(
    theta: npt.ArrayLike,
    epsilon: float,
    policy: str | None = None,
    *,
    n: int = 10_000,
    answers: npt.ArrayLike | None = None,
    kappa: float = 0.9,
    method: str = "auto",
    model: Categorical | None = None,
    question: None = None,
    minimise: str | None = None,
    schedule: str = "geometric",
    seed: object = 0,
    progress: Progress = ...,
) -> Simulation: ...


@overload
def simulate(
    theta: npt.ArrayLike,
    epsilon: float,
    policy: str | None = None,
    *,
    n: int = 10_000,
    answers: npt.ArrayLike | None = None,
    kappa: float = 0.9,
    method: str = "auto",
    model: LocationScale | str,
    question: Question | None = None,
    minimise: str | None = None,
    schedule: str = "geometric",
    seed: object = 0,
    progress: Progress = ...,
) -> NumberSimulation: ...


def simulate(
    theta: npt.ArrayLike,
    epsilon: float,
    policy: str | None = None,
    *,
    n: int = 10_000,
    answers: npt.ArrayLike | None = None,
    kappa: float = 0.9,
    method: str = "auto",
    model: Categorical | LocationScale | str | None = None,
    question: Question | None = None,
    minimise: str | None = None,
    schedule: str = "geometric",
    seed: object = 0,
    progress: Progress = lambda done, total: None,
) -> Simulation | NumberSimulation:
    """Let n simulated people with answers from theta take part in a study; or those whose `answers` are given.

    A number is asked by `question`; left out, its range is about mu +- 10 sigma. Answers outside the range count as
    its nearest end.
    """
    rng = generator(seed, "seed")
    options: dict[str, Any] = {
        "policy": policy,
        "kappa": kappa,
        "method": method,
        "schedule": schedule,
        "seed": rng,
    }
    if isinstance(model, LocationScale | str):
        truth = _point(theta)
        asked = question_about(*truth) if question is None else question
        people = _numbers(truth, model, n, answers, rng)
        study = Study(question=asked, model=model, epsilon=epsilon, expected=len(people), **options)
        used = _run(study, people, rng, progress)
        found = study.posterior(seed=int(rng.integers(2**31)))
        return NumberSimulation(truth, found.estimate(minimise or "mae"), found, used, asked)
    truth = arrays.distribution(theta)
    people = _categories(truth, n, answers, rng)
    labels = [f"category {i}" for i in range(len(truth))]
    study = Study(labels, model=model, epsilon=epsilon, expected=len(people), **options)
    used = _run(study, people, rng, progress)
    found = study.posterior(seed=int(rng.integers(2**31)))
    return Simulation(truth, found.estimate(minimise or "tv"), found, used)


def _categories(
    truth: Floats, n: int, answers: npt.ArrayLike | None, rng: np.random.Generator
) -> npt.NDArray[Any]:
    if answers is not None:
        return arrays.integers(answers, "answers", 0, len(truth) - 1)
    return rng.choice(len(truth), check.integer(n, "n", 1, 10**9), p=truth / truth.sum())


def _numbers(
    truth: Floats, model: LocationScale | str, n: int, answers: npt.ArrayLike | None, rng: np.random.Generator
) -> npt.NDArray[Any]:
    if answers is not None:
        return arrays.reals(answers, "answers")
    law = family(model) if isinstance(model, str) else model.family
    out: Floats = truth[0] + truth[1] * law.sample(check.integer(n, "n", 1, 10**9), rng)
    return out


def _point(theta: object) -> Floats:
    hint = "give (mu, sigma), two numbers, sigma above 0"
    try:
        point = arrays.reals(theta, "theta")
    except TacitError:
        raise arrays.refuse(theta, "theta", hint) from None
    if len(point) != 2 or point[1] <= 0:
        raise arrays.refuse(theta, "theta", hint)
    return point


def question_about(mu: float, sigma: float) -> Question:
    """A question whose range is about mu +- 10 sigma, in steps below sigma / 100, all of them round numbers."""
    unit = Decimal(10) ** int(np.floor(np.log10(10 * sigma)))
    low, high = (Decimal(int(np.floor((mu + side * sigma) / float(unit)))) for side in (-10, 10))
    texts = (_plain(number) for number in (low * unit, (high + 1) * unit, unit / 1000))
    return Question("number", "What is your number?", (), "units", *texts)


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}" if number else "0"


def _run(
    study: Study, people: npt.NDArray[Any], rng: np.random.Generator, progress: Progress
) -> tuple[tuple[Channel[Any], int], ...]:
    """Ask everybody, round by round; the channels used, with their numbers of reports."""
    total = len(people)
    used: list[tuple[Channel[Any], int]] = []
    while len(study.evidence) < total:
        channel = study.channel
        asked = people[len(study.evidence) :][: study.wanted]
        used.append((channel, len(asked)))
        study.add(channel, channel.sample(asked, rng))
        progress(len(study.evidence), total)
    return tuple(used)

"""What a study does with its reports, for each kind of question: learn, and choose what to ask next.

A learner is a frozen value. It holds the model, the policy and the method; what it knows so far is a state that the
study keeps and hands back: `state, channel = learner.next(state, evidence, fresh, ...)`, where `fresh` is the part of
the evidence that the state has not seen. So a study that fails half-way still has the state it had before.

`CategoryLearner` learns the shares of labels; `NumberLearner` the location and scale of a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from tacit import posterior
from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.models import Categorical, LocationScale
from tacit.policies import Policy, truncation
from tacit.policies import policy as policies_by_name
from tacit.policies.truncation import Grid, NumberPolicy
from tacit.posterior import MANY, SAMPLERS, NumberPosterior, Posterior, choose, numbers, require_size, smc
from tacit.posterior.numbers import PARTICLES, CellTarget, cell_table, grown
from tacit_client import Question, check

STEPS = 15  # of the sampler, after each round
KEPT = 10  # of these steps whose draws the policy sees


class Learner(Protocol):
    """What a study needs to know about its question."""

    @property
    def model(self) -> Any:
        """What is being learned."""

    @property
    def policy(self) -> Any:
        """With a `name`, and `adaptive`: whether the channel ever changes."""

    @property
    def first_round(self) -> int:
        """How many reports the first round takes."""

    def first(self, rng: np.random.Generator) -> Channel[Any]:
        """The channel of the first round."""

    def next(
        self, state: Any, evidence: Evidence, fresh: Evidence, ahead: int, rng: np.random.Generator
    ) -> tuple[Any, Channel[Any]]:
        """The state that has seen all the evidence, and the channel to ask through now."""

    def posterior(self, evidence: Evidence, draws: int, seed: object) -> Any:
        """Draws of the parameter."""

    def record(self) -> dict[str, Any]:
        """The model for `study.json`."""


def usual_policy(question: Question) -> str:
    """What chooses the channels where nobody says what shall."""
    if question.numeric:
        return "information"
    return "risk" if len(question.labels) <= MANY else "static-hashed"


@dataclass(frozen=True)
class CategoryLearner:
    """The shares of labels: a categorical model, one of its samplers, a policy over finite channels."""

    model: Categorical
    policy: Policy
    method: str
    epsilon: float
    first_round: int = 100

    @classmethod
    def of(
        cls, question: Question, model: object, policy: object, kappa: object, method: str, epsilon: float
    ) -> CategoryLearner:
        """Checked against each other."""
        k = len(question.labels)
        chosen = policies_by_name(usual_policy(question) if policy is None else policy, kappa)
        given = Categorical(k) if model is None else model
        if not isinstance(given, Categorical) or given.k != k:
            raise TacitError(
                "argument_invalid",
                f"model is {check.shown(model)}",
                argument="model",
                hint=f"give a Categorical of {k} categories",
            )
        # A policy that looks at draws gets them from a sampler that goes on from round to round.
        name = choose(Evidence(), method) if chosen.adaptive else choose(Evidence(), method, k)
        require_size(given, name)
        if chosen.adaptive and name == "product":
            raise TacitError(
                "argument_invalid",
                "product has no state that goes on from round to round",
                argument="method",
                hint="leave method out, or take a static policy such as static-hashed",
            )
        if name != "product" and (chosen.adaptive or method == "sgld"):
            SAMPLERS[name].init(given, Evidence(), np.random.default_rng(0))
        return cls(given, chosen, method, epsilon)

    def first(self, rng: np.random.Generator) -> Channel[Any]:
        """The static channel, since nothing is known."""
        static = "static-subset" if self.policy.adaptive else self.policy.name
        even = np.full((1, self.model.k), 1 / self.model.k)
        return policies_by_name(static).choose(even, self.epsilon, 1, rng)

    def next(
        self, state: Any, evidence: Evidence, fresh: Evidence, ahead: int, rng: np.random.Generator
    ) -> tuple[Any, Channel[Any]]:
        state, draws = self._draws(state, evidence, fresh, rng)
        return state, self.policy.choose(draws, self.epsilon, ahead, rng)

    def _draws(
        self, state: Any, evidence: Evidence, fresh: Evidence, rng: np.random.Generator
    ) -> tuple[Any, Floats]:
        """Draws for the policy: the sampler goes on from where it stood, for a few steps."""
        name = choose(evidence, self.method)
        sampler = SAMPLERS[name]
        steps = STEPS
        with threadpool_limits(limits=1, user_api="blas"):
            if state is None:
                state = sampler.init(self.model, evidence, rng, moments=name == "moments")
                steps = sampler.WARMUP
            thetas = []
            for i in range(steps):
                new = fresh if i == 0 and len(fresh) else None
                adapt = i < steps - KEPT
                state, _ = sampler.step(state, evidence, rng, new, adapt)
                if not adapt:
                    thetas.append(np.exp(state.log_theta))
        return state, np.concatenate(thetas)

    def posterior(self, evidence: Evidence, draws: int, seed: object) -> Posterior:
        """Draws of the shares."""
        return posterior.sample(self.model, evidence, self.method, draws, seed)

    @staticmethod
    def read(question: Question, record: dict[str, Any]) -> Categorical:
        """The model that `record` wrote."""
        return Categorical(len(question.labels), **record)

    def record(self) -> dict[str, Any]:
        return {
            "concentration": "learned" if self.model.learned else list(self.model.base),
            "location": self.model.location,
            "scale": self.model.scale,
        }


@dataclass(frozen=True)
class NumberLearner:
    """Location and scale of a number: a location-scale model, sequential Monte Carlo, a policy over cuts.

    The state is a cloud of particles and the tables of the reports that it has taken in.
    """

    model: LocationScale
    policy: NumberPolicy
    epsilon: float
    first_round: int = 10  # before anything is known, a report says little: look soon

    @classmethod
    def of(
        cls, question: Question, model: object, policy: object, kappa: object, method: str, epsilon: float
    ) -> NumberLearner:
        """Checked against each other."""
        numbers.require_method(method)
        given = wide(question, "normal" if model is None else model) if _is_name(model) else model
        if not isinstance(given, LocationScale):
            raise TacitError(
                "argument_invalid",
                f"model is {check.shown(model)}",
                argument="model",
                hint='give "normal", "logistic", "laplace", "student:5" or a tacit.Normal(...)',
            )
        grid = Grid(str(question.lowest), str(question.highest), str(question.step))
        chosen = truncation.policy(usual_policy(question) if policy is None else policy, given.family, grid)
        return cls(given, chosen, epsilon)

    def first(self, rng: np.random.Generator) -> Channel[Any]:
        """What the policy does at the prior."""
        return self.policy.choose(
            self.model.sample_prior(PARTICLES, rng), self.epsilon, self.first_round, rng
        )

    def next(
        self, state: Any, evidence: Evidence, fresh: Evidence, ahead: int, rng: np.random.Generator
    ) -> tuple[Any, Channel[Any]]:
        target = CellTarget(self.model)
        cloud, seen = (smc.begin(target, PARTICLES, rng), ()) if state is None else state
        new = cell_table(evidence if state is None else fresh)
        cloud = smc.take(cloud, target, seen, (new,), rng)
        draws = target.points(cloud.x[smc.resample(cloud.weight, truncation.POINTS, rng)])
        size = min(ahead, max(len(evidence) // 2, 1))  # about that of the next round
        return (cloud, grown(seen, new)), self.policy.choose(draws, self.epsilon, size, rng)

    def posterior(self, evidence: Evidence, draws: int, seed: object) -> NumberPosterior:
        """Draws of (mu, sigma)."""
        return numbers.sample(self.model, evidence, draws, seed)

    @staticmethod
    def read(question: Question, record: dict[str, Any]) -> LocationScale:
        """The model that `record` wrote."""
        return LocationScale(**record)

    def record(self) -> dict[str, Any]:
        model = self.model
        return {
            "family": model.family.name,
            "mean": model.mean,
            "sd": model.sd,
            "shape": model.shape,
            "rate": model.rate,
            "scale": model.scale,
        }


def wide(question: Question, family: Any) -> LocationScale:
    """A family with a prior that fits a question's range: mu ~ N(middle, (range / 2)^2), and sigma^2 ~ IG(1/2, s^2 / 2)
    with s a fiftieth of the range, so that sigma = s / |Z|: between a hundredth and the whole of the range with
    probability 0.94, and with its median at 3 % of it."""
    low, high = float(Fraction(str(question.lowest))), float(Fraction(str(question.highest)))
    s = (high - low) / 50
    return LocationScale(family, mean=(low + high) / 2, sd=(high - low) / 2, shape=0.5, rate=s**2 / 2)


def _is_name(model: object) -> bool:
    return model is None or isinstance(model, str)

"""A study: the loop of channel, reports, evidence, posterior and policy.

Reports come in rounds that grow geometrically, or one by one (`schedule="each"`, as in the papers). When a round is
full, the posterior takes a few steps and the policy chooses the channel of the next round. A report names its round,
so it counts whenever it comes. The first channel, before anything is known, is the static one.

>>> study = Study(["red", "green", "blue"], epsilon=2.0, expected=2000, seed=1)
>>> answers = np.random.default_rng(0).choice(3, 2000, p=[0.6, 0.3, 0.1])
>>> while len(study.evidence) < 2000:
...     asked, answers = answers[: study.wanted], answers[study.wanted :]
...     study.add(study.channel, study.channel.sample(asked, rng=len(answers)))
>>> study.estimate().round(1)
array([0.6, 0.3, 0.1])
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from tacit import channels, posterior
from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.models import Categorical
from tacit.policies import policy as policies_by_name
from tacit.posterior import SAMPLERS, Posterior, choose, require_size
from tacit.rng import generator
from tacit_client import Question, Report, Round, check

FORMAT = 1
FIRST = 100  # reports in the first round
GROWTH = 1.5  # of the total, from one round to the next
STEPS = 15  # of the sampler, after each round
KEPT = 10  # of these steps whose draws the policy sees
SCHEDULES = ("geometric", "each")
SETTINGS = ("epsilon", "kappa", "method", "expected", "schedule", "name")  # as given, and saved as such


class Study:
    """A question, what has been learned about it, and what is asked next.

    `expected` is how many reports are planned for: the policy looks that far ahead. `categories` is short for a
    Question with these labels, `model` for `Categorical(k)` with a learned concentration.
    """

    def __init__(
        self,
        categories: Sequence[str] | None = None,
        *,
        epsilon: float,
        question: Question | None = None,
        policy: str = "risk",
        kappa: float = 0.9,
        model: Categorical | None = None,
        method: str = "auto",
        expected: int = 10_000,
        schedule: str = "geometric",
        seed: object = 0,
        name: str = "study",
    ) -> None:
        self.question = _question(categories, question, name)
        self.k = len(self.question.labels)
        self.epsilon = float(check.epsilon(epsilon))
        self.policy = policies_by_name(policy, kappa)
        self.kappa = float(kappa)
        self.model = Categorical(self.k) if model is None else model
        if not isinstance(self.model, Categorical) or self.model.k != self.k:
            raise TacitError(
                "argument_invalid",
                f"model is {check.shown(model)}",
                argument="model",
                hint=f"give a Categorical of {self.k} categories",
            )
        require_size(self.model)
        name_of_sampler = choose(Evidence(), method)
        if self.policy.adaptive or method == "sgld":
            SAMPLERS[name_of_sampler].init(self.model, Evidence(), np.random.default_rng(0))
        self.method = method
        self.expected = check.integer(expected, "expected", 1, 10**12)
        self.schedule = _schedule(schedule)
        self.name = name
        self.evidence = Evidence()
        # A generator of its own kind: its state can be saved, and the caller's goes on by itself.
        self._rng = np.random.default_rng(generator(seed, "seed").integers(2**63))
        self._state: Any = None
        self._fresh = Evidence()  # reports since the sampler's last step
        self._posterior: tuple[str, Posterior] | None = None
        static = "static-srr" if self.policy.name == "static-srr" else "static-subset"
        first = policies_by_name(static).choose(np.full((1, self.k), 1 / self.k), self.epsilon, 1, self._rng)
        self.rounds = [Round(name, self.question, 0, first.table, None)]
        self._channels = {self.rounds[0].id: first}
        self._full_at = FIRST if schedule == "geometric" else 1

    @property
    def round(self) -> Round:
        """What the next devices are asked."""
        return self.rounds[-1]

    @property
    def channel(self) -> Channel[Any]:
        """The channel of the current round."""
        return self._channels[self.round.id]

    @property
    def wanted(self) -> int:
        """How many more reports fill the current round."""
        return max(self._full_at - len(self.evidence), 1)

    def update(self, reports: Iterable[Report]) -> None:
        """Take in reports of any round of this study: all of them, or none if one is not of this study.

        A report counts once each time it is given; whoever receives reports keeps their ids apart.
        """
        values: dict[str, list[object]] = {}
        if not isinstance(reports, Iterable):
            raise TacitError(
                "report_impossible",
                f"reports is {check.shown(reports)}",
                argument="reports",
                hint="give a list of Reports to rounds of this study",
            )
        for report in reports:
            if (
                not isinstance(report, Report)
                or report.study != self.name
                or report.round not in self._channels
            ):
                raise TacitError(
                    "report_impossible",
                    f"the report is {check.shown(report)}",
                    argument="reports",
                    hint="give Reports to rounds of this study",
                )
            values.setdefault(report.round, []).append(report.value)
        new = Evidence()
        for name, given in values.items():
            new = new.add(self._channels[name], given)
        self._take(new)

    def add(self, channel: Channel[Any], values: object) -> None:
        """Take in what a channel reported, as an array; the channel need not be one of the rounds'."""
        new = Evidence().add(channel, values)
        if new.k != self.k:
            raise TacitError(
                "channel_mismatch",
                f"the channel is {channel!r} and the study has {self.k} categories",
                argument="channel",
                hint="give reports to this study's question",
            )
        self._take(new)

    def _take(self, new: Evidence) -> None:
        before = self.evidence, self._fresh, self._full_at, self._state
        try:
            self.evidence = self.evidence + new
            self._fresh = self._fresh + new
            if len(self.evidence) >= self._full_at:
                self.advance()
        except TacitError:
            self.evidence, self._fresh, self._full_at, self._state = before
            raise

    def advance(self) -> None:
        """Close the round: let the posterior take in what came, and the policy choose the next channel."""
        if self.schedule == "each":
            self._full_at = len(self.evidence) + 1
        while self._full_at <= len(self.evidence):
            self._full_at = int(np.ceil(self._full_at * GROWTH))
        if not self.policy.adaptive or not len(self.evidence):
            return
        ahead = max(self.expected - len(self.evidence), 1)
        channel = self.policy.choose(self._draws(), self.epsilon, ahead, self._rng)
        if channel == self.channel:
            return
        rnd = Round(self.name, self.question, len(self.rounds), channel.table, self.round.id)
        self.rounds.append(rnd)
        self._channels[rnd.id] = channel

    def _draws(self) -> Floats:
        """Draws for the policy: the sampler goes on from where it stood, for a few steps."""
        name = choose(self.evidence, self.method)
        sampler = SAMPLERS[name]
        steps = STEPS
        with threadpool_limits(limits=1, user_api="blas"):
            if self._state is None:
                self._state = sampler.init(self.model, self.evidence, self._rng, moments=name == "moments")
                steps = sampler.WARMUP
            thetas = []
            for i in range(steps):
                new = self._fresh if i == 0 and len(self._fresh) else None
                adapt = i < steps - KEPT
                self._state, _ = sampler.step(self._state, self.evidence, self._rng, new, adapt)
                if i >= steps - KEPT:
                    thetas.append(np.exp(self._state.log_theta))
        self._fresh = Evidence()
        return np.concatenate(thetas)

    def posterior(self, draws: int = 1000, seed: object = 0) -> Posterior:
        """Posterior draws given all reports so far; made once for the same evidence and seed."""
        if isinstance(seed, np.random.Generator):
            return posterior.sample(self.model, self.evidence, self.method, draws, seed)
        key = f"{self.evidence.id} {draws} {seed}"
        if self._posterior is None or self._posterior[0] != key:
            made = posterior.sample(self.model, self.evidence, self.method, draws, seed)
            self._posterior = (key, made)
        return self._posterior[1]

    def estimate(self, minimise: str = "tv") -> Floats:
        """The distribution with the least expected loss: "tv" (the default), "mse" or "mode"."""
        return self.posterior().estimate(minimise)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the study to a zip of JSON and arrays, all or nothing.

        A loaded study warms its sampler up anew: its next choices are as good, and need not be the same.
        """
        settings = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in SETTINGS},
            "policy": self.policy.name,
            "concentration": "learned" if self.model.learned else list(self.model.base),
            "location": self.model.location,
            "scale": self.model.scale,
            "full_at": self._full_at,
            "rounds": [rnd.to_json() for rnd in self.rounds],
            "random": self._rng.bit_generator.state,
        }
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("study.json", json.dumps(settings))
            archive.writestr("evidence.zip", self.evidence.to_bytes())
        target = Path(path)
        part = target.with_name(target.name + ".part")
        try:
            part.write_bytes(out.getvalue())
            part.replace(target)
        except OSError as error:
            raise TacitError(
                "store_unusable",
                f"{target} cannot be written ({error.strerror})",
                argument="path",
                hint="give a path in a folder that exists and has room",
            ) from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Study:
        """The study that `save` wrote."""
        try:
            with zipfile.ZipFile(path) as archive:
                settings = json.loads(archive.read("study.json"))
                evidence = Evidence.from_bytes(archive.read("evidence.zip"))
            if settings["format"] != FORMAT:
                raise TacitError(
                    "version_unknown",
                    f"the study has format {check.shown(settings['format'])}",
                    argument="path",
                    hint=f"this release reads format {FORMAT}: update tacit",
                )
            return cls._restored(settings, evidence)
        except (
            zipfile.BadZipFile,
            zlib.error,
            KeyError,
            TypeError,
            ValueError,
            RuntimeError,
            AttributeError,
            OSError,
        ) as error:
            if isinstance(error, TacitError) and error.code == "version_unknown":
                raise
            raise TacitError(
                "message_malformed",
                f"{path} is not a whole study ({error})",
                argument="path",
                hint="give the path of a file that Study.save wrote",
            ) from None

    @classmethod
    def _restored(cls, settings: dict[str, Any], evidence: Evidence) -> Study:
        rounds = [Round.from_json(text) for text in settings["rounds"]]
        question = rounds[0].question
        shape = (settings[name] for name in ("concentration", "location", "scale"))
        study = cls(
            question=question,
            model=Categorical(len(question.labels), *shape),
            policy=settings["policy"],
            **{name: settings[name] for name in SETTINGS},
        )
        study.evidence = evidence
        study.rounds = rounds
        study._channels = {rnd.id: channels.from_table(rnd.channel) for rnd in rounds}
        study._full_at = settings["full_at"]
        study._rng.bit_generator.state = settings["random"]
        return study


def _schedule(value: object) -> str:
    if not isinstance(value, str) or value not in SCHEDULES:
        raise TacitError(
            "argument_invalid",
            f"schedule is {check.shown(value)}",
            argument="schedule",
            hint=f"give one of {', '.join(SCHEDULES)}",
        )
    return value


def _question(categories: Sequence[str] | None, question: Question | None, name: str) -> Question:
    if (categories is None) == (question is None):
        raise TacitError(
            "argument_invalid",
            "categories and question are both given" if question is not None else "there is no question",
            argument="categories",
            hint='give either categories=["red", "green"] or question=Question(...)',
        )
    if isinstance(question, Question) and not question.numeric:
        return question
    if question is not None:
        raise TacitError(
            "argument_invalid",
            f"question is {check.shown(question)}",
            argument="question",
            hint="give a Question with labels",
        )
    if isinstance(categories, str) or not isinstance(categories, Sequence):
        raise TacitError(
            "argument_invalid",
            f"categories is {check.shown(categories)}",
            argument="categories",
            hint='give a list of labels, such as ["red", "green"]',
        )
    return Question(name, name, labels=tuple(categories))

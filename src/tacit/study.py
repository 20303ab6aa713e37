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
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tacit import channels
from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.learning import CategoryLearner, Learner, NumberLearner
from tacit.models import Categorical, LocationScale
from tacit.rng import generator
from tacit_client import Question, Report, Round, check

FORMAT = 1
GROWTH = 1.5  # of the total, from one round to the next
SCHEDULES = ("geometric", "each")
SETTINGS = ("epsilon", "kappa", "method", "expected", "schedule", "name")  # as given, and saved as such


class Study:
    """A question, what has been learned about it, and what is asked next.

    `expected` is how many reports are planned for: the policy looks that far ahead. `categories` is short for a
    Question with these labels. Left out, `model` is `Categorical(k)` with a learned concentration and `policy` "risk";
    for a numeric Question `model` is "normal", with a wide prior over its range, and `policy` "information".
    """

    def __init__(
        self,
        categories: Sequence[str] | None = None,
        *,
        epsilon: float,
        question: Question | None = None,
        policy: str | None = None,
        kappa: float = 0.9,
        model: Categorical | LocationScale | str | None = None,
        method: str = "auto",
        expected: int = 10_000,
        schedule: str = "geometric",
        seed: object = 0,
        name: str = "study",
    ) -> None:
        self.question = _question(categories, question, name)
        self.epsilon = float(check.epsilon(epsilon))
        kind = NumberLearner if self.question.numeric else CategoryLearner
        self.learner: Learner = kind.of(self.question, model, policy, kappa, method, self.epsilon)
        self.kappa = float(kappa)
        self.method = method
        self.expected = check.integer(expected, "expected", 1, 10**12)
        self.schedule = _schedule(schedule)
        self.name = name
        self.evidence = Evidence()
        # A generator of its own kind: its state can be saved, and the caller's goes on by itself.
        self._rng = np.random.default_rng(generator(seed, "seed").integers(2**63))
        self._state: Any = None
        self._fresh = Evidence()  # reports that the state has not seen
        self._posterior: tuple[str, Any] | None = None
        first = self.learner.first(self._rng)
        self.rounds = [Round(name, self.question, 0, first.table, None)]
        self._channels = {self.rounds[0].id: first}
        self._full_at = self.learner.first_round if schedule == "geometric" else 1

    @property
    def model(self) -> Any:
        """What is being learned."""
        return self.learner.model

    @property
    def policy(self) -> Any:
        """What chooses the channels."""
        return self.learner.policy

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
        numeric = self.question.numeric
        if new.numeric != numeric or (not numeric and new.k != len(self.question.labels)):
            asks = "for a number" if numeric else f"for one of {len(self.question.labels)} categories"
            raise TacitError(
                "channel_mismatch",
                f"the channel is {channel!r} and the study asks {asks}",
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
        self._state, channel = self.learner.next(self._state, self.evidence, self._fresh, ahead, self._rng)
        self._fresh = Evidence()
        if channel == self.channel:
            return
        rnd = Round(self.name, self.question, len(self.rounds), channel.table, self.round.id)
        self.rounds.append(rnd)
        self._channels[rnd.id] = channel

    def posterior(self, draws: int = 1000, seed: object = 0) -> Any:
        """Posterior draws given all reports so far; made once for the same evidence and seed."""
        if isinstance(seed, np.random.Generator):
            return self.learner.posterior(self.evidence, draws, seed)
        key = f"{self.evidence.id} {draws} {seed}"
        if self._posterior is None or self._posterior[0] != key:
            self._posterior = (key, self.learner.posterior(self.evidence, draws, seed))
        return self._posterior[1]

    def estimate(self, minimise: str | None = None) -> Floats:
        """What has the least expected loss. Categories: the shares, by "tv" (the default), "mse" or "mode". A number:
        location and scale, by "mae" (the default) or "mse"."""
        found = self.posterior()
        out: Floats = found.estimate() if minimise is None else found.estimate(minimise)
        return out

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the study to a zip of JSON and arrays, all or nothing.

        A loaded study warms its sampler up anew: its next choices are as good, and need not be the same.
        """
        settings = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in SETTINGS},
            "policy": self.policy.name,
            "model": self.learner.record(),
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
    def resumed(cls, rounds: Sequence[Round], evidence: Evidence, full_at: int, **settings: Any) -> Study:
        """The study of these rounds and the reports to them, for whoever keeps both elsewhere.

        `full_at` is how many reports, of all rounds together, fill the newest one. `settings` are the arguments of
        `Study` other than the question and the name, which the rounds hold. The sampler warms up anew.
        """
        if (
            not rounds
            or rounds[0].number
            or any(b.previous != a.id or b.study != a.study for a, b in pairwise(rounds))
        ):
            raise TacitError(
                "argument_invalid",
                f"rounds is {check.shown(rounds)}",
                argument="rounds",
                hint="give the whole chain, from number 0 on",
            )
        study = cls(question=rounds[0].question, name=rounds[0].study, **settings)
        study.evidence = evidence
        study.rounds = list(rounds)
        study._channels = {rnd.id: channels.from_table(rnd.channel) for rnd in rounds}
        study._full_at = check.integer(full_at, "full_at", 1, 2**62)
        return study

    @classmethod
    def _restored(cls, settings: dict[str, Any], evidence: Evidence) -> Study:
        rounds = [Round.from_json(text) for text in settings["rounds"]]
        question = rounds[0].question
        kind = NumberLearner if question.numeric else CategoryLearner
        kept = {name: settings[name] for name in SETTINGS if name != "name"}
        model = kind.read(question, settings["model"])
        study = cls.resumed(
            rounds, evidence, settings["full_at"], model=model, policy=settings["policy"], **kept
        )
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
    if isinstance(question, Question):
        return question
    if question is not None:
        raise TacitError(
            "argument_invalid",
            f"question is {check.shown(question)}",
            argument="question",
            hint="give a Question of tacit_client",
        )
    if isinstance(categories, str) or not isinstance(categories, Sequence):
        raise TacitError(
            "argument_invalid",
            f"categories is {check.shown(categories)}",
            argument="categories",
            hint='give a list of labels, such as ["red", "green"]',
        )
    return Question(name, name, labels=tuple(categories))

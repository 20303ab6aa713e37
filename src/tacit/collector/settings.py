"""What an administrator says about a study or a poll, and the records that the store gives back.

Settings come as plain JSON and are checked field by field; a study that cannot begin is refused here, before anything
is written.

>>> colour = {"text": "Which colour?", "labels": ["red", "green", "blue"]}
>>> settings = StudySettings.read({"name": "colour", "question": colour, "epsilon": "1"})
>>> settings.policy, settings.access, settings.expected
('risk', 'open', 10000)
>>> StudySettings.read(settings.message()) == settings
True
>>> settings.begin().round.number
0
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.errors import TacitError
from tacit.learning import usual_policy
from tacit.study import Study
from tacit_client import Question, check
from tacit_client.canonical import read_fields

STATES = ("draft", "open", "closed")
MAX_STUDIES = 100  # of one poll
MAX_TITLE = 200
MAX_ORIGINS = 50
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_ORIGIN = re.compile(
    r"https?://(?:[a-z0-9-]+\.)*[a-z0-9-]+(?::[1-9][0-9]{0,4})?\Z|https?://\[[0-9a-f:]+\](?::[1-9][0-9]{0,4})?\Z"
)
_REQUIRED = frozenset({"name", "question", "epsilon"})
_OPTIONAL = frozenset(
    {"policy", "model", "expected", "access", "results", "listed", "origins", "state", "retention_days"}
)


@dataclass(frozen=True)
class StudySettings:
    """One question, how it is asked, and who may see what; `state` is the one that the study begins in."""

    name: str
    question: Question
    epsilon: Fraction
    policy: str
    model: str | None = None
    expected: int = 10_000
    access: str = "open"
    results: str = "public"
    listed: bool = True
    origins: tuple[str, ...] = ()
    state: str = "open"
    retention_days: int | None = None

    @classmethod
    def read(cls, message: object) -> StudySettings:
        """The settings in decoded JSON, the defaults filled in; refused if one is wrong or the study cannot begin."""
        settings = cls.parse(message)
        settings.begin()
        return settings

    @classmethod
    def parse(cls, message: object) -> StudySettings:
        """The settings, each field checked by itself."""
        fields = read_fields(message, "settings", _REQUIRED, _OPTIONAL)
        name = _name(fields["name"], "name")
        question = _question(fields["question"], name)
        numeric = question.numeric
        return cls(
            name=name,
            question=question,
            epsilon=_epsilon(fields["epsilon"]),
            policy=_text(fields.get("policy", usual_policy(question)), "policy"),
            model=_model(fields.get("model"), numeric),
            expected=check.integer(fields.get("expected", 10_000), "expected", 1, 10**12),
            access=_one_of(fields.get("access", "open"), "access", "open", "invite"),
            results=_one_of(fields.get("results", "public"), "results", "public", "key"),
            listed=_flag(fields.get("listed", True), "listed"),
            origins=_origins(fields.get("origins", [])),
            state=_one_of(fields.get("state", "open"), "state", "draft", "open"),
            retention_days=_days(fields.get("retention_days")),
        )

    def message(self) -> dict[str, Any]:
        """As plain JSON, every field; `read` takes it back."""
        return {
            "name": self.name,
            "question": plain_question(self.question),
            "epsilon": check.format_decimal(self.epsilon),
            "policy": self.policy,
            "model": self.model,
            "expected": self.expected,
            "access": self.access,
            "results": self.results,
            "listed": self.listed,
            "origins": list(self.origins),
            "state": self.state,
            "retention_days": self.retention_days,
        }

    def begin(self) -> Study:
        """The study as it is before any report, with its first round."""
        return Study(**self.arguments())

    def arguments(self) -> dict[str, Any]:
        """What `tacit.Study` is made with."""
        return {
            "question": self.question,
            "epsilon": float(self.epsilon),
            "policy": self.policy,
            "model": self.model,
            "expected": self.expected,
            "name": self.name,
        }


@lru_cache(1024)
def settings_of(text: str) -> StudySettings:
    """The settings that a store holds as JSON text."""
    return StudySettings.parse(json.loads(text))


@dataclass(frozen=True)
class PollSettings:
    """A named list of studies on one page."""

    name: str
    title: str
    studies: tuple[str, ...]

    @classmethod
    def read(cls, message: object) -> PollSettings:
        """The settings in decoded JSON; whether the studies are there is the store's to say."""
        fields = read_fields(message, "poll", frozenset({"name", "title", "studies"}))
        title, studies = _text(fields["title"], "title"), fields["studies"]
        if not 1 <= len(title.strip()) <= MAX_TITLE or not title.isprintable():
            raise _invalid("title", title, f"give 1 to {MAX_TITLE} visible characters")
        if not isinstance(studies, list) or not 1 <= len(studies) <= MAX_STUDIES:
            raise _invalid("studies", studies, f"give a list of 1 to {MAX_STUDIES} names of studies")
        names = tuple(_name(study, "studies") for study in studies)
        if len(set(names)) != len(names):
            raise _invalid("studies", studies, "name each study once")
        return cls(_name(fields["name"], "name"), title, names)


@dataclass(frozen=True)
class StudyRecord:
    """A study as the store holds it. `n` counts the reports held now; `head` is the id of the newest round."""

    settings: StudySettings
    state: str  # draft, open or closed
    created: str  # an hour, such as "2026-11-20T09:00Z"
    closed: str | None
    n: int
    rounds: int
    head: str
    estimates: int  # made so far: a change tells that a new one is there
    purged: bool  # the reports were deleted after `retention_days`

    @property
    def name(self) -> str:
        """The name of the study."""
        return self.settings.name


@dataclass(frozen=True)
class PollRecord:
    """A poll as the store holds it; `studies` are those of its studies that are there, in order."""

    name: str
    title: str
    studies: tuple[StudyRecord, ...]

    @property
    def epsilon(self) -> Fraction:
        """What answering the whole poll costs a device."""
        return sum((study.settings.epsilon for study in self.studies), Fraction(0))


@dataclass(frozen=True)
class RoundRecord:
    """A round of a study's chain: `text` is its canonical message."""

    number: int
    id: str
    text: str


@dataclass(frozen=True)
class EstimateRecord:
    """An estimate: its place among those of the study, the reports in it, and its JSON text."""

    sequence: int
    used: int
    payload: str


def plain_question(question: Question) -> dict[str, Any]:
    """The fields of a question as they stand in settings."""
    return {key: value for key, value in question.message().items() if key not in ("type", "version")}


def _question(value: object, name: str) -> Question:
    if not isinstance(value, dict):
        raise _invalid(
            "question",
            value,
            'give an object, such as {"text": "Tea or coffee?", "labels": ["tea", "coffee"]}',
        )
    return Question.read({"id": name, **value, "type": "question", "version": "1"})


def _epsilon(value: object) -> Fraction:
    if isinstance(value, str):
        value = check.parse_decimal(value, "epsilon")
    return check.epsilon(value)


def _name(value: object, field: str) -> str:
    if isinstance(value, str) and _NAME.match(value):
        return value
    raise _invalid(field, value, "give 1 to 64 letters, digits, '.', '_' or '-', first a letter or a digit")


def _text(value: object, field: str) -> str:
    if isinstance(value, str):
        return value
    raise _invalid(field, value, "give a string")


def _model(value: object, numeric: bool) -> str | None:
    if numeric:
        return _text("normal" if value is None else value, "model")
    if value is not None:
        raise _invalid("model", value, "leave model out: it is for questions about a number")
    return None


def _flag(value: object, field: str) -> bool:
    if isinstance(value, bool):
        return value
    raise _invalid(field, value, "give true or false")


def _one_of(value: object, field: str, *names: str) -> str:
    if isinstance(value, str) and value in names:
        return value
    raise _invalid(field, value, f"give one of {', '.join(names)}")


def _origins(value: object) -> tuple[str, ...]:
    hint = f'give a list of at most {MAX_ORIGINS} origins such as "https://poll.example.org", without a path'
    if not isinstance(value, Iterable) or isinstance(value, str | dict):
        raise _invalid("origins", value, hint)
    origins = tuple(value)
    if len(origins) > MAX_ORIGINS or not all(isinstance(o, str) and _ORIGIN.match(o) for o in origins):
        raise _invalid("origins", value, hint)
    return origins


def _days(value: object) -> int | None:
    return None if value is None else check.integer(value, "retention_days", 0, 36_500)


def _invalid(field: str, value: object, hint: str) -> TacitError:
    return TacitError("field_invalid", f"{field} is {check.shown(value)}", argument=field, hint=hint)

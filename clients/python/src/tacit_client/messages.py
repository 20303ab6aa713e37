"""The four messages that travel: Question, Round, Report, Receipt.

Each is a frozen record with one canonical JSON form; reading anything else is refused. The id of a round is
the SHA-256 of its canonical bytes and names the question and the channel in it, so whoever holds a round's id
knows which channel was used.

>>> from tacit_client.build import srr
>>> question = Question("tea", "Tea or coffee?", labels=("tea", "coffee"))
>>> first = Round("office-2026", question, 0, srr(2, 1), None)
>>> Round.from_json(first.to_json()).id == first.id
True
"""

from __future__ import annotations

import math
import re
import secrets
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from tacit_client import canonical, check
from tacit_client.channel import channel_message, read_channel
from tacit_client.errors import TacitError
from tacit_client.tables import Binned, Table, Value

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_REPORT_ID = re.compile(r"[0-9a-f]{32}\Z")
_JOINERS = "\u200c\u200d"  # Persian, Indic scripts and emoji need them inside a word
_UNSEEN = re.compile("[\u200c\u200d\ufe00-\ufe0f]")  # they make no visible difference by themselves
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
_HIDDEN = {
    "Cc",
    "Cf",
    "Cs",
    "Co",
    "Zl",
    "Zp",
}  # Unicode categories: control, format, surrogate, private, lines
MAX_TEXT = 2000
MAX_LABEL = 200
MAX_ROUNDS = 10**9
MAX_REPORT = 2**31


@dataclass(frozen=True)
class Question:
    """What is asked: labels of categories, or a number with unit, lowest, highest and step."""

    id: str
    text: str
    labels: tuple[str, ...] = ()
    unit: str | None = None
    lowest: str | None = None
    highest: str | None = None
    step: str | None = None

    def __post_init__(self) -> None:
        _matching(self.id, "id", _NAME, "1 to 64 letters, digits, '.', '_' or '-'")
        _prose(self.text, "text", MAX_TEXT)
        if self.numeric:
            if self.labels:
                raise _invalid("labels", self.labels, "give labels or a number's range, not both")
            self._check_range()
        else:
            self._check_labels()

    @property
    def numeric(self) -> bool:
        """Whether the answer is a number and not a category."""
        return any(v is not None for v in (self.unit, self.lowest, self.highest, self.step))

    def _check_labels(self) -> None:
        if not isinstance(self.labels, tuple) or not 2 <= len(self.labels) <= check.MAX_CATEGORIES:
            raise _invalid("labels", self.labels, "give a tuple of two labels or more")
        for label in self.labels:
            _prose(label, "labels", MAX_LABEL)
        if len({_skeleton(label) for label in self.labels}) != len(self.labels):
            raise _invalid("labels", self.labels, "give labels that people can tell apart, each once")

    def _check_range(self) -> None:
        _prose(self.unit, "unit", MAX_LABEL)
        low, high, step = self.scale
        if low >= high:
            raise _invalid("highest", self.highest, "give a highest value above the lowest")
        if step <= 0 or (high - low) % step:
            raise _invalid("step", self.step, "give a positive step that divides highest - lowest")

    @cached_property
    def scale(self) -> tuple[Fraction, Fraction, Fraction]:
        """Lowest, highest and step of a number, exactly."""
        low = check.parse_signed_decimal(self.lowest, "lowest")
        high = check.parse_signed_decimal(self.highest, "highest")
        return low, high, check.parse_signed_decimal(self.step, "step")

    def number(self, answer: str | int | Decimal) -> Fraction:
        """The exact number of an answer, refused unless it lies on the question's scale.

        An answer beyond the ends is refused and not clipped: whether the nearest end says what the person means
        is the person's to decide.
        """
        if not self.numeric:
            raise _invalid("unit", self.unit, "ask for a number: this question has labels")
        low, high, step = self.scale
        number = check.answered_number(answer)
        if not low <= number <= high or (number - low) % step:
            # The answer itself stays out of the message: errors are logged.
            raise TacitError(
                "answer_unknown",
                "the answer is not on the question's scale",
                argument="answer",
                hint=f"give a number from {self.lowest} to {self.highest} in steps of {self.step}; "
                "if the true value lies beyond, ask the person whether to give the nearest end",
            )
        return number

    def message(self) -> dict[str, object]:
        header: dict[str, object] = {"type": "question", "version": "1"}
        header |= {"id": self.id, "text": self.text}
        if self.numeric:
            return header | {
                "unit": self.unit,
                "lowest": self.lowest,
                "highest": self.highest,
                "step": self.step,
            }
        return header | {"labels": list(self.labels)}

    def to_json(self) -> str:
        return canonical.encode_bounded(self.message())

    @classmethod
    def read(cls, message: object) -> Question:
        """A question from a decoded message."""
        numeric = isinstance(message, dict) and "labels" not in message
        answer = {"unit", "lowest", "highest", "step"} if numeric else {"labels"}
        fields = _fields(message, "question", {"id", "text"} | answer)
        values = {name: _text(fields[name], name) for name in {"id", "text"} | answer - {"labels"}}
        labels = tuple(_text(v, "labels") for v in _list(fields.get("labels", []), "labels"))
        return cls(labels=labels, **values)

    @classmethod
    def from_json(cls, text: str | bytes) -> Question:
        return cls.read(canonical.decode(text))


@dataclass(frozen=True)
class Round:
    """One question asked through one channel; `previous` chains the rounds of a study."""

    study: str
    question: Question
    number: int
    channel: Table
    previous: str | None

    def __post_init__(self) -> None:
        _matching(self.study, "study", _NAME, "1 to 64 letters, digits, '.', '_' or '-'")
        if not isinstance(self.question, Question):
            raise _invalid("question", self.question, "give a Question")
        if not isinstance(self.channel, Table):
            raise _invalid("channel", self.channel, "give a table: that of a tacit channel is channel.table")
        check.integer(self.number, "number", 0, MAX_ROUNDS)
        if self.number == 0 and self.previous is not None:
            raise _invalid("previous", self.previous, "the first round has no previous one")
        if self.number > 0:
            _matching(self.previous, "previous", _HASH, "the id of the previous round")
        if self.question.numeric:
            self._check_cells()
        elif isinstance(self.channel, Binned):
            raise _mismatch(
                "the channel takes a number", "use a channel of categories, such as srr or subset"
            )
        elif len(self.question.labels) != self.channel.k:
            raise _mismatch(
                f"the channel takes {self.channel.k} categories",
                "use a channel whose k is the number of the question's labels",
            )

    def _check_cells(self) -> None:
        """A number needs cells, and each cell at least one answer on the question's scale."""
        if not isinstance(self.channel, Binned):
            raise _mismatch(
                "the question asks for a number and the channel takes categories",
                "use a graded or binned channel, or ask with labels",
            )
        low, high, step = self.question.scale
        # The first answer on or above each cut, counted in steps from the lowest: each must be another one.
        first = [math.ceil((cut - low) / step) for cut in self.channel.cuts]
        if any(a >= b for a, b in pairwise((0, *first))) or first[-1] > (high - low) / step:
            raise _mismatch(
                "a cell of the channel holds no answer of the question",
                f"put every cut above {self.question.lowest} and at most at {self.question.highest}, "
                f"and no two between neighbouring answers, {self.question.step} apart",
            )

    def message(self) -> dict[str, object]:
        return {
            "type": "round",
            "version": "1",
            "study": self.study,
            "question": self.question.message(),
            "number": str(self.number),
            "channel": channel_message(self.channel),
            "previous": self.previous,
        }

    @cached_property
    def id(self) -> str:
        """SHA-256 of the canonical bytes."""
        return canonical.content_id(self.message())

    def to_json(self) -> str:
        return canonical.encode_bounded(self.message())

    @classmethod
    def from_json(cls, text: str | bytes) -> Round:
        names = {"study", "question", "number", "channel", "previous"}
        fields = _fields(canonical.decode(text), "round", names)
        previous = fields["previous"]
        return cls(
            _text(fields["study"], "study"),
            Question.read(fields["question"]),
            check.parse_integer(fields["number"], "number", 0, MAX_ROUNDS),
            read_channel(fields["channel"]),
            None if previous is None else _text(previous, "previous"),
        )


@dataclass(frozen=True)
class Report:
    """What a device sends: a random id, the round it answers, and the channel's report."""

    id: str
    study: str
    round: str
    value: Value

    def __post_init__(self) -> None:
        _matching(self.id, "id", _REPORT_ID, "128 random bits as 32 hexadecimal digits")
        _matching(self.study, "study", _NAME, "1 to 64 letters, digits, '.', '_' or '-'")
        _matching(self.round, "round", _HASH, "the id of a round, 64 hexadecimal digits")
        for number in self.value if isinstance(self.value, tuple) else (self.value,):
            check.integer(number, "value", 0, MAX_REPORT)

    @staticmethod
    def new_id() -> str:
        """128 bits from the operating system, derived from nothing."""
        return secrets.token_hex(16)

    def to_json(self) -> str:
        value = [str(v) for v in self.value] if isinstance(self.value, tuple) else str(self.value)
        message: dict[str, object] = {"type": "report", "version": "1", "id": self.id}
        message |= {"study": self.study, "round": self.round, "value": value}
        return canonical.encode_bounded(message)

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        fields = _fields(canonical.decode(text), "report", {"id", "study", "round", "value"})
        raw = fields["value"]
        value: Value
        if isinstance(raw, list):
            value = check.parse_integers(raw, "value", 0, MAX_REPORT)
        else:
            value = check.parse_integer(raw, "value", 0, MAX_REPORT)
        id_, study, round_ = (_text(fields[name], name) for name in ("id", "study", "round"))
        return cls(id_, study, round_, value)


def value_to_text(value: Value) -> str:
    """The value of a report as one cell of a table: its integers in decimal, joined by commas.

    >>> value_to_text(7), value_to_text((0, 3, 9))
    ('7', '0,3,9')
    """
    numbers = value if isinstance(value, tuple) else (value,)
    if not numbers:
        raise _invalid("value", value, "give an integer or a tuple of integers")
    return ",".join(str(check.integer(number, "value", 0, MAX_REPORT)) for number in numbers)


def value_from_text(text: object, channel: Table) -> Value:
    """The value that `value_to_text` wrote, refused unless `channel` can make it and the text is its one spelling.

    The channel says whether a single integer is a number or a list of one: a subset of size 1 is a list.

    >>> from tacit_client.build import srr, subset
    >>> value_from_text("2", srr(3, 1)), value_from_text("2", subset(3, 1, 1))
    (2, (2,))
    """
    if not isinstance(text, str) or len(text) > canonical.MAX_BYTES:
        raise _invalid("value", text, "write integers as one string, joined by commas")
    numbers = check.parse_integers(text.split(","), "value", 0, MAX_REPORT)
    single = len(numbers) == 1 and not channel.columns
    return channel.check_report(numbers[0] if single else numbers)


@dataclass(frozen=True)
class Receipt:
    """The server's word that it holds a report, and the head of the chain of rounds that it shows."""

    report: str
    head: str

    def __post_init__(self) -> None:
        _matching(self.report, "report", _REPORT_ID, "the id of a report, 32 hexadecimal digits")
        _matching(self.head, "head", _HASH, "the id of the newest round, 64 hexadecimal digits")

    def to_json(self) -> str:
        message: dict[str, object] = {"type": "receipt", "version": "1"}
        return canonical.encode_bounded(message | {"report": self.report, "head": self.head})

    @classmethod
    def from_json(cls, text: str | bytes) -> Receipt:
        fields = _fields(canonical.decode(text), "receipt", {"report", "head"})
        return cls(_text(fields["report"], "report"), _text(fields["head"], "head"))


def study_name(value: object) -> str:
    """The name of a study, which is also safe as a part of an address."""
    _matching(value, "study", _NAME, "1 to 64 letters, digits, '.', '_' or '-'")
    assert isinstance(value, str)
    return value


def _fields(message: object, kind: str, names: set[str]) -> dict[str, object]:
    if isinstance(message, dict):
        canonical.read_header(message, kind)
    return canonical.read_fields(message, kind, frozenset(names | {"type", "version"}))


def _invalid(field: str, value: object, hint: str) -> TacitError:
    return TacitError("field_invalid", f"{field} is {check.shown(value)}", argument=field, hint=hint)


def _mismatch(message: str, hint: str) -> TacitError:
    return TacitError("channel_mismatch", message, argument="channel", hint=hint)


def _text(value: object, field: str) -> str:
    if isinstance(value, str):
        return value
    raise _invalid(field, value, "write a string")


def _list(value: object, field: str) -> list[object]:
    if isinstance(value, list):
        return value
    raise _invalid(field, value, "write a list")


def _matching(value: object, field: str, pattern: re.Pattern[str], expected: str) -> None:
    if not isinstance(value, str) or not pattern.match(value):
        raise _invalid(field, value, f"give {expected}")


def _prose(value: object, field: str, limit: int) -> None:
    """Words for people: not blank, of bounded length, nothing that hides or reorders characters."""
    if not isinstance(value, str) or not value or value != value.strip() or len(value) > limit:
        raise _invalid(field, value, f"give 1 to {limit} characters, without spaces at the ends")
    if any((unicodedata.category(c) in _HIDDEN and c not in _JOINERS) or c in _FILLERS for c in value):
        raise _invalid(field, value, "leave out control, invisible and text-direction characters")
    if not unicodedata.is_normalized("NFC", value) or not _skeleton(value):
        raise _invalid(field, value, "write visible text in Unicode's composed form (NFC)")


def _skeleton(label: str) -> str:
    """What is left of a label when only visible differences count."""
    return " ".join(_UNSEEN.sub("", unicodedata.normalize("NFKC", label)).split())

"""What every channel table is: exact integer weights, and five things that can be asked of them.

A table states its epsilon but is not trusted to keep it: `tacit_client.certify` computes what it really
leaks. All kinds answer the same questions, so a device needs no knowledge of the mechanism.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from tacit_client import check
from tacit_client.errors import TacitError

Value = int | tuple[int, ...]
RandBelow = Callable[[int], int]


@dataclass(frozen=True)
class Worst:
    """The largest ratio P(report | likely) / P(report | unlikely) of a table, and where it is attained."""

    ratio: Fraction
    likely: int
    unlikely: int
    report: Value


class Table(ABC):
    """A finite randomiser over answers 0..k-1, with the epsilon that it states."""

    kind: ClassVar[str]
    required: ClassVar[frozenset[str]]
    optional: ClassVar[frozenset[str]] = frozenset()
    k: int
    epsilon: Fraction

    @property
    def columns(self) -> int:
        """How many integers a report lists; 0 if it is a single integer and no list."""
        return 0

    @classmethod
    @abstractmethod
    def read(cls, fields: dict[str, object], k: int, epsilon: Fraction) -> Table:
        """Build the table from the fields of a message."""

    @abstractmethod
    def write(self) -> dict[str, object]:
        """The fields of `required` and `optional`, as they travel."""

    @abstractmethod
    def weight(self, report: Value, x: int) -> int:
        """An integer proportional to P(report | x), with one constant for all x."""

    @abstractmethod
    def worst(self) -> Worst:
        """The exact maximum over all reports and pairs of answers."""

    @abstractmethod
    def check_report(self, report: object) -> Value:
        """The report in plain Python integers, refused when the channel cannot make it."""

    @abstractmethod
    def _draw(self, x: int, randbelow: RandBelow) -> Value:
        """One report for answer x, as a pure function of what `randbelow` returns."""

    def check_common(self, *weights: int) -> None:
        """What every table must satisfy, whoever made it: plain integers, k and epsilon in range."""
        for number in (self.k, *weights):
            if type(number) is not int or number < 0:
                raise bad_weights(
                    f"{check.shown(number)} is not a plain integer", "weights", "give Python integers"
                )
        check.integer(self.k, "k", 2, check.MAX_CATEGORIES)
        check.stated_epsilon(self.epsilon)

    def respond(self, answer: int) -> Value:
        """One real report: operating system randomness, integer arithmetic."""
        x = check.integer(answer, "answer", 0, self.k - 1)
        return self._draw(x, secrets.randbelow)


def kind_of(message: dict[str, object], kinds: dict[str, type[Table]]) -> type[Table]:
    """The kind of table that a message names."""
    if "kind" not in message:
        raise TacitError("field_missing", "the channel has no kind", argument="kind", hint="add the field")
    kind = message["kind"]
    if not isinstance(kind, str) or kind not in kinds:
        raise TacitError(
            "field_invalid",
            f"kind is {check.shown(kind)}",
            argument="kind",
            hint=f"give one of {', '.join(kinds)}",
        )
    return kinds[kind]


def impossible(report: object, expected: str) -> TacitError:
    """The refusal of a report that a table cannot make."""
    return TacitError(
        "report_impossible",
        f"the report is {check.shown(report)}",
        argument="report",
        hint=f"this channel reports {expected}",
    )


def plain_integer(report: object, count: int) -> int:
    """A report that is one of 0..count-1."""
    try:
        return check.integer(report, "report", 0, count - 1)
    except TacitError:
        raise impossible(report, f"a whole number from 0 to {count - 1}") from None


def refuse_zero(weight: int, field: str) -> None:
    """A zero weight makes a report impossible for some answers, and so reveals the others."""
    if weight < 1:
        raise TacitError(
            "channel_infinite_loss",
            f"a weight in {field} is zero",
            argument=field,
            hint="every report must be possible under every answer: give positive weights",
        )


def bad_weights(message: str, field: str, hint: str) -> TacitError:
    return TacitError("channel_weights", message, argument=field, hint=hint)


def most_and_least(entries: list[tuple[int, int]], report: Value) -> Worst:
    """The worst pair among (weight, answer) entries of one report."""
    high = max(entries)
    low = min(entries)
    return Worst(Fraction(high[0], low[0]), high[1], low[1], report)


def check_increasing(cells: object, field: str, k: int) -> None:
    """A set of categories is written in one way: a tuple of plain integers below k, increasing."""
    plain = isinstance(cells, tuple) and all(type(x) is int for x in cells)
    if not plain or any(a >= b for a, b in pairwise((-1, *cells, k))):  # type: ignore[misc]
        raise bad_weights(f"{field} is {check.shown(cells)}", field, "give increasing categories below k")


def check_pair(own: int, other: int) -> None:
    """The two weights of a table with one ratio: `own` for the answer's cell or bucket, `other` for each other."""
    refuse_zero(other, "other")
    if own < other:
        raise bad_weights("other is above own", "own", "give the answer's own cell more weight")


def read_pair(fields: dict[str, object]) -> tuple[int, int]:
    return check.parse_integer(fields["own"], "own"), check.parse_integer(fields["other"], "other")


def write_pair(own: int, other: int) -> dict[str, object]:
    return {"own": str(own), "other": str(other)}

"""Hashed response, for many categories: the report is a hash function and one bucket.

The device draws h(x) = ((a x + b) mod p) mod g itself, with p = 2^31 - 1, 1 <= a < p and 0 <= b < p, without
looking at the answer. Then it reports a bucket: weight `own` for the answer's bucket, `other` for each of
the g - 1 others. The hash function is independent of the answer, so the loss is ln(own / other). With
k <= 2^21 every product stays below 2^53: exact in JavaScript numbers, 64-bit SQL and numpy alike.

>>> from fractions import Fraction
>>> Hashed(1000, Fraction(7, 10), 3, 2, 1).bucket(5, 7, 100)
0
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit_client import check
from tacit_client.errors import TacitError
from tacit_client.tables.base import (
    RandBelow,
    Table,
    Value,
    Worst,
    bad_weights,
    check_pair,
    impossible,
    read_pair,
    write_pair,
)

PRIME = 2**31 - 1
MAX_BUCKETS = 256


@dataclass(frozen=True)
class Hashed(Table):
    """Reports are (a, b, bucket), the bucket one of `buckets`."""

    kind: ClassVar[str] = "hashed"
    required: ClassVar[frozenset[str]] = frozenset({"buckets", "own", "other"})

    k: int
    epsilon: Fraction
    buckets: int
    own: int
    other: int

    def __post_init__(self) -> None:
        self.check_common(self.buckets, self.own, self.other)
        if not 2 <= self.buckets <= MAX_BUCKETS:
            raise bad_weights(f"buckets is {self.buckets}", "buckets", f"give 2 to {MAX_BUCKETS} buckets")
        check_pair(self.own, self.other)

    @property
    def columns(self) -> int:
        return 3

    def bucket(self, a: int, b: int, x: int) -> int:
        """The bucket h(x) of category x under the hash function (a, b)."""
        return (a * x + b) % PRIME % self.buckets

    @classmethod
    def read(cls, fields: dict[str, object], k: int, epsilon: Fraction) -> Hashed:
        buckets = check.parse_integer(fields["buckets"], "buckets", 0, k + MAX_BUCKETS)
        return cls(k, epsilon, buckets, *read_pair(fields))

    def write(self) -> dict[str, object]:
        return {"buckets": str(self.buckets), **write_pair(self.own, self.other)}

    def weight(self, report: Value, x: int) -> int:
        assert isinstance(report, tuple)
        a, b, bucket = report
        return self.own if self.bucket(a, b, x) == bucket else self.other

    def worst(self) -> Worst:
        # Under (a, b) = (1, 0) the categories 0 and 1 fall into the buckets 0 and 1.
        return Worst(Fraction(self.own, self.other), 0, 1, (1, 0, 0))

    def check_report(self, report: object) -> tuple[int, int, int]:
        expected = f"three integers a, b, bucket with 1 <= a < {PRIME}, 0 <= b < {PRIME}"
        if isinstance(report, str | bytes) or not hasattr(report, "__iter__"):
            raise impossible(report, expected)
        values = tuple(report)
        if len(values) != 3:
            raise impossible(report, expected)
        try:
            return (
                check.integer(values[0], "report", 1, PRIME - 1),
                check.integer(values[1], "report", 0, PRIME - 1),
                check.integer(values[2], "report", 0, self.buckets - 1),
            )
        except TacitError:
            raise impossible(report, f"{expected}, bucket < {self.buckets}") from None

    def _draw(self, x: int, randbelow: RandBelow) -> tuple[int, int, int]:
        a, b = 1 + randbelow(PRIME - 1), randbelow(PRIME)
        t = randbelow(self.own + (self.buckets - 1) * self.other) - (self.own - self.other)
        # Both buckets are computed whatever the outcome, so that the time tells less of it.
        own, drawn = self.bucket(a, b, x), max(t, 0) // self.other
        return a, b, own if t < 0 else drawn

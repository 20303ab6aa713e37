"""From columns of text to Evidence: what every engine shares.

A batch of values is read by a compiled parser, checked against its channel, and added with its counts. Values that the
channel cannot make are counted, and the first few of them kept to be shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Integers
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.evidence import Evidence, Tally

SHOWN = 5  # refused values that are kept as examples


@dataclass
class Refused:
    """Rows that are no report of the study: how many, by reason, and the first few."""

    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, count: int, example: object) -> None:
        self.count += count
        if len(self.examples) < SHOWN:
            self.examples.append(str(example)[:80])

    def join(self, other: Refused) -> None:
        self.count += other.count
        self.examples = (self.examples + other.examples)[:SHOWN]


def fold(channel: Channel[Any], values: Any, counts: Integers | None, refused: Refused) -> Evidence:
    """The evidence of an Arrow array of values, made counts[i] times each (once, if left out)."""
    rows, made, _ = read(channel, values, counts, refused)
    if not len(rows):
        return Evidence()
    return Evidence().add(channel, rows) if made is None else Evidence().add_counts(channel, rows, made)


def fold_tally(channel: Channel[Any], values: Any, refused: Refused) -> Evidence:
    """The same when the channel is known to have too many distinct reports: their tally alone, and no sorting."""
    rows, _, n = read(channel, values, None, refused)
    return tallied(channel, n, channel.tally(rows)) if n else Evidence()


def tallied(channel: Channel[Any], n: int, sums: Integers) -> Evidence:
    """Evidence of which only the tally is kept."""
    return Evidence((Tally(channel, n, sums, None, None),))


def read(
    channel: Channel[Any], values: Any, counts: Integers | None, refused: Refused
) -> tuple[Integers, Integers | None, int]:
    """The possible reports among `values`, with their counts, and how many they are."""
    import pyarrow

    from tacit.warehouse.kernels import parse_values

    texts = values.cast(pyarrow.large_string()).fill_null("")
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    characters = np.frombuffer(data or b"", dtype=np.uint8)
    columns = channel.table.columns
    rows = np.empty((len(texts), max(columns, 1)), dtype=np.int64)
    good = parse_values(offsets, characters, rows)
    possible = np.flatnonzero(good)
    wrong = _impossible(channel, rows[good] if columns else rows[good, 0])
    good[possible[wrong]] = False
    for i in np.flatnonzero(~good):
        refused.add(1 if counts is None else int(counts[i]), values[int(i)])
    kept = rows[good] if columns else rows[good, 0]
    made = None if counts is None else counts[good]
    return kept, made, len(kept) if made is None else int(made.sum())


def _impossible(channel: Channel[Any], rows: Integers) -> npt.NDArray[np.int64]:
    """The places of the reports that the channel cannot make, found by halving."""
    found: list[int] = []
    open_ = [(0, len(rows))] if len(rows) else []
    while open_:
        start, end = open_.pop()
        try:
            channel.check_reports(rows[start:end])
        except TacitError:
            middle = (start + end) // 2
            if end - start == 1:
                found.append(start)
            else:
                open_ += [(middle, end), (start, middle)]
    return np.array(found, dtype=np.int64)

"""The data sets: what each person would answer, and in which month they came.

Every file is a CSV with a header, most of them gzipped; no word in them means "no value". Their names, origins and
licences are in the README of this folder.

| name | file | answer | months |
| --- | --- | --- | --- |
| occupation | adult_categorical.csv.gz | `occupation`, "?" counts as an answer | |
| country | adult_categorical.csv.gz | `native_country`, likewise | |
| carrier | nycflights13_stream.csv.gz | `carrier` | 12, of 2013 |
| destination | nycflights13_stream.csv.gz | `dest` | 12, of 2013 |
| breed | seattle_pets.csv.gz | `primary_breed` | those that occur, 2003-04 to 2018-12 |
| votes2020, votes2016 | us_president_votes_by_party.csv | `party`, weighted by `votes` | |
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit import TacitError
from tacit_client import check

ADULT, FLIGHTS = "adult_categorical.csv.gz", "nycflights13_stream.csv.gz"
PETS, VOTES = "seattle_pets.csv.gz", "us_president_votes_by_party.csv"


class Source(NamedTuple):
    """Where a data set is: the column of the answers; `when` starts with the month if the rows are in time order."""

    file: str
    answer: str
    when: str | None = None
    year: str | None = None  # of the votes


SOURCES = {
    "occupation": Source(ADULT, "occupation"),
    "country": Source(ADULT, "native_country"),
    "carrier": Source(FLIGHTS, "carrier", "month"),
    "destination": Source(FLIGHTS, "dest", "month"),
    "breed": Source(PETS, "primary_breed", "license_issue_date"),
    "votes2020": Source(VOTES, "party", year="2020"),
    "votes2016": Source(VOTES, "party", year="2016"),
}


class Data(NamedTuple):
    """`labels` of the K answers, sorted; `shares` (K,) in the full data; `answers` (N,), in the order of the file, as
    places in `labels`, and `month` (N,), counted from 0: empty arrays where the file has no such thing."""

    labels: tuple[str, ...]
    shares: npt.NDArray[np.float64]
    answers: npt.NDArray[np.int64]
    month: npt.NDArray[np.int64]

    def monthly(self) -> npt.NDArray[np.float64]:
        """The shares of each month, (months, K)."""
        flat = np.bincount(
            self.month * len(self.labels) + self.answers, minlength=(self.month[-1] + 1) * len(self.labels)
        )
        counts = flat.reshape(-1, len(self.labels))
        return counts / counts.sum(axis=1, keepdims=True)


@cache
def read(folder: Path, name: str) -> Data:
    """One data set; TacitError says which file or column is missing."""
    if name not in SOURCES:
        raise TacitError(
            "argument_invalid",
            f"name is {check.shown(name)}",
            argument="name",
            hint=f"give one of {', '.join(SOURCES)}",
        )
    source = SOURCES[name]
    if source.year is not None:
        return _votes(folder, source)
    columns = [source.answer] + [source.when] * (source.when is not None)
    table = list(_rows(folder, source.file, columns))
    labels, answers = np.unique([row[0] for row in table], return_inverse=True)
    month = _months([row[1] for row in table], source) if source.when else np.empty(0, np.int64)
    return Data(tuple(map(str, labels)), np.bincount(answers) / len(answers), answers, month)


def _votes(folder: Path, source: Source) -> Data:
    """Sums over the states; nobody's own answer is known, and none is needed to draw from the shares."""
    votes: Counter[str] = Counter()
    for year, party, count in _rows(folder, source.file, ["year", source.answer, "votes"]):
        if year == source.year:
            votes[party] += int(count)
    labels = tuple(sorted(votes))
    counts = np.array([votes[label] for label in labels], dtype=np.float64)
    return Data(labels, counts / counts.sum(), np.empty(0, np.int64), np.empty(0, np.int64))


def _months(when: list[str], source: Source) -> npt.NDArray[np.int64]:
    """Months counted from the first: a number as it is, a date without its day."""
    names = [text.rpartition("-")[0] or text.zfill(2) for text in when]
    month = np.unique(names, return_inverse=True)[1].astype(np.int64)
    if (np.diff(month) < 0).any():
        raise _refusal(f"{source.file} is not in time order", f"sort its rows by {source.when}")
    return month


def _rows(folder: Path, file: str, columns: list[str]) -> Iterator[list[str]]:
    """These columns of every row."""
    path = folder / file
    if not path.is_file():
        raise _refusal(
            f"{file} is not in {folder}",
            "give --data (or set TACIT_DATA to) the folder that holds the files named in experiments/real/README.md",
        )
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream)
        header = next(lines, [])
        lacking = [column for column in columns if column not in header]
        if lacking:
            raise _refusal(
                f"{file} has no column {lacking[0]}", "take the file described in experiments/real/README.md"
            )
        places = [header.index(column) for column in columns]
        for line in lines:
            yield [line[place] for place in places]


def _refusal(message: str, hint: str) -> TacitError:
    return TacitError("argument_invalid", message, argument="data", hint=hint)

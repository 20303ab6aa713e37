"""The questions that are put to an engine, each written once.

All engines read the same standard SQL. Lists differ: `Dialect` holds the few words that do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

INTEGER = "(0|[1-9][0-9]{0,9})"


@dataclass(frozen=True)
class Dialect:
    """How an engine writes: does `value` match a pattern; its integers as a list; is the list `cells` strictly
    increasing; its last entry; one row for each entry."""

    matches: str
    cells: str
    increasing: str
    last: str
    explode: str


POSTGRES = Dialect(
    "value ~ '^{pattern}$'",
    "CAST(string_to_array(value, ',') AS BIGINT[])",
    "cells = ARRAY(SELECT DISTINCT c FROM unnest(cells) AS u(c) ORDER BY c)",
    "cells[{size}]",
    "unnest(cells)",
)
SPARK = Dialect(
    "value RLIKE '^{pattern}$'",
    "CAST(split(value, ',') AS ARRAY<BIGINT>)",
    "array_sort(array_distinct(cells)) = cells",
    "element_at(cells, {size})",
    "explode(cells)",
)


def by_round(relation: str, where: str) -> str:
    """How many rows each study and round has."""
    return f"SELECT study, round, COUNT(*) AS made FROM {relation}{where} GROUP BY study, round"


def by_value(relation: str, study: str, rounds: Iterable[str]) -> str:
    """How often each distinct report was made."""
    return f"SELECT round, value, COUNT(*) AS made FROM {relation}{of(study, rounds)} GROUP BY round, value"


def values(relation: str, study: str, rounds: Iterable[str], limit: int | None = None) -> str:
    """The reports themselves, in any order."""
    end = "" if limit is None else f" LIMIT {limit}"
    return f"SELECT value FROM {relation}{of(study, rounds)}{end}"


@dataclass(frozen=True)
class Inclusion:
    """Of the reports that are `size` increasing cells below `cells`, how many hold each cell."""

    dialect: Dialect
    relation: str
    study: str
    rounds: tuple[str, ...]
    cells: int
    size: int

    @property
    def _lists(self) -> str:
        words = self.dialect
        matches = words.matches.format(pattern=f"{INTEGER}(,{INTEGER}){{{self.size - 1}}}")
        return (
            f"WITH lists AS (SELECT value, CASE WHEN {matches} THEN {words.cells} END AS cells "
            f"FROM {self.relation}{of(self.study, self.rounds)})"
        )

    @property
    def _good(self) -> str:
        # Only CASE keeps an engine from looking into what is not there.
        last = self.dialect.last.format(size=self.size)
        return (
            f"CASE WHEN cells IS NULL THEN FALSE ELSE {self.dialect.increasing} AND {last} < {self.cells} END"
        )

    def held(self) -> str:
        """Cells with their counts."""
        return (
            f"{self._lists}, held AS (SELECT {self.dialect.explode} AS cell FROM lists WHERE {self._good}) "
            "SELECT cell, COUNT(*) AS made FROM held GROUP BY cell"
        )

    def left_out(self) -> str:
        """The other reports, with their counts."""
        return (
            f"{self._lists} SELECT value, COUNT(*) AS made FROM lists WHERE NOT ({self._good}) GROUP BY value"
        )


def distinct_ids(relation: str, where: str) -> str:
    """How many rows, how many different ids, and how many rows without one."""
    return f"SELECT COUNT(*) AS made, COUNT(DISTINCT id) AS ids, COUNT(*) - COUNT(id) AS missing FROM {relation}{where}"


def each_once(relation: str, where: str) -> str:
    """The relation without the copies of a report."""
    return f"(SELECT DISTINCT id, study, round, value FROM {relation}{where}) AS reports_once"


def same_id(relation: str, limit: int) -> str:
    """Ids that stand for more than one report."""
    return f"SELECT id, COUNT(*) AS made FROM {relation} GROUP BY id HAVING COUNT(*) > 1 LIMIT {limit}"


def of(study: str, rounds: Iterable[str]) -> str:
    """Rows of a study and some of its rounds; both consist of letters, digits, '.', '_' and '-' only."""
    listed = ", ".join(f"'{name}'" for name in sorted(rounds))
    return f" WHERE study = '{study}' AND round IN ({listed})"


def of_study(study: str | None) -> str:
    """Rows of a study, or all."""
    return "" if study is None else f" WHERE study = '{study}'"

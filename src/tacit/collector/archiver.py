"""The archiver: one pass moves the reports of old rounds into files, and erases there what was erased.

A round is old when another followed it `after_days` ago, or its study was closed so long ago and has its last estimate.

| step | if the pass dies after it |
| --- | --- |
| `sealed`: the old rounds take no more reports | the next pass goes on from there |
| `written`: a part is written and was read back | a file that nobody names, removed by the next pass |
| `moved`: one transaction named the part and deleted its reports | nothing: this part is done |
| `rewritten`: a part is written without the erased | a file that nobody names |
| `replaced`: one transaction named it in the place of the old | the old file, removed by the next pass |
| `erased`: the database knows that the archive was searched | nothing |

Nothing is kept between passes; one archiver works at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from tacit.collector import parts
from tacit.collector.archives import Changed, Sealed, marked_place
from tacit.collector.database import hour
from tacit.collector.places import Place, damaged, open_place, unusable
from tacit.collector.reports import channel_of
from tacit.collector.store import Store
from tacit.evidence import Evidence
from tacit_client import check

ROWS = 100_000  # reports of a part: what one transaction deletes
SIZE = 1 << 25  # characters of their values
SPARE = (
    1 << 27
)  # bytes in use up to which a SQLite file is written anew, to give back the rest: a second or two
TRIES = 10
_HOUR = timedelta(hours=1)


@dataclass
class Pass:
    """What a pass did."""

    reports: int = 0
    parts: int = 0
    erased: int = 0
    orphans: int = 0
    freed: int = 0  # bytes that went back to the file system


def archive(
    store: Store,
    to: str | os.PathLike[str],
    after_days: float = 7.0,
    step: Callable[[str], object] = lambda _: None,
) -> Pass | None:
    """One pass; None if another archiver is at work. `step` hears of each step that was taken."""
    days = check.bounded(after_days, "after_days", lambda v: 0 <= v <= 36_500, "give 0 to 36500 days")
    place = open_place(to)
    with store.turn("archive-turn") as mine:
        if not mine:
            return None
        store.bind_archive(place)
        work = Archiver(store, place, step)
        work.clear()
        work.erase()
        store.seal(hour() - timedelta(days=float(days)) // _HOUR)
        step("sealed")
        work.move()
        work.clear()
        work.done.freed = store.shrink(SPARE) if work.done.reports else 0
        work.look()
        return work.done


def verify(store: Store) -> int:
    """Read every file of the archive and compare it with what the database knows; how many reports there are."""
    total = 0
    with store.read() as connection:
        place = marked_place(connection)
    for rnd in store.sealed():
        files = store.files(rnd.key, rnd.number)
        if not files:
            continue
        found = _evidence(place, rnd, list(files))
        n, known = store.archived_sum(rnd)
        if found != known or len(found) != n or n != sum(files.values()):
            raise damaged(f"round {rnd.number} of {rnd.study}", "does not add up")
        total += n
    return total


class Archiver:
    """One pass at work."""

    def __init__(self, store: Store, place: Place, step: Callable[[str], object]) -> None:
        self._store, self._place, self._step = store, place, step
        self.done = Pass()

    def move(self) -> None:
        """Move the reports of all sealed rounds."""
        held: dict[int, set[int]] = {}
        for rnd in self._store.sealed():
            if rnd.key not in held:
                held[rnd.key] = self._store.held(rnd.key)
            if rnd.number in held[rnd.key]:
                self._move_round(rnd)

    def _move_round(self, rnd: Sealed) -> None:
        after, tries = b"", 0
        while rows := self._store.take(rnd, after, ROWS, SIZE):
            part = parts.encode(rnd.study, rnd.id, rows)
            evidence = self._write(rnd, part)
            self._step("written")
            try:
                self._store.move(rnd, part.file, [id_ for id_, _ in rows], evidence, self._place.has)
            except Changed:
                # One of them was erased meanwhile: the same again, without it. A deleted study has none left.
                tries += 1
                if tries == TRIES:
                    raise unusable(
                        "files do not stay, or reports are erased all the time", self._place.url
                    ) from None
                continue
            tries = 0
            self._step("moved")
            self.done.reports += part.n
            self.done.parts += 1
            after = rows[-1][0]

    def _write(self, rnd: Sealed, part: parts.Part) -> Evidence:
        """Write a part and read it back: what its reports add up to."""
        self._place.write(part.file, part.data)
        found = _evidence(self._place, rnd, [part.file])
        if len(found) != part.n:
            raise damaged(part.file, "was not written as it should be")
        return found

    def erase(self) -> None:
        """Write the parts anew that hold erased reports, without these."""
        for key, ids in self._store.pending().items():
            try:
                for rnd in self._store.sealed(key):
                    self._erase_in(rnd, ids)
            except Changed:
                continue  # the study was deleted, or it is for the next pass
            self._store.erased(key, ids)
            self._step("erased")

    def _erase_in(self, rnd: Sealed, ids: list[bytes]) -> None:
        files = self._store.files(rnd.key, rnd.number)
        new: dict[str, tuple[str, int] | None] = {}
        for file in files:
            with parts.open_part(self._place, file) as stream:
                if parts.holds(stream, ids):
                    gone, kept = parts.without(stream, ids)
                    self.done.erased += gone
                    new[file] = self._rewrite(rnd, kept) if kept else None
        if not new:
            return
        self._step("rewritten")
        names = [file for file in files if file not in new] + [given[0] for given in new.values() if given]
        self._store.replace(rnd, new, _evidence(self._place, rnd, names), self._place.has)
        self._step("replaced")
        for file in new:
            self._place.remove(file)

    def _rewrite(self, rnd: Sealed, kept: list[tuple[bytes, str]]) -> tuple[str, int]:
        part = parts.encode(rnd.study, rnd.id, kept)
        self._write(rnd, part)
        return part.file, part.n

    def clear(self) -> None:
        """Remove what a pass has left that died."""
        found = [name for name in self._place.names() if parts.is_part(name)]
        self.done.orphans += self._store.clear_orphans(self._place, found)

    def look(self) -> None:
        """Say so if a file is gone that should be there."""
        here = set(self._place.names())
        for file in self._store.files():
            if file not in here and not self._place.has(file):
                raise damaged(file, "is missing")


def _evidence(place: Place, rnd: Sealed, files: list[str]) -> Evidence:
    total = Evidence()
    for file in files:
        with parts.open_part(place, file) as stream:
            total = total + parts.evidence(channel_of(rnd.text), stream)
    return total

"""All that a collector keeps, in SQLite or PostgreSQL: the interface, which its parts fill in one after the other.

Every method may raise `TacitError("store_unusable")` (503): nothing is half done then. Names that are not there raise
study_unknown, poll_unknown or round_unknown (404); a name that is taken raises name_taken (409).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tacit.collector.intake import Outcome, Submission
from tacit.collector.settings import (
    EstimateRecord,
    PollRecord,
    PollSettings,
    RoundRecord,
    StudyRecord,
    StudySettings,
)
from tacit.evidence import Evidence


class Store:
    """One database. Safe for several threads; make one in each process."""

    @classmethod
    def open(cls, url: str) -> Store:
        """The database at a URL (sqlite:////path/file.db, postgresql://...), made or migrated if need be.

        One made by a newer release raises version_unknown.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of all connections."""

    # studies

    def create_study(self, settings: StudySettings) -> StudyRecord: ...

    def study(self, name: str) -> StudyRecord: ...

    def studies(self, hidden: bool = False) -> list[StudyRecord]:
        """The listed studies by name, or with `hidden` all."""

    def open_study(self, name: str) -> StudyRecord:
        """Let a draft take reports; an open study stays so; a closed one raises study_closed."""

    def close_study(self, name: str) -> StudyRecord:
        """No report is taken after this returns, and the invite tokens are gone. Closing twice changes nothing."""

    def delete_study(self, name: str) -> None:
        """Delete reports, rounds, estimates and tokens; polls lose the study."""

    # rounds and estimates

    def round(self, name: str) -> RoundRecord:
        """The newest round."""

    def rounds(self, name: str) -> list[RoundRecord]:
        """The chain, from number 0 on."""

    def estimate(self, name: str) -> EstimateRecord | None:
        """The newest estimate; None before the worker made the first."""

    # reports

    def submit(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Store many reports by one transaction, each with its own outcome. From an event loop use `Ingest`."""

    def erase(self, name: str, report: str) -> None:
        """Forget a report (32 hexadecimal digits) for good. An id that never came is refused from now on, too."""

    def rows(self, name: str) -> Iterator[tuple[str, str]]:
        """(round id, value) of every report, sorted by round number, then value: streamed, for exports."""

    def evidence(self, name: str) -> Evidence:
        """All reports, as Evidence."""

    # invites: `hashes` are the SHA-256 of the tokens, 32 bytes each

    def add_invites(self, name: str, hashes: Iterable[bytes]) -> None:
        """A study that is closed raises study_closed; one that needs no invites raises argument_invalid."""

    def add_poll_invites(self, name: str, hashes: Iterable[bytes]) -> None:
        """Each good for one report to each of the poll's studies that need one."""

    # polls

    def create_poll(self, settings: PollSettings) -> PollRecord: ...

    def poll(self, name: str) -> PollRecord: ...

    def polls(self) -> list[PollRecord]: ...

    def delete_poll(self, name: str) -> None:
        """Delete a poll; its studies stay."""

    # health

    def check(self) -> None:
        """Write and commit something small; raises store_unusable."""

    def actions(self) -> list[tuple[str, str, str]]:
        """(hour, study or poll, what an administrator did), oldest first."""


class Ingest:
    """Group commit (in `tacit.collector.ingest`): callers of one process share transactions."""

    def __init__(self, store: Store, most: int = 4000, waiting: int = 20_000) -> None:
        """At most `most` reports in a transaction, at most `waiting` in the queue: above that, store_unusable."""

    async def submit(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """What became of each, once the transaction is on disk; raises store_unusable if it failed."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what waits, then end the thread. Call it from the application's shutdown."""

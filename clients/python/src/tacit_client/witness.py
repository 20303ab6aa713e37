"""Whether a collector shows everybody the same study.

The rounds of a study form a chain of hashes. A collector that shows one device another channel, or another question,
under a number that others saw too has to show it a chain of its own from there on. Two views of one study are
therefore either one the beginning of the other, or they part at a number, and then the collector lied to somebody.

A *view* is a chain as it was shown somewhere: fetched from here, fetched through another network, or kept in a file
since last week. What a device's store knows are the ids of rounds alone: each must lie in a chain that is shown to
all.

    partings([view("here", rounds), view("there", others)], {"my phone": store.seen("office-2026")})

No finding is no proof of innocence: a collector may recognise the places it is watched from. The stores of devices
are the better witnesses, because they were asked before anybody knew who would compare.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tacit_client.certificate import certify
from tacit_client.errors import TacitError
from tacit_client.messages import Round


@dataclass(frozen=True)
class View:
    """The chain of one study as it was shown somewhere: `source` says where, `ids` holds the id of each round."""

    source: str
    study: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Parting:
    """Where two sources part: the first `number` that differs, or None when only an id is known."""

    number: int | None
    sources: tuple[str, str]
    reason: str


def view(source: str, rounds: Iterable[Round]) -> View:
    """The view that rounds form; refused unless they are one chain of one question, every channel within its epsilon.

    The last holds for every round and not only for the current one, because earlier ones were answered too.
    """
    ids: list[str] = []
    first: Round | None = None
    for number, asked in enumerate(rounds):
        first = first or asked
        if asked.number != number or asked.previous != (ids[-1] if ids else None):
            raise _broken(source, number, "does not follow from the one before")
        if asked.study != first.study or asked.question != first.question:
            raise _broken(source, number, "asks something else than the first")
        if not certify(asked.channel).holds:
            raise _broken(source, number, "leaks more than it states")
        ids.append(asked.id)
    if first is None:
        raise _broken(source, 0, "is missing")
    return View(source, first.study, tuple(ids))


def read_view(source: str, data: bytes) -> View:
    """The view in a file of one canonical round a line, as `text` and a collector write it."""
    return view(source, (Round.from_json(line) for line in data.split(b"\n") if line))


def partings(views: Sequence[View], seen: Mapping[str, Collection[str]] | None = None) -> list[Parting]:
    """Every pair of views that part, and every device that saw a round which no view has; first numbers first."""
    found = []
    for a, b in combinations(views, 2):
        if a.study != b.study:
            found.append(Parting(0, (a.source, b.source), "they show different studies"))
            continue
        for number, (mine, theirs) in enumerate(zip(a.ids, b.ids, strict=False)):
            if mine != theirs:
                found.append(Parting(number, (a.source, b.source), f"round {number} is not the same"))
                break
    everything = {name for each in views for name in each.ids}
    sources = ", ".join(each.source for each in views)
    for device, names in (seen or {}).items():
        for name in names:
            if name not in everything:
                reason = f"round {name} was shown to the device and is in no chain"
                found.append(Parting(None, (device, sources), reason))
    return sorted(found, key=lambda p: (p.number is None, p.number or 0))


def text(rounds: Iterable[Round]) -> bytes:
    """The rounds as a file that `read_view` reads."""
    return b"".join(asked.to_json().encode("utf-8") + b"\n" for asked in rounds)


def _broken(source: str, number: int, what: str) -> TacitError:
    return TacitError(
        "rounds_part",
        f"the chain from {source} is broken: round {number} {what}",
        argument="rounds",
        hint="do not answer this study, and show others what you saw",
    )

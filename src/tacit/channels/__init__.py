"""Channels: randomisers as values, each with an exact privacy loss that is computed and never declared.

| function | report | when |
| --- | --- | --- |
| `srr` | a category | few categories, or a large epsilon |
| `rrrr` | a category | some categories are likelier than others (AdOBEst-LDP) |
| `subset` | a set of categories | small epsilon: the least noise for up to some hundred categories |
| `coarse` | a set of cells | a few categories matter, the others may share a cell |
| `hashed` | hash function, bucket | many categories: nine bytes a report |
| `from_matrix` | a row number | any other mechanism that you have as a matrix |
| `graded` | a grade, 0 to steps | a number: its level on an even scale; `steps=1` is the sign response |
| `binned` | as the channel inside | a number, by cells between edges of your own and any channel above |

`clipped_laplace` and `clipped_gaussian` add noise to a number; they are for simulation and comparison, and no device
runs them.

>>> channel = srr(k=4, epsilon=1.0)
>>> channel.loss <= channel.epsilon, channel.respond(2) in range(4)
(True, True)
>>> channel.matrix().round(3)[0]
array([0.475, 0.175, 0.175, 0.175])
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy.typing as npt

from tacit.channels.base import Channel
from tacit.channels.binned import BinnedChannel
from tacit.channels.blocks import BlockChannel
from tacit.channels.clipped import ClippedNoise, clipped_gaussian, clipped_laplace
from tacit.channels.dense import DenseChannel
from tacit.channels.hashed import HashedChannel
from tacit.channels.subsets import SubsetChannel
from tacit.errors import TacitError
from tacit_client import build, check
from tacit_client.channel import parse_channel
from tacit_client.tables import Binned, Blocks, Dense, Hashed, Subsets, Table

Number = int | float | Decimal | Fraction | str

_FINITE: dict[type[Table], type[Channel[Any]]] = {
    Blocks: BlockChannel,
    Dense: DenseChannel,
    Hashed: HashedChannel,
    Subsets: SubsetChannel,
}


def srr(k: int, epsilon: float) -> BlockChannel:
    """Standard randomised response: the answer with odds exp(epsilon) : 1 against each other category."""
    return BlockChannel(build.srr(k, epsilon))


def rrrr(k: int, subset: npt.ArrayLike, epsilon: float, kappa: float) -> BlockChannel:
    """Randomly restricted randomised response of AdOBEst-LDP, by its Theorem 1.

    `subset` holds the categories thought likely (at most k - 1 of them); `kappa`, in (0, 1], is the share of
    epsilon spent on telling them apart. An empty subset gives `srr`.
    """
    return BlockChannel(build.rrrr(k, subset, epsilon, kappa))


def subset(k: int, epsilon: float, size: int | None = None) -> SubsetChannel:
    """Subset response: a report names `size` categories; None picks the size with the least variance."""
    return SubsetChannel(build.subset(k, epsilon, size))


def coarse(k: int, keep: npt.ArrayLike, epsilon: float, size: int | None = None) -> SubsetChannel:
    """Subset response on the kept categories and one common cell for all the others.

    Reports are cells: position i for the i-th smallest kept category, and len(keep) for the rest.
    """
    return SubsetChannel(build.coarse(k, keep, epsilon, size))


def hashed(k: int, epsilon: float) -> HashedChannel:
    """Hashed response, for up to 2^21 categories and an epsilon of at most about 5.5."""
    return HashedChannel(build.hashed(k, epsilon))


def from_matrix(matrix: npt.ArrayLike, epsilon: float) -> DenseChannel:
    """A channel from P[y, x], the probability of report y under answer x.

    Refused if its log-ratio is above epsilon + 1e-9, else rounded inwards to integers that keep epsilon. Rows
    of zeros are dropped; a row with some zeros is refused, for it would reveal an answer.
    """
    return DenseChannel(build.dense(matrix, epsilon))  # type: ignore[arg-type]


def graded(lo: Number, hi: Number, steps: int, epsilon: float) -> BinnedChannel:
    """A number clipped to lo..hi and rounded to one of steps + 1 even grades, which geometric noise then moves.

    `steps=1` is the sign response: on which side of the middle the number is, by randomised response. The ends are
    taken as they are written: 0.1 and "0.1" are one tenth.
    """
    table = build.graded(lo, hi, steps, epsilon)
    return BinnedChannel(table, from_table(table.inner))


def binned(edges: Iterable[Number], channel: Channel[Any]) -> BinnedChannel:
    """A number by its cell: `edges` cut the line into len(edges) + 1 cells, which `channel` takes as categories.

    A number equal to an edge is in the upper cell.
    """
    if not isinstance(channel, Channel) or channel.numeric:
        raise TacitError(
            "argument_invalid",
            f"channel is {check.shown(channel)}",
            argument="channel",
            hint="give a channel of categories, such as srr(k=len(edges) + 1, epsilon)",
        )
    return BinnedChannel(build.binned(edges, channel.table), channel)


def from_table(table: Table) -> Channel[Any]:
    """The channel of a table, such as the one of a Round; refused if it leaks more than it states."""
    if not isinstance(table, Table):
        raise TacitError(
            "argument_invalid",
            f"table is {check.shown(table)}",
            argument="table",
            hint="give a table of tacit_client; from_json reads the text of a channel",
        )
    if isinstance(table, Binned):
        return BinnedChannel(table, from_table(table.inner))
    return next(made for kind, made in _FINITE.items() if isinstance(table, kind))(table)


def from_json(text: str | bytes) -> Channel[Any]:
    """The channel of a canonical JSON text, as `to_json` gives it."""
    return from_table(parse_channel(text))


__all__ = [
    "BinnedChannel",
    "Channel",
    "ClippedNoise",
    "binned",
    "clipped_gaussian",
    "clipped_laplace",
    "coarse",
    "from_json",
    "from_matrix",
    "from_table",
    "graded",
    "hashed",
    "rrrr",
    "srr",
    "subset",
]

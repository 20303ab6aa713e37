"""The wire form of a channel, and its strict reader.

    {"epsilon":"1","k":"3","kind":"blocks",...,"type":"channel","version":"1"}

The reader accepts a table only if every weight is in order. It does not judge what the table leaks: that is the
certificate's work, which a device does next and `tacit audit` prints.

>>> from tacit_client.build import srr
>>> parse_channel(channel_text(srr(4, 1))) == srr(4, 1)
True
"""

from __future__ import annotations

from tacit_client import canonical, check
from tacit_client.errors import TacitError
from tacit_client.tables import KINDS, Table
from tacit_client.tables.base import kind_of

HEADER = frozenset({"type", "version", "kind", "k", "epsilon"})


def channel_message(table: Table) -> dict[str, object]:
    """A table as a message."""
    return {
        "type": "channel",
        "version": "1",
        "kind": table.kind,
        "k": str(table.k),
        "epsilon": check.format_decimal(table.epsilon),
        **table.write(),
    }


def channel_text(table: Table) -> str:
    """The canonical JSON of a table."""
    return canonical.encode_bounded(channel_message(table))


def channel_id(table: Table) -> str:
    """The content id of a table: SHA-256 of its canonical JSON."""
    return canonical.content_id(channel_message(table))


def read_channel(message: object) -> Table:
    """A table from a decoded message, every field checked."""
    if not isinstance(message, dict):
        raise TacitError(
            "field_invalid",
            f"channel is {check.shown(message)}",
            argument="channel",
            hint="write a channel as a JSON object",
        )
    canonical.read_header(message, "channel")
    table = kind_of(message, KINDS)
    fields = canonical.read_fields(message, "channel", HEADER | table.required, table.optional)
    k = check.parse_integer(fields["k"], "k", 2, check.MAX_CATEGORIES)
    epsilon = check.parse_decimal(fields["epsilon"], "epsilon")
    return table.read(fields, k, check.stated_epsilon(epsilon, fields["epsilon"]))


def parse_channel(text: str | bytes) -> Table:
    """A table from its canonical JSON, refused unless it is exactly that."""
    return read_channel(canonical.decode(text))

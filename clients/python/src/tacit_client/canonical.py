"""The one form that messages have on the wire.

A message is a JSON object of objects, lists, strings and null, in UTF-8, keys sorted, no white space, no
numbers. It is accepted only when encoding what was read gives back the same bytes. That single rule
refuses duplicate keys, NaN, 1e999, escapes that hide a character, and everything else that two parsers
might read in two ways. Size is checked before anything is parsed.

>>> encode({"b": ["1"], "a": None})
'{"a":null,"b":["1"]}'
>>> decode('{"a": null}')
Traceback (most recent call last):
...
tacit_client.errors.TacitError: the message is not in canonical form: sort the keys, use no white space...
"""

from __future__ import annotations

import hashlib
import json
from typing import NoReturn

from tacit_client.check import shown
from tacit_client.errors import TacitError

MAX_BYTES = 1 << 20


def encode(message: dict[str, object]) -> str:
    """The canonical text of a message."""
    return json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def content_id(message: dict[str, object]) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(encode(message).encode("utf-8")).hexdigest()


def encode_bounded(message: dict[str, object]) -> str:
    """The canonical text, refused when no receiver would accept its size."""
    text = encode(message)
    if len(text.encode("utf-8")) > MAX_BYTES:
        raise _too_large()
    return text


def decode(text: str | bytes) -> dict[str, object]:
    """Read a message strictly: size first, then syntax, then canonical form."""
    if not isinstance(text, str | bytes):
        raise TacitError(
            "argument_invalid",
            f"a message is {type(text).__name__}",
            argument="text",
            hint="give the text or the bytes of a message",
        )
    if len(text) > MAX_BYTES:
        raise _too_large()
    try:
        data = text.encode("utf-8") if isinstance(text, str) else text
        if len(data) > MAX_BYTES:
            raise _too_large()
        message = json.loads(
            data.decode("utf-8"),
            parse_int=_no_number,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
        _refuse_booleans(message)
        if isinstance(message, dict) and encode(message).encode("utf-8") == data:
            return message
    except (UnicodeError, json.JSONDecodeError, RecursionError) as error:
        raise TacitError(
            "message_malformed",
            f"the message is not UTF-8 JSON ({type(error).__name__})",
            hint="send the text that to_json() gave, unchanged",
        ) from None
    if not isinstance(message, dict):
        raise TacitError(
            "message_malformed",
            "the message is not a JSON object",
            hint="send the text that to_json() gave, unchanged",
        )
    raise TacitError(
        "message_not_canonical",
        "the message is not in canonical form",
        hint="sort the keys, use no white space, no duplicate keys and no needless escapes",
    )


def read_fields(
    message: object,
    name: str,
    required: frozenset[str],
    optional: frozenset[str] = frozenset(),
) -> dict[str, object]:
    """The fields of an object, when they are exactly the known ones."""
    if not isinstance(message, dict):
        raise TacitError(
            "field_invalid",
            f"{name} is {shown(message)}",
            argument=name,
            hint="write a JSON object",
        )
    for field in sorted(required - message.keys()):
        raise TacitError("field_missing", f"{name} has no {field}", argument=field, hint="add the field")
    for field in sorted(message.keys() - required - optional):
        raise TacitError(
            "field_unknown",
            f"{name} has a field {shown(field)}",
            argument=name,
            hint="remove it, or update tacit_client if it comes from a later version",
        )
    return message


def read_header(message: dict[str, object], kind: str) -> None:
    """Check the type and version that every message starts from, before its other fields."""
    for field in ("type", "version"):
        if field not in message:
            raise TacitError(
                "field_missing", f"the message has no {field}", argument=field, hint="add the field"
            )
    if message["type"] != kind:
        raise TacitError(
            "field_invalid",
            f"the message is a {shown(message['type'])}, not a {kind}",
            argument="type",
            hint=f"give a {kind}",
        )
    if message["version"] != "1":
        raise TacitError(
            "version_unknown",
            f"the {kind} has version {shown(message['version'])}",
            argument="version",
            hint="this release reads version 1: update tacit_client",
        )


def _too_large() -> TacitError:
    return TacitError(
        "message_too_large",
        f"the message is longer than {MAX_BYTES} bytes",
        hint="no honest message is that long; for many categories use a hashed channel",
    )


def _refuse_booleans(value: object) -> None:
    if isinstance(value, bool):
        _no_number(str(value).lower())
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _refuse_booleans(part)


def _no_number(text: str) -> NoReturn:
    raise TacitError(
        "message_malformed",
        f"the message holds a bare {shown(text)}",
        hint="numbers travel as strings of decimal digits; there are no booleans",
    )

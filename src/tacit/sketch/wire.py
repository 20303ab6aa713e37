"""How a sketch is written: a line that names the format, a line of JSON, arrays, and SHA-256 of all that.

    tacit sketch 1\n
    {"parts":[["cells","<i8",[3,5]]],"record":{...},"what":"sketch"}\n
    the arrays, little-endian, one after the other
    32 bytes of SHA-256

The sum finds damage, not forgery: keep the file where only its owner writes. Nothing in it is executed.

>>> data = pack("sketch", {"d": 1}, {"cells": np.array([[1, 2]])})
>>> unpack(data, "sketch")
({'d': 1}, {'cells': array([[1, 2]])})
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.errors import TacitError
from tacit_client import check

NAME = b"tacit sketch "
VERSION = b"1"
TYPES = ("<i8", "<i4", "|u1")
_SUM = 32
Parts = dict[str, npt.NDArray[Any]]


def pack(what: str, record: Mapping[str, Any], parts: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """The bytes of a record and its arrays."""
    fields = [[name, part.dtype.newbyteorder("<").str, list(part.shape)] for name, part in parts.items()]
    assert all(field[1] in TYPES for field in fields)
    header = {"what": what, "record": record, "parts": fields}
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    little = [np.ascontiguousarray(part, part.dtype.newbyteorder("<")).tobytes() for part in parts.values()]
    body = b"".join([NAME, VERSION, b"\n", text, b"\n", *little])
    return body + hashlib.sha256(body).digest()


def unpack(data: object, what: str | None = None) -> tuple[dict[str, Any], Parts]:
    """The record and the arrays that `pack` wrote; refused when damaged, of another kind, or of another version."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TacitError(
            "argument_invalid",
            f"data is {check.shown(data)}",
            argument="data",
            hint="give the bytes that to_bytes() wrote",
        )
    raw = bytes(data)
    line, _, rest = raw.partition(b"\n")
    version = line.removeprefix(NAME)
    if line.startswith(NAME) and version != VERSION and version.isdigit():
        raise TacitError(
            "version_unknown",
            f"the sketch has format {version.decode()[:20]}",
            argument="data",
            hint=f"this release reads format {VERSION.decode()}: update tacit",
        )
    if line != NAME + VERSION or len(rest) < _SUM or hashlib.sha256(raw[:-_SUM]).digest() != raw[-_SUM:]:
        raise damaged()
    text, _, body = rest[:-_SUM].partition(b"\n")
    try:
        header = json.loads(text)
        parts = dict(_arrays(header["parts"], body))
        record: dict[str, Any] = header["record"]
    except (KeyError, TypeError, ValueError):
        raise damaged() from None
    if what is not None and header["what"] != what:
        raise TacitError(
            "sketch_mismatch",
            f"these are the bytes of a {check.shown(header['what'])}, not of a {what}",
            argument="data",
            hint="read private sketches with tacit.sketch.private_from_bytes, others with tacit.sketch.from_bytes",
        )
    return record, parts


def _arrays(fields: list[Any], body: bytes) -> list[tuple[str, npt.NDArray[Any]]]:
    out, start = [], 0
    for name, kind, shape in fields:
        if kind not in TYPES or any(side < 0 for side in shape):
            raise ValueError(kind)
        count = math.prod(shape)
        stop = start + count * np.dtype(kind).itemsize
        values = np.frombuffer(body[start:stop], kind).reshape(shape)
        out.append((name, values.astype(np.dtype(kind).newbyteorder("="))))
        start = stop
    if start != len(body):
        raise ValueError("bytes are left over")
    return out


def damaged() -> TacitError:
    """The refusal of bytes that are not as they were written."""
    return TacitError(
        "message_malformed",
        "the sketch is damaged",
        argument="data",
        hint="give the bytes that to_bytes() wrote, unchanged",
    )

"""Items: what a user hands over, as integers or as digests.

Accepted are integers (a list, or a numpy array of any integer type, within -2^63..2^63-1), strings and bytes (a
list, or a numpy array), and every column that speaks the Arrow interface: pyarrow, Polars, pandas 3. Null, boolean
and fractional items are refused, and so are columns that mix integers with strings.

>>> read_items(["a", b"a"], seed=0).digests.tolist() == read_items(["a", "a"], seed=0).digests.tolist()
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Integers
from tacit.errors import TacitError
from tacit.sketch import hashing
from tacit.sketch.hashing import Words
from tacit_client import check

HINT = "give whole numbers below 2^63, strings or bytes: a list, a numpy array, or an Arrow, Polars or pandas column"
LARGEST_WEIGHT = 2**31 - 1


@dataclass(frozen=True)
class Items:
    """`keys` when they are integers, `digests` when they are not."""

    seed: int
    keys: Integers | None
    hashed: Words | None

    def __len__(self) -> int:
        values = self.keys if self.keys is not None else self.hashed
        assert values is not None
        return len(values)

    @property
    def digests(self) -> Words:
        """The digest of every item."""
        if self.hashed is not None:
            return self.hashed
        return hashing.digest(self.keys, self.seed)


def read_items(items: object, seed: int, argument: str = "items") -> Items:
    """The items of a caller, checked."""
    if isinstance(items, Items):
        return items
    if hasattr(items, "__arrow_c_stream__") or hasattr(items, "__arrow_c_array__"):
        return _from_arrow(items, seed, argument)
    if isinstance(items, str | bytes | dict) or not (
        hasattr(items, "__len__") and hasattr(items, "__getitem__")
    ):
        raise arrays.refuse(items, argument, HINT)
    if hasattr(items, "__array__"):
        values = np.asarray(items)
        if values.ndim != 1 or values.dtype.kind not in "iuOUST":
            raise arrays.refuse(items, argument, HINT)
        if values.dtype.kind in "iu":
            return Items(seed, arrays.integers(values, argument, -(2**63), 2**63 - 1), None)
        items = values.tolist()
    return _from_list(list(items), seed, argument)  # type: ignore[call-overload]


def _from_list(values: list[Any], seed: int, argument: str) -> Items:
    if not values:
        raise arrays.refuse(values, argument, HINT)
    kinds = set(map(type, values))
    if kinds <= {str, bytes}:
        return Items(seed, None, hashing.digest_bytes(*_joined(values, kinds), seed))
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        try:
            return Items(seed, np.fromiter(values, np.int64, len(values)), None)
        except OverflowError:
            pass
    wrong = next((v for v in values if not _fits(v)), values)
    raise arrays.refuse(wrong, argument, HINT)


def _joined(values: list[Any], kinds: set[type]) -> tuple[npt.NDArray[np.uint8], Integers]:
    """All strings in one buffer, and where each begins."""
    if kinds == {str} and (text := "".join(values)).isascii():
        data = text.encode()
    else:
        values = [value.encode() if isinstance(value, str) else value for value in values]
        data = b"".join(values)
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
    return np.frombuffer(data, np.uint8), offsets


def _fits(value: object) -> bool:
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool) and -(2**63) <= int(value) < 2**63
    return isinstance(value, str | bytes)


def _from_arrow(items: object, seed: int, argument: str) -> Items:
    try:
        import pyarrow as pa
    except ImportError:
        raise TacitError(
            "dependency_missing",
            "columns are read by pyarrow, which is not installed",
            argument=argument,
            hint="pip install 'tacit[sketch]', or give a list or a numpy array",
        ) from None
    try:
        column = pa.chunked_array(items)
    except (pa.ArrowException, TypeError, ValueError):
        raise arrays.refuse(items, argument, HINT) from None
    if len(column) == 0:
        raise arrays.refuse(items, argument, HINT)
    if column.null_count:
        raise TacitError(
            "argument_invalid",
            f"{column.null_count} of {argument} are null",
            argument=argument,
            hint="drop the nulls, or give them a name of their own",
        )
    if pa.types.is_dictionary(column.type):
        return _from_dictionary(column, seed, argument)
    if pa.types.is_integer(column.type):
        values = column.to_numpy()
        return Items(seed, arrays.integers(values, argument, -(2**63), 2**63 - 1), None)
    if _is_text(pa, column.type):
        parts = [_arrow_digests(pa, chunk, seed) for chunk in column.chunks if len(chunk)]
        return Items(seed, None, np.concatenate(parts))
    raise arrays.refuse(items, argument, HINT)


def _is_text(pa: Any, kind: Any) -> bool:
    kinds = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in (*kinds, "fixed_size_binary"))


def _arrow_digests(pa: Any, chunk: Any, seed: int) -> Words:
    plain = chunk.cast(pa.large_binary())
    _, offsets, data = plain.buffers()
    starts = np.frombuffer(offsets, np.int64)[plain.offset : plain.offset + len(plain) + 1]
    values = np.frombuffer(data if data is not None else b"", np.uint8)
    return hashing.digest_bytes(values, starts, seed)


def _from_dictionary(column: Any, seed: int, argument: str) -> Items:
    # A word is hashed once a chunk, however often it occurs.
    parts = []
    for chunk in column.chunks:
        if len(chunk):
            words = _from_list(chunk.dictionary.to_pylist(), seed, argument).digests
            parts.append(words[chunk.indices.to_numpy()])
    return Items(seed, None, np.concatenate(parts))


def read_weights(weights: object, count: int, low: int, high: int = LARGEST_WEIGHT) -> Integers:
    """One whole number for each item; shape (1,) when all weigh 1."""
    if weights is None:
        return np.ones(1, np.int64)
    values = np.asarray(weights) if hasattr(weights, "__array__") else weights
    out = arrays.integers(values, "weights", low, high)
    if len(out) != count:
        raise TacitError(
            "argument_invalid",
            f"there are {len(out)} weights for {count} items",
            argument="weights",
            hint="give one weight for each item, or none",
        )
    return np.ascontiguousarray(out)


def check_seed(seed: object) -> int:
    """A public seed: a whole number below 2^64."""
    return check.integer(seed, "seed", 0, 2**64 - 1)

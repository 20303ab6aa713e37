"""Hashing: from an item to a digest of 64 bits, and from the digest to a column and a sign in every row.

**Digest.** XXH3 (64 bits) with a seed of its own, of the UTF-8 bytes of a string, of bytes, or of the eight bytes
(little-endian, two's complement) of an integer. Different integers never share a digest; different strings do with
probability about 2^-64. Strings and bytes agree where their bytes do; the integer 7 and the string "7" are
different items.

**Row.** Pair-multiply-shift (Thorup, "High speed hashing for integers and strings"): with the halves x1, x0 of a
digest and random 64-bit words a, the upper 32 bits of (a0 + x0)(a1 + x1) + a2, and from them the column (bits * w)
>> 32. The sign is the top bit of a second such word. Columns of two digests are pairwise independent and uniform
within w / 2^32; so are signs; rows, columns and signs are independent of each other. This much is proved when the
words are random; it gives the mean and the variance of an estimate, and so Theorem 5. Intervals from the rows alone
also take the signs of an item's neighbours to be jointly independent: that is an assumption about XXH3, and is
tested, not proved.

The words come from SHAKE-256 of the seed, so a seed gives the same sketch in every process and on every platform.
The seed is public: hashing protects nobody, and whoever knows it can choose items that collide.

>>> digests = digest([3, 4], seed=1)
>>> columns, signs = places(digests, seed=1, d=3, w=100)
>>> columns.shape, sorted(set(signs.ravel().tolist()))
((2, 3), [-1, 1])
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tacit.arrays import Integers
from tacit.errors import TacitError

Words = npt.NDArray[np.uint64]

WORDS = 6  # coefficients of a row: three for the column, three for the sign
_DOMAIN = b"tacit sketch 1"
# XXH3's secret, bytes 8 to 23: what the eight-byte case uses.
_SECRET = 0x1CAD21F72C81017C ^ 0xDB979083E96DD4DE
_MASK = 2**64 - 1


@lru_cache(maxsize=64)
def _stream(seed: int, words: int) -> Words:
    data = hashlib.shake_256(_DOMAIN + seed.to_bytes(8, "little")).digest(8 * words)
    out = np.frombuffer(data, "<u8").astype(np.uint64)
    out.setflags(write=False)
    return out


def coefficients(seed: int, d: int) -> Words:
    """The words of d rows, (d, 6). A deeper sketch of the same seed has the same first rows."""
    return _stream(seed, 2 + WORDS * d)[2:].reshape(d, WORDS)


def integer_flip(seed: int) -> np.uint64:
    """What the eight-byte XXH3 adds to a key: its secret less the seed."""
    own = int(_stream(seed, 2)[0])
    swapped = int.from_bytes((own & 0xFFFFFFFF).to_bytes(4, "little"), "big")
    return np.uint64((_SECRET - (own ^ (swapped << 32))) & _MASK)


def digest_bytes(data: npt.NDArray[np.uint8], offsets: Integers, seed: int) -> Words:
    """The digests of byte strings that lie one after the other: number n from offsets[n] to offsets[n + 1]."""
    from tacit.sketch import xxh3

    own = _stream(seed, 2)[1]
    out = np.empty(len(offsets) - 1, np.uint64)
    xxh3.hash_short(data, offsets, own, out)
    long = np.flatnonzero(np.diff(offsets) > xxh3.SHORT)
    if len(long):
        one, seeded = _xxh3(), int(own)
        places = zip(offsets[long].tolist(), offsets[long + 1].tolist(), strict=True)
        out[long] = np.fromiter((one(data[a:b], seeded) for a, b in places), np.uint64, len(long))
    return out


def digest(keys: object, seed: int) -> Words:
    """The digests of integers (n,)."""
    from tacit.sketch import kernels

    words = np.ascontiguousarray(keys, dtype=np.int64).view(np.uint64)
    out = np.empty(len(words), np.uint64)
    kernels.digest_integers(words, integer_flip(seed), out)
    return out


def places(digests: Words, seed: int, d: int, w: int) -> tuple[Integers, npt.NDArray[np.int8]]:
    """The columns (n, d) and the signs (n, d) of items."""
    from tacit.sketch import kernels

    columns = np.empty((len(digests), d), np.int64)
    signs = np.empty((len(digests), d), np.int8)
    kernels.places(digests, coefficients(seed, d), w, columns, signs)
    return columns, signs


def _xxh3() -> Callable[..., int]:
    try:
        from xxhash import xxh3_64_intdigest
    except ImportError:
        raise TacitError(
            "dependency_missing",
            "strings above 16 bytes are hashed by xxhash, which is not installed",
            argument="items",
            hint="pip install 'tacit[sketch]'; integers and short strings need nothing more",
        ) from None
    return xxh3_64_intdigest

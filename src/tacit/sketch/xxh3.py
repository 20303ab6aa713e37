"""XXH3 (64 bits, with a seed) of many short byte strings in one buffer, compiled.

xxhash hashes one Python object a call; a column of words is hashed here without making them. Strings above 16 bytes
are left to xxhash. The test compares every length with it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from tacit.sketch.kernels import Words

SHORT = 16
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578"
    "825ad07dccff7221b8084674f743248ee03590e6813a264c3c2852bb91c300cb"
)


def _word(at: int, size: int = 8) -> int:
    return int.from_bytes(_SECRET[at : at + size], "little")


_FLIP_0 = np.uint64(_word(56) ^ _word(64))
_FLIP_3 = np.uint64(_word(0, 4) ^ _word(4, 4))
_FLIP_8 = np.uint64(_word(8) ^ _word(16))
_FLIP_16A = np.uint64(_word(24) ^ _word(32))
_FLIP_16B = np.uint64(_word(40) ^ _word(48))
_PRIME_2, _PRIME_3 = np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_MX_1, _MX_2 = np.uint64(0x165667919E3779F9), np.uint64(0x9FB21C651E98DF25)
_LOW = np.uint64(0xFFFFFFFF)
_8, _15, _16, _24, _28, _29, _32, _33, _35, _37, _40, _49 = (
    np.uint64(n) for n in (8, 15, 16, 24, 28, 29, 32, 33, 35, 37, 40, 49)
)
Bytes = npt.NDArray[np.uint8]


@njit(inline="always")
def _read(data: Bytes, at: int, size: int) -> np.uint64:
    word = np.uint64(0)
    for k in range(size):
        word |= np.uint64(data[at + k]) << np.uint64(8 * k)
    return word


@njit(inline="always")
def _swapped(word: np.uint64, size: int) -> np.uint64:
    out = np.uint64(0)
    for k in range(size):
        out |= ((word >> np.uint64(8 * k)) & np.uint64(255)) << np.uint64(8 * (size - 1 - k))
    return out


@njit(inline="always")
def _avalanche(h: np.uint64) -> np.uint64:
    h = (h ^ (h >> _33)) * _PRIME_2
    h = (h ^ (h >> _29)) * _PRIME_3
    return h ^ (h >> _32)


@njit(inline="always")
def _folded(a: np.uint64, b: np.uint64) -> np.uint64:
    # The upper half of the product of 128 bits, xor the lower half.
    a0, a1, b0, b1 = a & _LOW, a >> _32, b & _LOW, b >> _32
    low, middle, other = a0 * b0, a1 * b0, a0 * b1
    cross = (low >> _32) + (middle & _LOW) + other
    high = (middle >> _32) + (cross >> _32) + a1 * b1
    return ((cross << _32) | (low & _LOW)) ^ high


@njit(inline="always")
def _hash(data: Bytes, at: int, size: int, seed: np.uint64) -> np.uint64:
    wide = np.uint64(size)
    if size > 8:
        a = _read(data, at, 8) ^ (_FLIP_16A + seed)
        b = _read(data, at + size - 8, 8) ^ (_FLIP_16B - seed)
        h = wide + _swapped(a, 8) + b + _folded(a, b)
        h = (h ^ (h >> _37)) * _MX_1
        return h ^ (h >> _32)
    if size > 3:
        first, last = _read(data, at, 4), _read(data, at + size - 4, 4)
        h = (last + (first << _32)) ^ (_FLIP_8 - (seed ^ (_swapped(seed & _LOW, 4) << _32)))
        h ^= ((h << _49) | (h >> _15)) ^ ((h << _24) | (h >> _40))
        h *= _MX_2
        h ^= (h >> _35) + wide
        h *= _MX_2
        return h ^ (h >> _28)
    if size == 0:
        return _avalanche(seed ^ _FLIP_0)
    a, b, c = np.uint64(data[at]), np.uint64(data[at + (size >> 1)]), np.uint64(data[at + size - 1])
    return _avalanche(((a << _16) | (b << _24) | c | (wide << _8)) ^ (_FLIP_3 + seed))


@njit(cache=True)
def hash_short(data: Bytes, offsets: npt.NDArray[np.int64], seed: np.uint64, out: Words) -> None:
    """Set out[n] to the hash of data[offsets[n] : offsets[n + 1]] where that is not longer than 16 bytes."""
    for n in range(out.shape[0]):
        size = offsets[n + 1] - offsets[n]
        if size <= SHORT:
            out[n] = _hash(data, offsets[n], size, seed)

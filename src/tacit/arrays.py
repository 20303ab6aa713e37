"""Checks of array arguments: the caller's own name, and no silent conversion.

>>> integers([0, 2], "answers", 0, 2)
array([0, 2])
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit_client import check
from tacit_client.errors import TacitError

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def refuse(values: object, argument: str, hint: str) -> TacitError:
    """The refusal of an array argument."""
    return TacitError(
        "argument_invalid", f"{argument} is {check.shown(values)}", argument=argument, hint=hint
    )


def integers(values: object, argument: str, low: int, high: int, columns: int | None = None) -> Integers:
    """A non-empty array of whole numbers in low..high: one axis, or rows of `columns`."""
    shape = "a list" if columns is None else f"rows of {columns}"
    hint = f"give {shape} of whole numbers from {low} to {high}"
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):
        raise refuse(values, argument, hint) from None
    fits = array.ndim == 1 if columns is None else array.ndim == 2 and array.shape[1] == columns
    if not fits or array.size == 0 or array.dtype.kind not in "iu":
        raise refuse(values, argument, hint)
    if isinstance(values, list | tuple) and _has_boolean(values):
        raise refuse(values, argument, hint)
    outside = (array < low) | (array > high)
    if outside.any():
        first = array[outside][0]
        raise refuse(int(first), argument, hint)
    return array.astype(np.int64, copy=False)


MAX_COUNT = 2**53  # of reports in all: below it every sum of counts is exact, in floats too


def counts(values: object, size: int) -> Integers:
    """`size` counts, each at least 1, that sum to less than 2^53."""
    found = integers(values, "counts", 1, MAX_COUNT)
    if len(found) != size or found.astype(np.float64).sum() >= MAX_COUNT:
        raise refuse(values, "counts", f"give {size} whole numbers of at least 1, one for each report")
    return found


def reals(values: object, argument: str) -> Floats:
    """A non-empty list of finite numbers."""
    hint = "give a list of finite numbers"
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):
        raise refuse(values, argument, hint) from None
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iuf":
        raise refuse(values, argument, hint)
    if isinstance(values, list | tuple) and _has_boolean(values):
        raise refuse(values, argument, hint)
    floats = array.astype(np.float64, copy=False)
    if not np.isfinite(floats).all():
        raise refuse(float(floats[~np.isfinite(floats)][0]), argument, hint)
    return floats


def _has_boolean(values: list[object] | tuple[object, ...]) -> bool:
    # numpy turns [0, True] into [0, 1] without a word.
    return any(
        _has_boolean(v) if isinstance(v, list | tuple) else isinstance(v, bool | np.bool_) for v in values
    )


def numbers(values: object, argument: str, hint: str) -> Floats:
    """Whole or real numbers as an array of floats, of any shape and any value."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):
        raise refuse(values, argument, hint) from None
    if array.dtype.kind not in "iuf":
        raise refuse(values, argument, hint)
    return array.astype(np.float64, copy=False)


def distribution(theta: object, argument: str = "theta", k: int | None = None) -> Floats:
    """A probability vector: finite, not negative, summing to 1 within 1e-9."""
    hint = f"give {k or 'two or more'} probabilities that sum to 1"
    try:
        array = np.asarray(theta)
    except (ValueError, TypeError):
        raise refuse(theta, argument, hint) from None
    if array.ndim != 1 or array.dtype.kind not in "iuf" or array.size != (k or max(array.size, 2)):
        raise refuse(theta, argument, hint)
    floats = array.astype(np.float64)
    if not np.isfinite(floats).all() or (floats < 0).any() or abs(floats.sum() - 1) > 1e-9:
        raise refuse(theta, argument, hint)
    return floats

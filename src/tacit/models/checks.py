"""Checks of the arrays that numerical models are given: points (mu, sigma), cuts, and what channels reported.

>>> cuts([40, 60])
array([40., 60.])
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats
from tacit.channels.clipped import LARGEST, interval
from tacit_client import check

SHARPEST = check.MAX_EPSILON * (1 + 1e-9)  # of (hi - lo) / scale
CUTS = "give one or more finite numbers, increasing"
ROWS = "give P(report | cell), one row for each report and one column for each cell: one more than the cuts"
COUNTS = "give how often each report was made: a positive number for each row"
PARTS = "give a list of (cuts, rows, counts), one for each channel"


def line(values: object, argument: str, hint: str) -> Floats:
    """One or more finite numbers."""
    array = np.atleast_1d(arrays.numbers(values, argument, hint))
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all():
        raise arrays.refuse(values, argument, hint)
    return array


def levels(values: npt.ArrayLike, argument: str = "p") -> Floats:
    """Probabilities that are neither 0 nor 1."""
    hint = "give probabilities above 0 and below 1"
    array = line(values, argument, hint)
    if (array <= 0).any() or (array >= 1).any():
        raise arrays.refuse(values, argument, hint)
    return array


def rows(points: npt.ArrayLike) -> Floats:
    """Rows (mu, sigma) of any numbers but NaN."""
    hint = "give rows (mu, sigma)"
    array = arrays.numbers(points, "points", hint)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or np.isnan(array).any():
        raise arrays.refuse(points, "points", hint)
    return array


def points(given: npt.ArrayLike) -> Floats:
    """Rows (mu, sigma) of finite numbers, sigma above 0."""
    array = rows(given)
    if not supported(array).all():
        raise arrays.refuse(given, "points", "give rows (mu, sigma) of finite numbers, sigma above 0")
    return array


def supported(array: Floats) -> npt.NDArray[np.bool_]:
    """Which rows (mu, sigma) are points: from 1e-100 to 1e100, so that no product of them overflows."""
    mu, sigma = array.T
    out: npt.NDArray[np.bool_] = (np.abs(mu) <= LARGEST) & (sigma >= 1 / LARGEST) & (sigma <= LARGEST)
    return out


def cuts(given: npt.ArrayLike) -> Floats:
    """Increasing finite numbers."""
    array = line(given, "cuts", CUTS)
    if (np.diff(array) <= 0).any():
        raise arrays.refuse(given, "cuts", CUTS)
    return array


def shapes(part: object, rows: str = "rows") -> tuple[Floats, Floats, Floats]:
    """The cuts (m,), rows (D, m + 1) and counts (D,) of one channel; `contents` looks at the numbers in them.

    `rows` is what the caller calls them.
    """
    if not isinstance(part, tuple | list) or len(part) != 3:
        raise arrays.refuse(part, "parts", PARTS)
    edges = arrays.numbers(part[0], "cuts", CUTS)
    table = arrays.numbers(part[1], rows, ROWS)
    times = arrays.numbers(part[2], "counts", COUNTS)
    if edges.ndim != 1 or not len(edges):
        raise arrays.refuse(part[0], "cuts", CUTS)
    if table.ndim != 2 or table.shape[1] != len(edges) + 1 or not len(table):
        raise arrays.refuse(part[1], rows, ROWS)
    if times.shape != (len(table),):
        raise arrays.refuse(part[2], "counts", COUNTS)
    return edges, table, times


def contents(
    edges: Floats, inside: npt.NDArray[np.bool_], table: Floats, times: Floats, rows: str = "rows"
) -> None:
    """Refuse cuts that do not increase and numbers out of range; `inside` marks the steps within one channel."""
    if not np.isfinite(edges).all() or (np.diff(edges)[inside] <= 0).any():
        raise arrays.refuse(edges, "cuts", CUTS)
    if not np.isfinite(table).all() or (table < 0).any():
        raise arrays.refuse(table, rows, ROWS)
    if not np.isfinite(times).all() or (times <= 0).any():
        raise arrays.refuse(times, "counts", COUNTS)


def possible(tops: Floats, rows: str = "rows") -> None:
    """Refuse reports without a positive probability; `tops` are the largest entries of their rows."""
    if (tops <= 0).any():
        raise arrays.refuse(0.0, rows, "drop the reports that are impossible: rows of zeros")


def channel(part: object, rows: str = "rows") -> tuple[Floats, Floats, Floats]:
    """The cuts (m,), rows (D, m + 1) and counts (D,) of one channel, shapes and contents."""
    edges, table, times = shapes(part, rows)
    contents(edges, np.ones(len(edges) - 1, dtype=bool), table, times, rows)
    possible(table.max(axis=1), rows)
    return edges, table, times


def clipped(lo: object, hi: object, scale: object) -> tuple[float, float, float]:
    """An interval and the scale of its noise, at least 1/50 of the length: epsilon is at most 50."""
    low, high = interval(lo, hi)
    least = (high - low) / SHARPEST
    width = check.bounded(
        scale,
        "scale",
        lambda v: least <= v <= LARGEST,
        f"give a number of at least {least:.3g}, (hi - lo) / 50",
    )
    return low, high, float(width)


def spread(given: object, argument: str, n: int) -> Floats:
    """n finite numbers, or one for all."""
    hint = f"give a finite number, or one for each of the {n} reports"
    array = line(given, argument, hint)
    if len(array) not in (1, n) or (np.abs(array) > LARGEST).any():
        raise arrays.refuse(given, argument, hint)
    return np.broadcast_to(array, (n,)).copy()


def noise(given: object) -> str:
    """The name of a noise law."""
    if not isinstance(given, str) or given not in ("laplace", "gaussian"):
        raise arrays.refuse(given, "noise", 'give "laplace" or "gaussian"')
    return given

"""The data sets of the mixtures: a file of the folder, or a set that scikit-learn bundles.

The file is a CSV with a header and the target in its last column; names, origins and licences are in the README of
this folder. `load` gives the columns as they are, words as one 0/1 column a level; `standardised` is what the
thesis uses.

>>> x, y, names = load(None, "diabetes")
>>> x.shape, names[:2]
((442, 10), ['age', 'sex'])
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit import TacitError
from tacit_client import check

Floats = npt.NDArray[np.float64]
README = "experiments/regression/README.md"


class Source(NamedTuple):
    """A file, and the columns that are left out."""

    file: str
    without: tuple[str, ...] = ()


SOURCES = {
    "boston": Source("boston_housing.csv"),
    "airfoil": Source("airfoil_self_noise.csv"),
    "abalone": Source("abalone.csv", without=("sex",)),
}
BUNDLED = ("diabetes",)  # comes with scikit-learn


class Data(NamedTuple):
    """Columns (n, p), target (n,), and the names of the columns."""

    x: Floats
    y: Floats
    names: list[str]


@cache
def load(folder: Path | None, name: str) -> Data:
    """One data set; TacitError says which file is missing."""
    if name in BUNDLED:
        return _bundled()
    if name not in SOURCES:
        known = ", ".join([*SOURCES, *BUNDLED])
        raise TacitError(
            "argument_invalid", f"name is {check.shown(name)}", argument="name", hint=f"give one of {known}"
        )
    source = SOURCES[name]
    if folder is None or not (folder / source.file).is_file():
        raise TacitError(
            "argument_invalid",
            f"{source.file} is not in {folder or 'any folder that was named'}",
            argument="data",
            hint=f"give --data (or set TACIT_DATA to) the folder that holds the files named in {README}",
        )
    return _read(folder / source.file, source)


def _bundled() -> Data:
    from sklearn.datasets import load_diabetes

    found = load_diabetes()
    return Data(found.data, found.target, list(found.feature_names))


def _read(path: Path, source: Source) -> Data:
    with path.open(encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream)
        header = next(lines)
        rows = list(zip(*lines, strict=True))
    columns, names = [], []
    for name, cells in zip(header[:-1], rows[:-1], strict=True):
        if name in source.without:
            continue
        numbers = _numbers(cells)
        if numbers is not None:
            columns.append(numbers)
            names.append(name)
            continue
        for level in sorted(set(cells)):
            columns.append(np.array([cell == level for cell in cells], dtype=np.float64))
            names.append(f"{name}={level}")
    target = _numbers(rows[-1])
    if target is None:
        raise TacitError(
            "argument_invalid",
            f"the last column of {path.name} is no number",
            argument="data",
            hint=f"take the file described in {README}",
        )
    return Data(np.column_stack(columns), target, names)


def _numbers(cells: tuple[str, ...]) -> Floats | None:
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return None


def standardised(data: Data) -> Data:
    """Columns and target with mean 0 and standard deviation 1, all rows together, as in the thesis."""
    x, y = data.x, data.y
    return Data((x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean()) / y.std(), data.names)

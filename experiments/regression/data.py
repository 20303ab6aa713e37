"""The data sets of the regression experiments: a file of the folder, or a set that scikit-learn bundles.

The file is a CSV with a header and the target in its last column; names, origins and licences are in the README of
this folder. `load` gives the columns as they are, words as one 0/1 column a level; `standardised` is what the
thesis uses.

>>> x, y, names = load(None, "diabetes")
>>> x.shape, names[:2]
((442, 10), ['age', 'sex'])
"""

from __future__ import annotations

import csv
import gzip
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
    """A file, the columns that are left out, and those that are words or codes whatever they look like."""

    file: str
    without: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


SOURCES = {
    "boston": Source("boston_housing.csv"),
    "airfoil": Source("airfoil_self_noise.csv"),
    "abalone": Source("abalone.csv", without=("sex",)),
    "housing": Source("california_housing.csv.gz"),
    "ccpp": Source("ccpp.csv"),
    "spambase": Source("spambase.csv.gz"),
    "banknote": Source("banknote_authentication.csv"),
    "bupa": Source("bupa_liver.csv"),
    "phdpublications": Source("phdpublications.csv"),
    "nmes1988": Source("nmes1988.csv.gz"),
    "medicaid1986": Source("medicaid1986.csv"),
    "recreationdemand": Source("recreationdemand.csv"),
    "bikeshare": Source("bikeshare.csv.gz", words=("mnth", "hr", "weathersit")),
}
BUNDLED = ("diabetes", "wdbc")  # come with scikit-learn


class Data(NamedTuple):
    """Columns (n, p), target (n,), and the names of the columns."""

    x: Floats
    y: Floats
    names: list[str]


@cache
def load(folder: Path | None, name: str) -> Data:
    """One data set; TacitError says which file is missing."""
    if name in BUNDLED:
        return _bundled(name)
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


def _bundled(name: str) -> Data:
    from sklearn import datasets

    found = datasets.load_diabetes() if name == "diabetes" else datasets.load_breast_cancer()
    return Data(found.data.astype(np.float64), found.target.astype(np.float64), list(found.feature_names))


def _read(path: Path, source: Source) -> Data:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream)
        header = next(lines)
        rows = list(zip(*lines, strict=True))
    columns, names = [], []
    for name, cells in zip(header[:-1], rows[:-1], strict=True):
        if name in source.without:
            continue
        numbers = None if name in source.words else _numbers(cells)
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

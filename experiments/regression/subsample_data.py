"""The data sets of chapter 2: real files from a folder, simulated tables, and scikit-learn's own sets without a folder.

Columns of words become a column for each word (none left out, as in the thesis), in the order of the sorted words.
`leaks` names columns of which the target is made, or sisters of it. The thesis keeps them: so do the rows that repeat
its tables, and `-honest` rows drop them. The target `abalone` tells infants from
adults, which the thesis does not say but its error rate suggests. The Boston column `black` encodes the racial
composition of a district, the reason for which scikit-learn withdrew these data: they are here to repeat a published
table, and for nothing else.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import datasets

from tacit import TacitError

Floats = npt.NDArray[np.float64]


class Source(NamedTuple):
    """A file, the columns that are words although they look like numbers, and columns to leave out."""

    file: str
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    target: str = "y"


BIKE, NMES = Source("bikeshare.csv.gz", ("hr",)), Source("nmes1988.csv.gz")
LINEAR = {
    "housing": Source("boston_housing.csv"),
    "ccpp": Source("ccpp.csv"),
    "cadata": Source("california_housing.csv.gz"),
    "abalone": Source("abalone.csv", without=("sex",)),
    "airfoil": Source("airfoil_self_noise.csv"),
}
CLASSES = {
    "spambase": Source("spambase.csv.gz"),
    "abalone": Source("abalone.csv", target="sex"),
    "banknote": Source("banknote_authentication.csv"),
    "liver": Source("bupa_liver.csv"),
}
COUNTS = {
    "phdpublications": Source("phdpublications.csv"),
    "NMES1988": NMES,
    "NMES1988-honest": NMES._replace(without=("nvisits", "ovisits", "novisits")),
    "Medicaid1986": Source("medicaid1986.csv"),
    "bikeshare": BIKE,
    "bikeshare-honest": BIKE._replace(without=("casual", "registered")),
    "recreationdemand": Source("recreationdemand.csv"),
}
SOURCES = {"linear": LINEAR, "logistic": CLASSES, "svm": CLASSES, "poisson": COUNTS}
BUNDLED = {
    "linear": ("diabetes", "generated"),
    "logistic": ("wdbc",),
    "svm": ("wdbc",),
    "poisson": ("progression",),
}


def names(task: str, folder: Path | None) -> tuple[str, ...]:
    """The data sets of a task that can be had."""
    if folder is None:
        return BUNDLED[task]
    extra = {"linear": ("generated",), "logistic": ("wdbc",), "svm": ("wdbc",), "poisson": ()}
    return (*SOURCES[task], *extra[task])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def table(columns: dict[str, list[str]], words: tuple[str, ...]) -> Floats:
    """Numbers (N, p): a column of words becomes one of zeros and ones for each word."""
    made: list[Any] = []
    for name, cells in columns.items():
        numbers = [_number(cell) for cell in cells]
        if name not in words and None not in numbers:
            made.append(numbers)
        else:
            made += [[float(cell == word) for cell in cells] for word in sorted(set(cells))]
    return np.array(made, dtype=np.float64).T


def from_file(path: Path, source: Source) -> tuple[Floats, Floats]:
    """X and y of a file."""
    if not path.exists():
        raise TacitError(
            "argument_invalid", f"there is no {path.name}", argument="data",
            hint="give a folder that holds the files named in the README of this experiment",
        )  # fmt: skip
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = list(csv.DictReader(raw.decode("utf-8").splitlines()))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    target = columns.pop(source.target)
    for name in source.without:
        del columns[name]
    if source.target == "sex":
        y = np.array([cell == "I" for cell in target], dtype=np.float64)
    else:
        y = np.array(target, dtype=np.float64)
    return table(columns, source.words), y


def generated(seed: int = 1) -> tuple[Floats, Floats]:
    """1000 x 10 normal columns, normal coefficients, and noise of deviation 2, as table 2.5's error suggests."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1000, 10))
    return x, x @ rng.normal(size=10) + 2.0 * rng.normal(size=1000)


@cache
def read(task: str, name: str, folder: Path | None) -> tuple[Floats, Floats]:
    """X and y of a data set."""
    if name == "generated":
        return generated()
    if name == "wdbc":
        x, y = datasets.load_breast_cancer(return_X_y=True)
        return x, y.astype(np.float64)
    if name in ("diabetes", "progression"):
        x, y = datasets.load_diabetes(return_X_y=True)
        return x, y.astype(np.float64)
    if folder is None:
        raise TacitError(
            "argument_invalid",
            f"{name} needs a folder",
            argument="data",
            hint="give --data DIR or TACIT_DATA",
        )
    return from_file(folder / SOURCES[task][name].file, SOURCES[task][name])

"""The grid of the papers' experiments, and its populations.

A cell is (K, epsilon, rho): theta is one draw of Dirichlet(rho, ..., rho) over K categories, and 500 K people hold one
answer each, drawn from theta. Every run of a cell has its own theta and answers; all methods see the same ones. The
generator is seeded by the cell and the run, so a population can be made again anywhere, and the accuracy benchmark
judges tacit's own studies on these very people.

For rho = 0.01 most shares are too small for a double when drawn as gammas: `Categorical.sample_prior` works with
logarithms and stays exact.

>>> theta, answers, seed = population((10, 0.5, 0.01), 0)
>>> theta.shape, answers.shape
((10,), (5000,))
"""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

from tacit import Categorical

Cell = tuple[int, float, float]

CELLS: list[Cell] = list(product((10, 20), (0.5, 1.0, 5.0), (0.01, 0.1, 1.0)))
KAPPAS = (0.8, 0.9)
RUNS = 50
PEOPLE = 500  # for each category: the T = 500 K of the papers
YEAR = 2026  # keeps these seeds apart from those of other experiments


def population(cell: Cell, run: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], int]:
    """theta (K,), the answers (500 K,) in the order in which people are asked, and a seed for what follows."""
    k, epsilon, rho = cell
    rng = np.random.default_rng([YEAR, k, round(1000 * epsilon), round(1000 * rho), run])
    theta = Categorical(k, rho).sample_prior(1, rng).theta[0]
    theta /= theta.sum()
    return theta, rng.choice(k, PEOPLE * k, p=theta), int(rng.integers(2**31))

"""The best interval for a number: where a report says most about mu and sigma, at a given epsilon.

For answers mu + sigma Z the information about (mu, sigma) in a report made on [mu + sigma a, mu + sigma b] is that of
the base law on [a, b] divided by sigma^2 (Yildirim, "Differentially private online Bayesian estimation with adaptive
truncation", Theorem 3). So one search serves every (mu, sigma): the best interval is mu + sigma (a*, b*). This holds
for every score whose order does not change when the information is multiplied by a positive number:

| score | of the information F |
| --- | --- |
| "mu" | F[mu, mu], the paper's |
| "sigma" | F[sigma, sigma] |
| "trace" | their sum |
| "det" | ln det F |
| two weights, or a 2 x 2 matrix W | trace(W F) |

The noise is "laplace", the paper's clipped Laplace with b = (hi - lo) / epsilon, or "graded": the answer is clipped,
rounded to one of `steps` + 1 places from a to b and reported by the truncated geometric mechanism. One step is the sign
response; it depends on the middle of the interval only, and the interval returned is one unit to each side of it.

The best interval need not be symmetric, and the score is flat near it and may have several maxima. So a grid of middles
and lengths is searched, and its best places are improved by the simplex method. A symmetric interval is taken if
no other is better by more than a part in 10^9. Of two mirror images with the same score the upper one is returned.

>>> [round(end, 2) for end in best_interval("normal", 1.0, "mu")]
[-0.07, 0.07]
>>> a, b, steps = best_graded("normal", 10.0, "mu")
>>> round(a, 2), round(b, 2), steps
(-1.26, 1.26, 4)
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats
from tacit.models import families
from tacit.models.families import Family
from tacit.models.information import clipped_information, finite_information
from tacit_client import check

Interval = tuple[float, float]

NOISES = ("laplace", "graded")
SCORES = {"mu": (1.0, 0.0, 0.0, 0.0), "sigma": (0.0, 0.0, 0.0, 1.0), "trace": (1.0, 0.0, 0.0, 1.0), "det": ()}
HINT = f"give one of {', '.join(SCORES)}, two weights, or a positive semidefinite 2 x 2 matrix"
MOST_STEPS = 64
_BASE = np.array([[0.0, 1.0]])
_LENGTHS = np.geomspace(1e-6, 60.0, 40)
_MIDDLES = np.concatenate([[0.0], np.geomspace(0.05, 8.0, 14)])
_STARTS = 4
_PATIENCE = 3  # numbers of steps that do not help, before the search for the best number ends
_SAME = 1e-9


class Design(NamedTuple):
    """What is optimised: a base law, a mechanism, and a score; trace(W F), or ln det F when `weights` is empty."""

    law: Family
    epsilon: float
    noise: str
    steps: int
    weights: tuple[float, ...]

    def score(self, middle: float, log_length: float) -> float:
        """The score of the interval for the base law."""
        length = math.exp(log_length)
        if self.noise == "graded":
            cuts = (np.arange(self.steps) + 0.5) / self.steps - 0.5
            # The base law on middle + length x cuts is the law at (-middle, 1) / length on the cuts themselves.
            points = [[-middle / length, 1 / length]]
            matrix = _graded_matrix(self.steps, self.epsilon)
            information = finite_information(self.law, cuts, matrix, points)[0] / length**2
        else:
            ends = middle - length / 2, middle + length / 2
            information = clipped_information(self.law, *ends, length / self.epsilon, _BASE)[0]
        return self._compared(information)

    def _compared(self, information: Floats) -> float:
        if self.weights:
            return float(np.dot(self.weights, information.ravel()))
        a, b, d = information[0, 0], information[0, 1], information[1, 1]
        share = 1 - b * b / (a * d) if a * d > 0 else 0.0
        return float(np.log(a) + np.log(d) + np.log(share)) if share > 1e-12 else -1e6


def best_interval(
    family: str | Family,
    epsilon: float,
    score: str | npt.ArrayLike = "mu",
    noise: str = "laplace",
    steps: int | None = None,
) -> Interval:
    """The best (a, b) for the base law; for answers around mu with scale sigma use mu + sigma a and mu + sigma b.

    `steps` is for graded noise; None takes the best number, which `best_graded` tells.
    """
    if not isinstance(noise, str) or noise not in NOISES:
        raise arrays.refuse(noise, "noise", f"give one of {', '.join(NOISES)}")
    if noise == "graded" and steps is None:
        return best_graded(family, epsilon, score)[:2]
    if noise == "laplace" and steps is not None:
        raise arrays.refuse(steps, "steps", 'leave it out, or give noise="graded"')
    count = 0 if steps is None else check.integer(steps, "steps", 1, MOST_STEPS)
    weights = _weights(score)
    if count == 1 and not weights:
        raise arrays.refuse(steps, "steps", 'give 2 or more for "det": one threshold sees one direction only')
    return _best(Design(families.family(family), float(check.epsilon(epsilon)), noise, count, weights))[0]


def best_graded(
    family: str | Family, epsilon: float, score: str | npt.ArrayLike = "mu"
) -> tuple[float, float, int]:
    """The best (a, b, steps) of the graded mechanism for the base law."""
    weights, law, budget = _weights(score), families.family(family), float(check.epsilon(epsilon))
    first = 1 if weights else 2
    best = first
    found = {}
    for steps in range(first, MOST_STEPS + 1):
        found[steps] = _best(Design(law, budget, "graded", steps, weights))
        if found[steps][1] > found[best][1]:
            best = steps
        if steps >= best + _PATIENCE:
            break
    return *found[best][0], best


@lru_cache(maxsize=1024)
def _best(design: Design) -> tuple[Interval, float]:
    """The best interval and its score."""
    from scipy.optimize import minimize

    bounds = math.log(_LENGTHS[0]), math.log(_LENGTHS[-1])

    def loss(place: Floats) -> float:
        return -design.score(place[0], float(np.clip(place[1], *bounds)))

    grid = _grid(design)
    options = {"xatol": 1e-7, "fatol": 1e-15, "maxiter": 400}
    found = []
    for place in grid[:_STARTS]:
        simplex = place + np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.2]])
        result = minimize(loss, place, method="Nelder-Mead", options={**options, "initial_simplex": simplex})
        found.append((-float(result.fun), float(result.x[0]), float(np.clip(result.x[1], *bounds))))
    top, middle, log_length = max(found)
    value, centred = _symmetric(design)
    if value >= top - _SAME * abs(top):
        top, middle, log_length = value, 0.0, centred
    if middle < 0 and design.score(-middle, log_length) >= top - _SAME * abs(top):
        middle = -middle
    half = 1.0 if design.steps == 1 else math.exp(log_length) / 2
    return (middle - half, middle + half), top


def _grid(design: Design) -> list[Floats]:
    """Middles and logarithms of lengths, the local maxima of the score first, best first."""
    off_diagonal = design.weights and design.weights[1] + design.weights[2] != 0
    middles = np.concatenate([-_MIDDLES[:0:-1], _MIDDLES]) if off_diagonal else _MIDDLES
    lengths = np.log(_LENGTHS if design.steps != 1 else _LENGTHS[-1:])
    values = np.array([[design.score(m, v) for v in lengths] for m in middles])
    around = np.pad(values, 1, constant_values=-np.inf)
    shifts = [(1, 0), (1, 2), (0, 1), (2, 1)]
    rows, columns = values.shape
    neighbours = [around[i : i + rows, j : j + columns] for i, j in shifts]
    peaks = np.argwhere(values >= np.max(neighbours, axis=0))
    order = np.argsort([-values[tuple(peak)] for peak in peaks], kind="stable")
    return [np.array([middles[i], lengths[j]]) for i, j in peaks[order]]


def _symmetric(design: Design) -> tuple[float, float]:
    """The best score of an interval around 0, and the logarithm of its length."""
    from scipy.optimize import minimize_scalar

    lengths = np.log(_LENGTHS)
    values = [design.score(0.0, v) for v in lengths]
    i = int(np.argmax(values))
    bounds = lengths[max(i - 1, 0)], lengths[min(i + 1, len(lengths) - 1)]
    result = minimize_scalar(
        lambda v: -design.score(0.0, v), bounds=bounds, method="bounded", options={"xatol": 1e-9}
    )
    return -float(result.fun), float(result.x)


@lru_cache(maxsize=256)
def _graded_matrix(steps: int, epsilon: float) -> Floats:
    """P(report | place) of the truncated geometric mechanism with the ratio exp(-epsilon / steps), in floats."""
    a = math.exp(-epsilon / steps)
    places = np.arange(steps + 1)
    matrix: Floats = a ** np.abs(places[:, None] - places) / (1 + a)
    matrix[1:-1] *= -math.expm1(-epsilon / steps)
    matrix.setflags(write=False)
    return matrix


def _weights(score: object) -> tuple[float, ...]:
    """The flat matrix W of trace(W F); empty for the determinant."""
    if isinstance(score, str):
        if score not in SCORES:
            raise arrays.refuse(score, "score", HINT)
        return SCORES[score]
    given = arrays.numbers(score, "score", HINT)
    if given.shape not in ((2,), (2, 2)) or not np.isfinite(given).all():
        raise arrays.refuse(score, "score", HINT)
    matrix = np.diag(given) if given.ndim == 1 else given
    size = np.abs(matrix).max()
    if size == 0 or not np.allclose(matrix, matrix.T, atol=1e-12 * size):
        raise arrays.refuse(score, "score", HINT)
    if np.linalg.eigvalsh(matrix).min() < -1e-12 * size:
        raise arrays.refuse(score, "score", HINT)
    return tuple(float(w) for w in (matrix / size).ravel())

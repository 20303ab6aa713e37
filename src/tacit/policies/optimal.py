"""The optimal mechanism: the epsilon-LDP matrix with the highest probability, or log-probability, of an honest report.

U depends on the diagonal d of the K x K matrix P only: sum theta_x d_x ("linear") or sum theta_x ln d_x
("cross_entropy"). P is epsilon-LDP when every row y lies between m_y and exp(epsilon) m_y. Given d and m, the rest of
column x can be filled in between exactly when

    m_x <= d_x <= exp(epsilon) m_x        d_x + sum_{y != x} m_y <= 1 <= d_x + exp(epsilon) sum_{y != x} m_y

so 2 K variables and 4 K constraints are enough, where the thesis writes K^2 and K^3. Both problems go to HiGHS: the
linear one as it is, the concave one by cutting planes, which also bound what is left to gain.

>>> optimal_matrix([0.5, 0.3, 0.2], 1.0, "cross_entropy").round(3)
array([[0.585, 0.215, 0.228],
       [0.215, 0.585, 0.228],
       [0.2  , 0.2  , 0.544]])
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit_client import check

UTILITIES = ("linear", "cross_entropy")
MAX_GAP = 1e-8
DUST = 1e-9  # what the solver's tolerance leaves of a zero
MAX_CUTS = 200
FLOOR = 1e-7  # of theta in the cross-entropy, which is infinite where a possible answer is never reported


def optimal_matrix(theta: npt.ArrayLike, epsilon: float, utility: str) -> Floats:
    """P[y, x] of the best mechanism at theta. Pass it to `tacit.channels.from_matrix` to use it.

    The linear optimum may have rows of zeros: for one dominant category and a small epsilon it always gives the
    same answer, which is honest most of the time and useless for learning.
    """
    shares = arrays.distribution(theta)
    ratio = float(np.exp(float(check.epsilon(epsilon))))
    if utility not in UTILITIES:
        raise TacitError(
            "argument_invalid",
            f"utility is {check.shown(utility)}",
            argument="utility",
            hint=f"give one of {', '.join(UTILITIES)}",
        )
    if utility == "linear":
        return fill(_linear(shares, ratio), ratio)
    return fill(_cross_entropy(shares, ratio), ratio)


def fill(solution: Floats, ratio: float) -> Floats:
    """The matrix of a solution (d, m): each column spreads what is left in proportion to m."""
    k = len(solution) // 2
    d, m = solution[:k].copy(), solution[k:].copy()
    d[m < DUST] = m[m < DUST] = 0.0
    others = m.sum() - m
    scale = np.divide(1 - d, others, out=np.ones(k), where=others > 0)
    matrix = m[:, None] * np.clip(scale, 1, ratio)
    matrix[np.arange(k), np.arange(k)] = d
    matrix /= matrix.sum(axis=0)
    # The solver keeps its constraints to 1e-10 only: a constant brings each row's ratio back below exp(epsilon).
    excess = (matrix.max(axis=1) - ratio * matrix.min(axis=1)).max() / (ratio - 1)
    matrix[m > 0] += max(excess, 0.0)
    normalised: Floats = matrix / matrix.sum(axis=0)
    return normalised


def _constraints(k: int, ratio: float) -> tuple[Floats, Floats]:
    """A and b with A v <= b for v = (d, m)."""
    one, others = np.eye(k), 1 - np.eye(k)
    rows = np.block([[-one, one], [one, -ratio * one], [one, others], [-one, -ratio * others]])
    return rows, np.concatenate([np.zeros(2 * k), np.ones(k), -np.ones(k)])


def _linear(theta: Floats, ratio: float) -> Floats:
    rows, bounds = _constraints(len(theta), ratio)
    return _solve(np.concatenate([-theta, np.zeros(len(theta))]), rows, bounds, (0.0, 1.0))


def _cross_entropy(theta: Floats, ratio: float) -> Floats:
    """Kelley's cutting planes: t_x <= ln p + (d_x - p) / p at every point p met so far, sum theta_x t_x maximised.

    The linear program bounds the optimum from above and its solution is feasible, so the gap is known.
    """
    k = len(theta)
    theta = np.maximum(theta, FLOOR) / np.maximum(theta, FLOOR).sum()
    rows, bounds = _constraints(k, ratio)
    rows = np.hstack([rows, np.zeros((4 * k, k))])
    objective = np.concatenate([np.zeros(2 * k), -theta])
    point = np.full(k, ratio / (ratio + k - 1))
    for _ in range(MAX_CUTS):
        cuts = np.hstack([-np.diag(1 / point), np.zeros((k, k)), np.eye(k)])
        rows = np.vstack([rows, cuts])
        bounds = np.concatenate([bounds, np.log(point) - 1])
        solution = _solve(objective, rows, bounds, [(0.0, 1.0)] * (2 * k) + [(-50.0 * k, 0.0)] * k)
        point = np.maximum(solution[:k], theta / 100)
        if theta @ (solution[2 * k :] - np.log(point)) <= MAX_GAP:
            return solution[: 2 * k]
    raise RuntimeError(f"the cross-entropy optimum was not reached in {MAX_CUTS} steps")


def _solve(objective: Floats, rows: Floats, bounds: Floats, box: object) -> Floats:
    from scipy.optimize import linprog

    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    result = linprog(objective, A_ub=rows, b_ub=bounds, bounds=box, method="highs", options=tight)
    if result.status != 0:
        raise RuntimeError(f"HiGHS stopped: {result.message}")
    return np.asarray(result.x, dtype=np.float64)

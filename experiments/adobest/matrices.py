"""The matrices of the papers' loop: RRRR by Theorem 1, and RRRR as the published code has it.

Both have the six entries a, b, o, e, g of `tacit.policies.utilities`; they differ in epsilon_2 alone. With k = |S| and
m = K - k, Theorem 1 has

    epsilon_2 = min(epsilon, ln((m - 1) / (exp(epsilon_1 - epsilon) m - 1)))      while the denominator is positive

and the published code has the same without the logarithm, and with k in the place of m. Its worst log-ratio is then
above epsilon: up to 1.83 epsilon for K = 20, epsilon = 0.5, kappa = 0.9. `worst_loss` computes it from the entries. The
published program never takes k = 0, so `smallest` is 1 there.

>>> round(worst_loss(entries(20, 0.5, 0.9, faulty=True)), 3), round(worst_loss(entries(20, 0.5, 0.9)), 3)
(0.916, 0.5)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.policies.utilities import matrix_entries

Floats = npt.NDArray[np.float64]


def entries(k: int, epsilon: float, kappa: float, faulty: bool = False) -> Floats:
    """Rows a, b, o, e, g for restricted sets of 0..k-1 of the k categories, shape (5, k)."""
    correct = matrix_entries(k, epsilon, kappa)
    if not faulty:
        return np.stack(correct)
    size = np.arange(1, k)
    rest = k - size
    shrunk = np.exp((kappa - 1) * epsilon) * size
    # Only the sizes from ceil(exp(epsilon - epsilon_1)) on are bounded; the others keep the full epsilon.
    bound = np.divide(size - 1, shrunk - 1, out=np.full(k - 1, np.inf), where=shrunk > 1)
    second = np.exp(np.minimum(epsilon, bound))
    a, b, o, e, g = (np.array(row) for row in correct)
    e[1:] = a[1:] * second / (second + rest - 1)
    g[1:] = np.where(rest > 1, a[1:] / (second + rest - 1), 0.0)
    return np.stack([a, b, o, e, g])


def dense(rows: Floats, size: int) -> Floats:
    """The matrix P[y, x] of one size, its first `size` categories restricted."""
    a, b, o, e, g = rows[:, size]
    k = rows.shape[1]
    inside = np.arange(k) < size
    matrix = np.where(inside[:, None], b, np.where(inside[None, :], o, g))
    matrix[np.diag_indices(k)] = np.where(inside, a, e)
    return matrix


def losses(rows: Floats) -> Floats:
    """The worst log-ratio of each size, shape (K,)."""
    a, b, o, e, g = rows
    k = rows.shape[1]
    size = np.arange(k)
    others = np.where(k - size > 1, g, e)  # a lone category outside S has no other beside it
    within = np.where(size > 0, o, e)  # and no one is inside an empty S
    outside = np.stack([within, e, others])
    outer = np.log(outside.max(axis=0) / outside.min(axis=0))
    return np.maximum(outer, np.where(size > 0, np.log(a / b), 0.0))


def worst_loss(rows: Floats) -> float:
    """The epsilon that a program which may take any non-empty S really has."""
    return float(losses(rows)[1:].max())

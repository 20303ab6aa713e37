"""Is the best S among the K nested ones? Theorem 2 says so for "honest"; here all subsets are tried, for all utilities.

The papers choose S among the sets of the k likeliest categories, k = 0..K-1. For random theta, epsilon and kappa, every
subset but the full one (RRRR needs a category outside) is given its utility by the definition, on the whole matrix.

>>> theta = np.array([0.6, 0.3, 0.1])
>>> every = utilities(theta, 1.0, 0.9)
>>> every["honest"].shape, bool(every["honest"].argmax() in nested(3))
((7,), True)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from experiments.adobest.grid import YEAR
from experiments.adobest.matrices import Floats, entries

from tacit import Categorical
from tacit.policies.utilities import UTILITIES

SIZES = (3, 4, 5, 6, 7, 8, 9, 10)
CASES = 1000  # for each K
KAPPAS = (0.5, 0.8, 0.9, 0.95)
SAME = 1e-9  # utilities nearer than this, relative to their size where that is above one, are a tie


def masks(k: int) -> npt.NDArray[np.bool_]:
    """Every subset but the full one, (2^K - 1, K): row j holds category i when bit i of j is set."""
    return (np.arange(2**k - 1)[:, None] >> np.arange(k)) % 2 == 1


def nested(k: int) -> list[int]:
    """The rows of `masks` that hold the first 0..k-1 categories."""
    return [2**size - 1 for size in range(k)]


def matrices(k: int, epsilon: float, kappa: float) -> Floats:
    """P[S, y, x] for every row of `masks`."""
    inside = masks(k)
    a, b, o, e, g = entries(k, epsilon, kappa)[:, inside.sum(axis=1)][:, :, None, None]
    y_in, x_in = inside[:, :, None], inside[:, None, :]
    matrix = np.where(y_in, b, np.where(x_in, o, g))
    own = np.broadcast_to(np.eye(k, dtype=bool), matrix.shape)
    return np.where(own, np.where(y_in, a, e), matrix)


def utilities(theta: Floats, epsilon: float, kappa: float) -> dict[str, Floats]:
    """The six utilities of every row of `masks`; theta (K,) decreasing, the last category left out by "fisher"."""
    matrix = matrices(len(theta), epsilon, kappa)
    h = matrix @ theta
    joint = matrix * theta
    slope = matrix[:, :, :-1] - matrix[:, :, -1:]
    information = np.einsum("syi,sy,syj->sij", slope, 1 / h, slope, optimize=True)
    return {
        "fisher": -np.trace(np.linalg.inv(information), axis1=1, axis2=2),
        "entropy": (h * np.log(h)).sum(axis=1),
        "tv_posterior": np.abs(joint - h[:, :, None] * theta).sum(axis=(1, 2)) / 2,
        "tv_marginal": -np.abs(h - theta).sum(axis=1) / 2,
        "mse": (joint**2 / h[:, :, None]).sum(axis=(1, 2)) - 1,
        "honest": np.trace(joint, axis1=1, axis2=2),
    }


class Miss(NamedTuple):
    """A best subset that is not nested, by how much it is better, and the same as a share of its gain over SRR."""

    subset: list[int]
    gap: float
    share: float


def missed(theta: Floats, epsilon: float, kappa: float) -> dict[str, Miss]:
    """The utilities whose best subset is not among the nested ones."""
    out = {}
    for name, values in utilities(theta, epsilon, kappa).items():
        best, within = int(values.argmax()), float(values[nested(len(theta))].max())
        gap = float(values[best]) - within
        if gap > SAME * max(1.0, float(np.abs(values).max())):
            subset = np.flatnonzero(masks(len(theta))[best]).tolist()
            out[name] = Miss(subset, gap, gap / float(values[best] - values[0]))
    return out


def case(k: int, number: int) -> tuple[Floats, float, float]:
    """theta in decreasing order, epsilon and kappa of one trial."""
    rng = np.random.default_rng([YEAR, 2, k, number])
    theta = Categorical(k, float(rng.choice([0.1, 0.3, 1.0, 3.0]))).sample_prior(1, rng).theta[0]
    epsilon = float(np.exp(rng.uniform(np.log(0.1), np.log(6.0))))
    return np.sort(theta / theta.sum())[::-1], epsilon, float(rng.choice(KAPPAS))


def every_subset(sizes: tuple[int, ...] = SIZES, cases: int = CASES) -> dict[str, Any]:
    """For each utility, the number of cases by K whose best subset is not nested, and the case that misses most."""
    count = {name: [0] * len(sizes) for name in UTILITIES}
    worst: dict[str, dict[str, Any]] = {}
    for i, k in enumerate(sizes):
        for number in range(cases):
            theta, epsilon, kappa = case(k, number)
            for name, miss in missed(theta, epsilon, kappa).items():
                count[name][i] += 1
                if miss.gap > worst.get(name, {"gap": 0.0})["gap"]:
                    worst[name] = {
                        "theta": [float(f"{share:.4g}") for share in theta],
                        "epsilon": float(f"{epsilon:.4g}"),
                        "kappa": kappa,
                        **miss._asdict(),
                    }
    return {"k": list(sizes), "cases": cases, "missed": count, "worst": worst}

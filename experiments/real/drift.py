"""What a posterior estimates while the population drifts: a mixture of the rounds, and how much each of them weighs.

The model says that every answer comes from one theta. When round r asked n_r people whose shares were t_r, the
posterior gathers instead, as reports become many, around the theta that maximises the expected log-likelihood

    sum over r of n_r sum over y of (P_r t_r)_y ln (P_r theta)_y,        P_r[y, x] the channel of round r.

With F_r = P_r' diag(1 / P_r theta) P_r, the information of one report, F_r theta = 1, so inside the simplex it solves

    theta = sum over r of W_r t_r,        W_r = (sum over s of n_s F_s)^-1 n_r F_r,        F at theta itself.

The matrices W_r sum to the identity: they are the weights of the rounds. If the channel never changes, W_r is n_r / n
times the identity, so a static study estimates the shares of everybody asked, in whatever order they came. A policy
that changes its channel gives the rounds with the more informative channels more weight, and to each category its own.

>>> from tacit import channels
>>> early, late = np.array([60, 30, 10]), np.array([200, 400, 400])
>>> one = channels.srr(3, 2.0)
>>> mixture([one, one], np.array([early, late])).theta.round(3)
array([0.236, 0.391, 0.373])
>>> mixture([one, channels.srr(3, 0.5)], np.array([early, late])).theta.round(3)
array([0.435, 0.351, 0.214])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit import Evidence, TacitError
from tacit.channels import Channel

Floats = npt.NDArray[np.float64]

STEPS = 3  # of the fixed point; shares that drift little change F by little
REPORTS = 10_000  # simulated where a channel has too many reports to list
FLOOR = 1e-6  # of theta inside F: the mixture may leave the simplex by a little


class Mixture(NamedTuple):
    """`theta` (K,), and `weight` (rounds, K): the diagonals of W_r, which sum to 1 over the rounds."""

    theta: Floats
    weight: Floats


def mixture(chosen: Sequence[Channel[Any]], counts: npt.NDArray[np.int64], seed: int = 0) -> Mixture:
    """From the channel of every round and how many people with each answer it asked, (rounds, K)."""
    n = counts.sum(axis=1)
    shares = counts / n[:, None]
    theta = counts.sum(axis=0) / n.sum()
    if len(set(chosen)) == 1:
        return Mixture(theta, np.tile(n[:, None] / n.sum(), counts.shape[1]))
    for _ in range(STEPS):
        near = np.maximum(theta, FLOOR)
        one = {channel: information(channel, near / near.sum(), seed) for channel in set(chosen)}
        carried = [size * one[channel] for size, channel in zip(n, chosen, strict=True)]
        inverse = np.linalg.inv(np.sum(carried, axis=0))
        theta = inverse @ np.sum([f @ t for f, t in zip(carried, shares, strict=True)], axis=0)
    return Mixture(theta, np.array([np.einsum("ij,ji->i", inverse, f) for f in carried]))


def information(channel: Channel[Any], theta: Floats, seed: int = 0) -> Floats:
    """F of one report, (K, K); from REPORTS simulated ones where they cannot be listed."""
    try:
        matrix = channel.matrix()
    except TacitError as error:
        if error.code != "too_many_reports":
            raise
    else:
        return matrix.T @ (matrix / (matrix @ theta)[:, None])
    rng = np.random.default_rng(seed)
    reports = channel.sample(rng.choice(len(theta), REPORTS, p=theta), rng)
    return Evidence().add(channel, reports).likelihood().information(theta) / REPORTS

"""MHAAR: Metropolis and Hastings with averaged acceptance ratios, for one batch of reports.

*Metropolis-Hastings with averaged acceptance ratios* (Andrieu, Yıldırım, Doucet and Chopin), for reports y_k =
clip(mu + sigma z_k, l_k, r_k) + noise. The chain is (mu, sigma, z). A step draws N - 1 fresh normals beside each
z_k, proposes (mu', sigma'), and with w(z; mu, sigma) the density of the report accepts with the ratio

    prior' / prior x product over k of [ sum_j w(z_kj; mu', sigma') / sum_j w(z_kj; mu, sigma) ].

Then every z_k is drawn anew among its N candidates, by the weights at the state the chain is in. The authors' program
means to do so after a rejection too, but computes exp(log_sum_0 - log_sum_0) where it needs exp(log_w_0 - log_sum_0):
all weights are 1, their cumulated sum passes any uniform number at once, and the first candidate, the old z_k, is
kept. `stale=True` does that.

It does not change the posterior. Whether z stays or is drawn from its law given the candidates after a rejection, the
accepted moves balance each other: from (mu, sigma, z_1) to (mu', sigma', z_k) the chain goes with the density

    prior w(z_1; mu, sigma) x w(z_k; mu', sigma') / S' x min(1, r),    S' = sum_j w(z_j; mu', sigma'),

and back with the same where everything is swapped, whose ratio to it is 1 by the definition of r. Only z rests longer.

The walk is over (mu, sigma^2) as in the program; its steps are tuned to an acceptance of AIM in the first fifth, which
does not count.

>>> reports = np.array([50.0, 52.0, 48.0])
>>> bounds = np.full(3, 40.0), np.full(3, 60.0)
>>> chain = sample(reports, *bounds, 10.0, np.random.default_rng(1), iterations=2000)
>>> chain.shape, bool(abs(chain[:, 0].mean() - 50) < 3)
((1600, 2), True)
"""

from __future__ import annotations

import numpy as np
from experiments.adaptive_truncation.people import PRIOR, Floats, Prior
from numba import njit

CANDIDATES = 20
ITERATIONS = 20_000
AIM = 0.2


def sample(
    y: Floats,
    low: Floats,
    high: Floats,
    epsilon: float,
    rng: np.random.Generator,
    *,
    iterations: int = ITERATIONS,
    candidates: int = CANDIDATES,
    prior: Prior = PRIOR,
    stale: bool = False,
) -> Floats:
    """The chain of (mu, sigma) after its first fifth."""
    b = (high - low) / epsilon
    start = np.array(
        [y.mean(), max(0.01, y.var() - 2 * b.mean() ** 2)]
    )  # Laplace noise has the variance 2 b^2
    out = np.empty((iterations, 2))
    _chain(y, low, high, b, tuple(prior), start, candidates, stale, iterations // 5, rng, out)
    out = out[iterations // 5 :]
    return np.column_stack([out[:, 0], np.sqrt(out[:, 1])])


@njit(cache=True)
def _chain(
    y: Floats,
    low: Floats,
    high: Floats,
    b: Floats,
    prior: tuple[float, float, float, float],
    start: Floats,
    candidates: int,
    stale: bool,
    tuning: int,
    rng: np.random.Generator,
    out: Floats,
) -> None:
    n = len(y)
    z = np.empty((n, candidates))
    weights = np.empty((2, n, candidates))
    sums = np.empty((2, n))
    z[:, 0] = rng.standard_normal(n)
    mu, variance = start
    steps = np.array([10.0, 20.0]) / np.sqrt(n)
    for i in range(len(out)):
        new_mu = mu + steps[0] * rng.standard_normal()
        new_variance = variance + steps[1] * rng.standard_normal()
        z[:, 1:] = rng.standard_normal((n, candidates - 1))
        _weigh(z, mu, np.sqrt(variance), y, low, high, b, weights[0], sums[0])
        accepted = False
        if new_variance > 0:
            _weigh(z, new_mu, np.sqrt(new_variance), y, low, high, b, weights[1], sums[1])
            gain = _log_prior(new_mu, new_variance, prior) - _log_prior(mu, variance, prior)
            for k in range(n):
                gain += np.log(sums[1, k] / sums[0, k])
            accepted = gain >= 0 or rng.standard_exponential() > -gain
        if accepted:
            mu, variance = new_mu, new_variance
        if accepted or not stale:
            _pick(z, weights[int(accepted)], sums[int(accepted)], rng)
        out[i] = mu, variance
        if i < tuning:
            steps *= np.exp((accepted - AIM) / (i + 1) ** 0.6)


@njit(cache=True)
def _weigh(
    z: Floats,
    mu: float,
    sigma: float,
    y: Floats,
    low: Floats,
    high: Floats,
    b: Floats,
    out: Floats,
    sums: Floats,
) -> None:
    """The density of each report at each candidate over its largest possible value: never below exp(-epsilon)."""
    for k in range(len(y)):
        nearest = abs(y[k] - min(max(y[k], low[k]), high[k]))
        total = 0.0
        for j in range(z.shape[1]):
            away = abs(y[k] - min(max(mu + sigma * z[k, j], low[k]), high[k])) - nearest
            out[k, j] = np.exp(-away / b[k])
            total += out[k, j]
        sums[k] = total


@njit(cache=True)
def _pick(z: Floats, weights: Floats, sums: Floats, rng: np.random.Generator) -> None:
    """One candidate of each row to the first place."""
    for k in range(len(z)):
        left = rng.random() * sums[k]
        j = 0
        while j < z.shape[1] - 1 and left >= weights[k, j]:
            left -= weights[k, j]
            j += 1
        z[k, 0] = z[k, j]


@njit(cache=True)
def _log_prior(mu: float, variance: float, prior: tuple[float, float, float, float]) -> float:
    """By (mu, sigma^2)."""
    mean, spread, shape, rate = prior
    return -0.5 * (mu - mean) ** 2 / spread - (shape + 1) * np.log(variance) - rate / variance

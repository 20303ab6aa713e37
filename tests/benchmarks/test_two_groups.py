"""The sampler of benchmarks/two_groups.py against sums over all sets of present categories, and quadrature."""

import sys
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln

from tacit import Evidence, channels

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from two_groups import Present, TwoGroups, default, sample

LIMIT = 8.0  # standard errors of 25 independent chains: |t| with 24 degrees of freedom exceeds it once in 3e7


def gathered(k, n):
    rng = np.random.default_rng(k + n)
    channel = channels.subset(k, 1.5)
    return Evidence().add(channel, channel.sample(rng.choice(k, n, p=[0.75, 0.25, 0][:k]), rng))


def on_a_grid(m, rho):
    """ln theta (P, m) of the present ones, and ln of the prior mass of each point."""
    if m == 1:
        return np.zeros((1, 1)), np.zeros(1)
    reach = np.linspace(-16, 16, 1201 if m == 2 else 201) / min(1, rho)
    axes = np.meshgrid(*[reach] * (m - 1), indexing="ij")
    z = np.stack([*axes, np.zeros_like(axes[0])], axis=-1).reshape(-1, m)
    log_theta = z - np.logaddexp.reduce(z, axis=1, keepdims=True)
    density = rho * log_theta.sum(axis=1) + gammaln(m * rho) - m * gammaln(rho)
    return log_theta, density + (m - 1) * np.log(reach[1] - reach[0])


def by_enumeration(prior, evidence):
    """Means of theta, of its squares, of presence and of ln rho, K = 2 or 3."""
    k = evidence.k
    sets = list(chain.from_iterable(combinations(range(k), m) for m in range(1, k + 1)))
    weights, values = [], []
    for eta in np.linspace(prior.location - 4 * prior.scale, prior.location + 4 * prior.scale, 33):
        for present in sets:
            log_theta, mass = on_a_grid(len(present), np.exp(eta))
            theta = np.zeros((len(mass), k))
            theta[:, present] = np.exp(log_theta)
            on = np.isin(np.arange(k), present) * np.ones((len(mass), 1))
            away = ((eta - prior.location) / prior.scale) ** 2 / 2
            weights.append(mass + prior.log_set(k)[len(present)] - away + evidence.likelihood().value(theta))
            values.append(np.column_stack([theta, theta**2, on, np.full(len(mass), eta)]))
    weight = np.concatenate(weights)
    weight = np.exp(weight - weight.max())
    return weight @ np.concatenate(values) / weight.sum()


def by_sampling(prior, evidence, draws):
    """The same with standard errors, from independent chains."""
    rng = np.random.default_rng(5)
    _, start = default(evidence, 25, rng)
    found = sample(prior, evidence, start, draws, rng, thin=1)
    parts = [found.chains, found.chains**2, found.chains > 0, found.log_rho[:, :, None]]
    means = np.concatenate(parts, axis=2).mean(axis=1)
    return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(len(means))


CASES = [(2, 8), (2, 200), (3, 12), (3, 300)]
PRIOR = TwoGroups(1.0, 2.0, -0.3, 1.0)


@pytest.mark.parametrize(("k", "n"), CASES)
def test_the_sampler_agrees_with_enumeration(k, n):
    evidence = gathered(k, n)
    mean, error = by_sampling(PRIOR, evidence, 10_000)
    truth = by_enumeration(PRIOR, evidence)
    assert (np.abs(mean - truth) < LIMIT * error + 1e-4).all(), (mean, truth, error)
    assert (error < 0.03).all()  # or the comparison says little


def test_the_comparison_sees_another_prior():
    evidence = gathered(3, 300)
    mean, error = by_sampling(PRIOR, evidence, 10_000)
    for other in (TwoGroups(1.0, 1.2, -0.3, 1.0), TwoGroups(1.0, 2.0, 0.3, 1.0)):
        assert (np.abs(mean - by_enumeration(other, evidence)) > LIMIT * error + 1e-4).any()


def test_the_gradient_is_that_of_the_density():
    evidence = gathered(3, 12)
    _, start = default(evidence, 25, np.random.default_rng(1))
    present = np.array([[True, True, False], [True, True, True], [False, True, False]])
    space = Present(start.model, evidence.likelihood(), start.floor, present)
    x = np.random.default_rng(2).normal(size=(3, 4))
    step = 1e-5 * np.eye(4)
    slopes = [(space.log_density(x + s) - space.log_density(x - s)) / 2e-5 for s in step]
    np.testing.assert_allclose(space.gradient(x), np.stack(slopes, axis=1), rtol=1e-3, atol=1e-3)

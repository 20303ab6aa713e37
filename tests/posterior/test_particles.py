"""Shares by sequential Monte Carlo: mean, spread and evidence against sums over a fine grid."""

import numpy as np
import pytest
from scipy.special import gammaln

from tacit import Categorical, Evidence, TacitError, channels, posterior

CHANNELS = channels.srr(3, 1.5), channels.rrrr(3, [0], 1.5, 0.8)
EVIDENCE = (
    Evidence()
    .add(CHANNELS[0], np.repeat([0, 1, 2], [70, 40, 30]))
    .add(CHANNELS[1], np.repeat([0, 1], [25, 15]))
)


def on_a_grid(concentration, cells=400):
    """Posterior mean, standard deviation and log evidence under Dirichlet(concentration), by the midpoint rule."""
    middles = (np.arange(cells) + 0.5) / cells
    x, y = np.meshgrid(middles, middles)
    inside = x + y < 1
    theta = np.column_stack([x[inside], y[inside], 1 - x[inside] - y[inside]])
    prior = gammaln(3 * concentration) - 3 * gammaln(concentration)
    prior = prior + (concentration - 1) * np.log(theta).sum(axis=1)
    value = prior + EVIDENCE.log_likelihood(theta / theta.sum(axis=1, keepdims=True))
    top = value.max()
    weight = np.exp(value - top)
    mean = weight @ theta / weight.sum()
    spread = np.sqrt(weight @ (theta - mean) ** 2 / weight.sum())
    return mean, spread, top + np.log(weight.sum() / cells**2)


@pytest.mark.parametrize("concentration", [1.0, 4.0])
def test_draws_and_evidence_are_those_of_the_grid(concentration):
    """Six runs with fixed seeds: means within a tenth of the spread, evidence within five standard errors."""
    mean, spread, evidence = on_a_grid(concentration)
    runs = [posterior.sample(Categorical(3, concentration), EVIDENCE, "smc", 2000, seed) for seed in range(6)]
    found = np.mean([run.mean for run in runs], axis=0)
    assert (np.abs(found - mean) < 0.1 * spread).all()
    assert np.mean([run.draws.std(axis=0) for run in runs], axis=0) == pytest.approx(spread, rel=0.06)
    gains = np.array([run.log_evidence for run in runs]) - evidence
    assert abs(gains.mean()) < 5 * gains.std(ddof=1) / np.sqrt(6) + 0.02


def test_a_prior_is_compared_with_another():
    one, other = (
        posterior.sample(Categorical(3, c), EVIDENCE, "smc", 2000, 1).log_evidence for c in (1.0, 100.0)
    )
    exact = on_a_grid(1.0)[2] - on_a_grid(100.0)[2]
    assert one - other == pytest.approx(exact, abs=0.3)


def test_a_learned_concentration_has_the_exact_sampler_s_posterior():
    smc = posterior.sample(Categorical(3), EVIDENCE, "smc", 8000, 1)
    exact = posterior.sample(Categorical(3), EVIDENCE, "exact", 8000, 1)
    spread = exact.draws.std(axis=0)
    assert (np.abs(smc.mean - exact.mean) < 0.12 * spread).all()
    assert smc.draws.std(axis=0) == pytest.approx(spread, rel=0.1)
    assert smc.log_rho.shape == (1, 8000)
    assert smc.method == "smc"


def test_without_reports_it_is_the_prior():
    assert posterior.sample(Categorical(3), Evidence(), "smc").method == "prior"


def test_studies_are_followed_by_other_samplers():
    from tacit import Study

    with pytest.raises(TacitError) as refusal:
        Study(["a", "b"], epsilon=1.0, method="smc")
    assert refusal.value.argument == "method"

"""The engine, on a posterior that is known in closed form, and on targets that try to break it."""

import numpy as np
import pytest
from scipy.stats import chisquare, multivariate_normal

from tacit import TacitError
from tacit.posterior import smc


class Conjugate:
    """x ~ N(0, wide^2) in each of d directions; a report is N(x, 1)."""

    def __init__(self, d=2, wide=100.0):
        self.d, self.wide = d, wide

    def draw(self, n, rng):
        return self.wide * rng.normal(size=(n, self.d))

    def log_prior(self, x):
        return -((x / self.wide) ** 2).sum(axis=1) / 2

    def log_likelihood(self, x, reports):
        away = x[:, None, :] - reports.reshape(-1, self.d)
        return -(away**2).sum(axis=(1, 2)) / 2 - away[0].size / 2 * np.log(2 * np.pi)

    def evidence(self, reports):
        n = len(reports)
        law = multivariate_normal(np.zeros(n), np.eye(n) + self.wide**2)
        return sum(law.logpdf(column) for column in reports.T)


REPORTS = np.random.default_rng(5).normal([3.0, -40.0], 1.0, (60, 2))


def run(seed, split=(60,), target=None, n=500):
    target, rng, start = target or Conjugate(), np.random.default_rng(seed), 0
    cloud = smc.begin(target, n, rng)
    for end in split:
        cloud = smc.take(cloud, target, REPORTS[:start], REPORTS[start:end], rng)
        start = end
    return cloud


@pytest.mark.parametrize("split", [(60,), tuple(range(1, 61)), (3, 10, 60)])
def test_mean_covariance_and_evidence_are_those_of_the_conjugate_posterior(split):
    """40 independent clouds; z of each mean below 4.5: false alarm below 1e-4 in all."""
    clouds = [run(seed, split) for seed in range(40)]
    means = np.array([cloud.mean() for cloud in clouds])
    expected = REPORTS.sum(axis=0) / (60 + 1e-4)
    z = (means.mean(axis=0) - expected) / (means.std(axis=0, ddof=1) / np.sqrt(40))
    assert np.abs(z).max() < 4.5
    covariance = np.mean([cloud.covariance() for cloud in clouds], axis=0)
    np.testing.assert_allclose(covariance * 60, np.eye(2), atol=0.06)
    gains = np.exp(np.array([cloud.log_evidence for cloud in clouds]) - Conjugate().evidence(REPORTS))
    assert abs(gains.mean() - 1) < 4.5 * gains.std(ddof=1) / np.sqrt(40)


def test_waste_free_moves_are_worth_most_of_their_particles():
    means = np.array([run(seed).mean() for seed in range(60)])
    worth = (1 / 60) / means.var(axis=0, ddof=1)  # of 500; a chi-square of 59 on either side
    assert (worth > 200).all()


def test_a_wrong_proposal_ratio_is_noticed(monkeypatch):
    """Without the ratio of the independent proposals' densities the cloud follows its product with them: too narrow."""
    monkeypatch.setattr(smc, "_tails", lambda x, centre, factor: np.zeros(len(x)))
    target, rng = Conjugate(), np.random.default_rng(1)
    cloud = run(1)
    for _ in range(5):
        cloud = smc.refresh(cloud, target, REPORTS, rng)
    assert np.trace(cloud.covariance()) * 60 < 1.6


@pytest.mark.parametrize("scheme", ["systematic", "stratified", "multinomial"])
def test_resampling_takes_each_as_often_as_its_weight_says(scheme):
    """Chi-square of 20,000 places, false alarm 1e-6 for multinomial; the others have less noise than that."""
    weight = np.array([0.5, 0.05, 0.0, 0.25, 0.2])
    rng = np.random.default_rng(4)
    counts = sum(np.bincount(smc.resample(weight, 20, rng, scheme), minlength=5) for _ in range(1000))
    assert counts[2] == 0
    kept = weight > 0
    assert chisquare(counts[kept], 20_000 * weight[kept]).pvalue > 1e-6


def test_systematic_resampling_never_strays_by_more_than_one():
    weight = np.random.default_rng(0).dirichlet(np.ones(7))
    rng = np.random.default_rng(1)
    for _ in range(200):
        counts = np.bincount(smc.resample(weight, 50, rng), minlength=7)
        assert (np.abs(counts - 50 * weight) < 1).all()


def test_a_posterior_far_from_the_prior_is_reached_by_degrees():
    target = Conjugate(wide=1000.0)
    far = np.full((500, 2), 4000.0)
    rng = np.random.default_rng(2)
    cloud = smc.take(smc.begin(target, 300, rng), target, far[:0], far, rng)
    np.testing.assert_allclose(cloud.mean(), 4000 / (1 + 1 / 500 / 1e6), atol=0.05)
    assert cloud.moves > 3
    assert cloud.size >= smc.ENOUGH * len(cloud.x)


class Stubborn(Conjugate):
    """A likelihood that no position has."""

    def log_likelihood(self, x, reports):
        return np.full(len(x), -np.inf if len(reports) else 0.0)


class Holed(Conjugate):
    """A likelihood that is no number in half of the space."""

    def log_likelihood(self, x, reports):
        value = super().log_likelihood(x, reports)
        return np.where(x[:, 0] > 3.0, value, np.nan) if len(reports) else value


def test_when_all_particles_die_it_says_so():
    with pytest.raises(TacitError) as refusal:
        run(0, target=Stubborn())
    assert refusal.value.code == "posterior_lost"


def test_positions_without_a_likelihood_get_no_weight():
    cloud = run(0, target=Holed())
    assert (cloud.x[cloud.weight > 1e-12, 0] > 3.0).all()


def test_the_same_seed_gives_the_same_cloud():
    np.testing.assert_array_equal(run(7).x, run(7).x)

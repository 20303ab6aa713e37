"""The check of a number's shape: its slopes against quadrature, its p-values under the model, what it notices."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import eval_legendre
from scipy.stats import binom

from tacit import Categorical, Evidence, TacitError, channels, posterior
from tacit.models import LocationScale, Normal
from tacit.posterior import shape

MODEL = Normal(mean=50, sd=50, shape=1, rate=30)
ANSWERS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: rng.exponential(size=n) - 1,
    "lognormal": lambda rng, n: np.exp(0.5 * rng.normal(size=n)) - 1,
    "heavy": lambda rng, n: rng.standard_t(3, n),
}


def asked(law, n, epsilon, seed, spread=1.0):
    """Five channels of four steps, at places and widths that differ as much as `spread` says."""
    rng = np.random.default_rng(seed)
    evidence = Evidence()
    for _ in range(5):
        low = round(42 + spread * rng.uniform(-8, 8), 2)
        channel = channels.graded(low, round(low + 16 + spread * rng.uniform(-8, 8), 2), 4, epsilon)
        evidence = evidence.add(channel, channel.sample(50 + 8 * ANSWERS[law](rng, n // 5), rng))
    return evidence


def checked(evidence, seed=0, model=MODEL, replicates=100):
    return posterior.predictive_check(
        posterior.sample(model, evidence, draws=400, seed=seed), evidence, replicates, seed
    )


@pytest.mark.parametrize("family", ["normal", "student:4", "laplace"])
def test_the_slopes_are_those_of_the_bent_density(family):
    model = LocationScale(family, mean=0, sd=10)
    cuts, points = np.array([-1.0, 0.7, 3.0]), np.array([[0.3, 1.4], [-2.0, 0.6]])
    made = shape._slopes(model, cuts, points)
    step = 1e-5
    for i, (mu, sigma) in enumerate(points):
        for a, move in ((0, [step * sigma, 0]), (1, [0, step * sigma])):
            up, down = (
                model.cell_probabilities(cuts, [[mu, sigma] + sign * np.array(move)])[0] for sign in (1, -1)
            )
            np.testing.assert_allclose(made[a, i], (up - down) / (2 * step), atol=1e-7)
        for a, degree in ((2, 3), (3, 4)):

            def bent(x, degree=degree, mu=mu, sigma=sigma):
                z = (x - mu) / sigma
                u = model.family.cdf(z)
                return float(model.family.pdf(z) / sigma * eval_legendre(degree, 2 * u - 1))

            edges = [mu - 40 * sigma, *cuts, mu + 40 * sigma]
            cells = [
                quad(bent, low, high, points=[mu] if low < mu < high else None, limit=500)[0]
                for low, high in pairwise(edges)
            ]
            np.testing.assert_allclose(made[a, i], cells, atol=2e-5)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_p_values_are_about_uniform_under_the_model(epsilon):
    """Counts below a level are binomial: all six checks together fail a right implementation once in 10,000."""
    found = [checked(asked("normal", 1500, epsilon, seed), seed) for seed in range(120)]
    values = np.array([check.p_value for check in found])
    for level in (0.1, 0.5, 0.9):
        low, high = binom.ppf([1e-5, 1 - 1e-5], len(values), level)
        assert low <= (values <= level).sum() <= high
    assert 0.3 < np.mean([fit.p_value for check in found for fit in check.channels]) < 0.7


@pytest.mark.parametrize("law", ["skewed", "lognormal", "heavy"])
def test_another_shape_is_noticed(law):
    assert checked(asked(law, 20_000, 4.0, seed=1)).p_value < 0.01


def test_the_right_family_has_the_right_shape():
    heavy = LocationScale("student:3", mean=50, sd=50, shape=1, rate=30)
    assert checked(asked("heavy", 20_000, 4.0, seed=1), model=heavy).p_value > 0.01


def test_cuts_in_one_place_say_nothing_of_the_shape():
    """Three counts, and (mu, sigma) fits them: whatever the answers are, nothing is left to be noticed."""
    channel = channels.graded(42, 58, 2, 4.0)
    rng = np.random.default_rng(1)
    evidence = Evidence().add(channel, channel.sample(50 + 8 * ANSWERS["skewed"](rng, 20_000), rng))
    assert checked(evidence).p_value == 1


def test_with_a_known_scale_less_can_be_explained():
    """Answers with twice the spread look heavy-tailed when sigma is given; when it is learned they do not."""
    channel = channels.graded(30, 70, 4, 4.0)
    rng = np.random.default_rng(1)
    evidence = Evidence().add(channel, channel.sample(rng.normal(50, 16, 5000), rng))
    known = checked(evidence, model=Normal(mean=50, sd=50, scale=8))
    assert known.p_value < 0.01 < checked(evidence).p_value
    assert known.channels[0].p_value < 0.01


def test_the_evidence_must_be_that_of_the_posterior():
    draws = posterior.sample(MODEL, asked("normal", 100, 1.0, 1), draws=50)
    shares = Evidence().add(channels.srr(4, 1.0), [0, 1])
    for evidence in (Evidence(), shares):
        with pytest.raises(TacitError) as refusal:
            posterior.predictive_check(draws, evidence)
        assert (refusal.value.code, refusal.value.argument) == ("argument_invalid", "evidence")
    with pytest.raises(TacitError):
        posterior.predictive_check(
            posterior.sample(Categorical(4), shares, draws=50), asked("normal", 50, 1.0, 1)
        )

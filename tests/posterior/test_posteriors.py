"""Every sampler against quadrature: the posterior of two and three categories can be integrated on a grid."""

import inspect
import tracemalloc

import numpy as np
import pytest
from scipy.special import gammaln

from tacit import Evidence, TacitError, channels, posterior
from tacit.models import Categorical
from tacit.posterior import SAMPLERS, exact

RNG = np.random.default_rng(12)


def gathered(k, n=60):
    rng = np.random.default_rng(k)
    answers = rng.choice(k, n, p=np.arange(k, 0, -1) / np.arange(1, k + 1).sum())
    evidence = Evidence()
    made = [channels.srr(k, 1.0), channels.rrrr(k, [0], 1.0, 0.8), channels.subset(k, 2.0)]
    for channel, part in zip(made, np.array_split(answers, 3), strict=True):
        evidence = evidence.add(channel, channel.sample(part, rng))
    return evidence


def log_dirichlet(log_theta, alpha):
    """The density by the coordinates ln(theta_k / theta_K): the Dirichlet's, times the product of theta."""
    return (alpha * log_theta).sum(axis=-1) + gammaln(alpha.sum()) - gammaln(alpha).sum()


def by_quadrature(evidence, alpha):
    """Mean and standard deviation of theta, three categories, on a grid of log-ratios."""
    reach = np.linspace(-12, 12, 500) / min(1, alpha.min())
    a, b = np.meshgrid(reach, reach, indexing="ij")
    z = np.stack([a, b, np.zeros_like(a)], axis=-1).reshape(-1, 3)
    log_theta = z - np.logaddexp.reduce(z, axis=1, keepdims=True)
    theta = np.exp(log_theta)
    weight = log_dirichlet(log_theta, alpha)
    if len(evidence):
        weight = weight + evidence.likelihood().value(theta)
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    mean = weight @ theta
    return mean, np.sqrt(weight @ (theta - mean) ** 2)


def by_quadrature_learned(evidence, model):
    """The same for two categories and a learned concentration."""
    eta = np.linspace(model.location - 5 * model.scale, model.location + 5 * model.scale, 120)
    means, second, total = np.zeros(2), np.zeros(2), 0.0
    log_rho = second_rho = 0.0
    logs = []
    for e in eta:
        rho = np.exp(e)
        z = np.linspace(-14, 14, 6001) / min(1, rho)
        log_theta = np.stack([z, np.zeros_like(z)], axis=-1)
        log_theta = log_theta - np.logaddexp.reduce(log_theta, axis=1, keepdims=True)
        weight = log_dirichlet(log_theta, np.full(2, rho)) + np.log(z[1] - z[0])
        weight += (
            evidence.likelihood().value(np.exp(log_theta)) - ((e - model.location) / model.scale) ** 2 / 2
        )
        logs.append((weight, np.exp(log_theta), e))
    top = max(weight.max() for weight, _, _ in logs)
    for weight, theta, e in logs:
        share = np.exp(weight - top)
        means, second = means + share @ theta, second + share @ theta**2
        log_rho, second_rho, total = (
            log_rho + e * share.sum(),
            second_rho + e**2 * share.sum(),
            total + share.sum(),
        )
    means, log_rho = means / total, log_rho / total
    return means, np.sqrt(second / total - means**2), log_rho, np.sqrt(second_rho / total - log_rho**2)


def assert_near(result, mean, deviation):
    error = deviation / np.sqrt(np.maximum(result.ess(), 20))
    assert (np.abs(result.mean - mean) < 5 * error).all(), (result.mean, mean, error)
    np.testing.assert_allclose(result.draws.std(axis=0), deviation, rtol=0.12)


ALPHAS = {"flat": 1.0, "sparse": 0.3, "peaked": 6.0, "uneven": [0.5, 2.0, 1.0]}


@pytest.mark.parametrize("concentration", ALPHAS.values(), ids=ALPHAS)
@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_fixed_concentration(method, concentration):
    evidence = gathered(3)
    model = Categorical(3, concentration)
    result = posterior.sample(model, evidence, method, draws=6000, seed=1)
    assert_near(result, *by_quadrature(evidence, np.array(model.base)))
    assert result.rhat().max() < 1.05
    assert result.divergences == 0


@pytest.mark.parametrize("method", ["exact", "gibbs"])
@pytest.mark.parametrize("n", [6, 60])
def test_learned_concentration(method, n):
    evidence = gathered(2, n)
    model = Categorical(2, location=-0.5, scale=1.5)
    mean, deviation, log_rho, rho_deviation = by_quadrature_learned(evidence, model)
    result = posterior.sample(model, evidence, method, draws=8000, seed=2)
    assert_near(result, mean, deviation)
    assert result.log_rho.mean() == pytest.approx(log_rho, abs=0.15 * rho_deviation)
    assert result.log_rho.std() == pytest.approx(rho_deviation, rel=0.1)


def test_sgld_is_near_for_a_small_step_and_enough_data():
    channel = channels.srr(3, 3.0)
    answers = np.random.default_rng(0).choice(3, 400, p=[0.5, 0.3, 0.2])
    evidence = Evidence().add(channel, channel.sample(answers, 1))
    mean, deviation = by_quadrature(evidence, np.ones(3))
    result = posterior.sample(Categorical(3, 1.0), evidence, "sgld", draws=2000, seed=1)
    assert (np.abs(result.mean - mean) < deviation).all()


def test_moments_are_near_the_exact_posterior_at_small_epsilon():
    channel = channels.subset(6, 0.5)
    answers = np.random.default_rng(0).choice(6, 20_000, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05])
    evidence = Evidence().add(channel, channel.sample(answers, 1))
    model = Categorical(6, 1.0)
    full = posterior.sample(model, evidence, "exact", draws=4000, seed=1)
    gauss = posterior.sample(model, evidence, "moments", draws=4000, seed=1)
    spread = full.draws.std(axis=0)
    assert (np.abs(full.mean - gauss.mean) < 0.5 * spread).all()
    np.testing.assert_allclose(gauss.draws.std(axis=0), spread, rtol=0.2)


@pytest.mark.parametrize("name", SAMPLERS)
def test_one_contract(name):
    """init and step have the same leading parameters; states are frozen, and a step leaves the old one as it was."""
    module = SAMPLERS[name]
    assert list(inspect.signature(module.init).parameters)[:4] == ["model", "evidence", "rng", "chains"]
    assert list(inspect.signature(module.step).parameters) == ["state", "evidence", "rng", "new", "adapt"]
    evidence = gathered(3)
    model = Categorical(3, 1.0)
    state = module.init(model, evidence, np.random.default_rng(1), 3)
    before = state.log_theta.copy()
    after, _ = module.step(state, evidence, np.random.default_rng(2), evidence)
    again, _ = module.step(state, evidence, np.random.default_rng(2), evidence)
    np.testing.assert_array_equal(state.log_theta, before)
    np.testing.assert_array_equal(after.log_theta, again.log_theta)
    assert after.log_theta.shape == (3, 3)
    np.testing.assert_allclose(np.exp(after.log_theta).sum(axis=1), 1)
    with pytest.raises(AttributeError):
        state.model = None


@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_without_evidence_the_draws_are_the_prior(method):
    result = posterior.sample(Categorical(4, 0.5), Evidence(), method, draws=4000, seed=3)
    assert result.method == "prior"
    assert result.mean == pytest.approx(np.full(4, 0.25), abs=0.03)
    assert result.draws.var(axis=0) == pytest.approx(np.full(4, 0.25 * 0.75 / 3), rel=0.15)


def test_warm_start_reaches_the_posterior_of_a_cold_one():
    """Rounds of new evidence with few steps each, against the whole at once."""
    rng = np.random.default_rng(6)
    channel, model = channels.subset(8, 1.0), Categorical(8)
    answers = rng.choice(8, 6400, p=np.array([8, 4, 2, 1, 1, 0, 0, 0]) / 16)
    reports = channel.sample(answers, rng)
    evidence = Evidence().add(channel, reports[:100])
    state = exact.init(model, evidence, rng, chains=100)
    for _ in range(exact.WARMUP):
        state, _ = exact.step(state, evidence, rng)
    for start in (100, 200, 400, 800, 1600, 3200):
        new = Evidence().add(channel, reports[start : 2 * start])
        evidence = evidence + new
        for i in range(15):
            state, _ = exact.step(state, evidence, rng, new if i == 0 else None)
    warm = np.exp(state.log_theta)
    cold = posterior.sample(model, evidence, draws=4000, seed=1)
    spread = cold.draws.std(axis=0)
    assert (np.abs(warm.mean(axis=0) - cold.mean) < 0.5 * spread).all()
    np.testing.assert_allclose(warm.std(axis=0), spread, rtol=0.4)


def test_extremes_stay_finite():
    """All reports alike; K = 2; a large epsilon; a tiny concentration."""
    for k, epsilon, reports in ((2, 5.0, [0] * 50), (20, 0.1, [3] * 5), (5, 10.0, [4] * 3000)):
        channel = channels.srr(k, epsilon)
        evidence = Evidence().add(channel, reports)
        for concentration in ("learned", 0.01, 50.0):
            result = posterior.sample(Categorical(k, concentration), evidence, draws=200, seed=1)
            assert np.isfinite(result.chains).all()
            assert result.estimate().sum() == pytest.approx(1)
            if epsilon > 1:
                assert result.estimate().argmax() == reports[0]


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda ev: posterior.sample(Categorical(3), ev, "nuts"), "method"),
        (lambda ev: posterior.sample(Categorical(4), ev), "model"),
        (lambda ev: posterior.sample("model", ev), "model"),
        (lambda ev: posterior.sample(Categorical(3), ev, draws=0), "draws"),
        (lambda ev: posterior.sample(Categorical(3), ev, seed=-1), "seed"),
        (lambda ev: posterior.sample(Categorical(3), ev, "sgld"), "method"),
        (lambda ev: Categorical(3, 0.0), "concentration"),
        (lambda ev: Categorical(3, [1.0, 2.0]), "concentration"),
        (lambda ev: Categorical(3, float("nan")), "concentration"),
        (lambda ev: Categorical(3, "flat"), "concentration"),
        (lambda ev: Categorical(1), "k"),
        (lambda ev: Categorical(3, scale=0), "scale"),
    ],
)
def test_refusals(call, argument):
    with pytest.raises(TacitError) as refusal:
        call(gathered(3))
    assert refusal.value.argument == argument


@pytest.mark.parametrize("alpha", [1e-9, 1e-5, 0.03, 1.0, 40.0, 1e6])
def test_coordinates_come_back(alpha):
    from tacit.posterior.coordinates import _inverse

    v = np.linspace(-60, 300, 500)
    t = _inverse(v, np.full_like(v, alpha))
    np.testing.assert_allclose(t + (1 / alpha - 1) * np.logaddexp(0, t), v, atol=1e-9)


def test_chains_seldom_stay_behind_in_a_corner():
    """A sparse population at which "absent" is a second mode with half a per cent of the mass for one category."""
    theta = np.random.default_rng(1).dirichlet([0.1] * 10)
    channel = channels.subset(10, 1.0)
    below = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        evidence = Evidence().add(channel, channel.sample(rng.choice(10, 5000, p=theta), rng))
        result = posterior.sample(Categorical(10), evidence, seed=seed)
        below.append((result.draws[:, 6] < 0.01).mean())
    assert np.mean(below) < 0.015


def test_a_high_concentration_wins_over_few_reports():
    channel = channels.subset(5, 1.0)
    evidence = Evidence().add(channel, channel.sample(np.zeros(1000, int), 1))
    result = posterior.sample(Categorical(5, 1e6), evidence, seed=1)
    assert result.mean == pytest.approx(np.full(5, 0.2), abs=0.005)


def test_auto_counts_before_it_builds():
    """10,000 hashed reports over 100,000 categories: their rows would take 8 GB."""
    channel = channels.hashed(100_000, 2.0)
    evidence = Evidence().add(channel, channel.sample(np.arange(10_000), 1))
    tracemalloc.start()
    assert posterior.choose(evidence, "auto") == "moments"
    assert tracemalloc.get_traced_memory()[1] < 10e6
    tracemalloc.stop()
    with pytest.raises(TacitError) as refusal:
        posterior.sample(Categorical(100_000), evidence)
    assert refusal.value.argument == "model"


def test_density_is_nothing_far_out_where_the_gamma_functions_cancel():
    """A trajectory that breaks can land at rho = e^40, where rounding noise once looked like density."""
    from tacit.posterior.coordinates import Coordinates

    evidence = gathered(3, 6)
    space = Coordinates(Categorical(3), evidence.likelihood(), np.full(3, -1.0))
    x = np.zeros((4, 4))
    x[:, -1] = [0, 15, 17, 40]
    with np.errstate(all="ignore"):
        density = space.log_density(x)
    assert np.isfinite(density[:2]).all()
    assert np.isneginf(density[2:]).all()
    assert density[1] < density[0] - 10

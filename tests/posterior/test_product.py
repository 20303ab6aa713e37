"""The posterior of many categories: beside Hamiltonian Monte Carlo, and by simulation from its own prior."""

import numpy as np
import pytest

import tacit
from tacit import Categorical, Evidence, TacitError, channels, posterior
from tacit.posterior import product


def study(channel, theta, n, seed):
    rng = np.random.default_rng(seed)
    return Evidence().add(channel, channel.sample(rng.choice(len(theta), n, p=theta), rng))


def zipf(k, exponent):
    theta = np.arange(1.0, k + 1) ** -exponent
    return theta / theta.sum()


@pytest.mark.parametrize("concentration", ["learned", 1.0])
@pytest.mark.parametrize("kind", ["hashed", "subset"])
def test_beside_hamiltonian_monte_carlo(kind, concentration):
    """Means within a tenth of a standard deviation on average, deviations within a tenth of each other."""
    k = 100
    evidence = study(getattr(channels, kind)(k, 1.0), zipf(k, 1.2), 30_000, 4)
    model = Categorical(k, concentration)
    quick = posterior.sample(model, evidence, "product", draws=2000, seed=1)
    slow = posterior.sample(model, evidence, "moments", draws=2000, seed=2)
    assert (quick.method, slow.method) == ("product", "moments")
    spread = slow.draws.std(axis=0)
    assert np.sqrt(np.mean(((quick.mean - slow.mean) / spread) ** 2)) < 0.15
    assert np.abs(np.log(quick.draws.std(axis=0) / spread)).mean() < 0.15
    if concentration == "learned":
        difference = quick.log_rho.mean() - slow.log_rho.mean()
        assert abs(difference) < 0.5 * slow.log_rho.std()


@pytest.mark.parametrize(
    ("kind", "k", "n", "epsilon"), [("hashed", 200, 50_000, 1.0), ("srr", 150, 5000, 5.0)]
)
def test_intervals_cover_when_the_truth_is_from_the_prior(kind, k, n, epsilon):
    """The 99.9 % interval of the coverage of 90 % intervals, clustered by study, holds 0.9."""
    rng, model = np.random.default_rng(8), Categorical(k)
    channel = getattr(channels, kind)(k, epsilon)
    cover = []
    for _ in range(60):
        theta = model.sample_prior(1, rng).theta[0]
        evidence = study(channel, theta / theta.sum(), n, rng)
        low, high = posterior.sample(model, evidence, "product", draws=300, seed=rng).interval(0.9)
        cover.append(((low <= theta) & (theta <= high)).mean())
    error = np.std(cover, ddof=1) / np.sqrt(len(cover))
    assert abs(np.mean(cover) - 0.9) < 3.3 * error + 0.005
    assert error < 0.02


def test_draws_are_distributions_dealt_to_chains():
    evidence = study(channels.hashed(1000, 1.0), zipf(1000, 1.0), 50_000, 1)
    found = posterior.sample(Categorical(1000), evidence, draws=402, seed=5)
    assert found.method == "product"
    assert found.chains.shape == (4, 101, 1000)
    assert (found.draws >= 0).all()
    np.testing.assert_allclose(found.draws.sum(axis=1), 1, atol=1e-9)
    assert np.nanmax(found.rhat()) < 1.1
    again = posterior.sample(Categorical(1000), evidence, draws=402, seed=5)
    assert (found.chains == again.chains).all()


def test_many_categories_end_to_end():
    """Ten thousand, asked by default."""
    theta = zipf(10_000, 1.5)
    result = tacit.simulate(theta, 2.0, n=50_000, seed=3)
    (used,) = {channel.table.kind for channel, _ in result.channels}
    assert (used, result.posterior.method) == ("hashed", "product")
    assert result.tv < 0.25  # measured 0.22; the unbiased estimate is off by more than 1
    low, high = result.posterior.interval(0.9)
    # Of all; of the twenty largest about half, for the prior that fits the many small ones pulls them
    # (docs/explanation/large-k.md).
    assert ((low <= theta) & (theta <= high)).mean() > 0.9
    assert (high - low)[0] < 0.05


@pytest.mark.parametrize("rho", [1e-4, 0.01, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("rate", [0.01, 10.0, 1e5])
def test_the_prior_of_a_cell_is_exact(rho, rate):
    from scipy.stats import gamma

    edges = np.r_[0, np.geomspace(1e-5, 1, 30)]
    mass, first, _ = product._prior_cells(edges, rho, rate)
    law = gamma(rho, scale=1 / rate)
    np.testing.assert_allclose(mass, np.diff(law.cdf(edges)), atol=1e-12)
    assert first.sum() == pytest.approx(gamma(rho + 1, scale=1 / rate).cdf(1) * rho / rate, abs=1e-9)


def test_several_channels_and_a_study_that_is_saved(tmp_path):
    theta = zipf(600, 1.0)
    study_ = tacit.Study([f"word {i}" for i in range(600)], epsilon=1.0)
    assert study_.policy.name == "static-hashed"
    rng = np.random.default_rng(2)
    study_.add(study_.channel, study_.channel.sample(rng.choice(600, 20_000, p=theta), rng))
    other = channels.subset(600, 1.0)
    study_.add(other, other.sample(rng.choice(600, 20_000, p=theta), rng))
    both = study_.posterior(draws=400)
    alone = posterior.sample(Categorical(600), Evidence((study_.evidence.tallies[0],)), draws=400)
    assert both.method == alone.method == "product"
    assert both.draws.std(axis=0)[:10].mean() < alone.draws.std(axis=0)[:10].mean()
    study_.save(tmp_path / "study.zip")
    assert tacit.Study.load(tmp_path / "study.zip").evidence == study_.evidence


def test_without_evidence_it_is_the_prior():
    found = posterior.sample(Categorical(5000, 1.0), Evidence(), draws=50)
    assert (found.method, found.draws.shape[1]) == ("prior", 5000)
    assert found.mean.mean() == pytest.approx(1 / 5000)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: posterior.sample(Categorical(2**15 + 1), Evidence()), "model"),
        (lambda: posterior.sample(Categorical(2001), Evidence(), "moments"), "model"),
        (
            lambda: posterior.sample(
                Categorical(9), study(channels.hashed(9, 1.0), zipf(9, 1), 99, 1), "product"
            ),
            "method",
        ),
        (
            lambda: posterior.sample(
                Categorical(2500), study(channels.coarse(2500, [1, 2], 1.0), zipf(2500, 1), 99, 1)
            ),
            "evidence",
        ),
        (
            lambda: posterior.sample(
                Categorical(600, np.r_[2.0, np.ones(599)]),
                study(channels.hashed(600, 1.0), zipf(600, 1), 99, 1),
            ),
            "model",
        ),
        (lambda: tacit.Study([f"c{i}" for i in range(2500)], epsilon=1.0, policy="risk"), "model"),
        (
            lambda: tacit.Study([f"c{i}" for i in range(250)], epsilon=1.0, policy="risk", method="product"),
            "method",
        ),
    ],
)
def test_refusals(call, argument):
    with pytest.raises(TacitError) as refusal:
        call()
    assert (refusal.value.code, refusal.value.argument) == ("argument_invalid", argument)

"""The posterior of a number against sums over a fine grid, and against the conjugate law that it comes to."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tacit import Categorical, Evidence, LocationScale, Normal, TacitError, channels, posterior
from tacit.posterior import numbers

RNG = np.random.default_rng(11)
PEOPLE = RNG.normal(20, 4, 900)
CHANNELS = (
    channels.graded(10, 30, 1, 1.0),
    channels.graded(12, 28, 4, 2.0),
    channels.binned([15, 18.5, 24], channels.srr(4, 1.5)),
)


def gathered():
    evidence = Evidence()
    for channel, people in zip(CHANNELS, np.split(PEOPLE, 3), strict=True):
        evidence = evidence.add(channel, channel.sample(people, RNG))
    return evidence


EVIDENCE = gathered()


def on_a_grid(model, cells=300):
    """Mean and standard deviation of (mu, sigma), and the log evidence, by the midpoint rule in (mu, ln sigma)."""
    mu = np.linspace(10, 30, cells, endpoint=False) + 10 / cells
    logs = np.linspace(-1.5, 4.0, cells, endpoint=False) + 2.75 / cells
    points = np.stack(np.meshgrid(mu, np.exp(logs)), axis=-1).reshape(-1, 2)
    value = model.log_prior(points)
    for tally in EVIDENCE.tallies:
        rows, counts = tally.likelihood_rows()
        p = model.cell_probabilities(tally.channel.cuts, points) @ rows.T
        value = value + np.log(p) @ counts
    weight = np.exp(value - value.max())
    mean = weight @ points / weight.sum()
    spread = np.sqrt(weight @ (points - mean) ** 2 / weight.sum())
    return mean, spread, value.max() + np.log(weight.sum() * 20 / cells * 5.5 / cells)


@pytest.mark.parametrize("family", ["normal", "logistic", "laplace", "student:4"])
def test_draws_and_evidence_are_those_of_the_grid(family):
    """Five runs with fixed seeds: means within a tenth of the spread, log evidence within 0.1."""
    model = LocationScale(family, mean=15, sd=10, shape=2, rate=20)
    mean, spread, evidence = on_a_grid(model)
    runs = [posterior.sample(model, EVIDENCE, draws=2000, seed=seed) for seed in range(5)]
    assert (np.abs(np.mean([run.mean for run in runs], axis=0) - mean) < 0.1 * spread).all()
    assert np.mean([run.sd for run in runs], axis=0) == pytest.approx(spread, rel=0.06)
    assert np.mean([run.log_evidence for run in runs]) == pytest.approx(evidence, abs=0.1)


def test_with_hardly_any_noise_the_evidence_is_the_conjugate_one():
    """epsilon 50 and cells of 0.05: ln p(reports) is that of the normal answers, and ln of the width for each."""
    sigma, width, n = 2.0, 0.05, 60
    people = np.random.default_rng(5).normal(7, sigma, n)
    edges = np.round(np.arange(-5, 20, width), 4)
    channel = channels.binned(edges.tolist(), channels.srr(len(edges) + 1, 50.0))
    evidence = Evidence().add(channel, channel.sample(people, 1))
    model = Normal(mean=5, sd=3, scale=sigma)
    rows = evidence.tallies[0].likelihood_rows()[0]
    assert (np.sort(rows, axis=1)[:, -2] / rows.max(axis=1) < 1e-15).all()  # each report tells its cell
    found = np.array([posterior.sample(model, evidence, seed=seed).log_evidence for seed in range(8)])
    cells = channel.cells(people)
    middles = edges[cells - 1] + width / 2
    exact = multivariate_normal(np.full(n, 5.0), np.eye(n) * sigma**2 + 9.0).logpdf(middles) + n * np.log(
        width
    )
    scaled = n * np.log(rows.max())  # the rows are proportional to probabilities, their smallest entry 1
    assert found.mean() - scaled == pytest.approx(exact, abs=0.1)
    kept = posterior.sample(model, evidence, draws=4000, seed=1)
    precision = 1 / 9 + n / sigma**2
    assert kept.mean[0] == pytest.approx((5 / 9 + middles.sum() / sigma**2) / precision, abs=0.05)
    assert kept.sd[0] == pytest.approx(precision**-0.5, rel=0.06)


def test_tables_that_grow_by_one_report_are_joined_like_a_counter():
    tables = ()
    one = numbers.cell_table(Evidence().add(CHANNELS[0], [1]))
    for _ in range(1000):
        tables = numbers.grown(tables, one)
    assert sum(len(table) for table in tables) == 1000
    assert len(tables) < 12
    target = numbers.CellTarget(Normal(mean=20, sd=5))
    x = np.array([[18.0, 1.0]])
    assert target.log_likelihood(x, tables) == pytest.approx(1000 * target.log_likelihood(x, (one,)))


def test_what_the_draws_say():
    found = posterior.sample(Normal(mean=15, sd=10), EVIDENCE, draws=2000, seed=1)
    value, low, high = found.quantile(0.5)
    assert low < value < high
    assert value == pytest.approx(found.mean[0], abs=1e-9)
    assert found.quantile(0.9)[0] > value
    assert found.cdf([value])[0] == pytest.approx(0.5, abs=0.01)
    assert (np.diff(found.cdf([10, 20, 30])) > 0).all()
    assert found.estimate("mse") == pytest.approx(found.mean)
    assert found.to_arviz() is not None


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda found: found.estimate("tv"), "minimise"),
        (lambda found: found.interval(1.0), "level"),
        (lambda found: found.quantile(0), "share"),
        (lambda found: found.cdf([float("nan")]), "numbers"),
    ],
)
def test_questions_that_make_no_sense(call, argument):
    with pytest.raises(TacitError) as refusal:
        call(posterior.sample(Normal(mean=15, sd=10), EVIDENCE, draws=100, seed=1))
    assert refusal.value.argument == argument


def test_models_and_evidence_have_to_be_about_the_same():
    shares = Evidence().add(channels.srr(3, 1.0), [0, 1, 2])
    for model, evidence in ((Normal(mean=0, sd=1), shares), (Categorical(3), EVIDENCE)):
        with pytest.raises(TacitError) as refusal:
            posterior.sample(model, evidence)
        assert refusal.value.code == "channel_mismatch"
    with pytest.raises(TacitError) as refusal:
        posterior.sample(Normal(mean=0, sd=1), EVIDENCE, method="gibbs")
    assert refusal.value.argument == "method"

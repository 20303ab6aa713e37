"""The adaptive truncation experiment: both reference samplers against quadrature, its lines, its quick form."""

import doctest
import importlib
import json
from itertools import pairwise

import numpy as np
import pytest
from experiments.adaptive_truncation import exact, expected, latent, mhaar, people, run, summary
from experiments.adaptive_truncation.people import People, Prior, population
from scipy.stats import norm
from scipy.stats import t as student

from tacit.models.information import clipped_information, finite_information

EPSILON, N = 3.0, 10
PRIOR = Prior(50.0, 25.0, 3.0, 20.0)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


@pytest.mark.parametrize("name", ["people", "latent", "mhaar", "exact"])
def test_examples(name):
    module = importlib.import_module(f"experiments.adaptive_truncation.{name}")
    found = doctest.testmod(module, extraglobs={"np": np}, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert found.failed == 0


def reports():
    """Ten reports on intervals of all sizes and places."""
    rng = np.random.default_rng(5)
    low = 50 + rng.normal(size=N) * 4 - 4
    high = low + rng.uniform(1, 12, N)
    crowd = population(3, N)
    y = [people.report(x, a, b, EPSILON, v) for x, v, a, b in zip(*crowd, low, high, strict=True)]
    return np.array(y), low, high


def moments(points):
    """Those that a mean, a spread or a correlation gone wrong would change."""
    mu, sigma = np.asarray(points).T
    return np.array([mu.mean(), sigma.mean(), mu.var(), sigma.var(), np.cov(mu, sigma)[0, 1]])


def by_quadrature():
    """The same of the posterior, on a grid of (mu, ln sigma); the answer is integrated out by Gauss and Legendre."""
    mu, log_sigma = np.meshgrid(np.linspace(25, 75, 121), np.linspace(-2, 5, 141), indexing="ij")
    sigma = np.exp(log_sigma)
    density = (
        -0.5 * (mu - PRIOR.mean) ** 2 / PRIOR.variance - 2 * PRIOR.shape * log_sigma - PRIOR.rate / sigma**2
    )
    for y, low, high in zip(*reports(), strict=True):
        b = (high - low) / EPSILON
        inside = min(max(y, low), high)
        total = norm.cdf((low - mu) / sigma) * np.exp(-abs(y - low) / b)
        total += norm.sf((high - mu) / sigma) * np.exp(-abs(y - high) / b)
        edges = np.concatenate([np.linspace(low, inside, 9), np.linspace(inside, high, 9)])
        for left, right in pairwise(edges):
            for node, weight in zip(NODES, WEIGHTS, strict=True):
                x = (left + right) / 2 + (right - left) / 2 * node
                total += (
                    (right - left) / 2 * weight * norm.pdf((x - mu) / sigma) / sigma * np.exp(-abs(y - x) / b)
                )
        density += np.log(total)
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    means = [(weight * value).sum() for value in (mu, sigma)]
    second = [(weight * u * v).sum() for u, v in ((mu, mu), (sigma, sigma), (mu, sigma))]
    m, s = means
    return np.array([m, s, second[0] - m * m, second[1] - s * s, second[2] - m * s])


@pytest.fixture(scope="module")
def reference():
    return by_quadrature()


def surprise(runs, reference):
    """The largest gap between the means of independent runs and the reference, over its limit at an alarm of 1e-6."""
    runs = np.array(runs)
    scores = (runs.mean(axis=0) - reference) / (runs.std(axis=0, ddof=1) / np.sqrt(len(runs)))
    return np.abs(scores).max() / student.ppf(1 - 1e-6 / 10, len(runs) - 1)


def latent_moments(order, seed, noisier=1.0):
    rng = np.random.default_rng(seed)
    state = latent.Particles(N, 1000, PRIOR, rng)
    for y, low, high in zip(*reports(), strict=True):
        state.take(y, low, high, noisier * (high - low) / EPSILON, order, rng)
    return moments(state.points(1000, rng))


@pytest.mark.parametrize("order", latent.ORDERS)
def test_the_latent_sampler_has_the_exact_posterior(order, reference):
    assert surprise([latent_moments(order, seed) for seed in range(20)], reference) < 1


@pytest.mark.parametrize("order", latent.ORDERS)
def test_a_latent_sampler_with_another_noise_is_caught(order, reference):
    """The scale of the program's noise is 1 / sqrt(2) of what its likelihood says."""
    assert surprise([latent_moments(order, seed, np.sqrt(2)) for seed in range(20)], reference) > 1


def chain_moments(seed, stale=False, epsilon=EPSILON):
    y, low, high = reports()
    rng = np.random.default_rng(seed)
    return moments(mhaar.sample(y, low, high, epsilon, rng, iterations=40_000, prior=PRIOR, stale=stale))


@pytest.mark.parametrize("stale", [False, True])
def test_mhaar_has_the_exact_posterior(stale, reference):
    """Also as published: to keep z after a rejection is right too."""
    assert surprise([chain_moments(seed, stale) for seed in range(10)], reference) < 1


def test_mhaar_with_another_noise_is_caught(reference):
    assert surprise([chain_moments(seed, epsilon=EPSILON / np.sqrt(2)) for seed in range(10)], reference) > 1


def test_the_exact_batch_agrees_with_mhaar():
    """On the fixed interval, by MHAAR and by the exact likelihood, within 0.15 posterior standard deviations."""
    y, low, high = run.on_fixed(population(2, 50), 10.0)
    mean, sd = exact.batch(y, low, high, 10.0, np.random.default_rng(1), particles=5000)
    chains = [mhaar.sample(y, low, high, 10.0, np.random.default_rng(seed)).mean(axis=0) for seed in range(2)]
    assert (np.abs(np.mean(chains, axis=0) - mean) < 0.15 * sd).all()


def test_the_interval_follows_the_posterior():
    trace = exact.adaptive(population(1), 10.0, np.random.default_rng(1))
    middle, width = trace.intervals[-200:].mean(axis=1), np.diff(trace.intervals[-200:], axis=1)[:, 0]
    low, high = people.best(10.0)
    np.testing.assert_allclose(middle.mean(), trace.mean[0], atol=0.1)
    np.testing.assert_allclose(width.mean() / (high - low), trace.mean[1], rtol=0.1)
    assert trace.clouds.shape == (50, 1000, 2)


def test_the_first_report_of_the_program_is_where_it_starts():
    crowd = People(np.full(1, 50.0), np.zeros(1))
    trace = latent.run(crowd, 5.0, np.random.default_rng(1), interval=(40.0, 60.0), start="report")
    assert abs(trace.mean[0] - 50) < 0.2


def test_lines_are_added_where_they_are_missing(tmp_path):
    path = tmp_path / "runs.jsonl"
    run.make(["information"], 1, 0, path)
    text = path.read_text()
    assert [json.loads(line)["epsilon"] for line in text.splitlines()] == list(people.EPSILONS)
    path.write_text(text + '{"epsilon": 1.0, "ru')
    run.make(["information", "mhaar"], 1, 0, path)
    assert path.read_text() == text


def test_information_is_averaged_over_reports():
    parts = np.array([[[1.0, 0], [0, 2]], [[3.0, 0], [0, 4]], [[5.0, 0], [0, 6]]])
    found = run._averages(parts, np.array([60.0, 20.0, 20.0]))
    assert found == {"all": [2.2, 0, 3.2], "late": [3.4, 0, 4.4]}


def test_information_at_the_truth_is_that_of_the_paper():
    """In units of 1 / sigma^2, as in its table of best intervals."""
    low, high = (people.MU + people.SIGMA * end for end in people.best(1.0))
    made = clipped_information("normal", low, high, high - low, run.TRUTH)[0, 0, 0] * people.SIGMA**2
    assert round(made, 4) == 0.1089
    odds = np.exp([[1.0, 0.0], [0.0, 1.0]]) / (1 + np.e)
    sign = finite_information("normal", [people.MU], odds, run.TRUTH)[0, 0, 0] * people.SIGMA**2
    assert round(sign, 4) == 0.1360


def made_up(errors):
    """Lines of two methods, whose errors of mu are as given and of sigma half of that."""
    return [
        {
            "epsilon": 1.0,
            "run": i,
            "method": method,
            "mean": [people.MU + error * size, people.SIGMA + error * size / 2],
            "sd": [1.0, 1.0],
            "information": {},
            "seconds": 1.0,
        }
        for method, size in (("exact", 1.0), ("exact fixed", 3.0))
        for i, error in enumerate(errors)
    ]


def test_errors_are_paired():
    """The same errors three times as large: the ratio is 3 in every resample."""
    lines = made_up(np.random.default_rng(1).normal(size=50))
    rows = {row["method"]: row for row in summary.errors(summary.by_method(lines))}
    for ratio in rows["exact fixed"]["ratio"]:
        np.testing.assert_allclose(ratio[:3], 3)
        assert ratio.z > 2
    value, low, high = rows["exact"]["rmse"][0]
    assert low < value < high
    np.testing.assert_allclose(
        value, np.sqrt(np.mean([(line["mean"][0] - people.MU) ** 2 for line in lines[:50]]))
    )


def test_the_readme_takes_the_tables(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(f"before\n{summary.BEGIN}\nold\n{summary.END}\nafter\n")
    summary.write_readme("new\n", path)
    assert path.read_text() == f"before\n{summary.BEGIN}\nnew\n{summary.END}\nafter\n"


def test_quick_form():
    found = expected.quick()
    made = json.loads(expected.EXPECTED.read_text())["quick"]
    assert expected.differences(found, made) == []
    worse = dict(found)
    name = next(name for name in made if name.endswith("error of mu"))
    worse[name] += 2 * made[name][1]
    assert len(expected.differences(worse, made)) == 1

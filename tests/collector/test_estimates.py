"""Estimates as JSON: the fields of the protocol, and numbers that are what they are called."""

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tacit import Evidence, Normal, Study, channels
from tacit.collector import bounds
from tacit.collector.estimates import RANKED, estimate, words
from tacit.planning import error_of_one
from tacit_client import Question, Round, build
from tacit_client.tables import Dense

PROTOCOL = Path(__file__).parents[2] / "docs" / "reference" / "protocol.md"
AGE = Question("age", "How old?", unit="years", lowest="0", highest="100", step="1")


def labels(k):
    return [f"label {i}" for i in range(k)]


def learned(theta, n, **options):
    k = len(theta)
    study = Study(labels(k), epsilon=1.0, expected=n, **options)
    rng = np.random.default_rng(0)
    while len(study.evidence) < n:
        study.add(study.channel, study.channel.sample(rng.choice(k, study.wanted, p=theta), rng))
    return study


def by_round(study):
    return [len(study.evidence)] + [0] * (len(study.rounds) - 1)


def measured(n=3000, seed=0):
    study = Study(question=AGE, epsilon=2.0, expected=n)
    rng = np.random.default_rng(seed)
    while len(study.evidence) < n:
        answers = np.clip(np.round(rng.normal(40, 8, study.wanted)), 0, 100)
        study.add(study.channel, study.channel.sample(answers, rng))
    return study


@pytest.fixture(scope="module")
def shares():
    study = learned([0.4, 0.3, 0.2, 0.1], 5000)
    return study, estimate(study, "open", 5100, by_round(study))


@pytest.fixture(scope="module")
def number():
    study = measured()
    return study, estimate(study, "open", 3000, by_round(study))


def test_the_fields_are_those_of_the_protocol(shares, number):
    text = PROTOCOL.read_text(encoding="utf-8").split("## The estimate")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == set(shares[1]) | set(number[1])
    for _, made in (shares, number):
        assert json.loads(json.dumps(made, allow_nan=False)) == made
        assert set(made["rounds"][0]) == {"number", "id", "n", "kind", "epsilon", "keeps", "words"}
        assert set(made["history"][0]) == {"n", "round", "estimate", "low", "high", "error"}
        assert set(made["error"]) == {"expected", "bound", "static", "unit"}


def test_shares_are_those_of_the_posterior(shares):
    study, made = shares
    posterior = study.posterior()
    assert (made["n"], made["used"], made["expected"], made["kind"]) == (
        5100,
        len(study.evidence),
        5000,
        "categories",
    )
    assert made["odds"] == pytest.approx(math.e, rel=1e-5)
    assert made["estimate"] == pytest.approx(posterior.estimate().tolist(), rel=1e-5)
    assert sum(made["estimate"]) == pytest.approx(1, abs=1e-5)
    assert made["low"] == pytest.approx(posterior.interval(0.9)[0].tolist(), rel=1e-5)
    assert [row[0] for row in made["ranks"]] == made["first"]
    assert np.sum(made["ranks"], axis=0) == pytest.approx(np.ones(4), abs=1e-5)
    away = np.abs(posterior.draws - posterior.estimate()).sum(axis=1) / 2
    assert made["error"]["expected"] == pytest.approx(away.mean(), rel=1e-5)
    assert made["diagnostics"]["method"] == "exact"
    assert made["diagnostics"]["rhat"] < 1.1


def test_the_expected_error_is_near_the_bound_where_there_are_many_reports(shares):
    error = shares[1]["error"]
    assert error["unit"] == "tv"
    assert error["bound"] == pytest.approx(error["expected"], rel=0.1)
    assert error["static"] == pytest.approx(error["bound"], rel=1e-5)  # one round, and it was the static one


def test_what_fake_reports_could_have_done_is_said(shares, number):
    made = shares[1]
    fakes = made["poisoning"]
    assert (fakes["n"], fakes["fakes"]) == (made["used"], round(made["used"] / 100))
    # With privacy a lie weighs more than one report among n.
    assert all(up > plain > 0 for up, plain in zip(fakes["up"], fakes["plain_up"], strict=True))
    assert len(number[1]["poisoning"]["up"]) == 2
    assert estimate(Study(labels(3), epsilon=1.0), "open", 0, [0])["poisoning"] is None


def test_many_categories_have_no_ranks_but_a_first():
    study = Study(labels(RANKED + 1), epsilon=1.0)
    made = estimate(study, "open", 0, [0])
    assert made["ranks"] is None
    assert sum(made["first"]) == pytest.approx(1, abs=1e-4)
    assert made["error"]["bound"] is None
    assert made["history"] == []


def test_a_number_is_described(number):
    study, made = number
    posterior = study.posterior()
    assert made["kind"] == "number"
    assert made["estimate"]["mu"] == pytest.approx(np.median(posterior.draws[:, 0]), rel=1e-5)
    assert made["low"]["sigma"] < made["estimate"]["sigma"] < made["high"]["sigma"]
    x, y = np.array(made["density"]["x"]), np.array(made["density"]["y"])
    assert ((y[1:] + y[:-1]) / 2 * np.diff(x)).sum() == pytest.approx(1, abs=0.01)
    assert 0 <= x[0] < 40 < x[-1] <= 100
    assert made["error"]["unit"] == "mae"
    assert made["error"]["expected"] == pytest.approx(
        np.abs(posterior.draws[:, 0] - np.median(posterior.draws[:, 0])).mean(), rel=1e-4
    )
    assert made["error"]["bound"] == pytest.approx(made["error"]["expected"], rel=0.25)
    assert made["error"]["bound"] < made["error"]["static"]
    assert made["rounds"][-1]["keeps"] == [float(cut) for cut in study.rounds[-1].channel.cuts]


def test_a_number_before_any_report_is_described_by_its_prior():
    made = estimate(Study(question=AGE, epsilon=1.0), "open", 0, [0])
    assert made["diagnostics"]["method"] == "prior"
    assert json.dumps(made, allow_nan=False)
    assert made["error"]["bound"] is None
    assert made["density"]["x"][0] >= 0


def test_history_remembers_evenly_and_forgets_what_was_erased():
    study = learned([0.5, 0.5], 300)
    before = None
    for n in range(1, 400):
        entry = {"n": n, "round": 0, "estimate": [], "low": [], "high": [], "error": 0.1}
        before = {"history": [*(before or {"history": []})["history"], entry]}
    made = estimate(study, "open", 300, by_round(study), before)
    counts = [entry["n"] for entry in made["history"]]
    assert counts == sorted(set(counts))
    assert len(counts) == 60
    assert (counts[0], counts[-1]) == (1, len(study.evidence))
    gaps = np.diff(np.log(counts[20:]))
    assert gaps.max() < 3 * gaps.min()
    assert made["history"][-1]["error"] == made["error"]["expected"]


def test_history_of_many_categories_is_short():
    study = learned(np.full(100, 0.01), 101, policy="static-srr")
    entry = {"round": 0, "estimate": [], "low": [], "high": [], "error": 0.1}
    before = {"history": [{"n": n, **entry} for n in range(1, 90)]}
    assert len(estimate(study, "open", 101, by_round(study), before)["history"]) == 40


# The bounds


@pytest.mark.parametrize("k", [2, 3, 60])
def test_the_bound_of_a_linear_estimate_is_its_error(k):
    """The best static channel for up to three categories, or many, is estimated best by its tally, as in `plan`."""
    theta = np.random.default_rng(k).dirichlet(np.ones(k))
    assert bounds.static_bound(10_000, 0.5, theta) == pytest.approx(
        error_of_one(k, 0.5, theta) / 100, rel=1e-9
    )


def test_the_bound_is_the_inverse_of_the_information_along_the_simplex():
    """Against the free parameters theta_1..theta_{K-1}, with the last share one minus their sum."""
    channel, theta = channels.rrrr(4, [0, 2], 1.0, 0.8), np.array([0.4, 0.3, 0.2, 0.1])
    rows = channel.matrix()
    slopes = rows[:, :3] - rows[:, 3:]
    covariance = np.linalg.inv(slopes.T @ (slopes / (rows @ theta)[:, None]))
    variances = [*np.diag(covariance), covariance.sum()]
    expected = np.sqrt(2 / math.pi) * np.sqrt(variances).sum() / 2 / math.sqrt(500)
    assert bounds.categories_bound([(channel, 500)], theta) == pytest.approx(expected, rel=1e-9)


def test_informations_of_channels_add():
    theta = np.array([0.6, 0.3, 0.1])
    one, two = channels.srr(3, 1.0), channels.subset(3, 2.0)
    both = bounds.categories_bound([(one, 300), (two, 200)], theta)
    assert both < min(
        bounds.categories_bound([(one, 300)], theta), bounds.categories_bound([(two, 200)], theta)
    )
    assert bounds.categories_bound([(one, 300), (one, 100)], theta) == pytest.approx(
        bounds.categories_bound([(one, 400)], theta), rel=1e-12
    )


def test_a_channel_that_merges_categories_bounds_nothing_alone():
    theta = np.full(4, 0.25)
    merged = channels.coarse(4, [0, 1], 1.0)
    assert bounds.categories_bound([(merged, 10**6)], theta) == math.inf
    assert bounds.categories_bound([], theta) == math.inf
    static = channels.subset(4, 1.0)
    assert bounds.categories_bound([(merged, 10**6), (static, 100)], theta) < math.inf


@pytest.mark.parametrize("channel", [channels.subset(12, 1.0), channels.coarse(12, [0, 3, 4, 7], 1.0)])
def test_the_information_of_the_tally_is_a_little_less_than_all(channel, monkeypatch):
    theta = np.random.default_rng(1).dirichlet(np.ones(12))
    whole = bounds.information(channel, theta)
    monkeypatch.setattr(bounds, "ENTRIES", 0)
    part = bounds.information(channel, theta)
    basis = np.linalg.svd(np.ones((1, 12)))[2][1:]
    along = np.linalg.eigvalsh(basis @ (whole - part) @ basis.T)
    assert along.min() > -1e-9 * np.abs(whole).max()
    assert np.trace(basis @ part @ basis.T) > 0.9 * np.trace(basis @ whole @ basis.T)


def test_the_bound_of_many_categories_is_that_of_each_by_itself(monkeypatch):
    theta = np.random.default_rng(1).dirichlet(np.ones(60))
    used = [(channels.subset(60, 0.5), 3000), (channels.hashed(60, 1.0), 2000)]
    whole = bounds.categories_bound(used, theta)
    monkeypatch.setattr(bounds, "MANY", 10)
    assert bounds.categories_bound(used, theta) == pytest.approx(whole, rel=0.05)
    assert bounds.categories_bound(used[:1], theta) == pytest.approx(
        error_of_one(60, 0.5, theta) / math.sqrt(3000)
    )
    assert bounds.static_bound(10_000, 8.0, theta) < bounds.static_bound(10_000, 3.0, theta)
    merged = channels.coarse(60, [0, 1], 1.0)
    assert bounds.categories_bound([(merged, 10**6)], theta) == math.inf


def test_thousands_of_categories_are_described_in_seconds():
    study = Study(labels(1500), epsilon=3.0, expected=2000)
    answers = np.random.default_rng(0).integers(0, 1500, 2000) ** 2 % 1500
    study.add(study.channel, study.channel.sample(answers, 1))
    made = estimate(study, "open", 2000, by_round(study))
    assert len(made["estimate"]) == 1500
    assert 0 < made["error"]["bound"] <= 1
    assert made["diagnostics"]["ess"] > 50
    assert len(json.dumps(made)) < 400_000


def test_a_hashed_channel_is_bounded_by_its_moments():
    theta = np.random.default_rng(1).dirichlet(np.ones(20))
    hashed = bounds.categories_bound([(channels.hashed(20, 1.0), 10_000)], theta)
    assert hashed == pytest.approx(bounds.static_bound(10_000, 1.0, theta), rel=0.15)


def test_the_bound_of_a_location_is_the_spread_of_a_good_estimate():
    """Posterior standard deviations of 20 studies of 4,000 reports, within a tenth of the bound on average."""
    model, point = Normal(mean=40, sd=30, shape=0.5, rate=50), np.array([40.0, 8.0])
    channel = channels.graded(25, 55, 4, 2.0)
    rng = np.random.default_rng(2)
    spreads = []
    for _ in range(20):
        study = Study(question=AGE, epsilon=2.0, model=model, policy="information")
        reports = channel.sample(rng.normal(40, 8, 4000), rng)
        found = study.learner.posterior(Evidence().add(channel, reports), 500, 0)
        spreads.append(found.sd[0])
    bound = bounds.location_bound([(channel, 4000)], model, point)
    assert np.mean(spreads) * math.sqrt(2 / math.pi) == pytest.approx(bound, rel=0.1)
    known = bounds.location_bound([(channel, 4000)], model, point, known_scale=True)
    assert known <= bound


def test_one_cut_does_not_bound_a_location_of_unknown_scale():
    model, point = Normal(mean=40, sd=30, shape=0.5, rate=50), np.array([40.0, 8.0])
    sign = channels.graded(30, 70, 1, 2.0)
    assert bounds.location_bound([(sign, 10**6)], model, point) == math.inf
    assert bounds.location_bound([(sign, 10**6)], model, point, known_scale=True) < 1
    assert bounds.static_location_bound(AGE, 10_000, 2.0, model, point) < 1


# The words


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        (build.srr(4, 1), "keeps all 4 categories apart; a report names one of them"),
        (build.rrrr(4, [1, 3], 1, 0.9), "keeps all 4 categories apart, 2 likely ones better than the rest"),
        (build.subset(4, 1, 2), "keeps all 4 categories apart; a report names 2 of them"),
        (build.coarse(4, [1, 2], 1, 1),
         "keeps 2 of 4 categories apart, merges the rest; a report names one of the 3 groups"),
        (build.hashed(4, 1), "throws the 4 categories into 4 buckets, anew for each device"),
        (Dense(4, Fraction(3), ((2, 1, 1, 1), (1, 2, 2, 2))), "maps 4 categories to 2 reports by a table of its own"),
    ],
)  # fmt: skip
def test_words_for_categories(channel, expected):
    question = Question("q", "Which?", labels=tuple(labels(4)))
    assert words(Round("a", question, 0, channel, None)) == expected


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        (build.graded(20, 60, 1, 1), "asks on which side of 40 years the number lies"),
        (build.graded(20, 60, 4, 1), "asks in which of 5 intervals the number lies, cut from 25 to 55 years"),
    ],
)
def test_words_for_a_number(channel, expected):
    assert words(Round("a", AGE, 0, channel, None)) == expected

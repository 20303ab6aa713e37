"""Hard and bad input of the subsample priors: a clear refusal or the stated fallback, always finite."""

import numpy as np
import pytest

from tacit import TacitError
from tacit.regression import (
    SubsampleLinearSVC,
    SubsampleLogistic,
    SubsamplePoisson,
    SubsampleRidge,
    closed_form_ridge,
    subsample_prior,
)

ALL = (SubsampleRidge, SubsampleLogistic, SubsamplePoisson, SubsampleLinearSVC)
SETTINGS = [
    {},
    {"shrink": None},
    {"shrink": None, "variant": "full"},
    {"shrink": None, "variant": "jackknife"},
]


def answers(kind, rng, n):
    if kind is SubsampleRidge:
        return rng.normal(size=n)
    if kind is SubsamplePoisson:
        return rng.poisson(1.0, size=n).astype(float)
    return np.arange(n) % 2


def finite(fitted):
    parts = [fitted.coef_, np.atleast_1d(fitted.intercept_), fitted.prior_mean_, fitted.prior_cov_]
    if hasattr(fitted, "coef_cov_"):
        parts += [fitted.coef_cov_, *fitted.coef_interval()]
    return all(np.isfinite(part).all() for part in parts)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    "shape", ["constant", "twin", "dummies", "wide", "few rows", "rare", "huge units", "no column varies"]
)
def test_hard_tables_have_finite_fits(kind, shape, settings):
    rng = np.random.default_rng(1)
    n = {"wide": 30, "few rows": 3}.get(shape, 120)
    x = rng.normal(size=(n, 40 if shape == "wide" else 3))
    if shape == "constant":
        x[:, 1] = 7.0
    elif shape == "twin":
        x[:, 1] = 2 * x[:, 0]
    elif shape == "dummies":
        x = np.eye(3)[rng.integers(3, size=n)]
    elif shape == "rare":
        x[:, 1] = np.arange(n) == 5
    elif shape == "huge units":
        x = x * [1e-12, 1.0, 1e12] + [0.0, 1e6, 0.0]
    elif shape == "no column varies":
        x[:] = [1.0, 0.0, -3.0]
    fitted = kind(random_state=0, **settings).fit(x, answers(kind, rng, n))
    assert finite(fitted)
    assert np.isfinite(fitted.predict(x).astype(float)).all()
    if shape in ("constant", "no column varies"):
        assert np.ravel(fitted.coef_)[1] == 0.0
    if (
        shape == "twin"
    ):  # the same direction: only its sum is known, and it is shared as least squares shares it
        assert np.abs(fitted.coef_).max() < 100


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("kind", [SubsampleLogistic, SubsampleLinearSVC])
@pytest.mark.parametrize("k", [2, 3])
def test_separated_classes(kind, settings, k):
    rng = np.random.default_rng(2)
    y = np.arange(90) % k
    x = rng.normal(size=(90, 2)) * 0.1 + 5 * np.c_[y, -y]
    fitted = kind(random_state=0, **settings).fit(x, y)
    assert finite(fitted)
    assert fitted.score(x, y) == 1.0
    if kind is SubsampleLogistic:
        assert fitted.weak_subsamples_ == fitted.n_subsamples_


def test_an_overlap_that_no_subsample_shows():
    """Quasi-separation: one level of a column has one class only. Plain fits diverge along it; ours does not."""
    rng = np.random.default_rng(3)
    x = np.c_[rng.normal(size=300), rng.random(300) < 0.2]
    y = np.where(x[:, 1] == 1, 1, rng.random(300) < 0.5).astype(int)
    fitted = SubsampleLogistic(random_state=0, shrink=None).fit(x, y)
    assert finite(fitted)
    assert fitted.weak_subsamples_ > 0
    assert 0 < fitted.coef_[0, 1] * x[:, 1].std() < 20


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_counts_of_nothing(settings):
    rng = np.random.default_rng(4)
    x = np.c_[rng.normal(size=200), rng.random(200) < 0.3]
    none = SubsamplePoisson(random_state=0, **settings).fit(x, np.zeros(200))
    assert finite(none)
    assert (none.predict(x) < 0.1).all()
    level = np.where(x[:, 1] == 1, 0, rng.poisson(2.0, 200)).astype(float)  # a level that never counts
    assert finite(SubsamplePoisson(random_state=0, **settings).fit(x, level))
    wild = rng.poisson(1.0, 200).astype(float)
    wild[0] = 1e6
    assert finite(SubsamplePoisson(random_state=0, **settings).fit(x, wild))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_constant_y(settings):
    x = np.random.default_rng(5).normal(size=(80, 3))
    ridge = SubsampleRidge(random_state=0, **settings).fit(x, np.full(80, 4.0))
    assert np.allclose(ridge.coef_, 0, atol=1e-9)
    assert ridge.intercept_ == pytest.approx(4.0)
    assert finite(ridge)
    counts = SubsamplePoisson(random_state=0, **settings).fit(x, np.full(80, 4.0))
    assert np.allclose(counts.predict(x), 4.0, rtol=1e-3)
    exact = SubsampleRidge(random_state=0, **settings).fit(x, x @ [1.0, 2.0, 3.0])
    assert np.allclose(exact.coef_, [1, 2, 3], rtol=1e-6)


@pytest.mark.parametrize("kind", [SubsampleLogistic, SubsampleLinearSVC])
def test_one_class(kind):
    with pytest.raises(TacitError, match="one class"):
        kind().fit(np.ones((10, 2)) * np.arange(10)[:, None], np.ones(10))


def test_counts_that_are_none():
    x = np.random.default_rng(6).normal(size=(20, 2))
    with pytest.raises(TacitError, match="count of -1"):
        SubsamplePoisson().fit(x, np.r_[-1.0, np.ones(19)])
    halves = np.r_[0.5, np.ones(19)]
    with pytest.raises(TacitError, match=r"count of 0\.5"):
        SubsamplePoisson(whole=True).fit(x, halves)
    assert finite(SubsamplePoisson(random_state=0).fit(x, halves))


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"n_subsamples": 1}, "n_subsamples"),
        ({"n_subsamples": 10**6}, "n_subsamples"),
        ({"n_subsamples": 2.5}, "n_subsamples"),
        ({"n_subsamples": True}, "n_subsamples"),
        ({"size": 60}, "size"),
        ({"size": 0}, "size"),
        ({"size": 1.0}, "size"),
        ({"size": float("nan")}, "size"),
        ({"size": "all"}, "size"),
        ({"variant": "jack"}, "variant"),
        ({"scaling": "quasi"}, "scaling"),
        ({"shrink": -1.0}, "shrink"),
        ({"shrink": float("inf")}, "shrink"),
        ({"shrink": "cv"}, "shrink"),
        ({"shrink": True}, "shrink"),
        ({"random_state": -1}, "random_state"),
    ],
)
@pytest.mark.parametrize("kind", [SubsampleRidge, SubsampleLogistic, SubsampleLinearSVC])
def test_parameters_are_refused_by_name(kind, settings, argument):
    rng = np.random.default_rng(7)
    estimator = kind(**settings)
    with pytest.raises(TacitError) as refusal:
        estimator.fit(rng.normal(size=(60, 2)), answers(kind, rng, 60))
    assert refusal.value.argument == argument
    assert not hasattr(estimator, "coef_")


@pytest.mark.parametrize(
    ("level", "kind"), [(0.0, "sampling"), (1, "sampling"), (True, "sampling"), (0.9, "bayes")]
)
def test_intervals_are_refused_by_name(level, kind):
    rng = np.random.default_rng(8)
    fitted = SubsampleRidge(random_state=0).fit(rng.normal(size=(60, 2)), rng.normal(size=60))
    with pytest.raises(TacitError) as refusal:
        fitted.coef_interval(level, kind)
    assert refusal.value.argument == ("kind" if level == 0.9 else "level")


@pytest.mark.parametrize("m", [2, 3, 2000])
@pytest.mark.parametrize("size", [1, 2, 59, 0.99])
def test_odd_plans_have_finite_fits(m, size):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(60, 3))
    for variant in ("full", "adjusted", "jackknife"):
        for kind in (SubsampleRidge, SubsampleLogistic, SubsamplePoisson):
            assert finite(
                kind(n_subsamples=m, size=size, variant=variant, random_state=0).fit(
                    x, answers(kind, rng, 60)
                )
            )


def test_a_fit_that_is_none():
    x, y = np.ones((30, 2)), np.ones(30)
    for bad in (
        lambda a, b: [np.nan],
        lambda a, b: [],
        lambda a, b: np.ones(int(a.sum()) % 3 + 1),
        lambda a, b: "x",
    ):
        with pytest.raises(TacitError) as refusal:
            subsample_prior(bad, x * np.arange(30)[:, None], y, rng=1)
        assert refusal.value.argument == "fit"
    with pytest.raises(TacitError) as refusal:
        subsample_prior(lambda a, b: [1.0], x, y[:-1])
    assert refusal.value.argument == "X"


def test_closed_form_refusals():
    rng = np.random.default_rng(10)
    with pytest.raises(TacitError, match="independent columns"):
        closed_form_ridge(rng.normal(size=(10, 9)), rng.normal(size=10))
    with pytest.raises(TacitError, match="independent columns"):
        closed_form_ridge(np.ones((10, 2)), rng.normal(size=10))
    with pytest.raises(TacitError, match="rule"):
        closed_form_ridge(rng.normal(size=(10, 2)), rng.normal(size=10), rule="cv")
    with pytest.raises(ValueError, match="NaN"):
        closed_form_ridge(np.full((10, 2), np.nan), rng.normal(size=10))
    x = rng.normal(size=(30, 3))
    x[:, 2] = x[:, 0]
    for y in (np.zeros(30), x @ [1.0, 2.0, 0.0]):
        assert np.isfinite(closed_form_ridge(x, y).coef).all()

"""The subsample estimators as scikit-learn's users know them: its checks, pipelines, searches, frames, sparse X."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.regression import SubsampleLinearSVC, SubsampleLogistic, SubsamplePoisson, SubsampleRidge

ALL = (SubsampleRidge, SubsampleLogistic, SubsamplePoisson, SubsampleLinearSVC)


@parametrize_with_checks(
    [
        SubsampleRidge(),
        SubsampleRidge(variant="full", shrink=None),
        SubsampleLogistic(),
        SubsampleLogistic(variant="jackknife", shrink=None),
        SubsamplePoisson(),
        SubsamplePoisson(scaling="quasi"),
        SubsampleLinearSVC(),
        SubsampleLinearSVC(loss="hinge"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
    assert clone(estimator).get_params() == estimator.get_params()


def problem(kind, n=300, p=4, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) * np.arange(1, p + 1) + np.arange(p)
    eta = 0.6 * ((x - x.mean(axis=0)) / x.std(axis=0))[:, 0]
    if kind is SubsampleRidge:
        return x, eta + rng.normal(size=n)
    if kind is SubsamplePoisson:
        return x, rng.poisson(np.exp(eta)).astype(float)
    return x, np.where(rng.random(n) < 1 / (1 + np.exp(-3 * eta)), "yes", "no")


@pytest.mark.parametrize("kind", ALL)
def test_sparse_is_dense(kind):
    x, y = problem(kind)
    x[x < 0] = 0.0
    dense = kind(random_state=1).fit(x, y)
    thin = kind(random_state=1).fit(sparse.csr_matrix(x), y)
    assert np.allclose(dense.coef_, thin.coef_, rtol=1e-9, atol=1e-12)
    if y.dtype.kind == "f":
        assert np.allclose(dense.predict(x), thin.predict(sparse.csr_array(x)))
    else:
        assert (dense.predict(x) == thin.predict(sparse.csr_array(x))).all()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(kind, frame):
    x, y = problem(kind)
    names = [f"column {j}" for j in range(x.shape[1])]
    made = frame(dict(zip(names, x.T, strict=True)))
    fitted = kind(random_state=1).fit(made, y)
    assert list(fitted.feature_names_in_) == names
    assert np.allclose(fitted.coef_, kind(random_state=1).fit(x, y).coef_, rtol=1e-9)
    assert len(fitted.predict(made)) == len(y)


@pytest.mark.parametrize("kind", ALL)
def test_pipeline_and_search(kind):
    x, y = problem(kind)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), kind(random_state=1)),
        {f"{kind.__name__.lower()}__variant": ["full", "diag"]},
        cv=3,
    ).fit(x, y)
    assert search.best_score_ > (0.02 if kind is SubsamplePoisson else 0.1)


@pytest.mark.parametrize("kind", ALL)
def test_same_seed_same_fit_and_units_do_not_matter(kind):
    x, y = problem(kind)
    one = kind(random_state=3).fit(x, y)
    assert np.array_equal(one.coef_, kind(random_state=3).fit(x, y).coef_)
    assert np.array_equal(one.coef_, kind(random_state=np.random.default_rng(3)).fit(x, y).coef_)
    scaled = kind(random_state=3).fit(x * [1e-3, 1, 1e3, 10], y)
    assert np.allclose(scaled.coef_ * [1e-3, 1, 1e3, 10], one.coef_, rtol=1e-6, atol=1e-9)
    with_jobs = kind(random_state=3, n_jobs=2, n_subsamples=400, size=100).fit(x, y)
    alone = kind(random_state=3, n_subsamples=400, size=100).fit(x, y)
    assert np.array_equal(with_jobs.coef_, alone.coef_)


@pytest.mark.parametrize("k", [2, 4])
def test_probabilities(k):
    rng = np.random.default_rng(k)
    x = rng.normal(size=(500, 3))
    y = (x[:, 0] + rng.normal(size=500)).argsort().argsort() * k // 500
    fitted = SubsampleLogistic(random_state=1).fit(x, y)
    shares = fitted.predict_proba(x)
    assert shares.shape == (500, k)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.allclose(np.exp(fitted.predict_log_proba(x)), shares)
    assert (fitted.classes_[shares.argmax(axis=1)] == fitted.predict(x)).all()
    assert fitted.decision_function(x).shape == ((500,) if k == 2 else (500, k))
    assert fitted.coef_.shape == ((1, 3) if k == 2 else (k, 3))
    low, high = fitted.coef_interval(0.9)
    assert (low < fitted.coef_).all()
    assert (fitted.coef_ < high).all()
    assert fitted.std_error(x).shape == fitted.decision_function(x).shape
    assert np.allclose(shares.mean(axis=0), np.bincount(y) / 500, atol=1e-6)  # the intercepts are free


def test_predictive_deviation_covers_new_answers():
    """90 % intervals of 4000 new answers: the binomial deviation is 0.5 %, so 0.03 is far beyond 1e-6."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4500, 3))
    y = x @ [1.0, 0.0, -1.0] + rng.normal(size=4500)
    fitted = SubsampleRidge(random_state=1).fit(x[:500], y[:500])
    mean, deviation = fitted.predict(x[500:], return_std=True)
    covered = np.abs(y[500:] - mean) < 1.6449 * deviation
    assert abs(covered.mean() - 0.9) < 0.03

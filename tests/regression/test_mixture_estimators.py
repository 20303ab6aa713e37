"""The estimators as people use them: frames, pipelines, odd data, selection, priors, pictures."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.integrate import quad
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tacit import TacitError
from tacit.regression import (
    MixtureRegressor,
    MixtureRegressorCV,
    Prior,
    StudentT,
    TrimmedRegressor,
    plot_outliers,
    plot_residuals,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 3))
    y = 1 + x @ [2.0, -1.0, 0.5] + rng.normal(size=300)
    far = np.arange(300) < 30
    y[far] += rng.uniform(8, 20, 30) * rng.choice([-1, 1], 30)
    return x, y, far


def test_frames_keep_their_names(rows):
    x, y, _ = rows
    names = ["age", "height", "weight"]
    plain = MixtureRegressor().fit(x, y)
    for frame in (pd.DataFrame(x, columns=names), pl.DataFrame(x, schema=names)):
        target = pd.Series(y) if isinstance(frame, pd.DataFrame) else pl.Series(y)
        model = MixtureRegressor().fit(frame, target)
        assert model.feature_names_in_.tolist() == names
        assert model.coef_ == pytest.approx(plain.coef_)
        assert model.predict(frame) == pytest.approx(plain.predict(x))
        assert "height" in model.summary()
        assert "x1" in plain.summary()
        assert MixtureRegressorCV().fit(frame, target).feature_names_in_.tolist() == names


def test_pipelines_and_searches(rows):
    x, y, _ = rows
    pipe = make_pipeline(StandardScaler(), MixtureRegressor())
    search = GridSearchCV(
        pipe,
        {
            "mixtureregressor__components": [("gaussian",), ("gaussian", "cauchy")],
            "mixtureregressor__alpha": [0.0, 1.0],
        },
        scoring="neg_median_absolute_error",
        cv=3,
    ).fit(x, y)
    assert search.best_params_["mixtureregressor__components"] == ("gaussian", "cauchy")
    assert clone(search.best_estimator_).fit(x, y).predict(x).shape == (300,)


def test_the_outliers_are_found(rows):
    x, y, far = rows
    model = MixtureRegressor().fit(x, y)
    assert roc_auc_score(far, model.outlier_score_) > 0.99
    assert model.outlier_scores(x, y) == pytest.approx(model.outlier_score_)
    assert model.responsibilities(x, y) == pytest.approx(model.responsibilities_)
    assert model.responsibilities_.sum(axis=1) == pytest.approx(1)
    assert MixtureRegressor("gaussian").fit(x, y).outlier_score_.max() < 1e-12
    close = np.linalg.norm(model.coef_ - [2, -1, 0.5])
    assert close < 0.5 * np.linalg.norm(LinearRegression().fit(x, y).coef_ - [2, -1, 0.5])


def test_the_density_is_one(rows):
    x, y, _ = rows
    model = MixtureRegressor(("gaussian", "laplace", "student_t", "huber")).fit(x, y)
    mass = 2 * sum(
        quad(lambda r: float(model.density(r)[0]), a, b, limit=200)[0]
        for a, b in ((0, 1e-3), (1e-3, 40), (40, np.inf))
    )
    assert mass == pytest.approx(1, abs=1e-6)
    r = np.linspace(-9, 9, 31)
    parts = sum(model.density(r, k) for k in range(4))
    assert parts == pytest.approx(model.density(r))
    likelihood = np.log(model.density(y - model.predict(x))).sum()
    assert likelihood == pytest.approx(model.log_likelihood_)


def test_the_report(rows):
    x, y, _ = rows
    model = MixtureRegressor().fit(x, y)
    told = model.convergence_
    assert told.converged
    assert told.rounds == model.n_iter_ > 0
    assert len(told.starts) == 3
    assert (np.diff(told.history) >= 0).all()
    assert "log-likelihood" in model.summary()
    with pytest.warns(ConvergenceWarning, match="not settled after 2 rounds"):
        assert not MixtureRegressor(max_iter=2).fit(x, y).convergence_.converged


# Odd data.


def test_a_constant_column_counts_for_nothing(rows):
    x, y, _ = rows
    plain = MixtureRegressor(tol=1e-12).fit(x, y)
    model = MixtureRegressor(tol=1e-12).fit(np.column_stack([x, np.full(300, 7.3), x[:, 0]]), y)
    assert model.coef_[3] == 0
    assert model.coef_[0] + model.coef_[4] == pytest.approx(plain.coef_[0], rel=1e-5)
    assert np.isfinite(model.predict(np.ones((2, 5)))).all()


@pytest.mark.parametrize(
    "components", ["gaussian", "laplace", ("gaussian", "laplace", "cauchy"), ("student_t", "huber")]
)
def test_no_residuals(components):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 2))
    for y, told in ((np.full(30, 4.0), [0, 0]), (3 + x @ [1.0, 2.0], [1, 2]), (np.zeros(30), [0, 0])):
        with pytest.warns(UserWarning, match="no residuals"):
            model = MixtureRegressor(components).fit(x, y)
        assert model.coef_ == pytest.approx(told, abs=1e-9)
        assert model.predict(x) == pytest.approx(y, abs=1e-9)
        assert np.isfinite(model.log_likelihood_)
        assert np.isfinite(model.outlier_score_).all()
        assert model.convergence_.perfect


def test_more_columns_than_rows():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(10, 20)), rng.normal(size=10)
    with pytest.warns(UserWarning, match="more rows than columns, or a penalty"):
        model = MixtureRegressor().fit(x, y)
    assert model.predict(x) == pytest.approx(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = MixtureRegressor(alpha=1.0).fit(x, y)
    assert np.isfinite(model.log_likelihood_)
    assert np.linalg.norm(model.coef_) < 10


def test_half_of_the_rows_without_noise():
    """The likelihood would run to infinity; the floor holds it."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(100, 2))
    y = x @ [1.0, -1.0] + np.where(rng.random(100) < 0.6, 0, rng.normal(size=100))
    model = MixtureRegressor(("gaussian", "gaussian")).fit(x, y)
    assert model.convergence_.at_floor == ("gaussian",)
    assert model.coef_ == pytest.approx([1, -1], abs=1e-6)
    assert np.isfinite(model.log_likelihood_)


def test_a_row_that_is_off_by_all_measure_is_not_felt(rows):
    x, y, _ = rows
    before = MixtureRegressor().fit(x, y)
    spoilt = y.copy()
    spoilt[100] = 1e12
    model = MixtureRegressor().fit(x, spoilt)
    assert model.coef_ == pytest.approx(before.coef_, abs=0.1)
    assert model.outlier_score_[100] == pytest.approx(1)


BAD = [
    ({"components": ("gaussian", "normal")}, "components"),
    ({"components": ("gaussian",) * 21}, "components"),
    ({"scales": "free"}, "scales"),
    ({"scales": [1.0]}, "scales"),
    ({"scales": [1.0, -1.0, 1.0]}, "scales"),
    ({"scales": "learned", "scale_floor": 0.0}, "scale_floor"),
    ({"alpha": -1.0}, "alpha"),
    ({"alpha": float("nan")}, "alpha"),
    ({"alpha": "big"}, "alpha"),
    ({"alpha": 1.0, "prior": "subsample"}, "alpha"),
    ({"prior": "flat"}, "prior"),
    ({"prior": (np.zeros(2), np.eye(3))}, "prior"),
    ({"prior": (np.zeros(3), -np.eye(3))}, "prior"),
    ({"prior": "subsample", "prior_variant": "half"}, "variant"),
    ({"prior": "subsample", "subsample_size": 4}, "subsample_size"),
    ({"covariance": "bootstrap"}, "covariance"),
    ({"n_starts": 0}, "n_starts"),
    ({"n_starts": True}, "n_starts"),
    ({"max_iter": 1.5}, "max_iter"),
    ({"tol": -1.0}, "tol"),
    ({"random_state": "seed"}, "random_state"),
]


@pytest.mark.parametrize(("settings", "argument"), BAD)
def test_bad_settings_are_refused_in_fit(rows, settings, argument):
    model = MixtureRegressor(**settings)
    with pytest.raises(TacitError) as refused:
        model.fit(*rows[:2])
    assert refused.value.argument == argument
    assert not hasattr(model, "coef_")


def test_bad_rows_are_refused(rows):
    x, y, _ = rows
    model = MixtureRegressor()
    cases = [
        (x, np.where(np.arange(300) == 3, np.nan, y), None, "NaN"),
        (np.where(np.arange(3) == 1, np.inf, x), y, None, "infinity"),
        (x, y[:-1], None, "inconsistent"),
        (x[:, 0], y, None, "2D"),
        (x, np.column_stack([y, y]), None, "1d|y should"),
        (x, y, -np.ones(300), "sample_weight"),
        (x, y, np.ones(299), "sample_weight"),
        (x, y, np.zeros(300), "not all zero"),
        (np.empty((0, 3)), np.empty(0), None, "0 sample"),
    ]
    for a, b, v, match in cases:
        with pytest.raises(ValueError, match=match):
            model.fit(a, b, v)


# Selection.


def test_selection_adds_while_it_pays(rows):
    x, y, _ = rows
    for criterion in ("bic", "cv"):
        model = MixtureRegressorCV(("gaussian", "cauchy", StudentT(8)), criterion=criterion).fit(x, y)
        kept = [step for step in model.path_ if step.kept]
        assert kept[-1].components == model.components_
        assert [step.criterion for step in kept] == sorted((step.criterion for step in kept), reverse=True)
        best = min(step.criterion for step in model.path_)
        assert kept[-1].criterion == best
        assert model.coef_ is model.best_estimator_.coef_
    model = MixtureRegressorCV().fit(x, y)
    assert kept[-1].criterion != model.bic_
    assert model.bic_ == pytest.approx(MixtureRegressor(model.components_).fit(x, y).bic_, abs=0.1)


def test_selection_by_bic_finds_the_truth():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1000, 2))
    clean = x @ [1.0, 1.0] + rng.normal(size=1000)
    assert MixtureRegressorCV().fit(x, clean).components_ == ("gaussian",)
    wide = clean + np.where(rng.random(1000) < 0.1, 30 * rng.standard_cauchy(1000), 0)
    assert set(MixtureRegressorCV().fit(x, wide).components_) == {"gaussian", "cauchy"}


@pytest.mark.parametrize(
    "settings",
    [{"criterion": "aic"}, {"candidates": ()}, {"estimator": LinearRegression()},
     {"estimator": MixtureRegressor(scales=[1.0])}],
)  # fmt: skip
def test_bad_selections_are_refused(rows, settings):
    with pytest.raises(TacitError):
        MixtureRegressorCV(**settings).fit(*rows[:2])


# Trimming.


def test_trimming_is_the_naive_rule(rows):
    x, y, far = rows
    model = TrimmedRegressor().fit(x, y)
    assert not model.inlier_mask_[far].any()
    peer = LinearRegression().fit(x[model.inlier_mask_], y[model.inlier_mask_])
    assert model.coef_ == pytest.approx(peer.coef_)
    r = abs(y - model.predict(x))
    assert ((r <= 3 * r.mean()) == model.inlier_mask_).all()
    with pytest.raises(TacitError, match="threshold"):
        TrimmedRegressor(0.5).fit(x, y)
    with pytest.warns(ConvergenceWarning, match="still change"):
        TrimmedRegressor(1.5, max_iter=1).fit(x, y)


# Priors.


def test_a_prior_is_a_penalty(rows):
    x, y, _ = rows
    ridge = MixtureRegressor(alpha=4.0, tol=1e-13).fit(x, y)
    pair = MixtureRegressor(prior=(np.zeros(3), np.eye(3) / 4), tol=1e-13).fit(x, y)
    assert pair.coef_ == pytest.approx(ridge.coef_, rel=1e-9)
    tight = MixtureRegressor(prior=Prior(np.array([5.0, 5, 5]), 1e-9 * np.eye(3), np.eye(3))).fit(x, y)
    assert tight.coef_ == pytest.approx(np.full(3, 5), abs=1e-3)
    assert abs(tight.intercept_) < 10
    assert tight.coef_se_.max() < ridge.coef_se_.min()


def test_the_prior_maximises_likelihood_and_prior_together(rows):
    """Numerical derivatives of the penalised likelihood are zero at the estimate."""
    x, y, _ = rows
    mean, cov = np.array([1.0, 1.0, -1.0]), np.array([[0.1, 0.05, 0], [0.05, 0.2, 0], [0, 0, 0.3]])
    model = MixtureRegressor(("gaussian", "cauchy"), prior=(mean, cov), tol=1e-14).fit(x, y)
    precision = np.linalg.inv(cov)

    def value(coef, intercept):
        off = coef - mean
        return np.log(model.density(y - intercept - x @ coef)).sum() - 0.5 * off @ precision @ off

    h = 1e-5
    for step in h * np.eye(3):
        slope = (
            value(model.coef_ + step, model.intercept_) - value(model.coef_ - step, model.intercept_)
        ) / (2 * h)
        assert abs(slope) < 1e-3
    slope = (value(model.coef_, model.intercept_ + h) - value(model.coef_, model.intercept_ - h)) / (2 * h)
    assert abs(slope) < 1e-3


def test_subsamples_give_a_robust_prior(rows):
    x, y, _ = rows
    model = MixtureRegressor(prior="subsample", n_subsamples=30, subsample_size=60, random_state=1).fit(x, y)
    again = MixtureRegressor(prior="subsample", n_subsamples=30, subsample_size=60, random_state=1).fit(x, y)
    assert (model.coef_ == again.coef_).all()
    assert model.prior_.mean == pytest.approx([2, -1, 0.5], abs=0.3)
    assert np.sqrt(np.diag(model.prior_.cov)) == pytest.approx(np.full(3, 60**-0.5), rel=0.8)
    weighted = MixtureRegressor(prior="subsample", subsample_size=60).fit(
        x, y, np.where(np.arange(300) < 30, 0, 1)
    )
    assert weighted.coef_ == pytest.approx([2, -1, 0.5], abs=0.3)
    thin = MixtureRegressor(prior="subsample", subsample_size=60).fit(sparse.csr_array(x), y)
    assert thin.coef_ == pytest.approx([2, -1, 0.5], abs=0.3)


def test_both_penalties_help_where_columns_are_many_and_rows_are_bad():
    """20 paired data sets of 80 rows and 30 columns, a tenth of the rows far off: a difference of 5 standard errors."""
    gains = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, beta = rng.normal(size=(80, 30)), 0.2 * rng.normal(size=30)
        y = x @ beta + rng.normal(size=80) + np.where(rng.random(80) < 0.1, 15, 0)
        plain = MixtureRegressor(("gaussian", "cauchy")).fit(x, y)
        both = MixtureRegressor(("gaussian", "cauchy"), alpha=25.0).fit(x, y)
        gains.append(np.sum((plain.coef_ - beta) ** 2) - np.sum((both.coef_ - beta) ** 2))
    assert np.mean(gains) > 5 * np.std(gains, ddof=1) / np.sqrt(20)


# Pictures and a lacking library.


def test_pictures(rows, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    x, y, _ = rows
    model = MixtureRegressor().fit(x, y)
    axes = plot_residuals(model, x, y)
    assert "beyond the axis" in axes.get_title(loc="right")
    few = int((model.outlier_score_ > 0.5).sum())
    below, beside = plt.subplots(1, 2)[1]
    assert f"{few} of 300" in plot_outliers(model, x, y, ax=below).get_title(loc="right")
    assert plot_residuals(MixtureRegressorCV().fit(x, y), x, y, ax=beside) is beside
    axes.figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000
    plt.close("all")


def test_a_missing_scikit_learn_is_told():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import tacit\n"
        "try: import tacit.regression\n"
        "except ImportError as error: print(type(error).__mro__[1].__name__, error.code, error.hint)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "TacitError dependency_missing pip install 'tacit[regression]'"


def test_pictures_without_matplotlib(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    x, y, _ = rows
    model = MixtureRegressor("gaussian").fit(x, y)
    with pytest.raises(TacitError, match="matplotlib"):
        plot_residuals(model, x, y)

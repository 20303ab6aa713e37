"""The methods that chapter 2 compares, each a function that makes an unfitted estimator.

    none        no penalty
    cv          a grid and 10 folds: RidgeCV, LogisticRegressionCV, GridSearchCV for the rest
    subagging   the mean of unpenalised fits on subsamples as many and as large as tacit's (scikit-learn's Bagging)
    full, diag, adjusted, jackknife     the thesis' prior by its four rules, at the default scaling
    thesis      the full rule with the thesis' own scaling
    tacit       the defaults of `tacit.regression`: diag, and a ridge tuned by leaving rows out, approximately
    hinge       (machines) the same with the hinge; quasi (counts) the same with the dispersion in the scaling
    closed, closed-thesis   `closed_form_ridge` by its two rules
    ard         ARDRegression; scikit-learn has it for squared loss only, and no well-kept library has it for the others
    bayes       Optuna's tree-structured Parzen estimator, 20 trials of 10 folds

Columns are standardised on the training rows beforehand, for all methods alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.linear_model import (
    ARDRegression,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import LinearSVC

from tacit.regression import (
    SubsampleLinearSVC,
    SubsampleLogistic,
    SubsamplePoisson,
    SubsampleRidge,
    closed_form_ridge,
)

FOLDS, TRIALS = 10, 20
ALPHAS = np.logspace(-3, 4, 15)
DEVIANCES = np.logspace(-5, 2, 15)
MARGINS = np.logspace(-4, 2, 7)
OURS = {
    "linear": SubsampleRidge,
    "logistic": SubsampleLogistic,
    "svm": SubsampleLinearSVC,
    "poisson": SubsamplePoisson,
}
VARIANTS = ("full", "diag", "adjusted", "jackknife")
SCORING = {
    "linear": "neg_mean_squared_error",
    "logistic": "accuracy",
    "svm": "accuracy",
    "poisson": "neg_mean_poisson_deviance",
}


class ClosedForm(RegressorMixin, BaseEstimator):
    """`closed_form_ridge` with the methods of an estimator."""

    def __init__(self, rule: str = "exact") -> None:
        self.rule = rule

    def fit(self, X: Any, y: Any) -> ClosedForm:  # noqa: N803
        """Fit."""
        self.found_ = closed_form_ridge(X, y, rule=self.rule)
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Means."""
        return self.found_.predict(X)


class BayesSearch(BaseEstimator):
    """A penalty by Optuna: trials on a logarithmic scale, each the mean score of 10 folds."""

    def __init__(self, make: Any, low: float, high: float, scoring: str, seed: int) -> None:
        self.make, self.low, self.high, self.scoring, self.seed = make, low, high, scoring, seed

    def fit(self, X: Any, y: Any) -> BayesSearch:  # noqa: N803
        """Search, then fit with the best."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        search = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=self.seed))

        def score(trial: Any) -> float:
            estimator = self.make(trial.suggest_float("penalty", self.low, self.high, log=True))
            return float(cross_val_score(estimator, X, y, cv=FOLDS, scoring=self.scoring).mean())

        search.optimize(score, n_trials=TRIALS)
        self.best_ = self.make(search.best_params["penalty"]).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Means or classes."""
        return self.best_.predict(X)


def _plain(task: str) -> Any:
    return {
        "linear": lambda: LinearRegression(),
        "logistic": lambda: LogisticRegression(C=np.inf, max_iter=2000),
        "svm": lambda: LinearSVC(C=1e3, max_iter=2000),
        "poisson": lambda: PoissonRegressor(alpha=1e-12, solver="newton-cholesky", max_iter=300),
    }[task]()


def _cv(task: str) -> Any:
    return {
        "linear": lambda: RidgeCV(ALPHAS, cv=FOLDS),
        "logistic": lambda: LogisticRegressionCV(
            cv=FOLDS, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy", max_iter=1000
        ),
        "svm": lambda: GridSearchCV(LinearSVC(), {"C": MARGINS}, cv=FOLDS),
        "poisson": lambda: GridSearchCV(
            PoissonRegressor(solver="newton-cholesky", max_iter=300), {"alpha": DEVIANCES}, cv=FOLDS,
            scoring=SCORING["poisson"],
        ),
    }[task]()  # fmt: skip


def _subagging(task: str, size: int, count: int, seed: int) -> Any:
    kind = BaggingClassifier if task in ("logistic", "svm") else BaggingRegressor
    return kind(_plain(task), n_estimators=count, max_samples=size, bootstrap=False, random_state=seed)


def _bayes(task: str, seed: int) -> Any:
    makers: dict[str, tuple[Callable[[float], Any], float, float]] = {
        "linear": (lambda v: Ridge(v), 1e-3, 1e4),
        "logistic": (lambda v: LogisticRegression(C=1 / v, max_iter=1000), 1e-4, 1e4),
        "svm": (lambda v: LinearSVC(C=1 / v), 1e-2, 1e4),
        "poisson": (lambda v: PoissonRegressor(alpha=v, solver="newton-cholesky", max_iter=300), 1e-5, 1e2),
    }
    make, low, high = makers[task]
    return BayesSearch(make, low, high, SCORING[task], seed)


def made(task: str, method: str, seed: int, size: int, count: int) -> Any:
    """An estimator of a method; `size` and `count` are what tacit chose for these rows, for subagging to share."""
    ours = OURS[task]
    if method in VARIANTS:
        return ours(variant=method, shrink=None, random_state=seed)
    simple: dict[str, Callable[[], Any]] = {
        "none": lambda: _plain(task),
        "cv": lambda: _cv(task),
        "subagging": lambda: _subagging(task, size, count, seed),
        "thesis": lambda: ours(variant="full", shrink=None, scaling="thesis", random_state=seed),
        "tacit": lambda: ours(random_state=seed),
        "hinge": lambda: ours(loss="hinge", random_state=seed),
        "quasi": lambda: ours(scaling="quasi", random_state=seed),
        "closed": lambda: ClosedForm("exact"),
        "closed-thesis": lambda: ClosedForm("thesis"),
        "ard": lambda: ARDRegression(),
        "bayes": lambda: _bayes(task, seed),
    }
    return simple[method]()


def methods(task: str, small: bool) -> tuple[str, ...]:
    """The methods of a task; the slow searches only on small sets."""
    common = ("tacit", "none", "cv", "subagging", *VARIANTS, "thesis")
    own = {
        "linear": ("closed", "closed-thesis", "ard"),
        "svm": ("hinge",),
        "poisson": ("quasi",),
        "logistic": (),
    }
    return common + own[task] + (("bayes",) if small else ())


def quiet() -> None:
    """The peers warn of fits that did not converge; what they predict is what counts here."""
    warnings.simplefilter("ignore")

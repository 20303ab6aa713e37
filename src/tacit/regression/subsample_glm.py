"""Logistic and Poisson regression whose penalty comes from fits on subsamples.

Both minimise the negative log-likelihood plus (b - b0)' S^-1 (b - b0) / 2 (scaling "thesis": without the half) by
Newton's method from b0, where it starts so near that two or three passes over the rows are the rule. The thesis
instead gives a library the table X' = [X L^-T, X b0] with LL' = S^-1: there the coefficient of X b0 is free, and
penalised with the rest. The same answer comes only when X b0 is an offset; a test shows it.

If a subsample has no finite fit (separated classes, no counts), it gets a weak prior, see `subsample_fits`. With
size=None the size is first doubled, up to half of the rows, while most of a few trial subsamples have no finite
fit.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(1000, 2))
>>> counts = rng.poisson(np.exp(0.5 * X[:, 0]))
>>> SubsamplePoisson(random_state=1).fit(X, counts).coef_.round(1) + 0.0
array([0.5, 0. ])
>>> classes = np.where(X[:, 1] + rng.logistic(size=1000) > 0, "yes", "no")
>>> SubsampleLogistic(random_state=1).fit(X, classes).predict([[0, 3], [0, -3]])
array(['yes', 'no'], dtype='<U3')
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit.regression.priors import Prior, draws
from tacit.regression.subsample import SCALINGS, SubsampleEstimator, seeded
from tacit.regression.subsample_design import Design
from tacit.regression.subsample_fits import WEAK, each, loss_fits, missing, unbounded
from tacit.regression.subsample_fits import Fits as SubsampleFits
from tacit.regression.subsample_losses import Logistic, Loss, Multinomial, Poisson, contrasts
from tacit.regression.subsample_newton import Fits, State, newton, terms
from tacit.regression.subsample_tune import tuned

TRIAL = 4  # subsamples that are tried before a default size is taken


def over_rows(loss: Loss, design: Design, y: Floats, b: Floats) -> State:
    """Value, gradient and curvature of a loss over all rows at b (1, q width)."""
    parts = [terms(loss, z[None], y[None, part], b) for part, z in design.blocks()]
    value, gradient, curvature = (sum(part[i] for part in parts) for i in range(3))
    return value, gradient, curvature  # type: ignore[return-value]


class Target(NamedTuple):
    """The normal prior of the standardised coefficients (q width): a product of the subsamples' prior and a ridge."""

    mean: Floats
    subsamples: Floats
    ridge: Floats

    @classmethod
    def of(cls, prior: Prior, design: Design, q: int, factor: float, shrink: float) -> Target:
        """Intercepts have no prior."""
        slopes = (np.arange(q * design.width) % design.width) < design.columns
        keep = np.flatnonzero(slopes)
        mean, subsamples = np.zeros(len(slopes)), np.zeros((len(slopes), len(slopes)))
        mean[keep] = prior.mean
        subsamples[np.ix_(keep, keep)] = factor * prior.precision
        return cls(mean, subsamples, np.diag(factor * shrink * slopes))

    @property
    def precision(self) -> Floats:
        """The sum of both."""
        return self.subsamples + self.ridge

    @property
    def centre(self) -> Floats:
        """Where the product peaks."""
        if not self.ridge.any():
            return self.mean
        keep = np.flatnonzero(np.diag(self.ridge) > 0)
        both = np.ix_(keep, keep)
        centre = np.zeros_like(self.mean)
        centre[keep] = np.linalg.solve(self.precision[both], (self.subsamples @ self.mean)[keep])
        return centre


class _LikelihoodEstimator(SubsampleEstimator):
    """A model with a likelihood: prior, then Newton's method on all rows."""

    def _fit_loss(self, loss: Loss, X: Any, y: Floats) -> tuple[Floats, Floats]:  # noqa: N803
        """Coefficients (q, p) and intercepts (q,) in the units of X."""
        design = self._design(X)
        gram, rng = design.gram(), seeded(self.random_state)
        ridge = self._shrink(lambda: tuned(loss, design, y, rng))
        self.shrink_ = ridge.ridge
        fits = self._subsamples(loss, design, y, gram, rng)
        prior = self._set_prior(design, fits)
        target = Target.of(prior, design, loss.q, 2.0 if self.scaling == "thesis" else 1.0, self.shrink_)
        absent = each(loss.q, missing(gram, design.columns))
        start = fits.values.mean(axis=0).ravel() if ridge.fit is None else ridge.fit
        done = self._all_rows(loss, design, y, start[None], target, absent)
        if self.scaling == "quasi":
            self.dispersion_ = self._dispersion(loss, design, y, done.values)
            target = target._replace(subsamples=target.subsamples * self.dispersion_)
            done = self._all_rows(loss, design, y, done.values, target, absent)
        b, noise = done.values[0].reshape(loss.q, -1), getattr(self, "dispersion_", 1.0)
        loss_curvature = done.curvature[0] - target.precision - absent
        self._set_covariances(design, done.curvature[0], loss_curvature, prior, target.subsamples, noise)
        return design.slopes(b), design.offset(b)

    def _subsamples(
        self, loss: Loss, design: Design, y: Floats, gram: Floats, rng: np.random.Generator
    ) -> SubsampleFits:
        """The fits, after a few trials: where most have none, a default size is doubled, up to half of the rows.

        Not if the tuned ridge is at least the weak prior: then what plain fits would say hardly matters.
        """
        beyond = False
        while self.size is None:
            trial = list(draws(design.count, TRIAL, self.size_, rng))
            beyond = unbounded(loss, design, y, trial, gram)
            if not beyond or self.shrink_ >= WEAK or self.size_ >= design.count // 2:
                break
            self.size_ = min(2 * self.size_, design.count // 2)
        chosen = list(draws(design.count, self.n_subsamples_, self.size_, rng))
        return loss_fits(loss, design, y, chosen, gram=gram, n_jobs=self.n_jobs, all_weak=beyond)

    def _dispersion(self, loss: Loss, design: Design, y: Floats, b: Floats) -> float:
        """Pearson's: the mean squared standardised residual."""
        total = 0.0
        for part, z in design.blocks():
            _, slope, curve = loss.rows(z[None] @ b.reshape(1, 1, -1).swapaxes(1, 2), y[None, part])
            total += float((slope[0, :, 0] ** 2 / np.maximum(curve[0, :, 0, 0], 1e-300)).sum())
        return max(total / max(design.count - design.width, 1), 1e-6)  # type: ignore[no-any-return]

    def _all_rows(
        self, loss: Loss, design: Design, y: Floats, start: Floats, target: Target, absent: Floats
    ) -> Fits:
        def evaluate(b: Floats) -> State:
            return over_rows(loss, design, y, b)

        null = np.zeros((loss.q, design.width))
        if design.intercept:
            null[:, -1] = loss.null(y)
        null = null.reshape(1, -1)
        begin = start if np.isfinite(evaluate(start)[0]).all() else null
        precision, centre = target.precision + absent, target.centre[None]
        done = newton(lambda _: evaluate, begin, centre, precision, steps=50)
        self.weak_fit_ = not bool(done.converged.all())
        if self.weak_fit_:  # the priors are silent in a direction in which no finite fit is best
            weak = precision + WEAK * np.eye(len(precision))
            done = newton(lambda _: evaluate, null, centre, weak, steps=100)
        return done


class SubsampleLogistic(ClassifierMixin, _LikelihoodEstimator):  # type: ignore[misc]
    """Logistic regression, of two or more classes, with a normal prior from fits on subsamples. It gives no privacy.

    The parameters are those of `SubsampleRidge`. More than two classes share one multinomial model, in K - 1
    orthonormal contrasts of the K scores: `prior_mean_` (K - 1, p) and `prior_cov_` are about those, and `contrasts_`
    (K, K - 1) turns them into the rows of `coef_`, which sum to zero.

    After `fit`: `classes_`, `coef_`, `intercept_`, `prior_mean_`, `prior_cov_`, `coef_cov_` (posterior), `contrasts_`,
    `n_subsamples_`, `size_`, `weak_subsamples_` (fitted with a weak prior, for want of a finite fit) and `weak_fit_`
    (the same of the fit on all rows).
    """

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Fit to a table X (N, p), dense or sparse, and labels y (N,)."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        if k < 2:
            raise TacitError(
                "argument_invalid", f"y has one class, {self.classes_[0]!r}", argument="y",
                hint="give labels of two classes or more",
            )  # fmt: skip
        self.contrasts_ = np.ones((1, 1)) if k == 2 else contrasts(k)
        loss = Logistic() if k == 2 else Multinomial(k)
        b, offset = self._fit_loss(loss, X, numbers.astype(np.float64))
        self.coef_, self.intercept_ = self.contrasts_ @ b, self.contrasts_ @ offset
        return self

    def _mixing(self) -> Floats:
        return self.contrasts_

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Log-odds of the second class (n,), or the scores of all classes (n, K)."""
        scores: Floats = self._rows(X) @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Probabilities of the classes (n, K)."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return softmax(scores, axis=1)  # type: ignore[no-any-return]
        return np.column_stack([expit(-scores), expit(scores)])

    def predict_log_proba(self, X: Any) -> Floats:  # noqa: N803
        """Logarithms of the probabilities (n, K)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The likeliest class of each row."""
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.int64)]


class SubsamplePoisson(RegressorMixin, _LikelihoodEstimator):  # type: ignore[misc]
    """Poisson regression with a log link and a normal prior from fits on subsamples. It gives no privacy.

    The parameters are those of `SubsampleRidge`, and `whole`: refuse y that is not whole. By default rates are read
    too, as scikit-learn's PoissonRegressor does: the estimate is then one of quasi-likelihood.

    After `fit`: `coef_`, `intercept_`, `prior_mean_`, `prior_cov_`, `coef_cov_` (posterior), `n_subsamples_`, `size_`,
    `weak_subsamples_` (fitted with a weak prior, for want of a finite fit) and `weak_fit_` (the same of the fit on all
    rows).
    """

    _scalings = (*SCALINGS, "quasi")

    def __init__(
        self,
        *,
        n_subsamples: int | None = None,
        size: int | float | None = None,
        variant: str = "diag",
        shrink: str | float | None = "tuned",
        scaling: str = "map",
        fit_intercept: bool = True,
        whole: bool = False,
        n_jobs: int | None = None,
        random_state: object = None,
    ) -> None:
        super().__init__(
            n_subsamples=n_subsamples,
            size=size,
            variant=variant,
            shrink=shrink,
            scaling=scaling,
            fit_intercept=fit_intercept,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.whole = whole

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Fit to a table X (N, p), dense or sparse, and counts y (N,)."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)  # noqa: N806
        y = np.asarray(y, dtype=np.float64)
        wrong = y < 0
        if self.whole:
            wrong |= y != np.floor(y)
        if wrong.any():
            raise TacitError(
                "argument_invalid", f"y has a count of {y[wrong][0]:g}", argument="y",
                hint="give counts: 0, 1, 2, ... (or rates, not negative, with whole=False)",
            )  # fmt: skip
        b, offset = self._fit_loss(Poisson(), X, y)
        self.coef_, self.intercept_ = b[0], float(offset[0])
        self.prior_mean_ = self.prior_mean_[0]
        return self

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Means at the rows of X."""
        return np.exp(self._rows(X) @ self.coef_ + self.intercept_)  # type: ignore[no-any-return]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """The share of the deviance that is explained, as PoissonRegressor has it."""
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

"""Linear models whose penalty comes from fits on subsamples: what all of them share, and the ridge.

The prior N(b0, S) comes from `priors`; the fit then uses all rows. With the default scaling, "map", it maximises
the posterior,

    -log likelihood + (b - b0)' S^-1 (b - b0) / 2,

which for squared loss, with the residual variance s^2, is b = (X'X / s^2 + S^-1)^-1 (X'y / s^2 + S^-1 b0). The
thesis minimises  loss + (b - b0)' S^-1 (b - b0)  instead (scaling "thesis"): for squared loss this takes s^2 to be
1, so the penalty depends on the units of y; for the others it doubles the precision. The intercept is never
penalised.

Two covariances can be asked for. `posterior` takes the prior as outside knowledge, as Bayes' rule does: A^-1, with
A the curvature of the objective. But the prior was made from the same rows. `sampling` is the covariance over
repeated data: with P = S^-1 (or the variant's), J the curvature of the loss, V = J^-1 and f = n / N, the estimate
is A^-1 (J t + P b0), where t is the fit on all rows. A row that is drawn c times weighs 1 / N in t and c / (m n) in
b0, so cov(t, b0) = V and cov(b0) = (1 + k) V, k = (1 - f) / (m f), and

    sampling = A^-1 (J + 2 P + (1 + k) P V P) A^-1,    V in P V P by the jackknife, S f / (1 - f).

Source: chapter 2 of Aydın's thesis; the second covariance is ours. No privacy: coefficients and prior show the rows.

>>> import numpy as np
>>> rng = np.random.default_rng(3)
>>> X = rng.normal(size=(5000, 3))
>>> y = X @ [1.0, 0.0, -2.0] + rng.normal(size=5000)
>>> ridge = SubsampleRidge(random_state=1).fit(X, y)
>>> ridge.coef_.round(1) + 0.0
array([ 1.,  0., -2.])
>>> low, high = ridge.coef_interval(0.99)
>>> bool((low < [1, 0, -2]).all() and ([1, 0, -2] < high).all())
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit.regression.priors import Prior, check_variant, draws, plan
from tacit.regression.subsample_design import Design
from tacit.regression.subsample_fits import Fits, missing, squared_fits
from tacit.regression.subsample_tune import Tuned, tuned_squares
from tacit.rng import generator

SCALINGS: tuple[str, ...] = ("map", "thesis")
COVARIANCES = ("sampling", "posterior")


def one_of(value: object, argument: str, choices: tuple[str, ...]) -> str:
    """`value`, or a refusal."""
    if isinstance(value, str) and value in choices:
        return value
    raise TacitError(
        "argument_invalid",
        f"{argument} is {value!r}",
        argument=argument,
        hint=f"give one of {', '.join(choices)}",
    )


def seeded(random_state: object) -> np.random.Generator:
    """scikit-learn's random_state as a Generator: None, a seed, a RandomState, or a Generator."""
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return generator(random_state, "random_state")


class SubsampleEstimator(BaseEstimator):  # type: ignore[misc]
    """The parameters, the covariances and the input checks of all estimators of this room."""

    _scalings = SCALINGS

    def __init__(
        self,
        *,
        n_subsamples: int | None = None,
        size: int | float | None = None,
        variant: str = "diag",
        shrink: str | float | None = "tuned",
        scaling: str = "map",
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        random_state: object = None,
    ) -> None:
        self.n_subsamples = n_subsamples
        self.size = size
        self.variant = variant
        self.shrink = shrink
        self.scaling = scaling
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _design(self, X: Any) -> Design:  # noqa: N803
        """The columns, after the checks of the parameters."""
        check_variant(self.variant)
        one_of(self.scaling, "scaling", self._scalings)
        self._shrink(lambda: Tuned(0.0))
        self.n_subsamples_, self.size_ = plan(
            X.shape[0], X.shape[1], self.n_subsamples, self.size, self.variant
        )
        return Design(X, bool(self.fit_intercept))

    def _shrink(self, tune: Callable[[], Tuned]) -> Tuned:
        """The ridge beside the subsamples' prior."""
        if self.shrink is None:
            return Tuned(0.0)
        if isinstance(self.shrink, str) and self.shrink == "tuned":
            return tune()
        if isinstance(self.shrink, int | float | np.number) and not isinstance(self.shrink, bool):
            value = float(self.shrink)
            if 0 <= value < np.inf:
                return Tuned(value)
        raise TacitError(
            "argument_invalid", f"shrink is {self.shrink!r}", argument="shrink",
            hint='give "tuned", a precision that is not negative, or None',
        )  # fmt: skip

    def _set_prior(self, design: Design, fits: Fits) -> Prior:
        """The prior of the standardised slopes; what users see of it is in the units of X."""
        prior = fits.prior(design.columns, self.size_, design.count, self.variant)
        unit = np.tile(design.live / design.scale, fits.values.shape[1])
        self.prior_mean_ = (prior.mean * unit).reshape(-1, design.columns)
        self.prior_cov_ = prior.cov * np.outer(unit, unit)
        self.weak_subsamples_ = fits.weak
        return prior

    def _set_covariances(
        self, design: Design, objective: Floats, loss: Floats, prior: Prior, pull: Floats, noise: float = 1.0
    ) -> None:
        """Both covariances of the standardised coefficients (q width).

        `objective` and `loss` are curvatures, `pull` is the precision of the subsamples' prior, all in units in
        which the variance of a row's slope is `noise` times its curvature.
        """
        width, share = design.width, self.size_ / design.count
        inverse = np.linalg.inv(objective)
        keep = np.flatnonzero((np.arange(len(inverse)) % width) < design.columns)
        jack = np.zeros_like(inverse)
        jack[np.ix_(keep, keep)] = prior.spread * share / (1 - share)
        again = 1 + (1 - share) / (self.n_subsamples_ * share)
        between = noise * (loss + 2 * pull) + again * pull @ jack @ pull
        self._covariances = {"posterior": noise * inverse, "sampling": inverse @ between @ inverse}
        self._keep = keep
        self._axes = (design.mean, design.live / design.scale)
        unit = np.tile(self._axes[1], len(keep) // design.columns)
        self.coef_cov_ = noise * inverse[np.ix_(keep, keep)] * np.outer(unit, unit)

    def _spread(self, level: object, kind: str) -> tuple[float, Floats]:
        """How many deviations a level is, and the covariance asked for."""
        check_is_fitted(self)
        if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
            raise TacitError(
                "argument_invalid",
                f"level is {level!r}",
                argument="level",
                hint="give a number between 0 and 1",
            )
        cov = self._covariances[one_of(kind, "kind", COVARIANCES)]
        return float(ndtri((1 + float(level)) / 2)), cov

    def _mixing(self) -> Floats:
        """How class scores are made of the q predictors: (scores, q)."""
        return np.eye(len(np.atleast_2d(self.prior_mean_)))

    def coef_interval(self, level: float = 0.9, kind: str = "sampling") -> tuple[Floats, Floats]:
        """Ends of intervals for the coefficients, in the shape of `coef_`.

        `kind` is "sampling" (over repeated data) or "posterior" (the prior taken as outside knowledge).
        """
        z, cov = self._spread(level, kind)
        mixing, slopes = self._mixing(), cov[np.ix_(self._keep, self._keep)]
        q, p = mixing.shape[1], len(self._axes[1])
        blocks = slopes.reshape(q, p, q, p)
        variance = np.einsum("ki,ipjp,kj->kp", mixing, blocks, mixing) * self._axes[1] ** 2
        wide = z * np.sqrt(np.maximum(variance, 0.0)).reshape(np.shape(self.coef_))
        return self.coef_ - wide, self.coef_ + wide

    def std_error(self, X: Any, kind: str = "sampling") -> Floats:  # noqa: N803
        """Standard errors of the linear predictor at the rows of X; of the score of each class (n, K) where K > 2."""
        _, cov = self._spread(0.5, kind)
        rows = self._rows(X)
        mean, unit = self._axes
        q = self._mixing().shape[1]
        width = len(cov) // q
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        z = np.ones((len(dense), width))
        z[:, : len(mean)] = (dense - mean) * unit
        blocks = cov.reshape(q, width, q, width)
        each = np.einsum("nd,idje,ne->nij", z, blocks, z, optimize=True)
        variance = np.einsum("ki,nij,kj->nk", self._mixing(), each, self._mixing(), optimize=True)
        errors: Floats = np.sqrt(np.maximum(variance, 0.0))
        return errors[:, 0] if errors.shape[1] == 1 else errors

    def _rows(self, X: Any) -> Any:  # noqa: N803
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)


class SubsampleRidge(RegressorMixin, SubsampleEstimator):  # type: ignore[misc]
    """Least squares with a normal prior from fits on subsamples. It gives no privacy.

    n_subsamples, size: how many subsamples of how many rows (or a share of them); None chooses both (`priors.plan`)
    variant: what to make of the covariance of the fits: "full", "diag", "adjusted" or "jackknife"
    scaling: "map" weighs the squares by the residual variance; "thesis" takes that variance to be 1
    n_jobs: threads for the subsamples; random_state: a seed, a numpy Generator or RandomState, or None

    After `fit`: `coef_`, `intercept_`, `noise_variance_`, `prior_mean_`, `prior_cov_`, `coef_cov_` (posterior),
    `n_subsamples_`, `size_`, and `weak_subsamples_`, how many subsamples had too few directions and were fitted
    with a weak prior.
    """

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Fit to a table X (N, p), dense or sparse, and numbers y (N,)."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)  # noqa: N806
        design, y, rng = self._design(X), np.asarray(y, dtype=np.float64), seeded(self.random_state)
        gram, p = design.gram(), design.columns
        chosen = list(draws(design.count, self.n_subsamples_, self.size_, rng))
        fits = squared_fits(design, y, chosen, gram=gram, n_jobs=self.n_jobs)
        prior = self._set_prior(design, fits)
        self.prior_mean_ = self.prior_mean_[0]
        self.shrink_ = self._shrink(lambda: tuned_squares(design, y, rng)).ridge
        right = sum((z.T @ y[part] for part, z in design.blocks()), np.zeros(design.width))
        absent = missing(gram, p)
        rank = p - round(np.trace(absent))
        absent *= np.trace(gram)
        self.noise_variance_ = self._noise(design, y, np.linalg.solve(gram + absent, right), prior.mean, rank)
        pull, ridge, centre = np.zeros_like(gram), np.zeros(design.width), np.zeros(design.width)
        pull[:p, :p] = prior.precision * (1.0 if self.scaling == "thesis" else self.noise_variance_)
        ridge[:p], centre[:p] = self.shrink_, prior.mean
        objective = gram + absent + pull + np.diag(ridge)
        values = np.linalg.solve(objective, right + pull @ centre)
        self.coef_, self.intercept_ = design.slopes(values), float(design.offset(values))
        self._set_covariances(design, objective, gram, prior, pull, self.noise_variance_)
        return self

    def _noise(self, design: Design, y: Floats, plain: Floats, mean: Floats, rank: int) -> float:
        """The residual variance of least squares; with no degree of freedom left, that of the prior mean."""
        free = design.count - rank - design.intercept
        values = plain
        if free <= 0:
            values, free = np.append(mean, plain[design.columns :]), design.count
        squares = sum(float(((y[part] - z @ values) ** 2).sum()) for part, z in design.blocks())
        return max(squares / free, 1e-20 * float(np.mean(y**2)), float(np.finfo(float).tiny) ** 0.5)  # type: ignore[no-any-return]

    def predict(self, X: Any, return_std: bool = False) -> Any:  # noqa: N803
        """Means at the rows of X; with `return_std` also the standard deviation of a new y there, noise included."""
        rows = self._rows(X)
        mean = rows @ self.coef_ + self.intercept_
        if not return_std:
            return mean
        return mean, np.sqrt(self.std_error(rows) ** 2 + self.noise_variance_)

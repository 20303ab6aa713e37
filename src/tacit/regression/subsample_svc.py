"""A linear support vector machine whose penalty comes from fits on subsamples.

    minimise  sum_i max(0, 1 - y_i (x_i b + c)) + (b - b0)' S^-1 (b - b0) / 2        (scaling "thesis": without the
    half)

The hinge is rounded over a width h, and h goes from 1 to 1e-5 with Newton's method at every width, from where the
last one ended: only rows within h of the margin have curvature, so a pass costs little more than reading the table.
The end is within N h / 2 of the minimum. `loss="squared_hinge"` needs one width only.

A machine without a penalty has no unique fit, and on separated classes no scale. So the subsamples are fitted with
the weak prior of `subsample_fits`, N(0, 2.5^2) on standardised columns (C = 6.25), always.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(400, 2))
>>> y = np.where(X[:, 0] + 0.3 * rng.normal(size=400) > 0, "up", "down")
>>> machine = SubsampleLinearSVC(random_state=1).fit(X, y)
>>> bool(machine.score(X, y) > 0.85)
True
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from tacit.arrays import Floats, Integers
from tacit.errors import TacitError
from tacit.regression.priors import draws
from tacit.regression.subsample import SubsampleEstimator, one_of, seeded
from tacit.regression.subsample_design import Design
from tacit.regression.subsample_fits import loss_fits, missing
from tacit.regression.subsample_glm import Target, over_rows
from tacit.regression.subsample_losses import Hinge, Loss, SquaredHinge
from tacit.regression.subsample_newton import State, Terms, newton
from tacit.regression.subsample_tune import tuned

WIDTHS = (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5)
ROUGH = 0.5  # width of the hinge in subsamples, whose spread is far above what it changes


class SubsampleLinearSVC(ClassifierMixin, SubsampleEstimator):  # type: ignore[misc]
    """A linear support vector machine with a penalty from fits on subsamples. It gives no privacy.

    The parameters are those of `SubsampleRidge`, and `loss`: "hinge" or "squared_hinge". Of more than two classes
    each is told from the rest, as LinearSVC does. A machine has no likelihood: there are no intervals and no
    standard errors.

    After `fit`: `classes_`, `coef_`, `intercept_`, `prior_mean_`, `prior_cov_` (a leading axis for three
    classes and more), `n_subsamples_`, `size_`.
    """

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        n_subsamples: int | None = None,
        size: int | float | None = None,
        variant: str = "diag",
        shrink: str | float | None = "tuned",
        scaling: str = "map",
        fit_intercept: bool = True,
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
        self.loss = loss

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Fit to a table X (N, p), dense or sparse, and labels y (N,)."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        one_of(self.loss, "loss", ("hinge", "squared_hinge"))
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise TacitError(
                "argument_invalid", f"y has one class, {self.classes_[0]!r}", argument="y",
                hint="give labels of two classes or more",
            )  # fmt: skip
        design = self._design(X)
        gram = design.gram()
        rng = seeded(self.random_state)
        chosen = list(draws(design.count, self.n_subsamples_, self.size_, rng))
        ones = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        each = [self._one(design, gram, chosen, rng, np.where(numbers == k, 1.0, -1.0)) for k in ones]
        self.coef_ = np.concatenate([design.slopes(b) for b, _, _ in each])
        self.intercept_ = np.concatenate([design.offset(b) for b, _, _ in each])
        self.prior_mean_ = np.array([mean for _, mean, _ in each])
        self.prior_cov_ = np.array([cov for _, _, cov in each])
        if len(each) == 1:
            self.prior_cov_ = self.prior_cov_[0]
        return self

    def _one(
        self, design: Design, gram: Floats, chosen: list[Integers], rng: np.random.Generator, y: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Standardised coefficients (1, width) of one class against the rest; prior mean and covariance."""
        squared = self.loss == "squared_hinge"
        rough: Loss = SquaredHinge() if squared else Hinge(ROUGH)
        ridge = self._shrink(lambda: tuned(rough, design, y, rng))
        fits = loss_fits(rough, design, y, chosen, gram=gram, n_jobs=self.n_jobs, all_weak=True)
        prior = self._set_prior(design, fits)
        target = Target.of(prior, design, 1, 2.0 if self.scaling == "thesis" else 1.0, ridge.ridge)
        precision = target.precision + missing(gram, design.columns)
        b = (fits.values.mean(axis=0).ravel() if ridge.fit is None else ridge.fit)[None]
        # Between two widths no row may be near the margin: the hinge is then straight, and a step needs a bound.
        damping = 0.0 if squared else 1.0
        losses: list[Loss] = [SquaredHinge()] if squared else [Hinge(h) for h in WIDTHS]
        for loss in losses:

            def evaluate(b: Floats, loss: Loss = loss) -> State:
                return over_rows(loss, design, y, b)

            def of(_: Integers, evaluate: Terms = evaluate) -> Terms:
                return evaluate

            b = newton(of, b, target.centre[None], precision, steps=100, damping=damping).values
        self.shrink_ = ridge.ridge
        return b, self.prior_mean_[0], self.prior_cov_

    def coef_interval(self, level: float = 0.9, kind: str = "sampling") -> tuple[Floats, Floats]:
        """Not for machines: refused."""
        raise _no_likelihood()

    def std_error(self, X: Any, kind: str = "sampling") -> Floats:  # noqa: N803
        """Not for machines: refused."""
        raise _no_likelihood()

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Signed scores (n,), or those of all classes (n, K)."""
        scores: Floats = self._rows(X) @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The class of each row."""
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.int64)]


def _no_likelihood() -> TacitError:
    return TacitError(
        "argument_invalid", "a support vector machine has no likelihood, so no standard errors", argument="self",
        hint="use SubsampleLogistic",
    )  # fmt: skip

"""Linear regression whose residuals are a mixture: robust where some rows are far off, efficient where none is.

The residuals of y = b_0 + x' b have density f(r) = sum_j a_j f_j(r; s_j), with weights a_j and scales s_j learned
beside b (`families` has the f_j, `em` the algorithm). A row that a heavy-tailed component explains counts little,
and the fit says which rows these are. Nothing is private: coefficients can reveal a row.

Penalties are priors of the coefficients: `alpha` is the precision of a normal prior with mean 0 (ridge regression,
when the residuals are Gaussian with scale 1), `prior="subsample"` takes mean and covariance from robust fits on
parts of the rows (`priors`), so that rows and columns are held in check at once. The intercept is free.

After chapter 3 of Aydın's thesis; docs/explanation/regression-mixture.md says what differs from it.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(400, 2))
>>> y = 1 + X @ [2.0, -1.0] + 0.3 * rng.normal(size=400)
>>> y[:40] += rng.uniform(10, 30, size=40)
>>> model = MixtureRegressor(("gaussian", "cauchy")).fit(X, y)
>>> model.coef_.round(1), round(model.intercept_, 1)
(array([ 2., -1.]), 1.0)
>>> bool((model.outlier_score_[:40] > 0.9).all())
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit.regression import checks, families, inference, starts
from tacit.regression.design import Design
from tacit.regression.em import State, responsibilities, row_weights
from tacit.regression.linear import LinearPredictor
from tacit.regression.priors import Prior, pseudo_inverse, subsample_prior

SHOWN = 0.5  # an outlier score above which a row counts less than half of a typical one


@dataclass(frozen=True)
class Convergence:
    """How a fit went: `history` is the penalised log-likelihood after every round, which never falls, `starts` its
    mean where each start stood after a few rounds, `at_floor` the components whose scale is held up by the floor,
    `perfect` whether there are no residuals to speak of."""

    converged: bool
    rounds: int
    history: tuple[float, ...]
    starts: tuple[float, ...]
    at_floor: tuple[str, ...]
    perfect: bool


class FittedMixture(LinearPredictor):
    """What a fitted mixture can be asked; n new rows have residuals r (n,)."""

    components_: tuple[str, ...]
    weights_: Floats
    weights_se_: Floats
    scales_: Floats
    scales_se_: Floats
    coef_se_: Floats
    intercept_se_: float
    covariance_: Floats
    outlier_score_: Floats
    log_likelihood_: float
    bic_: float
    unit_: float
    _families: tuple[families.Family, ...]
    _typical: float

    def _state(self) -> State:
        return State(np.empty(0), self.weights_, self.scales_ / self.unit_)

    def _responsibilities(self, r: Floats) -> Floats:
        return responsibilities(self._families, self._state(), r / self.unit_)[0]

    def _scores(self, r: Floats, z: Floats) -> Floats:
        w = row_weights(self._families, self._state(), r / self.unit_, z)
        return 1 - np.minimum(w / self._typical, 1)

    def _residuals(self, X: Any, y: Any) -> Floats:  # noqa: N803
        check_is_fitted(self)
        X, y = validate_data(  # noqa: N806
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True, reset=False
        )
        found: Floats = y - (X @ self.coef_ + self.intercept_)
        return found

    def responsibilities(self, X: Any, y: Any) -> Floats:  # noqa: N803
        """The probabilities (n, J) of the components for other rows."""
        return self._responsibilities(self._residuals(X, y)).T

    def outlier_scores(self, X: Any, y: Any) -> Floats:  # noqa: N803
        """1 - w / (the median weight of the rows of `fit`), not below 0, for other rows (n,)."""
        r = self._residuals(X, y)
        return self._scores(r, self._responsibilities(r))

    def density(self, r: Any, component: int | None = None) -> Floats:
        """The fitted density at residuals `r` (n,), or the part a_j f_j of one component."""
        check_is_fitted(self)
        t = np.atleast_1d(np.asarray(r, dtype=np.float64)) / self.unit_
        state = self._state()
        parts = [
            a * np.exp(one.log_density(t, float(s)))
            for one, a, s in zip(self._families, state.weights, state.scales, strict=True)
        ]
        if component is not None:
            parts = [parts[checks.whole(component, "component", 0, len(parts) - 1)]]
        found: Floats = np.sum(parts, axis=0) / self.unit_
        return found

    def summary(self) -> str:
        """Coefficients and components with their standard errors, as text."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{k}" for k in range(len(self.coef_))])
        lines = [f"{'':20} {'value':>12} {'std. error':>12} {'ratio':>9}"]
        rows = list(zip(names, self.coef_, self.coef_se_, strict=True))
        if len(self.covariance_) > len(self.coef_):
            rows.insert(0, ("(intercept)", self.intercept_, self.intercept_se_))
        for name, value, error in rows:
            ratio = value / error if error > 0 else np.nan
            lines.append(f"{str(name)[:20]:20} {value:12.5g} {error:12.5g} {ratio:9.2f}")
        lines.append(f"\n{'residuals':20} {'weight':>12} {'std. error':>12} {'scale':>9} {'std. error':>12}")
        for name, *numbers in zip(
            self.components_, self.weights_, self.weights_se_, self.scales_, self.scales_se_, strict=True
        ):
            a, of_a, s, of_s = numbers
            lines.append(f"{name:20} {a:12.4f} {of_a:12.4f} {s:9.4g} {of_s:12.4g}")
        few = int((self.outlier_score_ > SHOWN).sum())
        lines.append(
            f"\nlog-likelihood {self.log_likelihood_:.2f}, BIC {self.bic_:.2f}; {few} of "
            f"{len(self.outlier_score_)} rows count less than half of a typical one"
        )
        return "\n".join(lines)


class MixtureRegressor(FittedMixture):
    """Linear regression with a mixture of m-estimators as the density of the residuals. It gives no privacy.

    Settings:

    * `components`: "gaussian", "laplace", "cauchy", "student_t", "huber", or objects such as `StudentT(nu=3)`
    * `scales`: "learned", "fixed" (all 1, in units of y: standardise it), or a list of scales to hold fixed
    * `alpha`: precision of a normal prior of the coefficients with mean 0, as in ridge regression
    * `prior`: None, "subsample", a `Prior`, or a pair (mean, cov); instead of `alpha`
    * `n_subsamples`, `subsample_size`, `prior_variant`: of `prior="subsample"`, as in `subsample_prior`
    * `fit_intercept`: whether there is an intercept, which no penalty touches
    * `covariance`: standard errors by the "sandwich", or by the observed "information" where the densities are trusted
    * `scale_floor`: the least scale, in typical residuals; without it one row could have infinite likelihood
    * `n_starts`: from how many of nine starts EM climbs
    * `max_iter`, `tol`: rounds of EM, and the gain of log-likelihood for each row that is none
    * `random_state`: seed or Generator, for subsamples and for the first steps from 32,768 rows on

    After `fit`:

    * `coef_` (p,), `intercept_`: the line
    * `coef_se_` (p,), `intercept_se_`, `covariance_`: their standard errors, and covariance with the intercept first
    * `components_`, `weights_` (J,), `scales_` (J,), `weights_se_`, `scales_se_`: the density, in units of y
    * `responsibilities_` (n, J): whose row is it? Probabilities of the components, given the residual
    * `outlier_score_` (n,): 0 for a row that counts as much as a typical one or more, near 1 if it hardly counts
    * `log_likelihood_`, `bic_`, `aic_`: of y given X, without the prior
    * `unit_`: the typical residual, to which `scale_floor` refers
    * `convergence_`, `n_iter_`: a `Convergence`, and its rounds
    * `prior_`: the `Prior`, or None
    """

    def __init__(
        self,
        components: Any = ("gaussian", "laplace", "cauchy"),
        *,
        scales: Any = "learned",
        alpha: float = 0.0,
        prior: Any = None,
        n_subsamples: int | None = None,
        subsample_size: Any = None,
        prior_variant: str = "full",
        fit_intercept: bool = True,
        covariance: str = "sandwich",
        scale_floor: float = 0.05,
        n_starts: int = 3,
        max_iter: int = 2000,
        tol: float = 1e-8,
        random_state: Any = 0,
    ) -> None:
        self.components = components
        self.scales = scales
        self.alpha = alpha
        self.prior = prior
        self.n_subsamples = n_subsamples
        self.subsample_size = subsample_size
        self.prior_variant = prior_variant
        self.fit_intercept = fit_intercept
        self.covariance = covariance
        self.scale_floor = scale_floor
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Learn line and density. Weights count as repetitions of a row."""
        settings = self._settings()
        X, y, v = self._read(X, y, sample_weight)  # noqa: N806
        rng = checks.random_state(self.random_state)
        self.prior_ = self._prior(X, y, v, settings, rng)
        if self.prior_ is not None:
            settings = settings._replace(prior=(self.prior_.mean, precision_of(self.prior_)))
        found = starts.fit(X, y, v, settings, rng)
        starts.warn(found, settings.max_iter)
        self._publish(found, X, y, v)
        return self

    def _settings(self) -> starts.Settings:
        kinds = families.read(self.components)
        checks.one_of(self.covariance, "covariance", ("sandwich", "information"))
        return starts.Settings(
            kinds,
            read_scales(self.scales, len(kinds)),
            None,
            bool(self.fit_intercept),
            checks.number(self.scale_floor, "scale_floor", above=0, below=1),
            checks.whole(self.n_starts, "n_starts", 1, starts.MOST_STARTS),
            checks.whole(self.max_iter, "max_iter", 1),
            checks.number(self.tol, "tol", least=0),
        )

    def _prior(
        self,
        X: Any,  # noqa: N803
        y: Floats,
        v: Floats,
        settings: starts.Settings,
        rng: np.random.Generator,
    ) -> Prior | None:
        alpha = checks.number(self.alpha, "alpha", least=0)
        p = X.shape[1]
        if self.prior is None:
            if alpha == 0:
                return None
            flat = np.eye(p) / alpha
            return Prior(np.zeros(p), flat, flat)
        if alpha > 0:
            raise checks.refusal("alpha", self.alpha, "give a penalty or a prior, not both")
        if isinstance(self.prior, str):
            checks.one_of(self.prior, "prior", ("subsample",))
            return self._subsample_prior(X, y, v, settings, rng)
        return read_prior(self.prior, p)

    def _subsample_prior(
        self,
        X: Any,  # noqa: N803
        y: Floats,
        v: Floats,
        settings: starts.Settings,
        rng: np.random.Generator,
    ) -> Prior:
        rows = np.flatnonzero(v > 0)
        rank = Design(X[rows], v[rows], settings.intercept).rank

        def robust(part: Any, mine: Any) -> Floats:
            found = starts.fit(
                part, y[mine], v[mine], settings._replace(n_starts=1, tol=max(settings.tol, 1e-7)), rng
            )
            if found.problem.design.rank < rank or len(mine) <= rank:
                raise TacitError(
                    "argument_invalid",
                    f"a subsample of {len(mine)} rows does not tell all coefficients apart",
                    argument="subsample_size",
                    hint="give a larger size, or leave rare columns out",
                )
            return found.problem.design.user(found.climb.state.beta, found.centre, found.unit)[1]

        # The numbers of the rows stand in for y, so that weights come along.
        return subsample_prior(
            robust,
            X[rows],
            rows,
            n_subsamples=self.n_subsamples,
            size=self.subsample_size,
            variant=self.prior_variant,
            rng=rng,
        )

    def _publish(self, found: starts.Fit, X: Any, y: Floats, v: Floats) -> None:  # noqa: N803
        problem, climb = found.problem, found.climb
        state, design = climb.state, problem.design
        self.intercept_, self.coef_ = design.user(state.beta, found.centre, found.unit)
        self._families = problem.families
        self.components_ = tuple(one.name for one in problem.families)
        self.unit_ = found.unit
        self.weights_, self.scales_ = state.weights, state.scales * found.unit
        self._typical = starts.median(climb.seen.w / problem.v, problem.v)
        errors = inference.errors(problem, state, self.covariance)
        turn = design.map(found.unit)
        self.covariance_ = turn @ errors.beta @ turn.T
        with np.errstate(invalid="ignore"):
            spread = np.sqrt(np.diag(self.covariance_))
        self.intercept_se_ = float(spread[0]) if design.intercept else 0.0
        self.coef_se_ = spread[design.intercept :]
        self.weights_se_, self.scales_se_ = errors.weights, errors.log_scales * self.scales_
        self.log_likelihood_ = found.log_likelihood
        free = inference.degrees(problem, state, climb.seen.w)
        self.bic_ = float(-2 * self.log_likelihood_ + free * np.log(problem.total))
        self.aic_ = -2 * self.log_likelihood_ + 2 * free
        held = (state.scales <= problem.floor * (1 + 1e-9)) & (state.weights > inference.GONE)
        self.convergence_ = Convergence(
            climb.converged,
            climb.rounds,
            tuple(climb.history),
            found.starts,
            tuple(name for name, low in zip(self.components_, held, strict=True) if low),
            found.perfect,
        )
        self.n_iter_ = climb.rounds
        r = y - (X @ self.coef_ + self.intercept_)
        z = self._responsibilities(r)
        self.responsibilities_ = z.T
        self.outlier_score_ = self._scores(r, z)


def read_scales(scales: Any, count: int) -> Floats | None:
    """Scales that do not move, in units of y, or None."""
    if isinstance(scales, str):
        word = checks.one_of(scales, "scales", ("learned", "fixed"))
        return None if word == "learned" else np.ones(count)
    hint = f'give "learned", "fixed", or {count} numbers above 0, one a component'
    try:
        found = np.asarray(scales, dtype=np.float64)
    except (TypeError, ValueError):
        raise checks.refusal("scales", scales, hint) from None
    if found.shape != (count,) or not np.isfinite(found).all() or (found <= 0).any():
        raise checks.refusal("scales", scales, hint)
    return found


def read_prior(prior: Any, p: int) -> Prior:
    """A `Prior` of p coefficients from one, or from a pair (mean, cov)."""
    hint = f'give "subsample", a Prior, or a pair (mean, cov) of shapes ({p},) and ({p}, {p})'
    try:
        pair = (prior.mean, prior.cov) if isinstance(prior, Prior) else prior
        mean, cov = (np.asarray(part, dtype=np.float64) for part in pair)
    except (TypeError, ValueError):
        raise checks.refusal("prior", prior, hint) from None
    if mean.shape != (p,) or cov.shape != (p, p) or not (np.isfinite(mean).all() and np.isfinite(cov).all()):
        raise checks.refusal("prior", prior, hint)
    size = np.sqrt(np.outer(np.abs(np.diag(cov)), np.abs(np.diag(cov))))
    if not np.allclose(cov, cov.T) or np.linalg.eigvalsh(cov).min() < -1e-9 * size.max():
        raise checks.refusal("prior", prior, "its covariance must be symmetric, and no variance negative")
    return prior if isinstance(prior, Prior) else Prior(mean, cov, cov)


def precision_of(prior: Prior) -> Floats:
    """The precision: 0 in directions that the prior says nothing about."""
    return pseudo_inverse(prior.cov)

"""The likelihood never falls, special cases are the known estimators, and derivatives are derivatives."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.optimize import minimize
from sklearn.linear_model import HuberRegressor, LinearRegression, QuantileRegressor, Ridge

from tacit.regression import Huber, Laplace, MixtureRegressor, StudentT, em, families, inference, starts
from tacit.regression.design import Design

NAMES = sorted(families.KINDS)


def simulated(n=200, p=3, seed=1, tail=3.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) + rng.normal(size=p)
    return x, 0.7 + x @ np.arange(1.0, p + 1) + rng.standard_t(tail, n)


def told(components, fixed=None, prior=None, intercept=True, floor=0.05, count=3, rounds=400, tol=1e-9):
    return starts.Settings(families.read(components), fixed, prior, intercept, floor, count, rounds, tol)


def problem_of(x, y, components, v=None, learned=True, intercept=True, alpha=0.0, floor=0.05):
    v = np.ones(len(y)) if v is None else v
    design = Design(x, v, intercept)
    p = x.shape[1]
    penalty = design.penalty(alpha * np.eye(p), np.zeros(p), 1.0) if alpha else design.flat
    return em.Problem(design, y, v, families.read(components), penalty, floor, learned)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, p = draw(st.integers(6, 60)), draw(st.integers(1, 4))
    x = rng.normal(size=(n, p))
    if draw(st.booleans()):
        x = np.round(x)  # repeated rows, perhaps constant columns
    y = x @ rng.normal(size=p) + rng.standard_t(draw(st.sampled_from([0.5, 1, 3, 30])), n)
    if draw(st.booleans()):
        y = np.round(y)
    components = draw(
        st.lists(st.sampled_from([*NAMES, StudentT(1.5), Huber(0.3), Laplace(0.3)]), min_size=1, max_size=4)
    )
    v = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else np.ones(n)
    problem = problem_of(
        x, y, components, v, draw(st.booleans()), draw(st.booleans()), draw(st.sampled_from([0.0, 0.5])),
        draw(st.sampled_from([1e-3, 0.05])),
    )  # fmt: skip
    j = len(components)
    start = em.State(rng.normal(size=problem.design.q), rng.dirichlet(np.ones(j)), np.exp(rng.normal(size=j)))
    return problem, start


@given(problems())
@settings(deadline=None, max_examples=150)
def test_no_round_lowers_the_likelihood(case):
    problem, state = case
    seen = problem.expect(state)
    for _ in range(15):
        state = problem.maximise(state, seen)
        after = problem.expect(state)
        assert after.value >= seen.value - 1e-9 * (1 + abs(seen.value))
        assert state.scales.min() >= (problem.floor if problem.learned else 0)
        assert state.weights.sum() == pytest.approx(1)
        seen = after


@given(problems())
@settings(deadline=None, max_examples=100)
def test_no_step_of_a_climb_lowers_the_likelihood(case):
    problem, state = case
    found = em.climb(problem, state, 60, 1e-9)
    history = np.array(found.history)
    assert (np.diff(history) >= -1e-9 * (1 + abs(history[:-1]))).all()
    assert found.seen.value == history[-1]


@given(problems())
@settings(deadline=None, max_examples=40)
def test_the_objective_is_what_it_says(case):
    """Row by row, with exp and log, against the array form."""
    problem, state = case
    direct = -problem.penalty.value(state.beta)
    r = problem.y - problem.design.predict(state.beta)
    for value, v in zip(r, problem.v, strict=True):
        parts = [
            a * math.exp(float(one.log_density(np.array([value]), s)[0]))
            for one, a, s in zip(problem.families, state.weights, state.scales, strict=True)
        ]
        direct += v * math.log(sum(parts)) if sum(parts) > 0 else -np.inf
    if np.isfinite(direct):
        assert problem.expect(state).value == pytest.approx(direct, rel=1e-9)


def thesis_rounds(x, y, rounds):
    """Algorithm 2 of the thesis: scales 1, and each component's weights divided by their sum."""
    kinds = families.read(("gaussian", "laplace", "cauchy"))
    a, beta, values = np.full(3, 1 / 3), np.linalg.lstsq(x, y, rcond=None)[0], []
    for _ in range(rounds):
        r = y - x @ beta
        state = em.State(beta, a, np.ones(3))
        z, log = em.responsibilities(kinds, state, r)
        values.append(log.sum())
        w = sum(
            part / part.sum()
            for part in (row * one.weight(r, 1.0) for one, row in zip(kinds, z, strict=True))
        )
        a = z.mean(axis=1)
        beta = np.linalg.solve(x.T @ (w[:, None] * x), x.T @ (w * y))
    return np.array(values)


def test_dividing_weights_by_their_sum_loses_the_guarantee():
    falls = []
    for seed in range(30):
        x, y = simulated(60, 2, seed, tail=2.0)
        falls.append(np.diff(thesis_rounds(x, y, 60)).min())
    assert min(falls) < -0.01


# Special cases.


def test_gaussian_alone_is_least_squares():
    x, y = simulated()
    v = np.random.default_rng(2).random(len(y))
    model = MixtureRegressor("gaussian").fit(x, y, v)
    peer = LinearRegression().fit(x, y, v)
    assert model.coef_ == pytest.approx(peer.coef_, rel=1e-10)
    assert model.intercept_ == pytest.approx(peer.intercept_, rel=1e-10)
    assert model.scales_[0] ** 2 == pytest.approx(np.average((y - peer.predict(x)) ** 2, weights=v))
    peer = sm.OLS(y, sm.add_constant(x)).fit()
    model = MixtureRegressor("gaussian", covariance="information").fit(x, y)
    shrink = math.sqrt((len(y) - 4) / len(y))  # maximum likelihood divides by n
    assert [model.intercept_se_, *model.coef_se_] == pytest.approx(peer.bse * shrink, rel=1e-6)
    assert model.log_likelihood_ == pytest.approx(peer.llf)
    assert model.bic_ == pytest.approx(peer.bic + math.log(len(y)))  # the scale counts too
    robust = MixtureRegressor("gaussian").fit(x, y)
    assert [robust.intercept_se_, *robust.coef_se_] == pytest.approx(peer.HC0_se, rel=0.02)


@pytest.mark.parametrize("alpha", [0.3, 20.0])
def test_gaussian_with_a_penalty_is_ridge(alpha):
    x, y = simulated()
    model = MixtureRegressor("gaussian", scales="fixed", alpha=alpha).fit(x, y)
    peer = Ridge(alpha).fit(x, y)
    assert model.coef_ == pytest.approx(peer.coef_, rel=1e-8)
    assert model.intercept_ == pytest.approx(peer.intercept_, rel=1e-8)


@pytest.mark.parametrize("p", [2, 6])
def test_laplace_alone_is_least_absolute_deviations(p):
    x, y = simulated(150, p)
    model = MixtureRegressor(Laplace(1e-8), tol=1e-16).fit(x, y)
    peer = QuantileRegressor(quantile=0.5, alpha=0.0, solver="highs").fit(x, y)
    assert [model.intercept_, *model.coef_] == pytest.approx([peer.intercept_, *peer.coef_], abs=1e-6)
    lines = sm.QuantReg(y, sm.add_constant(x)).fit(q=0.5, max_iter=20_000, p_tol=1e-12)
    assert [model.intercept_, *model.coef_] == pytest.approx(lines.params, abs=1e-5)
    assert np.abs(y - model.predict(x)).sum() <= np.abs(lines.resid).sum() + 1e-6


@pytest.mark.parametrize("k", [1.1, 2.0])
def test_huber_alone_is_the_fit_of_statsmodels_and_scikit_learn_at_their_scales(k):
    x, y = simulated()
    peer = sm.RLM(y, sm.add_constant(x), M=sm.robust.norms.HuberT(k)).fit(
        update_scale=False, tol=1e-13, maxiter=500
    )
    model = MixtureRegressor(Huber(k), scales=[peer.scale], tol=1e-16).fit(x, y)
    assert [model.intercept_, *model.coef_] == pytest.approx(peer.params, abs=1e-6)
    other = HuberRegressor(epsilon=k, alpha=0.0, tol=1e-9, max_iter=10_000).fit(x, y)
    model = MixtureRegressor(Huber(k), scales=[other.scale_], tol=1e-16).fit(x, y)
    assert [model.intercept_, *model.coef_] == pytest.approx([other.intercept_, *other.coef_], abs=1e-4)


def highest(nll, start):
    """A maximum likelihood estimate by a general optimiser."""
    for _ in range(3):
        start = minimize(nll, start, method="BFGS", options={"gtol": 1e-9}).x
    return start


@pytest.mark.parametrize("nu", [1.0, 3.0])
def test_student_t_alone_is_its_maximum_likelihood(nu):
    x, y = simulated()
    model = MixtureRegressor(StudentT(nu), tol=1e-15).fit(x, y)

    def nll(theta):
        scale = math.exp(theta[-1])
        return -stats.t.logpdf((y - theta[0] - x @ theta[1:-1]) / scale, nu).sum() + len(y) * theta[-1]

    found = highest(nll, np.zeros(5))
    assert [model.intercept_, *model.coef_] == pytest.approx(found[:-1], abs=1e-6)
    assert model.scales_[0] == pytest.approx(math.exp(found[-1]), rel=1e-6)
    assert model.log_likelihood_ == pytest.approx(-nll(found))


def contaminated(n, seed, share=0.2, wide=8.0):
    """A Gaussian with scale 0.5, and a Cauchy beside it."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    far = rng.random(n) < share
    r = np.where(far, wide * rng.standard_cauchy(n), 0.5 * rng.normal(size=n))
    return x, 1 + x @ [2.0, -1.0] + r, far


def test_a_mixture_is_at_the_maximum_of_its_own_likelihood():
    x, y, _ = contaminated(300, 1)
    model = MixtureRegressor(("gaussian", "cauchy"), tol=1e-15).fit(x, y)

    def nll(theta):
        a, s, wide = 1 / (1 + math.exp(-theta[3])), math.exp(theta[4]), math.exp(theta[5])
        r = y - theta[0] - x @ theta[1:3]
        return -np.log(a * stats.norm.pdf(r, scale=s) + (1 - a) * stats.cauchy.pdf(r, scale=wide)).sum()

    found = highest(nll, np.array([0, 0, 0, 1.0, -1, 1]))
    assert [model.intercept_, *model.coef_] == pytest.approx(found[:3], abs=1e-6)
    assert model.weights_[0] == pytest.approx(1 / (1 + math.exp(-found[3])), rel=1e-5)
    assert model.scales_ == pytest.approx(np.exp(found[4:]), rel=1e-5)


# Derivatives and standard errors.


def value_at(problem, theta):
    """The objective at (beta, logits, log scales)."""
    q, j = problem.design.q, len(problem.families)
    weights = np.exp(theta[q : q + j] - theta[q : q + j].max())
    return problem.expect(em.State(theta[:q], weights / weights.sum(), np.exp(theta[q + j :]))).value


@pytest.mark.parametrize(
    "components", [("gaussian", "cauchy"), ("student_t", "huber", "gaussian"), (Laplace(50.0), "cauchy")]
)
def test_derivatives_are_derivatives(components):
    """For a Laplace component smoothed beyond all residuals, the expected kink is put in by hand."""
    x, y = simulated(40, 2)
    v = np.random.default_rng(3).random(40) + 0.5
    problem = problem_of(x, y, components, v, alpha=0.7)
    q, j = problem.design.q, len(components)
    state = em.State(
        np.array([0.5, 1.1, 1.9]),
        np.array([0.5, 0.3, 0.2][-j:]) / sum([0.5, 0.3, 0.2][-j:]),
        np.array([1.1, 0.6, 2.0][:j]),
    )
    theta = np.concatenate([state.beta, np.log(state.weights), np.log(state.scales)])
    found = inference.derivatives(problem, state)
    size, h = len(theta), 1e-4
    step = h * np.eye(size)
    hess = np.array(
        [
            [
                value_at(problem, theta + step[a] + step[b]) - value_at(problem, theta + step[a] - step[b])
                - value_at(problem, theta - step[a] + step[b]) + value_at(problem, theta - step[a] - step[b])
                for b in range(size)
            ]
            for a in range(size)
        ]
    ) / (4 * h * h)  # fmt: skip
    if not any(isinstance(one, Laplace) for one in problem.families):
        assert found.h == pytest.approx(-hess, abs=2e-4 * abs(hess).max())
    scores = np.empty((40, size))
    for i in range(40):
        alone = problem_of(x, y, components, v)
        one = em.Problem(
            problem.design.take(np.array([i])), y[[i]], np.ones(1), alone.families, alone.penalty, 0.05, True
        )
        scores[i] = [
            (value_at(one, theta + step[a]) - value_at(one, theta - step[a])) / (2 * h) for a in range(size)
        ]
    assert found.g == pytest.approx((v[:, None] * scores).T @ scores, rel=1e-4, abs=1e-4)
    assert found.h == pytest.approx(found.h.T)
    assert q + 2 * j == size


@pytest.mark.parametrize("kind", ["sandwich", "information"])
def test_least_absolute_deviations_have_their_classical_variance(kind):
    """Under Laplace noise with scale b it is b^2 (X'X)^-1; 20,000 rows are within 10 % of it."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(20_000, 2))
    y = x @ [1.0, -1.0] + rng.laplace(scale=2.0, size=20_000)
    model = MixtureRegressor("laplace", covariance=kind).fit(x, y)
    assert model.coef_se_ == pytest.approx(np.full(2, 2.0 / math.sqrt(20_000)), rel=0.1)
    assert model.scales_se_[0] == pytest.approx(2.0 / math.sqrt(20_000), rel=0.1)


@pytest.mark.parametrize("kind", ["sandwich", "information"])
def test_parameters_of_simulated_mixtures_come_back(kind):
    """Squared distances in standard errors, over 20 data sets and 6 parameters: chi-square, false alarms 1e-6."""
    truth = np.array([2.0, -1.0, 1.0, 0.8, 0.5, 8.0])
    total = np.zeros(6)
    for seed in range(20):
        x, y, _ = contaminated(2000, 100 + seed)
        model = MixtureRegressor(("gaussian", "cauchy"), covariance=kind, tol=1e-10).fit(x, y)
        found = np.array([*model.coef_, model.intercept_, model.weights_[0], *model.scales_])
        errors = np.array([*model.coef_se_, model.intercept_se_, model.weights_se_[0], *model.scales_se_])
        total += ((found - truth) / errors) ** 2
    assert (total < stats.chi2.ppf(1 - 1e-6 / 12, 20)).all()
    assert (total > stats.chi2.ppf(1e-6 / 12, 20)).all()


def test_weights_are_repetitions():
    x, y, _ = contaminated(60, 4)
    v = np.random.default_rng(6).integers(0, 4, 60)
    once = MixtureRegressor(tol=1e-12).fit(x, y, v)
    rows = np.repeat(np.arange(60), v)
    again = MixtureRegressor(tol=1e-12).fit(x[rows], y[rows])
    assert once.coef_ == pytest.approx(again.coef_, rel=1e-8)
    assert once.bic_ == pytest.approx(again.bic_)
    assert once.coef_se_ == pytest.approx(again.coef_se_, rel=1e-6)
    assert once.outlier_score_[rows] == pytest.approx(again.outlier_score_, abs=1e-8)


def test_units_do_not_matter():
    x, y, _ = contaminated(300, 7)
    one = MixtureRegressor(tol=1e-12).fit(x, y)
    other = MixtureRegressor(tol=1e-12).fit(x * [1e-4, 1e5] + [3.0, -1e7], 1e6 * y - 1e8)
    assert other.coef_ * [1e-10, 1e-1] == pytest.approx(one.coef_, rel=1e-4)
    assert other.scales_ / 1e6 == pytest.approx(one.scales_, rel=1e-4)
    assert other.outlier_score_ == pytest.approx(one.outlier_score_, abs=1e-3)


def test_sparse_rows_give_the_same_line():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(400, 5)) * (rng.random((400, 5)) < 0.3)
    y = x @ np.arange(5.0) + rng.standard_t(2, 400)
    for components in ("laplace", ("gaussian", "cauchy")):
        full = MixtureRegressor(components, tol=1e-13).fit(x, y)
        thin = MixtureRegressor(components, tol=1e-13).fit(sparse.csr_array(x), y)
        assert thin.coef_ == pytest.approx(full.coef_, abs=1e-4)
        assert thin.coef_se_ == pytest.approx(full.coef_se_, rel=1e-2)
        assert thin.predict(sparse.csr_array(x)) == pytest.approx(full.predict(x), abs=1e-3)


def test_many_rows_are_started_on_some():
    x, y, far = contaminated(40_000, 9)
    model = MixtureRegressor(("gaussian", "cauchy")).fit(x, y)
    assert abs(model.coef_ - [2, -1]).max() < 6 * model.coef_se_.max()
    assert model.convergence_.converged
    assert (np.diff(model.convergence_.history) >= 0).all()
    assert model.outlier_score_[far].mean() > 0.8 > 0.2 > model.outlier_score_[~far].mean()

"""Each formula of the subsample priors against brute force, and against scikit-learn where the two meet."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge

from tacit import TacitError
from tacit.regression import (
    Prior,
    SubsampleLinearSVC,
    SubsampleLogistic,
    SubsamplePoisson,
    SubsampleRidge,
    subsample_prior,
)
from tacit.regression import subsample_fits as fits
from tacit.regression import subsample_losses as losses
from tacit.regression.priors import draws, pseudo_inverse
from tacit.regression.subsample_design import Design


def standard(n=250, p=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) @ rng.normal(size=(p, p))
    return (x - x.mean(axis=0)) / x.std(axis=0), rng


def counts(x, rng):
    return rng.poisson(np.exp(0.3 + x @ np.linspace(-0.5, 0.5, x.shape[1]))).astype(float)


def classes(x, rng, k=2):
    eta = x @ np.linspace(-1, 1, x.shape[1]) + rng.logistic(size=len(x))
    return eta.argsort().argsort() * k // len(x)


def brute(objective, start):
    """The minimum by BFGS from two starts, to the last digits that central differences allow."""
    ends = [
        minimize(objective, begin, method="BFGS", options={"gtol": 1e-9}) for begin in (start, start + 0.1)
    ]
    return min(ends, key=lambda end: end.fun)


# the prior


def fits_of(x, y, m, size, seed):
    rows = list(draws(len(y), m, size, np.random.default_rng(seed)))
    return np.array([np.linalg.lstsq(x[r], y[r], rcond=None)[0] for r in rows])


@pytest.mark.parametrize(
    ("variant", "factor"), [("full", 1.0), ("adjusted", 50.0), ("jackknife", 50 / 200), ("diag", None)]
)
def test_prior_variants(variant, factor):
    x, rng = standard()
    y = x @ np.arange(4.0) + rng.normal(size=250)
    each = fits_of(x, y, 30, 50, 7)
    prior = subsample_prior(
        lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0],
        x,
        y,
        n_subsamples=30,
        size=50,
        variant=variant,
        rng=7,
    )
    cov = np.cov(each.T)
    assert np.allclose(prior.mean, each.mean(axis=0))
    assert np.allclose(prior.cov, np.diag(np.diag(cov)) if factor is None else factor * cov)
    assert np.allclose(prior.precision, np.linalg.inv(prior.cov))
    thesis = 50 * (30 - 1) / ((250 - 50) * 30)  # belongs to divisor m: too small on S by (m - 1) / m
    assert thesis == pytest.approx(50 / 200 * 29 / 30)


def test_jackknife_estimates_the_variance_of_the_fit_on_all_rows():
    """Mean over 60 tables of 30 subsamples each; relative deviation about 2 %, so 12 % is beyond 1e-6."""
    ratios = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(1000, 2))
        y = x @ [1.0, 2.0] + rng.normal(size=1000)
        prior = subsample_prior(
            lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], x, y,
            n_subsamples=30, size=200, variant="jackknife", rng=seed,
        )  # fmt: skip
        ratios.append(np.diag(prior.cov) * 1000)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.12)


def test_subsamples_are_without_replacement_and_parallel_fits_are_the_same():
    for rows in draws(100, 20, 60, np.random.default_rng(0)):
        assert len(set(rows.tolist())) == 60
    x, rng = standard()
    y = x @ np.arange(4.0) + rng.normal(size=250)
    fit = LinearRegression(fit_intercept=True)
    alone = subsample_prior(lambda a, b: fit.fit(a, b).coef_.copy(), x, y, rng=1)
    threads = subsample_prior(lambda a, b: LinearRegression().fit(a, b).coef_, x, y, rng=1, n_jobs=2)
    assert np.array_equal(alone.mean, threads.mean)
    assert np.array_equal(alone.cov, threads.cov)


def test_pseudo_inverse_is_silent_where_nothing_varied():
    a = np.array([[4.0, 0.0, 0.0], [0.0, 1e-8, 0.0], [0.0, 0.0, 0.0]])
    assert np.allclose(pseudo_inverse(a), np.diag([0.25, 1e8, 0.0]))
    low = np.outer([1.0, 2.0], [1.0, 2.0])  # one direction only
    assert np.allclose(low @ pseudo_inverse(low) @ low, low)


# losses and batched fits


@pytest.mark.parametrize(
    ("loss", "answers"),
    [
        (losses.Logistic(), [0.0, 1.0]),
        (losses.Multinomial(3), [0.0, 1.0, 2.0]),
        (losses.Poisson(), [0.0, 1.0, 5.0]),
        (losses.Hinge(0.7), [-1.0, 1.0]),
        (losses.SquaredHinge(), [-1.0, 1.0]),
    ],
)
def test_slopes_and_curvatures(loss, answers):
    rng = np.random.default_rng(1)
    y = rng.choice(answers, size=40)
    eta = rng.normal(size=(40, loss.q))
    value, slope, curve = loss.rows(eta, y)
    assert value.shape == (40,)
    for i in range(loss.q):
        step = np.zeros(loss.q)
        step[i] = 1e-6
        up, down = loss.rows(eta + step, y), loss.rows(eta - step, y)
        assert np.allclose((up[0] - down[0]) / 2e-6, slope[:, i], atol=1e-6)
        assert np.allclose((up[1] - down[1]) / 2e-6, curve[:, :, i], atol=1e-5)


def test_hinge_is_within_half_its_width():
    eta = np.linspace(-3, 3, 1001)[:, None]
    value, _, _ = losses.Hinge(0.2).rows(eta, np.ones(1001))
    gap = np.maximum(0, 1 - eta[:, 0]) - value
    assert (gap >= -1e-15).all()
    assert gap.max() == pytest.approx(0.1)


@pytest.mark.parametrize("kind", ["logistic", "multinomial", "poisson", "squares"])
def test_batched_fits_are_the_fits_of_scikit_learn(kind):
    x, rng = standard(400, 3, seed=4)
    design = Design(x * [1.0, 10.0, 0.1] + 5.0, True)
    gram, rows = design.gram(), list(draws(400, 6, 150, rng))
    if kind == "squares":
        y = x @ [1.0, 2.0, 3.0] + rng.normal(size=400)
        made = fits.squared_fits(design, y, rows, gram=gram)
        reference = LinearRegression()
    elif kind == "poisson":
        y = counts(x, rng)
        made = fits.loss_fits(losses.Poisson(), design, y, rows, gram=gram)
        reference = PoissonRegressor(alpha=0, solver="newton-cholesky", tol=1e-10, max_iter=500)
    else:
        k = 2 if kind == "logistic" else 3
        y = classes(x, rng, k).astype(float)
        loss = losses.Logistic() if k == 2 else losses.Multinomial(3)
        made = fits.loss_fits(loss, design, y, rows, gram=gram)
        reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000)
    mixing = losses.contrasts(3) if kind == "multinomial" else np.ones((1, 1))
    assert made.weak == 0
    for values, chosen in zip(made.values, rows, strict=True):
        expected = reference.fit(x[chosen] * [1.0, 10.0, 0.1] + 5.0, y[chosen]).coef_
        # A fit of a subsample stops within a thousandth of its own deviation.
        assert np.allclose(mixing @ design.slopes(values), expected, rtol=3e-4, atol=3e-4)


def test_weak_priors_hold_back_variance():
    """For separated classes: penalised fits by brute force, and A^-1 W A^-1 from the curvature."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 2))
    y = (x[:, 0] > 0).astype(float)
    design = Design(x, True)
    rows = list(draws(60, 3, 20, rng))
    made = fits.loss_fits(losses.Logistic(), design, y, rows, gram=design.gram())
    assert made.weak == 3
    assert made.unbounded == 3
    weak, null = np.eye(3) * fits.WEAK, np.array([0, 0, losses.Logistic().null(y)[0]])
    held = np.zeros((3, 3))
    for values, chosen in zip(made.values, rows, strict=True):
        z, t = design.rows(chosen), y[chosen]

        def objective(b, z=z, t=t):
            return np.sum(np.logaddexp(0, z @ b) - t * (z @ b)) + 0.5 * (b - null) @ weak @ (b - null)

        assert np.allclose(values[0], brute(objective, np.zeros(3)).x, atol=2e-3)
        share = expit(z @ values[0])
        a = np.linalg.inv((z * (share * (1 - share))[:, None]).T @ z + weak)
        held += a @ weak @ a / 3
    assert np.allclose(made.held, held, rtol=1e-3)


# the fit on all rows


@pytest.mark.parametrize("variant", ["full", "diag", "adjusted", "jackknife"])
@pytest.mark.parametrize("scaling", ["map", "thesis"])
def test_ridge_is_the_formula(variant, scaling):
    x, rng = standard()
    x = x * [1.0, 5.0, 0.2, 1.0] + 3.0
    y = x @ [1.0, -1.0, 4.0, 0.0] + 3 * rng.normal(size=250) + 7.0
    fitted = SubsampleRidge(variant=variant, scaling=scaling, shrink=None, random_state=1).fit(x, y)
    c, t = x - x.mean(axis=0), y - y.mean()
    plain = LinearRegression().fit(x, y)
    s2 = np.sum((y - plain.predict(x)) ** 2) / (250 - 5)
    assert fitted.noise_variance_ == pytest.approx(s2)
    w = s2 if scaling == "map" else 1.0
    p = np.linalg.inv(fitted.prior_cov_)
    expected = np.linalg.solve(c.T @ c / w + p, c.T @ t / w + p @ fitted.prior_mean_)
    assert np.allclose(fitted.coef_, expected, rtol=1e-8)
    assert fitted.intercept_ == pytest.approx(y.mean() - x.mean(axis=0) @ expected)
    assert np.allclose(fitted.coef_cov_, s2 / w * np.linalg.inv(c.T @ c / w + p), rtol=1e-8)


def penalty(fitted, b, factor=0.5):
    off = b - fitted.prior_mean_.ravel()
    return factor * off @ np.linalg.inv(fitted.prior_cov_) @ off + factor * fitted.shrink_ * b @ b


@pytest.mark.parametrize("shrink", [None, 2.0])
@pytest.mark.parametrize("scaling", ["map", "thesis"])
def test_likelihoods_by_brute_force(scaling, shrink):
    x, rng = standard(200, 3, seed=2)
    factor = 0.5 if scaling == "map" else 1.0
    y = classes(x, rng)
    one = SubsampleLogistic(scaling=scaling, shrink=shrink, variant="full", random_state=1).fit(x, y)
    found = brute(
        lambda b: (
            np.sum(np.logaddexp(0, x @ b[:3] + b[3]) - y * (x @ b[:3] + b[3])) + penalty(one, b[:3], factor)
        ),
        np.zeros(4),
    )
    assert np.allclose(np.append(one.coef_, one.intercept_), found.x, atol=1e-6)
    y = counts(x, rng)
    one = SubsamplePoisson(scaling=scaling, shrink=shrink, variant="full", random_state=1).fit(x, y)
    found = brute(
        lambda b: np.sum(np.exp(x @ b[:3] + b[3]) - y * (x @ b[:3] + b[3])) + penalty(one, b[:3], factor),
        np.zeros(4),
    )
    assert np.allclose(np.append(one.coef_, one.intercept_), found.x, atol=1e-6)


def test_multinomial_by_brute_force():
    x, rng = standard(300, 2, seed=3)
    y = classes(x, rng, 3)
    one = SubsampleLogistic(shrink=1.5, variant="full", random_state=1).fit(x, y)
    h = one.contrasts_

    def objective(b):
        c, a = b[:4].reshape(2, 2), b[4:]
        scores = (x @ c.T + a) @ h.T
        logs = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
        return -logs[np.arange(300), y].sum() + penalty(one, b[:4])

    found = brute(objective, np.zeros(6)).x
    assert np.allclose(one.coef_, h @ found[:4].reshape(2, 2), atol=1e-6)
    assert np.allclose(one.intercept_, h @ found[4:], atol=1e-6)
    assert np.allclose(one.coef_.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_machine_by_brute_force(loss):
    x, rng = standard(150, 2, seed=5)
    y = classes(x, rng)
    one = SubsampleLinearSVC(loss=loss, variant="full", shrink=None, random_state=1).fit(x, y)
    sign, power = 2.0 * y - 1, 1 if loss == "hinge" else 2

    def objective(b):
        return np.sum(np.maximum(0, 1 - sign * (x @ b[:2] + b[2])) ** power) + penalty(one, b[:2])

    ours = objective(np.append(one.coef_, one.intercept_))
    starts = [np.append(one.coef_, one.intercept_) + s for s in (0.0, 0.05, -0.05)]
    best = min(
        minimize(
            objective, s, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20000}
        ).fun
        for s in starts
    )
    assert ours - best < (150 * 1e-5 / 2 + 1e-9 if loss == "hinge" else 1e-9)


def scalar_prior(monkeypatch, precision):
    """In place of what the subsamples say: mean 0 and covariance I / precision, for standardised columns."""

    def prior(self, columns, size, rows, variant):
        width = columns * self.values.shape[1]
        return Prior(np.zeros(width), np.eye(width) / precision, np.eye(width) / precision)

    monkeypatch.setattr(fits.Fits, "prior", prior)


@pytest.mark.parametrize("precision", [0.3, 20.0])
def test_a_scalar_prior_is_scikit_learn(monkeypatch, precision):
    scalar_prior(monkeypatch, precision)
    x, rng = standard(300, 4, seed=6)
    y = x @ [1.0, 2.0, 0.0, 0.0] + 2 * rng.normal(size=300)
    ridge = SubsampleRidge(shrink=None, random_state=1).fit(x, y)
    other = Ridge(alpha=precision * ridge.noise_variance_, tol=1e-12).fit(x, y)
    assert np.allclose(ridge.coef_, other.coef_, atol=1e-6)
    for k in (2, 3):
        labels = classes(x, rng, k)
        ours = SubsampleLogistic(shrink=None, random_state=1).fit(x, labels)
        other = LogisticRegression(C=1 / precision, tol=1e-10, max_iter=10000, solver="newton-cg").fit(
            x, labels
        )
        assert np.allclose(ours.coef_, other.coef_, atol=1e-6)
        assert np.allclose(ours.predict_proba(x), other.predict_proba(x), atol=1e-6)
    c = counts(x, rng)
    ours = SubsamplePoisson(shrink=None, random_state=1).fit(x, c)
    other = PoissonRegressor(alpha=precision / 300, solver="newton-cholesky", tol=1e-10).fit(x, c)
    assert np.allclose(ours.coef_, other.coef_, atol=1e-6)


def test_the_affine_detour_needs_an_offset():
    """Section 2.3.1.2 of the thesis: X L^-T with X b0 as an offset is our fit; as a penalised column it is not."""
    x, rng = standard(200, 3, seed=8)
    y = classes(x, rng)
    one = SubsampleLogistic(variant="full", shrink=None, fit_intercept=False, random_state=1).fit(x, y)
    b0 = one.prior_mean_[0]
    lower = np.linalg.cholesky(np.linalg.inv(one.prior_cov_))
    turned = x @ np.linalg.inv(lower).T
    offset = x @ b0

    def objective(b):
        eta = turned @ b + offset
        return np.sum(np.logaddexp(0, eta) - y * eta) + 0.5 * b @ b

    found = np.linalg.inv(lower).T @ brute(objective, np.zeros(3)).x + b0
    assert np.allclose(one.coef_[0], found, atol=1e-6)
    column = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(
        np.column_stack([turned, offset]), y
    )
    thesis = np.linalg.inv(lower).T @ column.coef_[0, :3] + column.coef_[0, 3] * b0
    assert np.abs(thesis - found).max() > 1e-3


def test_more_blocks_are_the_same_fit(monkeypatch):
    from tacit.regression import subsample_design

    x, rng = standard(500, 3, seed=9)
    y = counts(x, rng)
    whole = SubsamplePoisson(random_state=1).fit(x, y)
    monkeypatch.setattr(subsample_design, "BLOCK", 64)
    monkeypatch.setattr(subsample_design, "KEEP", 0)
    monkeypatch.setattr(fits, "BLOCK", 64)
    parts = SubsamplePoisson(random_state=1).fit(x, y)
    assert np.allclose(whole.coef_, parts.coef_, rtol=1e-9)
    assert np.allclose(whole.prior_cov_, parts.prior_cov_, rtol=1e-7)


# covariances


def test_sampling_covariance_is_that_of_repeated_data():
    """400 tables: a variance is known to 7 %, so 36 % is five deviations; `posterior` with jackknife states half."""
    coefs, sampling, posterior = [], [], []
    x = np.random.default_rng(1).normal(size=(300, 3))
    for seed in range(400):
        y = x @ [1.0, 0.0, -1.0] + np.random.default_rng(1000 + seed).normal(size=300)
        one = SubsampleRidge(
            variant="jackknife", shrink=None, n_subsamples=20, size=60, random_state=seed
        ).fit(x, y)
        coefs.append(one.coef_)
        low, high = one.coef_interval(0.9)
        sampling.append(((high - low) / 2 / 1.644854) ** 2)
        posterior.append(np.diag(one.coef_cov_))
    ratio = np.mean(sampling, axis=0) / np.var(coefs, axis=0)
    assert (np.abs(ratio - 1) < 0.36).all()
    assert (np.mean(posterior, axis=0) / np.var(coefs, axis=0) < 0.7).all()


def test_standard_errors_by_hand():
    x, rng = standard(200, 3, seed=3)
    y = x @ [1.0, 2.0, 3.0] + rng.normal(size=200)
    one = SubsampleRidge(random_state=1).fit(x, y)
    new = rng.normal(size=(5, 3))
    at = one.std_error(new, kind="posterior")
    expected = np.einsum("ni,ij,nj->n", new, one.coef_cov_, new) + one.noise_variance_ / 200
    assert np.allclose(at**2, expected, rtol=1e-6)
    low, high = one.coef_interval(0.95, kind="posterior")
    assert np.allclose((high - low) / 2, 1.959964 * np.sqrt(np.diag(one.coef_cov_)), rtol=1e-6)


def test_quasi_likelihood_knows_the_dispersion():
    """Counts with twice the Poisson variance; chi-square over 2000 rows is known to a few per cent."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, 2))
    mean = np.exp(1.0 + 0.3 * x[:, 0])
    y = rng.negative_binomial(mean, 0.5).astype(float)  # variance 2 mean
    one = SubsamplePoisson(scaling="quasi", random_state=1).fit(x, y)
    plain = SubsamplePoisson(random_state=1).fit(x, y)
    assert one.dispersion_ == pytest.approx(2.0, abs=0.4)
    wide, narrow = (np.subtract(*f.coef_interval()[::-1]) for f in (one, plain))
    assert (wide / narrow > 1.2).all()


def test_intervals_are_refused_where_there_are_none():
    x, rng = standard(100, 2)
    machine = SubsampleLinearSVC(random_state=1).fit(x, classes(x, rng))
    for call in (machine.coef_interval, lambda: machine.std_error(x)):
        with pytest.raises(TacitError, match="no likelihood"):
            call()

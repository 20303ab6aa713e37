"""`closed_form_ridge`: the thesis' formula literally, the exact minimum by a grid, the correction of the plug-in."""

import numpy as np
import pytest
from scipy.stats import invwishart
from sklearn.linear_model import Ridge

from tacit.regression import closed_form_ridge
from tacit.regression.ridge import exact_penalty, risk, thesis_penalty


def truth(seed, d=100, n=750, s2=1e4):
    """Columns with a correlation matrix of an inverse Wishart draw, standard normal coefficients."""
    rng = np.random.default_rng(seed)
    cov = invwishart.rvs(d + 5, np.eye(d), random_state=rng)
    scale = np.sqrt(np.diag(cov))
    cov = cov / np.outer(scale, scale)
    return cov, rng.normal(size=d), n, s2


def eigen(cov, b):
    values, vectors = np.linalg.eigh(cov)
    return values, (vectors.T @ b) ** 2


def test_the_risk_is_the_matrix_formula():
    cov, b, n, s2 = truth(0, d=6)
    u = n * cov
    for v in (0.0, 3.0, 500.0):
        h = np.linalg.inv(u + v * np.eye(6))
        bias = (h @ u - np.eye(6)) @ b
        expected = bias @ cov @ bias + s2 * np.trace(h @ u @ h @ cov)
        assert float(risk(v, *eigen(cov, b), s2, n)) == pytest.approx(expected)


def test_the_thesis_formula_is_literal():
    cov, b, n, s2 = truth(1, d=6)
    inverse = np.linalg.inv(cov)
    expected = np.trace(inverse) / (np.trace(inverse @ inverse) / n + b @ inverse @ b / s2)
    assert thesis_penalty(*eigen(cov, b), s2, n) == pytest.approx(expected)


def test_the_exact_penalty_is_the_minimum():
    for seed in range(5):
        cov, b, n, s2 = truth(seed, d=20)
        e, g = eigen(cov, b)
        v = exact_penalty(e, g, s2, n)
        grid = np.logspace(-4, 9, 20001)
        assert float(risk(v, e, g, s2, n)) <= risk(grid, e, g, s2, n).min() * (1 + 1e-9)


def test_the_second_order_expansion_can_fail():
    """d = 100, n = 750, sigma^2 = 10^4: least squares has the risk 1333; the thesis' penalty leaves most of it."""
    parts = []
    for seed in range(10):
        cov, b, n, s2 = truth(seed)
        e, g = eigen(cov, b)
        penalties = (0.0, thesis_penalty(e, g, s2, n), exact_penalty(e, g, s2, n))
        parts.append([float(risk(v, e, g, s2, n)) for v in penalties])
    plain, thesis, exact = np.mean(parts, axis=0)
    assert plain == pytest.approx(1e4 * 100 / 750)
    assert 700 < thesis < 1000
    assert exact < 110


def test_the_correction_makes_the_risk_unbiased():
    """The plug-in risk over 400 tables: its mean is the risk within five standard errors; uncorrected it is far off."""
    cov, b, n, _ = truth(2, d=10, n=60)
    s2, v = 25.0, 30.0
    rng = np.random.default_rng(3)
    root = np.linalg.cholesky(cov).T
    x = rng.normal(size=(n, 10)) @ root
    values, vectors = np.linalg.eigh(x.T @ x)
    e = values / n
    target = float(risk(v, e, (vectors.T @ b) ** 2, s2, n))
    corrected, raw = [], []
    for _ in range(400):
        y = x @ b + 5 * rng.normal(size=n)
        plain = vectors.T @ (x.T @ y) / values
        corrected.append(float(risk(v, e, plain**2 - s2 / values, s2, n)))
        raw.append(float(risk(v, e, plain**2, s2, n)))
    error = np.std(corrected) / 20
    assert abs(np.mean(corrected) - target) < 5 * error
    assert np.mean(raw) - target > 5 * error


@pytest.mark.parametrize("rule", ["exact", "thesis"])
@pytest.mark.parametrize("correct", [True, False])
def test_the_fit_is_the_ridge_of_its_penalty(rule, correct):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(80, 5)) + 3.0
    y = x @ [1.0, 0.5, 0.0, 0.0, -1.0] + 4 * rng.normal(size=80)
    made = closed_form_ridge(x, y, rule=rule, correct=correct)
    other = Ridge(alpha=made.penalty, tol=1e-12).fit(x, y)
    assert made.penalty > 0
    assert np.allclose(made.coef, other.coef_, atol=1e-8)
    assert made.intercept == pytest.approx(other.intercept_)
    assert np.allclose(made.predict(x), other.predict(x))


def test_the_correction_helps_where_noise_is_large():
    """Mean test risk of 60 tables with d = 50, n = 100: corrected below uncorrected, below least squares."""
    totals = np.zeros(3)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, b = rng.normal(size=(100, 50)), rng.normal(size=50)
        y = x @ b + 20 * rng.normal(size=100)
        for i, coef in enumerate(
            (
                closed_form_ridge(x, y).coef,
                closed_form_ridge(x, y, correct=False).coef,
                np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(), rcond=None)[0],
            )
        ):
            totals[i] += np.sum((coef - b) ** 2) / 60
    assert totals[0] < totals[1] < totals[2]

"""The tuned ridge: the loss of left-out rows against really leaving them out, and the choice against other fits."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from tacit.regression import subsample_losses as losses
from tacit.regression import subsample_tune as tune
from tacit.regression.subsample_design import Design
from tacit.regression.subsample_fits import centre_of, diagonal
from tacit.regression.subsample_newton import newton, terms


def fitted(loss, z, y, centre, precision):
    return newton(lambda _: lambda b: terms(loss, z[None], y[None], b), centre, centre, precision, steps=60)


@pytest.mark.parametrize("kind", ["logistic", "multinomial", "poisson", "machine"])
@pytest.mark.parametrize("ridge", [0.1, 5.0])
def test_left_out_rows_by_brute_force(kind, ridge):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(90, 4))
    eta = x @ [0.8, -0.5, 0.0, 0.3]
    loss, y = {
        "logistic": (losses.Logistic(), (eta + rng.logistic(size=90) > 0).astype(float)),
        "multinomial": (
            losses.Multinomial(3),
            np.digitize(eta + rng.logistic(size=90), [-0.7, 0.7]).astype(float),
        ),
        "poisson": (losses.Poisson(), rng.poisson(np.exp(eta)).astype(float)),
        "machine": (losses.SquaredHinge(), np.sign(eta + rng.logistic(size=90))),
    }[kind]
    design = Design(x, True)
    z = design.rows(np.arange(90))
    centre, precision = centre_of(loss, design, y)[None], diagonal(design, loss.q, ridge)
    whole = fitted(loss, z, y, centre, precision)
    near = tune.left_out(loss, z, y, whole.values[0], whole.curvature[0])
    true = []
    for i in range(90):
        rest = np.arange(90) != i
        b = fitted(loss, z[rest], y[rest], centre, precision).values[0]
        true.append(loss.rows(z[i : i + 1] @ b.reshape(loss.q, -1).T, y[i : i + 1])[0][0])
    here = loss.rows(z @ whole.values[0].reshape(loss.q, -1).T, y)[0].sum()
    optimism = np.sum(true) - here
    assert optimism > 0
    assert near.sum() - here == pytest.approx(optimism, rel=0.15)
    assert np.corrcoef(near, true)[0, 1] > 0.99


def test_squares_are_left_out_exactly():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 5))
    y = x @ rng.normal(size=5) + 3 * rng.normal(size=60) + 10
    design = Design(x, True)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    scores = []
    for ridge in tune.GRID[1:]:
        # Centred once, as the estimator's own table is; the intercept is left out with the row.
        predicted = cross_val_predict(Ridge(alpha=ridge, tol=1e-12), z, y, cv=LeaveOneOut())
        scores.append(np.mean((y - predicted) ** 2))
    chosen = tune.tuned_squares(design, y, rng).ridge
    at = tune.GRID[1:].index(chosen) if chosen else 0
    assert scores[at] < 1.01 * min(scores)


def test_the_choice_is_as_good_as_leaving_out_by_fits():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(120, 15))
    y = (x[:, 0] + 0.5 * x[:, 1] + rng.logistic(size=120) > 0).astype(float)
    design = Design(x, True)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    costs = []
    for ridge in tune.GRID[1:6]:
        model = LogisticRegression(C=1 / ridge, max_iter=2000)
        shares = cross_val_predict(model, z, y, cv=LeaveOneOut(), method="predict_proba")
        costs.append(-np.log(shares[np.arange(120), y.astype(int)]).mean())
    found = tune.tuned(losses.Logistic(), design, y, rng)
    assert costs[tune.GRID[1:6].index(found.ridge)] < 1.02 * min(costs)
    assert found.fit.shape == (16,)


def test_many_rows_are_tuned_on_a_subsample(monkeypatch):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3000, 2))
    y = x[:, 0] + rng.normal(size=3000)
    monkeypatch.setattr(tune, "MOST", 300)
    z, answers = tune._table(Design(x, True), y, rng)
    assert z.shape == (100, 3)
    assert answers.shape == (100,)
    assert tune.tuned_squares(Design(x, True), y, rng).ridge in tune.GRID

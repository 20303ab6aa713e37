"""Location-scale models: the prior integrates to one, cells and likelihoods against definitions."""

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats

from tacit import TacitError
from tacit.models import CellTable, Laplace, LocationScale, Logistic, Normal, StudentT

NAMES = ["normal", "logistic", "laplace", "student:4.5"]
RNG = np.random.default_rng(3)


def model(name="normal", **more):
    return LocationScale(name, **({"mean": 0.0, "sd": 10.0} | more))


def test_prior_density_integrates_to_one_and_is_that_of_the_draws():
    prior = model(mean=3.0, sd=2.0, shape=1.5, rate=4.0)

    def density(log_sigma, mu):
        return math.exp(prior.log_prior([[mu, math.exp(log_sigma)]])[0])

    total, _ = integrate.dblquad(density, -17, 23, -6, 14, epsabs=1e-8)
    assert total == pytest.approx(1, abs=1e-6)
    draws = prior.sample_prior(40_000, 1)
    # False alarms: 1e-6 each.
    assert stats.kstest(draws[:, 0], stats.norm(3, 2).cdf).pvalue > 1e-6
    assert stats.kstest(draws[:, 1] ** 2, stats.invgamma(1.5, scale=4).cdf).pvalue > 1e-6
    assert stats.kstest(draws[:, 1] ** 2, stats.invgamma(1.3, scale=4).cdf).pvalue < 1e-6


def test_log_prior_is_that_of_sigma_squared_with_the_jacobian():
    prior = model(mean=1.0, sd=3.0, shape=2.5, rate=0.7)
    for mu, sigma in ((0.0, 1.0), (5.0, 0.01), (-3.0, 1e4)):
        expected = stats.norm(1, 3).logpdf(mu) + stats.invgamma(2.5, scale=0.7).logpdf(sigma**2)
        assert prior.log_prior([[mu, sigma]])[0] == pytest.approx(
            expected + math.log(2 * sigma**2), rel=1e-12
        )


def test_outside_the_support_the_prior_is_zero():
    outside = [[0, 0], [0, -1], [math.inf, 1], [0, math.inf], [0, 1e-101]]
    assert (model().log_prior(outside) == -math.inf).all()
    known = model(scale=2.0)
    np.testing.assert_array_equal(np.isfinite(known.log_prior([[1, 2], [1, 2.5]])), [True, False])
    assert known.log_prior([[1, 2]])[0] == pytest.approx(stats.norm(0, 10).logpdf(1))
    assert (known.sample_prior(5, 0)[:, 1] == 2).all()


@pytest.mark.parametrize("name", NAMES)
def test_cells_against_quadrature_of_the_density(name):
    law = model(name)
    cuts, point = [-3.0, 0.5, 0.75, 12.0], (1.0, 2.5)
    with mp.workdps(30):

        def density(x):
            return mp.mpf(float(law.family.pdf((float(x) - point[0]) / point[1]))) / point[1]

        edges = [-mp.inf, *cuts[:2], *cuts[2:], mp.inf]
        expected = []
        for low, high in pairwise(edges):
            knots = [k for k in (-200, -30, -8, 1, 16, 20, 30, 200) if low < k < high]
            expected.append(float(mp.quad(density, [low, *knots, high])))
    got = law.cell_probabilities(cuts, [point])[0]
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert got.sum() == pytest.approx(1, abs=1e-15)


def test_cells_far_out_keep_their_relative_accuracy():
    """The widths come from the cuts: 100 sigma from mu, cells a millionth of sigma wide are exact to 1e-12."""
    cuts, mu, sigma = [1000.0, 1000.0 + 2.0**-20, 1001.0], 1000.0 - 30.0, 1.0
    got = model().cell_probabilities(cuts, [[mu, sigma], [2 * 1000.5 - mu, sigma]])
    with mp.workdps(50):
        upper = [mp.erfc((mp.mpf(c) - mu) / sigma / mp.sqrt(2)) / 2 for c in cuts]
        expected = [float(v) for v in (upper[0] - upper[1], upper[1] - upper[2], upper[2])]
    np.testing.assert_allclose(got[0, 1:], expected, rtol=1e-12)
    assert got[1, 0] == pytest.approx(got[0, 3], rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_cell_gradient_is_the_derivative(name):
    law, cuts = model(name), [-3.0, 0.5, 0.75, 9.0]
    points = np.array([[1.0, 2.5], [-4.0, 0.7], [20.0, 5.0]])
    step = 1e-5
    for axis in range(2):
        shift = step * np.eye(2)[axis]
        slope = (
            law.cell_probabilities(cuts, points + shift) - law.cell_probabilities(cuts, points - shift)
        ) / (2 * step)
        np.testing.assert_allclose(law.cell_gradient(cuts, points)[..., axis], slope, atol=1e-9)
    np.testing.assert_allclose(law.cell_gradient(cuts, points).sum(axis=1), 0, atol=1e-15)
    assert np.isfinite(law.cell_gradient(cuts, [[0, 1e-100]])).all()


def some_parts(n, rng, single=False):
    for _ in range(n):
        m = int(rng.integers(1, 5))
        d = 1 if single else int(rng.integers(1, 4))
        yield (
            np.sort(rng.normal(0, 20, m)),
            rng.random((d, m + 1)) ** 3,
            rng.integers(1, 2 if single else 4, d),
        )


def some_points(n, rng):
    return np.column_stack([rng.normal(0, 10, n), np.exp(rng.normal(0, 2, n))])


def by_definition(law, parts, point):
    total = 0.0
    for cuts, rows, counts in parts:
        p = law.cell_probabilities(cuts, [point])[0]
        total += sum(
            count * math.log(sum(r * q for r, q in zip(row, p, strict=True)))
            for row, count in zip(rows, counts, strict=True)
        )
    return total


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("single", [True, False])
def test_table_against_the_definition_and_its_numpy_twin(name, single):
    law, rng = model(name), np.random.default_rng(8)
    parts, points = list(some_parts(60, rng, single)), some_points(600, rng)
    values = CellTable.of(parts).value(law, points)
    np.testing.assert_allclose(values, sum(law.log_likelihood(*part, points) for part in parts), rtol=1e-12)
    for i in (0, 7, 599):
        assert values[i] == pytest.approx(by_definition(law, parts, points[i]), rel=1e-12)
    wrong = [(cuts, rows[:, ::-1], counts) for cuts, rows, counts in parts]
    assert not np.allclose(CellTable.of(wrong).value(law, points), values)


def test_many_single_reports_of_extreme_rows():
    """Products of probabilities must not underflow, and rows may hold zeros."""
    law, n = model(), 3000
    odds = [1.0, math.exp(-50.0)]
    parts = [([0.0], [odds if i % 3 else odds[::-1]], [1]) for i in range(n)]
    parts += [([0.0, 1.0], [[0.0, 1.0, 0.0]], [1]), ([5.0], [[1e-200, 1e-200]], [1])]
    points = [[0.0, 1.0], [400.0, 1.0], [-400.0, 10.0]]
    with np.errstate(divide="ignore"):
        expected = sum(law.log_likelihood(*part, points) for part in parts)
    got = CellTable.of(parts).value(law, points)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert got[1] == -math.inf
    assert np.isfinite(got[[0]]).all()


def test_tables_add_up_in_any_order():
    rng = np.random.default_rng(4)
    parts, points = list(some_parts(30, rng)), some_points(50, rng)
    whole = CellTable.of(parts)
    first, second, third = (CellTable.of(parts[i::3]) for i in range(3))
    law = model()
    for other in (first + second + third, third + (first + second), CellTable.joined([second, first, third])):
        np.testing.assert_allclose(other.value(law, points), whole.value(law, points), rtol=1e-12)
        assert len(other) == len(whole) == sum(counts.sum() for _, _, counts in parts)
    empty = CellTable.of([])
    assert len(empty) == 0
    assert (empty.value(law, points) == 0).all()
    np.testing.assert_array_equal((empty + whole).value(law, points), whole.value(law, points))
    assert len(CellTable.joined([])) == 0
    with pytest.raises(TypeError):
        whole + 1


def test_answers_quantiles_and_prediction():
    law, points = Logistic(mean=0, sd=1), [[3.0, 2.0], [-1.0, 0.5]]
    answers = law.sample(points, 20_000, 1)
    assert answers.shape == (2, 20_000)
    for row, (mu, sigma) in zip(answers, points, strict=True):  # false alarms: 1e-6 each
        assert stats.kstest(row, stats.logistic(mu, sigma).cdf).pvalue > 1e-6
    levels = np.array([0.001, 0.5, 0.9])
    np.testing.assert_allclose(
        law.quantile(points, levels), [stats.logistic(*p).ppf(levels) for p in points], rtol=1e-12
    )
    mixed = np.mean([stats.logistic(*p).cdf([-2.0, 0.0, 9.0]) for p in points], axis=0)
    np.testing.assert_allclose(law.predictive_cdf(points, [-2.0, 0.0, 9.0]), mixed, rtol=1e-12)
    np.testing.assert_allclose(
        law.predictive_cdf(points, law.predictive_quantile(points, levels)), levels, rtol=1e-9
    )


def test_constructors():
    assert Normal(mean=1, sd=2) == LocationScale("normal", mean=1, sd=2)
    assert Logistic(mean=1, sd=2).family.name == "logistic"
    assert Laplace(mean=1, sd=2, scale=3).scale == 3
    assert StudentT(5, mean=1, sd=2) == LocationScale("student:5", mean=1, sd=2)
    assert hash(Normal(mean=1, sd=2)) == hash(LocationScale(mean=1, sd=2))


NAN, INF = math.nan, math.inf
BAD_NUMBERS = [NAN, INF, True, None, "1", [1.0], 1j]


@pytest.mark.parametrize("argument", ["mean", "sd", "shape", "rate", "scale"])
def test_improper_priors_are_refused(argument):
    bad = [b for b in BAD_NUMBERS if not (argument == "scale" and b is None)]
    for value in bad + ([] if argument == "mean" else [0, -1.0]):
        with pytest.raises(TacitError) as refusal:
            model(**{argument: value})
        assert refusal.value.code == "argument_invalid"
        assert refusal.value.argument == argument
        assert refusal.value.hint


GOOD = ([0.0, 1.0], [[0.2, 0.3, 0.5]], [1])
BAD_PARTS = [
    (
        "cuts",
        0,
        [[], [1.0, 0.0], [0.0, 0.0], [NAN, 1.0], [0.0, INF], [[0.0, 1.0]], "ab", None, [True, False]],
    ),
    (
        "rows",
        1,
        [[], [[0.5, 0.5]], [0.2, 0.3, 0.5], [[0, 0, 0]], [[NAN, 1, 1]], [[INF, 1, 1]], [[-0.1, 1, 1]], None],
    ),
    ("counts", 2, [[], [1, 1], [0], [-1], [NAN], [INF], [[1]], None, ["1"]]),
]


@pytest.mark.parametrize(("argument", "place", "values"), BAD_PARTS, ids=[b[0] for b in BAD_PARTS])
def test_refused_channels(argument, place, values):
    for value in values:
        part = [*GOOD]
        part[place] = value
        for call in (
            lambda p=part: CellTable.of([GOOD, p]),
            lambda p=part: model().log_likelihood(*p, [[0, 1]]),
        ):
            with pytest.raises(TacitError) as refusal:
                call()
            assert refusal.value.argument == argument, value
    for bad in (None, 3, [GOOD[:2]], ["abc"], [None]):
        with pytest.raises(TacitError):
            CellTable.of(bad)


def test_refused_points():
    table = CellTable.of([GOOD])
    for bad in (
        [],
        [0, 1],
        [[0, 1, 2]],
        [[0, 0]],
        [[0, -1]],
        [[NAN, 1]],
        [[0, NAN]],
        [[INF, 1]],
        [[0, INF]],
        None,
        "x",
        [[True, True]],
    ):
        for call in (
            lambda p=bad: table.value(model(), p),
            lambda p=bad: model().cell_probabilities([0.0], p),
            lambda p=bad: model().cell_gradient([0.0], p),
            lambda p=bad: model().sample(p, 3, 1),
        ):
            with pytest.raises(TacitError) as refusal:
                call()
            assert refusal.value.argument == "points", bad
    for bad in ([0.0], [1.0], [NAN], [], None):
        with pytest.raises(TacitError):
            model().quantile([[0, 1]], bad)

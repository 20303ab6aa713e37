"""Every formula of the components against integration, differences and brute force."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from tacit import TacitError
from tacit.regression import families
from tacit.regression.families import Cauchy, Gaussian, Huber, Laplace, StudentT

FAMILIES = [
    Gaussian(),
    Laplace(),
    Laplace(delta=0.7),
    Cauchy(),
    StudentT(),
    StudentT(2.5),
    Huber(),
    Huber(k=0.5),
]
each = pytest.mark.parametrize("family", FAMILIES, ids=repr)
R = np.array([-30.0, -2.0, -0.9, -0.31, 0.04, 0.5, 1.7, 9.0])


def at(family, r, s):
    return float(family.log_density(np.array([float(r)]), s)[0])


@each
@pytest.mark.parametrize("s", [0.05, 1.3, 40.0])
def test_densities_are_normalised(family, s):
    corners = [0.0, getattr(family, "delta", s), getattr(family, "k", 1.0) * s, 50 * s]
    corners = sorted(set(corners))
    ends = [*pairwise(corners), (corners[-1], math.inf)]
    mass = 2 * sum(quad(lambda r: math.exp(at(family, r, s)), *end, limit=200)[0] for end in ends)
    assert mass == pytest.approx(1, abs=1e-7)


@each
def test_weights_and_slopes_are_derivatives(family):
    s, h = 0.8, 1e-5
    by_r = (family.log_density(R + h, s) - family.log_density(R - h, s)) / (2 * h)
    up, down = s * math.exp(h), s * math.exp(-h)
    by_s = (family.log_density(R, up) - family.log_density(R, down)) / (2 * h)
    assert family.weight(R, s) == pytest.approx(-by_r / R, rel=1e-6, abs=1e-8)
    g, hs, gg, gs, hh = family.slopes(R, s)
    assert g == pytest.approx(by_r, rel=1e-6, abs=1e-7)
    assert hs == pytest.approx(by_s, rel=1e-6, abs=1e-7)
    smooth = abs(R) > getattr(family, "delta", 0.0)  # the third leaves the kink out
    curve = (family.slopes(R + h, s)[0] - family.slopes(R - h, s)[0]) / (2 * h)
    assert gg[smooth] == pytest.approx(curve[smooth], rel=1e-5, abs=1e-6)
    assert gs == pytest.approx(
        (family.slopes(R, up)[0] - family.slopes(R, down)[0]) / (2 * h), rel=1e-5, abs=1e-6
    )
    assert hh == pytest.approx(
        (family.slopes(R, up)[1] - family.slopes(R, down)[1]) / (2 * h), rel=1e-4, abs=1e-6
    )


@each
def test_the_kink_is_the_fall_of_the_slope_at_zero(family):
    s = 1.7
    edge = 2 * getattr(family, "delta", 1e-9)
    fall = family.slopes(np.array([-edge]), s)[0] - family.slopes(np.array([edge]), s)[0]
    assert family.kink(s) == pytest.approx(float(fall[0]), abs=1e-6)


@each
@pytest.mark.parametrize("tail", [1.0, 2.0, 8.0])
def test_the_scale_has_the_highest_likelihood(family, tail):
    rng = np.random.default_rng(1)
    r, z = rng.standard_t(tail, 500), rng.random(500)
    found = family.best_scale(r, z, 1.0, 1e-6, 1e6)
    brute = minimize_scalar(
        lambda log: -float(z @ family.log_density(r, math.exp(log))),
        bounds=(-8, 8), method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    assert found == pytest.approx(math.exp(brute.x), rel=1e-5)
    for start in (1e-6, 1e-3, 1e6):
        assert family.best_scale(r, z, start, 1e-6, 1e6) == pytest.approx(found, rel=1e-6)


@each
def test_the_scale_stays_between_its_ends(family):
    r, z = np.array([0.5, -1.0, 2.0]), np.ones(3)
    assert family.best_scale(r, z, 1.0, 30.0, 1e3) == 30.0
    assert family.best_scale(r, z, 1.0, 1e-4, 0.01) == 0.01
    assert family.best_scale(np.zeros(3), z, 1.0, 0.01, 1e3) == 0.01
    assert np.isfinite(family.best_scale(r, np.zeros(3), 1.0, 0.01, 1e3))


@given(st.sampled_from(FAMILIES), st.floats(-100, 100), st.floats(-100, 100), st.floats(0.01, 100))
@settings(deadline=None, max_examples=300)
def test_least_squares_with_the_weight_lies_below_the_log_density(family, here, there, s):
    """log f(there) >= log f(here) - w(here) (there^2 - here^2) / 2: this is why no round lowers the likelihood."""
    weight = float(np.ravel(family.weight(np.array([here]), s))[0])
    bound = at(family, here, s) - weight * (there**2 - here**2) / 2
    rounding = 1e-9 * max(1, abs(bound), abs(at(family, here, s)))
    assert at(family, there, s) >= bound - rounding


def test_the_true_laplace_density_has_no_such_promise():
    """With abs(r) itself the same inequality fails for the weight that is cut at delta."""
    delta, here, there = 0.5, 0.0, 0.1
    assert -there < -here - (there**2 - here**2) / (2 * delta)


@pytest.mark.parametrize("s", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("delta", [1e-4, 0.4])
def test_the_constants_of_laplace(s, delta):
    family = Laplace(delta)

    def whole(of):
        return 2 * sum(quad(of, *end, limit=200)[0] for end in ((0, delta), (delta, delta + 40 * s)))

    def rho(r):
        return float(family.rho(np.array([r]))[0])

    mass = whole(lambda r: math.exp(-rho(r) / s))
    assert family.log_mass(s) == pytest.approx(math.log(mass), abs=1e-7)
    mean = whole(lambda r: rho(r) * math.exp(-rho(r) / s)) / mass
    assert family.mean_rho(s) == pytest.approx(mean, rel=1e-7)


def test_names_and_objects_are_read():
    assert families.read("cauchy") == (Cauchy(),)
    assert families.read(["huber", StudentT(3)]) == (Huber(), StudentT(3))
    assert Cauchy().log_density(R, 2.0) == pytest.approx(StudentT(1).log_density(R, 2.0))


@pytest.mark.parametrize(
    "components", [(), 3, None, ("gaussian", "normal"), (1,), ["gaussian"] * 21, {"gaussian"}]
)
def test_unknown_components_are_refused(components):
    with pytest.raises(TacitError, match="components"):
        families.read(components)


@pytest.mark.parametrize(
    "make",
    [
        lambda: StudentT(0),
        lambda: StudentT(math.nan),
        lambda: Huber(-1),
        lambda: Laplace(True),
        lambda: Cauchy(2),
    ],
)
def test_impossible_shapes_are_refused(make):
    with pytest.raises(TacitError, match=r"give a number|nu = 1"):
        make()

"""The noise that is released: its law, its variance, its scale, and where draws come from."""

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import laplace as continuous_laplace
from scipy.stats import norm

from sketch.support import chi_square_p
from tacit.errors import TacitError
from tacit.sketch import CountSketch, Privacy, UseAndKeep, bounds, noise
from tacit.sketch.noise import Exact, Law, Simulated

ALARM = 1e-6
DRAWS = 8000


def mass(law, v):
    """The stated law, normalised by its own sum."""
    reach = np.arange(-int(60 * law.scale) - 60, int(60 * law.scale) + 61)
    log = -np.abs(reach) / law.scale if law.kind == "laplace" else -(reach**2) / (2 * law.scale**2)
    weights = np.exp(log)
    return np.interp(v, reach, weights / weights.sum())


LAWS = [Law(kind, scale) for kind in ("laplace", "gaussian") for scale in (0.5, 1.0, 4.5, 60.0)]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("source", [Exact(), Simulated(np.random.default_rng(3))], ids=["exact", "simulated"])
def test_draws_follow_the_stated_law(law, source):
    drawn = source.draw(law, DRAWS)
    values = np.arange(-12, 13) * max(1, round(law.scale / 4))
    step = values[1] - values[0]
    counts = [((drawn >= v) & (drawn < v + step)).sum() for v in values]
    expected = [mass(law, np.arange(v, v + step)).sum() for v in values]
    p = chi_square_p([*counts, DRAWS - sum(counts)], [*expected, max(1 - sum(expected), 0)])
    assert p > ALARM


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_law_with_another_scale_is_noticed(law):
    drawn = Simulated(np.random.default_rng(4)).draw(Law(law.kind, law.scale * 1.3), DRAWS)
    inside = np.abs(drawn) < max(1, law.scale)
    values = np.arange(-int(law.scale) - 1, int(law.scale) + 2)
    share = mass(law, values[np.abs(values) < max(1, law.scale)]).sum()
    assert chi_square_p([inside.sum(), (~inside).sum()], [share, 1 - share]) < ALARM


@pytest.mark.parametrize("law", [*LAWS, Law("laplace", 1e4)], ids=str)
def test_the_variance_is_exact(law):
    v = np.arange(-int(40 * law.scale) - 40, int(40 * law.scale) + 41)
    log = -np.abs(v) / law.scale if law.kind == "laplace" else -(v**2) / (2 * law.scale**2)
    weights = np.exp(log)
    assert law.variance == pytest.approx((v.astype(float) ** 2 * weights).sum() / weights.sum(), rel=1e-9)


@pytest.mark.parametrize(
    "number", [Fraction(1, 3), Fraction(10), Fraction(27, 10), Fraction(10**9, 7), Fraction(1, 50)]
)
def test_a_scale_is_never_rounded_down(number):
    """The loss of the float scale, as an exact fraction, is at most what was asked for and within 2^-50 of it."""
    assert Fraction(1) - Fraction(1, 2**50) < noise.laplace(number).loss(1) * number <= 1
    law = noise.gaussian(number)
    assert Fraction(1) - Fraction(1, 2**50) < law.loss(1) * 2 * number <= 1
    assert noise.laplace(number).loss(-3) == 3 * noise.laplace(number).loss(1)
    assert law.loss(3) == 9 * law.loss(1)


def test_noise_beyond_any_count_is_refused():
    with pytest.raises(TacitError) as refused:
        noise.laplace(Fraction(2**41))
    assert refused.value.code == "budget_exhausted"


@pytest.mark.parametrize("uses", [1, 2, 7, 63, 64, 300])
@pytest.mark.parametrize("q", [0.1, 0.025, 0.001])
def test_quantiles_of_sums(uses, q):
    """Against two million simulated sums: the share beyond, within five standard errors and 2 % for the grid."""
    rng = np.random.default_rng([uses, round(1000 * q)])
    sums = rng.gamma(uses, size=2_000_000) - rng.gamma(uses, size=2_000_000)
    beyond = (sums > bounds.laplace_quantile(q, uses)).mean()
    assert abs(beyond - q) < 5 * math.sqrt(q / 2e6) + 0.02 * q


def test_one_draws_quantiles_are_known():
    assert bounds.laplace_quantile(0.01, 1) == pytest.approx(continuous_laplace.isf(0.01), rel=2e-3)
    assert Law("gaussian", 5.0).quantile(0.01, 4) == pytest.approx(10 * norm.isf(0.01))


@pytest.mark.parametrize("law", [*LAWS, Law("laplace", 1000.0)], ids=str)
@pytest.mark.parametrize("uses", [1, 3])
def test_whole_noise_stays_within_its_quantile_and_one(law, uses):
    sums = Simulated(np.random.default_rng(5)).draw(law, 300_000 * uses).reshape(-1, uses).sum(axis=1)
    for q in (0.1, 0.01):
        beyond = (sums > law.quantile(q, uses) + 1).mean()
        assert beyond < q + 5 * math.sqrt(q / 300_000) + 0.005 * q


def test_blocks_are_drawn_ahead_and_never_twice():
    source, law = Exact(), Law("laplace", 2.0**39)
    source.prepare(law, 5000).join()
    assert source.ready(law) >= 5000
    drawn = np.concatenate([source.draw(law, 1), source.draw(law, 2998), source.draw(law, 4000)])
    assert len(drawn) == 6999
    assert len(np.unique(drawn)) == 6999  # of 2^40 values: two agree by chance once in 20,000 runs


def test_fresh_draws_leave_nothing_behind():
    source, law = Exact(), Law("laplace", 3.0)
    assert len(source.draw(law, 3, ahead=False)) == 3
    assert source.ready(law) == 0
    source.draw(law, 3)
    assert source.ready(law) == noise.LEAST - 3


def test_a_forked_process_forgets_the_blocks():
    source, law = Exact(), Law("laplace", 5.0)
    source.draw(law, 1)
    assert source.ready(law) > 0
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, str(source.ready(law)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 9) == b"0"


def test_a_private_sketch_prepares_its_own_law():
    sketch = UseAndKeep(CountSketch(3, 10), Privacy(epsilon=Fraction(1, 7)))
    sketch.prepare(700)
    sketch._source.prepare(sketch._law, 700).join()
    assert noise.EXACT.ready(sketch._law) >= 700
    covered = UseAndKeep(CountSketch(3, 10), Privacy(epsilon=Fraction(1, 11)), pan_private=True)
    covered.prepare(700)
    assert noise.EXACT.ready(covered._law) == 0
    for count in (0, -1, 1.5, True):
        with pytest.raises(TacitError):
            sketch.prepare(count)


@pytest.mark.parametrize("source", [Exact(), Simulated(np.random.default_rng(6))], ids=["exact", "simulated"])
def test_coins(source):
    """Five standard errors: 1e-6."""
    for rate in (Fraction(1, 4), Fraction(9, 10)):
        kept = source.coins(Privacy(epsilon=1, sampling=rate).kept_of_2_64, 40_000)
        assert abs(kept.mean() - rate) < 5 * math.sqrt(rate * (1 - rate) / 40_000)

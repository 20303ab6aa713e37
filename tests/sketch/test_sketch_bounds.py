"""Tails, intervals and advice against brute force and simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from tacit.errors import TacitError
from tacit.sketch import (
    Answers,
    CellPerturbation,
    CountMinSketch,
    CountSketch,
    MedianPerturbation,
    Privacy,
    Survey,
    UseAndForget,
    UseAndKeep,
    advise,
    bounds,
    noise,
    tail_of_median,
)
from tacit.sketch.advice import expected_uses, shapes, zipf_counts


@pytest.mark.parametrize("d", [1, 3, 9, 15])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.001])
def test_the_tail_of_a_row_gives_that_of_the_median(d, alpha):
    q = bounds.row_tail(alpha, d)
    assert 2 * binom.sf((d + 1) // 2 - 1, d, q) == pytest.approx(alpha)


@pytest.mark.parametrize("d", range(1, 32, 2))
def test_ranks_are_the_narrowest_that_cover(d):
    for alpha in (0.3, 0.05, 0.01):
        k = bounds.ranks(alpha, d)
        assert k == 0 or 2 * binom.cdf(k - 1, d, 0.5) <= alpha
        assert 2 * binom.cdf(k, d, 0.5) > alpha
    assert (bounds.ranks(0.05, d) == 0) == (d < 7)


@pytest.mark.parametrize("d", [1, 3, 9, 15])
def test_theorem_5_bounds_the_exact_tail_and_is_below_the_printed_form(d):
    """Rows as bad as Chebyshev allows: the exact binomial tail <= the bound <= the bound as printed."""
    for spread in (0.01, 0.1, 0.3, 0.49):
        kappa, second = 10.0, 0.7 * spread * 100 * 50
        bound = tail_of_median(kappa, d, second, w=50, noise=0.3 * spread * 100)
        printed = math.exp(-d / 2 * (1 - 2 * spread)) * (2 * (1 - spread)) ** (d / 2)
        assert binom.sf((d + 1) // 2 - 1, d, spread) <= bound <= printed * (1 + 1e-12)
    assert tail_of_median(1.0, d, 100.0, w=10) == 1.0


def test_theorem_5_needs_the_factor_of_two():
    """Three rows of noise alone, 40 uses: the variance is 2 b^2 a draw, and with it the bound holds."""
    scale, uses, count = 50.0, 40, 20_000
    law = noise.Law("laplace", scale)
    draws = noise.Simulated(np.random.default_rng(1)).draw(law, 3 * count * uses)
    rows = draws.reshape(count, 3, uses).sum(axis=2)
    assert rows.var() == pytest.approx(2 * scale**2 * uses, rel=0.05)
    for kappa in np.linspace(450, 1200, 16):
        true = (np.abs(np.median(rows, axis=1)) > kappa).mean()
        assert true <= tail_of_median(kappa, 3, 0.0, w=1, noise=uses * law.variance) + 0.01


WRAPPED = {
    "keep": (lambda s: UseAndKeep(s, 1.0), True),
    "keep, gaussian": (lambda s: UseAndKeep(s, Privacy(epsilon=1, delta=1e-6)), True),
    "keep, sampled": (lambda s: UseAndKeep(s, Privacy(epsilon=2, sampling=0.5)), True),
    "pan": (lambda s: UseAndKeep(s, 1.0, pan_private=True), True),
    "forget": (lambda s: UseAndForget(s, 1.0), False),
    "cell": (lambda s: CellPerturbation(s, 1.0), True),
    "median": (lambda s: MedianPerturbation(s, 1.0, batches=5), False),
}
COUNTS = np.array([3000, 1500, 1000, 750, 600, 500, 430, 370, 330, 300] + [30] * 200)


@pytest.mark.parametrize("kind", [CountSketch, CountMinSketch])
@pytest.mark.parametrize("d", [3, 9])
@pytest.mark.parametrize("name", WRAPPED)
def test_intervals_cover(name, d, kind):
    """Clustered by seed: the share of covered counts is at least 0.95 but for five standard errors and 0.002."""
    wrap, can_survey = WRAPPED[name]
    public = Survey(total=float(COUNTS.sum()), second_moment=float((COUNTS.astype(float) ** 2).sum()))
    asked = np.arange(0, 210, 21)
    hits = []
    for seed in range(120):
        sketch = wrap(kind(d, 60, seed))
        sketch._source = noise.Simulated(np.random.default_rng([seed, d]))
        sketch.update(np.repeat(np.arange(len(COUNTS)), COUNTS))
        for _ in range(4):
            answers = sketch.query(asked)
        survey = sketch.survey() if can_survey else public
        low, high = answers.interval(0.95, survey)
        assert (low <= high).all()
        hits.append(((low <= COUNTS[asked]) & (COUNTS[asked] <= high)).mean())
    hits = np.array(hits)
    assert hits.mean() > 0.95 - 5 * hits.std() / math.sqrt(len(hits)) - 0.002


def test_intervals_of_ranks_cover_and_are_not_idle():
    """d = 9, nothing known: coverage of at least 95 % but for five standard errors, and below 99.9 %."""
    hits = []
    for seed in range(400):
        sketch = UseAndKeep(CountSketch(9, 60, seed), 1.0)
        sketch._source = noise.Simulated(np.random.default_rng(seed))
        sketch.update(np.arange(len(COUNTS)), None)
        low, high = sketch.query(np.arange(0, 210, 21)).interval()
        hits.append(((low <= 1) & (high >= 1)).mean())
    hits = np.array(hits)
    assert 0.95 - 5 * hits.std() / math.sqrt(len(hits)) < hits.mean() < 0.999


def test_an_interval_without_knowledge_is_refused():
    cases = [
        (UseAndKeep(CountSketch(5, 9), 1.0), None), (UseAndKeep(CountMinSketch(9, 9), 1.0), None),
        (MedianPerturbation(CountSketch(9, 9), 1.0), None), (UseAndKeep(CountSketch(5, 9), 1.0), Survey(total=1.0)),
    ]  # fmt: skip
    for sketch, survey in cases:
        answers = sketch.query([1])
        with pytest.raises(TacitError) as refused:
            answers.interval(0.95, survey)
        assert refused.value.argument == "survey"
    for level in (0, 1, 95, float("nan"), None):
        with pytest.raises(TacitError):
            answers.interval(level, Survey(1.0, 1.0))
    for value in (-1.0, float("nan"), float("inf")):
        with pytest.raises(TacitError):
            Survey(total=value)


def test_the_heaviest_come_first():
    sketch = UseAndKeep(CountSketch(3, 1000), 50.0)
    sketch.update(["a"] * 100 + ["b"] * 900)
    assert sketch.query(["a", "x", "b"]).heaviest(2).tolist() == [2, 0]
    assert isinstance(sketch.query(["a"]), Answers)


# Advice


def simulated(advice, law, n, skew, domain, rng, count=4000):
    counts = np.arange(1, domain + 1.0) ** -skew
    counts *= n / counts.sum()
    rows = np.zeros((count, advice.d))
    for i in range(advice.d):
        hit = rng.random((count, domain)) < 1 / advice.w
        rows[:, i] = (hit * rng.choice([-1.0, 1.0], (count, domain))) @ counts
    uses = round(advice.uses)
    draws = noise.Simulated(rng).draw(law, count * advice.d * uses).reshape(count, advice.d, uses)
    return np.abs(np.median(rows + draws.sum(axis=2), axis=1))


@pytest.mark.parametrize(
    ("d", "epsilon", "queries", "skew"),
    [(3, 1.0, 5000, 1.0), (5, 0.1, 20_000, 1.0), (9, 0.05, 30_000, 0.5), (3, 1.0, 1000, 1.1)],
)  # fmt: skip
def test_the_expected_error_is_that_of_simulations(d, epsilon, queries, skew):
    """Within 3 % and five standard errors of 4000 simulated medians."""
    n, domain, memory = 10**5, 1000, 12 * 2000
    found = shapes(n, epsilon, queries, memory, skew=skew, domain=domain)
    advice = next(a for a in found if a.d == d)
    law = noise.laplace(Fraction(d) / Fraction(str(epsilon)))
    errors = simulated(advice, law, n, skew, domain, np.random.default_rng(d))
    spread = errors.std() / math.sqrt(len(errors))
    assert abs(advice.mean_error - errors.mean()) < 5 * spread + 0.03 * errors.mean()
    assert abs((errors > advice.error_95).mean() - 0.05) < 0.02


def test_the_best_depth_falls_with_epsilon_and_with_queries():
    best = [advise(10**7, e, 10**5, 12 * 40_000).d for e in (10, 1, 0.1, 0.01)]
    assert best == sorted(best, reverse=True)
    assert best[0] > best[-1]
    frequent = [advise(10**7, 0.3, q, 12 * 40_000).d for q in (10**3, 10**5, 10**7)]
    assert frequent == sorted(frequent, reverse=True)
    assert all(a.d * a.w * 12 <= 12 * 40_000 for a in shapes(10**7, 1, 100, 12 * 40_000))


def test_the_counts_of_a_zipf_stream_add_up():
    for skew, domain in [(1.0, 10**6), (0.7, 5000), (2.0, 100), (0.0, 3)]:
        counts, members = zipf_counts(1000, skew, domain)
        exact = np.arange(1, domain + 1.0) ** -skew
        exact *= 1000 / exact.sum()
        assert members.sum() == domain
        assert (members * counts**2).sum() == pytest.approx((exact**2).sum(), rel=1e-3)


def test_expected_uses_are_those_of_simulated_queries():
    """60 batches of 20 from 50 items over 30 columns; 2000 simulations, five standard errors."""
    rng = np.random.default_rng(1)
    uses = []
    for _ in range(2000):
        columns = rng.integers(0, 30, 50)
        asked = rng.integers(0, 50, (59, 20))
        uses.append(1 + (columns[asked] == columns[0]).any(axis=1).sum())
    uses = np.array(uses)
    expected = expected_uses(1200, 20, 50, 30)
    assert abs(uses.mean() - expected) < 5 * uses.std() / math.sqrt(2000) + 0.1 * expected


@pytest.mark.parametrize(
    ("name", "value"),
    [("n", 0), ("epsilon", 0), ("queries", 0), ("memory", 11), ("memory", 0.5), ("batch", 11), ("popular", 0),
     ("popular", 10**7), ("skew", -1), ("skew", float("nan")), ("domain", 0), ("n", True)],
)  # fmt: skip
def test_bad_advice_is_refused(name, value):
    given = {"n": 1000, "epsilon": 1.0, "queries": 10, "memory": 10_000} | {name: value}
    with pytest.raises(TacitError) as refused:
        advise(**given)
    assert refused.value.argument == name

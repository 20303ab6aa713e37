"""The integers of every family: enumeration of the randomiser, brute-force certificates, the paper's formulas."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracles import brute_force_ratio, enumerated_law, exact_law, rrrr_matrix, subset_law
from tacit import channels
from tacit_client import TacitError, build, certify
from tacit_client.exponential import at_most_exp, exp_lower, log_upper, ratio_below_exp
from tacit_client.tables import Blocks, Dense, Hashed, Subsets, hashed

FIVE = Fraction(5)
TOYS = {
    "srr": Blocks(3, FIVE, (), (0, 0, 0), (5, 0, 2)),
    "rrrr": Blocks(4, FIVE, (1, 3), (6, 2, 3), (5, 2, 5)),
    "rrrr, uneven": Blocks(4, FIVE, (0, 3), (8, 1, 4), (7, 3, 4)),
    "rrrr, one inside": Blocks(4, FIVE, (2,), (6, 0, 1), (3, 2, 2)),
    "rrrr, one outside": Blocks(3, FIVE, (0, 2), (4, 2, 1), (3, 2, 0)),
    "subset": Subsets(4, FIVE, None, 2, 3, 1),
    "subset of all but one": Subsets(4, FIVE, None, 3, 3, 2),
    "coarse": Subsets(5, FIVE, (1, 4), 2, 3, 1),
    "dense": Dense(2, FIVE, ((1, 2), (3, 1), (2, 3))),
}


@pytest.mark.parametrize("name", TOYS)
def test_every_branch_of_the_randomiser_adds_up_to_the_table(name):
    table = TOYS[name]
    channel = channels.from_table(table)
    reports = channel.reports()
    for x in range(table.k):
        assert enumerated_law(table, x) == exact_law(table, reports, x)
        assert channel.matrix()[:, x] == pytest.approx(
            [float(p) for p in exact_law(table, reports, x).values()]
        )


def test_every_branch_of_the_hashed_randomiser(monkeypatch):
    monkeypatch.setattr(hashed, "PRIME", 5)
    table = Hashed(4, FIVE, 3, 4, 1)
    for x in range(4):
        law = enumerated_law(table, x)
        expected = {
            (a, b, bucket): Fraction(4 if (a * x + b) % 5 % 3 == bucket else 1, 4 * 5 * 6)
            for a in range(1, 5)
            for b in range(5)
            for bucket in range(3)
        }
        assert law == expected


@pytest.mark.parametrize("name", TOYS)
def test_certificate_of_toy_tables_against_brute_force_over_the_enumerated_law(name):
    table = TOYS[name]
    worst = table.worst()
    laws = [enumerated_law(table, x) for x in range(table.k)]
    assert worst.ratio == brute_force_ratio(laws)
    assert laws[worst.likely][worst.report] / laws[worst.unlikely][worst.report] == worst.ratio


def some_channels(k, epsilon):
    yield channels.srr(k, epsilon)
    yield channels.subset(k, epsilon)
    for kappa in (0.5, 0.9, 1.0):
        for size in {1, k // 2, k - 1} - {0}:
            yield channels.rrrr(k, range(k - size, k), epsilon, kappa)
    for size in range(1, k):
        yield channels.subset(k, epsilon, size)
        if size <= k - 2:
            yield channels.coarse(k, range(1, size + 1), epsilon)
    yield channels.from_matrix(channels.srr(k, epsilon).matrix(), epsilon)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 5, 10, 50])
def test_certificate_against_brute_force(k, epsilon):
    for channel in some_channels(k, epsilon):
        reports = channel.reports()
        laws = [exact_law(channel.table, reports, x) for x in range(k)]
        certificate = channel.certificate
        assert certificate.ratio == brute_force_ratio(laws)
        worst = laws[certificate.likely][certificate.report] / laws[certificate.unlikely][certificate.report]
        assert worst == certificate.ratio
        normalisers = {sum(channel.table.weight(r, x) for r in reports) for x in range(k)}
        assert len(normalisers) == 1, "weights of different answers are not comparable"


@given(
    k=st.integers(2, 40),
    epsilon=st.floats(1e-9, 50) | st.sampled_from([0.01, 0.1, 0.3, 1.0, 5.0]),
    kappa=st.floats(1e-3, 1),
    data=st.data(),
)
@example(k=3, epsilon=math.log(2), kappa=0.5, data=None)
@settings(max_examples=300, deadline=None)
def test_rrrr_keeps_epsilon_and_uses_all_of_it(k, epsilon, kappa, data):
    subset = [0] if data is None else data.draw(st.sets(st.integers(0, k - 1), max_size=k - 1))
    table = build.rrrr(k, subset, epsilon, kappa)
    certificate = certify(table)
    used = table.epsilon
    if len(subset) == k - 1:
        used = table.epsilon * Fraction(repr(kappa))  # one category outside: only epsilon_1 acts
    assert certificate.holds
    assert certificate.loss <= float(table.epsilon)
    top = Fraction(exp_lower(used), 2**256)
    assert top * (1 - Fraction(1, 2**40)) <= certificate.ratio <= top


@given(k=st.integers(2, 15), epsilon=st.floats(0.01, 10), kappa=st.floats(0.05, 1), data=st.data())
@settings(max_examples=150, deadline=None)
def test_rrrr_is_the_mechanism_of_theorem_1(k, epsilon, kappa, data):
    subset = data.draw(st.sets(st.integers(0, k - 1), max_size=k - 1))
    matrix = channels.rrrr(k, list(subset), epsilon, kappa).matrix()
    np.testing.assert_allclose(matrix, rrrr_matrix(k, subset, epsilon, kappa), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(matrix.sum(axis=0), 1, rtol=1e-12)


@pytest.mark.parametrize(
    ("k", "subset", "epsilon", "kappa"),
    [
        (4, [], 1, 0.9),  # SRR with the full epsilon
        (4, [0, 1, 2], 1, 0.9),  # one category outside
        (3, [0], 2 * math.log(2), 0.5),  # exp(e1 - e) m = 1: the formula of Theorem 1 divides by zero
        (9, [3], 2 * math.log(8), 0.5),
        (5, [1, 2], 1, 1),  # kappa = 1: the rest is not told apart
        (5, [1, 2], 50, 0.9),
        (5, [1, 2], 1e-9, 0.9),
        (2, [1], 1, 1e-6),
    ],
)
def test_edges_of_rrrr(k, subset, epsilon, kappa):
    channel = channels.rrrr(k, subset, epsilon, kappa)
    assert channel.loss <= channel.epsilon
    expected = epsilon * kappa if len(subset) == k - 1 else epsilon
    assert channel.loss == pytest.approx(expected, rel=1e-9)
    assert channel.matrix().sum(axis=0) == pytest.approx(np.ones(k))


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_subset_follows_its_formula(k, epsilon):
    for size in range(1, k):
        channel = channels.subset(k, epsilon, size)
        assert channel.inclusion == pytest.approx(subset_law(k, size, epsilon), rel=1e-10)
        matrix = channel.matrix()
        for row, report in zip(matrix, combinations(range(k), size), strict=True):
            held = np.isin(np.arange(k), report)
            assert row[held] == pytest.approx(row[~held].max() * math.exp(epsilon), rel=1e-10)


@pytest.mark.parametrize("m", [2, 3, 4, 10, 57, 300])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 2.5, 6, 40])
def test_best_size_beats_every_other(m, epsilon):
    def variance(size):
        p, q = subset_law(m, size, epsilon)
        share = size / m
        return share * (1 - share) / (p - q) ** 2

    chosen = build.subset(m, epsilon).size
    assert variance(chosen) <= min(map(variance, range(1, m))) * (1 + 1e-9)


@given(st.floats(1e-9, 50))
@settings(max_examples=300)
def test_ratio_below_exp(epsilon):
    exact = Fraction(repr(epsilon))
    ratio = ratio_below_exp(exact)
    top = Fraction(exp_lower(exact), 2**256)
    assert top * (1 - Fraction(1, 2**40)) <= ratio < top
    assert (ratio - 1) / (top - 1) > 1 - Fraction(1, 2**39), "a small epsilon loses its use"
    assert log_upper(ratio) <= epsilon
    assert at_most_exp(ratio, Fraction(log_upper(ratio)))


@pytest.mark.parametrize("text", ["0.000000001", "0.1", "0.5", "1", "2.718281828", "17", "50"])
def test_exp_lower_is_below_exp_and_near_it(text):
    with localcontext() as context:
        context.prec = 120
        exact = Fraction(Decimal(text).exp())  # correct to 120 digits
    lower = Fraction(exp_lower(Fraction(text)), 2**256)
    assert lower < exact
    assert (exact - lower) / exact < Fraction(1, 2**240)


def test_matrix_is_rounded_inwards_and_stays_near():
    rng = np.random.default_rng(5)
    for epsilon in (0.1, 1.0, 3.0):
        raw = np.exp(rng.uniform(-epsilon / 2, epsilon / 2, (6, 5)))
        raw /= raw.sum(axis=0)
        true_loss = np.log(raw.max(axis=1) / raw.min(axis=1)).max()
        channel = channels.from_matrix(raw, true_loss)
        assert channel.loss <= channel.epsilon
        np.testing.assert_allclose(channel.matrix(), raw, atol=1e-9)


def test_matrix_drops_rows_of_zeros_and_refuses_rows_with_some():
    matrix = np.array([[0.6, 0.4], [0.0, 0.0], [0.4, 0.6]])
    assert channels.from_matrix(matrix, 1).matrix().shape == (2, 2)
    with pytest.raises(TacitError) as refusal:
        channels.from_matrix([[1.0, 0.5], [0.0, 0.5]], 1)
    assert refusal.value.code == "channel_infinite_loss"
    with pytest.raises(TacitError) as refusal:
        channels.from_matrix([[0.9, 0.1], [0.1, 0.9]], 1)
    assert refusal.value.code == "channel_leaks"


def test_matrix_a_hair_above_epsilon_is_brought_below():
    p = math.exp(1 + 5e-10) / (1 + math.exp(1 + 5e-10))
    channel = channels.from_matrix([[p, 1 - p], [1 - p, p]], 1)
    assert 1 - 1e-8 < channel.loss <= 1


def test_wire_form_and_content_id_are_stable():
    for channel in [*some_channels(5, 0.7), channels.hashed(100_000, 2.0)]:
        again = channels.from_json(channel.to_json())
        assert again == channel
        assert again.id == channel.id
        assert again.to_json() == channel.to_json()
    known = channels.srr(4, 1.0)
    assert known.id == "b2ec5eecab61b48e1d784fea7d2ea16c32217988c5b9d7870a9cfc5e1f659e5e"
    assert channels.rrrr(6, [4, 1], 1, 0.9) == channels.rrrr(6, (1, 4), 1, 0.9)
    assert channels.coarse(5, [0, 1, 2, 3], 1) == channels.subset(5, 1)
    assert channels.srr(4, 1) == channels.srr(4, 1.0)


def test_nothing_of_size_k_squared():
    import tracemalloc

    tracemalloc.start()
    for channel in (
        channels.hashed(100_000, 2.0),
        channels.subset(100_000, 1.0, 5),
        channels.coarse(100_000, range(50), 1.0),
        channels.rrrr(100_000, range(1000), 1.0, 0.9),
    ):
        answers = np.arange(0, 100_000, 1000)
        evidence = channel.tally(channel.sample(answers, 1))
        assert len(channel.unbiased(evidence / 100, 100)[0]) == 100_000
        assert channel.table.check_report(channel.respond(99_999)) is not None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6

"""Channels for numbers: the graded mechanism against its formula, cells, samplers, refusals."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from oracles import brute_force_ratio, enumerated_law, exact_law
from tacit import TacitError, channels
from tacit.audit import audit
from tacit_client import Question, Round, build, certify, channel_text, parse_channel
from tacit_client.exponential import exp_lower
from tacit_client.tables import Binned, Dense, Subsets

ALARM = 1e-6
FIVE = Fraction(5)
TOYS = {
    "sign": build.tail_rows((3, 1)),
    "three grades": build.tail_rows((4, 2, 1)),
    "four grades": build.tail_rows((8, 4, 2, 1)),
    "four grades, uneven": build.tail_rows((9, 7, 3, 1)),
}


def clamped_geometric(steps, epsilon):
    """P[i, j]: grade j plus noise of law (1-a)/(1+a) a^|z|, summed over z far beyond both ends and clamped."""
    a = math.exp(-epsilon / steps)
    out = np.zeros((steps + 1, steps + 1))
    reach = np.arange(-200 * steps, 200 * steps + 1)
    law = -math.expm1(-epsilon / steps) / (1 + a) * a ** np.abs(reach)
    for j in range(steps + 1):
        np.add.at(out[:, j], np.clip(j + reach, 0, steps), law)
    return out


@pytest.mark.parametrize("name", TOYS)
def test_every_branch_of_the_randomiser_adds_up_to_the_table(name):
    rows = TOYS[name]
    table = Binned(tuple(map(Fraction, range(1, len(rows)))), Dense(len(rows), FIVE, rows))
    channel = channels.from_table(table)
    laws = [enumerated_law(table, x) for x in range(table.k)]
    for x, law in enumerate(laws):
        assert law == exact_law(table, channel.reports(), x)
        assert channel.matrix()[:, x] == pytest.approx([float(law[y]) for y in channel.reports()])
    assert certify(table).ratio == brute_force_ratio(laws) == Fraction(rows[0][0], rows[0][-1])


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("epsilon", [0.5, 1, 5, 10, 50])
def test_graded_is_geometric_noise_stopped_at_the_ends(steps, epsilon):
    matrix = channels.graded(0, 1, steps, epsilon).matrix()
    np.testing.assert_allclose(matrix, clamped_geometric(steps, epsilon), rtol=1e-11)


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 1, 50])
def test_the_formula_of_the_truncated_geometric_mechanism(epsilon):
    for steps in (1, 2, 7, 128):
        a, matrix = math.exp(-epsilon / steps), channels.graded(0, 1, steps, epsilon).matrix()
        for j in range(steps + 1):
            assert matrix[0, j] == pytest.approx(a**j / (1 + a), rel=1e-11)
            assert matrix[steps, j] == pytest.approx(a ** (steps - j) / (1 + a), rel=1e-11)
            for i in range(1, steps):
                inside = -math.expm1(-epsilon / steps) / (1 + a) * a ** abs(i - j)
                assert matrix[i, j] == pytest.approx(inside, rel=1e-11)


@given(steps=st.integers(1, 128), epsilon=st.floats(0.01, 50) | st.sampled_from([1e-9, 1e-6, 0.1, 1.0, 50.0]))
@example(steps=128, epsilon=1e-9)
@example(steps=128, epsilon=50.0)
@settings(max_examples=150, deadline=None)
def test_graded_keeps_epsilon_and_uses_all_of_it(steps, epsilon):
    table = build.graded(20, 80, steps, epsilon)
    certificate = certify(table)
    rows = table.inner.rows
    top = Fraction(exp_lower(table.epsilon), 2**256)
    assert top * (1 - Fraction(1, 2**40)) <= certificate.ratio < top
    assert certificate.loss <= float(table.epsilon)
    assert certificate.loss == pytest.approx(steps * math.log(rows[0][0] / rows[0][1]), rel=1e-10)
    assert certificate.ratio == max(Fraction(max(row), min(row)) for row in rows)
    assert all(a > b for a, b in zip(rows[0], rows[0][1:], strict=False))


@pytest.mark.parametrize("epsilon", [1e-9, 1, 50])
def test_the_most_steps_fit_into_a_round(epsilon):
    end = str(10**18)
    question = Question("q", "x" * 2000, unit="y" * 200, lowest=f"-{end}", highest=end, step="0.001")
    table = build.graded(Fraction(-(10**18), 3), 10**18 - Fraction(1, 3), build.MAX_STEPS, epsilon)
    made = Round("s", question, 0, table, None)
    assert Round.from_json(made.to_json()) == made
    assert parse_channel(channel_text(table)) == table


def test_cuts_lie_half_a_grade_from_the_grades():
    assert channels.graded(20, 80, 1, 1.0).cuts.tolist() == [50]
    assert channels.graded(20, 80, 4, 1.0).cuts.tolist() == [27.5, 42.5, 57.5, 72.5]
    assert build.graded(0.1, 0.7, 2, 1).cuts == (Fraction("0.25"), Fraction("0.55"))
    assert build.graded("-0.1", Decimal("0.1"), 1, 1).cuts == (0,)
    assert build.graded(np.float64(0.5), np.int64(2), 1, 1).cuts == (Fraction(5, 4),)
    assert build.graded(0, 1, 1, 1) == build.graded("0", 1.0, 1, 1) == build.graded(-1, "2.0", 1, 1)


@given(lo=st.floats(-1e6, 1e6), width=st.floats(1e-6, 1e6), steps=st.integers(1, 40), share=st.floats(-3, 3))
@settings(max_examples=100, deadline=None)
def test_cuts_without_a_short_decimal_are_rounded_within_a_trillionth_of_a_cell(lo, width, steps, share):
    low, high = Fraction(lo), Fraction(lo) + Fraction(width)  # binary fractions: no short decimals
    table = build.graded(low, high, steps, 1)
    cell = (high - low) / steps
    exact = [low + (j - Fraction(1, 2)) * cell for j in range(1, steps + 1)]
    assert all(abs(a - b) <= cell / 10**12 for a, b in zip(table.cuts, exact, strict=True))
    # A grade is the nearest of steps + 1 points, clipped to the ends.
    x = lo + width * share
    grade = min(max(round(steps * (x - lo) / width), 0), steps)
    near = abs((steps * (x - lo) / width) % 1 - 0.5) < 1e-6
    assert near or channels.from_table(table).cells([x]).tolist() == [grade]


def chi_square(channel, x, reports):
    law = channel.matrix()[:, x]
    counts = np.bincount(reports, minlength=len(law))
    statistic = ((counts - len(reports) * law) ** 2 / (len(reports) * law)).sum()
    return chi2.sf(statistic, len(law) - 1)


NUMERIC = [
    channels.graded(20, 80, 1, 1.0),
    channels.graded(20, 80, 4, 0.3),
    channels.graded(-1, "0.5", 3, 2.0),
    channels.binned([20, 40, 60], channels.srr(4, 1.0)),
    channels.binned([-1.5, 0, 1, "2.25"], channels.rrrr(5, [1, 2], 1.0, 0.9)),
]


def inside(channel, x):
    """A number in the middle of a cell."""
    cuts = channel.cuts
    ends = [cuts[0] - 2, *cuts, cuts[-1] + 2]
    return (ends[x] + ends[x + 1]) / 2


@pytest.mark.parametrize("channel", NUMERIC, ids=repr)
def test_sample_and_respond_follow_the_matrix(channel):
    """Chi-square at a false-alarm rate of 1e-6 for each of about 40 tests, half of them with fixed seeds."""
    rng = np.random.default_rng(7)
    for x in range(channel.k):
        number = inside(channel, x)
        assert chi_square(channel, x, channel.sample(np.full(50_000, number), rng)) > ALARM
        reports = [channel.respond(Decimal(repr(float(number)))) for _ in range(5_000)]
        assert chi_square(channel, x, reports) > ALARM


def test_faulty_samplers_are_caught():
    channel = NUMERIC[1]
    rng = np.random.default_rng(3)
    numbers = np.full(50_000, 60.0)
    x = int(channel.cells([60.0])[0])
    assert chi_square(channel, x, channel.sample(numbers, rng)) > ALARM
    # Noise drawn again until it stays between the ends, instead of stopped there: it leaks more, too.
    truncated = math.exp(-0.3 / 4) ** np.abs(np.arange(5) - x)
    again = rng.choice(5, 50_000, p=truncated / truncated.sum())
    assert chi_square(channel, x, again) < ALARM
    # A number on a cut taken into the lower cell.
    wrong = np.searchsorted(channel.cuts, np.full(50_000, channel.cuts[0]), side="left")
    assert chi_square(channel, 1, channel.inner.sample(wrong, rng)) < ALARM


class CellForgotten(Binned):
    def _draw(self, x, randbelow):
        return x


def test_audit_finds_a_cell_that_is_sent_as_it_is():
    table = NUMERIC[3].table
    assert audit(table, samples=2000).passes
    assert not audit(CellForgotten(table.cuts, table.inner), samples=2000).passes


def test_cells_and_likelihood():
    channel = channels.binned(["-1.5", 0, 2.25], channels.subset(4, 1.0, 2))
    answers = [-1e300, -1.5000001, -1.5, -1, -0.0, 0, 2.2499999, 2.25, 7]
    assert channel.cells(answers).tolist() == [0, 0, 1, 1, 2, 2, 2, 3, 3]
    reports = channel.sample(answers, 1)
    assert (channel.likelihood(reports) == channel.inner.likelihood(reports)).all()
    assert channel.likelihood(reports).shape == (9, 4)
    assert channel.matrix().tolist() == channel.inner.matrix().tolist()
    assert (channel.tally(reports) == channel.inner.tally(reports)).all()
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    mean = channel.frequencies(theta)
    assert channel.unbiased(mean, 10)[0] == pytest.approx(theta)
    assert channel.check_reports([[0, 1]]).tolist() == [[0, 1]]
    assert (channel.numeric, channel.inner.numeric, channel.k) == (True, False, 4)


def test_probability_of_a_report_by_brute_force():
    """A normal answer through a graded channel: the mixture over cells against simulated reports."""
    channel = channels.graded(40, 60, 3, 2.0)
    cells = np.diff(norm.cdf([-np.inf, *channel.cuts, np.inf], 52, 8))
    law = channel.likelihood(channel.reports()) @ cells
    answers = np.random.default_rng(5).normal(52, 8, 400_000)
    counts = np.bincount(channel.sample(answers, 6), minlength=4)
    # Each count is within six standard deviations: a false alarm in 2e9 a cell, and the seed is fixed.
    assert (np.abs(counts / 4e5 - law / law.sum()) < 6 * np.sqrt(0.25 / 4e5)).all()


def test_wire_form_equality_and_repr():
    for channel in [*NUMERIC, channels.binned(np.arange(40), channels.hashed(41, 2.0))]:
        again = channels.from_json(channel.to_json())
        assert (again, again.id, again.inner) == (channel, channel.id, channel.inner)
        assert again.loss == channel.inner.loss <= channel.epsilon
    assert repr(NUMERIC[3]) == "binned([20, 40, 60], srr(k=4, epsilon=1))"
    assert repr(NUMERIC[0]) == "binned([50], <channel from a 2 x 2 matrix, epsilon=1>)"
    assert repr(channels.binned(np.arange(40), channels.srr(41, 1))).startswith("binned([<40 from 0 to 39>]")
    assert channels.binned([1], channels.srr(2, 1)) != channels.binned([2], channels.srr(2, 1))


def refused(call, argument, code="argument_invalid"):
    with pytest.raises(TacitError) as refusal:
        call()
    assert (refusal.value.code, refusal.value.argument) == (code, argument)
    assert refusal.value.hint


NAN, INF = float("nan"), float("inf")
BAD_NUMBER = [
    NAN,
    INF,
    -INF,
    True,
    None,
    "x",
    "1e3",
    "",
    [1],
    1j,
    Decimal("NaN"),
    Decimal("1E+9999999"),
    b"1",
]


def test_refusals_of_graded():
    for bad in BAD_NUMBER:
        refused(lambda bad=bad: channels.graded(bad, 80, 1, 1.0), "lo")
        refused(lambda bad=bad: channels.graded(20, bad, 1, 1.0), "hi")
    for ends in ((80, 20), (20, 20), ("20.0", 20), (0.1, "0.1")):
        refused(lambda ends=ends: channels.graded(*ends, 1, 1.0), "hi")
    for steps in (0, -1, 129, 10**9, 1.0, True, None, "1", NAN):
        refused(lambda steps=steps: channels.graded(0, 1, steps, 1.0), "steps")
    for epsilon in (0, -1, 50.1, NAN, INF, True, "1", None):
        refused(lambda epsilon=epsilon: channels.graded(0, 1, 1, epsilon), "epsilon")
    for ends in (
        (0, Fraction(1, 10**60)),
        (0, 10**60),
        (0, 10**400),
        (-1e300, 1e300),
        (Fraction(1, 3), Fraction(1, 3) + 10**-45),
    ):
        refused(lambda ends=ends: channels.graded(*ends, 3, 1.0), "hi")


def test_refusals_of_binned():
    pair = channels.srr(2, 1.0)
    for bad in (
        [],
        [NAN],
        [INF],
        [True],
        ["x"],
        [1, 1],
        [2, 1],
        [[1]],
        None,
        5,
        "1",
        [0.1, "0.10"],
        np.array(1.5),
    ):
        refused(lambda bad=bad: channels.binned(bad, pair), "edges")
    refused(lambda: channels.binned([Fraction(1, 3)], pair), "edges")
    refused(lambda: channels.binned([1, 2], pair), "edges", "channel_mismatch")
    for bad in (NUMERIC[0], pair.table, None, "srr", 1):
        refused(lambda bad=bad: channels.binned([1], bad), "channel")
    for bad in (NUMERIC[0].table, pair, None):
        refused(lambda bad=bad: build.binned([1], bad), "inner")


def test_refusals_of_answers():
    channel = NUMERIC[0]
    for bad in ([NAN], [INF, 1], [], [True], [1, True], ["1"], [[1.0]], None, 3, [None], [1, [2]], [1j]):
        refused(lambda bad=bad: channel.cells(bad), "answers")
        refused(lambda bad=bad: channel.sample(bad, 1), "answers")
    for bad in (50.0, True, None, "x", "1e1", NAN, Decimal("NaN"), np.float64(1)):
        refused(lambda bad=bad: channel.respond(bad), "answer", "answer_unknown")
    assert channel.respond(np.int64(50)) in (0, 1)
    refused(lambda: channel.sample([1.0], None), "rng")
    refused(lambda: channel.likelihood([2]), "reports", "report_impossible")


def test_no_channel_of_numbers_exists_above_its_epsilon():
    leaks = Binned((Fraction(1),), Dense(2, Fraction(1), ((3, 1), (1, 3))))
    refused(lambda: channels.from_table(leaks), "epsilon", "channel_leaks")
    assert channels.from_table(Binned((Fraction(1),), Subsets(2, Fraction(2), None, 1, 3, 1))).loss > 1

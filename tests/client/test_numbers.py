"""Numbers on a device: cells by exact comparison, rounds whose every cell can be answered, answers never shown."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from client_support import attempt, refused, rows
from hypothesis import given
from hypothesis import strategies as st

from tacit_client import Device, Question, Round, Store, TacitError, build, check
from tacit_client.tables import Binned, Blocks, Dense

AGE = Question("age", "How old are you?", unit="years", lowest="18", highest="99.5", step="0.5")
COLD = Question("cold", "How cold?", unit="°C", lowest="-40", highest="0", step="10")
ONE = Fraction(1)
PAIR = Blocks(2, ONE, (), (0, 0, 0), (2, 0, 1))
LIAR = Binned((Fraction(40),), Blocks(2, ONE, (), (0, 0, 0), (99, 0, 1)))


def asked(channel, question=AGE, study="ages"):
    return Round(study, question, 0, channel, None)


def by_number(cell_count, cuts, x):
    """The cell, counted another way: the last one whose lower end is not above x."""
    ends = [None, *sorted(cuts)]
    return max(i for i in range(cell_count) if i == 0 or ends[i] <= x)


decimals = st.decimals(min_value=-1000, max_value=1000, allow_nan=False, places=3).map(Fraction)


@given(st.sets(decimals, min_size=1, max_size=8), decimals)
def test_a_number_on_a_cut_is_in_the_upper_cell(cuts, x):
    table = Binned(tuple(sorted(cuts)), Blocks(len(cuts) + 1, ONE, (), (0, 0, 0), (2, 0, 1)))
    assert table.cell(x) == by_number(table.k, cuts, x)
    for i, cut in enumerate(table.cuts):
        assert (table.cell(cut - Fraction(1, 10**40)), table.cell(cut)) == (i, i + 1)


BAD_CUTS = [
    (),
    [Fraction(1)],
    (1,),
    (1.5,),
    ("1",),
    (Fraction(1), Fraction(2)),
    (Fraction(2), Fraction(1)),
    (Fraction(1), Fraction(1)),
    (Fraction(1, 3),),
    (Fraction(1, 2**200),),
    (Fraction(10**40),),
    (Fraction(-(10**39)),),
    (Fraction(1, 10**39),),
    None,
]


@pytest.mark.parametrize("cuts", BAD_CUTS, ids=lambda v: str(v)[:30])
def test_cuts_are_increasing_decimals_one_less_than_cells(cuts):
    with refused("channel_weights"):
        Binned(cuts, PAIR)
    assert Binned((Fraction(1, 10**38),), PAIR).k == 2


@pytest.mark.parametrize("inner", [Binned((ONE,), PAIR), None, "srr", Binned])
def test_only_a_finite_table_is_inside(inner):
    with refused("channel_weights"):
        Binned((ONE,), inner)


GOOD = [
    build.graded(18, 99.5, 1, 1),
    build.graded("17.9", 60, 16, 1),
    build.binned([18.5, 99.5], build.srr(3, 1)),
    build.binned(["18.0001", "18.6"], build.srr(3, 1)),
    build.binned(["18.2", "99.2"], build.coarse(3, [1], 1)),
]


@pytest.mark.parametrize("table", GOOD, ids=lambda t: str(t.cuts[0]))
def test_every_cell_of_a_round_can_be_answered(table):
    given = asked(table)
    assert Round.from_json(given.to_json()) == given
    steps = range(int((Fraction("99.5") - 18) * 2) + 1)
    assert {table.cell(18 + Fraction(i, 2)) for i in steps} == set(range(table.k))


BAD = {
    "at the lowest answer": [18],
    "below it": [17],
    "above the highest answer": [99.6],
    "far above": [10**30],
    "between the same two answers": [50.1, 50.4],
    "one on an answer, one just below": [50.1, 50.5],
    "the last above": [20, 99.51],
}


@pytest.mark.parametrize("name", BAD)
def test_a_round_with_a_cell_that_nobody_can_answer_is_refused(name):
    table = build.binned(BAD[name], build.srr(len(BAD[name]) + 1, 1))
    answers = [18 + Fraction(i, 2) for i in range(164)]
    assert {table.cell(x) for x in answers} != set(range(table.k))
    with refused("channel_mismatch"):
        asked(table)


def test_numbers_need_cuts_and_labels_need_none():
    for table in (build.srr(2, 1), build.hashed(50, 1)):
        with refused("channel_mismatch"):
            asked(table)
    with refused("channel_mismatch"):
        asked(build.graded(0, 1, 1, 1), Question("tea", "Tea or coffee?", ("tea", "coffee")))
    text = asked(GOOD[0]).to_json()
    with refused("channel_mismatch"):
        Round.from_json(text.replace('"cuts":["58.75"]', '"cuts":["17"]'))


@pytest.mark.parametrize("answer", ["41.5", "41.50", "041.5", Decimal("41.5"), Decimal("4.15E+1")])
def test_an_answer_has_one_value_however_it_is_spelt(answer):
    assert AGE.number(answer) == Fraction("41.5")


def test_a_question_of_labels_has_no_numbers():
    with refused("field_invalid"):
        Question("tea", "Tea or coffee?", ("1", "2")).number("1")


OFF_SCALE = ["17.5", "100", "41.6", "-41.5", "1e2", "NaN", "", " 20", "20 ", "٤٠", "20,5", "9" * 41, "twenty"]
OFF_SCALE += [17, 10**50, True, False, 20.0, float("nan"), None, [20], b"20", Fraction(20)]
OFF_SCALE += [Decimal(x) for x in ("17", "NaN", "sNaN", "Infinity", "41.6", "1E+999999", "1E-999999")]


@pytest.mark.parametrize("answer", OFF_SCALE, ids=repr)
def test_an_answer_off_the_scale_is_refused_and_never_shown(answer, tmp_path):
    device = Device(Store(tmp_path / "store"), 1, 5)
    with refused("answer_unknown") as caught:
        device.answer(asked(GOOD[0]), answer)
    error = caught.value
    assert error.argument == "answer"
    shown = f"<{error.message}{error.__cause__}{error.__context__}>"
    if answer not in (None, ""):
        assert str(answer) not in shown
    assert rows(tmp_path / "store") == []
    assert device.answer(asked(GOOD[0]), 20)


def test_a_number_is_answered_once_within_the_cap(tmp_path):
    device = Device(Store(tmp_path / "store"), 1, 100)
    for number, answer in enumerate(["18", 99, Decimal("99.5"), "58.5"]):
        for index, table in enumerate(GOOD):
            given = asked(table, study=f"s{number}-{index}")
            report = device.answer(given, answer)
            assert table.check_report(report.value) == report.value
            assert device.answer(given, "20") == report
    for table, code in ((build.graded(18, 90, 2, 2), "loss_above_cap"), (LIAR, "channel_leaks")):
        errors = [attempt(device.answer, asked(table, study="more"), answer) for answer in ("18", "99", "x")]
        assert {error.code for error in errors} == {code}
        assert len({str(error) for error in errors}) == 1


class Whole(Dense):
    """Reports the cell itself: what the device hands to the randomiser."""

    def _draw(self, x, randbelow):
        return x


@pytest.mark.parametrize(
    ("answer", "cell"), [("-40", 0), ("-30", 0), ("-20", 1), ("-10", 2), (0, 2), ("-0", 2)]
)
def test_the_device_gives_the_randomiser_the_cell(answer, cell, tmp_path):
    rows = Whole(3, ONE, ((2, 1, 1), (1, 2, 1), (1, 1, 2)))
    given = asked(Binned((Fraction("-20.5"), Fraction(-10)), rows), COLD)
    assert Device(Store(tmp_path / "store"), 1, 5).answer(given, answer).value == cell


def test_two_questions_that_differ_in_scale_have_different_ids():
    table = build.binned([50], build.srr(2, 1))
    scales = [AGE, replace(AGE, step="0.25"), replace(AGE, lowest="18.5"), replace(AGE, highest="100")]
    assert len({asked(table, question).id for question in scales}) == 4


def test_decimals_are_written_in_one_way():
    for text in ("0", "-1.5", "20", "-0.001", "1" * 40, "-0." + "0" * 36 + "1", "-" + "9" * 39):
        number = check.parse_signed_decimal(text, "n")
        assert check.format_decimal(number) == text
        assert check.fits_signed_decimal(number)
    for text in ("-0", "+1", "1.0", "01", "", "1e2", "1" * 41, ".5", "5.", " 5", "NaN", None, 5, ["5"]):
        with refused("field_invalid"):
            check.parse_signed_decimal(text, "n")


def test_a_decimal_with_a_huge_exponent_costs_nothing():
    for bad in (Decimal("1E+999999999"), Decimal("1E-999999999"), Decimal("-1E+2000")):
        for call in (check.epsilon, check.answered_number, lambda x: build.graded(0, x, 1, 1)):
            assert isinstance(attempt(call, bad), TacitError)


def test_the_wire_form_is_the_documented_one():
    table = build.binned(["-1.5", 0], build.subset(3, 1))
    assert asked(table, replace(AGE, lowest="-2", highest="1")).message()["channel"] == {
        "type": "channel",
        "version": "1",
        "kind": "binned",
        "k": "3",
        "epsilon": "1",
        "cuts": ["-1.5", "0"],
        "inner": {"kind": "subset", "size": "1", "own": "5977564955925", "other": "2199023255552"},
    }

"""Question, Round, Report and Receipt: one form each, read back unchanged, and refused when out of order."""

import hashlib
import re
import secrets
from dataclasses import replace

import pytest
from client_support import HEAD, asked, canonical, refused

from tacit_client import Question, Receipt, Report, Round, build, value_from_text, value_to_text
from tacit_client import canonical as wire

QUESTION = Question("drink", "What do you drink?", ("tea", "coffee"))
NUMERIC = Question("age", "How old are you?", unit="years", lowest="18", highest="99.5", step="0.5")
FIRST = Round("office", QUESTION, 0, build.srr(2, 1), None)
LATER = replace(FIRST, number=3, previous=HEAD)
REPORT = Report("0f" * 16, "office", HEAD, 1)
RECEIPT = Receipt("0f" * 16, HEAD)
MESSAGES = [
    QUESTION,
    replace(QUESTION, labels=("été", "日本", "\U0001f375", 'say "tea" \\ now')),
    NUMERIC,
    replace(NUMERIC, lowest="-1.5", highest="0", step="0.25"),
    FIRST,
    LATER,
    replace(FIRST, channel=build.hashed(2, 1)),
    replace(FIRST, number=10**9, previous=HEAD),
    REPORT,
    replace(REPORT, value=0),
    replace(REPORT, value=(2**31, 0, 7)),
    replace(REPORT, value=(4,)),
    RECEIPT,
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_a_message_is_read_back(message):
    text = message.to_json()
    for form in (text, text.encode()):
        read = type(message).from_json(form)
        assert read == message
        assert read.to_json() == text
    assert canonical(wire.decode(text)) == text


@pytest.mark.parametrize("value", [3, (3,), (1, 2, 3), ()])
def test_a_report_keeps_the_type_of_its_value(value):
    read = Report.from_json(replace(REPORT, value=value).to_json())
    assert read.value == value
    assert type(read.value) is type(value)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_fields_are_exactly_the_known_ones(message):
    fields = wire.decode(message.to_json())
    for name in fields:
        with refused("field_missing", "field_invalid"):
            type(message).from_json(canonical({k: v for k, v in fields.items() if k != name}))
        for value in ({}, {"a": "b"}, [["1"]], True):
            with refused("field_invalid", "field_missing", "version_unknown", "message_malformed"):
                type(message).from_json(canonical(fields | {name: value}))
    with refused("field_unknown"):
        type(message).from_json(canonical(fields | {"answer": "tea"}))
    with refused("version_unknown"):
        type(message).from_json(canonical(fields | {"version": "2"}))
    with refused("field_invalid"):
        type(message).from_json(canonical(fields | {"type": "channel"}))


@pytest.mark.parametrize("reader", [Question, Round, Report, Receipt])
def test_one_message_is_not_taken_for_another(reader):
    for message in (QUESTION, FIRST, REPORT, RECEIPT):
        if type(message) is not reader:
            with refused("field_invalid") as caught:
                reader.from_json(message.to_json())
            assert caught.value.argument == "type"


def test_the_id_of_a_round_is_the_hash_of_its_bytes():
    for given in (FIRST, LATER):
        assert given.id == hashlib.sha256(given.to_json().encode()).hexdigest()
        assert Round.from_json(given.to_json()).id == given.id
        assert re.fullmatch("[0-9a-f]{64}", given.id)


def test_the_id_of_a_round_changes_with_every_field():
    channel = LATER.channel
    others = [
        replace(LATER, study="Office"),
        replace(LATER, number=4),
        replace(LATER, number=0, previous=None),
        replace(LATER, previous="cd" * 32),
        replace(LATER, question=replace(QUESTION, id="drinks")),
        replace(LATER, question=replace(QUESTION, text="What do you drink now?")),
        replace(LATER, question=replace(QUESTION, labels=("coffee", "tea"))),
        replace(LATER, question=replace(QUESTION, labels=("tea", "Coffee"))),
        replace(LATER, channel=build.srr(2, 2)),
        replace(LATER, channel=replace(channel, epsilon=2 * channel.epsilon)),
        replace(LATER, channel=replace(channel, outside=(channel.outside[0] - 1, 0, channel.outside[2]))),
        replace(LATER, channel=build.hashed(2, 1)),
    ]
    assert len({given.id for given in [LATER, *others]}) == len(others) + 1


LABELS = [
    (),
    ("tea",),
    ("tea", "tea"),
    ("tea", "coffee", "tea"),
    ("tea", ""),
    ("tea", " "),
    ("tea", "\u00a0\u3000\u2003"),
    ("tea", "x" * 201),
    ("tea", 3),
    ("tea", None),
    ("tea", b"coffee"),
    ["tea", "coffee"],
    "tea",
    None,
    ("tea", "\ud800"),
    ("tea", "cof\udfffee"),
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda v: ascii(v)[:30])
def test_labels_are_distinct_words(labels):
    with refused("field_invalid"):
        Question("q", "Which?", labels)


HIDDEN = ["\x00", "\x07", "\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029"]
HIDDEN += [chr(c) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]


@pytest.mark.parametrize("character", HIDDEN, ids=ascii)
def test_control_and_bidi_characters_are_refused(character):
    for text in (f"te{character}a", f"tea{character}", f"{character}tea", character):
        with refused("field_invalid"):
            Question("q", "Which?", ("coffee", text))
        with refused("field_invalid"):
            Question("q", text, ("tea", "coffee"))
        with refused("field_invalid"):
            replace(NUMERIC, unit=text)


@pytest.mark.parametrize("character", ["\u200e", "\u200f", "\u061c"], ids=ascii)
def test_all_twelve_bidi_controls_of_unicode_are_refused(character):
    # The marks LRM, RLM and ALM have the property Bidi_Control as the nine others do.
    with refused("field_invalid"):
        Question("q", "Which?", ("coffee", f"te{character}a"))


@pytest.mark.parametrize("character", ["\u200b", "\u2060", "\ufeff", "\u00ad", "\U000e0041"], ids=ascii)
def test_characters_that_nobody_sees_are_refused(character):
    # A server could offer two labels that look the same, or one that looks blank.
    for labels in (("tea", f"tea{character}"), ("tea", character)):
        with refused("field_invalid"):
            Question("q", "Which?", labels)


@pytest.mark.parametrize("text", ["", "  ", "x" * 2001, None, 3, ("a",)], ids=lambda v: str(v)[:9])
def test_the_text_of_a_question_is_not_blank_or_endless(text):
    with refused("field_invalid"):
        Question("q", text, ("tea", "coffee"))
    assert Question("q", "x" * 2000, ("tea", "y" * 200)).labels[1] == "y" * 200


NAMES = [
    "",
    ".a",
    "-a",
    "_a",
    "a b",
    "a/b",
    "a\n",
    "\n",
    "é",
    "a" * 65,
    "\uff41",
    "a\x00",
    None,
    3,
    b"a",
    True,
]


@pytest.mark.parametrize("name", NAMES, ids=lambda v: ascii(v)[:12])
def test_names_are_plain(name):
    with refused("field_invalid"):
        replace(QUESTION, id=name)
    with refused("field_invalid"):
        replace(FIRST, study=name)
    with refused("field_invalid"):
        replace(REPORT, study=name)


RANGES = [
    {"lowest": "99.5", "highest": "18"},
    {"lowest": "18", "highest": "18"},
    {"step": "0"},
    {"step": "-0.5"},
    {"step": "0.4"},
    {"step": "100"},
    {"lowest": None},
    {"highest": None},
    {"step": None},
    {"unit": None},
    {"unit": ""},
    {"lowest": "-0"},
    {"lowest": "+18"},
    {"lowest": "018"},
    {"highest": "99.50"},
    {"highest": "1e2"},
    {"highest": "NaN"},
    {"highest": "Infinity"},
    {"highest": "\u0669\u0669"},
    {"highest": "9" * 41},
    {"lowest": 18},
    {"labels": ("young", "old")},
]


@pytest.mark.parametrize("fields", RANGES, ids=str)
def test_a_numeric_question_has_a_range_in_order(fields):
    with refused("field_invalid"):
        replace(NUMERIC, **fields)


@pytest.mark.parametrize("k", [2, 4, 50])
def test_the_channel_fits_the_question(k):
    with refused("channel_mismatch"):
        asked(channel=build.srr(k, 1))
    fields = wire.decode(asked().to_json())
    fields["channel"] = wire.decode(asked(labels=tuple(map(str, range(k)))).to_json())["channel"]
    with refused("channel_mismatch"):
        Round.from_json(canonical(fields))


def test_a_numeric_question_needs_a_channel_for_numbers():
    with refused("channel_mismatch"):
        Round("office", NUMERIC, 0, build.srr(2, 1), None)


BAD_HASHES = ["", "ab", "AB" * 32, "ab" * 31, "ab" * 33, "zz" * 32, HEAD + "\n", 3, b"ab" * 32, True]


@pytest.mark.parametrize("bad", [*BAD_HASHES, None], ids=lambda v: str(v)[:9])
def test_the_chain_of_rounds_is_in_order(bad):
    with refused("field_invalid"):
        Round("office", QUESTION, 1, FIRST.channel, bad)
    if bad is not None:
        with refused("field_invalid"):
            Round("office", QUESTION, 0, FIRST.channel, bad)
    with refused("field_invalid"):
        replace(REPORT, round=bad)
    with refused("field_invalid"):
        Receipt(REPORT.id, bad)


@pytest.mark.parametrize("number", [-1, 10**9 + 1, True, 1.0, "1", None])
def test_the_number_of_a_round_is_in_range(number):
    with refused("argument_invalid"):
        replace(LATER, number=number)


@pytest.mark.parametrize("bad", ["", "0f" * 15, "0F" * 16, "0f" * 17, "0f" * 16 + "\n", "xy" * 16, None, 7])
def test_ids_of_reports_are_32_digits(bad):
    with refused("field_invalid"):
        replace(REPORT, id=bad)
    with refused("field_invalid"):
        Receipt(bad, HEAD)


@pytest.mark.parametrize("value", [-1, 2**31 + 1, True, (True,), 1.0, "1", None, [1], (1, -1), ((1,),)])
def test_the_value_of_a_report_is_in_range(value):
    with refused("argument_invalid"):
        replace(REPORT, value=value)


@pytest.mark.parametrize("value", ["", "01", "-1", "2147483649", "1.0", "\u0661", {"a": "1"}, ["1", "01"]])
def test_the_written_value_of_a_report_is_in_range(value):
    with refused("field_invalid"):
        Report.from_json(canonical(wire.decode(REPORT.to_json()) | {"value": value}))


def test_report_ids_are_128_random_bits():
    ids = [Report.new_id() for _ in range(10_000)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[0-9a-f]{32}", i) for i in ids)
    # Each of the 128 bits is a fair coin: six standard deviations of 10,000 throws are 300.
    ones = [sum(int(i, 16) >> bit & 1 for i in ids) for bit in range(128)]
    assert max(abs(n - 5000) for n in ones) < 350


def test_report_ids_come_from_the_operating_system(monkeypatch):
    asked_for = []
    monkeypatch.setattr(secrets, "token_bytes", lambda n=None: asked_for.append(n) or b"\x01" * n)
    assert Report.new_id() == "01" * 16
    assert asked_for == [16]


VALUES = [
    (build.srr(10, 1), 7, "7"),
    (build.srr(10, 1), 0, "0"),
    (build.subset(10, 1, size=1), (7,), "7"),
    (build.subset(10, 1, size=3), (0, 3, 9), "0,3,9"),
    (build.hashed(5000, 2), (2**31 - 2, 0, 7), "2147483646,0,7"),
    (build.graded(20, 80, steps=4, epsilon=1), 4, "4"),
    (build.binned([20, 40], build.subset(3, 1, size=2)), (0, 2), "0,2"),
]


@pytest.mark.parametrize(("channel", "value", "text"), VALUES)
def test_a_value_is_one_cell_of_a_table(channel, value, text):
    assert value_to_text(value) == text
    read = value_from_text(text, channel)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text", ["", " 7", "7 ", "+7", "-7", "07", "7.0", "7,", ",7", "0, 3,9", "\u0667", "1e1", 7, None, b"7"]
)
@pytest.mark.parametrize("channel", [VALUES[0][0], VALUES[2][0], VALUES[3][0]])
def test_a_value_has_one_spelling(text, channel):
    with refused("field_invalid"):
        value_from_text(text, channel)


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        (VALUES[0][0], "10"),
        (VALUES[0][0], "7,7"),
        (VALUES[2][0], "3,4"),
        (VALUES[3][0], "7"),
        (VALUES[3][0], "0,9,3"),
        (VALUES[3][0], "0,3,3"),
        (VALUES[3][0], "0,3,10"),
        (VALUES[4][0], "0,1,1"),
        (VALUES[4][0], "1,1"),
    ],
)
def test_a_value_that_the_channel_cannot_make(channel, text):
    with refused("report_impossible"):
        value_from_text(text, channel)


@pytest.mark.parametrize("value", [(), -1, 2**31 + 1, True, 1.0, "7", None])
def test_what_is_no_value_has_no_text(value):
    with refused("field_invalid", "argument_invalid"):
        value_to_text(value)

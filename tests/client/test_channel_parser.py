"""A channel is read only when every field is in order; whatever else comes is refused with a TacitError."""

from fractions import Fraction

import pytest
from client_support import attempt, canonical, refused, run, worker
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit_client import Round, TacitError, build, certify, channel_id, channel_text, parse_channel
from tacit_client import canonical as wire
from tacit_client.channel import channel_message
from tacit_client.errors import CODES
from tacit_client.tables import Binned, Blocks, Dense, Hashed, Subsets
from tacit_client.tables.binned import MAX_CUTS

TABLES = {
    "blocks": build.rrrr(6, [0, 3], 1, 0.5),
    "srr": build.srr(4, 1),
    "subset": build.subset(7, 1, 3),
    "coarse": build.coarse(9, [1, 4, 6], 1, 2),
    "hashed": build.hashed(50, 1),
    "dense": build.dense([[0.7, 0.4, 0.5], [0.3, 0.6, 0.5]], 1),
    "binned": build.binned([-1, "0.5", 7], build.srr(4, 1)),
    "graded": build.graded(20, 80, 2, 1),
}
MANY = 2**21


def changed(name, **fields):
    """The text of a good channel with some fields replaced; `...` takes a field away."""
    message = channel_message(TABLES[name]) | fields
    return canonical({key: value for key, value in message.items() if value is not ...})


@pytest.mark.parametrize("name", TABLES)
def test_a_good_channel_is_read_back(name):
    text = channel_text(TABLES[name])
    assert canonical(channel_message(TABLES[name])) == text
    for form in (text, text.encode()):
        assert parse_channel(form) == TABLES[name]
    assert channel_id(parse_channel(text)) == channel_id(TABLES[name])
    assert len({channel_id(table) for table in TABLES.values()}) == len(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_no_field_may_be_missing_or_unknown(name):
    for field in channel_message(TABLES[name]):
        if field == "keep":  # without it, it is another channel: subset response over all categories
            continue
        with refused("field_missing", "field_invalid" if field == "kind" else "field_missing"):
            parse_channel(changed(name, **{field: ...}))
    for field in ("", "extra", "Kind", "k ", "rows" if name != "dense" else "own", "\u212a"):
        with refused("field_unknown"):
            parse_channel(changed(name, **{field: "1"}))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("value", [True, False, None, [], ["1"], {}, {"a": "1"}, "", "x", "\u0661"])
def test_no_field_takes_another_type(name, value):
    for field in channel_message(TABLES[name]):
        if field == "subset" and value == []:
            continue
        error = attempt(parse_channel, changed(name, **{field: value}))
        assert isinstance(error, TacitError), (field, value)
        expected = {FIELD, WEIGHTS, ZERO, "version_unknown", "message_malformed"}
        expected |= {"field_missing", "field_unknown"} if field == "inner" else set()
        assert error.code in expected
        assert error.hint


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("version", ["2", "0", "1.0", "01", "1 ", ["1"], None])
def test_another_version_is_not_guessed_at(name, version):
    with refused("version_unknown"):
        parse_channel(changed(name, version=version))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("field", ["type", "kind"])
def test_another_type_or_kind_is_refused(name, field):
    for value in ("round", "Channel", "channel ", "Blocks", "unary", ["subset"], {"a": "b"}):
        with refused("field_invalid"):
            parse_channel(changed(name, **{field: value}))


BAD_K = ["0", "1", str(MANY + 1), "9" * 128, "9" * 129, "-2", "+4", "04", "4.0", "4e0", " 4", "\u0664", ["4"]]
BAD_EPSILON = ["0", "51", "50.1", "1.0", "1e0", "-1", "+1", ".5", "1.", "01", "1/2", "NaN", "inf", "Infinity"]
BAD_EPSILON += [
    "0.0000000009",
    "0." + "0" * 60 + "1",
    "9" * 128,
    "0." + "1" * 127,
    "1,5",
    "0x1",
    "1 ",
    "\u0661",
    "1\u0661",
    "0.\u06611",
]


@pytest.mark.parametrize("name", TABLES)
def test_k_and_epsilon_are_in_range(name):
    for k in BAD_K:
        with refused("field_invalid"):
            parse_channel(changed(name, k=k))
    for epsilon in BAD_EPSILON:
        with refused("field_invalid"):
            parse_channel(changed(name, epsilon=epsilon))


@pytest.mark.parametrize("epsilon", ["0.000000001", "50", "0.1", "1.5", "0." + "1" * 40])
def test_the_extremes_of_epsilon_are_read_exactly(epsilon):
    table = parse_channel(changed("subset", epsilon=epsilon))
    assert table.epsilon == Fraction(epsilon)
    assert channel_message(table)["epsilon"] == epsilon


ROW = channel_message(TABLES["blocks"])["outside"]
DENSE = channel_message(TABLES["dense"])["rows"]
INNER = channel_message(TABLES["binned"])["inner"]
WEIGHTS, ZERO, FIELD = "channel_weights", "channel_infinite_loss", "field_invalid"
REFUSALS = [
    ("blocks", {"inside": ["0", "0", "0"]}, ZERO),
    ("blocks", {"inside": ["9", "0", "1"]}, ZERO),
    ("blocks", {"inside": ["9", "1", "0"]}, ZERO),
    ("blocks", {"outside": [ROW[0], ROW[1], "0"]}, ZERO),
    ("blocks", {"outside": [ROW[0], "0", ROW[2]]}, ZERO),
    ("blocks", {"outside": ["-1", ROW[1], ROW[2]]}, FIELD),
    ("blocks", {"outside": [str(int(ROW[0]) + 1), *ROW[1:]]}, WEIGHTS),
    ("blocks", {"outside": ROW[:2]}, WEIGHTS),
    ("blocks", {"outside": [*ROW, "1"]}, WEIGHTS),
    ("blocks", {"outside": [ROW[0], ROW[1], {"w": "1"}]}, FIELD),
    ("blocks", {"outside": [ROW[0], ROW[1], [ROW[2]]]}, FIELD),
    ("blocks", {"inside": ["1", "2", "1"]}, WEIGHTS),
    ("blocks", {"subset": ["0", "0"]}, WEIGHTS),
    ("blocks", {"subset": ["3", "0"]}, WEIGHTS),
    ("blocks", {"subset": ["0", "6"]}, FIELD),
    ("blocks", {"subset": ["0", "-1"]}, FIELD),
    ("blocks", {"subset": ["0", "1", "2", "3", "4", "5"]}, WEIGHTS),
    ("blocks", {"subset": "03"}, FIELD),
    ("blocks", {"subset": [["0"], ["3"]]}, FIELD),
    ("blocks", {"k": "3"}, FIELD),
    ("blocks", {"k": "7"}, WEIGHTS),
    ("srr", {"outside": ["0", "0", "0"]}, ZERO),
    ("srr", {"outside": ["3", "1", "1"]}, WEIGHTS),
    ("srr", {"outside": ["1", "0", "2"]}, WEIGHTS),
    ("srr", {"inside": ["1", "0", "0"]}, WEIGHTS),
    ("subset", {"own": "0", "other": "0"}, ZERO),
    ("subset", {"other": "0"}, ZERO),
    ("subset", {"own": "0"}, WEIGHTS),
    ("subset", {"own": "-1"}, FIELD),
    ("subset", {"other": "-1"}, FIELD),
    ("subset", {"own": "1", "other": "2"}, WEIGHTS),
    ("subset", {"size": "0"}, WEIGHTS),
    ("subset", {"size": "7"}, WEIGHTS),
    ("subset", {"size": "8"}, FIELD),
    ("subset", {"size": "-1"}, FIELD),
    ("subset", {"size": "9" * 128}, FIELD),
    ("coarse", {"keep": []}, WEIGHTS),
    ("coarse", {"keep": ["1", "1", "6"]}, WEIGHTS),
    ("coarse", {"keep": ["4", "1", "6"]}, WEIGHTS),
    ("coarse", {"keep": ["1", "4", "9"]}, FIELD),
    ("coarse", {"keep": ["1", "4", "-6"]}, FIELD),
    ("coarse", {"keep": [str(x) for x in range(8)]}, WEIGHTS),
    ("coarse", {"keep": [str(x) for x in range(9)]}, WEIGHTS),
    ("coarse", {"keep": None}, FIELD),
    ("coarse", {"keep": {"1": "1"}}, FIELD),
    ("coarse", {"size": "0"}, WEIGHTS),
    ("coarse", {"size": "4"}, WEIGHTS),
    ("hashed", {"buckets": "0"}, WEIGHTS),
    ("hashed", {"buckets": "1"}, WEIGHTS),
    ("hashed", {"buckets": "257"}, WEIGHTS),
    ("hashed", {"buckets": "-2"}, FIELD),
    ("hashed", {"other": "0"}, ZERO),
    ("hashed", {"own": "0"}, WEIGHTS),
    ("hashed", {"own": {"own": "1"}}, FIELD),
    ("dense", {"rows": []}, WEIGHTS),
    ("dense", {"rows": [[], []]}, WEIGHTS),
    ("dense", {"rows": [DENSE[0]]}, WEIGHTS),
    ("dense", {"rows": [DENSE[0], DENSE[1][:2]]}, WEIGHTS),
    ("dense", {"rows": [DENSE[0], ["0", "0", "0"]]}, ZERO),
    ("dense", {"rows": [DENSE[0], ["0", *DENSE[1][1:]]]}, ZERO),
    ("dense", {"rows": [DENSE[0], ["-1", *DENSE[1][1:]]]}, FIELD),
    ("dense", {"rows": [["1", "1", "1"], ["1", "1", "2"]]}, WEIGHTS),
    ("dense", {"rows": "rows"}, WEIGHTS),
    ("dense", {"rows": [DENSE[0], "123"]}, FIELD),
    ("dense", {"rows": [DENSE[0], {"a": "1"}]}, FIELD),
    ("dense", {"rows": [DENSE[0], [DENSE[1]]]}, WEIGHTS),
    ("dense", {"k": "2"}, WEIGHTS),
    ("binned", {"k": "3"}, FIELD),
    ("binned", {"k": "5"}, FIELD),
    ("binned", {"k": str(MAX_CUTS + 2)}, FIELD),
    ("binned", {"cuts": ["0.5", "-1", "7"]}, WEIGHTS),
    ("binned", {"cuts": ["-1", "-1", "7"]}, WEIGHTS),
    ("binned", {"cuts": ["-1", "0.50", "7"]}, FIELD),
    ("binned", {"cuts": ["-1", "0.5", "7e9"]}, FIELD),
    ("binned", {"cuts": ["-1", "0.5", "9" * 41]}, FIELD),
    ("binned", {"cuts": ["-1", "0.5", ["7"]]}, FIELD),
    ("binned", {"inner": {}}, "field_missing"),
    ("binned", {"inner": [INNER]}, FIELD),
    ("binned", {"inner": INNER | {"kind": "binned"}}, FIELD),
    ("binned", {"inner": INNER | {"kind": ["blocks"]}}, FIELD),
    ("binned", {"inner": INNER | {"epsilon": "1"}}, "field_unknown"),
    ("binned", {"inner": INNER | {"outside": ["0", "0", "0"]}}, ZERO),
    ("graded", {"inner": {"kind": "dense", "rows": DENSE[:1]}}, WEIGHTS),
    ("graded", {"inner": {"kind": "dense", "rows": [row[:2] for row in DENSE]}}, WEIGHTS),
]


@pytest.mark.parametrize(("name", "fields", "code"), REFUSALS, ids=lambda v: str(v)[:50])
def test_weights_out_of_order_are_refused(name, fields, code):
    # A list of one wrong element is refused by whichever check comes first; a wrong sum has only one.
    with refused(*({code, FIELD} if code == WEIGHTS else {code})) as caught:
        parse_channel(changed(name, **fields))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("weight", ["1" + "0" * 128, "9" * 129, "1" * 5000])
@pytest.mark.parametrize("name", ["subset", "hashed"])
def test_a_weight_has_at_most_128_digits(name, weight):
    with refused("field_invalid"):
        parse_channel(changed(name, own=weight))
    assert parse_channel(changed(name, own="9" * 128)).own == 10**128 - 1


@pytest.mark.parametrize("name", TABLES)
def test_a_file_cut_anywhere_is_refused(name):
    data = channel_text(TABLES[name]).encode()
    for end in range(len(data)):
        with refused("message_malformed"):
            parse_channel(data[:end])
        with refused("message_malformed"):
            parse_channel(data[end + 1 :])
    assert parse_channel(data) == TABLES[name]


ONE = Fraction(1)
MANY_CUTS = tuple(Fraction(i, 1000) for i in range(-9000, MAX_CUTS - 9000))
LONG_CUTS = tuple(-(10**36) + Fraction(10 * i + 1, 10) for i in range(20_000))
LAST = tuple(range(MANY - 100_000, MANY))


def largest(*sizes):
    """Subset response with the first of these sizes that is accepted at all."""
    tables = (attempt(Subsets, MANY, ONE, None, size, 2, 1) for size in sizes)
    return next(table for table in tables if not isinstance(table, TacitError))


HOSTILE = {  # channels of 2^21 categories, or of as many weights, that a server could send in 1 MiB
    "subset": lambda: largest(MANY // 8, MANY // 16, MANY // 32, MANY // 512),
    "coarse": lambda: Subsets(MANY, ONE, LAST, 50_000, 2, 1),
    "blocks": lambda: Blocks(MANY, ONE, LAST, (2, 1, 1), (2, 1, 1)),
    "srr": lambda: Blocks(MANY, ONE, (), (0, 0, 0), (2, 0, 1)),
    "hashed": lambda: Hashed(MANY, ONE, 256, 10**127 * 2, 10**127),
    "binned": lambda: Binned(MANY_CUTS, Blocks(MAX_CUTS + 1, ONE, (), (0, 0, 0), (2, 0, 1))),
    "binned, long cuts": lambda: Binned(LONG_CUTS, Hashed(len(LONG_CUTS) + 1, ONE, 256, 2, 1)),
    "graded": lambda: build.graded("-0.0001", 10**30, 128, 1e-9),
    "dense, tall": lambda: Dense(2, ONE, ((1, 1),) * 100_000),
    "dense, wide": lambda: Dense(100_000, ONE, ((1,) * 100_000, (2,) * 100_000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_size_costs_bounded_time_and_memory(name, tmp_path):
    file = tmp_path / "channel.json"
    file.write_text(channel_text(HOSTILE[name]()))
    assert file.stat().st_size <= wire.MAX_BYTES
    ((loss, seconds, megabytes),) = (map(float, line.split()) for line in run("measure", file))
    assert 0 <= loss <= 1
    assert seconds < 40
    assert megabytes < 700


@pytest.mark.parametrize("digits", [20, 60, 127])
def test_a_ratio_next_to_one_is_certified_in_bounded_time(digits, tmp_path):
    # own / other = 1 + 10^-digits. A device that computes its loss for ever is a device out of order.
    file = tmp_path / "channel.json"
    file.write_text(changed("subset", own=str(10**digits + 1), other=str(10**digits)))
    assert certify(parse_channel(file.read_bytes())).holds
    with worker("measure", file) as process:
        out, _ = process.communicate(timeout=8)
    assert 0 < float(out.split()[0]) < 2 * 10.0**-digits


SCALARS = st.sampled_from(["0", "1", "2", "3", "-1", "01", "1.5", "50", "51", "9" * 128, "", "x", None, True])
TREES = st.recursive(
    SCALARS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
NAMES = sorted({field for table in TABLES.values() for field in channel_message(table)})


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), TREES, max_size=9))
def test_random_objects_raise_nothing_but_tacit_errors(message):
    for reader in (parse_channel, Round.from_json):
        error = attempt(reader, canonical(message))
        assert isinstance(error, TacitError)
        assert error.code in CODES
        assert error.hint


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(sorted(TABLES)), st.dictionaries(st.sampled_from(NAMES), TREES, max_size=3))
def test_random_fields_in_a_good_channel_are_refused_or_kept(name, fields):
    text = changed(name, **fields)
    table = attempt(parse_channel, text)
    if isinstance(table, TacitError):
        assert table.code in CODES
        assert table.hint
    else:
        assert channel_text(table) == text
        assert certify(table).ratio >= 1
        assert table.check_report(table.respond(table.k - 1)) is not None

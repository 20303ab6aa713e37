"""A message is accepted only when its canonical encoding is the bytes that came."""

import json
import time

import pytest
from client_support import asked, attempt, refused
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit_client import Receipt, TacitError, build, canonical, channel_text, check, parse_channel

NOT_CANONICAL = [
    '{"a":"1","a":"1"}',
    '{"a":"1","a":"2"}',
    '{"a":"1","\\u0061":"2"}',
    '{"a":{"b":"1","b":"1"}}',
    '{"a": "1"}',
    '{"a" :"1"}',
    ' {"a":"1"}',
    '{"a":"1"}\n',
    '{"a":["1", "2"]}',
    '{"a":"1",\r"b":"2"}',
    '{"b":"1","a":"2"}',
    '{"a":{"z":"1","y":"2"}}',
    '{"a":"\\u0041"}',
    '{"a":"\\/"}',
    '{"a":"\\u00e9"}',
    '{"a":"\\u001F"}',
    '{"a":"\\u000a"}',
    '{"a":"\\u202e"}',
    '{"a":"\\ud83d\\ude00"}',
]
MALFORMED = [
    '{"a":NaN}',
    '{"a":Infinity}',
    '{"a":-Infinity}',
    '{"a":1e999}',
    '{"a":-1e999}',
    '{"a":1}',
    '{"a":-0}',
    '{"a":1.5}',
    '{"a":[1]}',
    '{"a":%s}' % ("9" * 100_000),
    "7",
    "NaN",
    "[]",
    '["a"]',
    '[{"a":"1"}]',
    '"a"',
    "null",
    "",
    " ",
    "{",
    '{"a":"1"',
    '{"a":"1"}x',
    '{"a":"1"}{"a":"1"}',
    '{"a":"1",}',
    "{'a':'1'}",
    '{a:"1"}',
    '{"a":"1"}//',
    '{"a":"\n"}',
    '{"a":"\x00"}',
    '{"a":"\\x41"}',
    '{"a":"\\u12"}',
    '{"a":"\\ud800"}',
    '{"a":"\\udc00\\ud800"}',
    '{"\\udfff":"1"}',
    '{"a":"\ud800"}',
    '\ufeff{"a":"1"}',
    b"\xef\xbb\xbf{}",
    b'{"a":"\xff"}',
    b'{"a":"\xc0\xaf"}',
    b'{"a":"\xed\xa0\x80"}',
    b'{"a":"\xf4\x90\x80\x80"}',
    b'{"a":"\xc3"}',
    '{"a":"1"}'.encode("utf-16"),
    '{"a":"1"}'.encode("utf-32-le"),
]
DEPTH = 100_000
NESTED = {
    "lists": '{"a":' + "[" * DEPTH + "]" * DEPTH + "}",
    "lists left open": "[" * DEPTH,
    "objects": '{"a":' * DEPTH + '"1"' + "}" * DEPTH,
    "objects left open": '{"a":' * DEPTH,
    "both": '{"a":[' * DEPTH + "]}" * DEPTH,
    "a megabyte of brackets": "[" * canonical.MAX_BYTES,
}
KINDS = [
    build.srr(3, 1),
    build.rrrr(5, [0, 3], 1, 0.5),
    build.subset(6, 1, 2),
    build.coarse(9, [1, 4], 2),
    build.hashed(300, 0.5),
    build.dense([[0.7, 0.4], [0.3, 0.6]], 1),
]
trees = st.recursive(
    st.none() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=25,
)


@pytest.mark.parametrize("text", NOT_CANONICAL)
def test_another_spelling_of_a_message_is_refused(text):
    assert isinstance(json.loads(text), dict), "the case is meant to be good JSON"
    for form in (text, text.encode()):
        with refused("message_not_canonical"):
            canonical.decode(form)


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: ascii(text)[:40])
def test_what_is_no_message_is_refused(text):
    with refused("message_malformed"):
        canonical.decode(text)


@pytest.mark.parametrize("text", ['{"a":true}', '{"a":false}', '{"a":["x",true]}', '{"a":{"b":false}}'])
def test_booleans_are_no_part_of_a_message(text):
    # Messages are objects, lists, strings and null: both module and error table say so.
    with refused("message_malformed"):
        canonical.decode(text)


@pytest.mark.parametrize("value", ["true", "false", "null", "[]", "{}", '["aa"]'])
def test_another_type_where_a_string_is_expected_is_refused(value):
    honest = Receipt("0" * 32, "1" * 64).to_json()
    assert honest.count('"' + "0" * 32 + '"') == 1
    with refused("field_invalid", "message_malformed"):
        Receipt.from_json(honest.replace('"' + "0" * 32 + '"', value))


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_is_refused_and_does_not_crash(name):
    text = NESTED[name]
    assert len(text) <= canonical.MAX_BYTES
    for form in (text, text.encode()):
        with refused("message_malformed"):
            canonical.decode(form)


@pytest.mark.parametrize("depth", [1, 100, 300])
def test_shallow_nesting_survives(depth):
    text = '{"a":' * depth + "null" + "}" * depth
    assert canonical.encode(canonical.decode(text)) == text


def test_nesting_inside_a_known_field_is_refused():
    text = asked().to_json().replace('"number":"0"', '"number":' + "[" * 300 + "]" * 300)
    with refused("field_invalid") as caught:
        type(asked()).from_json(text)
    assert len(str(caught.value)) < 1000


BAD_INTEGERS = [
    "\u0663",
    "1\u0663",
    "\u0661\u0662",
    "\uff11",
    "\u00b2",
    "01",
    "00",
    "+1",
    "-1",
    "-0",
    "1_000",
    " 1",
    "1 ",
]
BAD_INTEGERS += [
    "1\n",
    "1.0",
    "1e3",
    "0x1",
    "",
    "9" * 129,
    "9" * 5000,
    "9" * 500_000,
    "\ufeff1",
    "1\u200b",
    "\u0000",
]


@pytest.mark.parametrize("text", BAD_INTEGERS, ids=lambda text: ascii(text)[:20])
def test_an_integer_has_one_spelling(text):
    message = canonical.decode(asked().to_json()) | {"number": text}
    with refused("field_invalid") as caught:
        type(asked()).from_json(canonical.encode(message))
    assert caught.value.argument == "number"
    assert len(str(caught.value)) < 500
    for read in (check.parse_integer, check.parse_decimal) if text not in ("1.0",) else ():
        with refused("field_invalid"):
            read(text, "n")


@pytest.mark.parametrize("value", [None, 1, True, 1.0, b"1", ["1"], {"1": "1"}])
def test_an_integer_is_a_string(value):
    with refused("field_invalid"):
        check.parse_integer(value, "n")
    with refused("field_invalid"):
        check.parse_decimal(value, "n")


HOSTILE = {
    "brackets": "[" * 10_000_000,
    "digits": '{"a":' + "9" * 10_000_000,
    "escapes": '{"a":"' + "\\u0041" * 1_700_000,
    "surrogates": "\ud800" * 10_000_000,
    "no more than a byte": "x" * (canonical.MAX_BYTES + 1),
    "short in characters only": '{"a":"' + "\u00e9" * (canonical.MAX_BYTES // 2) + '"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_size_is_checked_before_anything_is_parsed(name, monkeypatch):
    text = HOSTILE[name]
    forms = [text, text.encode("utf-8", "surrogatepass")]

    def parse(*_arguments, **_options):
        pytest.fail("a message that is too large was parsed")

    monkeypatch.setattr(json, "loads", parse)
    monkeypatch.setattr(json.JSONDecoder, "decode", parse)
    for form in forms:
        start = time.perf_counter()
        with refused("message_too_large"):
            canonical.decode(form)
        assert time.perf_counter() - start < 1


@pytest.mark.parametrize("filler", ["x", "\u00e9", "\U0001f600"])
def test_the_largest_message_is_accepted_and_one_more_byte_is_not(filler):
    room = canonical.MAX_BYTES - len(canonical.encode({"a": ""}))
    message = {"a": filler * (room // len(filler.encode())) + "x" * (room % len(filler.encode()))}
    text = canonical.encode_bounded(message)
    assert len(text.encode()) == canonical.MAX_BYTES
    assert canonical.decode(text) == canonical.decode(text.encode()) == message
    longer = {"a": message["a"] + "x"}
    with refused("message_too_large"):
        canonical.encode_bounded(longer)
    with refused("message_too_large"):
        canonical.decode(canonical.encode(longer))


@pytest.mark.parametrize("value", [None, 3, {}, ["{}"], bytearray(b"{}"), memoryview(b"{}")])
def test_a_message_is_text_or_bytes(value):
    with refused("argument_invalid"):
        canonical.decode(value)


@given(st.dictionaries(st.text(), trees, max_size=6))
@example({"\uffff": None, "\U00010000": None, "": "", '"': "\\", "\u2028": "\x7f\x00\x1f"})
def test_decode_undoes_encode(message):
    text = canonical.encode(message)
    assert canonical.decode(text) == message
    assert canonical.decode(text.encode()) == message
    assert canonical.encode(canonical.decode(text)) == text


@given(st.text() | st.binary())
def test_any_text_is_a_message_in_canonical_form_or_refused(text):
    message = attempt(canonical.decode, text)
    if isinstance(message, TacitError):
        assert message.code.startswith("message_")
    else:
        assert canonical.encode(message).encode() == (text.encode() if isinstance(text, str) else text)


def judge(mutated):
    """Refused, or exactly what it says: a third outcome is the bug."""
    table = attempt(parse_channel, mutated)
    if isinstance(table, TacitError):
        return False
    assert channel_text(table).encode() == mutated
    return True


@settings(max_examples=1000, deadline=None)
@given(st.sampled_from(KINDS), st.data())
def test_mutated_bytes_are_refused_or_read_as_written(table, data):
    text = bytearray(channel_text(table).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place] = data.draw(st.integers(0, 255))
    judge(bytes(text))


@pytest.mark.parametrize("table", KINDS, ids=lambda table: f"{table.kind}-{table.k}")
def test_every_mutation_of_every_byte(table):
    text = channel_text(table).encode()
    accepted = 0
    for place in range(len(text)):
        for byte in range(256):
            accepted += judge(text[:place] + bytes([byte]) + text[place + 1 :])
        judge(text[:place] + text[place + 1 :])
        judge(text[:place] + text[place : place + 1] + text[place:])
    # The message itself once for each byte, and other digits here and there.
    assert len(text) < accepted < 12 * len(text)

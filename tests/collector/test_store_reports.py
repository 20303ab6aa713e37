"""Reports in the store: each once, each with its own outcome, whoever else writes."""

import itertools
import json
import secrets
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from store_support import codes, numeric, other, scalar, settings, submissions, table

from tacit import Evidence
from tacit.collector import readings
from tacit.collector.intake import Outcome, Submission, read_submission
from tacit.collector.reports import asked, channel_of
from tacit.collector.store import Store
from tacit.errors import TacitError
from tacit_client import Question, Report, Round, build
from tacit_client.tables import Dense


def test_a_report_is_stored_once_and_confirmed_as_often_as_it_comes(store):
    head = store.create_study(settings()).head
    a, b = submissions(store, "tea", 2)
    assert store.submit([a]) == [Outcome(None, True, head)]
    assert store.submit([a, b, a, b]) == [
        Outcome(None, False, head), Outcome(None, True, head), Outcome(None, False, head), Outcome(None, False, head)
    ]  # fmt: skip
    assert store.study("tea").n == len(store.evidence("tea")) == 2
    assert store.submit([]) == []


def test_every_refusal_has_its_code_and_stops_nothing_else(store):
    store.create_study(settings())
    store.create_study(settings("draft", state="draft"))
    a, b, c, d = submissions(store, "tea", 4)
    (drafted,) = submissions(store, "draft", 1)
    store.submit([a])
    given = [
        a, other(a), b._replace(study="none"), drafted, b._replace(round="0" * 64), b._replace(value="3"),
        b._replace(listed=not b.listed), b._replace(value=""), b._replace(value="0,1"), b, c, d, other(d),
    ]  # fmt: skip
    outcomes = store.submit(given)
    assert codes(outcomes) == [
        None, "report_conflict", "study_unknown", "study_closed", "report_conflict", "report_conflict",
        "report_conflict", "report_conflict", "report_conflict", None, None, None, "report_conflict",
    ]  # fmt: skip
    assert [o.new for o in outcomes] == [False] * 9 + [True] * 3 + [False]
    e = submissions(store, "tea", 1)[0]
    wrong = [e._replace(id=secrets.token_bytes(16), **w) for w in (
        {"round": "0" * 64}, {"value": "3"}, {"listed": not e.listed}, {"value": ""}, {"value": "0,1"}, {"value": "00"},
    )]  # fmt: skip
    assert codes(store.submit(wrong))[:5] == ["round_unknown"] + ["report_impossible"] * 4
    assert store.study("tea").n == len(store.evidence("tea"))


def test_a_round_of_another_study_is_unknown(store):
    store.create_study(settings("a"))
    store.create_study(settings("b", k=4))
    (s,) = submissions(store, "b", 1)
    assert codes(store.submit([s._replace(study="a"), s])) == ["round_unknown", None]
    assert [store.study(name).n for name in "ab"] == [0, 1]


def test_reports_to_several_studies_share_a_transaction(store):
    for name in ("a", "b"):
        store.create_study(settings(name))
    mixed = [
        s for pair in zip(submissions(store, "a", 5), submissions(store, "b", 5), strict=True) for s in pair
    ]
    heads = {name: store.study(name).head for name in "ab"}
    assert store.submit(mixed) == [Outcome(None, True, heads[s.study]) for s in mixed]
    assert [store.study(name).n for name in "ab"] == [5, 5]
    # One id may be in two studies: they have nothing to do with each other.
    assert codes(store.submit([mixed[0]._replace(study="b", round=mixed[1].round)])) == [None]


def test_an_erased_report_is_gone_for_good(store):
    store.create_study(settings())
    a, b, c = submissions(store, "tea", 3)
    store.submit([a, b])
    store.erase("tea", a.id.hex())
    store.erase("tea", a.id.hex())
    assert codes(store.submit([a, other(a), b])) == ["report_erased", "report_erased", None]
    assert store.study("tea").n == len(store.evidence("tea")) == 1
    assert [row[2:] for row in table(store, "reports") if bytes(row[1]) == a.id] == [(None, None)]
    # An id that has not come yet is refused when it comes: the copy that was under way.
    store.erase("tea", c.id.hex())
    assert codes(store.submit([c])) == ["report_erased"]
    assert store.study("tea").n == 1
    with pytest.raises(TacitError, match="32 hexadecimal"):
        store.erase("tea", "no id")


def test_after_closing_nothing_new_comes_and_what_is_held_is_confirmed(store):
    store.create_study(settings())
    a, b, c = submissions(store, "tea", 3)
    store.submit([a, b])
    store.close_study("tea")
    assert codes(store.submit([a, other(b), c])) == [None, "report_conflict", "study_closed"]
    store.erase("tea", a.id.hex())
    store.erase("tea", c.id.hex())
    assert codes(store.submit([a, b, c])) == ["report_erased", None, "study_closed"]
    assert store.study("tea").n == 1


def test_the_store_does_what_a_dictionary_would(store):
    """A hundred transactions over few ids, beside a model in memory."""
    store.create_study(settings())
    rng = np.random.default_rng(5)
    round_, model = store.round("tea").id, {}
    ids = [bytes([i]) * 16 for i in range(40)]
    for _ in range(100):
        if rng.random() < 0.2:
            gone = ids[rng.integers(len(ids))]
            store.erase("tea", gone.hex())
            model[gone] = None
            continue
        given, expected = [], []
        for _ in range(rng.integers(1, 12)):
            s = Submission("tea", ids[rng.integers(len(ids))], round_, str(rng.integers(3)), True)
            fresh = s.id not in model
            held = model.setdefault(s.id, s.value)
            given.append(s)
            expected.append(
                (None if held == s.value else "report_erased" if held is None else "report_conflict", fresh)
            )
        assert [o[:2] for o in store.submit(given)] == expected
    assert {bytes(row[1]): row[3] for row in table(store, "reports")} == model
    assert store.study("tea").n == sum(value is not None for value in model.values())


def test_evidence_and_rows_are_those_of_the_reports(store):
    store.create_study(settings(k=5))
    given = submissions(store, "tea", 500)
    store.submit(given)
    asked_round = store.round("tea")
    channel = channel_of(asked_round.text)
    values = [[int(v) for v in s.value.split(",")] for s in given]
    assert store.evidence("tea") == Evidence().add(channel, values)
    assert list(store.rows("tea")) == sorted((asked_round.id, s.value) for s in given)
    with store.read() as connection:
        view = connection.exec_driver_sql("SELECT study, round, value FROM report_rows").all()
    assert sorted(tuple(row) for row in view) == sorted(("tea", s.round, s.value) for s in given)


def test_many_distinct_values_are_folded_in_pieces(store, monkeypatch):
    monkeypatch.setattr(readings, "CHUNK", 7)
    store.create_study(settings(k=12))
    given = submissions(store, "tea", 300, answers=np.arange(300) % 12)
    store.submit(given)
    store.erase("tea", given[0].id.hex())
    values = [[int(v) for v in s.value.split(",")] for s in given[1:]]
    assert len({s.value for s in given}) > 50
    assert store.evidence("tea") == Evidence().add(channel_of(store.round("tea").text), values)


def test_reports_about_a_number_are_folded(store):
    store.create_study(numeric())
    store.submit(submissions(store, "age", 50, answers=np.full(50, 40)))
    assert len(store.evidence("age")) == 50
    assert store.evidence("age").numeric


def test_writers_do_not_wait_for_a_reader(store):
    store.create_study(settings())
    store.submit(submissions(store, "tea", 3000))
    rows = store.rows("tea")
    next(rows)  # a reader that takes its time
    assert codes(store.submit(submissions(store, "tea", 5))) == [None] * 5
    assert len(list(rows)) == 2999


# Several at once


def together(work, count):
    """Run `work(i)` in threads at once; what they returned."""
    found, barrier = {}, threading.Barrier(count)

    def one(i):
        barrier.wait()
        try:
            found[i] = work(i)
        except Exception as error:
            found[i] = error

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [error for error in found.values() if isinstance(error, Exception)], found
    return [found[i] for i in range(count)]


def test_of_many_writers_of_one_id_one_wins_and_all_are_told_the_truth(store, url):
    store.create_study(settings())
    same = submissions(store, "tea", 60)
    rng = np.random.default_rng(0)
    orders = [[same[i] if i % 2 else other(same[i]) for i in rng.permutation(60)] for _ in range(3)]
    orders += [[same[i] for i in rng.permutation(60)] for _ in range(3)]
    stores = [Store.open(url) for _ in orders]
    found = together(lambda i: stores[i].submit(orders[i]), len(orders))
    held = {bytes(row[1]): row[3] for row in table(store, "reports")}
    assert len(held) == store.study("tea").n == 60
    new = [s.id for order, outcomes in zip(orders, found, strict=True)
           for s, o in zip(order, outcomes, strict=True) if o.new]  # fmt: skip
    assert sorted(new) == sorted(held)
    for order, outcomes in zip(orders, found, strict=True):
        for s, outcome in zip(order, outcomes, strict=True):
            assert outcome.code == (None if held[s.id] == s.value else "report_conflict")
    for opened in stores:
        opened.close()


def test_one_token_and_many_writers_make_one_report(store, url):
    store.create_study(settings(access="invite"))
    token = b"t" * 32
    store.add_invites("tea", [token])
    stores = [Store.open(url) for _ in range(6)]
    given = [[s._replace(token=token) for s in submissions(store, "tea", 3, i)] for i in range(6)]
    found = together(lambda i: [stores[i].submit([s])[0] for s in given[i]], 6)
    outcomes = [o for part in found for o in part]
    assert sum(o.new for o in outcomes) == store.study("tea").n == 1
    assert sorted(o.code or "" for o in outcomes) == [""] + ["invite_used"] * 17
    for opened in stores:
        opened.close()


def test_a_close_that_races_with_reports_loses_nothing_and_lets_nothing_in(store, url):
    store.create_study(settings())
    stores = [Store.open(url) for _ in range(3)]
    parts = [submissions(store, "tea", 20, seed=i) for i in range(3)]
    closed, begun = threading.Event(), threading.Event()

    def work(i):
        if i == 3:
            begun.wait()
            try:
                store.close_study("tea")
            finally:
                closed.set()
            return store.study("tea").n
        stored = 0
        for j in range(5000):
            after = closed.is_set()
            outcomes = stores[i].submit([s._replace(id=secrets.token_bytes(16)) for s in parts[i]])
            assert {o.code for o in outcomes} in ([{"study_closed"}] if after else [{None}, {"study_closed"}])
            stored += sum(o.new for o in outcomes)
            if after:
                return stored
            if j == 3:
                begun.set()
        raise AssertionError("the study did not close")

    *writers, at_close = together(work, 4)
    assert sum(writers) == at_close == store.study("tea").n == scalar(store, "SELECT count(*) FROM reports")
    assert at_close > 0
    for opened in stores:
        opened.close()


def test_erasures_and_reports_at_once_keep_the_count(store, url):
    store.create_study(settings())
    given = submissions(store, "tea", 120)
    stores = [Store.open(url) for _ in range(4)]

    def work(i):
        if i % 2:
            for s in given[i::8]:
                stores[i].erase("tea", s.id.hex())
        else:
            for j in range(0, 120, 10):
                stores[i].submit(given[j : j + 10])

    together(work, 4)
    assert store.study("tea").n == len(store.evidence("tea"))
    assert store.study("tea").n == scalar(store, "SELECT count(*) FROM reports WHERE value IS NOT NULL") == 90
    assert scalar(store, "SELECT count(*) FROM reports WHERE value IS NULL") == 30
    for opened in stores:
        opened.close()


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_what_is_erased_while_rows_are_mixed_is_erased(store):
    store.create_study(settings())
    reports = submissions(store, "tea", 4000)
    store.submit(reports)
    store.close_study("tea")
    key = scalar(store, "SELECT id FROM studies")

    def work(i):
        if i == 0:
            for _ in range(6):
                store.mix(key)
        else:
            for s in reports[i:400:3]:
                store.erase("tea", s.id.hex())

    together(work, 4)
    gone = {s.id for i in range(1, 4) for s in reports[i:400:3]}
    assert {bytes(row[1]) for row in table(store, "reports") if row[3] is None} == gone
    assert store.study("tea").n == len(store.evidence("tea")) == 4000 - len(gone)


# Reading a report


def accepted(read, data):
    try:
        return read(data)
    except TacitError as error:
        return error.code


def by_client(data):
    report = Report.from_json(data)
    listed = isinstance(report.value, tuple)
    value = ",".join(map(str, report.value)) if listed else str(report.value)
    return Submission(report.study, bytes.fromhex(report.id), report.round, value, listed)


VALUES = st.integers(0, 2**31) | st.lists(st.integers(0, 2**31) | st.integers(0, 12), max_size=6).map(tuple)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)


@given(st.binary(min_size=16, max_size=16), NAMES, st.binary(min_size=32, max_size=32), VALUES, st.data())
@hypothesis_settings(max_examples=300, deadline=None)
def test_the_quick_reader_accepts_what_the_client_accepts(id_, name, round_, value, data):
    text = Report(id_.hex(), name, round_.hex(), value).to_json().encode()
    assert read_submission(text, name) == by_client(text)
    # One byte changed, left out or put in: both say the same.
    place = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.sampled_from([b"", b'"', b",", b"0", b"1", b"]", b"\\", b" ", b"\n", b"\xff", b"a"]))
    changed = text[:place] + byte + text[place + data.draw(st.integers(0, 1)) :]
    mine = accepted(lambda d: read_submission(d, name), changed)
    theirs = accepted(by_client, changed)
    if isinstance(theirs, Submission) and theirs.study != name:
        theirs = "field_invalid"
    assert mine == theirs


@pytest.mark.parametrize("number", [2**31, 2**31 + 1, 9_999_999_999, 10_000_000_000])
@pytest.mark.parametrize("form", ['"%d"', '["%d"]', '["1","%d"]'])
def test_large_numbers_are_read_as_the_client_reads_them(number, form):
    fields = {"id": "0" * 32, "round": "0" * 64, "study": "a", "type": "report", "version": "1"}
    text = json.dumps(fields, separators=(",", ":")).replace(
        '"version"', f'"value":{form % number},"version"'
    )
    found = accepted(lambda d: read_submission(d, "a"), text.encode())
    assert found == accepted(by_client, text.encode())
    assert isinstance(found, Submission) == (number <= 2**31)


def test_a_report_for_another_study_is_refused():
    text = Report("0" * 32, "a", "0" * 64, 1).to_json().encode()
    with pytest.raises(TacitError, match="another study"):
        read_submission(text, "b")


CATEGORIES = Question("q", "Which?", labels=tuple("abcd"))
NUMBER = Question("q", "How many?", unit="m", lowest="0", highest="9", step="1")
TABLES = [
    (CATEGORIES, build.srr(4, 1)), (CATEGORIES, build.rrrr(4, [1], 1, 0.9)), (CATEGORIES, build.subset(4, 1, 1)),
    (CATEGORIES, build.subset(4, 1, 2)), (CATEGORIES, build.coarse(4, [1, 2], 1, 2)), (CATEGORIES, build.hashed(4, 1)),
    (CATEGORIES, Dense(4, Fraction(3), ((2, 1, 1, 1), (1, 2, 2, 2)))), (NUMBER, build.graded(0, 9, 2, 1)),
    (NUMBER, build.binned([3, 5], build.subset(3, 1, 2))),
]  # fmt: skip


@pytest.mark.parametrize(("question", "channel"), TABLES, ids=lambda part: getattr(part, "kind", ""))
def test_what_is_possible_is_what_the_table_says(question, channel):
    known = asked(0, Round("a", question, 0, channel, None).to_json())
    seen = set()
    numbers = range(6)
    values = [
        *numbers,
        *(v for n in range(4) for v in itertools.product(numbers, repeat=n)),
        2**31,
        (1, 2**31 - 2, 0),
    ]
    for value in values:
        try:
            channel.check_report(value)
            expected = True
        except TacitError:
            expected = False
        listed = isinstance(value, tuple)
        text = ",".join(map(str, value)) if listed else str(value)
        assert (known.listed == listed and known.possible(text)) == expected, value
        seen.add(expected)
    assert seen == {True, False}

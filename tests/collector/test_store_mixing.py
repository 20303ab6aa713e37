"""What the files of a database say about the order of reports and about invites, once the store has sorted them."""

import secrets
import struct
import threading
from pathlib import Path

import pytest
from sqlalchemy import text
from store_support import codes, scalar, settings, submissions, table

from tacit.collector import mixing
from tacit.collector.store import Store
from tacit.collector.worker import Pace, Worker

N = 60
LEAF = 0x0A  # of a table without row ids, in SQLite's file format


def invited(store, n=N):
    """Reports that came one by one, each with a token of its own."""
    store.create_study(settings(access="invite"))
    tokens = [secrets.token_bytes(32) for _ in range(n)]
    store.add_invites("tea", tokens)
    sent = [s._replace(token=t) for s, t in zip(submissions(store, "tea", n), tokens, strict=True)]
    for each in sent:
        assert codes(store.submit([each])) == [None]
    return sent


def key_of(store):
    return scalar(store, "SELECT id FROM studies")


def file_order(path, ids):
    """The ids in the order in which their rows lie in the file, page by page: what is lower in a page came later."""
    data = Path(path).read_bytes()
    size = struct.unpack(">H", data[16:18])[0]
    lying = []
    for start in range(0, len(data), size):
        page = data[start : start + size]
        if page[0] != LEAF:
            continue
        (cells,) = struct.unpack(">H", page[3:5])
        places = sorted(struct.unpack(f">{cells}H", page[8 : 8 + 2 * cells]), reverse=True)
        lying += [id_ for place in places for id_ in ids if id_ in page[place : place + 32]]
    return lying


def sqlite_file(store):
    with store.read() as connection:
        return connection.exec_driver_sql("PRAGMA database_list").first()[2]


def test_the_file_shows_the_order_of_reports_until_they_are_mixed(tmp_path):
    store = Store.open(f"sqlite:///{tmp_path}/tacit.db")
    came = [each.id for each in invited(store)]
    store.tidy()
    assert file_order(tmp_path / "tacit.db", came) == came  # why there is something to do
    assert store.mix(key_of(store))
    store.tidy()
    assert file_order(tmp_path / "tacit.db", came) == sorted(came)
    assert (tmp_path / "tacit.db-wal").stat().st_size == 0
    store.close()


def test_the_log_forgets_reports_and_does_not_wait_for_a_reader(tmp_path):
    store = Store.open(f"sqlite:///{tmp_path}/tacit.db")
    (first, *_) = invited(store, 3)
    log = tmp_path / "tacit.db-wal"
    assert first.id in log.read_bytes()
    with store.read() as connection:
        connection.execute(text("SELECT count(*) FROM reports")).scalar()
        store.tidy()
        assert store.submit([first])[0].code is None
    store.tidy()
    assert log.stat().st_size == 0
    assert store.study("tea").n == 3
    store.close()


def test_no_transaction_number_leads_from_a_token_to_a_report_once_mixed(postgres):
    store = Store.open(postgres.fresh())
    invited(store)
    joined = "SELECT count(*) FROM reports JOIN tokens ON reports.xmin = tokens.xmin"
    assert scalar(store, joined) == N  # why there is something to do
    assert store.mix(key_of(store))
    assert scalar(store, joined) == 0
    with store.read() as connection:
        for name, column in (("reports", "id"), ("tokens", "hash")):
            lying = [
                bytes(c)
                for c in connection.execute(text(f"SELECT {column} FROM {name} ORDER BY ctid")).scalars()
            ]
            assert lying == sorted(lying)
            assert len(lying) == N
            assert connection.execute(text(f"SELECT count(DISTINCT xmin::text) FROM {name}")).scalar() == 1
    store.close()


def test_mixing_in_pieces_changes_nothing_else(store, monkeypatch):
    sent = invited(store)
    store.erase("tea", sent[0].id.hex())
    before = {name: sorted(table(store, name)) for name in ("tokens", "counters", "studies")}
    reports = sorted(table(store, "reports"), key=lambda row: row[1])
    evidence = store.evidence("tea")
    for pieces in (7, N // 2, N, 1000):
        monkeypatch.setattr(mixing, "MIXED", pieces)
        assert store.mix(key_of(store))
        store.tidy()
        assert {name: sorted(table(store, name)) for name in before} == before
        assert sorted(table(store, "reports"), key=lambda row: row[1]) == reports
    assert store.evidence("tea") == evidence


def test_erasures_and_reports_while_the_store_mixes_are_neither_lost_nor_doubled(store, url, monkeypatch):
    monkeypatch.setattr(mixing, "MIXED", 10)
    monkeypatch.setattr(mixing, "TRIES", 1000)
    store.create_study(settings())
    sent = submissions(store, "tea", 90)
    store.submit(sent[:60])
    key, over, failures = key_of(store), threading.Event(), []

    def mixes():
        own = Store.open(url)
        try:
            while not over.is_set():
                own.mix(key)
        except BaseException as error:
            failures.append(error)
        own.close()

    mixer = threading.Thread(target=mixes)
    mixer.start()
    try:
        for i in range(30):
            store.erase("tea", sent[i].id.hex())
            again = store.submit([sent[i], sent[30 + i], sent[60 + i]])
            assert codes(again) == ["report_erased", None, None]
            assert [outcome.new for outcome in again] == [False, False, True]
        store.close_study("tea")
        for i in range(30, 60):
            store.erase("tea", sent[i].id.hex())
    finally:
        over.set()
        mixer.join()
    assert failures == []
    assert store.study("tea").n == len(store.evidence("tea")) == 30
    left = {bytes(id_): value for _, id_, _, value in table(store, "reports")}
    assert len(left) == 90
    assert {id_ for id_, value in left.items() if value is None} == {s.id for s in sent[:60]}


@pytest.mark.parametrize("closes", [False, True])
def test_the_worker_mixes_what_came_and_what_is_closed(store, monkeypatch, closes):
    came = [each.id for each in invited(store)]
    if closes:
        store.close_study("tea")
    mixed = []
    monkeypatch.setattr(store, "mix", lambda key: mixed.append(key) or Store.mix(store, key))
    now = [0.0]
    worker = Worker(store, Pace(), clock=lambda: now[0])
    worker.look()
    assert mixed == [key_of(store)]
    worker.look()
    now[0] += 1000
    worker.look()
    assert len(mixed) == 1  # nothing came
    if store.sqlite:
        assert file_order(sqlite_file(store), came) == sorted(came)
    else:
        with store.read() as connection:
            lying = connection.execute(text("SELECT id FROM reports ORDER BY ctid")).scalars()
            assert [bytes(id_) for id_ in lying] == sorted(came)
    if not closes:
        store.erase("tea", came[0].hex())
        worker.look()
        assert len(mixed) == 2


def test_a_study_whose_reports_go_at_once_has_a_last_estimate(store):
    store.create_study(settings(retention_days=0))
    store.submit(submissions(store, "tea", 40))
    store.close_study("tea")
    Worker(store).look()
    assert store.study("tea").purged
    assert store.study("tea").n == 0
    assert store.estimate("tea").used == 40
    assert table(store, "reports") == []

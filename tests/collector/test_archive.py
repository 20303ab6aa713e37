"""Reports that leave the database for the archive are counted once, whatever happens on the way."""

import random
import secrets
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest
from http_support import send, served
from sqlalchemy import insert, text, update
from store_support import codes, other, scalar, settings, submissions, table

from tacit import TacitError
from tacit.collector import archiver, catalog, exports, worker
from tacit.collector.schema import rounds, studies
from tacit.collector.store import Store
from tacit.collector.worker import Worker
from tacit.evidence import Evidence
from tacit_client import Report, Round

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(archiver, "ROWS", 40)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "archive"


def grow(store, name="tea", more=1, subset=True):
    """Publish rounds, of other channels than the first."""
    from tacit_client import build

    for _ in range(more):
        standing = next(s for s in store.standings() if s.name == name)
        last = Round.from_json(store.round(name).text)
        k = len(last.question.labels)
        channel = build.subset(k, 1) if subset else build.srr(k, 1)
        new = Round(name, last.question, last.number + 1, channel, last.id)
        assert store.publish(standing, [new], 10**6, standing.n)


def study(store, name="tea", sizes=(90, 70, 30), k=4):
    """A study with reports to several rounds; what was sent, by round."""
    store.create_study(settings(name, k=k))
    given = [submissions(store, name, sizes[0], 1)]
    for i, size in enumerate(sizes[1:]):
        grow(store, name, subset=i % 2 == 0)
        given.append(submissions(store, name, size, i + 2))
    for part in given:
        assert set(codes(store.submit(part))) == {None}
    return given


def seen(store, name="tea"):
    """All that readers of results see."""
    by_round = store.fold(
        scalar(store, "SELECT id FROM studies WHERE name = :name", name=name),
        [r.text for r in store.rounds(name)],
    )[1]
    return store.evidence(name).id, list(store.rows(name)), store.study(name).n, by_round


def chain(store, name="tea"):
    return [Round.from_json(r.text) for r in store.rounds(name)]


def files(place):
    return sorted(path for path in place.rglob("*.parquet"))


def refusal(work, *arguments):
    with pytest.raises(TacitError) as found:
        work(*arguments)
    return found.value.code


# What is moved


def test_what_readers_see_does_not_change(store, place):
    given = study(store)
    before = seen(store)
    assert before[3] == [90, 70, 30]
    done = archiver.archive(store, place, 0)
    assert (done.reports, done.parts) == (
        160,
        5,
    )  # at most 40 a part, each of one round; the newest round stays
    assert seen(store) == before
    assert scalar(store, "SELECT count(*) FROM reports") == 30
    for piece in ("csv", "json", "parquet"):
        made = {"csv": exports._csv, "json": exports._json, "parquet": exports._parquet}[piece]
        assert b"".join(made(store, "tea"))
    assert b"".join(exports._csv(store, "tea")).count(b"\r\n") == 191
    assert archiver.archive(store, place, 0).reports == 0
    assert archiver.verify(store) == 160
    ids = {s.id.hex() for part in given[:2] for s in part}
    assert {id_ for file in files(place) for id_ in pq.read_table(file)["id"].to_pylist()} == ids


def test_the_folder_is_a_table_of_reports(store, place):
    study(store)
    store.close_study("tea")
    Worker(store).look()
    before = seen(store)
    archiver.archive(store, place, 0)
    assert scalar(store, "SELECT count(*) FROM reports") == 0
    found = Evidence.from_table(place, chain(store), study="tea")
    assert found.id == store.evidence("tea").id == before[0]
    assert seen(store) == before


def test_a_part_says_nothing_of_the_order_in_which_reports_came(store, place):
    study(store)
    archiver.archive(store, place, 0)
    for file in files(place):
        part = pq.read_table(file, partitioning=None)
        rows = list(zip(part["value"].to_pylist(), part["id"].to_pylist(), strict=True))
        assert rows == sorted(rows)
        assert part.schema.names == ["id", "study", "round", "value"]
        assert file.parent.name == f"round={part['round'][0]}"
        assert file.parent.parent.name == "study=tea"
        assert file.stat().st_mode & 0o077 == 0


def test_rounds_wait_until_they_are_old(store, place, monkeypatch):
    study(store)
    assert archiver.archive(store, place, 1).reports == 0
    now = int(time.time() // 3600)
    with store.write() as connection:
        connection.execute(update(rounds).where(rounds.c.number == 1).values(published=now - 24))
    assert archiver.archive(store, place, 1).reports == 90  # round 0 is followed by round 1 since a day
    store.close_study("tea")
    assert archiver.archive(store, place, 0.5).reports == 0
    with store.write() as connection:
        connection.execute(update(studies).values(closed=now - 24))
    assert archiver.archive(store, place, 1).reports == 0  # no last estimate yet
    Worker(store).look()
    assert archiver.archive(store, place, 1).reports == 100


def test_new_rounds_know_their_hour(store):
    study(store)
    now = int(time.time() // 3600)
    with store.read() as connection:
        assert all(
            now - 1 <= hour <= now
            for hour in connection.execute(text("SELECT published FROM rounds")).scalars()
        )


def test_a_sealed_round_takes_no_more_and_a_copy_changes_nothing(store, place):
    given = study(store)
    late = submissions(store, "tea", 3, 9, number=0)
    before = seen(store)
    archiver.archive(store, place, 0)
    assert codes(store.submit(late)) == ["round_archived"] * 3
    assert codes(store.submit(given[0][:3])) == ["round_archived"] * 3
    assert codes(store.submit([other(given[1][0])])) == ["round_archived"]
    assert codes(store.submit(given[2][:3])) == [None] * 3
    assert seen(store) == before
    store.close_study("tea")
    assert codes(store.submit(given[0][:1])) == ["round_archived"]


def test_a_sealed_round_spends_no_invite(store, place):
    store.create_study(settings(access="invite"))
    token = secrets.token_bytes(32)
    store.add_invites("tea", [token])
    grow(store)
    late = submissions(store, "tea", 1, number=0)[0]._replace(token=token)
    archiver.archive(store, place, 0)
    assert codes(store.submit([late])) == ["round_archived"]
    fresh = submissions(store, "tea", 1)[0]._replace(token=token)
    assert codes(store.submit([fresh])) == [None]


def test_reports_and_erasures_during_a_pass(store, place):
    given = study(store)
    late = submissions(store, "tea", 5, 9, number=0)
    newest = submissions(store, "tea", 5, 10)
    outcomes, gone = [], iter(s.id.hex() for s in given[0][:5])

    def meanwhile(step):
        if step == "sealed":
            outcomes.extend(codes(store.submit(late + newest)))
        if step == "written" and (id_ := next(gone, None)):
            store.erase("tea", id_)

    archiver.archive(store, place, 0, meanwhile)
    assert outcomes == ["round_archived"] * 5 + [None] * 5
    assert next(gone, None) is None
    archiver.archive(store, place, 0)  # finds the erased that were archived already
    left = given[0][5:] + given[1] + given[2] + newest
    ids = {r.id: r.number for r in store.rounds("tea")}
    assert list(store.rows("tea")) == sorted(
        ((s.round, s.value) for s in left), key=lambda r: (ids[r[0]], r[1])
    )
    assert store.study("tea").n == len(store.evidence("tea")) == len(left)
    assert archiver.verify(store) == 155


def test_an_archived_report_is_erased_by_the_next_pass(store, place):
    given = study(store)
    archiver.archive(store, place, 0)
    gone = [given[0][0], given[0][50], given[1][3]]
    for s in gone:
        store.erase("tea", s.id.hex())
        store.erase("tea", s.id.hex())
    store.erase("tea", secrets.token_hex(16))  # never came
    assert codes(store.submit([gone[0]])) == ["report_erased"]
    assert archiver.archive(store, place, 0).erased == 3
    everything = b"".join(file.read_bytes() for file in files(place))
    held = {id_ for file in files(place) for id_ in pq.read_table(file)["id"].to_pylist()}
    assert everything
    assert not {s.id.hex() for s in gone} & held
    left = [s for part in given for s in part if s not in gone]
    assert store.study("tea").n == len(left) == len(list(store.rows("tea"))) == len(store.evidence("tea"))
    fresh = Evidence()
    from tacit.collector.reports import channel_of

    for r in store.rounds("tea"):
        values = [[int(v) for v in s.value.split(",")] for s in left if s.round == r.id]
        channel = channel_of(r.text)
        fresh = fresh.add(channel, values if channel.table.columns else [v[0] for v in values])
    assert store.evidence("tea") == fresh
    assert table(store, "erasures") == []
    assert scalar(store, "SELECT sum(erased) FROM counters") == 3
    assert archiver.archive(store, place, 0).erased == 0


def test_a_part_whose_reports_are_all_erased_goes(store, place):
    given = study(store, sizes=(3, 2))
    archiver.archive(store, place, 0)
    for s in given[0]:
        store.erase("tea", s.id.hex())
    archiver.archive(store, place, 0)
    assert files(place) == []
    assert store.study("tea").n == len(store.evidence("tea")) == 2


def test_erasing_in_a_closed_study_reaches_the_archive(store, place):
    given = study(store)
    store.close_study("tea")
    Worker(store).look()
    archiver.archive(store, place, 0)
    store.erase("tea", given[2][0].id.hex())
    assert archiver.archive(store, place, 0).erased == 1
    Worker(store).look()
    assert store.estimate("tea").used == store.study("tea").n == 189


def test_wide_channels_keep_their_tally(store, place, monkeypatch):
    from tacit import evidence

    monkeypatch.setattr(evidence, "MAX_DISTINCT", 30)
    store.create_study(settings(k=14))
    grow(store)
    store.submit(submissions(store, "tea", 150, answers=np.arange(150) % 14))
    grow(store)
    before = seen(store)
    assert not store.evidence("tea").exact
    archiver.archive(store, place, 0)
    assert seen(store) == before


# Dying


@pytest.mark.parametrize("mode", ["move", "erase"])
def test_an_archiver_that_is_killed_at_any_step(url, place, mode):
    store = Store.open(url)
    given = study(store, sizes=(50, 30, 10))
    expected = seen(store)
    if mode == "erase":
        archiver.archive(store, place, 0)
        for s in (given[0][0], given[1][5]):
            store.erase("tea", s.id.hex())
        expected = None
    steps = []
    for _ in range(30):
        # Each process dies at its next new step and the following goes on, until one comes to the end.
        last = 1 + len(steps) % 3
        given_ = [sys.executable, HERE / "archive_worker.py", url, place, str(last)]
        said = subprocess.run(given_, capture_output=True, text=True, cwd=HERE, check=False)
        assert said.returncode in (0, -9), said.stderr
        steps.append(said.stdout.split()[-1])
        if expected:
            assert seen(store) == expected
        else:
            assert len(store.evidence("tea")) == store.study("tea").n == len(list(store.rows("tea")))
        if steps[-1] == "done":
            break
    assert steps[-1] == "done"
    assert set(steps) >= ({"written", "moved"} if mode == "move" else {"rewritten", "erased"})
    archiver.archive(store, place, 0)
    assert {file.name for file in files(place)} == {name.rpartition("/")[2] for name in store.files()}
    assert archiver.verify(store) == (80 if mode == "move" else 78)
    store.close()


@pytest.mark.parametrize("mode", ["move", "erase"])
def test_every_single_step_may_be_the_last(store, place, mode):
    class Dead(BaseException):
        pass

    for last in count(1):
        name = f"tea-{mode}-{last}"
        given = study(store, name, sizes=(50, 10))
        if mode == "erase":
            archiver.archive(store, place, 0)
            store.erase(name, given[0][0].id.hex())
        left = itself = sorted((s.round, s.value) for s in given[0][mode == "erase" :] + given[1])
        steps = []

        def step(what, steps=steps, last=last):
            steps.append(what)
            if len(steps) == last:
                raise Dead

        try:
            archiver.archive(store, place, 0, step)
        except Dead:
            assert store.study(name).n == len(store.evidence(name)) == len(list(store.rows(name)))
            archiver.archive(store, place, 0)
        assert sorted(store.rows(name)) == left == itself
        assert len(store.evidence(name)) == store.study(name).n == len(left)
        assert archiver.verify(store) == sum(store.files().values())
        assert len(files(place)) == len(store.files())
        store.delete_study(name)
        if len(steps) < last:
            break
    assert last > 4
    assert files(place) == []


def test_an_archiver_that_is_killed_at_random_while_reports_come(url, place):
    store = Store.open(url)
    given = study(store, sizes=(400, 300, 100))
    sent, rng = [s for part in given for s in part], random.Random(5)
    for turn in range(4):
        more = submissions(store, "tea", 20, 100 + turn)
        arguments = [sys.executable, HERE / "archive_worker.py", url, place, "0"]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=HERE)
        process.stdout.readline()  # sealed
        assert set(codes(store.submit(more))) == {None}
        sent += more
        time.sleep(0.15 * rng.random())
        process.kill()
        process.communicate()
        assert sorted(store.rows("tea")) == sorted((s.round, s.value) for s in sent)
        assert store.study("tea").n == len(store.evidence("tea")) == len(sent)
        grow(store, subset=turn % 2 == 0)
    archiver.archive(store, place, 0)
    assert sorted(store.rows("tea")) == sorted((s.round, s.value) for s in sent)
    assert len(files(place)) == len(store.files())
    store.close()


# Several at once


def test_of_two_archivers_one_works(store, url, place):
    study(store)
    second = Store.open(url)
    found = []
    archiver.archive(
        store,
        place,
        0,
        lambda step: found.append(archiver.archive(second, place, 0)) if step == "sealed" else None,
    )
    assert found == [None]
    assert archiver.archive(second, place, 0).reports == 0
    second.close()


def test_two_archivers_that_both_have_the_turn_count_nothing_twice(store, url, place, monkeypatch):
    """As when the connection that holds the turn is lost."""
    study(store, sizes=(300, 200, 20))
    before = seen(store)
    stores = [Store.open(url) for _ in range(2)]
    ends = count()
    for opened in stores:
        monkeypatch.setattr(
            opened, "turn", lambda name, opened=opened: Store.turn(opened, name + str(next(ends)))
        )
    from tacit.collector import database

    monkeypatch.setattr(
        database, "_TURNS", {"archive-turn": 98, **{f"archive-turn{i}": 99 + i for i in range(9)}}
    )
    failed = []

    def work(opened):
        try:
            archiver.archive(opened, place, 0, lambda _: time.sleep(0.003))
        except TacitError as error:
            failed.append(error.code)

    threads = [threading.Thread(target=work, args=(opened,)) for opened in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen(store) == before
    archiver.archive(store, place, 0)
    assert seen(store) == before
    assert archiver.verify(store) == 500
    assert len(files(place)) == len(store.files())
    for opened in stores:
        opened.close()


def test_an_export_sees_one_state_while_parts_move_and_change(store, place):
    given = study(store)
    rows = store.rows("tea")
    first = [next(rows)]
    archiver.archive(store, place, 0)
    assert len(first + list(rows)) == 190
    store.erase("tea", given[0][0].id.hex())
    rows = store.rows("tea")
    first = [next(rows)]
    archiver.archive(store, place, 0)  # replaces a file that the export has open
    assert len(first + list(rows)) == 190
    assert len(list(store.rows("tea"))) == 189


# Deleting


def test_a_deleted_study_leaves_no_file(store, place):
    study(store)
    study(store, "coffee")
    archiver.archive(store, place, 0)
    store.delete_study("tea")
    assert {file.parts[-3] for file in files(place)} == {"study=coffee"}
    for name in ("parts", "archives", "studies", "reports"):
        assert len({row[0] for row in table(store, name)}) == 1
    assert len(list(store.rows("coffee"))) == 190


def test_retention_reaches_the_archive(store, place, monkeypatch):
    store.create_study(settings(retention_days=2))
    store.submit(submissions(store, "tea", 50))
    grow(store)
    archiver.archive(store, place, 0)
    store.close_study("tea")
    start = int(time.time() // 3600)
    monkeypatch.setattr(catalog, "_hour", lambda: start + 49)
    store.sweep()
    assert files(place) == []
    assert (store.study("tea").n, store.study("tea").purged) == (0, True)
    assert table(store, "parts") == table(store, "archives") == []
    assert list(store.rows("tea")) == []
    assert archiver.archive(store, place, 0).reports == 0


def test_a_deletion_waits_for_an_archive_that_is_away(store, place):
    study(store)
    archiver.archive(store, place, 0)
    away = place.rename(place.with_name("away"))
    store.delete_study("tea")
    store.sweep()
    assert store.studies(hidden=True) == []
    assert len(table(store, "parts")) == 5
    assert table(store, "reports") == []
    away.rename(place)
    store.sweep()
    assert files(place) == []
    assert table(store, "studies") == table(store, "parts") == []


def test_a_study_deleted_during_a_pass(store, place):
    study(store)
    done = iter([True])

    def meanwhile(step):
        if step == "written" and next(done, False):
            store.delete_study("tea")

    archiver.archive(store, place, 0, meanwhile)
    assert files(place) == []
    assert table(store, "parts") == table(store, "studies") == table(store, "reports") == []


# What goes wrong


def test_a_place_that_is_away_loses_nothing(store, place):
    study(store)
    before = seen(store)
    place.write_text("not a folder")
    assert refusal(archiver.archive, store, place, 0) == "archive_unusable"
    assert seen(store) == before
    place.unlink()
    archiver.archive(store, place, 0)
    away = place.rename(place.with_name("away"))
    assert refusal(archiver.archive, store, place, 0) == "archive_unusable"
    assert not files(place)
    assert refusal(list, store.rows("tea")) == "archive_unusable"
    assert store.evidence("tea").id == before[0]  # its sum stands in the database
    assert codes(store.submit(submissions(store, "tea", 2, 50))) == [None, None]
    away.rename(place)
    assert len(list(store.rows("tea"))) == 192


def test_a_place_that_refuses_to_be_written(store, place, monkeypatch):
    study(store)
    before = seen(store)
    archiver.archive(store, place, 36_500)
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert refusal(archiver.archive, store, place, 0) == "archive_unusable"
    monkeypatch.undo()
    assert seen(store) == before
    assert files(place) == []
    monkeypatch.setattr(archiver, "ROWS", 40)
    done = archiver.archive(store, place, 0)
    assert (done.reports, done.orphans) == (160, 1)
    assert seen(store) == before
    assert [path.name for path in place.rglob("*.tmp")] == []


def test_the_archive_of_another_collector_is_left_alone(store, place, tmp_path):
    study(store)
    archiver.archive(store, place, 0)
    second = Store.open(f"sqlite:///{tmp_path}/second.db")
    study(second)
    kept = files(place)
    assert refusal(archiver.archive, second, place, 0) == "archive_unusable"
    assert files(place) == kept
    assert scalar(second, "SELECT count(*) FROM reports") == 190
    second.close()


def test_an_archive_may_move_to_another_place(store, place):
    study(store)
    archiver.archive(store, place, 0)
    before = seen(store)
    moved = place.rename(place.with_name("moved"))
    assert archiver.archive(store, moved, 0).reports == 0
    assert seen(store) == before


@pytest.mark.parametrize("harm", ["missing", "damaged", "cut"])
def test_a_part_that_is_gone_or_damaged_is_said(store, place, harm):
    given = study(store)
    archiver.archive(store, place, 0)
    victim = files(place)[2]
    whole = victim.read_bytes()
    if harm == "missing":
        victim.unlink()
    else:
        victim.write_bytes(whole[:-9] if harm == "cut" else whole[:30] + bytes([whole[30] ^ 1]) + whole[31:])
    assert refusal(list, store.rows("tea")) == "archive_damaged"
    assert refusal(next, exports._csv(store, "tea")) == "archive_damaged"  # before any piece
    assert refusal(archiver.verify, store) == "archive_damaged"
    if harm == "missing":
        assert refusal(archiver.archive, store, place, 0) == "archive_damaged"
    for s in given[0] + given[1]:
        store.erase("tea", s.id.hex())
    assert refusal(archiver.archive, store, place, 0) == "archive_damaged"
    assert len(table(store, "erasures")) == 160  # nothing is forgotten
    victim.write_bytes(whole)
    assert archiver.archive(store, place, 0).erased == 160
    assert list(store.rows("tea")) == sorted((s.round, s.value) for s in given[2])


def test_a_url_of_fsspec(store):
    fsspec = pytest.importorskip("fsspec")
    url = f"memory://{secrets.token_hex(8)}/archive"
    given = study(store)
    before = seen(store)
    assert archiver.archive(store, url, 0).reports == 160
    assert seen(store) == before
    assert archiver.verify(store) == 160
    held = fsspec.filesystem("memory").find(url)
    assert len(held) == 6
    assert Evidence.from_table(f"{url}/*/*/*.parquet", chain(store)[:2], study="tea") != store.evidence("tea")
    store.erase("tea", given[0][0].id.hex())
    assert archiver.archive(store, url, 0).erased == 1
    fsspec.filesystem("memory").rm_file(
        next(name for name in fsspec.filesystem("memory").find(url) if "part-" in name)
    )
    assert refusal(list, store.rows("tea")) == "archive_damaged"
    store.delete_study("tea")
    assert len(fsspec.filesystem("memory").find(url)) == 1  # the mark


def test_a_url_that_nothing_opens_is_refused(store):
    assert refusal(archiver.archive, store, "nowhere://x/y") == "archive_unusable"
    assert refusal(archiver.archive, store, "x", -1) == "argument_invalid"


# Around it


def test_the_room_goes_back_to_the_file_system(tmp_path, place):
    path = tmp_path / "tacit.db"
    store = Store.open(f"sqlite:///{path}")
    study(store, sizes=(9000, 5))
    archiver.ROWS = 5000
    scalar(store, "PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.stat().st_size
    done = archiver.archive(store, place, 0)
    assert done.freed > 0
    assert path.stat().st_size < before / 2
    assert len(list(store.rows("tea"))) == 9005
    store.close()


def test_http_says_what_is_archived(store, place, caplog):
    given = study(store)
    with served(store) as url, httpx.Client(base_url=url, timeout=30) as client:
        before = client.get("/v1/studies/tea/export").content
        evidence = client.get("/v1/studies/tea/evidence").content
        archiver.archive(store, place, 0)
        assert client.get("/v1/studies/tea/export").content == before
        assert Evidence.from_bytes(client.get("/v1/studies/tea/evidence").content) == Evidence.from_bytes(
            evidence
        )
        s = given[0][0]
        value = tuple(map(int, s.value.split(",")))
        copy = Report(s.id.hex(), "tea", s.round, value if s.listed else value[0])
        answer = send(client, copy)
        assert (answer.status_code, answer.json()["code"]) == (410, "round_archived")
        files(place)[0].unlink()
        answer = client.get("/v1/studies/tea/export")
        assert (answer.status_code, answer.json()["code"]) == (500, "archive_damaged")
        assert client.get("/v1/health").status_code == 200
        assert client.delete(f"/v1/studies/tea/reports/{s.id.hex()}").status_code == 204


def test_a_worker_archives_too(store, place, monkeypatch, caplog):
    study(store)
    passes = []

    class End(BaseException):
        pass

    def sleep(_):
        passes.append(scalar(store, "SELECT count(*) FROM reports"))
        if len(passes) == 1:
            place.rename(place.with_name("away"))
        else:
            raise End

    monkeypatch.setattr(worker.time, "sleep", sleep)
    with pytest.raises(End):
        worker.archive_hourly(store, place, 0)
    assert passes == [30, 30]
    assert "the archiver stopped" in caplog.text


def test_a_database_of_the_first_release_is_migrated(url):
    from alembic import command
    from alembic.config import Config

    from tacit.collector import database as databases

    opened = Store(databases.connect(url))
    config = Config()
    config.set_main_option("script_location", str(Path(databases.__file__).parent / "migrations"))
    with opened.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(
            text(
                "INSERT INTO studies (name, state, settings, created, rounds, head, full_at, seen, purged) "
                "VALUES ('old', 'open', '{}', 1, 1, 'h', 9, 0, false)"
            )
        )
        row = {"study": 1, "number": 0, "id": "h", "text": "{}"}
        connection.execute(insert(rounds).values(row))
    opened.close()
    migrated = Store.open(url)
    assert scalar(migrated, "SELECT archived FROM studies") == 0
    assert time.time() // 3600 - 1 <= scalar(migrated, "SELECT published FROM rounds") <= time.time() // 3600
    migrated.close()

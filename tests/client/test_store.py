"""The store on a full disk, without permission, and on files that are not what they should be."""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from client_support import asked, attempt, refused, rows, run

from tacit_client import Device, Report, Store, TacitError, store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tacit.sqlite"


def answer(path, study="office", label="tea"):
    return Device(Store(path), 1, 10**6).answer(asked(study), label)


def test_a_full_disk_refuses_and_keeps_what_was_there(path, monkeypatch):
    opened, connect = Store(path), store._connect

    def full(path):
        connection = connect(path)
        assert connection.execute("PRAGMA max_page_count = 3").fetchone() == (3,)
        return connection

    monkeypatch.setattr(store, "_connect", full)
    device, returned = Device(opened, 1, 10**6), []
    for i in range(500):
        report = attempt(device.answer, asked(f"s{i}"), "tea")
        if isinstance(report, TacitError):
            break
        returned.append(report)
    assert report.code == "store_unusable"
    assert 0 < len(returned) < 499
    assert opened.spent() == len(returned)
    assert sorted(opened.pending(), key=lambda r: int(r.study[1:])) == returned
    monkeypatch.setattr(store, "_connect", connect)
    assert device.answer(asked(report_study := f"s{len(returned)}"), "tea").study == report_study


@pytest.mark.parametrize("limit", [0, 100, 512, 4096, 8192, 12288, 20480])
def test_a_file_that_cannot_grow_refuses_and_keeps_what_was_there(path, limit):
    Store(path)
    *returned, last = run("small_files", path, limit)
    assert last == "store_unusable"
    assert (len(returned) > 0) == (limit >= 12288)
    opened = Store(path)
    assert {report.to_json() for report in opened.pending()} == set(returned)
    assert opened.spent() == len(returned)
    assert answer(path, f"study-{len(returned)}")


@pytest.fixture
def public():
    """A folder that every user can reach, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.parametrize("case", ["file", "folder", "new", "secret", "missing", "loop"])
def test_a_file_without_permission_is_refused(public, case):
    path = public / "folder" / "tacit.sqlite"
    path.parent.mkdir()
    if case in ("file", "folder", "secret"):
        answer(path, "earlier")
        path.chmod({"file": 0o444, "folder": 0o666, "secret": 0o000}[case])
    if case == "loop":
        path.symlink_to(path)
    path.parent.chmod(0o777 if case in ("file", "secret", "loop") else 0o555)
    target = path.parent / "missing" / "x" if case == "missing" else path
    assert run("unprivileged", target, "office") == ["store_unusable"]
    path.parent.chmod(0o755)
    if case in ("file", "folder", "secret"):
        path.chmod(0o600)
        assert [row[0] for row in rows(path)] == ["earlier"]


def test_the_unprivileged_user_can_answer_where_it_may(public):
    public.chmod(0o777)
    (text,) = run("unprivileged", public / "tacit.sqlite", "office")
    assert Report.from_json(text).study == "office"


@pytest.mark.parametrize("garbage", [b"xy", b"hello\n" * 2000, b"SQLite format 3\0", os.urandom(9000)])
def test_garbage_is_refused_and_left_alone(path, garbage):
    path.write_bytes(garbage)
    with refused("store_unusable"):
        Store(path)
    assert path.read_bytes() == garbage


@pytest.mark.parametrize("size", [2, 15, 16, 50, 99, 100, 512, 4095, 4096, 4097, 8191, 8192, 12287])
def test_a_truncated_store_never_gives_another_report(path, size):
    first = [answer(path, f"s{i}") for i in range(25)]
    whole = path.read_bytes()
    assert len(whole) > size
    path.write_bytes(whole[:size])
    for report in first:
        assert attempt(answer, path, report.study).code == "store_unusable"
    path.write_bytes(whole)
    assert [answer(path, f"s{i}") for i in range(25)] == first


@pytest.mark.parametrize("size", [0, 1])
def test_a_store_cut_to_nothing_is_not_taken_for_a_new_one(path, size):
    # SQLite reads a file of one byte as an empty one. To a device, an empty ledger that was there is a lost one.
    answer(path)
    path.write_bytes(path.read_bytes()[:size])
    again = attempt(answer, path)
    assert isinstance(again, TacitError), "the study was answered a second time, with new randomness"
    assert again.code in ("store_unusable", "version_unknown")


PROGRAMS = {
    "tables": ["CREATE TABLE mine (a)", "INSERT INTO mine VALUES (1)"],
    "the same table": ["CREATE TABLE kept (study, report)"],
    "an application id": ["PRAGMA application_id = 77"],
    "a version": ["PRAGMA user_version = 1"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_file_of_another_program_is_refused_and_left_alone(path, name):
    with closing(sqlite3.connect(path)) as connection:
        for statement in PROGRAMS[name]:
            connection.execute(statement)
        connection.commit()
    before = path.read_bytes()
    with refused("store_unusable"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 2, 1000])
def test_another_version_is_refused_and_left_alone(path, version):
    first = answer(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with refused("version_unknown"):
        Store(path)
    assert path.read_bytes() == before
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    assert answer(path) == first


def test_a_damaged_report_is_not_replaced_by_another(path):
    answer(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE kept SET report = 'x'")
        connection.commit()
    for call in (lambda: answer(path), lambda: Store(path).kept("office"), lambda: Store(path).pending()):
        with refused():
            call()
    assert [row[:3] for row in rows(path)] == [("office", 10**12, "x")]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_a_refused_file_is_closed_again(path):
    path.write_bytes(b"garbage " * 1000)
    before = len(os.listdir("/proc/self/fd"))
    errors = [attempt(Store, path) for _ in range(5)]
    assert {error.code for error in errors} == {"store_unusable"}
    assert len(os.listdir("/proc/self/fd")) == before  # also while the errors are kept, as a Delivery does


def test_a_locked_store_is_refused_in_the_end(path, monkeypatch):
    first = answer(path)
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with refused("store_unusable"):
            answer(path)
        with refused("store_unusable"):
            Store(path)
    assert answer(path) == first


@pytest.mark.parametrize(
    "bad", [":memory:", "", None, 3, b"x", ["x"], "./:memory:", Path(":memory:"), "a\0b"]
)
def test_a_store_is_a_file(tmp_path, monkeypatch, bad):
    monkeypatch.chdir(tmp_path)
    with refused("argument_invalid"):
        Store(bad)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_a_store(tmp_path):
    for folder in (tmp_path, tmp_path / "missing" / "tacit.sqlite", tmp_path / ("x" * 300)):
        with refused("store_unusable"):
            Store(folder)


def test_a_relative_path_stays_the_same_file(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    device = Device(Store("tacit.sqlite"), 1, 100)
    first = device.answer(asked(), "tea")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert attempt(device.answer, asked(), "tea") == first
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_store_that_vanished_is_refused_and_not_made_anew(path):
    device = Device(Store(path), 1, 100)
    device.answer(asked(), "tea")
    path.unlink()
    with refused("store_unusable"):
        device.answer(asked(), "tea")
    assert not path.exists(), f"an empty file, open to others: {path.stat().st_mode:o}"

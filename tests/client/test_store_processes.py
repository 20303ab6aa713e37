"""The store under several threads and processes at once, and under kill -9."""

import sqlite3
import threading
from contextlib import ExitStack, suppress
from subprocess import TimeoutExpired

import pytest
from client_support import PATIENCE, asked, attempt, rows, run, wait_until, worker

from tacit_client import Device, Report, Store, TacitError, store
from tacit_client.tables import Blocks

CHARGE = 10**12  # of the usual round: epsilon 1


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tacit.sqlite"


def answer(path, study="office", label="tea"):
    return Device(Store(path), 1, 10**6).answer(asked(study), label)


def together(path, folder, studies, total, action="answer_together"):
    """What processes print that answer at the same moment on one file."""
    labels = ("tea", "coffee", "neither", "tea")
    with ExitStack() as stack:
        processes = [
            stack.enter_context(worker(action, path, folder, study, label, total))
            for study, label in zip(studies, labels, strict=True)
        ]
        wait_until(lambda: len(list(folder.glob("*.ready"))) == len(studies), "four processes")
        (folder / "go").touch()
        outs = [process.communicate(timeout=PATIENCE) for process in processes]
    assert not any(err for _, err in outs), outs
    return [out.strip() for out, _ in outs]


@pytest.mark.parametrize("action", ["answer_together", "open_together"])
def test_four_processes_give_one_report(path, tmp_path, action):
    outs = together(path, tmp_path, ["office"] * 4, 100, action)
    assert len(set(outs)) == 1
    assert Store(path).kept("office") == Report.from_json(outs[0])
    assert [row[:2] for row in rows(path)] == [("office", CHARGE)]


def test_four_processes_share_one_total(path, tmp_path):
    outs = together(path, tmp_path, ["a", "b", "c", "d"], 2)
    assert sorted(out == "budget_exhausted" for out in outs) == [False, False, True, True]
    kept = {Report.from_json(out) for out in outs if out != "budget_exhausted"}
    assert set(Store(path).pending()) == kept
    assert Store(path).spent() == 2


def test_the_ledger_is_read_and_written_in_one_transaction(path, monkeypatch):
    device, connect, statements = Device(Store(path), 1, 100), store._connect, []

    def traced(path):
        connection = connect(path)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(store, "_connect", traced)
    device.answer(asked(), "tea")
    words = [statement.split()[0] for statement in statements]
    insert = words.index("INSERT")
    begin = max(i for i in range(insert) if words[i] == "BEGIN")
    assert words[begin:] == ["BEGIN", "SELECT", "SELECT", "INSERT", "COMMIT"]
    assert statements[begin] == "BEGIN IMMEDIATE"


def test_a_commit_waits_for_the_disk(path):
    # What a power cut takes cannot be tested here; that SQLite is told to sync file and folder can.
    with Store(path).transaction() as transaction:
        assert transaction.connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert transaction.connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_an_error_in_a_transaction_undoes_it(path):
    answer(path, "earlier")
    for error in (KeyboardInterrupt, RuntimeError, sqlite3.OperationalError):
        with suppress(error, TacitError), Store(path).transaction() as transaction:
            transaction.keep(Report(Report.new_id(), "office", asked().id, 1), CHARGE)
            assert transaction.kept("office")
            raise error
        assert [row[0] for row in rows(path)] == ["earlier"]


def test_threads_give_one_report(path):
    device, reports = Device(Store(path), 1, 100), []
    threads = [
        threading.Thread(target=lambda: reports.append(device.answer(asked(), "tea"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(reports) == 8
    assert len(set(reports)) == 1
    assert device.store.spent() == 1


def test_opening_the_store_again_does_not_free_its_lock(path, monkeypatch):
    # POSIX: closing any descriptor of a file frees all locks that the process holds on it. A second Store on the
    # path, made by another thread while this one is answering, must not let another process in.
    processes = []

    class Slow(Blocks):
        def respond(self, answer):
            monkeypatch.setattr(store, "_PATIENCE", 0.2)
            thread = threading.Thread(target=attempt, args=(Store, path))
            thread.start()
            thread.join(PATIENCE)
            processes.append(stack.enter_context(worker("answer", path, "office", "coffee")))
            with suppress(TimeoutExpired):  # it should wait until we are done, so it is not waited for
                processes[0].wait(timeout=2)
            return super().respond(answer)

    plain = asked().channel
    slow = Slow(plain.k, plain.epsilon, plain.subset, plain.inside, plain.outside)
    with ExitStack() as stack:
        here = Device(Store(path), 1, 100).answer(asked(channel=slow), "tea")
        there, _ = processes[0].communicate(timeout=PATIENCE)
    assert there.strip() == here.to_json(), "one study has two reports, and the ledger holds one charge"


def killed(action, path, *arguments):
    """What a process printed that killed itself."""
    return run(action, path, *arguments, status=-9)


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("action", ["die_in_randomiser", "die_before_commit"])
def test_kill_before_the_commit_leaves_nothing(path, action, before):
    earlier = [answer(path, f"s{i}") for i in range(before)]
    assert killed(action, path, "office") == [
        "randomising" if action == "die_in_randomiser" else "committing"
    ]
    opened = Store(path)
    assert opened.kept("office") is None
    assert opened.spent() == before
    assert opened.pending() == earlier
    assert answer(path) == answer(path, label="coffee")
    assert opened.spent() == before + 1


def test_kill_with_half_a_transaction_in_the_file_leaves_nothing(path):
    earlier = [answer(path, f"s{i}") for i in range(3)]
    before = path.read_bytes()
    assert killed("die_before_commit", path, "office", 20_000) == ["committing"]
    assert path.read_bytes() != before, "the case is meant to reach the file before COMMIT"
    assert path.with_name(path.name + "-journal").stat().st_size > 512
    opened = Store(path)
    assert opened.kept("office") is None
    assert opened.pending() == earlier
    assert opened.spent() == 3
    assert answer(path).study == "office"


def test_kill_after_the_commit_keeps_the_report(path):
    (text,) = killed("die_after_commit", path, "office")
    opened = Store(path)
    assert [report.to_json() for report in opened.pending()] == [text]
    assert opened.spent() == 1
    for label in ("tea", "coffee"):
        assert answer(path, label=label).to_json() == text
    assert rows(path) == [("office", CHARGE, text, 0, None)]


@pytest.mark.parametrize("lines", [1, 2, 5, 17, 40, 80])
def test_kill_at_any_moment_keeps_what_was_returned(path, lines):
    with worker("answer_for_ever", path) as process:
        returned = [process.stdout.readline().strip() for _ in range(lines)]
        process.kill()
        returned += process.stdout.read().split("\n")[:-1]
    opened = Store(path)
    kept = {report.study: report.to_json() for report in opened.pending()}
    assert opened.spent() == len(kept)
    for i, text in enumerate(returned):
        assert kept.pop(f"study-{i}") == text
        assert answer(path, f"study-{i}", "coffee").to_json() == text
    assert len(kept) <= 1  # one more may have been committed and not printed

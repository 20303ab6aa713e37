"""The worker: what is due, what it publishes, and that its own death changes nothing."""

import json
import logging
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from store_support import codes, numeric, scalar, settings, submissions, table

from tacit import Evidence
from tacit.collector import estimates, worker
from tacit.collector.published import Standing
from tacit.collector.reports import channel_of
from tacit.collector.store import Store
from tacit.collector.worker import Due, Pace, Worker, refreshed
from tacit_client import Round

HERE = Path(__file__).parent
EAGER = Pace(max_age=1e9, growth=0.0, rest=0.0, patience=0.0, look=0.01)
ADAPTIVE = {"policy": "semi:0.9", "expected": 1000}


@pytest.fixture
def adaptive(store):
    store.create_study(settings(**ADAPTIVE))
    return store


def look(store):
    """Refresh what has changed, at once: a worker that has just begun knows of no rest."""
    return Worker(store, EAGER).look()


def newest(store, name="tea"):
    return json.loads(store.estimate(name).payload)


def chain(store, name="tea"):
    return [Round.from_json(record.text) for record in store.rounds(name)]


def grow(store, sizes=(100, 60, 100, 150), refresh=look):
    """Reports, a refresh, and again."""
    for i, size in enumerate(sizes):
        assert set(codes(store.submit(submissions(store, "tea", size, seed=i)))) == {None}
        assert refresh(store) == 1


def test_the_first_look_makes_an_estimate_of_the_prior(store):
    store.create_study(settings())
    store.create_study(settings("draft", state="draft"))
    assert Worker(store).look() == 1
    found = newest(store)
    assert (found["used"], found["n"], found["diagnostics"]["method"]) == (0, 0, "prior")
    assert found["history"] == []
    assert store.study("tea").estimates == 1
    assert store.estimate("draft") is None
    assert Worker(store).look() == 0


def test_full_rounds_lead_to_new_channels_and_late_reports_count(adaptive):
    grow(adaptive)
    rounds = chain(adaptive)
    assert len(rounds) > 2
    assert [r.number for r in rounds] == list(range(len(rounds)))
    assert [r.previous for r in rounds] == [None, *(r.id for r in rounds[:-1])]
    assert adaptive.study("tea").head == rounds[-1].id == adaptive.round("tea").id
    assert adaptive.study("tea").rounds == len(rounds)
    late = submissions(adaptive, "tea", 30, seed=9, number=0)
    outcomes = adaptive.submit(late)
    assert {o.head for o in outcomes} == {rounds[-1].id}
    look(adaptive)
    found = newest(adaptive)
    assert found["used"] == found["n"] == 440
    assert found["rounds"][0]["n"] == 130
    assert sum(r["n"] for r in found["rounds"]) == 440
    assert [entry["n"] for entry in found["history"]] == [100, 160, 260, 410, 440]


def test_the_evidence_is_that_of_all_reports(adaptive):
    grow(adaptive)
    evidence = Evidence()
    texts = [record.text for record in adaptive.rounds("tea")]
    for _, _, number, value in table(adaptive, "reports"):
        channel = channel_of(texts[number])
        cells = [int(v) for v in value.split(",")]
        evidence = evidence.add(channel, [cells] if channel.table.columns else cells)
    assert adaptive.evidence("tea") == evidence
    assert len({number for _, _, number, _ in table(adaptive, "reports")}) > 2


def test_an_erased_report_is_folded_out_as_if_it_had_never_come(store, url):
    """Exactly: the estimate of the rest, with the same seed."""
    store.create_study(settings())
    given = submissions(store, "tea", 90)
    store.submit(given)
    work = Worker(store, Pace())
    assert work.look() == 1
    before = newest(store)
    for s in given[:30]:
        store.erase("tea", s.id.hex())
    assert work.look() == 0  # rest
    assert Worker(store, Pace(rest=0)).look() == 1
    after = newest(store)
    assert (before["used"], after["used"]) == (90, 60)
    store.delete_study("tea")
    store.create_study(settings())
    store.submit(given[30:])
    Worker(store).look()
    assert newest(store) == after
    assert after["estimate"] != before["estimate"]


def test_the_order_and_grouping_of_reports_leave_no_trace(store):
    given = {}
    for name in ("a", "b"):
        store.create_study(settings(name))
    given["a"] = submissions(store, "a", 95)
    store.submit(given["a"])
    shuffled = [s._replace(study="b", round=store.round("b").id) for s in given["a"][::-1]]
    for i in range(0, 95, 19):
        store.submit(shuffled[i : i + 19])
    Worker(store).look()
    found = {name: newest(store, name) for name in ("a", "b")}
    assert found["a"]["estimate"] == found["b"]["estimate"]
    assert found["a"]["low"] == found["b"]["low"]


def test_closing_makes_a_last_estimate_and_no_round(adaptive):
    grow(adaptive, sizes=(100,))
    rounds = len(chain(adaptive))
    adaptive.submit(submissions(adaptive, "tea", 200))
    adaptive.close_study("tea")
    work = Worker(adaptive, EAGER)
    assert work.look() == 1
    assert (newest(adaptive)["state"], newest(adaptive)["used"]) == ("closed", 300)
    assert len(chain(adaptive)) == rounds
    assert work.look() == 0


def test_a_number_is_learned(store):
    store.create_study(numeric(expected=500))
    rng = np.random.default_rng(3)
    for i in range(12):
        answers = np.clip(np.round(rng.normal(35, 5, 80)), 0, 100)
        store.submit(submissions(store, "age", 80, seed=i, answers=answers))
        assert look(store) == 1
    found = newest(store, "age")
    assert found["used"] == 960
    assert len(found["rounds"]) > 2
    # 35 lies within five expected errors of the estimate: about four standard deviations.
    assert abs(found["estimate"]["mu"] - 35) < 5 * found["error"]["expected"]
    assert found["low"]["mu"] < found["estimate"]["mu"] < found["high"]["mu"]


def test_many_categories_are_learned_by_moments(store, monkeypatch):
    store.create_study(settings(k=12))
    store.submit(submissions(store, "tea", 90))
    Worker(store).look()
    assert newest(store)["diagnostics"]["method"] == "exact"
    monkeypatch.setattr(worker, "DETAIL", 500)
    store.submit(submissions(store, "tea", 90, seed=1))
    assert look(store) == 1
    assert newest(store)["diagnostics"]["method"] == "moments"


# What is due


def standing(**changes):
    known = {
        "key": 1, "name": "tea", "state": "open", "settings": settings(), "rounds": 1, "full_at": 150, "seen": 100,
        "n": 100, "erased": 0, "sequence": 1, "used": 100, "used_erased": 0, "final": False,
    }  # fmt: skip
    return Standing(**{**known, **changes})


@pytest.mark.parametrize(
    ("changes", "times", "due"),
    [
        ({}, (1e6, 1e6, 0), (False, False)),
        ({"n": 149}, (1, 1, 0), (False, False)),
        ({"n": 150}, (0, 0, 0), (True, True)),  # the round is full
        ({"n": 150, "state": "closed", "final": True}, (1e6, 1, 0), (False, False)),
        ({"n": 111}, (301, 0, 0), (True, True)),  # not full, but old, with a tenth more
        ({"n": 110}, (301, 0, 0), (False, False)),
        ({"n": 111}, (299, 0, 0), (False, False)),
        ({"n": 106}, (0, 2, 0), (False, True)),  # a twentieth more
        ({"n": 106}, (0, 1.9, 0), (False, False)),
        ({"n": 105}, (0, 2, 0), (False, False)),
        ({"n": 101}, (0, 30, 0), (False, True)),  # anything, after a while
        ({"n": 101}, (0, 29, 0), (False, False)),
        ({"n": 101}, (0, 30, 2), (False, False)),  # longer for what takes long
        ({"n": 106}, (0, 3, 2), (False, False)),
        ({"n": 100, "erased": 1}, (0, 2, 0), (False, True)),
        ({"n": 99, "erased": 1, "used_erased": 1}, (0, 30, 0), (False, True)),
        ({"sequence": 0, "n": 0, "used": 0}, (0, 0, 0), (False, True)),
        ({"state": "closed"}, (0, 0, 0), (False, True)),
        ({"state": "closed", "final": True}, (1e6, 1e6, 0), (False, False)),
        ({"state": "closed", "final": True, "erased": 1}, (0, 2, 0), (False, True)),
    ],
)  # fmt: skip
def test_what_is_due(store, changes, times, due):
    assert Worker(store).due(standing(**changes), *times) == Due(*due)


def test_a_slow_round_is_left_when_it_is_old(adaptive):
    clock = {"now": 0.0}
    work = Worker(adaptive, Pace(), clock=lambda: clock["now"])
    grow(adaptive, sizes=(100,), refresh=lambda _: work.look())
    rounds = len(chain(adaptive))
    assert scalar(adaptive, "SELECT full_at FROM studies") == 150
    clock["now"] = 100.0
    adaptive.submit(submissions(adaptive, "tea", 30))
    work.look()
    assert len(chain(adaptive)) == rounds
    clock["now"] = 301.0
    assert work.look() == 1
    assert scalar(adaptive, "SELECT seen FROM studies") == 130
    assert scalar(adaptive, "SELECT full_at FROM studies") == 150
    assert len(chain(adaptive)) == rounds + 1


# Two workers, failures


def test_of_two_workers_that_publish_the_same_round_one_wins(adaptive, url):
    adaptive.submit(submissions(adaptive, "tea", 120))
    stores = [Store.open(url) for _ in range(3)]
    seen = [store.standings()[0] for store in stores]
    barrier, won = threading.Barrier(3), []

    def work(i):
        barrier.wait()
        won.append(refreshed(stores[i], seen[i], True))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False, False, True]
    rounds = chain(adaptive)
    assert [r.number for r in rounds] == [0, 1]
    assert rounds[1].previous == rounds[0].id
    assert adaptive.study("tea").estimates == 1
    for store in stores:
        store.close()


def test_one_process_has_the_turn(store, url):
    store.create_study(settings())
    second = Store.open(url)
    with store.turn() as mine:
        with second.turn() as other:
            assert (mine, other) == (True, False)
        assert Worker(second).look() == 0
    with second.turn() as other:
        assert other
    assert Worker(second).look() == 1
    second.close()


def test_a_bad_study_does_not_stop_the_others_and_its_data_stays_out_of_the_log(store, monkeypatch, caplog):
    for name in ("a", "bad", "c"):
        store.create_study(settings(name))
        store.submit(submissions(store, name, 7))
    real, tried = estimates.estimate, []

    def estimate(study, *given):
        if study.name == "bad":
            tried.append(1)
            raise ValueError(f"reports {study.evidence.tallies[0].counts} of secret label 0")
        return real(study, *given)

    monkeypatch.setattr(worker.estimates, "estimate", estimate)
    clock = {"now": 0.0}
    work = Worker(store, EAGER, clock=lambda: clock["now"])
    with caplog.at_level(logging.INFO):
        assert work.look() == 2
        assert work.look() == 0
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("ERROR", "study bad was not refreshed: ValueError")
    ]
    assert "secret" not in caplog.text
    assert len(tried) == 1  # not again at once
    clock["now"] = 61.0
    work.look()
    assert len(tried) == 2
    monkeypatch.undo()
    clock["now"] = 61.0 + 121.0
    assert work.look() == 1
    assert newest(store, "bad")["used"] == 7


def test_a_store_that_goes_away_is_waited_for(store, monkeypatch, caplog):
    store.create_study(settings())
    work, stop, looks = Worker(store, Pace(look=0.01)), threading.Event(), []

    def wait(seconds):
        looks.append(seconds)
        if len(looks) == 4:
            stop.set()

    real = store.standings
    gone = iter([True, True])
    monkeypatch.setattr(store, "standings", lambda: store.study("none") if next(gone, False) else real())
    monkeypatch.setattr(stop, "wait", wait)
    work.run(stop)
    assert looks == [1.0, 2.0, 0.01, 0.01]
    assert store.estimate("tea") is not None


# The process


def started(url, growth=0.0):
    given = (
        "import sys; from tacit.collector.worker import Pace, run; "
        f"run(sys.argv[1], Pace(growth={growth}, rest=0.0, patience=0.0, look=0.01))"
    )
    return subprocess.Popen([sys.executable, "-c", given, url], stderr=subprocess.PIPE, text=True)


def waited(condition, seconds=90.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def test_a_worker_that_is_killed_again_and_again_learns_what_it_should(url):
    store = Store.open(url)
    store.create_study(settings(**ADAPTIVE))
    rng, stored = random.Random(1), 0
    for run in range(4):
        process = started(url)
        made = store.study("tea").estimates
        waited(
            lambda made=made, process=process: (
                store.study("tea").estimates > made or process.poll() is not None
            )
        )
        for i in range(rng.randrange(2, 5)):
            given = submissions(store, "tea", 40, seed=10 * run + i)
            assert set(codes(store.submit(given))) == {None}
            stored += 40
            time.sleep(rng.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert store.study("tea").n == stored
        store.submit(submissions(store, "tea", 1, seed=run))
        stored += 1
    with store.turn() as free:  # the turn died with the process
        assert free
    process = started(url)
    waited(lambda: newest(store)["used"] == stored)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "")
    rounds = chain(store)
    assert [r.number for r in rounds] == list(range(len(rounds)))
    assert [r.previous for r in rounds] == [None, *(r.id for r in rounds[:-1])]
    assert len(rounds) > 1
    assert len(store.evidence("tea")) == store.study("tea").n == stored
    store.close()

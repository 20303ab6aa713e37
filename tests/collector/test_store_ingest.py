"""Group commit: callers share transactions, and each is told what became of its own."""

import asyncio
import time

import pytest
from sqlalchemy import event
from store_support import codes, other, scalar, settings, submissions

from tacit.collector.ingest import Ingest
from tacit.collector.intake import Outcome, Submission
from tacit.errors import TacitError


class Slow:
    """A store that notes the sizes of its transactions and takes its time."""

    def __init__(self, seconds=0.02, failing=0):
        self.sizes, self.seconds, self.failing = [], seconds, failing

    def submit(self, submissions):
        time.sleep(self.seconds)
        self.sizes.append(len(submissions))
        if len(self.sizes) <= self.failing:
            raise TacitError("store_unusable", "the disk is full", hint="wait")
        return [Outcome(None, True, s.value) for s in submissions]


def made(count, start=0):
    return [Submission("a", bytes(16), "0" * 64, str(start + i)) for i in range(count)]


def run(work, store, **options):
    """The result of `work(ingest)`, an Ingest of its own around it."""
    ingest = Ingest(store, **options)
    try:
        return asyncio.run(work(ingest))
    finally:
        ingest.close()


def test_what_waits_shares_a_transaction_and_answers_go_to_their_callers():
    store = Slow()

    async def work(ingest):
        return await asyncio.gather(*(ingest.submit(made(1 + i % 3, 10 * i)) for i in range(100)))

    answers = run(work, store)
    assert [[o.head for o in a] for a in answers] == [
        [s.value for s in made(1 + i % 3, 10 * i)] for i in range(100)
    ]
    assert sum(store.sizes) == 199
    assert len(store.sizes) <= 3


def test_a_transaction_is_bounded_but_a_batch_stays_whole():
    store = Slow()

    async def work(ingest):
        await asyncio.gather(*(ingest.submit(made(4)) for _ in range(10)), ingest.submit(made(25)))

    run(work, store, most=10)
    assert max(store.sizes) == 25
    assert all(size % 4 == 0 and size <= 10 for size in store.sizes if size != 25)


def test_too_much_waiting_is_refused_at_once_and_room_comes_back():
    store = Slow(0.1)

    async def work(ingest):
        first = asyncio.ensure_future(ingest.submit(made(6)))
        await asyncio.sleep(0.02)
        with pytest.raises(TacitError) as caught:
            await ingest.submit(made(5))
        assert caught.value.code == "store_unusable"
        assert len(await ingest.submit(made(4))) == 4
        await first
        return await ingest.submit(made(10))

    assert len(run(work, store, waiting=10)) == 10


def test_a_failed_transaction_is_told_to_all_its_callers_and_the_next_one_works():
    store = Slow(0.05, failing=1)

    async def work(ingest):
        calls = [ingest.submit(made(1)) for _ in range(5)]
        failed = await asyncio.gather(*calls, return_exceptions=True)
        return failed, await ingest.submit(made(2))

    failed, later = run(work, store)
    assert {getattr(error, "code", None) for error in failed[:1]} == {"store_unusable"}
    assert codes(later) == [None, None]


def test_an_error_that_nobody_expected_reaches_the_callers_too():
    class Broken:
        def submit(self, submissions):
            raise ZeroDivisionError

    async def work(ingest):
        return await asyncio.gather(ingest.submit(made(1)), ingest.submit(made(1)), return_exceptions=True)

    assert [type(error) for error in run(work, Broken())] == [ZeroDivisionError] * 2


def test_a_caller_that_goes_away_disturbs_nobody():
    store = Slow(0.05)

    async def work(ingest):
        calls = [asyncio.ensure_future(ingest.submit(made(1))) for _ in range(3)]
        await asyncio.sleep(0.01)
        calls[1].cancel()
        return await asyncio.gather(*calls, return_exceptions=True)

    first, gone, last = run(work, store)
    assert codes(first) == codes(last) == [None]
    assert isinstance(gone, asyncio.CancelledError)
    assert sum(store.sizes) == 3


def test_closing_writes_what_waits_and_refuses_what_comes_later():
    store = Slow(0.05)
    ingest = Ingest(store)

    async def work():
        calls = [asyncio.ensure_future(ingest.submit(made(1))) for _ in range(4)]
        await asyncio.sleep(0.01)
        await asyncio.to_thread(ingest.close)
        with pytest.raises(TacitError, match="closing"):
            await ingest.submit(made(1))
        return await asyncio.gather(*calls)

    assert [codes(a) for a in asyncio.run(work())] == [[None]] * 4
    assert sum(store.sizes) == 4


def test_a_real_store_keeps_what_it_confirmed(store):
    store.create_study(settings())
    given = submissions(store, "tea", 400)

    async def work(ingest):
        single = [ingest.submit([s]) for s in given[:200]]
        again = [ingest.submit([other(s)]) for s in given[:200]]
        return await asyncio.gather(*single, *again, ingest.submit(given[200:]), ingest.submit([]))

    answers = run(work, store)
    assert [codes(a) for a in answers[:200]] == [[None]] * 200
    assert [codes(a) for a in answers[200:400]] == [["report_conflict"]] * 200
    assert codes(answers[400]) == [None] * 200
    assert answers[401] == []
    assert store.study("tea").n == scalar(store, "SELECT count(*) FROM reports") == 400


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_full_disk_is_said_and_the_writer_recovers_when_there_is_room(store):
    store.create_study(settings())
    limit = {"pages": 1}

    @event.listens_for(store.engine, "begin")
    def shrink(connection):
        connection.exec_driver_sql(f"PRAGMA max_page_count = {limit['pages']}")

    big = submissions(store, "tea", 3000)

    async def work(ingest):
        calls = await asyncio.gather(
            *(ingest.submit(big[i : i + 500]) for i in range(0, 3000, 500)), return_exceptions=True
        )
        assert {getattr(error, "code", error) for error in calls} == {"store_unusable"}
        assert store.study("tea").n == 0
        limit["pages"] = 1_000_000
        return await ingest.submit(big)

    assert codes(run(work, store)) == [None] * 3000
    assert store.study("tea").n == len(store.evidence("tea")) == 3000


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_database_that_goes_and_comes_back_loses_nothing(store, postgres):
    store.create_study(settings())
    before, during = submissions(store, "tea", 100), submissions(store, "tea", 50, 1)

    async def work(ingest):
        assert codes(await ingest.submit(before)) == [None] * 100
        postgres.stop()
        with pytest.raises(TacitError) as caught:
            await ingest.submit(during)
        assert caught.value.code == "store_unusable"
        with pytest.raises(TacitError):
            store.check()
        postgres.start()
        store.check()
        return await ingest.submit(during + before)

    assert codes(run(work, store)) == [None] * 150
    assert store.study("tea").n == len(store.evidence("tea")) == 150

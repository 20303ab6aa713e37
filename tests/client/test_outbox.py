"""A report waits in the outbox until a receipt names it, whatever happens on the way."""

from contextlib import suppress
from dataclasses import replace

import pytest
from client_support import HEAD, asked, refused, rows, run

from tacit_client import Delivery, Device, Receipt, Store, TacitError, confirm, flush


@pytest.fixture
def device(tmp_path):
    return Device(Store(tmp_path / "tacit.sqlite"), 1, 100)


def receive(report):
    return Receipt(report.id, HEAD)


def failing(error):
    def send(report):
        raise error

    return send


ERRORS = [OSError("no network"), TimeoutError(), ValueError(), RuntimeError(), KeyError("x"), StopIteration()]
ERRORS += [RecursionError(), MemoryError(), AssertionError(), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_a_report_stays_when_sending_fails(device, error):
    report = device.answer(asked(), "tea")
    assert flush(device.store, failing(error)) == Delivery((), ((report, error),))
    assert device.store.pending() == [report]
    assert flush(device.store, receive).receipts == (receive(report),)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_a_report_stays_when_the_program_is_stopped(device, error):
    report = device.answer(asked(), "tea")
    with pytest.raises(error):
        flush(device.store, failing(error()))
    assert device.store.pending() == [report]


WRONG = [
    None,
    "ok",
    True,
    {},
    200,
    Receipt("00" * 16, HEAD),
    Receipt,
    receive,
]


@pytest.mark.parametrize("receipt", [*WRONG, "id", "json"], ids=lambda v: str(v)[:20])
def test_only_a_receipt_that_names_the_report_counts(device, receipt):
    report = device.answer(asked(), "tea")
    other = device.answer(asked("other"), "tea")
    answers = {"id": report.id, "json": receive(report).to_json()}
    wrong = answers.get(receipt, receipt) if isinstance(receipt, str) else receipt
    for returned in (wrong, None):
        with refused("receipt_mismatch"):
            confirm(device.store, report, returned)
        with refused("receipt_mismatch"):
            confirm(device.store, report, receive(other))
        delivery = flush(device.store, lambda _, returned=returned: returned)
        assert delivery.receipts == ()
        assert [error.code for _, error in delivery.waiting] == ["receipt_mismatch"] * 2
    assert device.store.pending() == [report, other]


def test_the_right_receipt_takes_out_one_report_and_no_other(device):
    reports = [device.answer(asked(f"s{i}"), "tea") for i in range(4)]
    confirm(device.store, reports[2], receive(reports[2]))
    assert device.store.pending() == [reports[0], reports[1], reports[3]]
    confirm(device.store, reports[2], receive(reports[2]))
    assert device.store.pending() == [reports[0], reports[1], reports[3]]
    assert device.store.spent() == 4


def test_flush_goes_on_past_a_failing_one(device):
    reports = [device.answer(asked(f"s{i}"), "tea") for i in range(5)]
    sent = []

    def send(report):
        sent.append(report)
        if report.study in ("s1", "s3"):
            raise OSError("refused")
        return receive(report)

    delivery = flush(device.store, send)
    assert sent == reports
    assert delivery.receipts == tuple(receive(reports[i]) for i in (0, 2, 4))
    assert [(report, type(error)) for report, error in delivery.waiting] == [
        (reports[1], OSError),
        (reports[3], OSError),
    ]
    assert device.store.pending() == [reports[1], reports[3]]
    assert flush(device.store, receive).receipts == (receive(reports[1]), receive(reports[3]))
    assert flush(device.store, receive) == Delivery((), ())


def test_a_confirmed_report_is_still_the_answer(device):
    report = device.answer(asked(), "tea")
    flush(device.store, receive)
    assert device.store.pending() == []
    assert device.answer(asked(number=1), "coffee") == report
    assert Device(Store(device.store.path), 1, 100).answer(asked(), "neither") == report
    assert device.store.pending() == []
    assert device.store.spent() == 1
    assert rows(device.store.path) == [("office", 10**12, report.to_json(), 1, HEAD)]


def test_a_report_that_was_altered_is_not_confirmed(device):
    report = device.answer(asked(), "tea")
    for altered in (replace(report, value=report.value ^ 1), replace(report, study="other")):
        with suppress(TacitError):
            confirm(device.store, altered, receive(altered))
        assert device.store.pending() == [report]


def test_a_report_can_be_answered_while_another_is_sent(device):
    def send(report):
        device.answer(asked(f"after-{report.study}"), "tea")
        return receive(report)

    device.answer(asked(), "tea")
    assert len(flush(device.store, send).receipts) == 1
    assert [report.study for report in device.store.pending()] == ["after-office"]


def test_a_crash_between_the_send_and_the_confirm_sends_the_same_again(device, tmp_path):
    reports = [device.answer(asked(study), "tea") for study in ("a", "b")]
    log = tmp_path / "server.log"
    for crash in range(1, 4):
        run("die_after_send", device.store.path, log, status=-9)
        assert log.read_text() == (reports[0].to_json() + "\n") * crash
        assert Store(device.store.path).pending() == reports
    sent = []
    flush(Store(device.store.path), lambda report: sent.append(report.to_json()) or receive(report))
    assert sent == [report.to_json() for report in reports]
    assert device.store.pending() == []
    assert device.store.spent() == 2

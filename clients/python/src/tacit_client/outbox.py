"""The outbox: what was answered and not yet confirmed is sent again until it is.

The reports wait in the device's store, written there by the transaction that made them, so there is no moment at
which a report is charged and lost. How they travel is the caller's: `send` takes a report and returns the
server's receipt, or raises. A report leaves the outbox only for a receipt that names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit_client.errors import TacitError
from tacit_client.messages import Receipt, Report
from tacit_client.store import Store

Send = Callable[[Report], Receipt]


@dataclass(frozen=True)
class Delivery:
    """What became of a flush: the receipts, and the reports still waiting with the error of each."""

    receipts: tuple[Receipt, ...]
    waiting: tuple[tuple[Report, Exception], ...]


def flush(store: Store, send: Send) -> Delivery:
    """Send every pending report once; keep those whose sending failed for the next time."""
    receipts = []
    waiting = []
    for report in store.pending():
        try:
            receipt = send(report)
            confirm(store, report, receipt)
            receipts.append(receipt)
        except Exception as error:  # whatever the transport raises, the report stays
            waiting.append((report, error))
    return Delivery(tuple(receipts), tuple(waiting))


def confirm(store: Store, report: Report, receipt: Receipt) -> None:
    """Take a report out of the outbox, for a receipt that names it."""
    if not isinstance(receipt, Receipt) or receipt.report != report.id:
        raise TacitError(
            "receipt_mismatch",
            "the receipt does not name this report",
            argument="receipt",
            hint="the report stays in the outbox; send it again",
        )
    with store.transaction() as transaction:
        if not transaction.confirm(report, receipt.head):
            raise TacitError(
                "receipt_mismatch",
                "this store holds no such report",
                argument="report",
                hint="confirm a report that store.pending() gave",
            )

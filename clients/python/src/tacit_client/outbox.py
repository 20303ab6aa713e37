"""The outbox: what was answered and not yet confirmed is sent again until it is.

The reports wait in the device's store, written there by the transaction that made them, so there is no moment at
which a report is charged and lost. How they travel is the caller's: `send` takes a report and returns the
server's receipt, or raises. A report leaves the outbox only for a receipt that names it.

When `send` raises `Refused`, the server has said its last word on a report. It is kept, noted as refused, and sent
again only when the owner asks for it with `again=True`: with an invite, say, or after the study was opened.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tacit_client.errors import Refused, TacitError
from tacit_client.messages import Receipt, Report
from tacit_client.store import Store

Send = Callable[[Report], Receipt]


@dataclass(frozen=True)
class Delivery:
    """What became of a flush: the receipts, and the reports still waiting or refused for good, each with its error."""

    receipts: tuple[Receipt, ...]
    waiting: tuple[tuple[Report, Exception], ...]
    refused: tuple[tuple[Report, Refused], ...] = ()


def flush(
    store: Store, send: Send, *, studies: Collection[str] | None = None, again: bool = False
) -> Delivery:
    """Send every pending report once; keep those whose sending failed for the next time.

    A device that answers studies of several servers names the `studies` of the one that `send` goes to. `again` sends
    those too that were refused for good.
    """
    receipts = []
    waiting = []
    refused = []
    for report in store.pending() + (store.refused() if again else []):
        if studies is not None and report.study not in studies:
            continue
        try:
            receipt = send(report)
            confirm(store, report, receipt)
            receipts.append(receipt)
        except Refused as error:
            with store.transaction() as transaction:
                transaction.refuse(report)
            refused.append((report, error))
        except Exception as error:  # whatever the transport raises, the report stays
            waiting.append((report, error))
    return Delivery(tuple(receipts), tuple(waiting), tuple(refused))


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

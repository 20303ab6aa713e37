"""A device: it checks the channel it is offered, answers a study once, and keeps what it said.

    round -> certificate <= cap? -> one transaction: ledger charged, answer randomised, report kept -> sent

The server is not trusted. It may offer a channel that leaks, ask again and again, or invent studies: the
certificate, the kept report and the life-long total stop these three, in that order. Whether the device answers or
refuses never depends on its answer.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tacit_client import check
from tacit_client.certificate import Certificate, require_honest
from tacit_client.errors import TacitError
from tacit_client.messages import Report, Round
from tacit_client.store import UNITS, Store


class Device:
    """Answers rounds: at most `cap` of epsilon to one study, at most `total` in the store's life."""

    def __init__(self, store: Store, cap: object, total: object) -> None:
        if not isinstance(store, Store):
            raise TacitError(
                "argument_invalid",
                f"store is {check.shown(store)}",
                argument="store",
                hint="give a tacit_client.Store(path)",
            )
        self.store = store
        self.cap = check.epsilon(cap, "cap")
        self.total = check.bounded(total, "total", lambda v: v > 0, "give a number above 0")

    def answer(self, round: Round, answer: str) -> Report:
        """The report of this device to a study: made once, the same ever after, whatever is asked.

        `answer` is one of the labels of the question. The report is safe in the store before it is returned.
        """
        if not isinstance(round, Round):
            raise TacitError(
                "argument_invalid",
                f"round is {check.shown(round)}",
                argument="round",
                hint="give a Round, as Round.from_json reads it",
            )
        kept = self.store.kept(round.study)
        if kept is not None:
            return kept
        x = _category(round, answer)
        charge = _units_up(self.certify(round).loss)
        with self.store.transaction() as transaction:
            # Another process of this device may have answered since the look above.
            kept = transaction.kept(round.study)
            if kept is not None:
                return kept
            left = math.floor(self.total * UNITS) - transaction.spent_units()
            if charge > left:
                raise TacitError(
                    "budget_exhausted",
                    f"this answer costs {charge / UNITS:.6g} and {max(left, 0) / UNITS:.6g} is left",
                    argument="total",
                    hint="the device stays silent; its owner may raise the total",
                )
            value = round.channel.respond(x)
            report = Report(Report.new_id(), round.study, round.id, value)
            transaction.keep(report, charge)
        return report

    def certify(self, round: Round) -> Certificate:
        """The certificate of a round's channel, refused when it lies or exceeds this device's cap."""
        certificate = require_honest(round.channel)
        if not certificate.within(self.cap):
            raise TacitError(
                "loss_above_cap",
                f"the channel leaks {certificate.loss:.6g}, this device gives at most "
                f"{check.format_decimal(self.cap)} to a study",
                argument="cap",
                hint="the device stays silent; ask through a channel with a smaller epsilon",
            )
        return certificate


def _category(round: Round, answer: object) -> int:
    labels = round.question.labels
    if not isinstance(answer, str) or answer not in labels:
        # The answer itself stays out of the message: errors are logged.
        raise TacitError(
            "answer_unknown",
            "the answer is none of the question's labels",
            argument="answer",
            hint=f"give one of {check.shown(list(labels), 200)}",
        )
    return labels.index(answer)


def _units_up(loss: float) -> int:
    return math.ceil(Fraction(loss) * UNITS)

"""A device: it checks the channel it is offered, answers a study once, and keeps what it said.

    round -> certificate <= cap? -> one transaction: ledger charged, answer randomised, report kept -> sent

The server is not trusted. It may offer a channel that leaks, ask again and again, or invent studies: the
certificate, the kept report and the life-long total stop these three, in that order. Whether the device answers or
refuses does not depend on which of the question's labels, or which number of its scale, the answer is.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from tacit_client import check
from tacit_client.certificate import Certificate, require_honest
from tacit_client.errors import TacitError
from tacit_client.messages import Report, Round
from tacit_client.store import UNITS, Store
from tacit_client.tables import Binned

MAX_TOTAL = 10**6
MIN_CHARGE = UNITS // 1000  # a study that reveals nothing still takes room in the store


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
        self.total = check.bounded(
            total, "total", lambda v: 0 < v <= MAX_TOTAL, f"give a number above 0, at most {MAX_TOTAL}"
        )

    def answer(self, round: Round, answer: str | int | Decimal) -> Report:
        """The report of this device to a study: made once, the same ever after, whatever is asked.

        `answer` is one of the labels of the question, or a number of its scale as a decimal string, an int or a
        Decimal: the application offers these and no others, because any other is refused. The report is safe in the
        store before it is returned.
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
        # Nothing below looks at the answer before certificate and ledger have let it pass.
        self.certify(round)
        # The loss is proved to be at most either: a charge without floats. It is the stated epsilon, as a rule.
        charge = max(_units(min(round.channel.epsilon, self.cap)), MIN_CHARGE)
        with self.store.transaction() as transaction:
            # Another process of this device may have answered since the look above.
            kept = transaction.kept(round.study)
            if kept is not None:
                return kept
            left = _units(self.total) - transaction.spent_units()
            if charge > left:
                raise TacitError(
                    "budget_exhausted",
                    f"an answer costs {charge / UNITS:.15g} and {max(left, 0) / UNITS:.15g} is left",
                    argument="total",
                    hint="the device stays silent; its owner may raise the total",
                )
            value = round.channel.respond(answered(round, answer))
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


def answered(round: Round, answer: str | int | Decimal) -> int:
    """The category of a label, or the cell of a number: what the channel takes."""
    if isinstance(round.channel, Binned):
        return round.channel.cell(round.question.number(answer))
    position = {label: x for x, label in enumerate(round.question.labels)}
    if not isinstance(answer, str) or answer not in position:
        # The answer itself stays out of the message: errors are logged.
        raise TacitError(
            "answer_unknown",
            "the answer is none of the question's labels",
            argument="answer",
            hint=f"give one of {check.shown(list(position), 200)}",
        )
    return position[answer]


def _units(amount: Fraction) -> int:
    return math.ceil(amount * UNITS)

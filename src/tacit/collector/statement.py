"""The privacy statement of a study: what taking part costs, what is kept, and what no statement can promise.

    odds = exp(epsilon)

Whatever one thought of a person's answer before, a report multiplies the odds by at most this. The loss is computed
again from the integers of every channel in the chain, as each device did for its own.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from tacit.collector.store import Store
from tacit_client import Round, certify, check

UNIT = "one device, one answer to this study"
STORED = (
    "each report: its random id, its round, and what the channel made of the answer",
    "for each round how many reports came",
    "rounds and estimates",
    "the SHA-256 of each invite, and whether it was used, until the study closes",
    "the hour at which the study was made and closed, that of each round and of each action of an administrator",
    "reports to rounds that are long over possibly in files instead of the database, with the same content",
    "the id alone of a report that was erased",
)
NOT_STORED = (
    "answers: they do not leave the device",
    "addresses, user agents, cookies, access logs",
    "when a report came, or in which order, once what came in the last minutes has been sorted",
    "which invite a report came with, from then on",
)
ERASURE = "whoever holds the id of a report can have it erased; the device keeps the id"
SERVED_CODE = (
    "A page that the collector itself serves protects against an honest operator only: whoever serves the code can "
    "change it, for all or for one person. Against a dishonest operator answer with tacit_client, or "
    "through a page that somebody else serves."
)


def statement(store: Store, name: str) -> dict[str, Any]:
    """The statement for machines."""
    study = store.study(name)
    losses = [_loss(found.text) for found in store.rounds(name)]
    epsilon = study.settings.epsilon
    return {
        "study": name,
        "state": study.state,
        "epsilon": check.format_decimal(epsilon),
        "odds": math.exp(float(epsilon)),
        "unit": UNIT,
        "rounds": len(losses),
        "loss": max(loss for loss, _ in losses),
        "certified": all(holds for _, holds in losses),
        "retention_days": study.settings.retention_days,
        "purged": study.purged,
        "stored": list(STORED),
        "not_stored": list(NOT_STORED),
        "erasure": ERASURE,
        "served_code": SERVED_CODE,
        "actions": [{"hour": hour, "action": what} for hour, about, what in store.actions() if about == name],
    }


@lru_cache(maxsize=1024)
def _loss(text: str) -> tuple[float, bool]:
    certificate = certify(Round.from_json(text).channel)
    return certificate.loss, certificate.holds

"""Studies and reports for the tests of the store."""

from __future__ import annotations

import secrets

import numpy as np
from sqlalchemy import text

from tacit.collector.intake import Submission
from tacit.collector.reports import channel_of
from tacit.collector.settings import StudySettings
from tacit_client import value_to_text


def settings(name="tea", k=3, **changes):
    given = {"name": name, "question": {"text": "Which?", "labels": [f"label {i}" for i in range(k)]}}
    return StudySettings.read({**given, "epsilon": 1, **changes})


def numeric(name="age", **changes):
    question = {"text": "How old?", "unit": "years", "lowest": "0", "highest": "100", "step": "1"}
    return StudySettings.read({"name": name, "question": question, "epsilon": 2, **changes})


def submissions(store, name, n, seed=0, number=None, answers=None):
    """`n` new reports to a round, the newest if left out, of answers that are 0 three times out of four."""
    asked = store.round(name) if number is None else store.rounds(name)[number]
    channel = channel_of(asked.text)
    rng = np.random.default_rng(seed)
    if answers is None:
        answers = np.where(rng.random(n) < 0.75, 0, rng.integers(0, channel.k, n))
    drawn = channel.sample(answers, rng).tolist()
    values = [tuple(value) if isinstance(value, list) else value for value in drawn]
    return [
        Submission(name, secrets.token_bytes(16), asked.id, value_to_text(value), isinstance(value, tuple))
        for value in values
    ]


def other(submission):
    """The same id with other content that the channel of `settings(k=3)` can make."""
    return submission._replace(value="1" if submission.value != "1" else "2")


def codes(outcomes):
    return [outcome.code for outcome in outcomes]


def scalar(store, statement, **values):
    with store.read() as connection:
        return connection.execute(text(statement), values).scalar()


def table(store, name):
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(text(f"SELECT * FROM {name}"))]

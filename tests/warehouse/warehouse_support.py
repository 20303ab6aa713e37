"""A study's reports as a table, and as Evidence added up in memory."""

import numpy as np
import pyarrow

from tacit import Evidence, channels
from tacit_client import Question, Round, value_to_text

K = 12
QUESTION = Question("drink", "What do you drink?", labels=tuple(f"drink {i}" for i in range(K)))
CHANNELS = [
    channels.srr(K, 1.0),
    channels.rrrr(K, [0, 1], 1.0, 0.9),
    channels.subset(K, 1.0, 3),
    channels.subset(K, 2.0, 1),
    channels.coarse(K, [0, 2, 5, 6, 7], 0.5, 2),
    channels.hashed(K, 1.0),
    channels.srr(K, 1.0),  # again, in another round
    channels.subset(K, 0.5, 5),
]


def chain(study="drinks", given=CHANNELS):
    """A round for every channel."""
    rounds, previous = [], None
    for number, channel in enumerate(given):
        rounds.append(Round(study, QUESTION, number, channel.table, previous))
        previous = rounds[-1].id
    return rounds


ROUNDS = chain()


def reports(people=300, seed=1, rounds=ROUNDS):
    """An Arrow table with id, study, round and value; and its evidence, added up in memory."""
    rng = np.random.default_rng(seed)
    rows, evidence = [], Evidence()
    for asked in rounds:
        channel = channels.from_table(asked.channel)
        made = channel.sample(rng.integers(0, K, people), rng)
        evidence = evidence.add(channel, made)
        values = (value_to_text(tuple(v) if isinstance(v, list) else v) for v in made.tolist())
        rows += [(rng.bytes(16).hex(), asked.study, asked.id, value) for value in values]
    rng.shuffle(rows)
    return pyarrow.table(
        dict(zip(("id", "study", "round", "value"), map(list, zip(*rows, strict=True)), strict=True))
    ), evidence


def with_rows(table, *rows):
    """The table and a few rows more, in the order of its columns."""
    more = pyarrow.table(
        dict(zip(table.column_names, map(list, zip(*rows, strict=True)), strict=True)), schema=table.schema
    )
    return pyarrow.concat_tables([table, more])

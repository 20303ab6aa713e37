"""The exact sampler beside long NUTS runs of an independent library, on ten fixed evidence tables.

The reference was made by `make_reference.py`, and its own Monte Carlo errors are in it. z is the difference of two
means over the combined Monte Carlo error. Of about 110 means, chance puts 0.3 beyond |z| = 3: the test lets one pass
(false alarm below 4 %, were the seed not fixed), and none beyond 4.5 (1e-3).
"""

import json
from pathlib import Path

import numpy as np
import pytest

from tacit import Categorical, Evidence, channels, posterior
from tacit.posterior.summary import _effective_size

TABLES = json.loads((Path(__file__).parent / "reference.json").read_text())
DRAWS = 10_000


def evidence_of(table):
    evidence = Evidence()
    for part in table:
        channel = channels.from_json(part["channel"])
        reports = channel.reports()
        values = [reports[row] for row in part["rows"]]
        evidence = evidence.add(channel, np.repeat(np.array(values), part["counts"], axis=0))
    return evidence


def z_scores(record):
    """For the means of theta, and of ln rho when it is learned."""
    evidence = evidence_of(record["table"])
    concentration, location, scale = record["prior"]
    model = Categorical(evidence.k, concentration, location, scale)
    result = posterior.sample(model, evidence, "exact", draws=DRAWS, seed=1)
    wanted = {name: np.array(values) for name, values in record["nuts"].items() if name != "divergences"}
    mean, sd, size = result.mean, result.draws.std(axis=0), result.ess()
    np.testing.assert_allclose(sd, wanted["sd"][: evidence.k], rtol=0.08)
    if model.learned:
        mean = np.append(mean, result.log_rho.mean())
        sd = np.append(sd, result.log_rho.std())
        size = np.append(size, _effective_size(result.log_rho))
    return (mean - wanted["mean"]) / np.hypot(sd / np.sqrt(size), wanted["mean error"])


@pytest.fixture(scope="module")
def scores():
    return {name: z_scores(record) for name, record in TABLES.items()}


def test_the_reference_can_be_trusted():
    assert len(TABLES) == 10
    for record in TABLES.values():
        assert max(record["nuts"]["rhat"]) < 1.01
        assert min(record["nuts"]["effective"]) > 2000
        assert record["nuts"]["divergences"] == 0


def test_means_agree_with_nuts(scores):
    z = np.abs(np.concatenate(list(scores.values())))
    assert len(z) > 100
    assert (z > 3).sum() <= 1, {name: values.round(1) for name, values in scores.items()}
    assert z.max() < 4.5


def test_a_wrong_prior_would_be_seen():
    """The planted fault: a concentration of 1.2 instead of 1."""
    record = TABLES["srr, flat"] | {"prior": [1.2, 0.0, 2.0]}
    assert np.abs(z_scores(record)).max() > 4.5

"""What is known of a study, as the JSON of an estimate: the fields of the protocol, in words for people too.

All of it is a function of the settings, the rounds, the evidence and the past estimates; the draws have a fixed seed,
so a worker that makes an estimate again makes the same. Numbers have six digits that count; null is what is not finite.

The error that the posterior expects is the mean of 1/2 sum |theta - estimate| over its draws. Beside it stand the
bounds of `tacit.collector.bounds`, at the estimate: of the channels that were used, and of the best static one.

>>> study = Study(["red", "green", "blue"], epsilon=1.0)
>>> made = estimate(study, "open", held=0, by_round=[0])
>>> made["kind"], made["used"], made["rounds"][0]["words"]
('categories', 0, 'keeps all 3 categories apart; a report names one of them')
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.collector import bounds
from tacit.collector.settings import plain_question
from tacit.errors import TacitError
from tacit.poisoning import gauge
from tacit.posterior import NumberPosterior, Posterior
from tacit.study import Study
from tacit_client import Round
from tacit_client.tables import Binned, Blocks, Dense, Hashed, Subsets

LEVEL = 0.9
RANKED = 30  # categories up to which the whole matrix of ranks is given
GAUGED = 200  # categories up to which it is said how far fake reports push
DIAGNOSED = 200  # categories whose effective sizes are computed
DIGITS = 6
POINTS = 200  # of a density
REMEMBERED = 60  # past estimates, fewer for many categories
_SHARES = 4000  # of past estimates, all together


def estimate(
    study: Study, state: str, held: int, by_round: Sequence[int], before: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The estimate of a study whose store holds `held` reports; `before` is the one made before this."""
    describe = _number if study.question.numeric else _categories
    made: dict[str, Any] = {
        "study": study.name,
        "state": state,
        "kind": "number" if study.question.numeric else "categories",
        "question": plain_question(study.question),
        "epsilon": _plain(study.epsilon),
        "odds": _plain(math.exp(study.epsilon)),
        "n": held,
        "used": len(study.evidence),
        "expected": study.expected,
        "level": LEVEL,
        **describe(study),
        "rounds": [_round(rnd, n) for rnd, n in zip(study.rounds, by_round, strict=True)],
        "poisoning": _poisoning(study),
    }
    made["history"] = _history(made, before)
    return made


def _categories(study: Study) -> dict[str, Any]:
    posterior: Posterior = study.posterior()
    point = posterior.estimate()
    low, high = posterior.interval(LEVEL)
    k, n = len(point), len(study.evidence)
    ranks = posterior.ranks() if k <= RANKED else None
    first = np.bincount(posterior.draws.argmax(axis=1), minlength=k) / len(posterior.draws)
    theta = np.maximum(posterior.mean, 1e-9)
    theta /= theta.sum()
    used = [(tally.channel, tally.n) for tally in study.evidence.tallies]
    return {
        "labels": list(study.question.labels),
        "estimate": _plain(point),
        "mean": _plain(posterior.mean),
        "low": _plain(low),
        "high": _plain(high),
        "first": _plain(first),
        "ranks": None if ranks is None else _plain(ranks),
        "error": {
            "expected": _plain(np.abs(posterior.draws - point).sum(axis=1).mean() / 2),
            # Two distributions are never further apart than 1: a larger bound says that the reports alone tell nothing.
            "bound": _plain(min(bounds.categories_bound(used, theta), 1.0)) if n else None,
            "static": _plain(min(bounds.static_bound(n, study.epsilon, theta), 1.0)) if n else None,
            "unit": "tv",
        },
        "diagnostics": {
            "method": posterior.method,
            "rhat": _plain(_most(posterior.rhat(), np.max)),
            "ess": _plain(_most(_large(posterior).ess(), np.min)),
        },
    }


def _large(posterior: Posterior) -> Posterior:
    """The draws of the largest shares, as many as are worth the time of a diagnosis."""
    largest = np.argsort(-posterior.mean, kind="stable")[:DIAGNOSED]
    return replace(posterior, chains=posterior.chains[:, :, largest])


def _number(study: Study) -> dict[str, Any]:
    posterior: NumberPosterior = study.posterior()
    point = posterior.estimate()
    low, high = posterior.interval(LEVEL)
    n = len(study.evidence)
    used = [(tally.channel, tally.n) for tally in study.evidence.tallies]
    static = bounds.static_location_bound
    return {
        "estimate": _pair(point),
        "mean": _pair(posterior.mean),
        "low": _pair(low),
        "high": _pair(high),
        "density": _density(study, posterior),
        "error": {
            "expected": _plain(np.abs(posterior.draws[:, 0] - point[0]).mean()),
            "bound": _plain(bounds.location_bound(used, study.model, point)) if n else None,
            "static": _plain(static(study.question, n, study.epsilon, study.model, point)) if n else None,
            "unit": "mae",
        },
        "diagnostics": {"method": posterior.method, "rhat": None, "ess": None},
    }


def _density(study: Study, posterior: NumberPosterior) -> dict[str, Any]:
    """The predictive density where nearly all of it lies, within the range of the question."""
    lowest, highest, _ = (float(end) for end in study.question.scale)
    low, high = posterior.model.predictive_quantile(posterior.draws, [0.0005, 0.9995])
    x = np.linspace(max(low, lowest), min(high, highest), POINTS)
    if x[0] >= x[-1]:
        x = np.linspace(lowest, highest, POINTS)
    mu, sigma = posterior.draws[:, :1], posterior.draws[:, 1:]
    y = (posterior.model.family.pdf((x - mu) / sigma) / sigma).mean(axis=0)
    return {"x": _plain(x), "y": _plain(y)}


def _round(rnd: Round, n: int) -> dict[str, Any]:
    table = rnd.channel
    inner = table.inner if isinstance(table, Binned) else table
    keeps: list[Any]
    if isinstance(table, Binned):
        keeps = [float(cut) for cut in table.cuts]
    elif isinstance(table, Subsets) and table.keep is not None:
        keeps = list(table.keep)
    else:
        keeps = list(range(table.k))
    return {
        "number": rnd.number,
        "id": rnd.id,
        "n": n,
        "kind": inner.kind,
        "epsilon": _plain(float(table.epsilon)),
        "keeps": keeps,
        "words": words(rnd),
    }


def words(rnd: Round) -> str:
    """What the channel of a round does to an answer, for people."""
    table = rnd.channel
    if isinstance(table, Binned):
        return _cut_words(table, rnd.question.unit or "")
    if isinstance(table, Subsets):
        several = "one" if table.size == 1 else str(table.size)
        if table.keep is None:
            return f"keeps all {table.k} categories apart; a report names {several} of them"
        kept = len(table.keep)
        return (
            f"keeps {kept} of {table.k} categories apart, merges the rest; "
            f"a report names {several} of the {kept + 1} groups"
        )
    if isinstance(table, Blocks):
        if not table.subset:
            return f"keeps all {table.k} categories apart; a report names one of them"
        likely = len(table.subset)
        return f"keeps all {table.k} categories apart, {likely} likely ones better than the rest"
    if isinstance(table, Hashed):
        return f"throws the {table.k} categories into {table.buckets} buckets, anew for each device"
    assert isinstance(table, Dense)
    return f"maps {table.k} categories to {len(table.rows)} reports by a table of its own"


def _cut_words(table: Binned, unit: str) -> str:
    cuts = [f"{float(cut):g}" for cut in table.cuts]
    if len(cuts) == 1:
        return f"asks on which side of {cuts[0]} {unit} the number lies"
    return f"asks in which of {table.k} intervals the number lies, cut from {cuts[0]} to {cuts[-1]} {unit}"


def _poisoning(study: Study) -> dict[str, Any] | None:
    """How far fake reports, one for each hundred, could push each estimate; None where that is not known."""
    if not len(study.evidence) or len(study.question.labels) > GAUGED:
        return None
    try:
        record = gauge(study, posterior=study.posterior()).record()
    except TacitError:  # the channel of a matrix of one's own, say; the estimate stands all the same
        return None
    return {
        name: [None if v is None else _plain(v) for v in value] if isinstance(value, list) else value
        for name, value in record.items()
    }


def _history(made: dict[str, Any], before: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Past estimates and this one, thinned to what fits; those that are left are spread evenly over log n."""
    past = list(before["history"]) if before else []
    if made["used"]:
        # Reports that were erased lead back to fewer: what was known after more of them is history no more.
        past = [entry for entry in past if entry["n"] < made["used"]]
        past.append(
            {
                "n": made["used"],
                "round": made["rounds"][-1]["number"],
                **{name: made[name] for name in ("estimate", "low", "high")},
                "error": made["error"]["expected"],
            }
        )
    k = len(made.get("labels", ())) or 2
    while len(past) > max(2, min(REMEMBERED, _SHARES // k)):
        gaps = [past[i + 1]["n"] / past[i - 1]["n"] for i in range(1, len(past) - 1)]
        del past[1 + gaps.index(min(gaps))]
    return past


def _most(values: Floats, end: Any) -> float:
    known = values[~np.isnan(values)]
    return float(end(known)) if len(known) else math.nan


def _pair(point: Floats) -> dict[str, Any]:
    return {"mu": _plain(point[0]), "sigma": _plain(point[1])}


def _plain(value: npt.ArrayLike) -> Any:
    """Numbers of JSON, in the shape of the array."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [_plain(part) for part in value]
    number = float(value)  # type: ignore[arg-type]
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else None

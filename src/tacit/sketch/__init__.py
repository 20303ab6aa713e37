"""Count sketches of streams that are too large to keep, queried at any time, under one privacy budget for life.

This room stands beside the others: a trusted curator sees the stream, where the rest of tacit trusts nobody with an
answer.

>>> sketch = UseAndKeep(CountSketch(d=9, w=2000, seed=1), privacy=1.0)
>>> sketch.update(["ant"] * 900 + ["bee"] * 300)
>>> answers = sketch.query(["ant", "bee"])
>>> low, high = answers.interval(0.95)
>>> bool((low <= answers.estimates).all() and (answers.estimates <= high).all())
True
"""

from tacit.sketch.advice import Advice, advise
from tacit.sketch.answers import Answers, Survey
from tacit.sketch.bounds import tail_of_median
from tacit.sketch.fresh import CellPerturbation, MedianPerturbation, UseAndForget
from tacit.sketch.privacy import Ledger, Privacy
from tacit.sketch.private import Private, UseAndKeep
from tacit.sketch.sketches import CountMinSketch, CountSketch, Sketch
from tacit.sketch.states import from_bytes, private_from_bytes

__all__ = [
    "Advice",
    "Answers",
    "CellPerturbation",
    "CountMinSketch",
    "CountSketch",
    "Ledger",
    "MedianPerturbation",
    "Privacy",
    "Private",
    "Sketch",
    "Survey",
    "UseAndForget",
    "UseAndKeep",
    "advise",
    "from_bytes",
    "private_from_bytes",
    "tail_of_median",
]

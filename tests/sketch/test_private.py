"""The wrappers: what noise goes where, what is charged, what is refused. What they leak is in test_audit.py."""

from fractions import Fraction

import numpy as np
import pytest

from oracles import most_touched as brute_touched
from tacit.errors import TacitError
from tacit.sketch import (
    CellPerturbation,
    CountMinSketch,
    CountSketch,
    MedianPerturbation,
    Privacy,
    UseAndForget,
    UseAndKeep,
    noise,
    private,
    private_from_bytes,
)
from tacit.sketch.touched import most_touched, touched_bound

KINDS = [CountSketch, CountMinSketch]
WRAPPERS = {
    "keep": UseAndKeep,
    "pan": lambda sketch, privacy: UseAndKeep(sketch, privacy, pan_private=True),
    "forget": UseAndForget,
    "cell": CellPerturbation,
    "median": lambda sketch, privacy: MedianPerturbation(sketch, privacy, batches=3),
    "median, geometric": lambda sketch, privacy: MedianPerturbation(sketch, privacy, eta=0.25),
}


class Recorded:
    """Draws that are all `value`, with a list of what was asked for."""

    def __init__(self, value=0):
        self.value, self.asked = value, []

    def draw(self, law, count, ahead=True):
        self.asked.append((law, count, ahead))
        return np.full(count, self.value, np.int64)


def watched(sketch, value=0):
    sketch._source = Recorded(value)
    return sketch, sketch._source


def state(sketch):
    """All that a refusal must leave as it was."""
    return sketch.to_bytes(), sketch.ledger


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WRAPPERS)
def test_without_noise_the_answer_is_the_sketchs(name, kind):
    wrapped, _ = watched(WRAPPERS[name](kind(5, 50, 1), 1.0))
    if name == "pan":
        wrapped._sketch.cells[:] = 0
    plain = kind(5, 50, 1)
    for sketch in (wrapped, plain):
        sketch.update(np.arange(300) % 70)
    assert (wrapped.query([1, 2, 2, 999]).estimates == plain.query([1, 2, 2, 999])).all()


@pytest.mark.parametrize("name", WRAPPERS)
def test_bytes_go_round_and_go_on(name):
    sketch = WRAPPERS[name](CountSketch(3, 20, 1), Privacy(epsilon=2, delta=1e-6))
    sketch.update(["a", "b"])
    sketch.query(["a"])
    again = private_from_bytes(sketch.to_bytes())
    assert type(again) is type(sketch)
    assert (again.to_bytes(), again.ledger, again.privacy) == (
        sketch.to_bytes(),
        sketch.ledger,
        sketch.privacy,
    )
    assert len(again.query(["a", "b"])) == 2
    assert again.ledger.batches == 2


@pytest.mark.parametrize("name", WRAPPERS)
def test_bad_queries_are_refused_and_change_nothing(name, monkeypatch):
    sketch = WRAPPERS[name](CountSketch(3, 20, 1), 1.0)
    sketch.update(["a"])
    before = state(sketch)
    monkeypatch.setattr(private, "LARGEST_BATCH", 30)
    for items in ([], [None], ["a", 1], [0.5], "a", ["a"] * 11):
        with pytest.raises(TacitError):
            sketch.query(items)
    assert state(sketch) == before


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("bad", [0, -1, float("nan"), None, "1", True])
def test_bad_budgets_are_refused(name, bad):
    with pytest.raises(TacitError) as refused:
        WRAPPERS[name](CountSketch(3, 5), bad)
    assert refused.value.argument == "epsilon"


@pytest.mark.parametrize("name", WRAPPERS)
def test_only_an_empty_sketch_is_wrapped_and_it_is_copied(name):
    filled = CountSketch(3, 5)
    filled.update(["a"])
    for bad in (filled, None, UseAndKeep(CountSketch(3, 5), 1.0)):
        with pytest.raises(TacitError) as refused:
            WRAPPERS[name](bad, 1.0)
        assert refused.value.argument == "sketch"
    empty = CountSketch(3, 5)
    WRAPPERS[name](empty, 1.0).update(["a"])
    assert not empty.cells.any()


def test_no_element_weighs_more_than_the_promise_covers():
    sketch = UseAndKeep(CountSketch(3, 50), Privacy(epsilon=1, contribution=5))
    sketch.update(["a", "b"], [5, -5])
    before = state(sketch)
    for weights in ([6, 1], [-6, 1]):
        with pytest.raises(TacitError):
            sketch.update(["a", "b"], weights)
    assert state(sketch) == before


def test_use_and_keep_adds_once_a_batch_and_keeps():
    sketch, source = watched(UseAndKeep(CountSketch(3, 50, 1), 1.0), 10)
    sketch.update(["a"] * 4)
    sketch.query(["a", "a", "a"])
    sketch.query(["a"])
    assert source.asked == [(noise.Law("laplace", 3.0), 3, True)] * 2
    columns, _ = sketch._sketch.places(["a"])
    kept = sketch._sketch.cells[np.arange(3), columns[0]]
    assert sorted(abs(kept - 20).tolist()) == [4, 4, 4]
    assert sketch._uses.sum() == 6
    assert sketch.query(["a"]).noise.uses.tolist() == [[3, 3, 3]]
    assert sketch.ledger.spent == 1
    assert (sketch.ledger.batches, sketch.ledger.answers) == (3, 5)


def test_two_items_that_share_a_cell_read_the_same_number():
    sketch = UseAndKeep(CountMinSketch(1, 1), 1.0)
    answers = sketch.query(["a", "b", "c"])
    assert len(set(answers.estimates.tolist())) == 1
    assert sketch._uses.sum() == 1


def test_pan_privacy_starts_publishes_and_hides():
    """Noise at the start in every cell; at a use one draw that is published and one that is not; none drawn ahead."""
    source = Recorded(1)
    sketch = UseAndKeep(CountMinSketch(2, 4, 1), 1.0, pan_private=True)
    sketch._sketch.cells[:] = 1
    sketch._source = source
    answers = sketch.query(["a"])
    assert answers.rows.tolist() == [[2, 2]]
    assert answers.noise.uses.tolist() == [[2, 2]]
    columns, _ = sketch._sketch.places(["a"])
    assert sketch._sketch.cells[[0, 1], columns[0]].tolist() == [3, 3]
    assert sketch._uses.sum() == 2 * 4 + 2 * 2
    assert all(not ahead for _, _, ahead in source.asked)
    sketch.renoise()
    assert sketch._uses.sum() == 2 * (2 * 4) + 2 * 2
    assert sketch.query(["a"]).noise.uses.tolist() == [[5, 5]]


def test_use_and_forget_spends_a_geometric_share_of_each_cell():
    sketch, source = watched(UseAndForget(CountSketch(3, 50, 1), 2.0, eta=0.5))
    for _ in range(3):
        sketch.query(["a"])
    assert [law.scale for law, _, _ in source.asked] == [3.0, 6.0, 12.0]  # d / (epsilon (1 - eta) eta^u)
    assert sketch.ledger.spent == 2 * (Fraction(1, 2) + Fraction(1, 4) + Fraction(1, 8))
    assert not sketch._sketch.cells.any()
    answers = sketch.query(["a", "new"])
    assert answers.noise.variance[1, 0] < answers.noise.variance[0, 0]


def test_use_and_forget_charges_the_worst_element():
    """Items in different cells: the charge is that of the most used cells of all rows, whoever they belong to."""
    sketch, _ = watched(UseAndForget(CountSketch(3, 1000, 1), 1.0))
    sketch.query(["a", "b", "c"])
    assert sketch.ledger.spent == Fraction(1, 2)
    sketch.query(["b"])
    assert sketch.ledger.spent == Fraction(3, 4)


def test_a_batch_with_one_exhausted_cell_releases_nothing():
    sketch, source = watched(UseAndForget(CountSketch(3, 1000, 1), 1.0, eta=0.01))
    for _ in range(6):  # the seventh would need noise of scale 3 * 100^6 / 0.99
        sketch.query(["often"])
    before, asked = state(sketch), len(source.asked)
    for batch in (["often"], ["new", "often"]):
        with pytest.raises(TacitError) as refused:
            sketch.query(batch)
        assert refused.value.code == "budget_exhausted"
    assert (state(sketch), len(source.asked)) == (before, asked)
    assert len(sketch.query(["new"])) == 1
    assert sketch.ledger.spent < sketch.ledger.budget


@pytest.mark.parametrize("eta", [0, 1, -0.5, 1.5, float("nan"), True, None, "half"])
def test_eta_outside_its_range_is_refused(eta):
    with pytest.raises(TacitError) as refused:
        UseAndForget(CountSketch(3, 5), 1.0, eta=eta)
    assert refused.value.argument == "eta"


def test_cell_perturbation_freezes():
    sketch = CellPerturbation(CountSketch(3, 50, 1), 1.0)
    sketch.update(["a"] * 100)
    first = sketch.query(["a", "b"])
    assert sketch.ledger.spent == 1
    assert (sketch.query(["b", "a"]).rows == first.rows[::-1]).all()
    assert sketch.query(["never asked"]).rows.shape == (1, 3)
    before = state(sketch)
    with pytest.raises(TacitError) as refused:
        sketch.update(["a"])
    assert refused.value.code == "budget_exhausted"
    assert state(sketch) == before
    assert sketch.survey() == sketch.survey()


def test_median_perturbation_shares_the_budget_and_stops():
    sketch, source = watched(MedianPerturbation(CountSketch(3, 1000, 1), 1.0, batches=2))
    sketch.query(["a", "b", "a"])
    sketch.query(["a"])
    assert [law.scale for law, _, _ in source.asked] == [4.0, 2.0]  # m / (epsilon / 2), m = 2 and 1
    assert [count for _, count, _ in source.asked] == [2, 1]
    assert sketch.ledger.spent == 1
    before = state(sketch)
    with pytest.raises(TacitError) as refused:
        sketch.query(["a"])
    assert refused.value.code == "budget_exhausted"
    assert state(sketch) == before


def test_an_item_named_twice_is_answered_once():
    sketch = MedianPerturbation(CountSketch(3, 1000, 1), 0.01)
    found = sketch.query(["a", "b", "a"]).estimates
    assert found[0] == found[2]


def test_geometric_batches_never_end_but_in_noise():
    sketch, source = watched(MedianPerturbation(CountSketch(3, 1000, 1), 1.0, eta=0.5))
    for _ in range(40):
        sketch.query(["a"])
    with pytest.raises(TacitError):
        sketch.query(["a"])
    assert [law.scale for law, _, _ in source.asked[:3]] == [2, 4, 8]
    assert sketch.ledger.batches == 40


@pytest.mark.parametrize("given", [{"batches": 0}, {"batches": 1.5}, {"eta": 0}, {"eta": 0.5, "batches": 2}])
def test_bad_schedules_are_refused(given):
    with pytest.raises(TacitError):
        MedianPerturbation(CountSketch(3, 5), 1.0, **given)


@pytest.mark.parametrize("kind", KINDS)
def test_sampling_keeps_a_share_and_rescales(kind):
    """Twenty thousand elements at rate 1/4: five standard errors, 1e-6."""
    sketch = UseAndKeep(kind(3, 50, 1), Privacy(epsilon=20, sampling=0.25))
    for _ in range(2):
        sketch.update(["a"] * 10_000, [1] * 10_000)
    answers = sketch.query(["a"])
    assert abs(answers.estimates[0] - 20_000) < 5 * np.sqrt(20_000 * 0.75 / 0.25) + 20
    low, high = answers.interval(0.95, sketch.survey())
    assert low[0] < 20_000 < high[0]
    assert sketch._sketch.total < 6000


def test_a_survey_measures_the_stream():
    """Wide of the noise: within 10 % of n and of F."""
    items = np.repeat(np.arange(50), np.arange(1000, 0, -20))
    for kind, name, true in [
        (CountMinSketch, "total", len(items)),
        (CountSketch, "second_moment", float((np.bincount(items) ** 2.0).sum())),
    ]:
        for wrap in (UseAndKeep, CellPerturbation):
            sketch = wrap(kind(9, 500, 1), 5.0)
            sketch.update(items)
            assert getattr(sketch.survey(), name) == pytest.approx(true, rel=0.1)


# The sensitivity of median perturbation.


@pytest.mark.parametrize("seed", range(60))
def test_the_search_finds_the_most_touched(seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, rng.integers(1, 5), (rng.integers(1, 9), rng.integers(1, 5)))
    expected = brute_touched(columns)
    assert most_touched(columns) == expected
    assert touched_bound(columns) >= expected


def test_few_items_are_all_touched():
    columns, _ = CountSketch(5, 1000).places(np.arange(5))
    assert most_touched(columns) == 5 == brute_touched(columns)


def test_a_large_batch_has_the_bound_and_never_more_than_its_size():
    columns, _ = CountSketch(5, 1000).places(np.arange(10_000))
    assert most_touched(columns) == touched_bound(columns) < 200
    few, _ = CountSketch(5, 10).places(np.arange(12))
    assert touched_bound(few) <= 12


def test_a_search_that_takes_too_long_ends_with_the_bound(monkeypatch):
    monkeypatch.setattr("tacit.sketch.touched.NODES", 10)
    columns = np.random.default_rng(1).integers(0, 20, (60, 9))
    assert most_touched(columns) == touched_bound(columns)


def test_nothing_in_a_pan_private_state_counts_exactly():
    """Two streams of different lengths, with draws that are all zero: the states differ in their cells alone."""
    states = []
    for length in (100, 101):
        sketch, _ = watched(UseAndKeep(CountSketch(3, 20, 1), 1.0, pan_private=True))
        sketch._sketch.cells[:] = 0
        sketch.update(np.arange(length))
        sketch.query([1, 2])
        sketch._sketch.cells[:] = 0
        states.append(sketch.to_bytes())
    assert states[0] == states[1]


def test_a_sketch_that_is_used_up_can_still_be_read():
    sketch, _ = watched(UseAndForget(CountSketch(3, 20, 1), 1.0, eta=0.01))
    for _ in range(6):
        sketch.query([1])
    again = private_from_bytes(sketch.to_bytes())
    with pytest.raises(TacitError) as refused:
        again.query([1])
    assert refused.value.code == "budget_exhausted"

"""The loop: rounds that chain, reports that count whenever they come, a file that loses nothing."""

import json
import zipfile

import numpy as np
import pytest

from tacit import Categorical, Study, TacitError, channels
from tacit_client import Device, Question, Report, Round, Store

LABELS = ["red", "green", "blue", "black"]
SHARES = np.array([0.55, 0.25, 0.15, 0.05])


def filled(policy="honest", n=700, **options):
    study = Study(LABELS, epsilon=2.0, policy=policy, expected=n, seed=4, **options)
    rng = np.random.default_rng(2)
    while len(study.evidence) < n:
        size = min(study.wanted, n - len(study.evidence))
        study.add(study.channel, study.channel.sample(rng.choice(4, size, p=SHARES), rng))
    return study


def test_rounds_chain_and_channels_keep_epsilon():
    study = filled("semi:0.7", 3000)
    assert len(study.rounds) > 2
    for number, (old, new) in enumerate(zip(study.rounds, study.rounds[1:], strict=False)):
        assert new.previous == old.id
        assert new.number == number + 1
        assert channels.from_table(new.channel).loss <= 2.0
        assert Round.from_json(new.to_json()).id == new.id
    assert study.channel.table == study.round.channel


def test_one_by_one_the_policy_looks_at_every_report():
    study = filled("honest", 40, schedule="each")
    assert study.wanted == 1
    numbers = {rnd.number for rnd in study.rounds}
    assert len(numbers) == len(study.rounds) > 5  # Thompson draws differ early on
    assert filled("honest", 40).round.number == 0  # the first geometric round is not over


def test_a_saved_study_keeps_its_schedule(tmp_path):
    study = filled("honest", 20, schedule="each")
    study.save(tmp_path / "each.zip")
    again = Study.load(tmp_path / "each.zip")
    assert (again.schedule, again.wanted) == ("each", 1)


@pytest.mark.parametrize("schedule", ["daily", None, 1, ""])
def test_unknown_schedules(schedule):
    with pytest.raises(TacitError) as refusal:
        Study(LABELS, epsilon=1.0, schedule=schedule)
    assert refusal.value.argument == "schedule"


def test_a_static_policy_has_one_round_and_never_samples():
    study = filled("static-subset")
    assert len(study.rounds) == 1
    assert study._state is None
    assert study.channel == channels.subset(4, 2.0)
    assert filled("static-srr", 150).channel == channels.srr(4, 2.0)


def test_devices_answer_and_late_reports_count(tmp_path):
    study = filled(n=300)
    early, late = study.rounds[0], study.round
    assert early.id != late.id
    reports = []
    for i in range(12):
        device = Device(Store(tmp_path / f"{i}.sqlite"), cap=2.0, total=2.0)
        asked = Round.from_json((early if i % 2 else late).to_json())
        reports.append(device.answer(asked, LABELS[i % 4]))
    before = len(study.evidence)
    study.update(reports)
    assert len(study.evidence) == before + 12


def test_update_takes_all_or_none():
    study = filled(n=150)
    before = study.evidence
    good = Report("0" * 32, "study", study.rounds[0].id, (1,))
    for bad in (
        Report("0" * 32, "other", study.rounds[0].id, (1,)),
        Report("0" * 32, "study", "0" * 64, (1,)),
        Report("0" * 32, "study", study.rounds[0].id, (9,)),
        "report",
    ):
        with pytest.raises(TacitError) as refusal:
            study.update([good, bad])
        assert refusal.value.code == "report_impossible"
        assert study.evidence == before


def test_estimate_is_near_the_truth_and_intervals_hold_it():
    study = filled("risk", 4000)
    estimate = study.estimate()
    assert estimate.sum() == pytest.approx(1)
    assert np.abs(estimate - SHARES).max() < 0.06
    low, high = study.posterior().interval(0.999)
    assert ((low <= SHARES) & (high >= SHARES)).all()
    assert study.posterior() is study.posterior()


def test_before_any_report_the_estimate_is_the_prior():
    study = Study(LABELS, epsilon=1.0, model=Categorical(4, 5.0))
    assert study.estimate("mse") == pytest.approx(np.full(4, 0.25), abs=0.03)


def test_save_and_load_lose_nothing(tmp_path):
    study = filled("honest", 400, model=Categorical(4, 0.7), kappa=0.8)
    path = tmp_path / "study.zip"
    study.save(path)
    again = Study.load(path)
    assert again.evidence == study.evidence
    assert [r.id for r in again.rounds] == [r.id for r in study.rounds]
    assert (again.wanted, again.model, again.policy) == (study.wanted, study.model, study.policy)
    np.testing.assert_array_equal(again.estimate(), study.estimate())
    assert again._rng.random() == study._rng.random()
    again.add(again.channel, [0] * again.wanted)
    again.save(path)
    assert len(Study.load(path).evidence) == len(again.evidence)
    assert list(tmp_path.iterdir()) == [path]


def test_saved_files_that_are_not_whole_are_refused(tmp_path):
    path = tmp_path / "study.zip"
    filled(n=120).save(path)
    data = path.read_bytes()
    for damaged in (b"", data[:100], data[:-40], b"not a zip"):
        path.write_bytes(damaged)
        with pytest.raises(TacitError) as refusal:
            Study.load(path)
        assert refusal.value.code == "message_malformed"
    with pytest.raises(TacitError):
        Study.load(tmp_path / "none.zip")
    with pytest.raises(TacitError) as refusal:
        filled(n=120).save(tmp_path / "no" / "folder.zip")
    assert refusal.value.code == "store_unusable"


def test_a_study_of_a_later_version_is_refused(tmp_path):
    path = tmp_path / "study.zip"
    filled(n=120).save(path)
    with zipfile.ZipFile(path) as archive:
        settings, evidence = json.loads(archive.read("study.json")), archive.read("evidence.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("study.json", json.dumps(settings | {"format": 2}))
        archive.writestr("evidence.zip", evidence)
    with pytest.raises(TacitError) as refusal:
        Study.load(path)
    assert refusal.value.code == "version_unknown"


def test_a_refused_step_leaves_the_study_as_it_was(monkeypatch):
    study = filled(n=120)
    before = study.evidence, study.wanted, study.round

    def fails(*arguments):
        raise TacitError("argument_invalid", "no", hint="no")

    monkeypatch.setattr(type(study.policy), "choose", fails)
    with pytest.raises(TacitError):
        study.add(study.channel, [0] * 500)
    assert (study.evidence, study.wanted, study.round) == before


def test_draws_with_another_seed_are_other_draws():
    study = filled(n=120)
    one, two = (study.posterior(50, np.random.default_rng(i)) for i in (1, 2))
    assert (one.draws != two.draws).any()


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({}, "categories"),
        ({"question": 5}, "question"),
        ({"categories": LABELS, "method": ["exact"]}, "method"),
        ({"categories": LABELS, "method": "sgld"}, "method"),
        ({"categories": LABELS, "question": Question("q", "q", labels=("a", "b"))}, "categories"),
        ({"categories": "red"}, "categories"),
        ({"categories": ["red"]}, "labels"),
        ({"categories": LABELS, "epsilon": 0}, "epsilon"),
        ({"categories": LABELS, "policy": "best"}, "policy"),
        ({"categories": LABELS, "kappa": 2}, "kappa"),
        ({"categories": LABELS, "model": Categorical(3)}, "model"),
        ({"categories": LABELS, "method": "nuts"}, "method"),
        ({"categories": LABELS, "expected": 0}, "expected"),
        ({"categories": LABELS, "seed": "now"}, "seed"),
        ({"categories": LABELS, "name": "a/b"}, "id"),
    ],
)
def test_refusals(options, argument):
    with pytest.raises(TacitError) as refusal:
        Study(**({"epsilon": 1.0} | options))
    assert refusal.value.argument == argument


def test_reports_over_other_categories_are_refused():
    study = filled(n=120)
    with pytest.raises(TacitError) as refusal:
        study.add(channels.srr(5, 1.0), [0])
    assert refusal.value.code == "channel_mismatch"

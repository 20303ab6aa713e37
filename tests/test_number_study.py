"""Studies of a number: rounds on devices, posterior, save and load, simulation, planning."""

import numpy as np
import pytest

from tacit import Normal, Study, TacitError, channels, simulate
from tacit.models import LocationScale
from tacit.number_plan import plan_number
from tacit_client import Device, Question, Report, Round, Store

AGE = Question("age", "How old are you?", (), "years", lowest="0", highest="120", step="1")
TRUTH = np.array([41.0, 14.0])


def filled(n=1500, epsilon=2.0, **options):
    study = Study(question=AGE, epsilon=epsilon, expected=n, seed=4, **options)
    rng = np.random.default_rng(2)
    while len(study.evidence) < n:
        size = min(study.wanted, n - len(study.evidence))
        ages = np.clip(np.rint(rng.normal(*TRUTH, size)), 0, 120)
        study.add(study.channel, study.channel.sample(ages, rng))
    return study


@pytest.mark.parametrize("policy", ["information", "information:mu", "truncation"])
def test_an_adaptive_study_finds_location_and_scale(policy):
    study = filled(policy=policy)
    low, high = study.posterior().interval(0.999)
    assert low[0] <= TRUTH[0] <= high[0]
    assert policy == "truncation" or low[1] <= TRUTH[1] <= high[1]
    assert abs(study.estimate()[0] - TRUTH[0]) < 3
    assert len(study.rounds) > 5
    assert all(channels.from_table(rnd.channel).loss <= 2.0 for rnd in study.rounds)


def test_the_static_policy_never_changes_its_channel():
    study = filled(policy="static")
    assert len(study.rounds) == 1
    assert study._state is None


def test_devices_answer_in_decimals_and_late_reports_count(tmp_path):
    study = filled(300)
    early, late = study.rounds[0], study.round
    reports = []
    for i in range(8):
        device = Device(Store(tmp_path / f"{i}.sqlite"), cap=2.0, total=2.0)
        reports.append(device.answer(Round.from_json((early if i % 2 else late).to_json()), str(30 + i)))
    before = len(study.evidence)
    study.update(reports)
    assert len(study.evidence) == before + 8
    with pytest.raises(TacitError):
        study.update([Report("0" * 32, "study", early.id, (77,))])
    assert len(study.evidence) == before + 8


@pytest.mark.parametrize("model", [None, "student:5", Normal(mean=50, sd=30, scale=12.0)])
def test_save_and_load_lose_nothing(tmp_path, model):
    study = filled(400, model=model)
    study.save(tmp_path / "study.zip")
    again = Study.load(tmp_path / "study.zip")
    assert again.evidence == study.evidence
    assert again.model == study.model
    assert [rnd.id for rnd in again.rounds] == [rnd.id for rnd in study.rounds]
    np.testing.assert_array_equal(again.posterior().draws, study.posterior().draws)
    again.add(again.channel, [0] * again.wanted)


def test_reports_one_by_one_and_all_at_once_give_one_posterior():
    """The cloud that follows the reports against one made from all of them; 4 standard errors of 1,000 draws."""
    study = filled(600)
    draws = study.posterior(2000).draws
    cloud, _ = study._state
    points = np.column_stack([cloud.x[:, 0], np.exp(cloud.x[:, 1])])
    mean = cloud.weight @ points
    seen = filled(600).posterior(2000, seed=9).draws
    error = seen.std(axis=0) * np.sqrt(2 / 300)
    assert (np.abs(draws.mean(axis=0) - seen.mean(axis=0)) < 4 * error).all()
    assert (np.abs(mean - seen.mean(axis=0)) < 6 * error + 0.5 * seen.std(axis=0)).all()


def test_before_any_report_the_posterior_is_the_prior():
    study = Study(question=AGE, epsilon=1.0, model=Normal(mean=40, sd=3, shape=5, rate=400))
    found = study.posterior()
    assert found.method == "prior"
    assert found.mean[0] == pytest.approx(40, abs=0.5)
    assert found.log_evidence == 0.0


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"model": "gamma"}, None),
        ({"model": 3}, "model"),
        ({"policy": "risk"}, "policy"),
        ({"method": "exact"}, "method"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_bad_settings(options, argument):
    with pytest.raises(TacitError) as refusal:
        Study(**({"question": AGE, "epsilon": 1.0} | options))
    if argument:
        assert refusal.value.argument == argument


def test_reports_about_categories_are_refused():
    study = Study(question=AGE, epsilon=1.0)
    with pytest.raises(TacitError) as refusal:
        study.add(channels.srr(3, 1.0), [0])
    assert refusal.value.code == "channel_mismatch"
    with pytest.raises(TacitError):
        Study(["a", "b", "c"], epsilon=1.0).add(study.channel, [0])


def test_simulation_is_reproducible_and_reports_the_errors():
    one = simulate((41, 14), 2.0, model="normal", n=800, seed=1)
    again = simulate((41, 14), 2.0, model="normal", n=800, seed=1)
    np.testing.assert_array_equal(one.estimate, again.estimate)
    np.testing.assert_array_equal(one.error, np.abs(one.estimate - [41, 14]))
    assert sum(count for _, count in one.channels) == 800
    given = simulate((41, 14), 2.0, model="normal", answers=[40.0] * 50, question=AGE, seed=1)
    assert len(given.channels) > 0


@pytest.mark.parametrize("theta", [(1, 0), (1, -2), (1,), (1, 2, 3), (float("nan"), 1), "50,3", (True, 1)])
def test_truths_that_are_none(theta):
    with pytest.raises(TacitError) as refusal:
        simulate(theta, 1.0, model="normal", n=10)
    assert refusal.value.argument == "theta"


def test_a_plan_goes_round():
    made = plan_number(10, epsilon=1.0, error=0.5)
    assert plan_number(10, epsilon=1.0, n=made.n).error == pytest.approx(0.5, rel=1e-3)
    assert plan_number(10, n=made.n, error=0.5).epsilon == pytest.approx(1.0, abs=0.02)
    assert plan_number(20, epsilon=1.0, error=1.0).n == made.n
    assert made.price == pytest.approx(1 / 0.135952, rel=1e-3)


def test_simulated_studies_come_near_the_plan():
    """Finding the place costs something: at most a third more error here; 3 standard errors of 12 studies."""
    made = plan_number(10, epsilon=2.0, n=2000)
    found, error = made.check(12, seed=1)
    assert found - 3 * error < 1.35 * made.error


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"scale": 0, "epsilon": 1, "n": 10}, "scale"),
        ({"scale": 1, "epsilon": 1}, "error"),
        ({"scale": 1, "epsilon": 1, "n": 10, "error": 0.1}, "error"),
        ({"scale": 1, "n": 10, "error": 0.1}, "n"),
        ({"scale": 1, "epsilon": 1, "error": -1}, "error"),
    ],
)
def test_plans_that_are_none(arguments, argument):
    with pytest.raises(TacitError) as refusal:
        plan_number(**arguments)
    assert refusal.value.argument == argument


def test_known_scales_are_kept():
    study = filled(300, model=LocationScale("normal", mean=50, sd=30, scale=14.0))
    assert (study.posterior().draws[:, 1] == 14.0).all()
    assert study.posterior().sd[0] < 3

"""experiments/poisoning: attackers do what they say, the quick form, and the committed numbers."""

import json

import numpy as np
import pytest

from tacit import Evidence, channels

pytest.importorskip("matplotlib")
from experiments.poisoning import figures, run, summary

K, TARGET = 6, 3


def moved(channel, wants):
    """The unbiased estimate of the target from fakes alone."""
    theta = np.full(K, 1 / K)
    rows = run.sent(channel, TARGET, np.full(300, wants), theta, np.random.default_rng(1))
    return Evidence().add(channel, rows).moments().theta[TARGET]


@pytest.mark.parametrize(
    "channel",
    [channels.subset(K, 1.0, 2), channels.srr(K, 1.0), channels.rrrr(K, [TARGET, 1], 1.0, 0.9)],
    ids=["subset", "srr", "rrrr"],
)
def test_fakes_say_what_they_want(channel):
    assert moved(channel, 1) > 1
    assert moved(channel, -1) < 0
    # 300 uniform reports: five standard errors of the share that hold the target
    size = getattr(channel.table, "size", 1)
    rows = run.sent(channel, TARGET, np.zeros(300, dtype=int), np.full(K, 1 / K), np.random.default_rng(1))
    held = (rows.reshape(300, -1) == TARGET).any(axis=1).mean()
    assert held == pytest.approx(size / K, abs=5 * np.sqrt(size / K * (1 - size / K) / 300))


def test_a_target_inside_the_rest_cell_is_raised_through_it():
    channel = channels.coarse(K, [0, 1], 1.0, 1)
    rest = channel.cell_of[TARGET]
    theta = np.full(K, 1 / K)
    assert (run.sent(channel, TARGET, np.ones(20), theta, np.random.default_rng(1)) == rest).all()
    assert (run.sent(channel, TARGET, -np.ones(20), theta, np.random.default_rng(1)) != rest).all()
    assert not run.told(channel, TARGET)
    assert run.told(channel, 1)


@pytest.mark.parametrize("attack", ["random", "uniform", "early", "demote"])
def test_fakes_come_when_they_should(attack):
    plan = run.lie(attack, 500, 50, K)
    assert plan.fake.sum() == 50
    assert len(plan.fake) == 550
    wanted = {"random": 0, "demote": -1}.get(attack, 1)
    assert (plan.wants[plan.fake] == wanted).all()
    assert plan.target == (0 if attack == "demote" else TARGET)
    places = np.flatnonzero(plan.fake)
    assert places.max() == 99 if attack == "early" else places.max() > 530


def test_the_same_people_say_the_same():
    people = run.People(K, 400, [1, 2])
    channel = channels.subset(K, 1.0)
    assert (people.reports(channel) == run.People(K, 400, [1, 2]).reports(channel)).all()
    job = run.Job(K, 1.0, "static-subset", 0.0, 0)
    honest = run.ask(job, people, None)
    alone = Evidence().add(channel, people.reports(channel))
    assert honest.study.evidence == alone
    lied = run.ask(job, people, run.lie("uniform", 400, 8, K)).study.evidence
    extra = lied.tallies[0].sums - alone.tallies[0].sums
    assert extra[TARGET] == 8
    assert extra.sum() == 8 * channel.table.size


def test_a_floor_asks_its_part_of_every_round_statically():
    job = run.Job(K, 2.0, "semi:0.9", run.FLOOR, 0)
    study = run.ask(job, run.People(K, 600, [3]), None).study
    static = channels.subset(K, 2.0)
    by_static = next(tally.n for tally in study.evidence.tallies if tally.channel == static)
    assert by_static == 100 + run.FLOOR * 500
    assert len(study.evidence) == 600


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """The quick form: two jobs of 300 people, stopped after a cut-off line and taken up again."""
    path = tmp_path_factory.mktemp("results") / "poisoning.jsonl"
    wanted = [
        run.Job(10, 1.0, policy, floor, 0) for policy in ("static-subset", "honest") for floor in (0, 0.25)
    ]
    wanted = [job for job in wanted if job.policy == "honest" or not job.floor]
    run.make(wanted[:1], 1, path, {10: 300})
    first = path.read_text()
    path.write_text(first + '{"job":[10')
    run.make(wanted, 1, path, {10: 300})
    assert path.read_text().startswith(first)
    return run.finished(path)


def test_the_quick_form_pushes_where_it_should(lines):
    static = next(line for line in lines if line["job"][2] == "static-subset")
    assert set(static["studies"]) == {"honest", *summary.COLUMNS}
    assert static["studies"]["uniform 0.05"]["push"] > static["studies"]["uniform 0.005"]["push"]
    assert static["studies"]["uniform 0.01"]["push"] == static["studies"]["early 0.01"]["push"]
    assert static["gauge"]["0.01"]["plain"] == pytest.approx(0.0099 * (1 - static["estimate"]), rel=0.01)
    for line in lines:
        for found in line["studies"].values():
            assert 0 <= found["tv"] <= 1
            assert 0 < found["told"] <= 1


def test_tables_and_figure_of_the_quick_form(lines, tmp_path):
    text = summary.tables(lines)
    assert "| 10 | 1 | static-subset | 1 |" in text
    assert "| honest | 1 |" in text
    figures.draw(summary.by_cell(lines), tmp_path)
    assert (tmp_path / "poisoning.png").stat().st_size > 10_000


# The committed results.


@pytest.fixture(scope="module")
def committed():
    return run.finished()


def test_the_results_are_those_expected(committed):
    expected = json.loads(summary.EXPECTED.read_text())
    found = {" ".join(map(str, cell)): mine for cell, mine in summary.by_cell(committed).items()}
    assert set(found) == set(expected)
    for name, entry in expected.items():
        assert len(found[name]) >= entry["runs"]
        for field, values in summary.numbers(found[name]).items():
            value, tolerance = entry[field]
            assert abs(np.mean(values) - value) <= tolerance, (name, field)


def test_the_tables_of_the_readme_are_made_from_the_results(committed):
    text = summary.README.read_text()
    between = text.split(summary.MARKS[0])[1].split(summary.MARKS[1])[0]
    assert between.strip() == summary.tables(committed).strip()


def test_every_job_was_run(committed):
    assert {tuple(line["job"]) for line in committed} == {
        tuple(job) for job in run.jobs(max(run.RUNS.values()))
    }


def test_a_job_comes_out_as_committed(committed):
    """Reports are the same everywhere; draws may differ by rounding, and move the estimate by much less than this."""
    job = run.Job(10, 5.0, "static-subset", 0.0, 0)
    people = run.People(10, run.PEOPLE[10], [10, 500, 0])
    again = run.distance(run.ask(job, people, None).study.estimate(), people.theta)
    there = next(line for line in committed if tuple(line["job"]) == job)
    assert again == pytest.approx(there["studies"]["honest"]["tv"], abs=0.005)

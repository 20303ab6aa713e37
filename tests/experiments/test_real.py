"""experiments/real: its readers and its loop on small files of the same formats, and the committed numbers.

The data themselves are only needed where TACIT_DATA names their folder; without it those tests skip.
"""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit import TacitError, channels

pytest.importorskip("matplotlib")
from experiments.real import data, drift, figures, run, summary

ROOT = Path(__file__).parents[2]
MONTHS = 3
needs_data = pytest.mark.skipif("TACIT_DATA" not in os.environ, reason="TACIT_DATA names no folder of data")


def written(folder, name, header, rows):
    text = "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files in the formats of the data, small: "null" and "?" are answers, a quoted comma is part of one."""
    made = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(1)
    jobs = rng.choice(["?", "null", "Sales", "Tech-support"], 400, p=[0.1, 0.2, 0.3, 0.4])
    written(made, data.ADULT, "split,occupation,native_country", [("train", job, "?") for job in jobs])
    flights = []
    for month in range(1, MONTHS + 1):
        for who in rng.choice(["AA", "UA", "WN"], 500, p=[0.8 - 0.2 * month, 0.1 + 0.2 * month, 0.1]):
            flights.append((month, 1, "JFK", who, "LAX"))
    written(made, data.FLIGHTS, "month,day,origin,carrier,dest", flights)
    pets = [("2003-04-19", "Cat", "Manx"), ("2017-01-02", "Dog", '"Terrier, Airedale"')]
    written(
        made, data.PETS, "license_issue_date,species,primary_breed", [*pets, ("2017-01-31", "Cat", "Manx")]
    )
    votes = [(2016, "AK", "A", 5), (2020, "AK", "A", 30), (2020, "AL", "B", 50), (2020, "AL", "A", 20)]
    written(made, data.VOTES, "year,state_po,party,votes", votes)
    return made


def test_words_stay_words(folder):
    facts = data.read(folder, "occupation")
    assert facts.labels == ("?", "Sales", "Tech-support", "null")
    assert facts.shares.sum() == pytest.approx(1)
    assert (np.bincount(facts.answers) == np.round(400 * facts.shares)).all()
    assert len(facts.month) == 0


def test_months_follow_the_rows(folder):
    flights = data.read(folder, "carrier")
    assert (flights.month == np.repeat(np.arange(MONTHS), 500)).all()
    by_hand = [(flights.answers[flights.month == month] == 1).mean() for month in range(MONTHS)]
    assert flights.monthly()[:, 1] == pytest.approx(by_hand)
    pets = data.read(folder, "breed")
    assert pets.labels == ("Manx", "Terrier, Airedale")
    assert pets.month.tolist() == [0, 1, 1]


def test_votes_are_summed_over_states(folder):
    facts = data.read(folder, "votes2020")
    assert facts.labels == ("A", "B")
    assert facts.shares.tolist() == [0.5, 0.5]
    assert data.read(folder, "votes2016").labels == ("A",)


def test_rows_out_of_order_are_refused(tmp_path):
    written(tmp_path, data.FLIGHTS, "month,carrier,dest", [(2, "AA", "LAX"), (1, "AA", "LAX")])
    with pytest.raises(TacitError, match="not in time order"):
        data.read(tmp_path, "carrier")


def test_a_lacking_column_is_named(tmp_path):
    written(tmp_path, data.FLIGHTS, "month,dest", [(1, "LAX")])
    with pytest.raises(TacitError, match="has no column carrier"):
        data.read(tmp_path, "carrier")


def command(*arguments):
    environment = {key: value for key, value in os.environ.items() if key != "TACIT_DATA"}
    return subprocess.run(
        [sys.executable, "-m", "experiments.real.run", *map(str, arguments)],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_missing_data_is_told_in_one_sentence(tmp_path):
    output = tmp_path / "lines.jsonl"
    done = command("--data", tmp_path, "--only", "breed", "--output", output)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{data.PETS} is not in {tmp_path}: give --data")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert not output.exists()


QUICK = [
    run.Cell("occupation", "drawn", 3.0, 300, 2),
    run.Cell("carrier", "time", 3.0, None, 1),
    run.Cell("carrier", "shuffled", 3.0, 900, 1),
]


@pytest.fixture(scope="module")
def lines(folder, tmp_path_factory):
    """The quick form: three small cells, stopped after a cut-off line and taken up again."""
    path = tmp_path_factory.mktemp("results") / "real.jsonl"
    run.make(folder, QUICK, 1, 1, path)
    first = path.read_text()
    path.write_text(first + '{"cell":["occup')
    run.make(folder, QUICK, 2, 1, path)
    assert path.read_text().startswith(first)
    return run.finished(path)


def test_every_run_is_made_once_and_is_the_same_again(folder, lines):
    keys = [(*line["cell"], line["run"]) for line in lines]
    assert sorted(keys) == sorted((*cell.key, i) for cell in QUICK for i in range(cell.runs))
    again = run.one_run(folder, QUICK[1], 0)
    there = next(line for line in lines if line["cell"] == list(QUICK[1].key))
    assert {**again, "seconds": 0} == {**there, "seconds": 0}


def test_the_numbers_are_what_they_say(folder, lines):
    for line in lines:
        assert set(line["methods"]) == set(summary.COLUMNS)
        for found in line["methods"].values():
            assert 0 <= found["tv"] < 0.25  # 300 people or more at epsilon 3: far from a guess
            assert 0 <= found["cover"] <= 1
    times = {line["cell"][1]: line for line in lines if line["cell"][0] == "carrier"}
    truth = data.read(folder, "carrier")
    drifted = run.distance(truth.monthly()[-1], truth.shares)
    assert drifted > 0.1
    static = times["time"]["methods"]["static-srr"]
    assert static["target"] == 0
    assert static["early"] == pytest.approx(0.5)
    assert static["target_recent"] == pytest.approx(drifted, rel=1e-3)
    assert times["time"]["month_of"] == [500] * MONTHS
    for name in run.METHODS:
        found = times["time"]["methods"][name]
        assert np.sum(found["weight"], axis=1) == pytest.approx(1, abs=1e-3)
        assert sum(found["rounds"]) == 1500


def test_the_estimate_is_near_the_target_when_channels_change(folder):
    """The mixture predicts what a posterior finds: 60,000 people, two channels, shares that moved."""
    chosen = [channels.srr(3, 3.0), channels.rrrr(3, [0], 1.0, 0.8)]
    counts = np.array([[24_000, 4_500, 1_500], [3_000, 6_000, 21_000]])
    target = drift.mixture(chosen, counts)
    rng = np.random.default_rng(2)
    evidence = run.Evidence()
    for channel, row in zip(chosen, counts, strict=True):
        evidence = evidence.add(channel, channel.sample(np.repeat(np.arange(3), row), rng))
    found = run.posterior.sample(run.Categorical(3), evidence, seed=1).mean
    pooled = counts.sum(axis=0) / counts.sum()
    assert run.distance(target.theta, pooled) > 0.15
    assert run.distance(found, target.theta) < 0.02  # the standard error of a share is below 0.005


def highest(chosen, counts):
    """The theta of highest expected likelihood, by expectation maximisation."""
    theta = np.full(counts.shape[1], 1 / counts.shape[1])
    parts = [(channel.matrix(), channel.matrix() @ row) for channel, row in zip(chosen, counts, strict=True)]
    for _ in range(3_000):
        theta = theta * sum(p.T @ (expected / (p @ theta)) for p, expected in parts) / counts.sum()
    return theta


def test_the_mixture_has_the_highest_expected_likelihood():
    chosen = [channels.srr(4, 2.0), channels.coarse(4, [0, 2], 1.5), channels.subset(4, 1.0)]
    counts = np.array([[60, 30, 10, 40], [300, 200, 200, 100], [100, 500, 500, 100]])
    found = drift.mixture(chosen, counts)
    assert found.theta == pytest.approx(highest(chosen, counts), abs=1e-4)
    assert found.weight.sum(axis=0) == pytest.approx(1)


def test_simulated_information_agrees_with_the_listed(monkeypatch):
    theta, channel = np.array([0.4, 0.3, 0.2, 0.05, 0.05]), channels.subset(5, 1.0, 2)
    listed = drift.information(channel, theta)
    assert listed @ theta == pytest.approx(1)

    def refuse():
        raise TacitError("too_many_reports", "", hint="")

    monkeypatch.setattr(channel, "matrix", refuse)
    monkeypatch.setattr(drift, "REPORTS", 200_000)
    # Each entry is a mean of 200,000 numbers of size about 1: 0.02 is more than eight standard errors.
    assert drift.information(channel, theta) == pytest.approx(listed, abs=0.02)


def test_tables_and_figures_of_the_quick_form(lines, tmp_path, monkeypatch):
    monkeypatch.setattr(summary, "CELLS", QUICK)
    text = summary.tables(lines)
    assert "| occupation | 3 |" in text
    cells = list(summary.by_cell(lines))
    figures.draw(cells, tmp_path)
    names = {"accuracy.png", "coverage.png", "drifting.png", "weights.png"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_mean_is_told_from_a_number_by_its_runs():
    assert summary.Mean.over([0.5, 0.52, 0.48]).away(0.9)
    assert not summary.Mean.over([0.5, 1.0, 0.9]).away(0.9)
    assert not summary.Mean.over([0.5]).away(0.9)


# The committed results.


@pytest.fixture(scope="module")
def committed():
    return run.finished()


def test_the_results_are_those_expected(committed):
    expected = json.loads(summary.EXPECTED.read_text())
    found = {" ".join(map(str, cell.key)): mine for cell, mine in summary.by_cell(committed)}
    assert set(found) == set(expected)
    for name, entry in expected.items():
        assert len(found[name]) >= entry["runs"]
        for method in summary.COLUMNS:
            for field, (value, tolerance) in entry[method].items():
                got = summary.mean(found[name], method, field).value
                assert abs(got - value) <= tolerance, (name, method, field, got)


def test_the_tables_of_the_readme_are_made_from_the_results(committed):
    text = summary.README.read_text()
    between = text.split(summary.MARKS[0])[1].split(summary.MARKS[1])[0]
    assert between.strip() == summary.tables(committed).strip()


def test_every_cell_was_run(committed):
    keys = {(*line["cell"], line["run"]) for line in committed}
    assert keys == {(*cell.key, i) for cell in run.CELLS for i in range(cell.runs)}


@needs_data
@pytest.mark.parametrize(
    ("name", "k", "rows"),
    [
        ("occupation", 15, 48_842),
        ("country", 42, 48_842),
        ("carrier", 16, 336_776),
        ("destination", 105, 336_776),
        ("breed", 336, 52_519),
        ("votes2016", 41, 0),
        ("votes2020", 44, 0),
    ],
)
def test_the_data_are_those_described(name, k, rows):
    facts = data.read(Path(os.environ["TACIT_DATA"]), name)
    assert len(facts.labels) == k
    assert len(facts.answers) == rows
    assert len(facts.month) in (0, rows)


@needs_data
def test_a_run_comes_out_as_committed(committed):
    """Reports are the same everywhere; draws may differ by rounding, and move the estimate by much less than this."""
    cell = next(cell for cell in run.CELLS if cell.key == ("occupation", "drawn", 3.0))
    again = run.one_run(Path(os.environ["TACIT_DATA"]), cell, 0)
    there = next(line for line in committed if line["cell"] == list(cell.key) and line["run"] == 0)
    for method in ("static-srr", summary.FLAT, "static-subset"):
        assert again["methods"][method]["tv"] == pytest.approx(there["methods"][method]["tv"], abs=0.004)

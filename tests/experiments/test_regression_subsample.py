"""experiments/regression, the subsample half: readers, the loop on bundled data, the ranks, the committed numbers."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from experiments.regression import subsample_data as data
from experiments.regression import subsample_figures as figures
from experiments.regression import subsample_methods as methods
from experiments.regression import subsample_run as run
from experiments.regression import subsample_summary as summary

from tacit import TacitError

needs_data = pytest.mark.skipif("TACIT_DATA" not in os.environ, reason="TACIT_DATA names no folder of data")


@pytest.fixture
def quiet():
    import warnings

    with warnings.catch_warnings():
        methods.quiet()
        yield


def test_words_become_columns(tmp_path):
    (tmp_path / "bikeshare.csv.gz").write_bytes(
        gzip.compress(b"hr,weather,temp,casual,registered,y\n0,clear,0.5,1,2,3\n1,null,0.25,0,1,1\n")
    )
    x, y = data.read("poisson", "bikeshare-honest", tmp_path)
    assert np.array_equal(x, [[1, 0, 1, 0, 0.5], [0, 1, 0, 1, 0.25]])
    assert np.array_equal(y, [3, 1])
    assert data.read("poisson", "bikeshare", tmp_path)[0].shape == (2, 7)
    with pytest.raises(TacitError, match="no ccpp"):
        data.read("linear", "ccpp", tmp_path)
    with pytest.raises(TacitError, match="needs a folder"):
        data.read("linear", "housing", None)


@needs_data
def test_the_thesis_sizes():
    folder = Path(os.environ["TACIT_DATA"])
    sizes = {
        ("linear", "housing"): (506, 13), ("linear", "abalone"): (4177, 7), ("logistic", "abalone"): (4177, 8),
        ("poisson", "phdpublications"): (915, 7), ("poisson", "NMES1988"): (4406, 30),
        ("poisson", "Medicaid1986"): (996, 18), ("poisson", "bikeshare"): (8645, 51),
        ("poisson", "recreationdemand"): (659, 9),
    }  # fmt: skip
    assert {key: data.read(*key, folder)[0].shape for key in sizes} == sizes


@pytest.mark.parametrize("task", ["linear", "logistic", "poisson", "svm"])
def test_a_line_of_bundled_data(task, quiet):
    name = data.names(task, None)[0]
    line = run.one(task, name, run.BAYES, None)  # past the repeats of the slow search
    assert set(line["error"]) == set(methods.methods(task, small=False))
    # One split: tacit is near the best of the others, and well above nothing.
    others = [line["error"][m] for m in ("none", "cv")]
    assert line["error"]["tacit"] <= 1.15 * max(others) + (3 if task in ("logistic", "svm") else 0)
    again = run.one(task, name, run.BAYES, None)
    assert again["error"] == line["error"]


def test_a_line_of_the_closed_form(quiet):
    line = run.one("closed", "20", 0, None)
    assert line["error"]["closed"] < line["error"]["none"]
    assert line["error"]["tacit"] < line["error"]["none"]


def test_the_loop_goes_on_where_it_stood(tmp_path, monkeypatch):
    made = []

    def one(task, name, repeat, folder):
        made.append((name, repeat))
        return {"task": task, "data": name, "repeat": repeat}

    monkeypatch.setattr(run, "one", one)
    path = tmp_path / "lines.jsonl"
    run.make(("linear",), 2, None, path)
    assert made == [("diabetes", 0), ("generated", 0), ("diabetes", 1), ("generated", 1)]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]) + '{"task": "lin')
    run.make(("linear",), 2, None, path)
    assert made[4:] == [("generated", 1)]
    assert len(run.finished(path)) == 4


def test_ranks_by_hand():
    """Demšar (2006), table 6: ranks of four classifiers on 14 sets; the critical difference of 4 and 14 is 1.25."""
    means = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0], [2.0, 1.0, 3.5, 3.5]])
    ranks, p, _ = summary.nemenyi(means)
    assert np.allclose(ranks, [4 / 3, 2, 8.5 / 3, 11.5 / 3])
    assert 0 < p < 1
    assert summary.nemenyi(np.tile(np.arange(4.0), (14, 1)))[2] == pytest.approx(
        2.569 * np.sqrt(20 / 84), abs=2e-3
    )
    assert figures.cliques(np.array([1.0, 1.5, 3.0, 3.2]), 0.6) == [(1.0, 1.5), (3.0, 3.2)]
    assert figures.cliques(np.array([1.0, 2.0, 3.0]), 5.0) == [(1.0, 3.0)]


def lines(shift):
    rng = np.random.default_rng(1)
    out = []
    for name in ("a", "b", "c"):
        for repeat in range(6):
            base = 1 + 0.1 * rng.random()
            errors = {m: base + 0.01 * i for i, m in enumerate(summary.RANKED)} | {"tacit": base + shift}
            seconds = dict.fromkeys(errors, 0.1) | {"cv": 2.0}
            out.append(
                {"task": "poisson", "data": name, "repeat": repeat, "error": errors, "seconds": seconds}
            )
    return out


def test_claims_say_when_they_fail(tmp_path):
    good = summary.claims(summary.cells(lines(0.0)), "poisson")
    assert [holds for _, holds, _ in good] == ["3 of 3"] * 3
    bad = summary.claims(summary.cells(lines(0.5)), "poisson")
    assert bad[0][1] == "0 of 3"
    assert "+0.49" in bad[0][2]
    assert "Friedman p" in summary.text(lines(0.0))
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines(0.0)))
    figures.draw(path, tmp_path / "ranks.png")
    assert (tmp_path / "ranks.png").stat().st_size > 10_000


def test_the_committed_results_are_the_expected_ones():
    if not run.RESULTS.exists():
        pytest.skip("no committed results")
    expected = json.loads(summary.EXPECTED.read_text())
    found = {f"{c.task} {c.data}": c for c in summary.cells(run.finished())}
    assert expected
    for name, (mean, room) in expected.items():
        cell, method = name.rsplit(" ", 1)
        assert abs(found[cell].mean(method) - mean) <= room, name
    text = summary.PAGE.read_text(encoding="utf-8")
    assert summary.text(run.finished()) in text


@needs_data
@pytest.mark.parametrize(
    ("task", "name"), [("linear", "housing"), ("logistic", "liver"), ("poisson", "Medicaid1986")]
)
def test_a_committed_line_is_made_again(task, name, quiet):
    folder = Path(os.environ["TACIT_DATA"])
    old = {(line["task"], line["data"], line["repeat"]): line for line in run.finished()}[task, name, 0]
    x, y = data.read(task, name, folder)
    train_x, test_x, train_y, test_y = run.split(task, x, y, 0)
    made = methods.made(task, "tacit", 0, 0, 0).fit(train_x, train_y)
    assert run.error(task, test_y, made.predict(test_x)) == pytest.approx(old["error"]["tacit"], rel=1e-4)

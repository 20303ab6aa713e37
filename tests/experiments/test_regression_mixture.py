"""experiments/regression: reading, one repeat and its summary on bundled data, and the committed numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("statsmodels")
from experiments.regression import data, mixture_figures, mixture_run, mixture_summary
from sklearn.linear_model import LinearRegression

from tacit import TacitError

ROOT = Path(__file__).parents[2]
QUICK = ("ols", "mixture, learned", "mixture, fixed", "trimmed", "RLM Huber")
needs_data = pytest.mark.skipif("TACIT_DATA" not in os.environ, reason="TACIT_DATA names no folder of data")


def test_words_become_columns_and_the_target_is_last(tmp_path):
    (tmp_path / "abalone.csv").write_text("sex,length,kind,rings\nM,1.5,a,3\nF,2.5,b,4\nI,3.5,a,5\n")
    x, y, names = data._read(tmp_path / "abalone.csv", data.SOURCES["abalone"])
    assert names == ["length", "kind=a", "kind=b"]
    assert x.tolist() == [[1.5, 1, 0], [2.5, 0, 1], [3.5, 1, 0]]
    assert y.tolist() == [3, 4, 5]
    scaled = data.standardised(data.Data(x, y, names))
    assert scaled.x.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-12)
    assert scaled.y.std() == pytest.approx(1)


def test_bundled_data_stand_in():
    x, y, names = data.load(None, "diabetes")
    assert x.shape == (442, 10) == (len(y), len(names))
    for name in ("boston", "nothing"):
        with pytest.raises(TacitError):
            data.load(None, name)


def test_missing_data_is_told_in_one_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "experiments.regression.mixture_run",
         "--data", str(tmp_path), "--output", str(tmp_path / "a")],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"boston_housing.csv is not in {tmp_path}: give --data")
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """The quick form: three repeats on bundled data, stopped after a cut-off line and taken up again."""
    path = tmp_path_factory.mktemp("results") / "mixture.jsonl"
    mixture_run.make(None, ("diabetes",), 1, path, QUICK)
    first = path.read_text()
    path.write_text(first + '{"data":"dia')
    mixture_run.make(None, ("diabetes",), 3, path, QUICK)
    assert path.read_text().startswith(first)
    return mixture_run.finished(path)


def test_a_repeat_is_what_it_says(lines):
    assert [line["repeat"] for line in lines] == [0, 1, 2]
    line = lines[0]
    assert set(line["settings"]) == set(mixture_run.STATED)
    for setting, found in line["settings"].items():
        assert set(found) == set(QUICK)
        assert found["ols"]["clean"] == pytest.approx(0 if setting == "none" else found["ols"]["clean"])
        assert sum(found["mixture, learned"]["weights"]) == pytest.approx(1, abs=1e-4)
        if setting != "none":
            assert found["ols"]["clean"] > 0
            assert found["mixture, learned"]["auc"] > 0.8
    again = mixture_run.one_repeat(None, "diabetes", 0, ("ols",))
    assert again["settings"]["3-6"]["ols"]["mse"] == line["settings"]["3-6"]["ols"]["mse"]
    # By hand, without outliers.
    x, y, _ = data.standardised(data.load(None, "diabetes"))
    rng = np.random.default_rng([len(mixture_run.SETS), 0])
    order = rng.permutation(len(y))
    cut = round(0.75 * len(y))
    model = LinearRegression(fit_intercept=False).fit(x[order[:cut]], y[order[:cut]])
    mse = np.mean((y[order[cut:]] - model.predict(x[order[cut:]])) ** 2)
    assert line["settings"]["none"]["ols"]["mse"] == pytest.approx(mse, rel=1e-5)


def test_outliers_are_paired_and_of_the_stated_size(monkeypatch):
    seen = []

    def spy(model, x, y, *rest):
        seen.append(y.copy())
        return {"mse": 0.0, "clean": 0.0, "ms": 0.0}

    monkeypatch.setattr(mixture_run, "judge", spy)
    mixture_run.one_repeat(None, "diabetes", 5, ("ols",))
    clean, *moved = seen
    rows = [np.flatnonzero(y != clean) for y in moved]
    assert all((each == rows[0]).all() for each in rows)
    assert len(rows[0]) == round(0.1 * len(clean))
    for y, (low, high) in zip(moved, list(mixture_run.STATED.values())[1:], strict=True):
        size = abs(y - clean)[rows[0]] / clean.std(ddof=1)
        assert low <= size.min() <= size.max() <= high
        assert 0.2 < (y > clean)[rows[0]].mean() < 0.8


def test_summaries_pair_their_splits(lines):
    renamed = [line | {"data": "airfoil"} for line in lines]
    found = mixture_summary.Results(renamed)
    gap = found.gap("airfoil", "2-4", "mixture, learned", "ols")
    by_hand = [
        line["settings"]["2-4"]["mixture, learned"]["mse"] - line["settings"]["2-4"]["ols"]["mse"]
        for line in lines
    ]
    assert gap.value == pytest.approx(np.mean(by_hand))
    assert gap.error == pytest.approx(np.std(by_hand, ddof=1) / np.sqrt(3))
    over, error, near = mixture_summary.against_thesis(found, "learned", "airfoil", "none")
    assert near == (over <= 2 * error)


def test_pictures_of_the_quick_form(tmp_path):
    mixture_figures.of_the_documentation(None, "diabetes", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "regression-mixture-outliers.png",
        "regression-mixture-residuals.png",
    }


# The committed results.


@pytest.fixture(scope="module")
def committed():
    return mixture_summary.Results(mixture_run.finished())


def test_the_results_are_those_expected(committed):
    expected = json.loads(mixture_summary.EXPECTED.read_text())
    for name in mixture_run.SETS:
        for setting in mixture_summary.settings(name):
            assert set(expected[f"{name} {setting}"]) == set(mixture_run.METHODS)
            for method, (value, tolerance, of) in expected[f"{name} {setting}"].items():
                got = committed.field(name, setting, method)
                assert got.of >= of
                assert abs(got.value - value) <= tolerance, (name, setting, method, got)


def test_the_tables_of_the_readme_are_made_from_the_results(committed):
    between = (
        mixture_summary.README.read_text()
        .split(mixture_summary.MARKS[0])[1]
        .split(mixture_summary.MARKS[1])[0]
    )
    assert between.strip() == mixture_summary.sections(committed).strip()


def test_the_claims_of_the_documentation_hold(committed):
    """What the pages say in words."""
    cells = [(kind, *cell) for kind in mixture_summary.SINGLES for cell in mixture_summary.cells(kind)]
    assert sum(mixture_summary.against_thesis(committed, *cell)[2] for cell in cells) >= 0.95 * len(cells)
    ratios = [
        mixture_summary.best_single(committed, "fixed", *cell)[1] for cell in mixture_summary.cells("fixed")
    ]
    assert np.mean(ratios) < 1.02
    for setting in ("5-10", *mixture_run.DOUBLED):
        for kind in mixture_summary.SINGLES:
            saved = committed.gap("boston", setting, f"mixture, {kind}", "ols")
            assert saved.value + 3 * saved.error < 0
    for name in mixture_run.SETS:
        assert committed.field(name, "5-10", "mixture, learned", "auc").value > 0.99


@needs_data
def test_a_repeat_comes_out_as_committed():
    folder = Path(os.environ["TACIT_DATA"])
    there = next(line for line in mixture_run.finished() if (line["data"], line["repeat"]) == ("boston", 0))
    again = mixture_run.one_repeat(folder, "boston", 0, QUICK)
    for setting, found in again["settings"].items():
        for method in QUICK:
            assert found[method]["mse"] == pytest.approx(there["settings"][setting][method]["mse"], rel=0.01)

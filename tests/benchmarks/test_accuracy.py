"""The accuracy benchmark: what it computes from lines, and what the peers' post-processing does."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
pytest.importorskip("xxhash", reason="the bench extra is not installed")
import accuracy
import accuracy_tables as tables
import rivals
from accuracy_tables import Ratio


def test_a_paired_ratio_and_its_error():
    rng = np.random.default_rng(1)
    other = rng.gamma(4, 1, (4000, 40))
    mine = 0.8 * other + rng.normal(0, 0.3, other.shape)
    found = [tables.compared(a, b) for a, b in zip(mine, other, strict=True)]
    values, errors = np.array([r.value for r in found]), np.array([r.error for r in found])
    assert values.mean() == pytest.approx(0.8, abs=0.005)
    assert errors.mean() == pytest.approx(values.std(), rel=0.05)


def test_the_geometric_mean_and_its_error():
    mean, error = tables.geometric([Ratio(0.5, 0.05, 9), Ratio(2.0, 0.2, 9)])
    assert mean == pytest.approx(1.0)
    assert error == pytest.approx(0.1 / np.sqrt(2))


def test_holm():
    clear, weak = Ratio(1.5, 0.1, 9), Ratio(1.22, 0.1, 9)  # 4.5 and 1.7 standard errors above 1.05
    assert tables.above([weak, clear, Ratio(0.9, 0.1, 9)], 1.05) == [1]
    assert tables.above([weak], 1.05) == [0]
    assert tables.above([weak] * 18, 1.05) == []


def test_the_best_in_hindsight_has_the_least_mean_of_methods_that_all_lines_have():
    lines = [{"a": 1.0, "b": 0.1, "c": 0.0}, {"a": 1.0, "b": 0.3}]
    name, values = tables.best(lines)
    assert name == "b"
    np.testing.assert_array_equal(values, [0.1, 0.3])


def test_a_page_is_filled_between_its_markers_and_nowhere_else():
    page = "".join(f"before {name}\n<!-- {name} -->\nold\n<!-- end of {name} -->\n" for name in tables.TABLES)
    rng = np.random.default_rng(4)
    lines = [
        {
            "cell": [10, 0.5, 0.01],
            "run": run,
            "code": "x",
            "tv": {name: rng.uniform(0.1, 0.2) for name in tables.COLUMNS},
            "peers": {"SS: IBU": 0.19 + 0.01 * run, "GRR: IBU": 0.3},
            "mse": dict.fromkeys(
                ("static, learned, mean", "static, oracle, mean", "static, flat, mean"), 0.01
            ),
        }
        for run in range(3)
    ]
    found = tables.records(lines)
    text = tables.written(page, found)
    assert text.count("before") == len(tables.TABLES)
    assert "old" not in text
    assert "0.2000 SS: IBU" in text
    assert tables.written(text, found) == text
    json.dumps(found)
    with pytest.raises(ValueError, match="no place for"):
        tables.written("", found)


def test_lines_are_kept_and_made_once(tmp_path):
    path = tmp_path / "results" / "lines.jsonl"
    jobs = [(cell, run) for run in range(3) for cell in accuracy.CELLS[:2]]
    accuracy.make(path, jobs[:4], 1, _line)
    accuracy.make(path, jobs, 1, _line)
    made = [(tuple(line["cell"]), line["run"]) for line in accuracy.finished(path)]
    assert sorted(made) == sorted(jobs)


def _line(cell, run):
    return {"cell": list(cell), "run": run}


def test_iterative_update_is_the_maximum_likelihood_estimate():
    rng = np.random.default_rng(2)
    rows = 1 + 3.0 * (rng.random((30, 5)) < 0.4)
    counts = rng.integers(1, 30, 30).astype(float)
    found = rivals.ibu(rows, counts)
    theta, value = np.full(5, 0.2), -np.inf
    for _ in range(200_000):  # plain EM, unaccelerated
        h = rows @ theta
        theta = theta * (rows.T @ (counts / h)) / counts.sum()
        if counts @ np.log(h) - value < 1e-13:
            break
        value = counts @ np.log(h)
    assert counts @ np.log(rows @ found) >= value - 1e-4
    np.testing.assert_allclose(found, theta, atol=2e-3)


def test_projection_is_the_nearest_distribution():
    rng = np.random.default_rng(3)
    for _ in range(20):
        raw = rng.normal(0.2, 0.3, 5)
        near = rivals.projected(raw)
        assert near.sum() == pytest.approx(1)
        assert near.min() >= 0
        others = rng.dirichlet(np.ones(5), 2000)
        assert ((others - raw) ** 2).sum(axis=1).min() >= ((near - raw) ** 2).sum() - 1e-12


@pytest.mark.parametrize("name", ["GRR", "SS", "SUE", "OUE", "OLH", "HR", "HM, best"])
def test_the_peers_are_unbiased_as_they_are_used_here(name):
    """False alarm below 1e-3 each, and seeded."""
    if name not in rivals.oracles():
        pytest.skip("the library of this mechanism is not installed")
    assert rivals.check(name, 6, 1.0, blocks=12, size=300) is None


def test_a_biased_peer_would_be_seen(monkeypatch):
    def biased(answers, k, epsilon):
        raw = np.bincount(answers, minlength=k) / len(answers) + 0.02
        noise = np.random.default_rng(answers[:5].sum()).normal(0, 0.01, k)
        return rivals.Reports(np.ones((1, k)), np.ones(1), raw + noise)

    monkeypatch.setattr(rivals, "oracles", lambda: {"biased": biased})
    assert "biased at K = 6" in rivals.check("biased", 6, 1.0, blocks=12, size=300)

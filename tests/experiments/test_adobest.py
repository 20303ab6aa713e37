"""The AdOBEst-LDP experiment: its compiled loop against definitions, its quick form against expected.json."""

import doctest
import importlib
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments.adobest import choice, expected, floor, loop, matrices, mle, nested, optimal, paired, reading
from experiments.adobest import claims as claims_module
from experiments.adobest import run as grid_run
from experiments.adobest.claim import BEGIN, END, write_readme
from experiments.adobest.grid import CELLS, KAPPAS, PEOPLE, population
from scipy.stats import ttest_rel

from tacit import TacitError, channels, policies
from tacit.policies.adaptive import policy

SETTINGS = [(3, 0.5, 0.9), (5, 2.0, 0.8), (8, 1.0, 0.5), (20, 0.5, 0.9), (20, 5.0, 0.8)]


def some_thetas(k, count=5):
    rng = np.random.default_rng(k)
    return [
        np.sort(rng.dirichlet(np.full(k, rho)) + 1e-9)[::-1] for rho in (0.1, 1.0, 5.0) for _ in range(count)
    ]


def normalised(theta):
    return theta / theta.sum()


# The choice of S


@pytest.mark.parametrize("name", choice.RULES)
@pytest.mark.parametrize(("k", "epsilon", "kappa"), [*SETTINGS, (4, 1.0, 1.0)])
def test_curves_are_those_of_the_library(name, k, epsilon, kappa):
    rows = matrices.entries(k, epsilon, kappa)
    for theta in map(normalised, some_thetas(k)):
        made = choice.curve(theta, rows, choice.RULES.index(name))
        np.testing.assert_allclose(
            made, policies.utility_curve(theta, epsilon, kappa, name), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("method", loop.METHODS)
def test_sizes_are_those_of_the_policies(method):
    rng = np.random.default_rng(3)
    rows = matrices.entries(6, 1.0, 0.9)
    code, mass = choice.rule_of(method)
    for theta in map(normalised, some_thetas(6)):
        size = choice.best_size(theta, rows, code, mass, 0)
        name = "static-srr" if method == "srr" else method
        channel = policy(name, 0.9).choose(theta[None], 1.0, 1, rng)
        assert size == len(channel.table.subset)


def test_the_smallest_size_is_respected():
    rows = matrices.entries(6, 5.0, 0.9)
    theta = np.full(6, 1 / 6)
    honest = choice.RULES.index("honest")
    assert choice.best_size(theta, rows, honest, 0.0, 0) == 0
    curve = policies.utility_curve(theta, 5.0, 0.9, "honest")
    assert choice.best_size(theta, rows, honest, 0.0, 1) == 1 + np.argmax(curve[1:])


# The matrices


@pytest.mark.parametrize(("k", "epsilon", "kappa"), SETTINGS)
def test_matrices_are_those_of_the_channels(k, epsilon, kappa):
    rows = matrices.entries(k, epsilon, kappa)
    for size in range(k):
        exact = channels.rrrr(k, range(size), epsilon, kappa).matrix()
        np.testing.assert_allclose(matrices.dense(rows, size), exact, rtol=1e-9)


def published_matrix(k, size, epsilon, kappa):
    """By the two steps of the mechanism, with epsilon_2 as `AdOBEst_LDP.m` has it: bounded from a first size on, by
    a formula in |S| without its logarithm, and epsilon below that size."""
    e1, e2 = kappa * epsilon, epsilon
    if size >= math.ceil(math.exp(epsilon - e1)):
        e2 = min(epsilon, (size - 1) / (math.exp(e1 - epsilon) * size - 1))
    rest, out = k - size, np.zeros((k, k))
    for x in range(k):
        stand_in = np.where(np.arange(k) < size, 0.0, 1 / rest)
        if x >= size:
            stand_in = np.where(np.arange(k) < size, 0.0, 1 / (math.exp(e2) + rest - 1))
            stand_in[x] *= math.exp(e2)
        for r in range(size, k):
            answer = x if x < size else r
            for y in [*range(size), r]:
                out[y, x] += stand_in[r] * math.exp(e1 * (y == answer)) / (math.exp(e1) + size)
    return out


@pytest.mark.parametrize(("k", "epsilon", "kappa"), SETTINGS)
def test_the_published_matrices_are_rebuilt(k, epsilon, kappa):
    rows = matrices.entries(k, epsilon, kappa, faulty=True)
    for size in range(1, k):
        np.testing.assert_allclose(
            matrices.dense(rows, size), published_matrix(k, size, epsilon, kappa), rtol=1e-9
        )


@pytest.mark.parametrize("faulty", [False, True])
@pytest.mark.parametrize(("k", "epsilon", "kappa"), SETTINGS)
def test_losses_are_the_worst_ratios(k, epsilon, kappa, faulty):
    rows = matrices.entries(k, epsilon, kappa, faulty)
    for size, loss in enumerate(matrices.losses(rows)):
        matrix = matrices.dense(rows, size)
        assert loss == pytest.approx(math.log((matrix.max(axis=1) / matrix.min(axis=1)).max()), rel=1e-9)
    if not faulty:
        assert matrices.losses(rows).max() <= epsilon * (1 + 1e-9)


def test_what_the_published_matrices_leak():
    assert matrices.worst_loss(matrices.entries(20, 0.5, 0.9, faulty=True)) == pytest.approx(
        1.833 * 0.5, rel=1e-3
    )
    for k, epsilon, _ in CELLS:
        for kappa in KAPPAS:
            assert matrices.worst_loss(matrices.entries(k, epsilon, kappa, faulty=True)) > 1.2 * epsilon


def test_our_certificate_refuses_the_published_matrix():
    leaking = matrices.dense(matrices.entries(20, 0.5, 0.9, faulty=True), 3)
    with pytest.raises(TacitError) as refusal:
        channels.from_matrix(leaking, 0.5)
    assert refusal.value.code == "channel_leaks"


# The loop


class Fixed:
    """A generator whose next number is known."""

    def __init__(self, value):
        self.value = value

    def random(self):
        return self.value


@pytest.mark.parametrize("size", [0, 1, 3, 4])
def test_reports_follow_the_matrix(size):
    """Every interval of the unit interval that gives a report has the length of its probability."""
    rows = matrices.entries(5, 1.0, 0.8)
    steps = 2000
    for place in range(5):
        made = [loop.draw_report.py_func(place, size, rows, Fixed((i + 0.5) / steps)) for i in range(steps)]
        share = np.bincount(made, minlength=5) / steps
        np.testing.assert_allclose(share, matrices.dense(rows, size)[:, place], atol=1.01 / steps)


def test_the_compiled_report_is_the_same():
    rows = matrices.entries(5, 1.0, 0.8)
    one, two = np.random.default_rng(4), np.random.default_rng(4)
    for place in range(5):
        for size in range(5):
            assert loop.draw_report(place, size, rows, one) == loop.draw_report.py_func(
                place, size, rows, two
            )


def test_the_likelihood_is_a_row_of_the_matrix():
    rows, order = matrices.entries(5, 1.0, 0.8), np.array([3, 0, 4, 1, 2])
    row = np.empty(5)
    for size in range(5):
        matrix = matrices.dense(rows, size)
        for y in range(5):
            loop.likelihood(row, order, y, size, rows)
            np.testing.assert_allclose(row[order], matrix[y], rtol=1e-12)


def log_posterior(phi, rows, scale):
    """ln of Gamma(1, 1) for every phi, and the log-likelihood of some reports times a scale."""
    return -phi.sum() + scale * np.log(rows @ phi / phi.sum()).sum()


def papers_gradient(phi, rows, scale):
    """Proposition 4 of the preprint, with its Jacobian of K x (K - 1)."""
    k, s = len(phi), phi.sum()
    jacobian = np.eye(k)[:, : k - 1] / s - np.outer(np.ones(k), phi[: k - 1]) / s**2
    slopes = (rows[:, : k - 1] - rows[:, k - 1 :]) / (rows @ phi / s)[:, None]
    return -1 + scale * (jacobian @ slopes.T).sum(axis=1)


@pytest.mark.parametrize("t", [7, 120])
def test_one_update_is_the_papers(t):
    rng = np.random.default_rng(5)
    rows = rng.uniform(0.05, 0.5, (t, 4))
    phi, mean, step = np.array([2.0, 1.0, 0.7, 1.5]), np.empty(4), 1e-4
    before, one, two = phi.copy(), np.random.default_rng(6), np.random.default_rng(6)
    loop.langevin(phi, rows, t, 1, step, one, mean)
    size = min(t, loop.BATCH)
    batch = rows[[int(two.random() * t) for _ in range(size)]]
    noise = np.sqrt(step) * np.array([two.standard_normal() for _ in range(4)])
    drift = (phi - before - noise) / (step / 2)
    bump = 1e-5 * np.eye(4)
    slope = [
        (log_posterior(before + b, batch, t / size) - log_posterior(before - b, batch, t / size)) / 2e-5
        for b in bump
    ]
    np.testing.assert_allclose(drift, slope, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(drift, papers_gradient(before, batch, t / size), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(mean, phi / phi.sum())


def test_updates_are_reflected_and_the_last_half_is_averaged():
    rows = np.random.default_rng(5).uniform(0.05, 0.5, (60, 3))
    phi, mean, step = np.array([1.0, 1e-9, 1e-9]), np.empty(3), 1e-2
    single, last = phi.copy(), []
    one, two = np.random.default_rng(7), np.random.default_rng(7)
    loop.langevin(phi, rows, 60, 6, step, one, mean)
    for _ in range(6):
        loop.langevin(single, rows, 60, 1, step, two, np.empty(3))
        assert (single > 0).all()
        last.append(single / single.sum())
    np.testing.assert_allclose(phi, single)
    np.testing.assert_allclose(mean, np.mean(last[3:], axis=0))


def test_a_run_reports_what_it_did():
    answers = np.random.default_rng(1).choice(4, 300, p=[0.7, 0.2, 0.1, 0.0])
    result = loop.run(answers, 4, 1.0, "semi:0.6", 0.9, seed=1)
    assert result.estimate.sum() == pytest.approx(1)
    assert result.rows.shape == (300, 4)
    assert 1 <= result.mean_size <= 3
    assert result.unrestricted == 0
    srr = loop.run(answers, 4, 1.0, "srr", 0.9, seed=1)
    assert (srr.mean_size, srr.unrestricted) == (0, 1)
    again = loop.run(answers, 4, 1.0, "semi:0.6", 0.9, seed=1)
    np.testing.assert_array_equal(result.estimate, again.estimate)


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"k": 1}, "k"),
        ({"k": 2.5}, "k"),
        ({"answers": []}, "answers"),
        ({"answers": [0, 4]}, "answers"),
        ({"answers": [0.5]}, "answers"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"kappa": 0}, "kappa"),
        ({"kappa": 1.1}, "kappa"),
        ({"method": "risk"}, "method"),
        ({"method": "semi:0.5"}, "method"),
        ({"rule": "rising"}, "rule"),
        ({"seed": -1}, "seed"),
        ({"method": "srr", "faulty": True}, "faulty"),
    ],
)
def test_refusals(changed, argument):
    given = {
        "answers": [0, 1, 2],
        "k": 4,
        "epsilon": 1.0,
        "method": "honest",
        "kappa": 0.9,
        "seed": 1,
    } | changed
    with pytest.raises(TacitError) as refusal:
        loop.run(**given)
    assert refusal.value.argument == argument


# Maximum likelihood


def test_the_likelihood_is_maximised():
    rng = np.random.default_rng(8)
    matrix = channels.rrrr(3, [0], 1.0, 0.9).matrix()
    rows = matrix[rng.choice(3, 400, p=matrix @ [0.6, 0.4, 0.0])]
    found = mle.estimate(rows)
    side = np.linspace(0, 1, 201)
    points = np.array([[a, b, 1 - a - b] for a in side for b in side if a + b <= 1])
    values = np.log(points @ rows.T).sum(axis=1)
    assert found.sum() == pytest.approx(1)
    assert np.log(rows @ found).sum() >= values.max() - mle.GAIN
    assert np.abs(found - points[values.argmax()]).max() < 0.03


# All subsets


def test_subsets_are_given_the_matrix_of_the_channel():
    made = nested.matrices(4, 1.5, 0.8)
    for mask, inside in zip(made, nested.masks(4), strict=True):
        np.testing.assert_allclose(
            mask, channels.rrrr(4, np.flatnonzero(inside), 1.5, 0.8).matrix(), rtol=1e-9
        )


def test_nested_subsets_have_the_utilities_of_the_curve():
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    for name, values in nested.utilities(theta, 1.0, 0.9).items():
        np.testing.assert_allclose(
            values[nested.nested(4)], policies.utility_curve(theta, 1.0, 0.9, name), rtol=1e-8
        )


def test_theorem_2_is_about_u6():
    for number in range(100):
        assert "honest" not in nested.missed(*nested.case(6, number))
    theta = np.array([0.534, 0.187, 0.147, 0.128, 0.004])
    miss = nested.missed(theta, 3.587, 0.95)
    assert miss["entropy"].subset == [0, 4]
    assert miss["entropy"].gap > 0.01


# The floor of the papers' sampler


def test_the_floor_is_where_it_is_predicted():
    """About 240 independent draws: the spread is off by a third with a probability far below 1e-6."""
    found = floor.one_run(100_000, 0)
    assert found["sgld sd"] == pytest.approx(found["predicted sd"], rel=0.33)
    assert found["sgld sd"] > 1.5 * found["exact sd"]


# The grid


def test_populations_can_be_made_again():
    theta, answers, seed = population(CELLS[0], 3)
    again = population(CELLS[0], 3)
    np.testing.assert_array_equal(answers, again[1])
    assert (len(answers), seed) == (PEOPLE * CELLS[0][0], again[2])
    assert theta.sum() == pytest.approx(1)
    assert not np.array_equal(answers, population(CELLS[0], 4)[1])


@pytest.fixture
def without_work(monkeypatch):
    """Runs that say only which they are."""
    monkeypatch.setattr(grid_run, "one_run", lambda cell, number: {"cell": list(cell), "run": number})


@pytest.mark.usefixtures("without_work")
def test_the_grid_goes_on_where_it_stood(tmp_path):
    path = tmp_path / "grid.jsonl"
    grid_run.make(CELLS[:2], 2, 1, path)
    kept = path.read_text()
    path.write_text(kept + '{"cell": [10, 0.5, 0.01], "ru')
    assert len(grid_run.finished(path)) == 4
    grid_run.make(CELLS[:3], 3, 1, path)
    assert path.read_text().startswith(kept)
    made = [(tuple(line["cell"]), line["run"]) for line in grid_run.finished(path)]
    assert sorted(made) == sorted((cell, number) for cell in CELLS[:3] for number in range(3))
    before = path.read_text()
    grid_run.make(CELLS[:3], 3, 1, path)
    assert path.read_text() == before


@pytest.mark.usefixtures("without_work")
def test_a_file_of_half_a_line_starts_anew(tmp_path):
    path = tmp_path / "grid.jsonl"
    path.write_text('{"cell": [10')
    grid_run.make(CELLS[:1], 1, 1, path)
    assert json.loads(path.read_text()) == {"cell": [10, 0.5, 0.01], "run": 0}


def test_a_line_has_every_variant(monkeypatch):
    theta, answers, seed = population((10, 1.0, 0.1), 0)
    monkeypatch.setattr(grid_run, "population", lambda cell, number: (theta, answers[:60], seed))
    line = grid_run.one_run((10, 1.0, 0.1), 0)
    for what in ("tv", "size", "empty"):
        assert list(line[what]) == [
            f"{rule} {kappa}" for rule in ("fixed", "falling", "faulty") for kappa in KAPPAS
        ]
        assert {len(values) for name, values in line[what].items() if "faulty" in name} == {6}
        assert {len(values) for name, values in line[what].items() if "faulty" not in name} == {12}
    assert len(line["ml"]) == len(grid_run.LIKELIEST)
    assert "ml" not in grid_run.one_run((10, 1.0, 0.1), grid_run.LIKELIEST_RUNS)
    assert (reading.column([line], "faulty 0.8", "honest", "size") >= 1).all()
    assert reading.column([line], "fixed 0.8", "srr", "size") == 0


@pytest.fixture(scope="module")
def quick():
    return expected.quick()


def test_the_quick_grid_is_as_expected(quick):
    """False alarm below 1e-6 in all: see `expected`."""
    assert expected.differences(quick, reading.load(expected.EXPECTED)["quick"]) == []


def test_the_comparison_notices_the_published_matrices(quick):
    swapped = {
        name: quick[name.replace("fixed 0.9, honest", "faulty 0.9, honest")]
        if name.endswith(("fixed 0.9, honest, tv", "fixed 0.9, honest, size"))
        else value
        for name, value in quick.items()
    }
    assert expected.differences(swapped, reading.load(expected.EXPECTED)["quick"]) != []
    assert expected.differences({}, {"a": [1.0, 0.1]}) == ["a is missing"]


# Claims and figures


def made_lines(factors=None, runs=6):
    """Lines with errors around 0.1 times a factor for each method, the same in every cell."""
    rng = np.random.default_rng(9)
    factors = factors or {}
    for cell in CELLS:
        for number in range(runs):
            line = {"cell": list(cell), "run": number, "tv": {}, "size": {}, "empty": {}}
            level = rng.uniform(0.08, 0.12)
            for rule, kappa in grid_run.VARIANTS:
                names, variant = grid_run.methods(rule), f"{rule} {kappa}"
                noise = rng.uniform(0.98, 1.02, len(names))
                factor = np.array([factors.get(name, 1.0) for name in names])
                line["tv"][variant] = (level * factor * noise).tolist()
                size = [0.0 if name in ("srr", "fisher") else 1 + 3 * cell[2] / cell[1] for name in names]
                line["size"][variant] = (np.array(size) * noise).tolist()
                line["empty"][variant] = [float(name in ("srr", "fisher")) for name in names]
            line["ml"] = [level / 2] * len(grid_run.LIKELIEST)
            yield line


@pytest.fixture
def results(tmp_path):
    """A folder with a grid in which "honest" is half as wrong as the others."""

    def write(factors=None, runs=6):
        lines = made_lines(factors, runs)
        (tmp_path / "grid.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return tmp_path / "grid.jsonl"

    return write


def judged(path):
    return {claim["says"]: claim for claim in claims_module.make(path)["claims"]}


def test_claims_follow_the_numbers(results):
    good = judged(results({"honest": 0.5}))
    assert good["an adaptive choice of S beats SRR"]["holds"] == "yes"
    assert good["U6 (honest) keeps up with the other utilities"]["holds"] == "yes"
    bad = judged(results({"honest": 1.5, "semi:0.2": 3.0}))
    assert bad["an adaptive choice of S beats SRR"]["holds"] == "no"
    assert bad["U6 (honest) keeps up with the other utilities"]["holds"] == "no"
    assert bad["a badly chosen alpha fails"]["holds"] == "yes"
    assert "6 worse of 6" in bad["an adaptive choice of S beats SRR"]["measured"]


def test_sizes_are_judged_by_their_direction(results):
    """The made sizes grow with rho and fall with epsilon; SRR and FIM have none."""
    found = judged(results())
    assert "semi-adaptive: 120 as claimed, 0 against" in found["a larger rho gives a larger S"]["measured"]
    assert "Against in some step: none" in found["a larger rho gives a larger S"]["measured"]


def test_the_readme_gets_its_tables_once(results, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nstale\n{END}\nafter\n")
    made = claims_module.make(results())
    write_readme(made, readme)
    once = readme.read_text()
    assert once.startswith("before\n")
    assert once.endswith(f"{END}\nafter\n")
    assert "stale" not in once
    assert "6 runs of each of 18 cells, 108 in all" in once
    write_readme(made, readme)
    assert readme.read_text() == once
    readme.write_text("no marks")
    with pytest.raises(SystemExit, match="once each"):
        write_readme(made, readme)


def test_without_results_the_command_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"experiments\.adobest\.run"):
        reading.cells(tmp_path / "grid.jsonl")
    with pytest.raises(SystemExit, match=r"experiments\.adobest\.optimal"):
        reading.load(tmp_path / "optimal.json")


def test_only_studies_that_every_run_has_are_shown(tmp_path):
    path = tmp_path / "accuracy.jsonl"
    line = {"cell": [10, 0.5, 0.01], "run": 0, "tv": {"static, learned, tv": 0.1, "risk, learned, tv": 0.2}}
    more = line | {"run": 1, "tv": line["tv"] | {"srr, learned, tv": 0.3}}
    path.write_text(json.dumps(line) + "\n" + json.dumps(more) + "\n")
    found = reading.ours(path)[0][10, 0.5, 0.01]
    assert found["risk, learned, tv"].tolist() == [0.2, 0.2]
    assert "srr, learned, tv" not in found
    assert reading.ours(tmp_path / "none.jsonl")[0] == {}


@pytest.fixture
def small(monkeypatch):
    """Theorems and optimal mechanisms on a scale that takes seconds."""
    theorems = importlib.import_module("experiments.adobest.theorems")
    monkeypatch.setattr(theorems, "CHECKPOINTS", (100, 400))
    monkeypatch.setattr(theorems, "DRAWS", 100)
    monkeypatch.setattr(theorems, "every_subset", lambda: nested.every_subset((3, 4), 20))
    monkeypatch.setattr(floor, "PEOPLE", (500, 1000))
    monkeypatch.setattr(floor, "DRAWS", 200)
    monkeypatch.setattr(optimal, "EPSILONS", (0.5,))
    monkeypatch.setattr(optimal, "RHOS", (1.0, 2.0))
    return theorems


def test_figures_and_claims_are_made(results, small, tmp_path, capsys):
    figures = importlib.import_module("experiments.adobest.figures")
    path = results(runs=2)
    accuracy = tmp_path / "accuracy.jsonl"
    names = {"static, learned, tv": 0.1, "risk, learned, tv": 0.2}
    accuracy.write_text(
        "".join(json.dumps({"cell": list(cell), "run": 0, "tv": names}) + "\n" for cell in CELLS)
    )
    assert not any("Theorem" in says for says in judged(path))
    assert "no theorems.json" in capsys.readouterr().out
    small.make(2, tmp_path / "theorems.json")
    optimal.make(2, tmp_path / "optimal.json")
    figures.make(tmp_path / "figures", path, accuracy)
    named = {"theorems.png", "optimal.png", *(f"figure{i}.png" for i in range(2, 7))}
    assert {p.name for p in (tmp_path / "figures").iterdir()} == named
    said = " ".join(judged(path))
    assert all(word in said for word in ("Theorem 2", "Theorem 3", "Theorem 4", "optimal mechanism"))


# The optimal mechanism


@pytest.mark.parametrize("utility", optimal.UTILITIES)
def test_utilities_of_rrrr_are_those_of_its_matrix(utility):
    theta = np.array([0.5, 0.3, 0.15, 0.05])
    for size, value in enumerate(optimal.curve(theta, 1.0, 0.9, utility)):
        matrix = channels.rrrr(4, range(size), 1.0, 0.9).matrix()
        assert optimal.value(theta, matrix, utility) == pytest.approx(value)


@pytest.mark.parametrize("utility", optimal.UTILITIES)
def test_the_optimum_is_above_rrrr(utility):
    record = optimal.one_setting(0.5, 1.0, utility, 3)
    best = np.array(record["optimal"])
    for kappa in KAPPAS:
        mine = np.array(record[f"rrrr {kappa}"])
        assert (best >= mine - 1e-6).all()
        assert (mine >= np.array(record["srr"])).all()


# Statistics


def test_paired_comparisons():
    rng = np.random.default_rng(2)
    one, other = rng.uniform(1, 2, (2, 30))
    assert paired.p_value(one, other) == pytest.approx(ttest_rel(one, other).pvalue)
    assert paired.p_value(one, one) == 1
    resampled = []
    for _ in range(4000):
        some = rng.integers(30, size=30)
        resampled.append(one[some].mean() / other[some].mean())
    assert paired.ratio(one, other).error == pytest.approx(np.std(resampled), rel=0.15)
    assert math.isnan(paired.ratio(one[:1], other[:1]).error)


def test_holm_is_stricter_than_each_test_alone():
    assert paired.holm(np.array([0.001, 0.02, 0.03, 0.9])).tolist() == [True, False, False, False]
    assert paired.holm(np.array([0.0125, 0.0166, 0.024, 0.05])).all()


def test_the_other_half_chooses():
    """A method that was lucky in the runs that are judged is not chosen by them."""
    lines = list(made_lines({"semi:0.2": 2.0}, runs=4))[:4]
    place = loop.METHODS.index("semi:0.6")
    for line in lines[::2]:
        line["tv"]["fixed 0.9"][place] = 0.001
    made = reading.chosen(lines, "fixed 0.9", ("semi:0.2", "semi:0.6"), min)
    np.testing.assert_array_equal(made[1::2], reading.column(lines[1::2], "fixed 0.9", "semi:0.6"))
    assert reading.best_of(lines, "fixed 0.9", ("semi:0.2", "semi:0.6")) == "semi:0.6"


MODULES = [path.stem for path in sorted(Path(grid_run.__file__).parent.glob("*.py"))]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name):
    module = importlib.import_module(f"experiments.adobest.{name}")
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.parametrize("given", [["--runs", "0"], ["--cell", "10,0.5,7"], ["--workers", "x"]])
def test_bad_options_are_refused(given, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run", *given])
    with pytest.raises(SystemExit):
        grid_run.main()
    assert given[0] in capsys.readouterr().err

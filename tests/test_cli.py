"""The command line as its user meets it: real processes, exit statuses, JSON for machines."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tacit import Study
from tacit_client import build, channel_id, channel_text
from tacit_client.tables import Dense


def tacit(*arguments, stdin=""):
    return subprocess.run(
        [sys.executable, "-c", "from tacit.cli import main; main()", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "table"),
    [
        (["srr", "--k", 4, "--epsilon", 1], build.srr(4, 1)),
        (["rrrr", "--k", 10, "--epsilon", 1, "--subset", "2, 0"], build.rrrr(10, [0, 2], 1, 0.9)),
        (["subset", "--k", 10, "--epsilon", 0.5, "--size", 4], build.subset(10, 0.5, 4)),
        (["coarse", "--k", 10, "--epsilon", 0.5, "--keep", "1,3"], build.coarse(10, [1, 3], 0.5)),
        (["hashed", "--k", 5000, "--epsilon", 2], build.hashed(5000, 2)),
        (
            ["graded", "--lo", "-40.5", "--hi", 80, "--steps", 2, "--epsilon", 1],
            build.graded(-40.5, 80, 2, 1),
        ),
        (
            ["binned", "--edges", "-5,0, 20.50", "--epsilon", 2],
            build.binned([-5, 0, 20.5], build.subset(4, 2)),
        ),
        (
            ["binned", "--edges", "20,40", "--inner", "rrrr", "--subset", 1, "--kappa", 1, "--epsilon", 1],
            build.binned([20, 40], build.rrrr(3, [1], 1, 1)),
        ),
    ],
)
def test_a_channel_is_written_and_audited(arguments, table):
    made = tacit("channel", *arguments)
    assert (made.returncode, made.stdout) == (0, channel_text(table) + "\n")
    audit = tacit("audit", "-", "--samples", 2000, "--json", stdin=made.stdout)
    result = json.loads(audit.stdout)
    assert audit.returncode == 0
    assert result["passes"] is True
    assert result["id"] == channel_id(table)
    assert result["empirical"]["lower_bound"] <= result["loss"] <= float(result["epsilon"])
    assert result["loss"] > 0.9 * float(result["epsilon"])


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        (["srr"], "k"),
        (["graded", "--lo", 1, "--hi", 2], "steps"),
        (["graded", "--lo", 2, "--hi", 1, "--steps", 1], "hi"),
        (["graded", "--lo", "nan", "--hi", 1, "--steps", 1], "lo"),
        (["graded", "--lo", 1, "--hi", 2, "--steps", 1, "--k", 2], "k"),
        (["binned"], "edges"),
        (["binned", "--edges", "1,,2"], "edges"),
        (["binned", "--edges", "2,1"], "edges"),
        (["binned", "--edges", "1,2", "--inner", "graded"], "inner"),
        (["binned", "--edges", "1,2", "--inner", "srr", "--size", 1], "size"),
        (["srr", "--k", 2, "--edges", "1"], "edges"),
    ],
    ids=str,
)
def test_options_that_do_not_go_together(arguments, argument):
    result = tacit("channel", *arguments, "--epsilon", 1)
    assert result.returncode == 2
    assert f"[{argument}]" in result.stderr


def test_audit_of_cells_for_people():
    shown = tacit("audit", "-", "--samples", 500, stdin=channel_text(build.graded(20, 80, 1, 1)))
    assert shown.returncode == 0
    assert "2 cells of a number" in shown.stdout
    assert "cell 0 against cell 1" in shown.stdout


def test_audit_for_people(tmp_path):
    file = tmp_path / "channel.json"
    file.write_text(channel_text(build.srr(2, 1)))
    shown = tacit("audit", file, "--samples", 20000)
    assert shown.returncode == 0
    for words in (
        "states epsilon",
        "holds",
        "73.1%",
        "report 0: answer 0 against answer 1",
        "99.9% confidence",
    ):
        assert words in shown.stdout


def leaking(rows, epsilon="1"):
    message = {"epsilon": epsilon, "k": "2", "kind": "dense", "rows": rows, "type": "channel", "version": "1"}
    return json.dumps(message, separators=(",", ":"))


def test_a_channel_that_leaks_has_exit_status_1():
    leaks = tacit("audit", "-", "--samples", 2000, stdin=leaking([["3", "1"], ["1", "3"]]))
    assert leaks.returncode == 1
    assert "IS EXCEEDED" in leaks.stdout
    infinite = tacit("audit", "-", "--json", stdin=leaking([["3", "0"], ["1", "4"]]))
    assert infinite.returncode == 1
    assert json.loads(infinite.stdout)["error"]["code"] == "channel_infinite_loss"


def test_a_leak_too_small_for_any_experiment_is_still_refused():
    hair = channel_text(Dense(2, build.srr(2, 1).epsilon, ((2718281829, 10**9), (10**9, 2718281829))))
    result = tacit("audit", "-", "--samples", 500, "--json", stdin=hair)
    assert result.returncode == 1
    assert json.loads(result.stdout)["passes"] is False


@pytest.mark.parametrize(
    ("arguments", "stdin", "code"),
    [
        (["audit", "-"], "{", "message_malformed"),
        (["audit", "-"], "x" * (1 << 21), "message_too_large"),
        (["audit", "-"], '{"type":"channel","version":"9"}', "version_unknown"),
        (["audit", "no-such-file"], "", "argument_invalid"),
        (["audit", "."], "", "argument_invalid"),
        (["audit", "-", "--samples", "5"], channel_text(build.srr(2, 1)), "argument_invalid"),
        (["channel", "laplace", "--k", "4", "--epsilon", "1"], "", "argument_invalid"),
        (["channel", "srr", "--k", "1", "--epsilon", "1"], "", "argument_invalid"),
        (["channel", "srr", "--k", "4", "--epsilon", "nan"], "", "argument_invalid"),
        (["channel", "rrrr", "--k", "4", "--epsilon", "1", "--subset", "a"], "", "field_invalid"),
        (["simulate", "--theta", "0.5,0.6"], "", "argument_invalid"),
        (["simulate", "--theta", "half"], "", "argument_invalid"),
        (["simulate", "--theta", "0.5,0.5", "--span", "0,9,1"], "", "argument_invalid"),
        (["simulate", "--theta", "5,-1", "--model", "normal"], "", "argument_invalid"),
        (["simulate", "--theta", "5,1", "--model", "gamma"], "", "argument_invalid"),
        (["simulate", "--theta", "5,1", "--model", "normal", "--span", "9,0,1"], "", "field_invalid"),
        (["simulate", "--theta", "5,1", "--model", "normal", "--policy", "risk"], "", "argument_invalid"),
        (["plan", "--epsilon", "1", "--n", "10"], "", "argument_invalid"),
        (["plan", "--k", "3", "--scale", "1", "--epsilon", "1", "--n", "10"], "", "argument_invalid"),
        (["plan", "--scale", "0", "--epsilon", "1", "--n", "10"], "", "argument_invalid"),
        (["simulate", "--theta", "0.5,0.5", "--policy", "best"], "", "argument_invalid"),
        (["channel", "srr", "--k", "4", "--epsilon", "1", "--size", "2"], "", "argument_invalid"),
        (["demo", "--people", "0"], "", "argument_invalid"),
        (["demo", "--people", "10", "--devices", "11"], "", "argument_invalid"),
    ],
)
def test_refusals_are_one_sentence_with_exit_status_2(arguments, stdin, code):
    refused = tacit(*arguments, stdin=stdin)
    assert refused.returncode == 2
    assert refused.stderr.startswith("tacit: ")
    assert refused.stderr.endswith(f"({code})\n")
    assert "Traceback" not in refused.stderr


def test_demo_prints_the_poll_and_draws_it(tmp_path):
    picture = tmp_path / "demo.png"
    shown = tacit("demo", "--people", 600, "--devices", 20, "--seed", 1, "--plot", picture)
    assert shown.returncode == 0, shown.stderr
    for words in (
        "How do you usually travel",
        "privacy loss of an answer: 0.99999",
        '"type":"report"',
        "by bicycle",
        "intervals contain",
    ):
        assert words in shown.stdout
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    lost = tacit("demo", "--people", 100, "--devices", 1, "--plot", tmp_path / "none" / "demo.png")
    assert lost.returncode == 2
    assert "plot" in lost.stderr


def test_demo_of_a_number_prints_draws_and_speaks_json(tmp_path):
    picture = tmp_path / "number.png"
    shown = tacit(
        "demo", "--number", "--people", 150, "--devices", 10, "--epsilon", 4, "--seed", 1, "--plot", picture
    )
    assert shown.returncode == 0, shown.stderr
    for words in (
        "How many minutes",
        "privacy loss of an answer: 3.99999",
        '"type":"report"',
        "sigma",
        "truncation",
    ):
        assert words in shown.stdout
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    told = json.loads(tacit("demo", "--number", "--people", 60, "--devices", 2, "--seed", 1, "--json").stdout)
    assert told["policies"]["information"][-1]["reports"] == 60


def test_simulate_a_number_speaks_json():
    told = json.loads(tacit("simulate", "--theta", "-5,2", "--model", "normal", "--n", 100, "--json").stdout)
    assert sum(entry["reports"] for entry in told["rounds"]) == 100
    assert len(told["estimate"]) == 2


def test_simulate_prints_and_draws_a_study(tmp_path):
    picture = tmp_path / "study.png"
    options = ["simulate", "--theta", "0.6,0.3,0.1", "--n", 800, "--policy", "honest", "--seed", 3]
    shown = tacit(*options, "--plot", picture)
    assert shown.returncode == 0, shown.stderr
    for words in (
        "800 private answers, policy honest",
        "reports through rrrr(k=3",
        "category 2",
        "Total variation error",
    ):
        assert words in shown.stdout
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    result = json.loads(tacit(*options, "--json").stdout)
    assert sum(rnd["reports"] for rnd in result["rounds"]) == 800
    assert sum(result["estimate"]) == pytest.approx(1)
    assert result["tv"] < 0.2
    assert result["rhat"] < 1.2


def test_version():
    assert tacit("version").stdout == "0.1.0\n"


def test_a_saved_study_is_gauged(tmp_path):
    path = tmp_path / "colours.study"
    study = Study(["red", "[green]", "blue"], epsilon=1.0, policy="static-subset")
    study.add(study.channel, study.channel.sample(np.repeat([0, 1, 2], [300, 200, 100]), 1))
    study.save(path)
    said = tacit("poison", path, "--fakes", 12)
    assert said.returncode == 0
    assert "12 fake reports (2 %) can move" in said.stdout
    assert "[green]" in said.stdout
    record = json.loads(tacit("poison", path, "--json").stdout)
    assert record["names"] == ["red", "[green]", "blue"]
    assert record["fakes"] == 6
    assert all(up > plain for up, plain in zip(record["up"], record["plain_up"], strict=True))
    assert tacit("poison", tmp_path / "none").returncode == 2

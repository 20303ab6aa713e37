"""`tacit sketch` as its user meets it."""

import gzip
import json
import os
import stat
import subprocess
import sys

import pandas as pd
import pytest

from tacit.sketch import CountSketch, UseAndForget

LINES = "ant\nbee\nant\n\ncow\n" * 50


def tacit(*arguments, stdin=""):
    return subprocess.run(
        [sys.executable, "-c", "from tacit.cli import main; main()", "sketch", *map(str, arguments)],
        input=stdin, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    words = LINES.split()
    (tmp_path / "lines.txt").write_text(LINES)
    (tmp_path / "lines.txt.gz").write_bytes(gzip.compress(LINES.encode()))
    frame = pd.DataFrame({"n": range(len(words)), "word": words})
    frame.to_csv(tmp_path / "table.csv", index=False)
    frame.to_parquet(tmp_path / "table.parquet")
    return tmp_path


def answers(state, *items):
    done = tacit("query", state, *items, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["answers"]


@pytest.mark.parametrize("source", ["lines.txt", "lines.txt.gz", "table.csv", "table.parquet", "-"])
def test_a_file_is_counted_and_queried(folder, source):
    state = folder / "state"
    column = ["--column", "word"] if "table" in source else []
    file = source if source == "-" else folder / source
    built = tacit(
        "build", file, "--output", state, "--epsilon", 40, *column, stdin=LINES if source == "-" else ""
    )
    assert (built.returncode, built.stderr) == (0, "")
    assert built.stdout.startswith("200 items counted")
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    found = {row["item"]: row for row in answers(state, "ant", "cow", "dog")}
    for item, count in (("ant", 100), ("cow", 50), ("dog", 0)):
        assert abs(found[item]["estimate"] - count) < 20
        assert found[item]["low"] <= found[item]["estimate"] <= found[item]["high"]


def test_a_query_changes_the_state_before_it_answers(folder):
    state = folder / "state"
    tacit("build", folder / "lines.txt", "--output", state, "--epsilon", 1)
    before = state.read_bytes()
    done = tacit("query", state, "ant")
    assert done.returncode == 0
    assert "ant" in done.stdout
    assert state.read_bytes() != before
    assert sorted(p.name for p in folder.iterdir() if p.name.startswith("state")) == ["state"]


def test_a_stream_goes_on(folder):
    state = folder / "state"
    tacit(
        "build",
        folder / "lines.txt",
        "--output",
        state,
        "--epsilon",
        40,
        "--pan-private",
        "--kind",
        "count-min",
    )
    again = tacit("build", folder / "lines.txt", "--onto", state, "--output", folder / "next")
    assert again.returncode == 0, again.stderr
    assert not state.exists()
    assert abs(answers(folder / "next", "ant")[0]["estimate"] - 200) < 40


def test_numbers_of_a_parquet_column_are_their_digits(folder):
    state = folder / "state"
    tacit(
        "build",
        folder / "table.parquet",
        "--column",
        "n",
        "--output",
        state,
        "--epsilon",
        50,
        "--width",
        20000,
    )
    found = answers(state, "7", "1000")
    assert abs(found[0]["estimate"] - 1) <= 3


def test_items_from_a_file_and_a_survey(folder):
    state = folder / "state"
    tacit("build", folder / "lines.txt", "--output", state, "--epsilon", 5, "--depth", 3, "--width", 100)
    asked = folder / "asked.txt"
    asked.write_text("ant\nbee\n")
    plain = json.loads(tacit("query", state, "--items", asked, "--json").stdout)["answers"]
    assert [row["low"] for row in plain] == [None, None]
    shown = tacit("query", state, "--items", asked, "--survey")
    assert shown.returncode == 0, shown.stderr
    assert len(shown.stdout.splitlines()) == 3
    assert "-" not in shown.stdout.split("ant")[1].split("\n")[0].replace("-", "", 1).split()


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        (["build", "missing.txt", "--output", "s", "--epsilon", "1"], "file"),
        (["build", "lines.txt", "--output", "s"], "epsilon"),
        (["build", "lines.txt", "--output", "s", "--epsilon", "0"], "epsilon"),
        (["build", "lines.txt", "--output", "s", "--epsilon", "1", "--depth", "4"], "d"),
        (["build", "lines.txt", "--output", "s", "--epsilon", "1", "--width", "0"], "w"),
        (["build", "lines.txt", "--output", "s", "--epsilon", "1", "--kind", "bloom"], "kind"),
        (["build", "lines.txt", "--output", "no/s", "--epsilon", "1"], "state"),
        (["build", "lines.txt", "--output", "lines.txt", "--epsilon", "1"], "output"),
        (["build", "lines.txt", "--output", "s", "--onto", "lines.txt", "--epsilon", "1"], "epsilon"),
        (["build", "lines.txt", "--output", "s", "--onto", "lines.txt"], "data"),
        (["build", "lines.txt", "--output", "table.csv", "--onto", "lines.txt"], "output"),
        (["build", "lines.txt", "--output", "s", "--onto", "missing"], "state"),
        (["query", "forgets", "ant"], "state"),
        (["build", "table.csv", "--column", "none", "--output", "s", "--epsilon", "1"], "column"),
        (["build", "table.parquet", "--output", "s", "--epsilon", "1"], "column"),
        (["build", "bad.csv", "--column", "b", "--output", "s", "--epsilon", "1"], "file"),
        (["build", "bad.parquet", "--output", "s", "--epsilon", "1"], "file"),
        (["build", "bad.gz", "--output", "s", "--epsilon", "1"], "file"),
        (["query", "missing", "ant"], "state"),
        (["query", "lines.txt", "ant"], "data"),
        (["query", "lines.txt"], "items"),
        (["query", "lines.txt", "ant", "--level", "2"], "level"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_refusals(folder, arguments, argument):
    (folder / "bad.csv").write_text("a,b\n1,2\n3\n")
    (folder / "bad.parquet").write_text("no")
    (folder / "bad.gz").write_text("no")
    (folder / "forgets").write_bytes(UseAndForget(CountSketch(3, 5), 1.0).to_bytes())
    before = sorted(p.name for p in folder.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", "from tacit.cli import main; main()", "sketch", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False, env=os.environ,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"[{argument}]" in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(p.name for p in folder.iterdir()) == before


def test_two_queries_at_a_time_are_refused(folder):
    state = folder / "state"
    tacit("build", folder / "lines.txt", "--output", state, "--epsilon", 1)
    (folder / "state.lock").touch()
    before = state.read_bytes()
    done = tacit("query", state, "ant")
    assert done.returncode == 2
    assert "in use" in done.stderr
    assert state.read_bytes() == before

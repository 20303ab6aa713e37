"""The collector at the command line: serve, study, poll, respond, witness; and what is said without the extra."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tacit_client import Store

TACIT = [sys.executable, "-c", "from tacit.cli import main; main()"]
PATIENCE = 90


@contextmanager
def serving(folder, *options):
    """(address, process) of `tacit serve`."""
    database = f"sqlite:///{folder}/tacit-collector.db"
    environment = os.environ | {"PYTHONUNBUFFERED": "1", "TACIT_DATABASE": database}
    command = [*TACIT, "serve", "--port", "0", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment
    )
    try:
        found = re.search(r"http://\S+[0-9]", process.stdout.readline())
        assert found, process.communicate(timeout=PATIENCE)
        yield found[0], process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


def children(pid):
    """The processes that a process has started."""
    return [
        int(p)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for p in (task / "children").read_text().split()
    ]


def alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """(command, address, folder) beside a running collector."""
    folder = tmp_path_factory.mktemp("cli")
    with serving(folder, "--rate", "0") as (url, _):

        def tacit(*arguments, status=0, given=None, **environment):
            done = subprocess.run(
                [*TACIT, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=PATIENCE,
                input=given, check=False,
                env=os.environ | {"TACIT_SERVER": url, "COLUMNS": "160", "NO_COLOR": "1"} | environment,
            )  # fmt: skip
            assert done.returncode == status, (arguments, done.stdout, done.stderr)
            return done.stdout if status != 2 else done.stderr

        tacit("study", "create", "drink", "--text", "What do you drink?", "--label", "tea", "--label", "coffee",
              "--epsilon", "1", "--expected", "100")  # fmt: skip
        yield tacit, url, folder


def test_a_study_is_made_shown_and_closed(here):
    tacit, url, _ = here
    said = tacit(
        "study",
        "create",
        "short",
        "--text",
        "?",
        "--label",
        "a",
        "--label",
        "b",
        "--epsilon",
        "0.5",
        "--draft",
    )
    assert f"{url}/s/short" in said
    assert json.loads(tacit("study", "show", "short", "--json"))["state"] == "draft"
    tacit("study", "open", "short")
    assert "short" in tacit("study", "list")
    assert json.loads(tacit("study", "list", "--json"))["studies"][0]["name"] == "drink"
    tacit("study", "close", "short")
    assert "closed" in tacit("study", "show", "short")
    tacit("study", "delete", "short", given="n\n", status=1)
    assert "gone" in tacit("study", "delete", "short", "--yes")
    assert "study_unknown" in tacit("study", "show", "short", status=2)


def test_a_number_is_asked_for(here):
    tacit, _, folder = here
    tacit("study", "create", "sleep", "--text", "How long?", "--unit", "hours", "--lowest", "0", "--highest", "16",
          "--step", "0.5", "--epsilon", "1", "--model", "logistic")  # fmt: skip
    said = tacit("respond", here[1], "sleep", "7.5", "--store", folder / "sleeper.sqlite")
    assert "0 to 16 hours" in said
    assert json.loads(tacit("study", "show", "sleep", "--json"))["n"] == 1


def test_the_key_is_needed_and_found(here):
    tacit, _, folder = here
    assert (folder / "tacit-collector.db.key").stat().st_mode & 0o777 == 0o600
    assert "key_wrong" in tacit("study", "close", "drink", status=2, TACIT_ADMIN_KEY="x" * 40)
    other = folder / "other.key"
    other.write_text("y" * 40)
    assert "key_wrong" in tacit("study", "close", "drink", "--key-file", other, status=2)
    assert "cannot be read" in tacit("study", "close", "drink", "--key-file", folder / "missing", status=2)


def test_refusals_are_sentences(here):
    tacit, _, _ = here
    said = tacit(
        "study",
        "create",
        "bad name",
        "--text",
        "?",
        "--label",
        "a",
        "--label",
        "b",
        "--epsilon",
        "1",
        status=2,
    )
    assert "field_invalid" in said
    assert "Traceback" not in said
    assert "server_unreachable" in tacit("study", "list", "--server", "http://127.0.0.1:1", status=2)
    assert "use https" in tacit("study", "list", "--server", "http://poll.example.org", status=2)


def test_an_answer_from_a_terminal_is_private_and_given_once(here):
    tacit, url, folder = here
    device = folder / "device.sqlite"
    said = tacit("respond", url, "drink", "--store", device, given="1\n")
    assert "1. tea" in said
    assert "odds by at most 2.72" in said
    assert "delivered" in said
    again = json.loads(tacit("respond", url, "drink", "coffee", "--store", device, "--json"))
    (seen, head) = (*Store(device).seen("drink"), None)[:2]
    assert again["delivered"] is True
    assert again["round"] == seen
    assert head is None or len(head) == 64
    assert json.loads(tacit("study", "show", "drink", "--json"))["n"] == 1
    assert "answer_unknown" in tacit(
        "respond", url, "drink", "milk", "--store", folder / "new.sqlite", status=2
    )
    assert "loss_above_cap" in tacit(
        "respond", url, "drink", "tea", "--store", folder / "n", "--cap", "0.5", status=2
    )
    assert Store(folder / "n").spent() == 0


def test_an_invited_answer(here):
    tacit, url, folder = here
    tacit(
        "study", "create", "vip", "--text", "?", "--label", "a", "--label", "b", "--epsilon", "1", "--invited"
    )
    tokens = tacit("study", "invite", "vip", "--count", "2").split()
    assert len(tokens) == 2
    device = folder / "vip.sqlite"
    refused = tacit("respond", url, "vip", "a", "--store", device, status=1)
    assert "needs an invite" in refused.lower() or "invite" in refused
    assert len(Store(device).refused()) == 1
    assert "delivered" in tacit("respond", url, "vip", "--store", device, "--invite", tokens[0])
    assert Store(device).refused() == []


def test_estimate_and_export(here):
    tacit, _, folder = here
    end = time.monotonic() + PATIENCE
    while json.loads(tacit("study", "show", "drink", "--json"))["estimates"] == 0:
        assert time.monotonic() < end, "the worker makes no estimate"
        time.sleep(0.3)
    assert "coffee" in tacit("study", "estimate", "drink")
    assert json.loads(tacit("study", "estimate", "drink", "--json"))["study"] == "drink"
    assert tacit("study", "export", "drink").splitlines()[0] == "study,round,value"
    tacit("study", "export", "drink", "--format", "parquet", "--output", folder / "drink.parquet")
    assert (folder / "drink.parquet").read_bytes()[:4] == b"PAR1"
    tacit("study", "export", "drink", "--format", "evidence", "--output", folder / "drink.zip")
    assert (folder / "drink.zip").read_bytes()[:2] == b"PK"
    assert "field_invalid" in tacit("study", "export", "drink", "--format", "xls", status=2)


def test_polls(here):
    tacit, url, _ = here
    said = tacit("poll", "create", "team", "--title", "The team", "--study", "drink")
    assert f"{url}/p/team" in said
    assert "The team" in tacit("poll", "list")
    assert "argument_invalid" in tacit("poll", "invite", "team", status=2)
    assert "gone" in tacit("poll", "delete", "team", "--yes")
    assert json.loads(tacit("poll", "list", "--json")) == {"polls": []}


def test_a_witness_compares_and_fails_when_rounds_part(here):
    tacit, url, folder = here
    kept = folder / "rounds.jsonl"
    tacit("respond", url, "drink", "tea", "--store", folder / "witness.sqlite")
    said = tacit("witness", url, url.replace("127.0.0.1", "localhost"), "--study", "drink", "--keep", kept,
                 "--store", folder / "witness.sqlite")  # fmt: skip
    assert "They agree" in said
    assert json.loads(tacit("witness", url, kept, "--study", "drink", "--json"))["agree"] is True
    tacit(
        "study",
        "create",
        "twin",
        "--text",
        "What do you drink?",
        "--label",
        "tea",
        "--label",
        "coffee",
        "--epsilon",
        "2",
    )
    twin = tacit("witness", url, "--study", "twin", "--keep", folder / "twin.jsonl")
    assert "They agree" in twin
    forged = (folder / "twin.jsonl").read_text().replace('"twin"', '"drink"')
    (folder / "twin.jsonl").write_text(forged)
    found = json.loads(tacit("witness", url, folder / "twin.jsonl", "--study", "drink", "--json", status=1))
    assert (found["agree"], found["partings"][0]["number"]) == (False, 0)
    assert "THEY PART from round 0 on" in tacit(
        "witness", url, folder / "twin.jsonl", "--study", "drink", status=1
    )
    lonely = tacit(
        "witness", folder / "twin.jsonl", "--study", "drink", "--store", folder / "witness.sqlite", status=1
    )
    assert "was shown to the device" in lonely
    assert "name it with --study" in tacit("witness", url, status=2)
    assert "is not there" in tacit("witness", url, "--study", "drink", "--store", folder / "none", status=2)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at /proc")
def test_processes_that_die_are_started_again_and_all_end_together(tmp_path):
    with serving(tmp_path, "--workers", "2") as (url, process):
        before = children(process.pid)
        assert len(before) == 3
        os.kill(before[0], signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        while len(now := [p for p in children(process.pid) if alive(p)]) < 3 or before[0] in now:
            assert time.monotonic() < end
            time.sleep(0.1)
        arguments = b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in now)
        surroundings = b"".join(Path(f"/proc/{pid}/environ").read_bytes() for pid in now)
        key = (tmp_path / "tacit-collector.db.key").read_bytes().strip()
        assert key not in arguments + surroundings
        os.kill(process.pid, signal.SIGKILL)  # even so nobody stays behind
        while any(alive(p) for p in now):
            assert time.monotonic() < end
            time.sleep(0.1)
    assert url.startswith("http://127.0.0.1:")


def test_the_demo_learns_from_real_devices_and_leaves_nothing_behind(tmp_path):
    done = subprocess.run(
        [*TACIT, "serve", "--demo", "--people", "40", "--seconds", "6", "--port", "0"],
        cwd=tmp_path, capture_output=True, text=True, timeout=2 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "40 people with devices of their own handed in 120 reports" in done.stdout
    assert "/p/team-2026" in done.stdout
    assert "on two or three days" in done.stdout
    used = int(re.search(r"From ([0-9,]+) reports", done.stdout)[1])
    assert used >= 36
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--people", "5"), "--people is for --demo"),
        (("--workers", "0"), "1 to 64 workers"),
        (("--burst", "5"), "one batch may need"),
        (("--port", "99999"), "cannot be used"),
        (("--host", "192.0.2.1"), "cannot be used"),
        (("--database", "mysql://x/y"), "no store for mysql"),
        (("--database", "sqlite:////nowhere/at/all.db"), "cannot be read or written"),
    ],
)
def test_what_cannot_be_served_is_said(tmp_path, options, said):
    done = subprocess.run(
        [*TACIT, "serve", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_extra_the_commands_say_what_to_install(tmp_path):
    hide = "import sys; sys.modules.update(dict.fromkeys(['fastapi', 'uvicorn', 'sqlalchemy', 'alembic'])); "
    start = hide + "import tacit.cli; tacit.cli.main()"
    for command in ("serve", "worker"):
        done = subprocess.run(
            [sys.executable, "-c", start, command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "pip install 'tacit[collector]'" in done.stderr
    done = subprocess.run(
        [sys.executable, "-c", start, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "respond" in done.stdout

"""What the tests of the device share: rounds to ask, the refusal to expect, and processes to start."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tacit_client import Question, Round, TacitError, build
from tacit_client.errors import CODES

WORKER = Path(__file__).with_name("client_worker.py")
PATIENCE = 60.0
LABELS = ("tea", "coffee", "neither")
HEAD = "ab" * 32


@contextmanager
def refused(*codes):
    """The block ends in a TacitError with one of these codes, and a word of help."""
    with pytest.raises(TacitError) as caught:
        yield caught
    error = caught.value
    assert error.code in CODES
    assert error.hint.strip()
    assert error.message.strip()
    assert error.code in (codes or CODES), f"{error.code}: {error}"


def attempt(call, *arguments):
    """What a call returns, or the TacitError it raises; any other exception passes."""
    try:
        return call(*arguments)
    except TacitError as error:
        return error


def asked(study="office", labels=LABELS, channel=None, number=0, text="What do you drink?"):
    """A round, honest unless `channel` is not."""
    if channel is None:
        channel = build.srr(len(labels), 1)
    return Round(study, Question("drink", text, labels), number, channel, HEAD if number else None)


def canonical(message):
    """The canonical text of a message, made without the code under test."""
    return json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@contextmanager
def fast_folder():
    """A folder in memory where there is one: for tests that make thousands of stores."""
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        yield Path(name)


@contextmanager
def worker(action, *arguments, lines=True):
    """A process that runs one action of client_worker.py; it is gone when the block ends."""
    command = [sys.executable, str(WORKER), action, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=lines)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def run(action, *arguments, status=0):
    """What an action prints, once it has ended with `status`."""
    with worker(action, *arguments) as process:
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == status, err
        return out.split("\n")[:-1]


def wait_until(true, what):
    """Poll, with an end."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.005)


def rows(path):
    """All that a store's table holds, read by sqlite3 itself."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM kept ORDER BY study").fetchall()

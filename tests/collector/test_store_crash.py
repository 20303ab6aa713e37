"""Nothing that was confirmed is lost, and nothing is counted twice, when a process dies or the disk is full."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_support import scalar, settings, table

from tacit.collector.store import Store

HERE = Path(__file__).parent


def writer(url, seed, *more):
    given = [sys.executable, HERE / "store_writer.py", url, str(seed), *map(str, more)]
    return subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=HERE)


def confirmed(lines):
    """The ids of whole lines: a line that was cut off may name reports that were confirmed, but need not."""
    return {word for line in lines.splitlines() for word in line.split() if len(word) == 32}


def sound(store, told):
    held = {bytes(row[1]).hex() for row in table(store, "reports")}
    assert told <= held
    assert len(held) == store.study("tea").n == len(store.evidence("tea"))
    if store.sqlite:
        assert scalar(store, "PRAGMA integrity_check") == "ok"
    return held


def test_a_writer_that_is_killed_has_lost_nothing_that_it_confirmed(url):
    store = Store.open(url)
    store.create_study(settings())
    rng, told = random.Random(4), set()
    for run in range(3):
        writers = [writer(url, 10 * run + i) for i in range(2)]
        for process in writers:
            assert process.stdout.readline() == "begun\n", process.stderr.read()
        time.sleep(0.3 + rng.random())
        for process in writers:
            process.kill()
            told |= confirmed(process.stdout.read())  # `communicate` forgets what `readline` has read ahead
            process.communicate()
        held = sound(store, told)
        # Whatever is held beyond that was written and not yet told: at most one transaction of each writer.
        assert len(held) - len(told) <= 2 * 200 * (run + 1)
    assert len(told) > 100
    store.close()


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_write_that_the_system_refuses_is_undone_and_works_again_later(url):
    store = Store.open(url)
    store.create_study(settings())
    process = writer(url, 1, 600_000)
    lines = [process.stdout.readline()]
    assert lines == ["begun\n"], process.stderr.read()
    while "again\n" not in lines:
        lines.append(process.stdout.readline())
        assert lines[-1], process.stderr.read()
    lines += [process.stdout.readline() for _ in range(5)]
    process.kill()
    said, _ = process.communicate()
    assert lines.count("store_unusable\n") == 1
    assert lines.index("store_unusable\n") > 1  # some were stored before
    sound(store, confirmed("".join(lines) + said))
    store.close()

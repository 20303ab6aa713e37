"""Runs side by side give what they give one after the other; a cluster is an option."""

import importlib.util
import math
import os

import pytest
from experiments.adaptive_truncation import run as truncation

from experiments import parallel
from requirements import require


def test_the_same_results_in_this_process_and_in_others():
    jobs = [(number, 7) for number in range(20)]
    expected = sorted(math.comb(*job) for job in jobs)
    assert sorted(parallel.each(math.comb, jobs)) == expected
    assert sorted(parallel.each(math.comb, jobs, workers=2)) == expected
    assert list(parallel.each(math.comb, [], workers=2)) == []


def test_other_processes_do_the_work():
    assert os.getpid() not in set(parallel.each(os.getpid, [()] * 4, workers=2))
    assert set(parallel.each(os.getpid, [()] * 4)) == {os.getpid()}


def test_lines_do_not_depend_on_the_workers(tmp_path):
    made = []
    for workers in (1, 2):
        path = tmp_path / f"{workers}.jsonl"
        truncation.make(["information"], 1, 0, path, workers)
        made.append(sorted((line["epsilon"], line["mean"], line["sd"]) for line in truncation.finished(path)))
    assert made[0] == made[1]
    assert len(made[0]) == len(truncation.EPSILONS)


def test_a_failing_run_is_not_lost():
    with pytest.raises(ZeroDivisionError):
        list(parallel.each(divmod, [(1, 1), (1, 0)], workers=2))


@pytest.mark.filterwarnings("default")
def test_on_a_dask_cluster():
    require("dask", importlib.util.find_spec("distributed") is not None)
    jobs = [(number, 7) for number in range(20)]
    found = sorted(parallel.each(math.comb, jobs, workers=2, backend="dask"))
    assert found == sorted(math.comb(*job) for job in jobs)

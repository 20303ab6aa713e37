"""The collector in a bad world; `make faults` makes 1,000 runs of this."""

import pytest
from fault_simulation import simulate


@pytest.mark.parametrize("seed", range(4))
def test_each_accepted_report_counts_exactly_once(seed):
    events = simulate(seed)
    assert events["accepted"] > 50
    assert events["kill -9 server"] + events["kill -9 worker"] > 0


def test_also_with_two_servers_and_two_workers_on_postgresql(postgres):
    events = simulate(100, postgres.fresh(), copies=2)
    assert events["accepted"] > 50
    assert events["kill -9 server"] + events["kill -9 worker"] > 0

"""The collector in a bad world; `make faults` makes 1,000 runs of this."""

import pytest
from fault_simulation import simulate


@pytest.mark.parametrize("seed", range(6))
def test_each_accepted_report_counts_exactly_once(seed):
    events = simulate(seed)
    assert events["accepted"] > 50
    assert events["kill -9 server"] + events["kill -9 worker"] > 0

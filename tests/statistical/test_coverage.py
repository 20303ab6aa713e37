"""Whole adaptive studies, the truth drawn from their own prior: intervals cover what they say.

Seeded, so there is no false alarm from run to run. Coverage is clustered by study: the categories of one study are not
independent: its mean over studies is compared with the nominal level at 3.3 standard errors (99.9 %).
"""

import numpy as np
import pytest

from tacit import Categorical, simulate

STUDIES = 80


@pytest.mark.parametrize("policy", ["risk", "honest"])
@pytest.mark.parametrize("concentration", ["learned", 0.5])
def test_intervals_cover_in_adaptive_studies(policy, concentration):
    model = Categorical(5, concentration, scale=1.0)
    inside = []
    for i in range(STUDIES):
        theta = model.sample_prior(1, 7000 + i).theta[0]
        result = simulate(theta / theta.sum(), 2.0, policy, n=400, model=model, seed=i)
        low, high = result.posterior.interval(0.9)
        inside.append(np.mean((low <= theta) & (theta <= high)))
    error = np.std(inside) / np.sqrt(STUDIES)
    assert abs(np.mean(inside) - 0.9) < 3.3 * error


def test_simulation_repeats_with_its_seed():
    runs = [simulate([0.5, 0.3, 0.2], 1.0, "risk", n=300, seed=5) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].estimate, runs[1].estimate)
    assert runs[0].channels == runs[1].channels
    assert sum(n for _, n in runs[0].channels) == 300
    other = simulate([0.5, 0.3, 0.2], 1.0, "risk", n=300, seed=6)
    assert (other.estimate != runs[0].estimate).any()

"""What is said of draws, against laws whose answers are known."""

import numpy as np
import pytest

from tacit import Evidence, TacitError, channels, posterior
from tacit.models import Categorical
from tacit.posterior import Posterior

RNG = np.random.default_rng(5)
ALPHA = np.array([8.0, 4.0, 2.0, 1.0])


def dirichlet(chains=10, length=2000):
    return Posterior(RNG.dirichlet(ALPHA, (chains, length)), None, "exact", 0)


def expected_loss(estimate, draws):
    return np.abs(draws - estimate).sum(axis=1).mean() / 2


def test_tv_estimate_beats_every_neighbour():
    sparse = Posterior(RNG.dirichlet([3, 0.5, 0.2, 0.05], (1, 4000)), None, "exact", 0)
    for result in (dirichlet(1, 4000), sparse):
        best = result.estimate("tv")
        assert best.sum() == pytest.approx(1)
        assert (best >= 0).all()
        least = expected_loss(best, result.draws)
        assert least <= expected_loss(result.mean, result.draws) + 1e-12
        for _ in range(200):
            other = np.maximum(best + RNG.normal(scale=0.02, size=4), 0)
            assert expected_loss(other / other.sum(), result.draws) >= least - 1e-4


def test_mse_is_the_mean_and_mode_is_near_the_mode():
    result = dirichlet()
    np.testing.assert_array_equal(result.estimate("mse"), result.mean)
    assert result.mean == pytest.approx(ALPHA / ALPHA.sum(), abs=0.005)
    modes = (ALPHA - 1) / (ALPHA.sum() - 2)  # of the Beta marginals
    assert result.estimate("mode") == pytest.approx(modes / modes.sum(), abs=0.04)


def test_intervals_hold_their_share_and_the_highest_density_is_the_shortest():
    result = dirichlet()
    for level in (0.5, 0.9):
        ends = {kind: result.interval(level, kind) for kind in ("equal", "highest")}
        for low, high in ends.values():
            inside = ((result.draws >= low) & (result.draws <= high)).mean(axis=0)
            assert inside == pytest.approx(np.full(4, level), abs=0.01)
        equal, highest = (high - low for low, high in ends.values())
        assert (highest <= equal + 1e-12).all()
        assert ends["highest"][0][3] < 0.002 < ends["equal"][0][3]


def test_ranks_and_exceedance():
    result = dirichlet()
    ranks = result.ranks()
    assert ranks.sum(axis=0) == pytest.approx(np.ones(4))
    assert ranks.sum(axis=1) == pytest.approx(np.ones(4))
    assert ranks[0, 0] == pytest.approx((result.draws.argmax(axis=1) == 0).mean())
    assert result.exceeds(0.5)[0] == pytest.approx((result.draws[:, 0] > 0.5).mean())
    assert (np.diff(result.exceeds(0.2)) < 0).all()


def test_diagnostics_tell_good_chains_from_bad_ones():
    good = dirichlet(8, 500)
    assert good.rhat().max() < 1.01
    assert good.ess() == pytest.approx(np.full(4, 4000), rel=0.25)
    apart = good.chains.copy()
    apart[0] = RNG.dirichlet([1, 8, 1, 1], 500)
    assert Posterior(apart, None, "exact", 0).rhat().max() > 1.1
    slow = np.repeat(good.chains, 10, axis=1)
    assert Posterior(slow, None, "exact", 0).ess() == pytest.approx(np.full(4, 4000), rel=0.35)


def test_diagnostics_of_chains_that_never_move():
    chains = np.zeros((4, 40, 2))
    chains[:2], chains[2:] = [1, 0], [0, 1]
    stuck = Posterior(chains, None, "exact", 0)
    assert np.isposinf(stuck.rhat()).all()
    assert (stuck.ess() == 2).all()
    assert np.isnan(Posterior(np.ones((3, 10, 1)), None, "exact", 0).rhat()).all()


def test_mode_of_categories_that_are_mostly_absent_is_a_distribution():
    result = posterior.sample(Categorical(5, 1e-3), Evidence(), draws=500)
    assert result.estimate("mode").sum() == pytest.approx(1)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # arviz announces its next version when it is imported
def test_arviz():
    channel = channels.srr(3, 1.0)
    result = posterior.sample(Categorical(3), Evidence().add(channel, [0, 1, 2, 0]))
    data = result.to_arviz()
    np.testing.assert_allclose(np.asarray(data.posterior["theta"]), result.chains)
    np.testing.assert_allclose(np.asarray(data.posterior["log_rho"]), result.log_rho)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda p: p.estimate("best"), "minimise"),
        (lambda p: p.interval(1.0), "level"),
        (lambda p: p.interval(0.9, "wide"), "kind"),
        (lambda p: p.exceeds(1.5), "threshold"),
        (lambda p: p.exceeds(True), "threshold"),
    ],
)
def test_refusals(call, argument):
    with pytest.raises(TacitError) as refusal:
        call(dirichlet(1, 10))
    assert refusal.value.argument == argument

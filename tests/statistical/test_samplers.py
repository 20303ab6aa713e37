"""`sample` and `respond` against `matrix()`: chi-square at a false-alarm rate of 1e-6 a test.

Power. A test with n draws and d degrees of freedom detects, with probability 0.999, any law whose chi-square
distance sum (p - q)^2 / q from the stated one is at least lambda(d) / n. For n = 20,000 that is 0.0032 at d = 1 and
0.0051 at d = 19 (test_stated_power recomputes them): for two categories near one half, an error of 0.028 in a
probability.
`respond` has no seed; about 300 tests at 1e-6 raise a false alarm in less than one run of three thousand.
"""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, ncx2

from tacit import channels

ALARM = 1e-6
DRAWS = 20_000
KS = (2, 3, 5, 20)
EPSILONS = (0.1, 1.0, 5.0)


def families(k, epsilon):
    yield "srr", channels.srr(k, epsilon)
    yield "rrrr", channels.rrrr(k, range(max(1, k // 3)), epsilon, 0.9)
    yield "subset", channels.subset(k, epsilon)
    yield "subset of 2", channels.subset(k, epsilon, min(2, k - 1))
    if k > 2:
        yield "coarse", channels.coarse(k, range(1, max(2, k // 2)), epsilon, 1)
    yield "matrix", channels.from_matrix(channels.srr(k, epsilon).matrix(), epsilon)
    yield "hashed", channels.hashed(k, epsilon)


CASES = [
    pytest.param(channel, id=f"{name}-{k}-{epsilon}")
    for k in KS
    for epsilon in EPSILONS
    for name, channel in families(k, epsilon)
]


def chi_square_p(counts, probabilities):
    """The p-value of the chi-square test, cells expected less than 10 times taken together."""
    counts, probabilities = np.asarray(counts, float), np.asarray(probabilities, float)
    n = counts.sum()
    rare = probabilities * n < 10
    counts = np.append(counts[~rare], counts[rare].sum())
    probabilities = np.append(probabilities[~rare], probabilities[rare].sum())
    kept = probabilities > 0
    assert counts[~kept].sum() == 0, "an impossible report was made"
    counts, probabilities = counts[kept], probabilities[kept]
    if len(counts) < 2:
        return 1.0
    statistic = ((counts - n * probabilities) ** 2 / (n * probabilities)).sum()
    return chi2.sf(statistic, len(counts) - 1)


def p_values(channel, x, reports):
    """The p-values of every test of the reports of one answer against the law that the channel states."""
    if isinstance(channel, channels.HashedChannel):
        yield from hashed_p_values(channel, x, np.array(reports))
    elif isinstance(channel, channels.SubsetChannel):
        yield from subset_p_values(channel, x, np.array(reports))
    else:
        counts = np.bincount(reports, minlength=len(channel.reports()))
        yield chi_square_p(counts, channel.matrix()[:, x])


def subset_p_values(channel, x, reports):
    """The whole law when it is small; else own inclusion, the other cells, and pairs of other cells."""
    m, size, own = channel.table.cells, channel.table.size, channel.table.cell(x)
    assert reports.shape[1] == size
    assert (np.diff(reports, axis=1) > 0).all()
    if channel._report_count() <= 200:
        index = {report: i for i, report in enumerate(channel.reports())}
        counts = Counter(index[tuple(int(c) for c in report)] for report in reports)
        yield chi_square_p([counts[i] for i in range(len(index))], channel.matrix()[:, x])
        return
    p, q = channel.inclusion
    held = np.zeros((len(reports), m), bool)
    np.put_along_axis(held, reports, True, axis=1)
    hits = held.sum(axis=0)
    for cell in range(m):
        yield min(1, m * binomtest(int(hits[cell]), len(reports), p if cell == own else q).pvalue)
    others = [cell for cell in range(m) if cell != own]
    joint = (p * (size - 1) * (size - 2) + (1 - p) * size * (size - 1)) / ((m - 1) * (m - 2))
    pairs = list(combinations(others, 2))
    for a, b in pairs:
        both = int((held[:, a] & held[:, b]).sum())
        yield min(1, len(pairs) * binomtest(both, len(reports), joint).pvalue)


def hashed_p_values(channel, x, reports):
    """The hash function is uniform, and the bucket follows the weights whatever the function."""
    a, b, bucket = reports.T
    own = (a * x + b) % (2**31 - 1) % channel.table.buckets
    for seed in (a, b):
        yield chi_square_p(np.bincount(seed * 16 // (2**31 - 1), minlength=16), np.full(16, 1 / 16))
    g = channel.table.buckets
    p = channel.inclusion[0]
    law = np.full(g, (1 - p) / (g - 1))
    law[0] = p
    yield chi_square_p(np.bincount((bucket - own) % g, minlength=g), law)


def smallest_p(channel, x, reports):
    values = list(p_values(channel, x, reports))
    return min(values)


def some_answers(k):
    return sorted({0, k // 2, k - 1})


@pytest.mark.parametrize("channel", CASES)
def test_sample_follows_the_matrix(channel):
    rng = np.random.default_rng(20260)
    for x in some_answers(channel.k):
        reports = channel.sample(np.full(5 * DRAWS, x), rng)
        assert smallest_p(channel, x, reports) > ALARM


@pytest.mark.parametrize("channel", CASES)
def test_respond_follows_the_matrix(channel):
    x = channel.k - 1
    reports = [channel.respond(x) for _ in range(DRAWS)]
    assert smallest_p(channel, x, reports) > ALARM


@pytest.mark.parametrize("channel", CASES[::5])
def test_mixed_answers_keep_their_order(channel):
    # Each block of equal answers must look like its own answer: catches mixed-up rows in the vectorised code.
    rng = np.random.default_rng(3)
    answers = rng.permutation(np.repeat(np.arange(channel.k), DRAWS))
    reports = channel.sample(answers, rng)
    for x in some_answers(channel.k):
        assert smallest_p(channel, x, reports[answers == x]) > ALARM


def noncentrality(freedom):
    """The least noncentrality that a test at ALARM detects with probability 0.999."""
    threshold = chi2.isf(ALARM, freedom)
    low, high = 0.0, 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if ncx2.sf(threshold, freedom, middle) > 0.999 else (middle, high)
    return high


def test_stated_power():
    assert noncentrality(1) / DRAWS == pytest.approx(0.0032, abs=5e-5)
    assert noncentrality(19) / DRAWS == pytest.approx(0.0051, abs=5e-5)


@pytest.mark.parametrize("size", [1, 2, 7, 13])
def test_kernel_and_its_numpy_twin_have_one_law(size):
    from oracles import sample_subsets
    from tacit.channels import kernels

    m, include, n = 14, 0.55, 200_000
    rng = np.random.default_rng(size)
    cells = np.full(n, 4)
    ours = np.empty((n, size), np.int32)
    kernels.sample_subsets(cells, m, include, rng, ours)
    twin = sample_subsets(cells, m, include, rng, size)
    for j in range(m):
        a, b = (ours == j).any(axis=1).sum(), (twin == j).any(axis=1).sum()
        share = (a + b) / (2 * n)
        if share < 1:
            assert abs(a - b) / np.sqrt(2 * n * share * (1 - share)) < 5.5


def test_hash_kernels_equal_their_twin():
    from oracles import hashed_matches

    channel = channels.hashed(50, 2.0)
    reports = channel.sample(np.arange(50).repeat(4), 1)
    matches = hashed_matches(reports, channel.table.buckets, 50)
    assert (channel.tally(reports) == matches.sum(axis=0)).all()
    likelihood = channel.likelihood(reports)
    assert (likelihood > 1).tolist() == matches.tolist()
    assert likelihood[matches] == pytest.approx(np.exp(2.0), rel=1e-10)

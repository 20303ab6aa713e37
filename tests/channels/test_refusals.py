"""Law 6: bad input is refused with a code, the caller's own argument name and a hint, at every public entry."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tacit import TacitError, channels
from tacit_client.tables import Blocks

NAN, INF = float("nan"), float("inf")
BAD_EPSILON = [
    0,
    -1,
    50.1,
    NAN,
    INF,
    -INF,
    True,
    np.True_,
    "1",
    None,
    [1.0],
    1j,
    Decimal("NaN"),
    10**400,
    1e-10,
]
BAD_K = [1, 0, -3, 2**21 + 1, 2.0, True, None, "4", NAN, 10**30]
CHANNEL = channels.srr(4, 1.0)


def refused(call, argument, code="argument_invalid"):
    with pytest.raises(TacitError) as refusal:
        call()
    assert refusal.value.code == code
    assert refusal.value.argument == argument
    assert refusal.value.hint
    assert argument in str(refusal.value)


MAKERS = {
    "srr": channels.srr,
    "rrrr": lambda k, epsilon: channels.rrrr(k, [0], epsilon, 0.9),
    "subset": channels.subset,
    "coarse": lambda k, epsilon: channels.coarse(k, [0], epsilon),
    "hashed": channels.hashed,
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_epsilon_and_k(maker):
    for bad in BAD_EPSILON:
        refused(lambda bad=bad: maker(4, bad), "epsilon")
    for bad in BAD_K:
        refused(lambda bad=bad: maker(bad, 1.0), "k")
    for good in (1, 1.0, Decimal("1"), Fraction(1), np.float64(1), np.float32(1), np.int64(1)):
        assert maker(np.int64(4), good) == maker(4, 1)


def test_matrix_epsilon():
    for bad in BAD_EPSILON:
        refused(lambda bad=bad: channels.from_matrix([[0.5, 0.5], [0.5, 0.5]], bad), "epsilon")


@pytest.mark.parametrize(
    "matrix",
    [[], [[]], [0.5, 0.5], [[0.5], [0.5]], [[0.5, 0.5], [0.5]], [[0.5, NAN], [0.5, 0.5]], [[0.6, 0.5], [0.6, 0.5]],
     [[-0.5, 0.5], [1.5, 0.5]], [["a", "b"]], None, 3, [[True, False], [False, True]], [[0.0, 0.0]]],
)  # fmt: skip
def test_matrices(matrix):
    refused(lambda: channels.from_matrix(matrix, 1.0), "matrix")


@pytest.mark.parametrize(
    "subset", [[4], [-1], [0, 0], [0.0], [True], "01", None, 3, [[0]], [0, 1, 2, 3], [NAN]]
)
def test_subsets(subset):
    refused(lambda: channels.rrrr(4, subset, 1.0, 0.9), "subset")


@pytest.mark.parametrize("kappa", [0, -0.1, 1.0001, NAN, INF, True, "0.9", None])
def test_kappas(kappa):
    refused(lambda: channels.rrrr(4, [0], 1.0, kappa), "kappa")
    refused(lambda: channels.rrrr(4, [], 1.0, kappa), "kappa")


@pytest.mark.parametrize("size", [0, 4, -1, 1.0, True, "2", NAN])
def test_sizes(size):
    refused(lambda: channels.subset(4, 1.0, size), "size")
    refused(lambda: channels.coarse(5, [0, 1, 2], 1.0, size), "size")


@pytest.mark.parametrize("keep", [[], [5], [0, 0], [True], None, "0"])
def test_keeps(keep):
    refused(lambda: channels.coarse(5, keep, 1.0), "keep")


def test_hashed_refuses_an_epsilon_that_needs_more_than_256_buckets():
    assert channels.hashed(10, 5.54).table.buckets == 256
    refused(lambda: channels.hashed(10, 5.6), "epsilon")


@pytest.mark.parametrize("answer", [4, -1, 0.0, True, None, "1", NAN, [1], np.float64(1)])
def test_respond(answer):
    refused(lambda: CHANNEL.respond(answer), "answer")


@pytest.mark.parametrize(
    "answers",
    [[], [4], [-1], [0.0], [True, False], [0, True], [NAN], ["0"], [[0, 1]], None, 3, [[0], [1, 2]]],
)
def test_sample_answers(answers):
    refused(lambda: CHANNEL.sample(answers, 1), "answers")


@pytest.mark.parametrize("rng", [None, -1, True, 1.5, "seed", np.random, np.random.RandomState(1)])
def test_sample_rng(rng):
    refused(lambda: CHANNEL.sample([0], rng), "rng")


def test_no_channel_exists_above_its_epsilon():
    table = Blocks(3, Fraction(1), (), (0, 0, 0), (3, 0, 1))  # ln 3 > 1
    refused(lambda: channels.from_table(table), "epsilon", "channel_leaks")


def test_matrix_of_a_large_channel_says_what_to_do():
    for channel in (channels.subset(40, 1.0), channels.hashed(10, 1.0), channels.srr(100_000, 1.0)):
        refused(channel.matrix, "channel", "too_many_reports")


def test_channels_cannot_be_changed():
    with pytest.raises(AttributeError):
        CHANNEL.table.k = 5
    with pytest.raises(AttributeError):
        CHANNEL.epsilon = 0.1

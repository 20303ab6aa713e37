"""Build the tables of the mechanisms: the integers are chosen here, once, and frozen.

Each mechanism has one ratio R that carries its loss. R is the rational number just below exp(epsilon) from
`ratio_below_exp`, and all other weights are solved for exactly, so that the worst ratio of the finished table is
R itself: never above exp(epsilon), and within 2^-40 of it. Two tables may stay further below: RRRR with one category
outside S, where only kappa epsilon acts, and a matrix that leaks less than its epsilon. `graded` and `binned` take
numbers: they cut the line into cells and randomise the cell.

>>> srr(3, 1).outside[0] / srr(3, 1).outside[2]
2.71828...
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from tacit_client import check
from tacit_client.errors import TacitError
from tacit_client.exponential import GUARD_BITS, exp_lower, ratio_below_exp
from tacit_client.tables import Binned, Blocks, Dense, Hashed, Subsets, Table
from tacit_client.tables.binned import FINITE, MAX_CUTS
from tacit_client.tables.hashed import MAX_BUCKETS

MIN_KAPPA = Fraction(1, 10**9)
MATRIX_BITS = 80
MATRIX_SLACK = Fraction(1, 10**9)
MAX_STEPS = 128  # the table of any epsilon then fits into a round
STEP_BITS = 52  # of the smallest difference of two neighbouring tails
SHRINK = 1 - Fraction(1, 2**46)  # of epsilon: its loss stays below when both are rounded to floats
CUT_DIGITS = 12  # of a cell's width, where a cut has no short decimal


def srr(k: object, epsilon: object) -> Blocks:
    """Standard randomised response: the answer with odds exp(epsilon) : 1 against each other category."""
    return rrrr(k, (), epsilon, 1)


def rrrr(k: object, subset: object, epsilon: object, kappa: object) -> Blocks:
    """Randomly restricted randomised response (Theorem 1 of Aydin and Yildirim).

    With c = R1 + |S|, R1 just below exp(kappa epsilon) and m = k - |S|, an answer in S is reported with weight
    R1, another of S with 1, and each of the rest with 1/m. An answer outside S is reported with weight E and
    each other of the rest with F, where E + (m - 1) F = R1. The paper's epsilon_2 is the largest one that keeps
    both E m <= R and E <= R F. Solved for E this has no logarithm, and no edge at which it divides by zero.
    """
    k = check.integer(k, "k", 2, check.MAX_CATEGORIES)
    members = check.distinct_integers(subset, "subset", 0, k - 1)
    if len(members) == k:
        raise TacitError(
            "argument_invalid",
            "subset holds every category",
            argument="subset",
            hint="leave at least one category out; an empty subset is standard randomised response",
        )
    stated = check.epsilon(epsilon)
    share = check.bounded(
        kappa, "kappa", lambda v: MIN_KAPPA <= v <= 1, "give a share of epsilon from 1e-9 to 1"
    )
    ratio = ratio_below_exp(stated)
    rest = k - len(members)
    if not members:
        return Blocks(k, stated, (), (0, 0, 0), (ratio.numerator, 0, ratio.denominator))
    first = min(ratio, ratio_below_exp(stated * share))
    if rest == 1:
        own, others = first, Fraction(0)
    else:
        own = min(ratio / rest, ratio * first / (ratio + rest - 1))
        others = (first - own) / (rest - 1)
    near = 1 if len(members) > 1 else 0
    a, b, c, d, e, f = _integers(first, near, Fraction(1, rest), own, 1, others)
    return Blocks(k, stated, members, (a, b, c), (d, e, f))


def subset(k: object, epsilon: object, size: object = None) -> Subsets:
    """Subset response over all k categories; `size=None` is the size with the least variance."""
    k = check.integer(k, "k", 2, check.MAX_CATEGORIES)
    return _subsets(k, None, k, epsilon, size)


def coarse(k: object, keep: object, epsilon: object, size: object = None) -> Subsets:
    """Subset response over the kept categories and one cell for all the others together."""
    k = check.integer(k, "k", 2, check.MAX_CATEGORIES)
    kept = check.distinct_integers(keep, "keep", 0, k - 1)
    if not kept:
        raise TacitError(
            "argument_invalid", "keep is empty", argument="keep", hint="keep one category or more"
        )
    if len(kept) >= k - 1:
        return _subsets(k, None, k, epsilon, size)
    return _subsets(k, kept, len(kept) + 1, epsilon, size)


def _subsets(k: int, keep: tuple[int, ...] | None, cells: int, epsilon: object, size: object) -> Subsets:
    stated = check.epsilon(epsilon)
    ratio = ratio_below_exp(stated)
    chosen = best_size(cells, ratio) if size is None else check.integer(size, "size", 1, cells - 1)
    return Subsets(k, stated, keep, chosen, ratio.numerator, ratio.denominator)


def best_size(cells: int, ratio: Fraction) -> int:
    """The subset size with the least variance of the unbiased estimate at a uniform distribution.

    With w the size and m the number of cells, that variance is proportional to (w R + m - w)^2 / (w (m - w)). The
    best real w is m / (R + 1); the best integer is one of its two neighbours.
    """
    low = max(1, math.floor(cells / (ratio + 1)))

    def information(w: int) -> Fraction:
        return w * (cells - w) / (w * ratio + cells - w) ** 2

    return max((w for w in (low, low + 1) if w < cells), key=information)


def hashed(k: object, epsilon: object) -> Hashed:
    """Hashed response (local hashing) with round(exp(epsilon) + 1) buckets."""
    k = check.integer(k, "k", 2, check.MAX_CATEGORIES)
    stated = check.epsilon(epsilon)
    ratio = ratio_below_exp(stated)
    buckets = math.floor(ratio + Fraction(3, 2))
    if buckets > MAX_BUCKETS:
        raise TacitError(
            "argument_invalid",
            f"epsilon {check.format_decimal(stated)} needs {check.shown(buckets)} buckets",
            argument="epsilon",
            hint=f"a hashed channel has at most {MAX_BUCKETS} buckets (epsilon 5.54): "
            "lower epsilon, or use srr",
        )
    return Hashed(k, stated, buckets, ratio.numerator, ratio.denominator)


def dense(matrix: Sequence[Sequence[float]], epsilon: object) -> Dense:
    """The table nearest to a matrix of floats P[y][x], rounded inwards until it keeps epsilon.

    Columns are scaled to one integer sum. Then the same constant is added to every weight, the smallest one that
    brings each row's ratio down to R: that is a mixture with a report that ignores the answer.
    """
    stated = check.epsilon(epsilon)
    rows = _checked_matrix(matrix)
    loss = max(math.log(max(row)) - math.log(min(row)) for row in rows)
    if loss > stated + MATRIX_SLACK:
        raise TacitError(
            "channel_leaks",
            f"matrix has log-ratio {loss:.6g}, above epsilon {check.format_decimal(stated)}",
            argument="matrix",
            hint="raise epsilon, or bring each row's probabilities closer together",
        )
    scaled = _integer_columns(rows)
    ratio = ratio_below_exp(stated)
    lift = max(math.ceil((max(row) - ratio * min(row)) / (ratio - 1)) for row in scaled)
    lift = max(lift, int(min(map(min, scaled)) == 0), 0)
    table = tuple(tuple(w + lift for w in row) for row in scaled)
    return Dense(len(table[0]), stated, table)


def graded(lo: object, hi: object, steps: object, epsilon: object) -> Binned:
    """A number clipped to lo..hi, rounded to one of `steps` + 1 even grades, then moved by geometric noise that is cut
    off at the ends; steps = 1 tells on which side of the middle the number is (the sign response).

    The cuts are lo + (j - 1/2) (hi - lo) / steps for j = 1..steps, which clips by itself. A cut with no decimal of 40
    characters is rounded to 12 digits of a cell's width. A grade at distance d from the true one has weight a^d with
    a = exp(-epsilon / steps); the first and the last also take what fell beyond them.
    """
    low, high = _real(lo, "lo"), _real(hi, "hi")
    if low >= high:
        raise TacitError(
            "argument_invalid",
            f"lo {check.shown(lo)} is not below hi {check.shown(hi)}",
            argument="hi",
            hint="give the ends in order, lo < hi",
        )
    count = check.integer(steps, "steps", 1, MAX_STEPS)
    stated = check.epsilon(epsilon)
    width = (high - low) / count
    cuts = tuple(_short(low + (j - Fraction(1, 2)) * width, width) for j in range(1, count + 1))
    return Binned(cuts, Dense(count + 1, stated, tail_rows(_tails(count, stated))))


def binned(edges: Iterable[object], inner: Table) -> Binned:
    """A number by the cell it falls into: `edges` cut the line, and `inner` randomises the cells 0..len(edges)."""
    if not isinstance(inner, tuple(FINITE.values())):
        raise TacitError(
            "argument_invalid",
            f"inner is {check.shown(inner)}",
            argument="inner",
            hint="give a table of categories, such as srr(k, epsilon) with one category more than edges",
        )
    try:
        cuts = tuple(_real(edge, "edges") for edge in edges)
    except TypeError:  # it cannot be iterated
        raise _bad_edges(edges) from None
    if (
        isinstance(edges, str | bytes)
        or not 1 <= len(cuts) <= MAX_CUTS
        or any(a >= b for a, b in pairwise(cuts))
    ):
        raise _bad_edges(edges)
    for cut in cuts:
        if not check.fits_signed_decimal(cut):
            raise _too_long("edges")
    if inner.k != len(cuts) + 1:
        raise TacitError(
            "channel_mismatch",
            f"{len(cuts)} edges make {len(cuts) + 1} cells and the channel takes {inner.k} categories",
            argument="edges",
            hint="give one edge less than the categories of the channel",
        )
    return Binned(cuts, inner)


def _real(value: object, argument: str) -> Fraction:
    """A number that the caller gives as a number or as a decimal string, exactly."""
    typed = check.typed_decimal(value) if isinstance(value, str) else None
    return check.rational(value, argument) if typed is None else typed


def _bad_edges(edges: object) -> TacitError:
    return TacitError(
        "argument_invalid",
        f"edges is {check.shown(edges)}",
        argument="edges",
        hint=f"give a list of 1 to {MAX_CUTS} increasing numbers",
    )


def _too_long(argument: str) -> TacitError:
    return TacitError(
        "argument_invalid",
        f"{argument} makes a cut with no decimal of {check.MAX_DECIMAL} characters",
        argument=argument,
        hint="round it, or use another unit",
    )


def _short(cut: Fraction, width: Fraction) -> Fraction:
    """The cut itself if messages can hold it, else rounded to the digits that matter for cells of this width."""
    if check.fits_signed_decimal(cut):
        return cut
    places = 0
    while 10**places * width < 10**CUT_DIGITS and places <= check.DECIMAL_PLACES:
        places += 1
    rounded = round(cut, places)
    if places > check.DECIMAL_PLACES or not check.fits_signed_decimal(rounded):
        raise _too_long("hi")
    return rounded


def _tails(steps: int, epsilon: Fraction) -> tuple[int, ...]:
    """Integers in proportion to a^d, d = 0..steps: the chances that the noise lifts a grade by d or more.

    Their differences are the chances of a move by exactly d. The smallest is the last one, about epsilon / steps of the
    last tail, and keeps STEP_BITS.
    """
    used = epsilon * SHRINK
    bits = STEP_BITS + math.ceil(steps / used).bit_length()
    return tuple(exp_lower(used * (steps - d) / steps) << bits >> GUARD_BITS for d in range(steps + 1))


def tail_rows(tails: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The weights of a grade moved by noise and stopped at the ends, from the tails t_0 > t_1 > ... > t_N of the noise.

        w(0 | j) = t_j      w(N | j) = t_(N-j)      w(i | j) = t_d - t_(d+1),  d = |i - j|

    Every column sums to t_0 + t_1, whatever the tails are: the differences telescope. The largest ratio is t_0 / t_N,
    in the first and the last row.
    """
    last = len(tails) - 1
    inner = [
        tuple(tails[abs(i - j)] - tails[abs(i - j) + 1] for j in range(last + 1)) for i in range(1, last)
    ]
    return (tails, *inner, tails[::-1])


def _checked_matrix(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    def refuse(message: str, hint: str) -> TacitError:
        return TacitError("argument_invalid", message, argument="matrix", hint=hint)

    try:
        rows = [[float(check.rational(p, "matrix")) for p in row] for row in matrix]
    except TypeError:
        raise refuse("matrix is not two-dimensional", "give P[y][x], a row a report") from None
    k = len(rows[0]) if rows else 0
    if k < 2 or any(len(row) != k for row in rows):
        raise refuse("matrix is not rectangular", "give P[y][x] with two or more columns")
    if any(p < 0 or p > 1 + 1e-9 for row in rows for p in row):
        raise refuse("matrix has an entry outside 0..1", "give probabilities")
    if any(abs(math.fsum(column) - 1) > 1e-9 for column in zip(*rows, strict=True)):
        raise refuse("a column of matrix does not sum to 1", "P[y][x] must sum to 1 over y")
    rows = [row for row in rows if any(row)]
    if any(not all(row) for row in rows):
        raise TacitError(
            "channel_infinite_loss",
            "matrix has a row with some zeros",
            argument="matrix",
            hint="every report must be possible under every answer, or under none",
        )
    return rows


def _integer_columns(rows: list[list[float]]) -> list[list[int]]:
    """Integer weights near P[y][x] 2^80, with the same sum in every column."""
    total = 1 << MATRIX_BITS
    columns = []
    for column in zip(*rows, strict=True):
        exact = [Fraction(p) for p in column]
        whole = sum(exact)
        weights = [math.floor(p * total / whole) for p in exact]
        weights[weights.index(max(weights))] += total - sum(weights)
        columns.append(weights)
    return [list(row) for row in zip(*columns, strict=True)]


def _integers(*weights: Fraction | int) -> tuple[int, ...]:
    """The smallest integers in the same proportions."""
    scale = math.lcm(*(Fraction(w).denominator for w in weights))
    whole = [int(w * scale) for w in weights]
    divisor = math.gcd(*whole)
    return tuple(w // divisor for w in whole)

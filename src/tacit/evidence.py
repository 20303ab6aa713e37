"""Evidence: all that the server remembers about reports.

For every channel it keeps the number of reports, their tally (sums of K numbers at most), and how often each
distinct report was made. Counts add up, so Evidence is a commutative monoid: the order of reports, the way they were
split and the moment at which they came leave no trace. Answers are categories, the same for all channels, or numbers,
which each channel cuts into cells of its own. Above 131,072 distinct reports of one channel only the tally is
kept; that too does not depend on the order.

The tallies give an unbiased moment estimate: each channel's own, averaged category by category and weighted by
their precision at a uniform distribution, for weights that do not look at the data keep the average unbiased.

>>> from tacit import channels
>>> channel = channels.srr(3, 2.0)
>>> evidence = Evidence().add(channel, [0, 0, 1]) + Evidence().add(channel, [2])
>>> len(evidence), evidence == Evidence().add(channel, [2, 0, 1, 0])
(4, True)
>>> evidence.log_likelihood([[0.5, 0.25, 0.25]]).round(3)
array([4.776])
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit import arrays, channels
from tacit.arrays import Floats, Integers
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.likelihood import Likelihood, MomentLikelihood, SumLikelihood, TableLikelihood
from tacit_client import Round, check

MAX_DISTINCT = 2**17
_FACTOR = 0x9E3779B97F4A7C15  # odd, with its bits well mixed; any number would be right
FORMAT = 1


class Tally(NamedTuple):
    """The reports of one channel: how many, their sums, and the distinct ones with their counts, while kept."""

    channel: Channel[Any]
    n: int
    sums: Integers
    reports: Integers | None
    counts: Integers | None

    @classmethod
    def of(cls, channel: Channel[Any], reports: object, counts: object = None) -> Tally:
        rows = channel.check_reports(reports)
        if counts is None:
            return cls(
                channel, len(rows), channel.tally(rows), *_distinct(rows, np.ones(len(rows), np.int64))
            )
        made = arrays.counts(counts, len(rows))
        return cls(channel, int(made.sum()), channel.tally(rows, made), *_distinct(rows, made))

    def joined(self, other: Tally) -> Tally:
        """Both tallies of one channel together."""
        n, sums = self.n + other.n, self.sums + other.sums
        if self.reports is None or other.reports is None or self.counts is None or other.counts is None:
            return Tally(self.channel, n, sums, None, None)
        rows = np.concatenate([self.reports, other.reports])
        return Tally(self.channel, n, sums, *_distinct(rows, np.concatenate([self.counts, other.counts])))

    def likelihood_rows(self) -> tuple[Floats, Floats] | None:
        """Distinct rows of P(report | x), the smallest entry of each 1, with their counts."""
        if self.reports is None or self.counts is None:
            return None
        rows: Floats = self.channel.likelihood(self.reports)
        rows /= rows.min(axis=1, keepdims=True)
        return rows, np.asarray(self.counts, dtype=np.float64)


def _channel(channel: object) -> Channel[Any]:
    if isinstance(channel, Channel):
        return channel
    raise TacitError(
        "argument_invalid",
        f"channel is {check.shown(channel)}",
        argument="channel",
        hint="give a channel of tacit.channels, then its reports",
    )


def _distinct(rows: Integers, counts: Integers) -> tuple[Integers | None, Integers | None]:
    """Distinct reports in increasing order with the sums of their counts, unless they are more than MAX_DISTINCT.

    Sorting rows is slow, sorting one key for each is not. Different keys mean different reports; that the same key
    means the same report is checked.
    """
    flat = rows.reshape(len(rows), -1)
    factors = np.cumprod(np.full(flat.shape[1], _FACTOR, dtype=np.uint64))
    keys = flat.astype(np.uint64) @ factors
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) > MAX_DISTINCT:
        return None, None
    if (flat[first[where]] != flat).any():
        _, first, where = np.unique(flat, axis=0, return_index=True, return_inverse=True)
        if len(first) > MAX_DISTINCT:
            return None, None
    order = np.lexsort(flat[first].T[::-1])
    sums = np.bincount(where.ravel(), weights=counts)[order]
    return rows[first[order]], sums.astype(np.int64)


@dataclass(frozen=True)
class Moments:
    """An unbiased estimate of theta (K,) with its standard errors: respondents and randomisation both vary.

    An unbiased estimate may be negative. A category no channel told apart has nan and an infinite error.
    """

    theta: Floats
    standard_error: Floats
    n: int

    def projected(self) -> Floats:
        """A distribution near the estimate: unknown shares fill in, and negative ones are lifted a little above 0."""
        known = np.where(np.isfinite(self.theta), self.theta, 0.0)
        unknown = ~np.isfinite(self.theta)
        if unknown.any():
            known[unknown] = max(1 - known.sum(), 0.0) / unknown.sum()
        lifted: Floats = np.maximum(known, 0.01 / len(known))
        lifted /= lifted.sum()
        return lifted

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Lower and upper ends of normal intervals at `level`, one category at a time, within 0..1."""
        share = check.bounded(level, "level", lambda v: 0 < v < 1, "give a level between 0 and 1")
        reach = NormalDist().inv_cdf(0.5 + float(share) / 2) * self.standard_error
        centre = np.where(np.isfinite(reach), self.theta, 0.5)
        return np.clip(centre - reach, 0, 1), np.clip(centre + reach, 0, 1)


@dataclass(frozen=True)
class Evidence:
    """Counts of reports by channel. Adding gives a new Evidence; nothing changes in place."""

    tallies: tuple[Tally, ...] = ()  # one for each channel, in the order of their ids

    def add(self, channel: Channel[Any], reports: object) -> Evidence:
        """This evidence and the reports that `channel` made."""
        return self + Evidence((Tally.of(_channel(channel), reports),))

    def add_counts(self, channel: Channel[Any], reports: object, counts: object) -> Evidence:
        """This evidence and reports that `channel` made counts[i] times each: the same as adding them one by one.

        A report may be listed more than once; its counts add up.

        >>> from tacit import channels
        >>> channel = channels.srr(3, 2.0)
        >>> Evidence().add_counts(channel, [0, 2], [2, 1]) == Evidence().add(channel, [2, 0, 0])
        True
        """
        if counts is None:
            raise arrays.refuse(counts, "counts", "give how often each report was made, or use add")
        return self + Evidence((Tally.of(_channel(channel), reports, counts),))

    @classmethod
    def from_table(
        cls,
        source: object,
        rounds: Iterable[Round],
        *,
        engine: str = "duckdb",
        table: str = "reports",
        study: str | None = None,
        skip_bad: bool = False,
        check_ids: bool = True,
    ) -> Evidence:
        """The evidence of a table of reports: files, a data frame, or a table of a database, see `tacit.warehouse`.

        The text columns are `study`, `round` (the id of one of `rounds`) and `value`; an `id` is optional. The
        counting is done by the engine: "duckdb", "sqlite", "postgres" or "spark".
        """
        from tacit import warehouse  # built on this module; the engines are optional packages

        return warehouse.aggregate(
            source,
            rounds,
            engine=engine,
            table=table,
            study=study,
            skip_bad=skip_bad,
            check_ids=check_ids,
        ).evidence

    def __add__(self, other: Evidence) -> Evidence:
        if not isinstance(other, Evidence):
            return NotImplemented
        if self.tallies and other.tallies and self.numeric != other.numeric:
            raise TacitError(
                "channel_mismatch",
                "reports about a number do not add to reports about categories",
                argument="channel",
                hint="keep a separate Evidence for every question",
            )
        if None not in (self.k, other.k) and self.k != other.k:
            raise TacitError(
                "channel_mismatch",
                f"reports over {other.k} categories do not add to {self.k}",
                argument="channel",
                hint="keep a separate Evidence for every question",
            )
        merged = {tally.channel.id: tally for tally in self.tallies}
        for tally in other.tallies:
            old = merged.get(tally.channel.id)
            merged[tally.channel.id] = tally if old is None else old.joined(tally)
        return Evidence(tuple(tally for _, tally in sorted(merged.items())))

    @property
    def numeric(self) -> bool:
        """Whether the answers are numbers: then each channel has cells of its own."""
        return bool(self.tallies) and self.tallies[0].channel.numeric

    @property
    def k(self) -> int | None:
        """The number of categories; None while there is no evidence, and when the answers are numbers."""
        return self.tallies[0].channel.k if self.tallies and not self.numeric else None

    def categories(self) -> int:
        """The number of categories; refused when there are none."""
        if self.numeric:
            raise TacitError(
                "channel_mismatch",
                "the evidence is about a number, and each channel has cells of its own",
                argument="evidence",
                hint="give a model of the number; for the shares of one channel's cells "
                "add its reports to an Evidence with channel.inner",
            )
        if self.k is None:
            raise TacitError(
                "argument_invalid",
                "there is no evidence yet",
                argument="evidence",
                hint="add reports first: Evidence().add(channel, reports)",
            )
        return self.k

    def __len__(self) -> int:
        return sum(tally.n for tally in self.tallies)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evidence) and self.id == other.id

    __hash__ = None  # type: ignore[assignment]

    def moments(self) -> Moments:
        """The unbiased moment estimate of theta, from all channels together."""
        k = self.categories()
        uniform = np.full(k, 1 / k)
        total, weights, spread = np.zeros(k), np.zeros(k), np.zeros(k)
        for channel, n, sums, _, _ in self.tallies:
            _, expected = channel.unbiased(channel.frequencies(uniform), n)
            estimate, _ = channel.unbiased(sums / n, n)
            # Two more reports as from a uniform distribution keep the variance of a few reports from being zero.
            _, variance = channel.unbiased((sums + 2 * channel.frequencies(uniform)) / (n + 2), n)
            known = np.isfinite(expected)
            weight = np.divide(1.0, expected, out=np.zeros(k), where=known)
            weights += weight
            total += np.where(known, weight * estimate, 0)
            spread += np.where(known, weight**2 * np.where(known, variance, 0), 0)
        seen = weights > 0
        theta = np.divide(total, weights, out=np.full(k, np.nan), where=seen)
        error = np.divide(np.sqrt(spread), weights, out=np.full(k, np.inf), where=seen)
        return Moments(theta, error, len(self))

    @property
    def exact(self) -> bool:
        """Whether all distinct reports are kept, so that `likelihood` is exact."""
        return all(tally.reports is not None for tally in self.tallies)

    def likelihood(self, moments: bool = False) -> Likelihood:
        """The log-likelihood as an object with `value` and `gradient`; see `tacit.likelihood`.

        Exact, unless a channel has too many distinct reports or `moments` asks for the Gaussian of the sums. Rows
        that agree are taken together, whichever channels they came from. It is a function of the shares of categories:
        for numbers a model mixes the rows of each tally with the probabilities of its cells.
        """
        if self.numeric:
            self.categories()  # explains what to do
        return self._moment_likelihood if moments else self._exact_likelihood

    @cached_property
    def _exact_likelihood(self) -> Likelihood:
        return self._likelihood(moments=False)

    @cached_property
    def _moment_likelihood(self) -> Likelihood:
        return self._likelihood(moments=True)

    def _likelihood(self, moments: bool) -> Likelihood:
        rows: list[Floats] = []
        counts: list[Floats] = []
        parts: list[Likelihood] = []
        for tally in self.tallies:
            inclusion = getattr(tally.channel, "moments", None)
            table = None if moments and inclusion is not None else tally.likelihood_rows()
            if table is not None:
                rows.append(table[0])
                counts.append(table[1])
            elif inclusion is not None:
                theta = self.moments().projected()
                parts.append(MomentLikelihood.of(inclusion, tally.sums / tally.n, tally.n, theta))
            else:
                raise TacitError(
                    "too_many_reports",
                    f"{tally.channel!r} made more than {MAX_DISTINCT} distinct reports",
                    argument="evidence",
                    hint="use moments() for the estimate, or a subset or hashed channel for so many categories",
                )
        if rows:
            distinct, where = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
            merged = np.bincount(where.ravel(), np.concatenate(counts)).astype(np.float64)
            parts.insert(0, TableLikelihood(distinct, merged))
        return parts[0] if len(parts) == 1 else SumLikelihood(tuple(parts))

    def log_likelihood(self, theta: npt.ArrayLike) -> Floats:
        """The log-likelihood of each row of theta (P, K), up to a constant: shape (P,)."""
        return self.likelihood().value(self._thetas(theta))

    def gradient(self, theta: npt.ArrayLike) -> Floats:
        """The derivatives of the log-likelihood by theta, its entries taken as free: shape (P, K)."""
        return self.likelihood().gradient(self._thetas(theta))

    def _thetas(self, theta: npt.ArrayLike) -> Floats:
        k = self.categories()
        try:
            rows = list(np.atleast_2d(np.asarray(theta)))
        except (ValueError, TypeError):
            raise arrays.refuse(theta, "theta", "give probabilities, one row for each theta") from None
        return np.array([arrays.distribution(row, "theta", k) for row in rows])

    @property
    def id(self) -> str:
        """SHA-256 of the content: equal for equal evidence, however it was gathered and on whatever machine."""
        digest = hashlib.sha256()
        for tally in self.tallies:
            digest.update(f"{tally.channel.id} {tally.n}\n".encode())
            for part in (tally.sums, tally.reports, tally.counts):
                digest.update(b"-" if part is None else np.ascontiguousarray(part, dtype="<i8").tobytes())
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        """A zip of JSON and npy arrays, without pickle: `Evidence.from_bytes` reads it back."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            kept = [{"channel": tally.channel.to_json(), "n": tally.n} for tally in self.tallies]
            header = {"format": FORMAT, "id": self.id, "tallies": kept}
            archive.writestr("evidence.json", json.dumps(header))
            for i, tally in enumerate(self.tallies):
                for part in ("sums", "reports", "counts"):
                    values = getattr(tally, part)
                    if values is not None:
                        with archive.open(f"{i}/{part}.npy", "w") as stream:
                            np.save(stream, values, allow_pickle=False)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Evidence:
        """The evidence that `to_bytes` wrote; refused unless every byte of its content is as it was."""
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                header = json.loads(archive.read("evidence.json"))
                if header["format"] != FORMAT:
                    raise TacitError(
                        "version_unknown",
                        f"the evidence has format {check.shown(header['format'])}",
                        argument="data",
                        hint=f"this release reads format {FORMAT}: update tacit",
                    )
                evidence = cls(tuple(_read_tally(archive, *kept) for kept in enumerate(header["tallies"])))
            if evidence.id == header["id"]:
                return evidence
        except (
            zipfile.BadZipFile,
            zlib.error,
            KeyError,
            TypeError,
            ValueError,
            RuntimeError,
            EOFError,
            OSError,
        ) as error:
            if isinstance(error, TacitError):
                raise
        raise TacitError(
            "message_malformed",
            "the evidence is damaged",
            argument="data",
            hint="give the bytes that to_bytes() wrote, unchanged",
        )


def _read_tally(archive: zipfile.ZipFile, i: int, kept: dict[str, Any]) -> Tally:
    parts: dict[str, Integers | None] = {"sums": None, "reports": None, "counts": None}
    for part in parts:
        name = f"{i}/{part}.npy"
        if name in archive.namelist():
            with archive.open(name) as stream:
                parts[part] = np.load(stream, allow_pickle=False)
    if parts["sums"] is None:
        raise KeyError("sums")
    channel = channels.from_json(kept["channel"])
    return Tally(channel, int(kept["n"]), parts["sums"], parts["reports"], parts["counts"])

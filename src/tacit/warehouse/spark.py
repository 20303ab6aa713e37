"""A table in Spark: the grouping runs there, and so do the tallies of hashed reports, partition by partition.

Evidence is a monoid, so every partition of the table becomes the evidence of its own rows on the worker that holds it,
and only these few bytes travel. The workers need tacit installed, with its extra `scale`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tacit import channels
from tacit.channels import Channel
from tacit.evidence import Evidence
from tacit.warehouse.engines import BATCH, needed, rows_as_batches, unreadable
from tacit.warehouse.folding import Refused, fold_tally
from tacit.warehouse.queries import SPARK, Dialect

VIEW = "tacit_reports"


class Spark:
    """`source`: the path of Parquet or CSV files, or a data frame; the session is the active one, or a local one."""

    dialect: Dialect | None = SPARK

    def __init__(self, source: object) -> None:
        sql = needed("pyspark.sql", "spark")
        self._error = (
            needed("pyspark.errors", "spark").PySparkException,
            needed("py4j.protocol", "spark").Py4JError,
        )
        self.source, self.relation = source, VIEW
        self._session = sql.SparkSession.builder.getOrCreate()
        try:
            frame: Any = self._read(str(source)) if isinstance(source, str | Path) else source
            frame.createOrReplaceTempView(VIEW)
        except self._error as error:
            raise unreadable(source, _first_line(error)) from None
        self.columns = {name: kind == "string" for name, kind in frame.dtypes}

    def _read(self, path: str) -> Any:
        setting = "spark.sql.sources.partitionColumnTypeInference.enabled"
        self._session.conf.set(setting, "false")
        if path.endswith((".csv", ".csv.gz")):
            return self._session.read.csv(path, header=True)
        return self._session.read.parquet(path)

    def batches(self, sql: str) -> Iterator[Any]:
        try:
            frame = self._session.sql(sql)
            rows = (tuple(row) for row in frame.toLocalIterator(prefetchPartitions=True))
            yield from rows_as_batches(frame.columns, iter(lambda: list(islice(rows, BATCH)), []))
        except self._error as error:
            raise unreadable(self.source, _first_line(error)) from None

    def tally(self, channel: Channel[Any], sql: str) -> tuple[Evidence, Refused]:
        """The tally of a query's values, each partition where it is."""
        text = channel.to_json()

        def work(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow

            own, refused, evidence = channels.from_json(text), Refused(), Evidence()
            for batch in batches:
                evidence = evidence + fold_tally(own, batch.column("value"), refused)
            found = [evidence.to_bytes()], [refused.count], [refused.examples]
            yield pyarrow.RecordBatch.from_arrays(
                [
                    pyarrow.array(found[0], pyarrow.binary()),
                    pyarrow.array(found[1], pyarrow.int64()),
                    pyarrow.array(found[2], pyarrow.list_(pyarrow.string())),
                ],
                names=["evidence", "refused", "examples"],
            )

        schema = "evidence binary, refused long, examples array<string>"
        total, refused = Evidence(), Refused()
        try:
            for row in self._session.sql(sql).mapInArrow(work, schema).toLocalIterator():
                total = total + Evidence.from_bytes(bytes(row.evidence))
                refused.join(Refused(row.refused, list(row.examples)))
        except self._error as error:
            raise unreadable(self.source, _first_line(error)) from None
        return total, refused

    def close(self) -> None:
        self._session.catalog.dropTempView(VIEW)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]

"""`tacit aggregate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tacit import warehouse
from tacit.cli.base import app
from tacit.errors import TacitError


@app.command()
def aggregate(
    source: Annotated[
        str, typer.Argument(help="Parquet or CSV by path, pattern, folder or URL; SQLite; postgresql://...")
    ],
    rounds: Annotated[Path, typer.Option(help="File with a round's canonical JSON in every line.")],
    engine: Annotated[str, typer.Option(help="duckdb, sqlite, postgres or spark.")] = "duckdb",
    table: Annotated[str, typer.Option(help="Name of the table in a database.")] = "reports",
    study: Annotated[str | None, typer.Option(help="Take only the rows of this study.")] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out unknown rounds and impossible reports.")
    ] = False,
    check_ids: Annotated[bool, typer.Option(help="Count reports with the same id once.")] = True,
    output: Annotated[Path | None, typer.Option(help="Write the evidence into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Turn a table of reports into evidence, by the engine that holds it."""
    found = warehouse.aggregate(
        source,
        warehouse.read_rounds(rounds),
        engine=engine,
        table=table,
        study=study,
        skip_bad=skip_bad,
        check_ids=check_ids,
    )
    if output is not None:
        _write(output, found.evidence.to_bytes())
    record = {
        "evidence": found.evidence.id,
        "rows": found.rows,
        "reports": len(found.evidence),
        "channels": len(found.evidence.tallies),
        "copies": found.copies,
        "unknown": found.unknown.count,
        "impossible": found.impossible.count,
    }
    if as_json:
        print(json.dumps(record))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"{record['reports']:,} reports through {record['channels']} channels, of {found.rows:,} rows"
    )
    for count, what in (
        (found.copies, "copies of a report, counted once"),
        (found.unknown.count, "rows of other rounds, left out"),
        (found.impossible.count, "impossible reports, left out"),
    ):
        if count:
            console.print(f"  {count:,} {what}")
    console.print(f"evidence {found.evidence.id}")


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise TacitError(
            "store_unusable",
            f"{path} cannot be written ({error.strerror})",
            argument="output",
            hint="give a path in a folder that exists and has room",
        ) from None

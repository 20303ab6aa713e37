"""`tacit poison`: how far hostile respondents can push the estimates of a saved study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit import poisoning
from tacit.cli.base import app
from tacit.study import Study


@app.command()
def poison(
    file: Annotated[Path, typer.Argument(help="A study that Study.save wrote.")],
    fakes: Annotated[
        int | None, typer.Option(help="How many reports are fake [a hundredth of those there are].")
    ] = None,
    minimise: Annotated[
        str | None, typer.Option(help="Estimate that is pushed: tv or mse; of a number, mae or mse.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Carry every attack out: a posterior for each step; minutes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Say how far fake reports can push each estimate, up and down."""
    found = poisoning.gauge(Study.load(file), fakes, minimise=minimise, exact=exact)
    if as_json:
        print(json.dumps({"names": list(found.names)} | found.record()))
        return
    console = Console(highlight=False)
    console.print(f"{found.n:,} private answers. {found.say()}.", soft_wrap=True, markup=False)
    table = Table("", "estimate", "up", "down", "up, no privacy", "times")
    for column in table.columns[1:]:
        column.justify = "right"
    shares = len(found.moment_up) > 0
    for i, name in enumerate(found.names):
        moved = [found.estimate[i], found.up[i], found.down[i], found.plain_up[i]]
        shown = [f"{value:.3f}" if shares else f"{value:.4g}" for value in moved]
        table.add_row(escape(name), *shown, f"{found.price[i]:.1f}")
    console.print(table)

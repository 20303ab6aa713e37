"""`tacit study page`: the poll page of studies as files, for a host that is not the collector's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.remote import study_app
from tacit.collector import pages


@study_app.command("page")
def page(
    names: Annotated[
        list[str], typer.Argument(help="Names of the studies, in the order in which they are asked.")
    ],
    collector: Annotated[
        str, typer.Option(help="Origin of the collector, such as https://collector.example.org.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the page; made if it is not there.")],
    title: Annotated[str | None, typer.Option(help="Title above several questions.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Write the poll page of studies for another host, and print the SHA-256 of each file and of the whole."""
    made = pages.write_bundle(out, collector=collector, studies=names, title=title)
    if as_json:
        print(json.dumps({"folder": str(out), "files": made.files, "whole": made.whole}))
        return
    for name, value in made.files.items():
        print(f"{value}  {name}")
    print(f"{made.whole}  SHA256SUMS")

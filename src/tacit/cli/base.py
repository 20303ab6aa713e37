"""What all commands share: the application, refusals, progress."""

from __future__ import annotations

import json
import sys
from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import Progress

import tacit
from tacit.errors import TacitError

EXIT_REFUSED = 2

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Learn what a population thinks without learning what anyone said.",
)


def main() -> None:
    """Run the command line; a refusal is one sentence on standard error and exit status 2."""
    try:
        app()
    except TacitError as error:
        refuse(error, as_json="--json" in sys.argv)


def refuse(error: TacitError, as_json: bool, status: int = EXIT_REFUSED) -> NoReturn:
    """Say what was refused, for people or for machines, and end."""
    if as_json:
        fields = {"code": error.code, "message": error.message}
        print(json.dumps({"error": fields | {"argument": error.argument, "hint": error.hint}}))
    else:
        print(f"tacit: {error} ({error.code})", file=sys.stderr)
    raise SystemExit(status)


def progress_bar() -> Progress:
    """A bar on the terminal, and nothing at all in a pipe or a log."""
    console = Console(stderr=True)
    return Progress(transient=True, disable=not console.is_terminal, console=console)


@app.command()
def version() -> None:
    """Print the version."""
    print(tacit.__version__)

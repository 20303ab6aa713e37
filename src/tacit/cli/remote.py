"""`tacit study` and `tacit poll`: what an administrator says to a running collector, over HTTP."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table

from tacit.cli.base import app
from tacit.errors import TacitError
from tacit_client.http import Collector

KEY_BESIDE = Path("tacit-collector.db.key")  # where `tacit serve` puts it when nothing else is said
study_app = typer.Typer(
    no_args_is_help=True, help="Make, show, open, close, export and delete studies of a collector."
)
poll_app = typer.Typer(no_args_is_help=True, help="Make, show and delete polls: several studies on one page.")
app.add_typer(study_app, name="study")
app.add_typer(poll_app, name="poll")

Server = Annotated[str, typer.Option(envvar="TACIT_SERVER", help="Address of the collector.")]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        envvar="TACIT_ADMIN_KEY_FILE",
        help="File of the administrator's key; tacit-collector.db.key if left out.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Name = Annotated[str, typer.Argument(help="Name of the study.")]
PollName = Annotated[str, typer.Argument(help="Name of the poll.")]
HERE = "http://127.0.0.1:8000"
ATTEMPTS = 4  # a server that was started a moment ago has a few seconds


def key(file: Path | None) -> str | None:
    """The administrator's key: from TACIT_ADMIN_KEY, the file, or the file that `tacit serve` made here."""
    given = os.environ.get("TACIT_ADMIN_KEY")
    path = file or (KEY_BESIDE if KEY_BESIDE.exists() else None)
    if file is None and given:
        return given
    if path is None:
        return None
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError) as error:
        raise TacitError(
            "argument_invalid",
            f"{path} cannot be read ({type(error).__name__})",
            argument="key-file",
            hint="give the path of the file that holds the administrator's key",
        ) from None


def ask(server: str, file: Path | None, method: str, path: str, body: object = None) -> Any:
    """One call, with the key if there is one."""
    return Collector(server, attempts=ATTEMPTS).call(method, path, body, key(file))


def study_path(name: str, *rest: str) -> str:
    """The path of a study, or of what is below it."""
    return "/".join(["/v1/studies", quote(name, safe=""), *rest])


def poll_path(name: str, *rest: str) -> str:
    """The path of a poll, or of what is below it."""
    return "/".join(["/v1/polls", quote(name, safe=""), *rest])


@study_app.command("create")
def create(
    name: Name,
    text: Annotated[str, typer.Option(help="The question, as people read it.")],
    epsilon: Annotated[str, typer.Option(help="Bound of the privacy loss of one answer.")],
    label: Annotated[
        list[str] | None, typer.Option(help="One of the answers; give it twice or more.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="For a number: its unit.")] = None,
    lowest: Annotated[str | None, typer.Option(help="For a number: the lowest answer.")] = None,
    highest: Annotated[str | None, typer.Option(help="For a number: the highest answer.")] = None,
    step: Annotated[str | None, typer.Option(help="For a number: the step between answers.")] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="What chooses the channels; left out, it is that of tacit.Study."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="For a number: its law; normal if left out.")] = None,
    expected: Annotated[int, typer.Option(help="How many reports are planned for.")] = 10_000,
    invited: Annotated[bool, typer.Option("--invited", help="Take reports with invites only.")] = False,
    private: Annotated[
        bool, typer.Option("--private", help="Show results to holders of the key only.")
    ] = False,
    unlisted: Annotated[
        bool, typer.Option("--unlisted", help="Leave it out of the collector's list.")
    ] = False,
    draft: Annotated[bool, typer.Option("--draft", help="Take no reports until it is opened.")] = False,
    origin: Annotated[
        list[str] | None, typer.Option(help="Origin of a page elsewhere that may use it.")
    ] = None,
    retention_days: Annotated[int | None, typer.Option(help="Delete reports so long after closing.")] = None,
    server: Server = HERE,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a study: one question, with labels or for a number."""
    question = {
        "text": text,
        "labels": label or None,
        "unit": unit,
        "lowest": lowest,
        "highest": highest,
        "step": step,
    }
    body = {
        "name": name,
        "question": {field: value for field, value in question.items() if value is not None},
        "epsilon": epsilon,
        "policy": policy,
        "model": model,
        "expected": expected,
        "access": "invite" if invited else "open",
        "results": "key" if private else "public",
        "listed": not unlisted,
        "state": "draft" if draft else "open",
        "origins": origin or [],
        "retention_days": retention_days,
    }
    made = ask(server, key_file, "POST", "/v1/studies", {f: v for f, v in body.items() if v is not None})
    _say(
        made,
        as_json,
        f"The study {name} is {made['state']}.\nAsk people to {server}/s/{name}; results: {server}/s/{name}/results",
    )


@study_app.command("list")
def list_studies(server: Server = HERE, key_file: KeyFile = None, as_json: AsJson = False) -> None:
    """List studies; with the key all of them."""
    found = ask(server, key_file, "GET", "/v1/studies")
    if as_json:
        print(json.dumps(found))
        return
    table = Table("study", "state", "reports", "epsilon", "question")
    for study in found["studies"]:
        table.add_row(
            study["name"], study["state"], f"{study['n']:,}", study["epsilon"], study["question"]["text"]
        )
    Console(highlight=False).print(table)


@study_app.command("show")
def show(name: Name, server: Server = HERE, key_file: KeyFile = None, as_json: AsJson = False) -> None:
    """Show settings, state, number of reports and head of the chain."""
    found = ask(server, key_file, "GET", study_path(name))
    if as_json:
        print(json.dumps(found))
        return
    table = Table(show_header=False)
    for field, value in found.items():
        table.add_row(field, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    Console(highlight=False, markup=False).print(table)


@study_app.command("open")
def open_study(name: Name, server: Server = HERE, key_file: KeyFile = None, as_json: AsJson = False) -> None:
    """Let a draft take reports."""
    _say(ask(server, key_file, "POST", study_path(name, "open")), as_json, f"The study {name} is open.")


@study_app.command("close")
def close(name: Name, server: Server = HERE, key_file: KeyFile = None, as_json: AsJson = False) -> None:
    """Take no more reports, for good; invites are purged and a last estimate is made."""
    _say(ask(server, key_file, "POST", study_path(name, "close")), as_json, f"The study {name} is closed.")


@study_app.command("delete")
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    server: Server = HERE,
    key_file: KeyFile = None,
) -> None:
    """Delete a study with its reports, rounds and estimates."""
    _confirm(yes, f"Delete {name} with all its reports?")
    ask(server, key_file, "DELETE", study_path(name))
    print(f"The study {name} is gone.")


@study_app.command("invite")
def invite(
    name: Name,
    count: Annotated[int, typer.Option(help="How many.")] = 1,
    server: Server = HERE,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Print invites, each good for one report; the collector keeps their hashes only."""
    _invites(ask(server, key_file, "POST", study_path(name, "invites"), {"count": count}), as_json)


@study_app.command("estimate")
def estimate(
    name: Name,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the first estimate.")] = 0.0,
    server: Server = HERE,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the newest estimate."""
    end = time.monotonic() + wait
    while True:
        try:
            found = ask(server, key_file, "GET", study_path(name, "estimate"))
            break
        except TacitError as error:
            if error.code != "estimate_unknown" or time.monotonic() >= end:
                raise
            time.sleep(0.5)
    if as_json:
        print(json.dumps(found))
        return
    console = Console(highlight=False)
    level = f"{found['level']:.0%} interval"
    if found["kind"] == "categories":
        table = Table("answer", "estimate", level)
        for label, point, low, high in zip(
            found["labels"], found["estimate"], found["low"], found["high"], strict=True
        ):
            table.add_row(label, f"{point:.1%}", f"{low:.1%} to {high:.1%}")
    else:
        table = Table("", "estimate", level)
        for part, meaning in (("mu", "centre"), ("sigma", "spread")):
            low, high = found["low"][part], found["high"][part]
            table.add_row(meaning, f"{found['estimate'][part]:.4g}", f"{low:.4g} to {high:.4g}")
    console.print(table)
    console.print(f"{found['used']:,} reports, each with odds of at most {found['odds']:.4g} to 1.")


@study_app.command("export")
def export(
    name: Name,
    format: Annotated[
        str, typer.Option(help="csv, json or parquet; evidence: as tacit.Evidence reads it.")
    ] = "csv",
    output: Annotated[Path | None, typer.Option(help="File to write; standard output if left out.")] = None,
    server: Server = HERE,
    key_file: KeyFile = None,
) -> None:
    """Write all reports as (study, round, value), sorted."""
    path = (
        study_path(name, "evidence")
        if format == "evidence"
        else study_path(name, f"export?format={quote(format)}")
    )
    data = Collector(server, timeout=600).download(path, key(key_file), limit=1 << 32)
    if output is None:
        sys.stdout.buffer.write(data)
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise TacitError(
            "store_unusable",
            f"{output} cannot be written ({error.strerror})",
            argument="output",
            hint="give another path",
        ) from None


@poll_app.command("create")
def create_poll(
    name: PollName,
    title: Annotated[str, typer.Option(help="What stands above the questions.")],
    study: Annotated[list[str], typer.Option(help="A study of the poll, in order; give it for each.")],
    server: Server = HERE,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Put studies that are there on one page."""
    made = ask(server, key_file, "POST", "/v1/polls", {"name": name, "title": title, "studies": study})
    _say(
        made, as_json, f"Ask people to {server}/p/{name}; it costs a device epsilon {made['epsilon']} in all."
    )


@poll_app.command("list")
def list_polls(server: Server = HERE, key_file: KeyFile = None, as_json: AsJson = False) -> None:
    """List polls; with the key all of them."""
    found = ask(server, key_file, "GET", "/v1/polls")
    if as_json:
        print(json.dumps(found))
        return
    table = Table("poll", "epsilon", "studies", "title")
    for poll in found["polls"]:
        table.add_row(
            poll["name"], poll["epsilon"], ", ".join(s["name"] for s in poll["studies"]), poll["title"]
        )
    Console(highlight=False).print(table)


@poll_app.command("delete")
def delete_poll(
    name: PollName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    server: Server = HERE,
    key_file: KeyFile = None,
) -> None:
    """Delete a poll; its studies stay."""
    _confirm(yes, f"Delete the poll {name}? Its studies stay.")
    ask(server, key_file, "DELETE", poll_path(name))
    print(f"The poll {name} is gone.")


@poll_app.command("invite")
def invite_to_poll(
    name: PollName,
    count: Annotated[int, typer.Option(help="How many.")] = 1,
    server: Server = HERE,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Print invites, each good for one report to each of the poll's studies."""
    _invites(ask(server, key_file, "POST", poll_path(name, "invites"), {"count": count}), as_json)


def _say(found: object, as_json: bool, text: str) -> None:
    print(json.dumps(found) if as_json else text)


def _invites(found: dict[str, list[str]], as_json: bool) -> None:
    print(json.dumps(found) if as_json else "\n".join(found["invites"]))


def _confirm(yes: bool, question: str) -> None:
    if not yes and not typer.confirm(question):
        raise typer.Exit(1)

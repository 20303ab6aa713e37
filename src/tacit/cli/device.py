"""`tacit respond` and `tacit witness`: a device at the terminal, and a look at what a collector shows to others."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit.cli.base import app
from tacit.errors import TacitError
from tacit_client import Device, Report, Round, Store, check, flush, witness
from tacit_client.http import Collector

EXIT_PARTED = 1
EXIT_WAITING = 1
PlainHttp = Annotated[
    bool, typer.Option("--plain-http", help="Allow http to another machine, on a network that you trust.")
]


@app.command()
def respond(
    url: Annotated[str, typer.Argument(help="Address of the collector.")],
    study: Annotated[str, typer.Argument(help="Name of the study.")],
    answer: Annotated[
        str | None, typer.Argument(help="Your answer; asked for if left out, out of the shell's history.")
    ] = None,
    store: Annotated[Path | None, typer.Option(help="This device's store, made when new.")] = None,
    cap: Annotated[float, typer.Option(help="Most epsilon that you give to one study.")] = 1.0,
    total: Annotated[float, typer.Option(help="Most epsilon that this store gives in its life.")] = 10.0,
    invite: Annotated[str | None, typer.Option(envvar="TACIT_INVITE", help="Token of your invite.")] = None,
    plain_http: PlainHttp = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Answer a study privately: the answer is randomised here, and only the result is sent."""
    console = Console(highlight=False, quiet=as_json)
    collector = Collector(url, plain_http=plain_http)
    device = Device(_store(store), cap, total)
    kept = device.store.kept(study)
    if kept is None:
        asked = collector.round(study)
        device.certify(asked)
        _show(console, asked, device)
        kept = device.answer(asked, _answer(asked, answer))
        console.print(
            "Your answer was randomised and stays here; the report is kept, and is the same ever after."
        )
    else:
        console.print(
            "This device has answered already. It sends what it sent before; a new answer would cost privacy again."
        )
    _deliver(console, device.store, collector, kept, invite, as_json)


def _deliver(
    console: Console, store: Store, collector: Collector, report: Report, invite: str | None, as_json: bool
) -> None:
    """Send what waits for this study, and say what became of it."""
    delivery = flush(store, lambda r: collector.send(r, invite), studies={report.study}, again=True)
    failed = [*delivery.refused, *delivery.waiting]
    if as_json:
        error = failed[0][1] if failed else None
        code = error.code if isinstance(error, TacitError) else None
        record = {
            "study": report.study,
            "report": report.id,
            "round": report.round,
            "delivered": not failed,
            "code": code,
        }
        print(json.dumps(record))
    elif failed:
        console.print(f"It was not delivered: {escape(str(failed[0][1]))}. Run the same command again later.")
    else:
        console.print(f"It was delivered. Report {report.id}, round {report.round[:16]}.")
    if failed:
        raise typer.Exit(EXIT_WAITING)


def _store(path: Path | None) -> Store:
    if path is None:
        path = Path(typer.get_app_dir("tacit")) / "device.sqlite"
        path.parent.mkdir(parents=True, exist_ok=True)
    return Store(path)


def _show(console: Console, asked: Round, device: Device) -> None:
    """The question, what an answer costs, and what is left."""
    question, epsilon = asked.question, asked.channel.epsilon
    left = device.total - device.store.spent()
    console.print(f"[bold]{escape(question.text)}[/bold]")
    if question.numeric:
        console.print(
            f"  {question.lowest} to {question.highest} {escape(question.unit or '')}, in steps of {question.step}"
        )
    for number, label in enumerate(question.labels, start=1):
        console.print(f"  {number}. {escape(label)}")
    console.print(
        f"It costs epsilon {check.format_decimal(epsilon)} of {float(left):g} left: whatever is thought of your "
        f"answer, what you send multiplies the odds by at most {math.exp(float(epsilon)):.3g}. "
        "This device has checked that."
    )


def _answer(asked: Round, given: str | None) -> str:
    """The answer as the question spells it; a number of the list will do when it is asked for here."""
    if given is not None:
        return given
    said: str = typer.prompt("Your answer").strip()
    labels = asked.question.labels
    if labels and said not in labels and said.isascii() and said.isdigit() and 1 <= int(said) <= len(labels):
        return labels[int(said) - 1]
    return said


@app.command(name="witness")
def run_witness(
    sources: Annotated[
        list[str], typer.Argument(help="Addresses of collectors, or files of rounds that --keep wrote.")
    ],
    study: Annotated[str | None, typer.Option(help="Name of the study.")] = None,
    store: Annotated[
        list[Path] | None, typer.Option(help="A device's store, whose rounds must be among those shown.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Write the rounds of the first source here, to compare later.")
    ] = None,
    plain_http: PlainHttp = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Compare the rounds that several places and devices were shown. Exit status 1: they part."""
    stores = {str(path): Store(path) for path in store or [] if _there(path)}
    # What devices saw is read first: a round that is published meanwhile is then in the chains.
    seen = {name: opened.seen(study or "") for name, opened in stores.items()}
    try:
        views = [
            _view(source, study, plain_http, keep if i == 0 else None) for i, source in enumerate(sources)
        ]
        found = witness.partings(views, seen)
    except TacitError as error:
        if error.code != "rounds_part":
            raise
        views, found = [], [witness.Parting(None, ("", ""), str(error))]
    if as_json:
        record = {
            "agree": not found,
            "views": [{"source": v.source, "rounds": len(v.ids), "head": v.ids[-1]} for v in views],
            "partings": [{"number": p.number, "sources": list(p.sources), "reason": p.reason} for p in found],
        }
        print(json.dumps(record))
    else:
        _print_witness(views, found, seen)
    raise typer.Exit(EXIT_PARTED if found else 0)


def _print_witness(
    views: list[witness.View], found: list[witness.Parting], seen: dict[str, tuple[str, ...]]
) -> None:
    console = Console(highlight=False, soft_wrap=True)
    table = Table("shown to", "rounds", "head")
    for view in views:
        table.add_row(escape(view.source), str(len(view.ids)), view.ids[-1][:16])
    for name, ids in seen.items():
        table.add_row(escape(name), "", ", ".join(i[:16] for i in ids) or "nothing of this study")
    console.print(table)
    for parting in found:
        where = "" if parting.number is None else f"from round {parting.number} on "
        between = " and ".join(source for source in parting.sources if source)
        console.print(f"[red bold]THEY PART[/red bold] {where}({escape(between)}): {escape(parting.reason)}")
    if not found:
        console.print("They agree: one chain of rounds, every channel within its epsilon.")


def _view(source: str, study: str | None, plain_http: bool, keep: Path | None) -> witness.View:
    if "://" in source:
        if study is None:
            raise TacitError(
                "argument_invalid", "there is no study", argument="study", hint="name it with --study"
            )
        rounds = Collector(source, plain_http=plain_http).rounds(study)
    else:
        try:
            data = Path(source).read_bytes()
        except OSError as error:
            raise TacitError(
                "argument_invalid",
                f"{source} cannot be read ({error.strerror})",
                argument="sources",
                hint="give an address such as https://poll.example.org, or a file that --keep wrote",
            ) from None
        rounds = [Round.from_json(line) for line in data.split(b"\n") if line]
    if keep is not None:
        keep.write_bytes(witness.text(rounds))
    return witness.view(source, rounds)


def _there(path: Path) -> bool:
    if path.exists():
        return True
    raise TacitError(
        "argument_invalid", f"{path} is not there", argument="store", hint="give the path of a device's store"
    )

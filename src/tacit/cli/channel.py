"""`tacit channel` and `tacit audit`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tacit import audit as auditing
from tacit import channels
from tacit.cli.base import EXIT_REFUSED, app, progress_bar, refuse
from tacit.errors import TacitError
from tacit_client import canonical, check
from tacit_client.certificate import Certificate
from tacit_client.channel import channel_id, parse_channel
from tacit_client.tables import Binned

EXIT_LEAKS = 1

OPTIONS = {
    "srr": ("k",),
    "rrrr": ("k", "subset", "kappa"),
    "subset": ("k", "size"),
    "coarse": ("k", "keep", "size"),
    "hashed": ("k",),
    "graded": ("lo", "hi", "steps"),
    "binned": ("edges", "inner"),  # and those of the inner kind, except k
}
REQUIRED = ("k", "lo", "hi", "steps", "edges")


@app.command()
def channel(
    kind: Annotated[str, typer.Argument(help="srr, rrrr, subset, coarse, hashed, graded or binned")],
    epsilon: Annotated[float, typer.Option(help="Bound of the privacy loss.")],
    k: Annotated[int | None, typer.Option(help="Number of categories.")] = None,
    subset: Annotated[str | None, typer.Option(help="rrrr: the likely categories, such as 0,2.")] = None,
    kappa: Annotated[float | None, typer.Option(help="rrrr: share of epsilon for the subset [0.9].")] = None,
    keep: Annotated[str | None, typer.Option(help="coarse: categories with a cell of their own.")] = None,
    size: Annotated[int | None, typer.Option(help="subset, coarse: cells in a report.")] = None,
    lo: Annotated[str | None, typer.Option(help="graded: lower end of the range of the number.")] = None,
    hi: Annotated[str | None, typer.Option(help="graded: upper end of the range.")] = None,
    steps: Annotated[int | None, typer.Option(help="graded: steps between the grades; 1: the sign.")] = None,
    edges: Annotated[str | None, typer.Option(help="binned: edges of the cells, such as 20,40,60.")] = None,
    inner: Annotated[str | None, typer.Option(help="binned: channel over the cells [subset].")] = None,
) -> None:
    """Print a channel as the canonical JSON that devices read."""
    given = {"k": k, "subset": subset, "kappa": kappa, "keep": keep, "size": size, "epsilon": epsilon}
    given |= {"lo": lo, "hi": hi, "steps": steps, "edges": edges, "inner": inner}
    _check_options(kind, {name for name, value in given.items() if value is not None}, inner)
    print(_channel(kind, given).to_json())


def _check_options(kind: str, named: set[str], inner: str | None) -> None:
    """Every option of the kind that has no default, and no option of another kind."""
    if kind not in OPTIONS:
        raise _unknown(kind, "kind", list(OPTIONS))
    own = {"epsilon", *OPTIONS[kind]}
    if kind == "binned":
        categorical = [name for name in OPTIONS if "k" in OPTIONS[name]]
        if inner is not None and inner not in categorical:
            raise _unknown(inner, "inner", categorical)
        own |= set(OPTIONS[inner or "subset"]) - {"k"}
    for name in sorted(named - own):
        raise TacitError(
            "argument_invalid",
            f"--{name} does not go with {kind}",
            argument=name,
            hint=f"leave it out; see tacit channel --help for the options of {kind}",
        )
    for name in REQUIRED:
        if name in own - named:
            raise TacitError(
                "argument_invalid", f"{kind} needs --{name}", argument=name, hint=f"give --{name}"
            )


def _unknown(value: str, argument: str, known: list[str]) -> TacitError:
    return TacitError(
        "argument_invalid",
        f"{argument} is {check.shown(value)}",
        argument=argument,
        hint=f"give one of {', '.join(known)}",
    )


def _channel(kind: str, given: dict[str, Any]) -> channels.Channel[Any]:
    """The channel that a kind and its options name."""
    k, epsilon = given["k"], given["epsilon"]
    if kind == "graded":
        return channels.graded(given["lo"], given["hi"], given["steps"], epsilon)
    if kind == "binned":
        edges = [part.strip() for part in given["edges"].split(",")]
        return channels.binned(edges, _channel(given["inner"] or "subset", given | {"k": len(edges) + 1}))
    if kind == "rrrr":
        kappa = 0.9 if given["kappa"] is None else given["kappa"]
        return channels.rrrr(k, _categories(given["subset"], "subset"), epsilon, kappa)
    if kind == "coarse":
        return channels.coarse(k, _categories(given["keep"], "keep"), epsilon, given["size"])
    if kind == "subset":
        return channels.subset(k, epsilon, given["size"])
    return channels.srr(k, epsilon) if kind == "srr" else channels.hashed(k, epsilon)


def _categories(text: str | None, argument: str) -> list[int]:
    return [check.parse_integer(part.strip(), argument) for part in (text or "").split(",") if part.strip()]


@app.command()
def audit(
    file: Annotated[Path, typer.Argument(help="A channel in canonical JSON, or - for standard input.")],
    samples: Annotated[int, typer.Option(help="Real reports drawn for each of two answers.")] = 20_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Show what a channel leaks, by proof and by experiment. Exit status 1: more than it states."""
    try:
        table = parse_channel(_read_message(file))
    except TacitError as error:
        refuse(error, as_json, EXIT_LEAKS if error.code == "channel_infinite_loss" else EXIT_REFUSED)
    with progress_bar() as progress:
        task = progress.add_task("asking the real randomiser", total=2 * samples)
        result = auditing.audit(table, samples, lambda done: progress.advance(task, done))
    if as_json:
        print(json.dumps(_audit_record(result) | {"id": channel_id(table), "kind": table.kind}))
    else:
        numeric = isinstance(table, Binned)
        title = f"{table.kind} channel over {table.k} {'cells of a number' if numeric else 'categories'}"
        _print_audit(result, title, "cell" if numeric else "answer")
    raise typer.Exit(0 if result.passes else EXIT_LEAKS)


def _read_message(file: Path) -> bytes:
    """At most one byte more than a message may have, however long the file is."""
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(canonical.MAX_BYTES + 2)
        else:
            with file.open("rb") as stream:
                data = stream.read(canonical.MAX_BYTES + 2)
    except OSError as error:
        raise TacitError(
            "argument_invalid",
            f"{file} cannot be read ({error.strerror})",
            argument="file",
            hint="give a channel's JSON file; `tacit channel` writes one",
        ) from None
    # Editors and shells end a file with a line feed; the message itself has none.
    return data.removesuffix(b"\n")


def _audit_record(result: auditing.Audit) -> dict[str, object]:
    certificate, empirical = result.certificate, result.empirical
    return {
        "passes": result.passes,
        "epsilon": check.format_decimal(certificate.epsilon),
        "loss": certificate.loss,
        "ratio": f"{certificate.ratio.numerator}/{certificate.ratio.denominator}",
        "likely": certificate.likely,
        "unlikely": certificate.unlikely,
        "report": certificate.report,
        "empirical": {
            "lower_bound": empirical.lower_bound,
            "confidence": empirical.confidence,
            "samples": empirical.samples,
            "hits_likely": empirical.hits_likely,
            "hits_unlikely": empirical.hits_unlikely,
        },
    }


def _print_audit(result: auditing.Audit, title: str, answer: str) -> None:
    certificate, empirical = result.certificate, result.empirical
    table = Table(title=title, show_header=False, title_justify="left")
    table.add_row("states epsilon", check.format_decimal(certificate.epsilon))
    verdict = "[green]holds[/green]" if certificate.holds else "[red bold]IS EXCEEDED[/red bold]"
    table.add_row("leaks, exactly", f"{certificate.loss:.15g}: the stated bound {verdict}")
    table.add_row("worst ratio", f"{_shown_ratio(certificate)} = {float(certificate.ratio):.9g}")
    report = check.shown(certificate.report)
    table.add_row("attained by", f"report {report}: {answer} {certificate.likely} "
                  f"against {answer} {certificate.unlikely}")  # fmt: skip
    for prior in (0.5, 0.1, 0.01):
        raised = auditing.posterior(certificate.ratio, prior)
        table.add_row(f"a suspicion of {prior:.0%}", f"becomes at most {raised:.1%}")
    table.add_row(
        "experiment",
        f"loss of at least {empirical.lower_bound:.4f} with {empirical.confidence:.1%} confidence "
        f"({empirical.hits_likely} and {empirical.hits_unlikely} of {empirical.samples})",
    )
    Console().print(table)


def _shown_ratio(certificate: Certificate) -> str:
    text = f"{certificate.ratio.numerator}/{certificate.ratio.denominator}"
    return text if len(text) <= 60 else "a fraction of long integers (--json shows it)"

"""The command line: `tacit channel`, `tacit audit`, `tacit plan`, `tacit simulate`, `tacit demo`."""

from __future__ import annotations

import json
import math
import sys
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import tacit
from tacit import audit as auditing
from tacit import channels, demo, display, planning, simulation
from tacit.errors import TacitError
from tacit_client import canonical, check
from tacit_client.certificate import Certificate
from tacit_client.channel import channel_id, parse_channel
from tacit_client.tables import Binned

EXIT_LEAKS = 1
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
        _refuse(error, as_json="--json" in sys.argv)


def _refuse(error: TacitError, as_json: bool, status: int = EXIT_REFUSED) -> NoReturn:
    if as_json:
        fields = {"code": error.code, "message": error.message}
        print(json.dumps({"error": fields | {"argument": error.argument, "hint": error.hint}}))
    else:
        print(f"tacit: {error} ({error.code})", file=sys.stderr)
    raise SystemExit(status)


def _progress() -> Progress:
    """A bar on the terminal, and nothing at all in a pipe or a log."""
    console = Console(stderr=True)
    return Progress(transient=True, disable=not console.is_terminal, console=console)


@app.command()
def version() -> None:
    """Print the version."""
    print(tacit.__version__)


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
        _refuse(error, as_json, EXIT_LEAKS if error.code == "channel_infinite_loss" else EXIT_REFUSED)
    with _progress() as progress:
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


@app.command(name="demo")
def run_demo(
    people: Annotated[int, typer.Option(help="How many people answer.")] = 10_000,
    devices: Annotated[
        int | None, typer.Option(help="How many of them by real devices; all if left out.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Bound of the privacy loss.")] = 1.0,
    seed: Annotated[int | None, typer.Option(help="Seed of the simulated people; fresh if left out.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw the result into this PNG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Run an adaptive study of real devices, and compare it with the truth and with other policies."""
    if plot is not None:
        display.require_plot(plot)
    with _progress() as progress:
        tasks = {name: progress.add_task(name, total=people) for name in demo.POLICIES}
        result = demo.run(
            people, devices, epsilon, seed, lambda name, more: progress.advance(tasks[name], more)
        )
    if as_json:
        print(json.dumps(demo.record(result)))
    else:
        demo.show(result, Console())
    if plot is not None:
        display.draw(result.shown, plot)
        if not as_json:
            print(f"The picture is in {plot}.")


@app.command()
def plan(
    k: Annotated[int, typer.Option(help="Number of categories.")],
    epsilon: Annotated[float | None, typer.Option(help="Bound of the privacy loss.")] = None,
    n: Annotated[int | None, typer.Option(help="How many people answer.")] = None,
    error: Annotated[float | None, typer.Option(help="Expected total variation error, such as 0.03.")] = None,
    theta: Annotated[
        str | None, typer.Option(help="Shares to plan for; even shares, the worst case.")
    ] = None,
    check_runs: Annotated[
        int, typer.Option("--check", help="Also simulate this many studies of that size.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Give two of epsilon, n and error: the third is solved for."""
    made = planning.plan(k, epsilon, n, error, None if theta is None else _shares(theta))
    checked = made.check(check_runs) if check_runs else None
    if as_json:
        record = {"k": k, "epsilon": made.epsilon, "n": made.n, "error": made.error, "simulated": checked}
        print(json.dumps(record | {"channel": made.channel.to_json()}))
        return
    console = Console(highlight=False)
    console.print(
        f"{made.n:,} people, epsilon {made.epsilon:g}: expected total variation error {made.error:.4f}"
    )
    share = made.error * 2 / k
    console.print(f"  about {share:.2%} a category, through {made.channel!r}")
    odds = math.exp(made.epsilon)
    console.print(
        f"  a report can multiply the odds of a suspicion by at most {odds:.3g}: "
        f"50% becomes {odds / (1 + odds):.1%}",
        soft_wrap=True,
    )
    if checked:
        console.print(
            f"  {check_runs} simulated studies: error {checked[0]:.4f} (standard error {checked[1]:.4f})"
        )


def _shares(text: str) -> list[float]:
    return [float(check.parse_decimal(part.strip(), "theta")) for part in text.split(",")]


@app.command()
def simulate(
    theta: Annotated[str, typer.Option(help="The true shares, such as 0.5,0.3,0.2.")],
    epsilon: Annotated[float, typer.Option(help="Bound of the privacy loss.")] = 1.0,
    n: Annotated[int, typer.Option(help="How many people answer.")] = 5_000,
    policy: Annotated[
        str,
        typer.Option(
            help="static-srr, static-subset, semi:0.9, fisher, entropy, tv_posterior, tv_marginal, mse, "
            "honest or risk."
        ),
    ] = "risk",
    kappa: Annotated[
        float, typer.Option(help="Share of epsilon for the subset, in policies over RRRR.")
    ] = 0.9,
    seed: Annotated[int, typer.Option(help="Seed of the people and of the sampler.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw the result into this PNG file.")] = None,
) -> None:
    """Run a simulated study and show what it would have learned."""
    shares = _shares(theta)
    if plot is not None:
        display.require_plot(plot)
    with _progress() as progress:
        task = progress.add_task("people answer", total=n)
        result = simulation.simulate(
            shares, epsilon, policy, n=n, kappa=kappa, seed=seed,
            progress=lambda done, total: progress.update(task, completed=done),
        )  # fmt: skip
    last = display.Look.at(result.posterior, result.channels[-1][0], n)
    labels = tuple(f"category {i}" for i in range(len(shares)))
    title = f"{n:,} private answers, policy {policy}, privacy loss at most {epsilon:g}"
    shown = display.Shown(title, labels, result.theta, {policy: (last,)})
    if as_json:
        record = {
            "tv": result.tv,
            "estimate": last.estimate.tolist(),
            "low": last.low.tolist(),
            "high": last.high.tolist(),
        }
        used = [{"channel": made.to_json(), "reports": reports} for made, reports in result.channels]
        print(json.dumps(record | {"rhat": float(result.posterior.rhat().max()), "rounds": used}))
    else:
        console = Console()
        console.print(title, highlight=False)
        for made, rounds in groupby(result.channels, key=lambda used: used[0]):
            reports = sum(count for _, count in rounds)
            console.print(f"  {reports:>9,} reports through {made!r}", highlight=False)
        console.print(display.table(shown, display.Marks.of(console)))
        console.print(f"Total variation error {result.tv:.4f}.", highlight=False)
    if plot is not None:
        display.draw(shown, plot)

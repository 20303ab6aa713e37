"""`tacit demo`, `tacit plan` and `tacit simulate`: for categories, and for a number."""

from __future__ import annotations

import json
import math
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tacit import demo, display, number_demo, number_display, number_plan, planning, simulation
from tacit.cli.base import app, progress_bar
from tacit.errors import TacitError
from tacit_client import Question, check


@app.command(name="demo")
def run_demo(
    people: Annotated[int, typer.Option(help="How many people answer.")] = 10_000,
    devices: Annotated[
        int | None, typer.Option(help="How many of them by real devices; all if left out.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Bound of the privacy loss.")] = 1.0,
    number: Annotated[bool, typer.Option("--number", help="Ask for a number instead of a category.")] = False,
    seed: Annotated[int | None, typer.Option(help="Seed of the simulated people; fresh if left out.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw the result into this PNG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Run an adaptive study of real devices, and compare it with the truth and with other policies."""
    if plot is not None:
        display.require_plot(plot)
    room: Any = number_demo if number else demo
    with progress_bar() as progress:
        tasks = {name: progress.add_task(name, total=people) for name in room.POLICIES}
        result = room.run(
            people, devices, epsilon, seed, lambda name, more: progress.advance(tasks[name], more)
        )
    if as_json:
        print(json.dumps(room.record(result)))
    else:
        room.show(result, Console())
    if plot is not None:
        (number_display if number else display).draw(result.shown, plot)
        if not as_json:
            print(f"The picture is in {plot}.")


@app.command()
def plan(
    k: Annotated[int | None, typer.Option(help="Number of categories.")] = None,
    scale: Annotated[
        float | None, typer.Option(help="For a number instead: the scale sigma of its answers.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Bound of the privacy loss.")] = None,
    n: Annotated[int | None, typer.Option(help="How many people answer.")] = None,
    error: Annotated[
        float | None,
        typer.Option(
            help="Expected total variation error, such as 0.03; of a number, the standard error of mu."
        ),
    ] = None,
    theta: Annotated[
        str | None, typer.Option(help="Shares to plan for; even shares, the worst case.")
    ] = None,
    family: Annotated[
        str, typer.Option(help="Law of a number: normal, logistic, laplace or student:5.")
    ] = "normal",
    check_runs: Annotated[
        int, typer.Option("--check", help="Also simulate this many studies of that size.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Give --k, or --scale for a number, and two of epsilon, n and error: the third is solved for."""
    if (k is None) == (scale is None):
        given = "neither --k nor --scale is" if k is None else "--k and --scale are both"
        raise TacitError(
            "argument_invalid",
            f"{given} given",
            argument="k",
            hint="give --k for categories, or --scale for a number",
        )
    if scale is not None:
        _plan_number(scale, epsilon, n, error, family, check_runs, as_json)
        return
    assert k is not None
    made = planning.plan(k, epsilon, n, error, None if theta is None else _numbers(theta, "theta"))
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
    _say_odds(console, made.epsilon)
    if checked:
        console.print(
            f"  {check_runs} simulated studies: error {checked[0]:.4f} (standard error {checked[1]:.4f})"
        )


def _plan_number(
    scale: float,
    epsilon: float | None,
    n: int | None,
    error: float | None,
    family: str,
    check_runs: int,
    as_json: bool,
) -> None:
    made = number_plan.plan_number(scale, epsilon, n, error, family)
    checked = made.check(check_runs) if check_runs else None
    if as_json:
        record = {"family": made.family, "scale": scale, "epsilon": made.epsilon, "n": made.n}
        print(json.dumps(record | {"error": made.error, "price": made.price, "simulated": checked}))
        return
    console = Console(highlight=False)
    console.print(f"{made.n:,} people, epsilon {made.epsilon:g}: standard error of mu {made.error:.4g}")
    console.print(f"  {made.price:.3g} private answers tell as much about mu as one without privacy")
    _say_odds(console, made.epsilon)
    if checked:
        console.print(
            f"  {check_runs} simulated studies: error {checked[0]:.4g} (standard error {checked[1]:.4g})"
        )


def _say_odds(console: Console, epsilon: float) -> None:
    odds = math.exp(epsilon)
    console.print(
        f"  a report can multiply the odds of a suspicion by at most {odds:.3g}: "
        f"50% becomes {odds / (1 + odds):.1%}",
        soft_wrap=True,
    )


def _numbers(text: str, argument: str) -> list[float]:
    try:
        return [float(check.answered_number(part.strip())) for part in text.split(",")]
    except TacitError:
        raise TacitError(
            "argument_invalid",
            f"{argument} is {check.shown(text)}",
            argument=argument,
            hint="give decimal numbers with commas between them",
        ) from None


@app.command()
def simulate(
    theta: Annotated[
        str, typer.Option(help="The true shares, such as 0.5,0.3,0.2; of a number, mu,sigma such as 50,8.")
    ],
    epsilon: Annotated[float, typer.Option(help="Bound of the privacy loss.")] = 1.0,
    n: Annotated[int, typer.Option(help="How many people answer.")] = 5_000,
    model: Annotated[
        str | None, typer.Option(help="For a number: normal, logistic, laplace or student:5.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            help="static-srr, static-subset, static-hashed, semi:0.9, fisher, entropy, tv_posterior, tv_marginal, mse, "
            "honest or, if left out, risk; of a number: information:mu, information:sigma, truncation, "
            "static or, if left out, information."
        ),
    ] = None,
    kappa: Annotated[
        float, typer.Option(help="Share of epsilon for the subset, in policies over RRRR.")
    ] = 0.9,
    span: Annotated[
        str | None, typer.Option(help="Of a number: lowest,highest,step of its question, such as 0,120,1.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the people and of the sampler.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw the result into this PNG file.")] = None,
) -> None:
    """Run a simulated study and show what it would have learned."""
    truth = _numbers(theta, "theta")
    if span is not None and model is None:
        raise TacitError(
            "argument_invalid",
            "--span goes with --model",
            argument="span",
            hint="give --model normal, or leave --span out",
        )
    if plot is not None:
        display.require_plot(plot)
    options: dict[str, Any] = {"n": n, "kappa": kappa, "seed": seed}
    if model is not None:
        options |= {"model": model, "question": None if span is None else _question(span)}
    with progress_bar() as progress:
        task = progress.add_task("people answer", total=n)
        result = simulation.simulate(
            truth,
            epsilon,
            policy,
            progress=lambda done, total: progress.update(task, completed=done),
            **options,
        )
    if model is None:
        _show_categories(result, f"policy {policy or 'risk'}", epsilon, as_json, plot)
    else:
        _show_number(result, f"policy {policy or 'information'}", epsilon, as_json, plot)


def _question(span: str) -> Question:
    parts = [part.strip() for part in span.split(",")]
    if len(parts) != 3:
        raise TacitError(
            "argument_invalid",
            f"span is {check.shown(span)}",
            argument="span",
            hint="give lowest,highest,step, such as 0,120,1",
        )
    return Question("number", "What is your number?", (), "units", *parts)


def _show_categories(result: Any, how: str, epsilon: float, as_json: bool, plot: Path | None) -> None:
    n = _people(result)
    last = display.Look.at(result.posterior, result.channels[-1][0], n)
    labels = tuple(f"category {i}" for i in range(len(result.theta)))
    title = f"{n:,} private answers, {how}, privacy loss at most {epsilon:g}"
    shown = display.Shown(title, labels, result.theta, {how: (last,)})
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
        _say_channels(console, result)
        console.print(display.table(shown, display.Marks.of(console)))
        console.print(f"Total variation error {result.tv:.4f}.", highlight=False)
    if plot is not None:
        display.draw(shown, plot)


def _show_number(result: Any, how: str, epsilon: float, as_json: bool, plot: Path | None) -> None:
    n = _people(result)
    last = number_display.NumberLook(result.posterior, result.channels[-1][0], n)
    title = f"{n:,} private answers, {how}, privacy loss at most {epsilon:g}"
    shown = number_display.NumberShown(title, str(result.question.unit), result.theta, {how: (last,)})
    if as_json:
        used = [{"channel": made.to_json(), "reports": reports} for made, reports in result.channels]
        log_evidence = result.posterior.log_evidence
        record = number_display.record(last, result.theta)
        print(json.dumps(record | {"log_evidence": log_evidence, "rounds": used}))
    else:
        console = Console()
        console.print(title, highlight=False)
        _say_channels(console, result)
        console.print(number_display.table(shown, display.Marks.of(console)))
        mu, sigma = result.error
        console.print(f"Errors: mu {mu:.4g}, sigma {sigma:.4g}.", highlight=False)
    if plot is not None:
        number_display.draw(shown, plot)


def _people(result: Any) -> int:
    return sum(count for _, count in result.channels)


def _say_channels(console: Console, result: Any) -> None:
    for made, rounds in groupby(result.channels, key=lambda used: used[0]):
        reports = sum(count for _, count in rounds)
        console.print(f"  {reports:>9,} reports through {made!r}", highlight=False, soft_wrap=True)

"""A claim with its verdict, and the tables that show many: on the terminal and in the README."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"


class Claim(NamedTuple):
    """`says` in our words, `holds` ("yes", "no" or a count), what was `measured`, and the `numbers` behind it."""

    says: str
    holds: str
    measured: str
    numbers: dict[str, Any]


def share_word(part: int, whole: int) -> str:
    """A verdict from a count."""
    return "yes" if part == whole else "no" if part == 0 else f"in {part} of {whole}"


CLAIM_HEAD = ("claim", "holds", "measured")
CELL_HEAD = (
    "K", "epsilon", "rho", "SRR", "best alpha", "honest", "honest / SRR", "published honest", "its epsilon",
    "likelihood", "best of 12", "best of all variants",
)  # fmt: skip


def cell_row(row: dict[str, Any]) -> list[str]:
    """One row of the table of cells, in the order of CELL_HEAD."""
    k, epsilon, rho = row["cell"]
    alpha, best = row["best alpha"], row["best of all"]
    value, error = row["honest / srr"]
    return [
        str(k), f"{epsilon:g}", f"{rho:g}", f"{row['srr']:.3f}", f"{alpha[0]:.3f} ({alpha[1].split()[-1]})",
        f"{row['honest']:.3f}", f"{value:.2f} ({error:.2f})", f"{row['published honest']:.3f}",
        f"{row['true epsilon']:.2f}", f"{row['likelihood']:.3f}", f"{row['best of 12']:.3f}",
        f"{best[0]:.3f} ({best[1]})",
    ]  # fmt: skip


def show(made: dict[str, Any], markdown: bool) -> None:
    """Print the tables."""
    if markdown:
        print(tables(made))
        return
    console = Console(width=200)
    for head, rows in ((CLAIM_HEAD, claim_rows(made)), (CELL_HEAD, map(cell_row, made["cells"]))):
        table = Table(*head)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    console.print(made["runs"])


def claim_rows(made: dict[str, Any]) -> list[list[str]]:
    """The rows of the table of claims."""
    return [[claim["says"], claim["holds"], claim["measured"]] for claim in made["claims"]]


def tables(made: dict[str, Any]) -> str:
    """Both tables in Markdown."""
    parts = [f"Made from {made['runs']}.", ""]
    for head, rows in ((CLAIM_HEAD, claim_rows(made)), (CELL_HEAD, map(cell_row, made["cells"]))):
        parts += [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)] + [""]
    return "\n".join(parts)


def write_readme(made: dict[str, Any], path: Path = README) -> None:
    """Replace what stands between the two marks."""
    text = path.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"{path.name} needs the lines {BEGIN} and {END}, once each")
    before, rest = text.split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n{tables(made)}{END}{rest.split(END)[1]}")

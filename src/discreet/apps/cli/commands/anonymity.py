"""`discreet anonymity`: how anonymous a table would be if it were published as it stands."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from discreet.apps.cli.options import Json, Picture, print_json, save_picture
from discreet.apps.cli.screen import screen, table, working
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.checks.anonymity import Anonymity, Hierarchy

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer(add_completion=False)

_EXPLAINED = {
    "k": "rows of the smallest class: the table is k-anonymous",
    "distinct": "sensitive values in the poorest class: distinct l-diversity",
    "entropy": "e to the least entropy of a class: entropy l-diversity",
    "recursive": "recursive (c, l)-diversity holds for larger c",
    "closeness": "the farthest class from the whole table: t-closeness",
}


Data = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV, Parquet or Arrow file.")]
Population = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Everybody who could be in the table: adds delta-presence.")
]
Ordered = Annotated[
    bool, typer.Option("--ordered", help="Sensitive values lie on a line; without it, all are equally far apart.")
]
Tree = Annotated[
    Path | None,
    typer.Option(
        "--hierarchy",
        metavar="FILE",
        help="A CSV file without a head: each sensitive value, then what it is called ever more generally.",
    ),
]


@app.command()
def anonymity(
    data: Data,
    *,
    quasi: Annotated[str, typer.Option(metavar="COLUMNS", help="What others may know, such as zip,age,sex.")],
    sensitive: Annotated[str | None, typer.Option(metavar="COLUMN", help="What they should not learn.")] = None,
    level: Annotated[int, typer.Option(metavar="L", help="The l of recursive (c, l)-diversity.")] = 2,
    ordered: Ordered = False,
    tree: Tree = None,
    population: Population = None,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="The most to hold at once, such as 1GB.")] = None,
    as_json: Json = False,
    plot: Picture = None,
) -> None:
    """Measure k-anonymity, l-diversity, t-closeness and presence, and name the classes that are worst off.

    This is for the owner: what it prints are exact facts about private rows, and no noise protects them. Nothing is
    charged or recorded. A class is the rows that agree in all quasi-identifiers; a missing value counts as a value.
    A table that passes all of these can still be broken: see discreet attack.

    Example: discreet anonymity patients.csv --quasi zip,age,sex --sensitive disease
    """
    from discreet.checks.anonymity import anonymity as measure

    if ordered and tree is not None:
        message = "--ordered and --hierarchy are two distances; give one of them."
        raise ParameterError(message)
    by_tree = None if tree is None else _read_tree(tree)
    with working("reading all rows"):
        facts = measure(
            data,
            [name.strip() for name in quasi.split(",")],
            sensitive,
            level=level,
            distance=by_tree or ("ordered" if ordered else "equal"),
            population=population,
            memory=memory,
        )
    if plot is not None:
        save_picture(facts.plot, plot)
    if as_json:
        print_json(facts.record())
    else:
        _show(facts)


def _read_tree(file: Path) -> Hierarchy:
    """Read a hierarchy, a value and its way upward in each line."""
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if row]
    except (OSError, UnicodeError, csv.Error):
        message = f"--hierarchy {str(file)!r} cannot be read; it must be a CSV file, such as: flu,lungs,illness."
        raise ParameterError(message) from None
    return {row[0]: row[1:] for row in rows}


def _show(facts: Anonymity) -> None:
    """Write the measures as a table, and below it the smallest classes."""
    lines = screen()
    lines.print("exact facts about private rows, for their owner alone")
    lines.print(f"{facts.rows} rows, {facts.classes} classes, {facts.unique} rows alone in theirs")
    lines.print(f"chance to name the person of a row: {facts.risk:.4g} on average, {1 / facts.k:.4g} at worst")
    rows = [
        [name if name != "recursive" else f"recursive, l = {facts.level}", f"{groups[0].measure:.4g}", _EXPLAINED[name]]
        for name, groups in facts.worst.items()
    ]
    if facts.presence is not None:
        low, high = facts.presence
        rows.append(["presence", f"{low:.4g} – {high:.4g}", "chance that somebody of the population is in"])
    lines.print(table(["measure", "worst class", "what it says"], rows, numbers=["worst class"]))
    for name, groups in facts.worst.items():
        lines.print(f"  [bold]worst by {name}[/]  {escape(str(groups[0]))}")

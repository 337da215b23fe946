"""`discreet mechanisms`: what there is, its promise, its error, who proved it."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.apps.cli.options import Json, print_json
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.mechanisms import Mechanism

__all__ = ["SECTION", "app"]

SECTION = "Calculate"

app = typer.Typer(add_completion=False)

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="One mechanism, such as Laplace; all without it.")]


@app.command()
def mechanisms(name: Name = None, *, as_json: Json = False) -> None:
    """List every mechanism with its guarantee, the formula of its error, and its source.

    Example: discreet mechanisms Laplace
    """
    from discreet.exact import shown
    from discreet.mechanisms import registered
    from discreet.tables.nearest import hint

    rows = [_row(mechanism) for mechanism in registered().values()]
    if name is not None:
        chosen = [row for row in rows if name.lower() in {row["name"].lower(), row["kind"]}]
        if not chosen:
            known = [row["name"] for row in rows]
            near = hint(name, known)
            message = f"{shown(name)} is no mechanism.{near} `discreet mechanisms` shows all {len(known)}."
            raise ParameterError(message)
        rows = chosen
    if as_json:
        print_json({"mechanisms": rows})
    else:
        _print_rows(rows)


def _row(mechanism: type[Mechanism[Any, Any]]) -> dict[str, str]:
    """Return what a mechanism says of itself."""
    from discreet.mechanisms.registry import GROUPS

    group = mechanism.__module__.split(".")[-2]
    return {
        "name": mechanism.__name__,
        "kind": mechanism.kind,
        "group": GROUPS[group],
        "summary": (mechanism.__doc__ or "").partition("\n")[0],
        "guarantee": mechanism.guarantee,
        "error": mechanism.accuracy,
        "source": mechanism.source,
    }


def _print_rows(rows: list[dict[str, str]]) -> None:
    """Answer a person: group by group, no line longer than the screen."""
    width = max(60, min(shutil.get_terminal_size().columns, 120))
    group = ""
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            typer.echo(f"{group}\n{'=' * len(group)}\n")
        typer.echo(f"{row['name']}: {row['summary']}")
        for label in ("guarantee", "error", "source"):
            typer.echo(textwrap.fill(f"  {label:<11}{row[label]}", width, subsequent_indent=" " * 13))
        typer.echo("")

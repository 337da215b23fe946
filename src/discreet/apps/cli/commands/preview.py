"""`discreet preview`: what a question would promise, cost and err by, for free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.asking import Asked, asking
from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import amounts, charges_record, charges_text, left_text

if TYPE_CHECKING:
    from discreet.releases import Preview

__all__ = ["SECTION", "app"]

SECTION = "Ask"

app = typer.Typer(add_completion=False)

Expected = Annotated[
    int | None,
    typer.Option("--expected-count", min=1, metavar="COUNT", help="How many rows you expect in a group, for means."),
]
Explain = Annotated[bool, typer.Option("--explain", help="Also show the plan: what one unit can move, and why.")]


@app.command()
@asking
def preview(asked: Asked, *, expected_count: Expected = None, explain: Explain = False, as_json: Json = False) -> None:
    """Show the ± of each column before anything is spent, from public facts alone; nothing is read or charged.

    Example: discreet preview hospital.toml "SELECT COUNT(*) AS n FROM visits" --epsilon 0.5
    """
    with asked.open() as db:
        question = db.sql(asked.sql)
        found = question.preview(**asked.price, expected_count=expected_count)
        plan = question.explain() if explain else None
    if as_json:
        print_json(_record(found, plan))
    else:
        _show(found, plan)


def _show(found: Preview, plan: str | None) -> None:
    """Write the preview for a person."""
    from discreet.privacy.readings import cost_text

    if plan is not None:
        typer.echo(f"{plan}\n")
    for name, error in found.errors.items():
        if error is not None:
            typer.echo(f"{name} ± {cost_text(error, 4)}")
    for name, note in found.notes.items():
        typer.echo(f"{name}: {note.replace('expected_count=', '--expected-count 1000')}")
    told = "asked before; " if found.repeated else ""
    if found.remaining is not None:
        charge = charges_text(found.charges) + ("" if found.fits else ", which does not fit")
        typer.echo(f"{found.promise}; {told}would charge {charge}; left: {left_text(found.remaining)}")


def _record(found: Preview, plan: str | None) -> dict[str, object]:
    return {
        "errors": found.errors,
        "notes": found.notes,
        "promise": found.promise,
        **charges_record(found.charges),
        "repeated": found.repeated,
        "fits": found.fits,
        "left": None if found.remaining is None else amounts(found.remaining),
        **({} if plan is None else {"plan": plan}),
    }

"""`discreet preview`: what a question would promise, cost and err by, for free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.asking import QuestionOptions, asking
from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import amounts, charges_record, charges_text, folded, whole_text

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
def preview(
    asked: QuestionOptions, *, expected_count: Expected = None, explain: Explain = False, as_json: Json = False
) -> None:
    """Show the ± of each column before anything is spent, from public facts alone; nothing is read or charged.

    Example: discreet preview hospital.toml "SELECT COUNT(*) AS n FROM visits" --epsilon 0.5
    """
    with asked.open() as db:
        question = db.sql(asked.sql, dialect=asked.dialect)
        preview = question.preview(**asked.price, expected_count=expected_count)
        plan = question.explain() if explain else None
    if as_json:
        print_json(_record(preview, plan))
    else:
        _show(preview, plan)


def _show(preview: Preview, plan: str | None) -> None:
    """Write the preview for a person."""
    from discreet.exact.rational import cost_text

    if plan is not None:
        typer.echo(f"{plan}\n")
        for title, amount in preview.charges.items():
            typer.echo(f"charge to {title}: {whole_text(amount)}")
    for name, error in preview.errors.items():
        if error is not None:
            typer.echo(f"{name} ± {cost_text(error, 4)}")
    for name, note in preview.notes.items():
        typer.echo(folded(f"{name}: {note.replace('expected_count=', '--expected-count 1000')}"))
    told = "asked before; " if preview.repeated else ""
    if preview.remaining is not None:
        charge = charges_text(preview.charges) + ("" if preview.fits else ", which does not fit")
        typer.echo(folded(f"{preview.promise}; {told}would charge {charge}; {preview.usage}"))


def _record(preview: Preview, plan: str | None) -> dict[str, object]:
    return {
        "errors": preview.errors,
        "notes": preview.notes,
        "promise": preview.promise,
        **charges_record(preview.charges),
        "repeated": preview.repeated,
        "fits": preview.fits,
        "left": None if preview.remaining is None else amounts(preview.remaining),
        **({} if plan is None else {"plan": plan}),
    }

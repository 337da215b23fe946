"""`discreet explain`: what a promise means, in plain words."""

from __future__ import annotations

import shutil
from typing import Annotated

import typer

from discreet.apps.cli.options import Json, print_json
from discreet.checks.reports import Audience, explain

__all__ = ["SECTION", "app"]

SECTION = "Start"

app = typer.Typer(add_completion=False)

Epsilon = Annotated[str, typer.Option(metavar="NUMBER", help="The epsilon of the promise.")]
Delta = Annotated[str, typer.Option(metavar="NUMBER", help="Its delta, at least 0 and below 1.")]
People = Annotated[int | None, typer.Option("--n", metavar="COUNT", help="How many people are protected, if public.")]
For = Annotated[Audience, typer.Option("--for", help="Who reads it.")]


@app.command(name="explain")
def command(
    *, epsilon: Epsilon, delta: Delta = "0", n: People = None, audience: For = Audience.PUBLIC, as_json: Json = False
) -> None:
    """Say in plain words, with numbers, what a promise means: to the public, to policy makers, to engineers.

    Example: discreet explain --epsilon 1 --delta 1e-6 --n 20000 --for policy
    """
    explanation = explain(epsilon=epsilon, delta=delta, n=n, audience=audience)
    if as_json:
        print_json(explanation.record())
    else:
        typer.echo(explanation.text(max(40, min(shutil.get_terminal_size().columns, 88))))

"""`discreet explain`: what a promise means, in plain words."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from discreet.apps.cli.opening import read_policy
from discreet.apps.cli.options import Json, number_option, print_json
from discreet.checks.reports import Audience, explain
from discreet.errors import ParameterError

__all__ = ["SECTION", "app"]

SECTION = "Start"

app = typer.Typer(add_completion=False)

Epsilon = Annotated[str | None, number_option("The epsilon of the promise.")]
Delta = Annotated[str | None, number_option("Its delta, at least 0 and below 1; 0 if not given.")]
Whose = Annotated[Path | None, typer.Option("--policy", metavar="FILE", help="Explain what a policy promises in all.")]
People = Annotated[int | None, typer.Option("--n", metavar="COUNT", help="How many people are protected, if public.")]
For = Annotated[Audience, typer.Option("--for", help="Who reads it.")]


@app.command(name="explain")
def command(
    *,
    epsilon: Epsilon = None,
    delta: Delta = None,
    policy: Whose = None,
    n: People = None,
    audience: For = Audience.PUBLIC,
    as_json: Json = False,
) -> None:
    """Say in plain words, with numbers, what a promise means: to the public, to policy makers, to engineers.

    Example: discreet explain --epsilon 1 --delta 1e-6 --n 20000 --for policy
    """
    if policy is not None and (epsilon is not None or delta is not None):
        message = "--policy has an epsilon and a delta of its own; give the one or the others."
        raise ParameterError(message)
    if policy is not None:
        budget, people = read_policy(policy).budget, [size for _, size in read_policy(policy).population]
        known = n if n is not None else people[0] if len(people) == 1 and people[0] > 0 else None
        explanation = explain(epsilon=budget.epsilon, delta=budget.delta, n=known, audience=audience)
    elif epsilon is not None:
        explanation = explain(epsilon=epsilon, delta=delta or 0, n=n, audience=audience)
    else:
        message = "give the promise: --epsilon 1 --delta 1e-6, or --policy hospital.toml."
        raise ParameterError(message)
    if as_json:
        print_json(explanation.record())
    else:
        typer.echo(explanation.text(max(40, min(shutil.get_terminal_size().columns, 88))))

"""`discreet describe`: what can be asked: tables, columns, bounds and keys."""

from __future__ import annotations

import typer

from discreet.apps.cli.opening import Analyst, PolicyFile, read_policy
from discreet.apps.cli.options import Json, naming_options, print_json

__all__ = ["SECTION", "app"]

SECTION = "Ask"

app = typer.Typer(add_completion=False)


@app.command()
def describe(policy: PolicyFile, *, analyst: Analyst = None, as_json: Json = False) -> None:
    """List the tables and columns of a policy, and what can be asked of them; neither data nor ledger are opened.

    Example: discreet describe hospital.toml
    """
    from discreet.ledgers.records import require_analyst
    from discreet.releases.showing.description import Description

    facts = read_policy(policy)
    with naming_options(["analyst"]):
        if analyst is not None:
            require_analyst(facts, analyst)
    description = Description(facts, analyst)
    if as_json:
        print_json(description.to_dict())
    else:
        typer.echo(str(description))

"""`discreet budget`: what is spent and left, by whom and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from discreet.apps.cli.opening import PolicyFile, open_books
from discreet.apps.cli.options import Json, print_json
from discreet.exact import counted

if TYPE_CHECKING:
    from discreet.ledgers import Ledger

__all__ = ["SECTION", "app"]

SECTION = "Ask"

app = typer.Typer(add_completion=False)


@app.command()
def budget(policy: PolicyFile, *, as_json: Json = False) -> None:
    """Show what is spent and left of the dataset's budget, and of those of analysts and purposes.

    Example: discreet budget hospital.toml
    """
    ledger: Ledger
    with open_books(policy) as ledger:
        statement = ledger.statement
    if as_json:
        print_json(statement.to_dict())
    else:
        typer.echo(str(statement))
        typer.echo(f"{counted(statement.entries, 'entry')}; head {statement.head}")

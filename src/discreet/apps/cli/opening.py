"""Open what a command works on: a policy file, the ledger beside it, the database behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.database import Database
    from discreet.ledgers import Ledger
    from discreet.tables import Policy

__all__ = [
    "Analyst",
    "PolicyFile",
    "Purpose",
    "open_books",
    "open_database",
    "read_policy",
]

PolicyFile = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file, such as hospital.toml.")]
Analyst = Annotated[str | None, typer.Option(metavar="NAME", help="Who asks; needed where the policy names analysts.")]
Purpose = Annotated[str | None, typer.Option(metavar="NAME", help="What for; needed where the policy names purposes.")]


_LAST = 8  # entries that could have been written since a ledger was opened a moment ago


def read_policy(path: Path) -> Policy:
    """Read a policy file; a name that is not there is answered with the nearest one that is."""
    from discreet.tables import Policy
    from discreet.tables.nearest import hint

    if not path.is_file():
        there = sorted(file.name for file in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        message = f"there is no policy file {str(path)!r}.{hint(path.name, there)} `discreet init DATA` proposes one."
        raise ParameterError(message)
    return Policy.read(path)


def open_books(path: Path) -> Ledger:
    """Open the ledger of a policy file; the data is not touched."""
    from discreet.ledgers import open_ledger
    from discreet.ledgers.line import now

    before = now()
    ledger = open_ledger(read_policy(path), file=path)
    _tell_edits(ledger, before)
    return ledger


def open_database(path: Path, analyst: str | None, purpose: str | None) -> Database:
    """Open the database of a policy file for somebody and something."""
    from discreet.apps.cli.screen import working
    from discreet.database import open as open_policy
    from discreet.ledgers.line import now

    read_policy(path)
    before = now()
    with working("opening the source"):
        db = open_policy(path, analyst=analyst, purpose=purpose)
    _tell_edits(db.ledger, before)
    return db


def _tell_edits(ledger: Ledger, before: str) -> None:
    """Say beside the answer that an edit of the policy was entered: who only wanted to look wrote something."""
    for line in ledger.entries(start=max(0, ledger.head.number - _LAST), kind="policy"):
        if line.time >= before:
            edits = "; ".join(map(str, line.body.get("changes", ())))
            typer.echo(
                f"discreet: the policy was edited, which is entry {line.number} of its ledger now: {edits}", err=True
            )

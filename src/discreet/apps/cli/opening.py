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

__all__ = ["Analyst", "PolicyFile", "Purpose", "Question", "open_books", "open_database", "read_policy"]

PolicyFile = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file, such as hospital.toml.")]
Question = Annotated[str, typer.Argument(metavar="SQL", help="The question, in quotes.")]
Analyst = Annotated[str | None, typer.Option(metavar="NAME", help="Who asks; needed where the policy names analysts.")]
Purpose = Annotated[str | None, typer.Option(metavar="NAME", help="What for; needed where the policy names purposes.")]


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

    return open_ledger(read_policy(path), file=path)


def open_database(path: Path, analyst: str | None, purpose: str | None) -> Database:
    """Open the database of a policy file for somebody and something."""
    from discreet.apps.cli.screen import working
    from discreet.database import open as open_policy

    read_policy(path)
    with working("opening the source"):
        return open_policy(path, analyst=analyst, purpose=purpose)

"""`discreet verify`: whether the ledger is what it was."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.apps.cli.opening import PolicyFile, read_policy
from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import working
from discreet.errors import LedgerError, ParameterError

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer(add_completion=False)

Head = Annotated[
    str | None, typer.Option(metavar="HEAD", help="A head that was printed with an answer: finds a cut tail.")
]


@app.command()
def verify(policy: PolicyFile, *, head: Head = None, as_json: Json = False) -> None:
    """Check every hash, every sum and every budget of the ledger; the exit code is 5 if something is wrong.

    Example: discreet verify hospital.toml --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    """
    from discreet.ledgers import verify_ledger

    if head is not None:
        _check_head(head)
    stated = read_policy(policy)
    with working("reading the ledger"):  # one that was cut or edited is refused at opening, but looked at here
        verification = verify_ledger(stated, file=policy, head=head)
    if as_json:
        record = {"ok": verification.ok, "entries": verification.entries, "head": verification.head}
        print_json({**record, "problems": list(verification.problems), "remarks": list(verification.remarks)})
    else:
        typer.echo(str(verification))
    raise typer.Exit(0 if verification.ok else 5)


def _check_head(text: str) -> None:
    """Refuse what is no head: a wrong argument, and no fault of the ledger."""
    from discreet.ledgers.page import Head as KnownHead

    try:
        KnownHead.read(text)
    except LedgerError as error:
        message = f"--head: {error}"
        raise ParameterError(message) from None

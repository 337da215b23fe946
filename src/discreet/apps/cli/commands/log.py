"""`discreet log`: every entry of the ledger, the newest last."""

from __future__ import annotations

import shutil
import textwrap
from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.opening import PolicyFile, open_books
from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import screen, whole_text
from discreet.exact import counted
from discreet.ledgers.line import printable

if TYPE_CHECKING:
    from discreet.ledgers.line import Line

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer(add_completion=False)

Last = Annotated[int, typer.Option("--last", min=1, metavar="COUNT", help="How many entries; the newest.")]
Kind = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="Only entries of one kind: reserved, recorded, policy, check, stopped, …"),
]


@app.command()
def log(policy: PolicyFile, *, last: Last = 20, kind: Kind = None, as_json: Json = False) -> None:
    """Show who asked what, when, and what it cost. With --json all of each entry, one object per line.

    Example: discreet log hospital.toml --last 50
    """
    with open_books(policy) as ledger:
        lines = deque(ledger.entries(kind=kind), maxlen=last)
        stopped = sum(1 for _ in ledger.entries(kind="stopped"))
    if as_json:
        for line in lines:
            print_json({"number": line.number, "kind": line.kind, "time": line.time, "hash": line.hash, **line.body})
        return
    for line in lines:
        _show(line)
    if stopped:
        typer.echo(
            textwrap.fill(
                f"{counted(stopped, 'question')} took longer than the policy lets them. That, and when, is seen by who "
                "asked, and no epsilon covers it: look at who asks them (--kind stopped).",
                _width(),
            )
        )


def _show(line: Line) -> None:
    """Write an entry in one line or two; what was asked is folded to the width of the screen."""
    who = " for ".join(str(line.body[word]) for word in ("analyst", "purpose") if line.body.get(word))
    cost = "" if line.cost is None or line.kind == "recorded" else whole_text(line.cost)
    facts = "  ".join(filter(None, (f"{line.number:>4}", line.time[:19].replace("T", " "), line.kind, who, cost)))
    screen().print(facts, markup=False)
    said = " ".join(printable(_said(line)).split())
    if said:
        typer.echo(textwrap.fill(said, _width(), initial_indent=" " * 6, subsequent_indent=" " * 6))


def _said(line: Line) -> str:
    """Say what an entry is about."""
    body = line.body
    if line.kind in {"recorded", "part"}:
        return f"answer to {line.reservation}"
    if line.kind == "shared":
        return f"stored answer of {', '.join(map(str, body.get('reservations', ())))}"
    if line.kind == "policy":
        return "; ".join(map(str, body.get("changes", ())))
    if line.kind == "check":
        tables = ", ".join(map(str, body.get("tables", ())))
        return f"unique columns of {tables} are believed" if tables else str(body.get("what", ""))
    promise = f"  ({body['promise']})" if body.get("promise") else ""
    return f"{body.get('asked') or body.get('what') or body.get('dataset') or ''}{promise}"


def _width() -> int:
    return max(40, min(shutil.get_terminal_size().columns, 120))

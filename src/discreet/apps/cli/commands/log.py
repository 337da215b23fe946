"""`discreet log`: every entry of the ledger, the newest last."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.opening import PolicyFile, open_books
from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import screen, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.ledgers.line import Line

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer()

Last = Annotated[int, typer.Option("--last", min=1, metavar="COUNT", help="How many entries; the newest.")]
Kind = Annotated[
    str | None, typer.Option(metavar="KIND", help="Only entries of one kind: reserved, recorded, policy, check, …")
]


@app.command()
def log(policy: PolicyFile, *, last: Last = 20, kind: Kind = None, as_json: Json = False) -> None:
    """Show who asked what, when, and what it cost. With --json all of each entry, one object per line.

    Example: discreet log hospital.toml --last 50
    """
    with open_books(policy) as ledger:
        lines = deque(ledger.entries(kind=kind), maxlen=last)
    if as_json:
        for line in lines:
            print_json({"number": line.number, "kind": line.kind, "time": line.time, "hash": line.hash, **line.body})
        return
    screen().print(table(["no", "time (UTC)", "entry", "who", "what", "charge"], _rows(lines), numbers=["no"]))


def _rows(lines: Iterable[Line]) -> Iterable[list[str]]:
    for line in lines:
        who = ", ".join(str(line.body[word]) for word in ("analyst", "purpose") if line.body.get(word))
        what = line.body.get("asked") or line.body.get("what") or line.body.get("promise") or ""
        charged = next((str(charge) for scope, _, charge in line.charges if scope == "dataset"), "")
        if line.kind == "recorded":
            what, charged = f"answer to {line.reservation}", ""
        yield [str(line.number), line.time[:19].replace("T", " "), line.kind, who, " ".join(str(what).split()), charged]

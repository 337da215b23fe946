"""`discreet check`: verify what the policy declares about the data, and record it."""

from __future__ import annotations

import typer

from discreet.apps.cli.opening import PolicyFile, open_books, read_policy
from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import screen, working

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer(add_completion=False)


@app.command()
def check(policy: PolicyFile, *, as_json: Json = False) -> None:
    """Read all rows and tell whether declared uniqueness and rows per unit hold; what does is recorded for the version.

    This is for the owner: what it prints are exact facts about private rows. What does not hold is enforced all the
    same. Exit code 5: columns that are declared unique repeat. Tables and columns that are missing are named.

    Example: discreet check hospital.toml
    """
    from discreet.engines import open_engine

    stated = read_policy(policy)
    with working("reading all rows"), open_engine(stated, relative_to=policy.parent) as engine:
        found = engine.verify(stated)
    holding = [str(fact) for fact, holds in found.items() if holds]
    broken = [str(fact) for fact, holds in found.items() if not holds and fact.most == 1]
    exceeded = [str(fact) for fact, holds in found.items() if not holds and fact.most > 1]
    with open_books(policy) as ledger:
        head = ledger.note("check", "declared facts", {"version": stated.version, "verified": holding})
    if as_json:
        print_json(
            {"version": stated.version, "holds": holding, "exceeded": exceeded, "broken": broken, "head": str(head)}
        )
    else:
        lines = screen()
        lines.print(
            f"{len(stated.tables)} tables of {stated.dataset}, version {stated.version}, are there as declared."
        )
        for text in holding:
            lines.print(f"  [green]holds[/]     {text}")
        for text in exceeded:
            lines.print(f"  [yellow]exceeded[/]  {text}; so many are kept")
        for text in broken:
            lines.print(f"  [red]broken[/]    {text}; one is kept. Correct the data, or the policy")
        lines.print(f"recorded what holds; head {head}")
    raise typer.Exit(5 if broken else 0)

"""`discreet check`: report to the owner what does not hold, and what reading loses."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from discreet.apps.cli.opening import PolicyFile, read_policy
from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import screen, working
from discreet.apps.cli.spoiling import show_losses, split, spoiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.tables import Policy

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer(add_completion=False)


Final = Annotated[
    bool,
    typer.Option(
        "--final",
        help="The rows of this version will not change any more: uniqueness that holds is then not enforced again.",
    ),
]


@app.command()
def check(policy: PolicyFile, *, final: Final = False, as_json: Json = False) -> None:
    """Read all rows and report what does not hold, and what reading them as declared loses.

    This is for the owner: what it prints are exact facts about private rows, and a policy that is fitted to them tells
    of them. The ledger, which analysts may see, only records that a check was made. What does not hold is enforced all
    the same. With --final, if all unique columns hold, that is recorded too, and believed until the next check, version
    or edit of the policy, which makes questions quicker and joins less noisy; rows that change all the same would not
    be protected by it. Exit code 5: columns that are declared unique repeat, and nothing is believed. Tables and
    columns that are missing are named.

    Example: discreet check hospital.toml
    """
    from discreet.engines import open_engine
    from discreet.ledgers import open_ledger

    stated = read_policy(policy)
    with open_ledger(stated, file=policy) as ledger:  # first, so that an edit in the meantime is noticed
        with working("reading all rows"), open_engine(stated, relative_to=policy.parent) as engine:
            stated = engine.policy
            verified = engine.verify(stated)
            lost = engine.losses(stated)
        outcome = {
            "holds": [str(fact) for fact, holds in verified.items() if holds],
            "exceeded": [str(fact) for fact, holds in verified.items() if not holds and fact.most > 1],
            "broken": [str(fact) for fact, holds in verified.items() if not holds and fact.most == 1],
        }
        tables = _unique_tables(stated) if final and not outcome["broken"] else []
        # Who may read the ledger must not learn what was found: a check that failed looks like one that was not final.
        facts: dict[str, object] = {"version": stated.version, "final": bool(tables), "tables": tables}
        if read := {table.name: table.read for table in stated.tables if table.read}:
            facts["read"] = read  # of public tables
        head = ledger.note("check", "declared facts", facts)
    if as_json:
        rows = [asdict(table) for table in lost]
        report = {"tables": rows, "spoils": spoiled(stated, lost), "split": split(stated, lost)}
        print_json({"version": stated.version, **outcome, **report, "believed": tables, "head": str(head)})
    else:
        show_losses(stated, lost)
        _show(stated, outcome, tables, head)
    raise typer.Exit(5 if outcome["broken"] else 0)


def _unique_tables(policy: Policy) -> list[str]:
    """The private tables with unique columns."""
    return [table.name for table in policy.tables if table.private and table.unique]


def _show(policy: Policy, outcome: Mapping[str, list[str]], tables: list[str], head: str) -> None:
    """Write for a person what was found."""
    lines = screen()
    for text in outcome["holds"]:
        lines.print(f"  [green]holds[/]     {escape(text)}")
    for text in outcome["exceeded"]:
        lines.print(f"  [yellow]exceeded[/]  {escape(text)}; so many are kept")
    for text in outcome["broken"]:
        lines.print(f"  [red]broken[/]    {escape(text)}; one is kept. Correct the data, or the policy")
    if tables:
        names = escape(", ".join(tables))
        lines.print(f"unique columns of {names} are believed in version {policy.version}, and not enforced again")
        lines.print(f"recorded this, and nothing else that was found; head {head}")
        return
    if outcome["broken"]:
        lines.print("nothing is believed; all of it is enforced in each question")
    lines.print(f"recorded that a check was made, and not what it found; head {head}")

"""`discreet init`: propose a policy; for a price, with types, bounds and keys."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from discreet.apps.cli.options import Json, Neighbors, number_option, print_json
from discreet.apps.cli.screen import counting
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.methods.proposals import Proposal
    from discreet.methods.proposals.buying import Watch

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer(add_completion=False)

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A CSV, TSV, .data, Parquet, Arrow or DuckDB file, a folder of files, or postgresql://…."
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; beside the data.")]
Unit = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that says who a row is about.")]
UnitType = Annotated[
    Literal["integer", "text"] | None,
    typer.Option(help="What units are read as: integers (7, 7.0 and ' 7 ' are one) or texts; else as declared."),
]
RowIsUnit = Annotated[bool, typer.Option("--row-is-unit", help="Each row is a person of its own.")]
Epsilon = Annotated[
    str | None, number_option("Ask the rows for types, bounds and keys, privately, for this price; without it none is.")
]
Budget = Annotated[str, number_option("All that may ever be spent on these data: epsilon.")]
Delta = Annotated[str, number_option("The budget's delta, far below 1 divided by the number of people; 0: no keys.")]
Relation = Annotated[Neighbors, typer.Option(help="Whether a neighbor lacks a person, or has another in her place.")]
Book = Annotated[
    Path | None,
    typer.Option("--dictionary", metavar="FILE", help="A data dictionary: Table Schema, CSVW, SmartNoise, or CSV."),
]
Header = Annotated[bool, typer.Option("--header", help="The first line holds names, though it looks like a record.")]
Public = Annotated[
    bool, typer.Option("--public", help="The data are public: read values, and declare the tables public.")
]
PublicTable = Annotated[
    list[str] | None, typer.Option("--public-table", metavar="TABLE", help="A table that protects nobody; repeatable.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]


@app.command()
def init(
    context: typer.Context,
    data: Data,
    *,
    output: Output = None,
    unit: Unit = None,
    unit_type: UnitType = None,
    row_is_unit: RowIsUnit = False,
    epsilon: Epsilon = None,
    budget: Budget = "3",
    delta: Delta = "1e-6",
    neighbors: Relation = Neighbors.ADD_REMOVE,
    dictionary: Book = None,
    header: Header = False,
    public: Public = False,
    public_table: PublicTable = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Propose a policy file. No row is read, unless --epsilon pays for it or --public says that all of them may be.

    With --epsilon the ledger is opened first: who is protected (--unit), --neighbors, --budget and --delta are settled
    then; on a terminal, the first three are asked for if they are not given. Each line that was bought says what it
    cost; run again after a crash, what was paid for is shown for free.

    Example: discreet init visits.csv --unit patient_id --epsilon 0.2
    """
    from discreet.methods.proposals import propose

    target = _target(data, output, force=force)
    dataset = target.stem if target.name != "policy.toml" else target.absolute().parent.name or target.stem
    url = data if "://" in data else _source(Path(data), target)
    if public:
        if epsilon is not None:
            message = "--public says that all rows may be read, and --epsilon that none may; leave one out."
            raise ParameterError(message)
        from discreet.methods.proposals.public import propose_public
        from discreet.methods.proposals.writing import Head

        proposal = propose_public(data, Head(dataset, url, budget, delta, neighbors.relation.value))
    else:
        frozen: dict[str, Any] = {
            "unit": unit,
            "unit_type": unit_type,
            "row_is_unit": row_is_unit,
            "neighbors": neighbors,
            "budget": budget,
        }
        if epsilon is not None and sys.stdin.isatty():
            frozen |= _answers(context)
        frozen["neighbors"] = frozen["neighbors"].relation
        with _progress(paid=epsilon is not None) as watch:
            proposal = propose(
                data if "://" in data else Path(data),
                **frozen,
                epsilon=epsilon,
                delta=delta,
                dictionary=dictionary,
                dataset=dataset,
                url=url,
                file=target,
                header=header,
                public=public_table or (),
                watch=watch,
            )
    target.write_text(proposal.text, encoding="utf-8")
    _tell(target, proposal, as_json=as_json)


def _answers(context: typer.Context) -> dict[str, Any]:
    """Ask, beside the answer, for what a ledger freezes, as far as the command line leaves it open."""
    answers: dict[str, Any] = {}

    def ask(option: str, question: str, default: Any, kind: type) -> Any:  # noqa: ANN401 - an answer of that kind
        source = context.get_parameter_source(option)
        if source is not None and source.name == "DEFAULT":
            answers[option] = typer.prompt(question, default=default, type=kind, err=True)

    typer.echo("The ledger freezes these; Enter takes what stands in brackets.", err=True)
    if not context.params["row_is_unit"]:
        ask("unit", "the column that says who a row is about (empty: as its name or the dictionary says)", "", str)
        ask("unit_type", "whether its values are text or integer: 7 and 7.0 are one (empty: as declared)", "", str)
        answers = {option: answer or None for option, answer in answers.items()}
    ask("neighbors", "whether a neighbor lacks a person, or has another in her place", "add-remove", Neighbors)
    ask("budget", "all that may ever be spent on these data: epsilon", context.params["budget"], str)
    return answers


def _target(data: str, output: Path | None, *, force: bool) -> Path:
    """Choose where to write, and refuse what would fail after the price was paid."""
    if "://" in data:
        if output is None:
            message = "a database on a server has no place for a policy; name one with --output, such as hospital.toml."
            raise ParameterError(message)
        if urlsplit(data).password or "password=" in data:
            message = (
                "the address holds a password, and a policy is public; leave it out, and give it in ~/.pgpass or in "
                "the environment (PGPASSWORD)."
            )
            raise ParameterError(message)
    path = Path(data)
    target = output or (path / "policy.toml" if path.is_dir() else path.with_suffix(".toml"))
    if target.exists() and not force:
        message = f"{target} is there already; --force writes over it, --output names another file."
        raise ParameterError(message)
    if target.is_dir() or not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        message = f"{target} cannot be written; --output names a file in a folder that is there."
        raise ParameterError(message)
    return target


def _source(data: Path, target: Path) -> str:
    """Name the data as seen from the policy: a database file, or the folder of a file where that stands for it."""
    from discreet.engines.duckdb.describing import FILES, table_files

    one = data.is_file() and data.suffix in FILES
    place = data.parent if one and table_files(data.parent)[data.stem] == data else data
    return Path(os.path.relpath(place, target.parent)).as_posix()


@contextmanager
def _progress(*, paid: bool) -> Iterator[Watch]:
    """Count the questions as they are asked; without a price there is nothing to wait for."""
    if not paid:
        yield lambda *_: None
        return
    with counting() as watch:
        yield watch


def _tell(target: Path, proposal: Proposal, *, as_json: bool) -> None:
    """Say what was written, what was paid, and what is left; nothing of it depends on rows but for what was bought."""
    if as_json:
        paid = {about: str(price) for about, price in proposal.paid.items()}
        print_json({"policy": str(target), "fill": list(proposal.fill), "paid": paid})
        return
    if proposal.paid:
        whole = float(sum(proposal.paid.values()))
        typer.echo(f"wrote {target}; {len(proposal.paid)} private questions were asked, for ε = {whole:.4g} together.")
    else:
        typer.echo(f"wrote {target}; no row was read." if "public = true" not in proposal.text else f"wrote {target}.")
    if proposal.fill:
        typer.echo("left for you to fill in, from outside knowledge:")
    for line in proposal.fill:
        typer.echo(f"  {line}")
    typer.echo(f"then: discreet check {target}")

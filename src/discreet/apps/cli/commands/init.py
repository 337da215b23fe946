"""`discreet init`: propose a policy from the names and declared types of columns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.proposal import Proposal, PublicFacts, propose
from discreet.errors import ParameterError

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer(add_completion=False)

Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="A CSV, Parquet, Arrow or DuckDB file, or a folder of files.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; beside the data.")]
Unit = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that says who a row is about.")]
Public = Annotated[
    bool, typer.Option("--public", help="The data are public: read values, and declare the tables public.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]

_MOST_KEYS = 200


@app.command()
def init(
    data: Data,
    *,
    output: Output = None,
    unit: Unit = None,
    public: Public = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Propose a policy file. No row is read, unless --public says that all of them may be; you fill in the rest.

    Example: discreet init visits.csv --unit patient_id
    """
    from discreet.engines.duckdb.describing import stored_columns
    from discreet.tables.nearest import hint

    target = output or (data / "policy.toml" if data.is_dir() else data.with_suffix(".toml"))
    if target.exists() and not force:
        message = f"{target} is there already; --force writes over it, --output names another file."
        raise ParameterError(message)
    tables = stored_columns(data)
    if not tables:
        message = f"{data} holds no table; give a CSV, Parquet, Arrow or DuckDB file, or a folder of such files."
        raise ParameterError(message)
    known = [column for columns in tables.values() for column in columns]
    if unit is not None and unit not in known:
        message = f"--unit is {unit!r}, which is no column.{hint(unit, known)}"
        raise ParameterError(message)
    facts = _facts(data, tables) if public else None
    dataset = target.stem if target.name != "policy.toml" else target.absolute().parent.name or target.stem
    proposal = propose(tables, source=_source(data, target), dataset=dataset, unit=unit, public=facts)
    target.write_text(proposal.text, encoding="utf-8")
    _tell(target, proposal, as_json=as_json)


def _source(data: Path, target: Path) -> str:
    """Name the data as seen from the policy: a folder of files, or a database file."""
    from discreet.engines.duckdb.describing import FILES

    place = data.parent if data.is_file() and data.suffix in FILES else data
    return Path(os.path.relpath(place, target.parent)).as_posix()


def _facts(data: Path, tables: dict[str, dict[str, str | None]]) -> dict[tuple[str, str], PublicFacts]:
    """Read the values of public files."""
    from discreet.engines.duckdb.describing import public_facts

    facts = {}
    for table, columns in tables.items():
        places = [data] if data.is_file() else [data / f"{table}{ending}" for ending in (".parquet", ".csv")]
        file = next((path for path in places if path.is_file() and path.suffix in {".parquet", ".csv"}), None)
        if file is None:
            message = "--public reads CSV and Parquet files; write the policy of other public tables by hand."
            raise ParameterError(message)
        for column in columns:
            facts[table, column] = public_facts(file, column, most_keys=_MOST_KEYS)
    return facts


def _tell(target: Path, proposal: Proposal, *, as_json: bool) -> None:
    if as_json:
        print_json({"policy": str(target), "fill": list(proposal.fill)})
        return
    typer.echo(f"wrote {target}; no row was read." if "public = true" not in proposal.text else f"wrote {target}.")
    typer.echo("left for you to fill in, from outside knowledge:")
    for line in proposal.fill:
        typer.echo(f"  {line}")
    typer.echo(f"then: discreet check {target}")

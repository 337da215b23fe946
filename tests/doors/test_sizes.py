"""No question can make one person's row so large or so slow that its failure, or its time, tells of that row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError
from discreet.tables import Column, Policy, Table
from tests.engines.databases import KEY

if TYPE_CHECKING:
    from discreet.engines import Engine
    from tests.plans.interpreter import Database as Cells

POLICY = Policy(
    [
        Table(
            "visits",
            unit="id",
            rows_per_unit=1,
            columns=[Column("id", type="integer"), Column("dx", keys=["hiv", "flu"]), Column("note", type="text")],
        )
    ],
    epsilon=1,
)
PEOPLE = 60


def cells(attacked: str) -> Cells:
    """Everybody has the flu, but for one person who is attacked."""
    return {
        "visits": [{"id": each, "dx": attacked if each == 42 else "flu", "note": "x" * 200} for each in range(PEOPLE)]
    }


def grown(levels: int, times: int = 40) -> str:
    """Multiply a text of one row at each level: 40**levels times its size, if that person has that value."""
    inner = "(SELECT id, dx, note AS t FROM visits)"
    copies = " || ".join(["t"] * times)
    for _ in range(levels):
        inner = f"(SELECT id, dx, CASE WHEN id = 42 AND dx = 'hiv' THEN {copies} ELSE t END AS t FROM {inner})"
    return f"SELECT COUNT(*) AS n FROM {inner} WHERE t LIKE '%a%b%c%' OR t <> 'y'"


def outcome(engine: Engine, question: str) -> str:
    """What an analyst sees of a question, but for its noise."""
    with Database(POLICY, engine, ledger="memory") as db:
        try:
            db.sql(question).release(epsilon="0.000001")
        except DiscreetError as error:
            return f"{type(error).__name__}: {error}, {db.remaining}"
        return f"answered, {db.remaining}"


def duckdb(attacked: str) -> Engine:
    tables = {name: pa.Table.from_pylist(rows) for name, rows in cells(attacked).items()}
    return DuckDB(POLICY, tables, rank_key=KEY, memory=64, threads=1)


@pytest.mark.parametrize("levels", [1, 2])
def test_a_text_that_grows_for_one_row_is_refused_before_any_row_is_read(levels: int) -> None:
    seen = [outcome(duckdb(attacked), grown(levels)) for attacked in ("hiv", "flu")]
    assert seen[0] == seen[1]
    assert seen[0].startswith("QueryRefused: ||: ")
    assert seen[0].endswith("Pure(epsilon=1)")  # nothing was spent

"""No question can make one person's row so large or so slow that its failure, or its time, tells of that row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError, QueryRefused
from discreet.plans import plan_sql
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


def joined(times: int, more: str) -> str:
    """Join the rows of the attacked person with each other: with r rows of that value there are r**times pairs."""
    names = [f"v{place}" for place in range(times)]
    joins = " ".join(f"JOIN visits AS {name} ON v0.id = {name}.id" for name in names[1:])
    aimed = " AND ".join(f"{name}.id = 42 AND {name}.dx = 'hiv'" for name in names)
    return f"SELECT COUNT(DISTINCT v0.id) AS n FROM visits AS v0 {joins} WHERE {aimed}{more}"


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


def planned(rows_per_unit: int | None, question: str) -> None:
    visits = replace(POLICY.tables[0], rows_per_unit=rows_per_unit)
    plan_sql(Policy([visits], epsilon=1), question)


@pytest.mark.parametrize("times", [2, 8])
def test_rows_of_one_person_meet_each_other_only_if_their_number_is_limited(times: int) -> None:
    """Eight times ten rows took 5.1 seconds, and 0.06 where that person had another value."""
    with pytest.raises(QueryRefused, match="Nothing limits how many pairs of rows one unit has there"):
        planned(None, joined(times, ""))
    planned(2, joined(times, ""))


def test_pairs_of_one_person_take_time_by_themselves() -> None:
    """A million pairs of ten rows took PostgreSQL 0.9 seconds more."""
    aimed = "(SELECT id FROM visits WHERE dx = 'hiv')"
    question = f"SELECT COUNT(*) FROM {aimed} AS v0 " + " ".join(
        f"JOIN {aimed} AS v{place} ON v0.id = v{place}.id" for place in range(1, 6)
    )
    with pytest.raises(QueryRefused, match="steps there, more than 10000000"):
        planned(10, question)
    planned(7, question)


LONG = " || ".join(["v0.note"] * 16)
ALL_LONG = f"(SELECT id, {LONG} AS t FROM visits AS v0)"


@pytest.mark.parametrize(
    "rows_per_unit, question",
    [
        (10, joined(5, f" AND ({LONG}) LIKE '{'%a_' * 80}%b'")),  # 3.3 seconds against 0.2
        (1, joined(1, "".join(f" AND ({LONG}) LIKE '%{'a' * 240}b{each}%'" for each in range(20)))),
        (None, joined(1, f" AND ({LONG}) LIKE '{'%a_' * 80}%b'")),
        (1000, joined(1, f" AND ({LONG}) LIKE '{'%a_' * 80}%b'")),
        (1, joined(1, f" AND ({LONG}) IN ({', '.join(repr(str(each)) for each in range(4000))})")),
        (100, f"SELECT COUNT(*) FROM {ALL_LONG} AS a JOIN {ALL_LONG} AS b ON a.id = b.id AND a.t = b.t"),
    ],
)
def test_work_that_is_aimed_at_one_person_is_refused_by_its_product(rows_per_unit: int | None, question: str) -> None:
    with pytest.raises(QueryRefused, match=r"may take \d+ steps there, more than \d+"):
        planned(rows_per_unit, question)


@pytest.mark.parametrize("rows_per_unit", [1, 30, 5000, None])
def test_ordinary_work_is_not_refused(rows_per_unit: int | None) -> None:
    conditions = " OR ".join(f"note LIKE '%{word}%'" for word in ("diabetes", "insulin", "glucose", "HbA1c"))
    planned(rows_per_unit, f"SELECT COUNT(DISTINCT id) FROM visits WHERE {conditions}")

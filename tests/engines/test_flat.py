"""Layers of SELECTs become one, with the same rows: whatever columns are called, and however often they are used."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb.dialect import DuckDBDialect
from discreet.engines.duckdb.flat import flattened
from discreet.engines.sql.rows import count_rows
from discreet.engines.sql.words import (
    SQL,
    alias,
    binary,
    call,
    cast,
    column,
    not_null,
    number,
    over,
    select,
    string,
    table,
    try_cast,
)
from discreet.plans import plan_sql
from discreet.plans.statistics import Moment, RankedCells, RowCount
from discreet.tables import Column, Policy, Table

ROWS = [(1, 5.0, "a"), (1, None, "b"), (2, 7.5, None), (None, 2.0, "a"), (300, 7.5, "c"), (2, 7.5, "a")]


def plus(name: str, more: int) -> SQL:
    return binary("+", column(name), number(more))


def read(*names: tuple[str, str], where: SQL | None = None) -> SQL:
    return select([alias(column(of), name) for name, of in names], table("rows"), where=where)


def queries() -> dict[str, SQL]:
    """Pairs of layers, each with something of its own."""
    base = read(("x", "key"), ("y", "value"))
    twice = select([alias(plus("x", 1), "z"), column("y")], base)
    star = select([exp.Star(), alias(plus("x", 1), "z")], base)
    wanted = select([column("x"), column("y")], base, where=not_null(column("y")))
    sums = select([column("x"), alias(call("sum", column("y")), "s")], base, group=[column("x")])
    numbered = select([column("x"), alias(over(call("row_number"), [column("x")], [column("y")]), "s")], base)
    union = select([exp.Star()], exp.Union(this=base, expression=read(("x", "value"), ("y", "key")), distinct=False))
    constant = select([alias(number(7), "x"), column("y")], base)
    named = read(("r1", "key"), ("r0", "value"))
    by_x = [alias(column("x"), "r0"), alias(count_rows(), "r1")]
    return {
        "names": select([alias(column("x"), "r0")], base),
        "used twice": select([alias(binary("*", column("z"), column("z")), "r0")], twice),
        "all columns": select([alias(binary("+", column("x"), column("z")), "r0")], star),
        "conditions": select([alias(column("x"), "r0")], wanted, where=binary("<", column("x"), number(9))),
        "groups": select(by_x, wanted, group=[column("x")]),
        "groups that are not shown": select([alias(count_rows(), "r0")], wanted, group=[column("x")]),
        "groups of groups": select([alias(count_rows(), "r0")], sums, where=not_null(column("s"))),
        "windows": select([alias(plus("s", 1), "r0")], numbered, where=not_null(column("x"))),
        "union": select(by_x, union, group=[column("x")]),
        "a constant key": select(by_x, constant, group=[column("x")]),
        "names of results": select(
            [alias(column("r0"), "r1"), alias(count_rows(), "r0")],
            named,
            group=[column("r0")],
            where=not_null(column("r1")),
        ),
        "nothing": select([alias(count_rows(), "r0")], base),
        "bytes": select(
            [alias(try_cast(column("x"), "UTINYINT"), "r0")],
            select([alias(cast(column("key"), "BIGINT"), "x")], table("rows")),
        ),
    }


@pytest.mark.parametrize("name", list(queries()))
def test_layers_that_become_one_give_the_same_rows(name: str) -> None:
    dialect = DuckDBDialect()
    texts = [dialect.written(query) for query in (queries()[name], flattened(queries()[name]))]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows (key INTEGER, value DOUBLE, name VARCHAR)")
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", ROWS)
        given, flat = (connection.sql(text) for text in texts)
        assert Counter(flat.fetchall()) == Counter(given.fetchall())
        assert flat.columns == given.columns
    assert texts[1].count("SELECT") <= texts[0].count("SELECT")


def test_what_nobody_uses_is_left_out_and_what_is_used_often_is_written_once() -> None:
    inner = select([alias(plus("key", 1), "x"), alias(string("secret"), "y")], table("rows"))
    text = DuckDBDialect().written(flattened(select([alias(binary("*", column("x"), column("x")), "z")], inner)))
    assert "secret" not in text
    assert text.count('"key"') == 1


def test_a_short_integer_becomes_a_byte_by_one_cast() -> None:
    text = DuckDBDialect().written(flattened(queries()["bytes"]))
    assert text == 'SELECT TRY_CAST("key" AS UTINYINT) AS "r0" FROM "rows"'


NAMES = ["r0", "r1", "f0", "f1", "f2", "t", "t0", "c0", "c1", "d1", "u", "n", "x0", "upto", "total"]


@pytest.mark.parametrize("key", NAMES)
@pytest.mark.parametrize("stored", [pa.int8(), pa.int32(), pa.int64()])
def test_columns_of_any_name_are_read(key: str, stored: pa.DataType) -> None:
    value = NAMES[NAMES.index(key) - 1]
    columns = [Column(key, keys=range(3)), Column(value, type="float", lower=0, upper=8, nullable=False)]
    policy = Policy([Table("people", columns=columns, row_is_unit=True)], epsilon=1)
    data = {
        key: pa.array([0, 1, 1, 2, 5, None, 2], type=stored),
        value: pa.array([1.0, 2.0, 99.0, -1.0, 3.0, 3.0, float("nan")]),
    }
    plan = plan_sql(policy, f'SELECT "{key}", COUNT(*), SUM("{value}"), MEDIAN("{value}") FROM people GROUP BY "{key}"')
    kinds = [type(each) for each in plan.aggregate.statistics]
    with DuckDB(policy, {"people": pa.table(data)}) as engine:
        found = engine.prepare(plan.aggregate).run()
    counts, sums = (found.unprotected(kinds.index(kind)).ravel().tolist() for kind in (RowCount, Moment))
    assert counts == [1, 2, 1]
    assert sums == [sums[0], 10 * sums[0], 0]  # 1, 2 + 8, and 0, on a grid
    cells = [each[:, 2].sum() for each in found.unprotected_cells(kinds.index(RankedCells))]
    assert cells == counts


NARROW = "SELECT * FROM visits WHERE code BETWEEN 0 AND 1000"
NARROWED = [
    f"SELECT SUM(sq), VAR_POP(sq), MEDIAN(sq) FROM (SELECT code * code AS sq FROM ({NARROW}) q) r",
    f"SELECT CASE WHEN code * code > 9 THEN 'a' ELSE 'b' END AS k, MEDIAN(code * code) FROM ({NARROW}) q GROUP BY 1",
    f"SELECT COUNT(*) FROM ({NARROW} AND id IN (SELECT id FROM visits)) q WHERE code * code > 5",
    f"SELECT COUNT(*) FROM ({NARROW}) q JOIN visits v ON q.id = v.id WHERE q.code * q.code > 5",
    f"SELECT COUNT(*) FROM ({NARROW} UNION ALL {NARROW}) q WHERE code * code > 5",
    "SELECT MEDIAN(m * m) FROM (SELECT id, MIN(code) AS m FROM visits GROUP BY id) q WHERE m BETWEEN 0 AND 9",
]


@pytest.mark.parametrize("sql", NARROWED)
def test_rows_that_a_condition_drops_are_not_multiplied(sql: str) -> None:
    """Their products leave 64 bits: whether such a row is there would show as an error."""
    columns = [Column("id", type="integer"), Column("code", type="integer")]
    policy = Policy([Table("visits", unit="id", rows_per_unit=3, columns=columns)], epsilon=1)
    code = [2**63 - 1 if row % 9 < 4 else row % 7 for row in range(60_000)]
    data = pa.table({"id": [row // 3 for row in range(60_000)], "code": pa.array(code, pa.int64())})
    plan = plan_sql(policy, sql)
    for threads in (1, 2):
        with DuckDB(policy, {"visits": data}, threads=threads) as engine:
            engine.prepare(plan.aggregate).run()

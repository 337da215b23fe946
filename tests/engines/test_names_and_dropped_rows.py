"""Columns of any name, and rows that a condition drops: neither makes a statement of DuckDB's fail."""

from __future__ import annotations

import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.plans import plan_sql
from discreet.plans.statistics import Moment, RankedCells, RowCount
from discreet.tables import Column, Policy, Table

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

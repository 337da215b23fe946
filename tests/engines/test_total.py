"""No expression fails, whichever rows reach it: engines may compute a column first and drop rows then."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp

from discreet.engines.duckdb import DuckDB
from discreet.engines.sql import statements
from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from tests.engines.conformance import LIMITS, opened
from tests.engines.databases import KEY, arrow_tables, key_rank, row_rank, typed_database
from tests.engines.test_extremes import CELLS, POLICY, database
from tests.plans import hospital, interpreter
from tests.plans.grammar import Questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from discreet.engines.sql.running import SQLEngine
    from discreet.engines.sql.words import SQL
    from discreet.tables import Policy
    from tests.plans.interpreter import Database

NARROW = "SELECT * FROM t WHERE i BETWEEN -9 AND 10000 AND f BETWEEN -9 AND 10000"
EIGHT = "WHERE pay IN (0, 1, 2, 3, 4, 5, 6, 777777)"
MORE = "GREATEST(LEAST(wide, 0), pay) * 4"
NARROWED = [
    f"SELECT SUM(i * i), VAR_POP(i * i), MEDIAN(i * i), AVG(i + i), SUM(ABS(i)), MIN(-i) FROM ({NARROW}) q",
    f"SELECT SUM(x), VAR_POP(x), MEDIAN(x) FROM (SELECT f * f * f * f * f * f AS x FROM ({NARROW}) q) r",
    f"SELECT SUM(p), VAR_POP(p) FROM (SELECT i * i AS p FROM ({NARROW} AND SQRT(pay + LN(pay + 3)) > 1) q) r",
    f"SELECT SUM(p + 1), VAR_POP(p * p) FROM (SELECT i * i AS p FROM ({NARROW}) q) r",
    f"SELECT COUNT(*) FROM (SELECT i * i AS p FROM ({NARROW}) q) r WHERE p + p > 9",
    f"SELECT SUM(p - 1), MEDIAN(p) FROM (SELECT i * i AS p FROM ({NARROW}) q UNION ALL SELECT pay FROM t) r",
    f"SELECT SUM(a.i * b.pay), SUM(a.i * a.i) FROM ({NARROW}) a JOIN t b ON a.id = b.id",
    f"SELECT SUM(i * i), VAR_POP(i + i) FROM ({NARROW}) a WHERE EXISTS (SELECT 1 FROM t b WHERE a.id = b.id)",
    f"SELECT SUM(m * m), AVG(x) FROM (SELECT id, MIN(i * i) AS m, SUM(i + i) AS x FROM ({NARROW}) q GROUP BY id) r",
    "SELECT SUM(m * m) FROM (SELECT id, MIN(i) AS m FROM t GROUP BY id) q WHERE m BETWEEN 0 AND 9",
    f"SELECT CASE WHEN i * i > 9 THEN 'a' ELSE 'b' END AS k, COUNT(*), SUM(i * i) FROM ({NARROW}) q GROUP BY 1",
    "SELECT MEDIAN(f), SUM(f), VAR_POP(f) FROM t WHERE f BETWEEN 0 AND 1e-150",
    # A column that is never NULL in the rows that are kept bounds a maximum there, and nowhere else.
    f"SELECT SUM({MORE}), MEDIAN({MORE}) FROM t {EIGHT}",
    f"SELECT SUM({MORE}) FROM (SELECT DISTINCT id, wide, pay FROM t {EIGHT}) q",
    f"SELECT SUM({MORE}) FROM (SELECT id, wide, pay FROM t {EIGHT}) q JOIN (SELECT id FROM t) r USING (id)",
    f"SELECT SUM({MORE}) FROM t {EIGHT} AND id IN (SELECT id FROM t WHERE d IS NULL)",
    f"SELECT SUM({MORE}) FROM (SELECT * FROM t {EIGHT} UNION ALL SELECT * FROM t WHERE pay > 3) q",
    f"SELECT SUM(i * i) FROM (SELECT DISTINCT id, i FROM ({NARROW}) q) r",
    f"SELECT SUM(i * i) FROM ({NARROW} AND i <> 3 AND d > DATE '2000-01-01') q WHERE CAST(s AS BIGINT) > 0",
]


def with_a_row_of_ends() -> Database:
    """Rows at random, and one whose products with anything would not fit."""
    rows = database(3)
    rows["t"].append({"id": "p9", **dict.fromkeys(CELLS), "i": 2**62, "wide": -(2**63)})
    return rows


def unconditional(query: SQL) -> SQL:
    """Leave out all conditions on rows: no dropped row is spared any computation.

    Only what is below a result for each unit stays: such a result is made of the rows that are kept, on any engine.
    """
    found = query.copy()
    for each in found.find_all(exp.Select):
        if each.args.get("where") is not None and not any(map(is_barrier, above(each, found))):
            each.set("where", None)
    return found


def above(part: SQL, top: SQL) -> Iterator[exp.Expr]:
    """All that a part stands in, below the top."""
    found = part.parent
    while found is not None and found is not top:
        yield found
        found = found.parent


def is_barrier(part: exp.Expr) -> bool:
    """Tell whether a part is computed of kept rows only; groups without statistics are conditions' to look through."""
    if isinstance(part, exp.Exists):
        return True
    grouped = isinstance(part, exp.Select) and part.args.get("group") is not None
    return grouped and not all(isinstance(each.unalias(), exp.Column) for each in part.expressions)


def failures(engine: SQLEngine, policy: Policy, questions: Iterable[str]) -> list[str]:
    found, asked = [], 0
    for place, sql in enumerate(questions):
        try:
            aggregate = plan_sql(policy, sql, bounding=LIMITS[place % len(LIMITS)]).aggregate
            texts = engine.prepare(aggregate)._statements.texts
        except QueryRefused:
            continue
        asked += 1
        if not engine._store(aggregate.child) or engine._results(texts) is None:
            found.append(sql)
    assert asked >= 8
    return found


def random_questions(seed: int, count: int) -> list[str]:
    return [Questions(Random(each)).question() for each in range(seed % 2**32, seed % 2**32 + count)]


def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    written = statements.written
    monkeypatch.setattr(statements, "written", lambda query, dialect: written(unconditional(query), dialect))


@pytest.mark.slow
def test_duckdb_computes_every_row(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    patched(monkeypatch)
    with DuckDB(POLICY, arrow_tables(POLICY, with_a_row_of_ends()), rank_key=KEY) as engine:
        assert failures(engine, POLICY, NARROWED) == []
    rows = typed_database(hospital.POLICY, hospital.database(Random(seed), units=6))
    with DuckDB(hospital.POLICY, arrow_tables(hospital.POLICY, rows), rank_key=KEY) as engine:
        assert failures(engine, hospital.POLICY, random_questions(seed, 60)) == []


@pytest.mark.slow
@pytest.mark.engine
def test_postgres_computes_every_row(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    from discreet.engines.postgres import Postgres
    from tests.engines.servers import fill_postgres, postgres

    patched(monkeypatch)
    fill_postgres(postgres(), "total", POLICY, with_a_row_of_ends())
    with Postgres(POLICY, postgres(), schema="total", rank_key=KEY) as engine:
        assert failures(engine, POLICY, NARROWED) == []
    rows = typed_database(hospital.POLICY, hospital.database(Random(seed), units=6))
    fill_postgres(postgres(), "total_hospital", hospital.POLICY, rows)
    with Postgres(hospital.POLICY, postgres(), schema="total_hospital", rank_key=KEY) as engine:
        assert failures(engine, hospital.POLICY, random_questions(seed, 40)) == []


def test_the_rows_that_are_kept_have_the_reference_s_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "rank", row_rank)
    monkeypatch.setattr(interpreter, "key_rank", key_rank)
    rows = with_a_row_of_ends()
    with DuckDB(POLICY, arrow_tables(POLICY, rows), rank_key=KEY) as engine:
        for sql in NARROWED:
            aggregate = plan_sql(POLICY, sql).aggregate
            assert opened(engine.prepare(aggregate).run(), aggregate) == interpreter.groups_of(aggregate, rows)

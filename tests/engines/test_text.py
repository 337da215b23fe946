"""Statements as text: word for word what sqlglot writes, for every engine, and nothing but the allowed parts."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp
from sqlglot.errors import ErrorLevel

from discreet.engines.duckdb.dialect import DuckDBDialect
from discreet.engines.postgres.dialect import PostgresDialect
from discreet.engines.spark.dialect import SparkDialect
from discreet.engines.sql import dialect as dialects
from discreet.engines.sql.relations import Emitter, Raw
from discreet.engines.sql.statements import Statements
from discreet.engines.sql.words import all_of, binary, call, column, number, select, string, table, written
from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from discreet.tables.kinds import Kind
from tests.engines.conformance import LIMITS
from tests.engines.databases import KEY
from tests.plans.grammar import Questions
from tests.plans.hospital import POLICY

if TYPE_CHECKING:
    from collections.abc import Collection

    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.words import SQL
    from discreet.tables import Table

FIXED = [
    "SELECT w.floor, COUNT(*), SUM(v.cost) FROM visits v LEFT JOIN wards w ON v.ward = w.ward GROUP BY w.floor",
    "SELECT v.ward, AVG(v.cost) FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY v.ward",
    "SELECT SUM(x) FROM (SELECT cost AS x FROM visits UNION ALL SELECT change AS x FROM visits) u",
    "SELECT MEDIAN(cost) FROM visits v WHERE EXISTS (SELECT 1 FROM patients p WHERE p.patient_id = v.patient_id)",
    "SELECT COUNT(DISTINCT diagnosis) FROM visits WHERE ward IN ('a', 'b') OR diagnosis LIKE 'x%' OR NOT urgent",
]
STORED = {
    ("duckdb", Kind.INTEGER): "BIGINT",
    ("duckdb", Kind.FLOAT): "DOUBLE",
    ("duckdb", Kind.TEXT): "VARCHAR",
    ("duckdb", Kind.BOOLEAN): "BOOLEAN",
    ("duckdb", Kind.DATE): "DATE",
    ("duckdb", Kind.TIMESTAMP): "TIMESTAMP",
    ("postgres", Kind.INTEGER): "bigint",
    ("postgres", Kind.FLOAT): "double precision",
    ("postgres", Kind.TIMESTAMP): "timestamp without time zone",
    ("databricks", Kind.INTEGER): "bigint",
    ("databricks", Kind.FLOAT): "double",
    ("databricks", Kind.TEXT): "string",
    ("databricks", Kind.TIMESTAMP): "timestamp_ntz",
}
DIALECTS: list[type[Dialect]] = [DuckDBDialect, PostgresDialect, SparkDialect]


class Tables:
    """Stored tables whose columns are of the declared kinds."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def raw(self, given: Table) -> Raw:
        types = {each.name: STORED.get((self._dialect.name, each.kind), each.kind.value) for each in given.columns}
        return Raw(table("main", given.name), types)

    def kept(self, given: Table, limit: int) -> SQL | None:
        return table("main", f"kept {given.name} {limit}") if given.unit is not None and limit % 2 else None


def by_sqlglot(statement: SQL, dialect: str) -> str:
    return statement.sql(dialect=dialect, unsupported_level=ErrorLevel.RAISE, normalize_functions=False)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_is_word_for_word_what_sqlglot_writes(
    dialect: type[Dialect], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def both(statement: SQL, name: str, functions: Collection[str]) -> str:
        expected = by_sqlglot(statement, name)
        texts.append(written(statement, name, functions))
        assert texts[-1] == expected
        return texts[-1]

    monkeypatch.setattr(dialects, "written", both)
    emitter = Emitter(dialect(), Tables(dialect()), KEY)
    numbers = range(seed % 2**32, seed % 2**32 + 60)
    for place, sql in enumerate([*FIXED, *(Questions(Random(each)).question() for each in numbers)]):
        try:
            Statements.of(plan_sql(POLICY, sql, bounding=LIMITS[place % len(LIMITS)]).aggregate, emitter)
        except QueryRefused:
            continue
    whole = " ".join(texts)
    for word in ("FULL JOIN", "UNION ALL", "CASE", "OVER", "GROUP BY", "IN (", "DISTINCT"):
        assert word in whole


@pytest.mark.parametrize("name", ["duckdb", "postgres", "databricks"])
@pytest.mark.parametrize("text", ["", "it's", "a\\b", "'; DROP TABLE t; --", 'a"b`c', "ü\n\t🙂", "1e5", "a/*b*/"])
def test_texts_and_names_are_quoted_as_sqlglot_quotes_them(name: str, text: str) -> None:
    statement = select([string(text), column(f"x{text}"), column("y", "t")], table("a", f"b{text}"))
    assert written(statement, name, set()) == by_sqlglot(statement, name)


def test_long_conditions_are_written() -> None:
    statement = select(
        [number(1)], table("t"), where=all_of([binary("=", column("x"), number(n)) for n in range(3000)])
    )
    assert written(statement, "duckdb", set()).count(" AND ") == 2999


@pytest.mark.parametrize(
    "statement",
    [
        exp.Select(expressions=[column("x")], from_=exp.From(this=table("t")), limit=exp.Limit(expression=number(1))),
        exp.Select(expressions=[column("x")], from_=exp.From(this=table("t")), distinct=exp.Distinct()),
        select([exp.Count(this=column("x"), big_int=True)], table("t")),
        select(
            [exp.Cast(this=column("x"), to=exp.DataType(this=exp.DataType.Type.INT), format=string("x"))], table("t")
        ),
        select([exp.Sum(this=column("x"))], table("t")),
        select([binary("+", exp.Sum(this=column("x")), number(1))], table("t")),
        select([exp.Window(this=call("random"))], table("t")),
        exp.Union(this=select([], table("t")), expression=select([], table("t")), distinct=True),
    ],
)
def test_what_no_rule_reads_is_refused(statement: SQL) -> None:
    with pytest.raises(ValueError, match="not on the list"):
        written(statement, "duckdb", {"md5"})

"""How engines are kept from writing the layers of a plan into each other, and from layers that they could not read."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb.dialect import DuckDBDialect
from discreet.engines.postgres.dialect import PostgresDialect
from discreet.engines.spark.dialect import SparkDialect
from discreet.engines.sql.relations import Emitter
from discreet.engines.sql.statements import Statements
from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from tests.engines.conformance import opened
from tests.engines.databases import KEY, arrow_tables, typed_database
from tests.engines.test_text import Tables
from tests.plans.growth import LONG
from tests.plans.hospital import POLICY, database
from tests.plans.interpreter import groups_of


def written(name: str, number: int, dialect: type[DuckDBDialect | PostgresDialect | SparkDialect]) -> list[str]:
    emitter = Emitter(dialect(), Tables(dialect()), KEY)
    return [*Statements.of(plan_sql(POLICY, LONG[name](number)).aggregate, emitter).parts]


def test_duckdb_does_not_aggregate_below_joins() -> None:
    empty = typed_database(POLICY, {table.name: [] for table in POLICY.tables})
    with DuckDB(POLICY, arrow_tables(POLICY, empty)) as engine:
        text = "SELECT current_setting('disabled_optimizers')"
        (rules,) = engine._connection.execute(text).fetchone()  # type: ignore[misc]
    assert "partial_aggregate_pushdown" in rules


@pytest.mark.parametrize("name", ["a sum of floats", "roundings"])
def test_what_spark_could_not_read_is_refused_before_it_is_paid(name: str) -> None:
    with pytest.raises(QueryRefused, match="more than 80 steps upon each other, more than the engine reads at once"):
        written(name, 96, SparkDialect)
    assert written(name, 12, SparkDialect)


@pytest.mark.parametrize("dialect", [DuckDBDialect, PostgresDialect])
@pytest.mark.parametrize("name", ["a sum of floats", "roundings", "logarithms", "quotients", "casts"])
def test_the_deepest_expressions_are_written(name: str, dialect: type[DuckDBDialect | PostgresDialect]) -> None:
    (text,) = written(name, 96, dialect)
    assert len(text) < 200_000


@pytest.mark.parametrize("dialect", [DuckDBDialect, PostgresDialect, SparkDialect])
def test_a_power_grows_by_its_products_alone(dialect: type[DuckDBDialect | PostgresDialect | SparkDialect]) -> None:
    sizes = [sum(map(len, written("a power in a condition", exponent, dialect))) for exponent in (2, 4, 8, 16)]
    steps = [later - earlier for earlier, later in itertools.pairwise(sizes)]
    assert max(steps) < 1.5 * min(steps)


def test_powers_are_those_of_the_reference() -> None:
    data = typed_database(POLICY, database(Random(3), units=6))
    value = "LEAST(GREATEST(POWER(weight * 1.37, {0}), -1000000), 1000000)"
    with DuckDB(POLICY, arrow_tables(POLICY, data), rank_key=KEY, threads=1) as engine:
        for exponent in range(2, 17):
            text = f"SELECT SUM({value.format(exponent)}) FROM answers"
            aggregate = plan_sql(POLICY, text).aggregate
            assert opened(engine.prepare(aggregate).run(), aggregate) == groups_of(aggregate, data)

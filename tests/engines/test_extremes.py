"""Numbers at the ends of their types: engines agree with the reference, and no unit moves more than is claimed."""

from __future__ import annotations

import datetime as dt
import math
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from discreet.database import Database as Behind
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb.dialect import DuckDBDialect
from discreet.engines.sql.words import alias, cast, column, select, table
from discreet.errors import QueryRefused
from discreet.plans import Bounding, Shape, plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import opened
from tests.engines.databases import KEY, arrow_tables, key_rank, row_rank, typed_database
from tests.plans import claims, interpreter

if TYPE_CHECKING:
    from discreet.engines import Engine
    from tests.plans.interpreter import Database

POLICY = Policy.from_toml("""
[budget]
epsilon = 3
delta = 1e-6
[tables.t]
unit = "id"
rows_per_unit = 2
[tables.t.columns]
i = { type = "integer" }
f = { type = "float" }
pay = { lower = 0, upper = 1_000_000 }
far = { lower = 9007199254740990, upper = 9007199254741000 }
top = { lower = 9223372036854775000, upper = 9223372036854775807 }
wide = { lower = -9223372036854775808, upper = 9223372036854775807 }
huge = { lower = -1e150, upper = 1e150, type = "float" }
tiny = { lower = 0.0, upper = 1e-140, type = "float" }
close = { lower = 1.0, upper = 1.0000000000000002, type = "float" }
s = { type = "text" }
d = { type = "date" }
""")

INTEGERS = [0, 1, -1, 777_777, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 600, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 1.0, -1.5, 2.0**53, 2.0**63, 1e150, -1e150, 1e-150, 5e-324, 1e300, 2.0**500, 2.0**-501]
FLOATS += [math.inf, -math.inf, math.nan, 1.0000000000000002]
TEXTS = ["", "a", "A", "é", "e\u0301", "12", "9223372036854775808", "9007199254740993", "1e5", "😀", " a "]
DATES = [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), dt.date(2000, 2, 29)]
CELLS: dict[str, list[Any]] = dict.fromkeys(("i", "pay", "far", "top", "wide"), INTEGERS)
CELLS |= dict.fromkeys(("f", "huge", "tiny", "close"), FLOATS) | {"s": TEXTS, "d": DATES}

QUESTIONS = [
    "SELECT COUNT(*), AVG(pay), VARIANCE(pay), STDDEV(pay), SUM(pay), MEDIAN(pay) FROM t",
    "SELECT SUM(wide), AVG(wide), VAR_POP(wide), MEDIAN(wide) FROM t",
    "SELECT COVAR_SAMP(pay, wide), CORR(pay, huge), CORR(top, close) FROM t",
    "SELECT far, SUM(wide), COUNT(top) FROM t GROUP BY far",
    "SELECT SUM(m), AVG(m) FROM (SELECT id, SUM(wide) AS m FROM t GROUP BY id) q WHERE m BETWEEN -9e15 AND 9e15",
    "SELECT AVG(m), STDDEV(m) FROM (SELECT id, AVG(pay) AS m FROM t GROUP BY id) q",
    "SELECT COUNT(i + 1000), COUNT(i * i), COUNT(ABS(i)), COUNT(i // -1) FROM t WHERE i <= 9.2233720368547748e18",
    "SELECT COUNT(*) FROM t WHERE i = 9007199254740992.0 OR i < f",
    "SELECT AVG(far - 9007199254740990), SUM(top - 9223372036854775000), MAX(top) FROM t",
    "SELECT SUM(tiny), AVG(tiny), STDDEV(tiny), MEDIAN(tiny), MIN(close) FROM t",
    "SELECT HISTOGRAM(wide, [-1, 9007199254740992, 1e19]), HISTOGRAM(huge, [-1e150, 0, 1e150]) FROM t",
    "SELECT s, COUNT(*), COUNT(DISTINCT f), SUM(pay) FROM t GROUP BY s",
    "SELECT COUNT(CAST(s AS BIGINT)), COUNT(CAST(s AS DOUBLE)), COUNT(DISTINCT d) FROM t",
    "SELECT EXTRACT(year FROM d), COUNT(*), SUM(pay) FROM t GROUP BY 1",
    "SELECT f, COUNT(*), AVG(pay) FROM t GROUP BY f",
    "SELECT COUNT(x), AVG(LEAST(GREATEST(x, 0), 1e16)) FROM (SELECT i + f AS x FROM t) q",
]
LIMITS = [None, Bounding(rows=1), Bounding(shape=Shape.SUMS, rows_per_group=2)]


@pytest.fixture(autouse=True)
def _same_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "rank", row_rank)
    monkeypatch.setattr(interpreter, "key_rank", key_rank)
    monkeypatch.setattr(claims, "without", without)


def without(rows: Database, unit: object) -> Database:
    return {"t": [row for row in rows["t"] if row["id"] != unit]}


def database(seed: int) -> Database:
    random = Random(seed)

    def row(unit: str) -> dict[str, Any]:
        cells = {name: random.choice(some) if random.random() > 0.1 else None for name, some in CELLS.items()}
        return {"id": unit, **cells}

    return typed_database(POLICY, {"t": [row(f"p{unit}") for unit in range(4) for _ in range(1 + random.randrange(4))]})


def differences(engine: Engine, rows: Database) -> list[str]:
    """Questions that the engine and the reference answer differently, and claims that the rows refute."""
    found, asked = [], 0
    for sql in QUESTIONS:
        for limit in LIMITS:
            try:
                aggregate = plan_sql(POLICY, sql, bounding=limit).aggregate
                prepared = engine.prepare(aggregate)
            except QueryRefused:
                continue
            asked += 1
            if opened(prepared.run(), aggregate) != interpreter.groups_of(aggregate, rows):
                found.append(sql)
            found += claims.violations(aggregate, rows, "p0", "p1") if limit is None else ()
    assert asked >= 30
    return found


@pytest.mark.parametrize("seed", range(2))
def test_duckdb_at_the_ends_of_types(seed: int) -> None:
    rows = database(seed)
    with DuckDB(POLICY, arrow_tables(POLICY, rows), rank_key=KEY) as engine:
        assert differences(engine, rows) == []


@pytest.mark.engine
def test_postgres_at_the_ends_of_types() -> None:
    from discreet.engines.postgres import Postgres
    from tests.engines.servers import fill_postgres, postgres

    rows = database(5)
    fill_postgres(postgres(), "extremes", POLICY, rows)
    with Postgres(POLICY, postgres(), schema="extremes", rank_key=KEY) as engine:
        assert differences(engine, rows) == []


def test_a_wide_integer_column_has_its_own_mean_and_deviation() -> None:
    """The mean and the deviation of 0 to 999,999, not of these numbers cut off at the number of steps."""
    people = Table("people", row_is_unit=True, columns=[Column("pay", lower=0, upper=1_000_000)])
    data = {"people": pa.table({"pay": list(range(0, 1_000_000, 500))})}
    with Behind(Policy([people], epsilon=10_000), data) as db:
        (row,) = db.sql("SELECT AVG(pay) AS a, STDDEV(pay) AS s FROM people").release(epsilon=5000).to_dicts()
    assert abs(row["a"] - 499_750) < 100
    assert abs(row["s"] - 288_747) < 100


def test_bounds_closer_than_any_grid_are_refused() -> None:
    with pytest.raises(QueryRefused, match="closer together"):
        plan_sql(POLICY, "SELECT STDDEV(EXP(-9223372036854775000)) FROM t")


def test_clamped_sums_that_leave_64_bits_are_refused_before_rows_are_read() -> None:
    """Their ends were constants beyond 64 bits: an error as soon as one row was there, and none without rows."""
    far = Table("far", unit="id", rows_per_unit=2, columns=[Column("x", lower=-(2**63), upper=-(2**63) + 800)])
    sums = Bounding(shape=Shape.SUMS, rows_per_group=2)
    with pytest.raises(QueryRefused, match="would not fit into 64 bits"):
        plan_sql(Policy([far], epsilon=1), "SELECT SUM(x) FROM far", bounding=sums)
    aggregate = plan_sql(Policy([far], epsilon=1), "SELECT AVG(x) FROM far", bounding=sums).aggregate
    rows = pa.table({"id": ["a", "b"], "x": [-(2**63) + 7, -(2**63)]})
    with DuckDB(Policy([far], epsilon=1), {"far": rows}) as engine:
        assert int(engine.prepare(aggregate).run().unprotected(1)[0, 0]) == 7 - 800


@pytest.mark.parametrize("ends", [(2**63 - 3, 2**63 - 1), (-(2**63), -(2**63) + 2), (2**63 - 200, 2**63 - 1)])
@pytest.mark.parametrize("rows", [0, 600])
def test_quantiles_of_integers_beside_the_ends_of_64_bits(ends: tuple[int, int], rows: int) -> None:
    """The cell after the last one is no integer of 64 bits: the price was paid, and no answer came."""
    columns = [Column("x", lower=ends[0], upper=ends[1]), Column("k", keys=["a", "b"])]
    policy = Policy([Table("far", row_is_unit=True, columns=columns)], epsilon=1000)
    middle = sum(ends) // 2
    data = pa.table({"x": pa.array([middle] * rows, pa.int64()), "k": pa.array(["a"] * rows, pa.string())})
    with Behind(policy, {"far": data}) as db:
        for levels in ("MEDIAN(x)", "QUANTILE_CONT(x, [0.25, 0.75])", "MIN(x)", "MAX(x)"):
            for group in ("", " GROUP BY k"):
                found = db.sql(f"SELECT {levels} AS m FROM far{group}").release(epsilon=20).to_dicts()
                for value in found[0]["m"] if "[" in levels else [found[0]["m"]]:
                    assert float(ends[0]) <= value <= float(ends[1])
                    assert rows == 0 or value == float(middle)


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_correlations_of_tiny_and_huge_numbers(size: float) -> None:
    """The product of two variances leaves doubles: the division failed, or 0 was said to be the correlation."""
    columns = [Column(name, type="float", lower=-size, upper=size, nullable=False) for name in "xy"]
    policy = Policy([Table("far", row_is_unit=True, columns=columns)], epsilon=1000)
    data = pa.table({"x": [-size, size] * 2000, "y": [-size / 2, size] * 2000})
    with Behind(policy, {"far": data}) as db:
        answer = db.sql("SELECT CORR(x, y) AS up, CORR(x, 0 - y) AS down FROM far").release(epsilon=500)
        (cells,) = answer.cells()
    for name, truth in (("up", 1), ("down", -1)):
        value, error = cells[name].value, cells[name].error
        assert isinstance(value, float)
        assert isinstance(error, float)
        assert abs(value - truth) <= error < 0.1


NOTHING = ["-0", "0", "-0.0", "-0e-5"]


def signs(engine: Engine) -> list[float]:
    """The signs of the groups that are called 0, among them of results for each unit."""
    questions = [
        "SELECT CAST(s AS DOUBLE) AS k, COUNT(*) FROM t GROUP BY 1",
        "SELECT m, COUNT(*) FROM (SELECT id, MAX(CAST(s AS DOUBLE)) AS m FROM t GROUP BY id) q GROUP BY m",
    ]
    plans = [plan_sql(POLICY, sql).aggregate for sql in questions]
    return [math.copysign(1, *key) for plan in plans for key in opened(engine.prepare(plan).run(), plan)]


@pytest.mark.parametrize("first", NOTHING)
def test_the_zeros_of_texts_are_one_number(first: str) -> None:
    """0 and -0 are one group: what it is called would tell which row comes first."""
    rows = {"t": [dict.fromkeys(CELLS) | {"id": f"p{place}", "s": s} for place, s in enumerate([first, *NOTHING])]}
    with DuckDB(POLICY, arrow_tables(POLICY, rows), rank_key=KEY) as engine:
        assert signs(engine) == [1, 1]


@pytest.mark.engine
def test_the_zeros_of_texts_are_one_number_to_postgres() -> None:
    from discreet.engines.postgres import Postgres
    from tests.engines.servers import fill_postgres, postgres

    fill_postgres(postgres(), "zeros", POLICY, {"t": [dict.fromkeys(CELLS) | {"id": "p", "s": NOTHING[0]}]})
    with Postgres(POLICY, postgres(), schema="zeros", rank_key=KEY) as engine:
        assert signs(engine) == [1, 1]


def test_a_mean_of_a_unit_is_the_nearest_double_on_duckdb() -> None:
    """Its own cast from 128 bits misses by one place: this whole number is a double."""
    value = -11189043713676174
    aggregate = plan_sql(
        POLICY, f"SELECT COUNT(*) FROM (SELECT id, AVG(wide) AS m FROM t GROUP BY id) u WHERE m = {value}"
    ).aggregate
    rows = typed_database(POLICY, {"t": [{"id": "a", "wide": value}, {"id": "b", "wide": value - 2}]})
    with DuckDB(POLICY, arrow_tables(POLICY, rows), rank_key=KEY) as engine:
        assert opened(engine.prepare(aggregate).run(), aggregate) == {(): [(1,)]}


def test_sums_of_128_bits_become_the_nearest_doubles_on_duckdb() -> None:
    random = Random("nearest")
    halves = [(random.getrandbits(53) * 2 + 1) << place for place in range(72) for _ in range(9)]
    wanted = [sign * half + more for half in halves for sign in (-1, 1) for more in (-1, 0, 1)]
    dialect = DuckDBDialect()
    text = dialect.written(select([alias(dialect.rounded(cast(column("x"), dialect.wide)), "y")], table("t")))
    with duckdb.connect() as connection:
        connection.register("t", pa.table({"x": list(map(str, wanted))}))
        assert [found for (found,) in connection.execute(text).fetchall()] == list(map(float, wanted))

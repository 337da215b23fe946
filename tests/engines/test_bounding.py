"""How DuckDB keeps and drops rows: every way keeps the same ones, and a unit decides about its own rows alone."""

from __future__ import annotations

import math
import stat
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb.dialect import DuckDBDialect
from discreet.engines.duckdb.store import _Guess
from discreet.engines.keys import fresh_key, read_key
from discreet.engines.sql.relations import Emitter
from discreet.engines.sql.rows import count_rows
from discreet.engines.sql.words import alias, binary, column, number, over, select
from discreet.errors import ParameterError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import opened
from tests.engines.databases import KEY, row_rank
from tests.plans.interpreter import groups_of

if TYPE_CHECKING:
    from discreet.engines.sql.relations import Relation
    from discreet.engines.sql.words import SQL

MOST = 1000
SQL_TEXT = "SELECT ward, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY ward"
WAYS = ("counted", "windowed")


def visits(limit: int) -> Policy:
    columns = [Column("ward", keys=range(3)), Column("cost", lower=0, upper=MOST, type="float", nullable=False)]
    return Policy([Table("visits", unit="id", rows_per_unit=limit, columns=columns)], epsilon=1)


def data(seed: int, units: int, rows: int) -> pa.Table:
    """Rows of text units, some with NULL, NaN, infinite or repeated values."""
    random = Random(seed)
    odd = [None, math.nan, math.inf, -math.inf, 0.0, 1e-300, 7.25, 7.25]
    cost = [random.choice(odd) if random.random() < 0.2 else random.uniform(-10, MOST + 10) for _ in range(rows)]
    ids = [None if random.random() < 0.02 else f"p{random.randrange(units)}" for _ in cost]
    return pa.table({"id": ids, "ward": [random.randrange(4) for _ in cost], "cost": pa.array(cost, pa.float64())})


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Take one of the ways to find the rows to keep, whatever the sample says."""
    force(request.param, monkeypatch)
    return str(request.param)


def force(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Guess, "mostly_heavy", way != "counted")


def numbers(table: pa.Table, limit: int) -> list[int]:
    """The exact counts and sums of all groups."""
    policy = visits(limit)
    with DuckDB(policy, {"visits": table}, rank_key=KEY, threads=2) as engine:
        aggregate = plan_sql(policy, SQL_TEXT).aggregate
        found = opened(engine.prepare(aggregate).run(), aggregate)
    return [number for cells in found.values() for cell in cells for number in cell]


def kept(engine: DuckDB) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = engine._connection.execute("SELECT * FROM kept_0_3 ORDER BY ALL").fetchall()
    return found


def test_every_way_keeps_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    table = data(1, 4_000, 30_000)
    policy, found = visits(3), []
    for way in WAYS:
        with monkeypatch.context() as patched, DuckDB(policy, {"visits": table}, rank_key=KEY, threads=2) as engine:
            force(way, patched)
            engine.prepare(plan_sql(policy, SQL_TEXT).aggregate).run()
            found.append(kept(engine))
    assert found[0] == found[1]
    counts = dict.fromkeys((row[-1] if isinstance(row[-1], str) else row[0] for row in found[0]), 0)
    for row in found[0]:
        counts[next(cell for cell in row if isinstance(cell, str))] += 1
    assert max(counts.values()) == 3
    assert len(counts) > 3_900


def moved(table: pa.Table, unit: str, limit: int) -> bool:
    """Whether removing a unit changes an answer by other than the unit's own, or by more than its limit allows."""
    mine = pc.fill_null(pc.equal(table["id"], unit), fill_value=False)
    whole, without, alone = (
        numbers(part, limit) for part in (table, table.filter(pc.invert(mine)), table.filter(mine))
    )
    away = [a - b for a, b in zip(whole, without, strict=True)]
    # Each group has a count and a sum of steps from its center; a row's step is within what the plan claims.
    statistics = plan_sql(visits(limit), SQL_TEXT).aggregate.statistics
    reach = [max(map(abs, each.reach({}))) for each in statistics]
    spread = [sum(abs(away[place]) for place in range(at, len(away), len(reach))) for at in range(len(reach))]
    return away != alone or any(found > limit * most for found, most in zip(spread, reach, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_a_unit_moves_its_own_kept_rows_alone(way: str, seed: int) -> None:
    assert way in WAYS
    limit = 1 + seed % 3
    assert not moved(data(seed, 5, 40), f"p{seed % 5}", limit)


def test_ranks_that_depend_on_other_units_are_noticed(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert way in WAYS
    own = Emitter.ranked

    def of_all(self: Emitter, child: Relation) -> SQL:
        below = own(self, child)
        mixed = binary(
            "%", binary("*", binary("%", column("r"), number(1009)), over(count_rows(), [], [])), number(1009)
        )
        return select([*(column(name) for name in child.columns), alias(mixed, "r")], below)

    monkeypatch.setattr(Emitter, "ranked", of_all)
    assert any(moved(data(seed, 5, 40), f"p{seed % 5}", 1 + seed % 3) for seed in range(6))


IDS = ["", " ", "a", "A", "\u00e4", "a\u0308", "\U0001d4b3", "p\u0000", None]


def hostile(seed: int, rows: int) -> pa.Table:
    """Rows of ids that look alike, many of which repeat in every cell."""
    random = Random(seed)
    costs = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-300, 7.25, 7.25, 3.5, MOST / 3]
    cells = [(random.choice(IDS), random.randrange(4), random.choice(costs)) for _ in range(rows)]
    return pa.table({"id": [c[0] for c in cells], "ward": [c[1] for c in cells], "cost": [c[2] for c in cells]})


def least(table: pa.Table, limit: int) -> Counter[tuple[Any, ...]]:
    """Sort each unit's rows by their ranks in Python, and keep the first."""
    names = [each.name for each in visits(limit).tables[0].columns]
    units: dict[str, list[tuple[Any, ...]]] = {}
    for row in table.to_pylist():
        if row["id"] is not None and row["cost"] is not None and not math.isnan(row["cost"]):
            settled = row["cost"] if row["cost"] > 1e-150 else 0.0
            found = {**row, "cost": float(min(settled, MOST))}
            units.setdefault(row["id"], []).append(tuple(found[name] for name in names))
    ranked = (sorted((row_rank(unit, row), row) for row in rows) for unit, rows in units.items())
    return Counter(row for rows in ranked for _, row in rows[:limit])


def held(table: pa.Table) -> Counter[tuple[Any, ...]]:
    with DuckDB(visits(3), {"visits": table}, rank_key=KEY, threads=2) as engine:
        engine.prepare(plan_sql(visits(3), SQL_TEXT).aggregate).run()
        return Counter(kept(engine))


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_least_rank_are_kept_among_equal_and_odd_ones(way: str, seed: int) -> None:
    assert way in WAYS
    table = hostile(seed, 30 * (1 + seed))
    assert held(table) == least(table, 3)


def test_one_row_too_many_is_noticed(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert way in WAYS
    right = DuckDBDialect.among_first
    more = lambda self, unit, rank, limit: right(self, unit, rank, limit + 1)  # noqa: E731 - a broken partner
    monkeypatch.setattr(DuckDBDialect, "among_first", more)
    table = hostile(1, 60)
    assert held(table) != least(table, 3)


def test_a_limit_on_numbered_rows_stays_a_sort() -> None:
    """As an aggregate, which DuckDB would make of it, ten million rows take many minutes."""
    policy = visits(3)
    with DuckDB(policy, {"visits": data(1, 10, 100)}) as engine:
        numbered = 'SELECT id, row_number() OVER (PARTITION BY id ORDER BY cost) AS m FROM temp."frame visits"'
        text = f"EXPLAIN SELECT id FROM ({numbered}) AS t WHERE m <= 3"
        ((_, plan),) = engine._connection.execute(text).fetchall()
    assert "window" in plan.lower()
    assert "aggregate" not in plan.lower()


STRICT = Policy(
    [
        Table(
            "t",
            row_is_unit=True,
            columns=[
                Column("key", keys=[0, 1, 2]),
                Column("x", type="float", lower=0, upper=10, nullable=False),
                Column("y", type="float", lower=-5, upper=5, nullable=False),
                Column("z", type="float", lower=0, upper=10),
            ],
        ),
        Table("one", row_is_unit=True, columns=[Column("x", type="float", lower=1, upper=10, nullable=False)]),
    ],
    epsilon=1,
)
ODD = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-300, 5.0, 11.0, -7.0, 2.5]
QUESTIONS = [
    "SELECT COUNT(*), SUM(x), AVG(x), VAR_POP(x), COUNT(x) FROM one",
    "SELECT COUNT(*) FROM one",
    "SELECT COUNT(*), SUM(x) FROM one WHERE x > 2",
    "SELECT COUNT(*), SUM(w) FROM (SELECT x AS w FROM one) s",
    "SELECT COUNT(*), SUM(w) FROM (SELECT x + 1 AS w FROM one) s",
    "SELECT COUNT(*), SUM(w), MEDIAN(w) FROM (SELECT x AS w, x AS v FROM one WHERE x IS NOT NULL) s",
    "SELECT key, COUNT(*), SUM(x) FROM t GROUP BY key",
    "SELECT key, COUNT(*), SUM(x), SUM(y), SUM(z), COUNT(z) FROM t GROUP BY key",
    "SELECT key, COUNT(*), SUM(w) FROM (SELECT key, z AS w FROM t) s GROUP BY key",
    "SELECT COUNT(*), CORR(x, y) FROM t",
]


@pytest.mark.parametrize("kind", ["arrow", "duckdb", "parquet"])
def test_rows_that_must_not_be_null_are_dropped_in_every_question(kind: str, tmp_path: Path) -> None:
    random, kinds = Random(kind), {"key": pa.int64()}
    rows = {
        "t": [{"key": random.choice([0, 1, 7, None]), **{c: random.choice(ODD) for c in "xyz"}} for _ in range(200)],
        "one": [{"x": value} for value in ODD],
    }
    tables = {
        name: pa.table({c: pa.array([row[c] for row in some], kinds.get(c, pa.float64())) for c in some[0]})
        for name, some in rows.items()
    }
    source: object = tables
    if kind == "parquet":
        for name, table in tables.items():
            pq.write_table(table, tmp_path / f"{name}.parquet")
        source = tmp_path
    elif kind == "duckdb":
        source = tmp_path / "data.duckdb"
        with duckdb.connect(str(source)) as connection:
            for name, table in tables.items():
                connection.register("given", table)
                connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
    with DuckDB(STRICT, source) as engine:  # type: ignore[arg-type]
        for sql in QUESTIONS:
            aggregate = plan_sql(STRICT, sql).aggregate
            prepared = engine.prepare(aggregate)
            assert opened(prepared.run(), aggregate) == groups_of(aggregate, rows), sql
        sums = engine.prepare(plan_sql(STRICT, QUESTIONS[0]).aggregate)._statements.texts[0]
        assert "WHERE" not in sums  # a sum needs no filter


def test_what_does_not_fit_into_memory_waits_in_a_private_folder() -> None:
    policy = visits(3)
    with DuckDB(policy, {"visits": data(3, 100, 1_000)}) as engine:
        settings = "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
        ((memory, spill),) = engine._connection.execute(settings).fetchall()
        assert memory.endswith("MiB")  # a part of the machine's memory would be gigabytes
        folder = Path(spill).parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not folder.exists()


def test_little_memory_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(4)
    size = 400_000
    ids = [random.randrange(40_000) for _ in range(size)]
    table = pa.table({"id": ids, "ward": [each % 3 for each in ids], "cost": [random.uniform(0, MOST) for _ in ids]})
    columns = [Column("id", type="integer"), *visits(3).tables[0].columns[:2]]
    policy = Policy([Table("visits", unit="id", rows_per_unit=3, columns=columns)], epsilon=1)
    aggregate = plan_sql(policy, SQL_TEXT).aggregate
    force("windowed", monkeypatch)
    found = []
    for memory in (48, 2_000):
        with DuckDB(policy, {"visits": table}, rank_key=KEY, threads=1, memory=memory) as engine:
            found.append(opened(engine.prepare(aggregate).run(), aggregate))
    assert found[0] == found[1]


def test_a_key_of_ranks_is_fresh_and_of_full_length() -> None:
    """Who knows it, or guesses it, tells which rows of a unit are kept."""
    fresh = {fresh_key() for _ in range(3)}
    assert len(fresh) == 3
    assert {len(key) for key in fresh} == {32}
    assert read_key(bytes(32)) == bytes(32)
    assert read_key(None) != read_key(None)
    for short in (b"", b"short", bytes(31)):
        with pytest.raises(ParameterError):
            read_key(short)

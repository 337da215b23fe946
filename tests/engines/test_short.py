"""Rows that are numbered by short keys are those of least whole rank, and no unit has more than its limit."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.engines.duckdb import DuckDB, short
from discreet.engines.duckdb.short import MARK, Short
from discreet.engines.duckdb.store import Store, _Guess
from discreet.engines.sql.words import alias, binary, column, select
from discreet.errors import EngineError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.databases import KEY, row_rank

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines.sql.words import SQL

LIMIT, MOST = 3, 1000
SQL_TEXT = "SELECT COUNT(*) AS n, SUM(cost) AS total FROM visits"
UNITS = {
    "small": range(12),
    "negative": range(-7, 5),
    "least": range(-(2**63), -(2**63) + 12),
    "largest": range(2**63 - 12, 2**63),
    "far apart": [place * (2**32 - 1) // 11 for place in range(12)],
}
CODES = [(0, 3), (0, 255), (0, 256), (0, 2**16), (0, 2**22 + 1), (0, 2**40), (-5, 5), (-(2**63), 2**63 - 1)]
COSTS = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-300, 7.25, 7.25, 3.5, MOST / 3]


def policy(*, strict: bool = False, unit: str = "integer") -> Policy:
    columns = [
        Column("id", type=unit),
        Column("code", type="integer", nullable=not strict),
        Column("cost", type="float", lower=0, upper=MOST, nullable=False),
        Column("name", type="text"),
    ]
    return Policy([Table("visits", unit="id", rows_per_unit=LIMIT, columns=columns)], epsilon=1)


def data(seed: int, units: Any = UNITS["small"], codes: tuple[int, int] = (0, 3), rows: int = 150) -> pa.Table:  # noqa: ANN401
    """Rows of units that are numbers, some NULL; some rows are odd, and some agree with another in all cells."""
    random, units = Random(f"{seed} {codes}"), list(units)
    given: list[tuple[Any, ...]] = []
    for _ in range(rows):
        if given and random.random() < 0.15:
            given.append(random.choice(given))
            continue
        cost = random.choice(COSTS) if random.random() < 0.3 else random.uniform(-10, MOST + 10)
        code = None if random.random() < 0.1 else random.choice([*codes, random.randint(*codes)])
        unit = None if random.random() < 0.05 else random.choice(units)
        given.append((unit, code, cost, random.choice(["a", "b", None])))
    kinds = {"id": pa.int64(), "code": pa.int64(), "cost": pa.float64(), "name": pa.string()}
    return pa.table({name: pa.array([row[at] for row in given], kinds[name]) for at, name in enumerate(kinds)})


def least(table: pa.Table, *, strict: bool = False) -> Counter[tuple[Any, ...]]:
    """Sort each unit's rows by their ranks in Python, and keep the first."""
    units: dict[int, list[tuple[Any, ...]]] = {}
    for unit, code, cost, name in zip(*(table[each].to_pylist() for each in table.column_names), strict=True):
        if unit is None or cost is None or math.isnan(cost) or (strict and code is None):
            continue
        settled = min(cost, float(MOST)) if cost > 1e-150 else 0.0
        units.setdefault(unit, []).append((unit, code, settled, name))
    ranked = (sorted(rows, key=lambda row: row_rank(row[0], row)) for rows in units.values())
    return Counter(row for rows in ranked for row in rows[:LIMIT])


def held(table: pa.Table, given: Policy, **options: Any) -> Counter[tuple[Any, ...]]:  # noqa: ANN401 - of the engine
    with DuckDB(given, {"visits": table}, rank_key=KEY, threads=2, **options) as engine:
        engine.prepare(plan_sql(given, SQL_TEXT).aggregate).run()
        return read(engine)


def read(engine: DuckDB) -> Counter[tuple[Any, ...]]:
    return Counter(engine._connection.execute("SELECT * FROM kept_0_3").fetchall())


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[Short]:
    """Rank all rows whatever the sample says, and note when it is done by short keys."""
    monkeypatch.setattr(_Guess, "mostly_heavy", True)
    monkeypatch.setattr(_Guess, "share", 1)
    found: list[Short] = []
    numbered = Short.numbered

    def noted(self: Short, *given: Any) -> SQL:  # noqa: ANN401 - passed on
        found.append(self)
        return numbered(self, *given)

    monkeypatch.setattr(Short, "numbered", noted)
    return found


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("units", UNITS)
def test_rows_of_least_rank_are_kept(units: str, codes: tuple[int, int], used: list[Short]) -> None:
    for seed, strict in enumerate((False, True)):
        table = data(seed, UNITS[units], codes)
        assert held(table, policy(strict=strict)) == least(table, strict=strict)
    assert len(used) == 2


@pytest.mark.parametrize("bits", [0, 1, 3])
@pytest.mark.parametrize("place", ["memory", "file"])
def test_whole_ranks_decide_where_short_keys_are_equal(
    bits: int, place: str, used: list[Short], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With so few bits nearly every unit is cut down in the end."""
    monkeypatch.setattr(short, "_HASH_BITS", bits)
    for seed in range(4):
        table = data(seed, codes=(0, 10**6))
        options = {"store": tmp_path / f"{seed}.duckdb"} if place == "file" else {}
        assert held(table, policy(), **options) == least(table)
    assert len(used) == 4


def test_a_mark_that_is_missing_is_noticed(used: list[Short], monkeypatch: pytest.MonkeyPatch) -> None:
    numbered = Short.numbered

    def unmarked(self: Short, *given: Any) -> SQL:  # noqa: ANN401 - passed on
        query = numbered(self, *given)
        names = [column(each.alias_or_name) for each in query.expressions if each.alias_or_name != MARK]
        never = alias(binary("<>", column(MARK), column(MARK)), MARK)
        return select([*names, never], query)

    monkeypatch.setattr(Short, "numbered", unmarked)
    monkeypatch.setattr(short, "_HASH_BITS", 2)
    table = data(1, codes=(0, 10**6))
    found = held(table, policy())
    assert used
    assert found != least(table)
    assert max(Counter(row[0] for row in found.elements()).values()) > LIMIT


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bits", [2, 16])
def test_a_unit_decides_about_its_own_rows_alone(
    seed: int, bits: int, used: list[Short], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other units also decide what is looked up: without the first or the last, other numbers are packed."""
    monkeypatch.setattr(short, "_HASH_BITS", bits)
    table = data(seed, [-(2**20), 3, 5, 2**30], (0, 300))
    whole = held(table, policy())
    for unit in (-(2**20), 3, 2**30):
        mine = pc.fill_null(pc.equal(table["id"], unit), fill_value=False)
        others, own = (held(table.filter(each), policy()) for each in (pc.invert(mine), mine))
        assert whole == others + own
        assert sum(own.values()) <= LIMIT
    assert used


def test_short_keys_are_for_numbers_that_fit(used: list[Short]) -> None:
    far = data(1, [*range(5), 2**32])
    assert held(far, policy()) == least(far)
    texts = far.set_column(0, "id", pc.cast(far["id"], pa.string()))
    assert sum(held(texts, policy(unit="text")).values()) == sum(least(far).values())
    empty = data(1, rows=0)
    assert held(empty, policy()) == Counter()
    nobody = far.set_column(0, "id", pa.nulls(far.num_rows, pa.int64()))
    assert held(nobody, policy()) == Counter()
    assert used == []


def test_short_keys_are_not_for_rows_that_mostly_agree(used: list[Short]) -> None:
    """Whole ranks would have to decide about nearly all units after all."""
    ids = [place % 200 for place in range(2_000)]
    alike = {"id": ids, "code": [7] * 2_000, "cost": [1.5] * 2_000, "name": ["a"] * 2_000}
    assert sum(held(pa.table(alike), policy()).values()) == 200 * LIMIT
    assert used == []
    held(pa.table({**alike, "code": range(2_000)}), policy())
    assert len(used) == 1


def test_only_kept_rows_are_left(used: list[Short], tmp_path: Path) -> None:
    table, path = data(2), tmp_path / "store.duckdb"
    first = held(table, policy(), store=path)
    with DuckDB(policy(), {"visits": table}, store=path) as engine:
        tables = engine._connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        assert tables == [("about",), ("kept_0_3",)]
        assert read(engine) == first == least(table)
    assert len(used) == 1


@pytest.mark.parametrize("place", ["memory", "file"])
def test_a_failure_halfway_leaves_nothing_to_read(
    place: str, used: list[Short], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(short, "_HASH_BITS", 2)
    table, question = data(3, codes=(0, 10**6)), plan_sql(policy(), SQL_TEXT).aggregate
    options = {"store": tmp_path / "store.duckdb"} if place == "file" else {}
    with DuckDB(policy(), {"visits": table}, rank_key=KEY, **options) as engine:  # type: ignore[arg-type]
        with monkeypatch.context() as broken:
            broken.setattr(Store, "_settle", lambda *_: 1 / 0)
            for _ in range(2):
                with pytest.raises(EngineError):
                    engine.prepare(question).run()
        names = engine._connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        assert not any(name.startswith("kept_") for (name,) in names)
        engine.prepare(question).run()
        assert read(engine) == least(table)
    assert len(used) == 3

"""Rows on loan are those that questions count, bounded and coded, on every engine; unit numbers tell nothing."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections import Counter
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import Batches, BoundedRows
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.errors import EngineError, ParameterError, QueryRefused
from discreet.ledgers import MemoryLedger
from discreet.plans import Bounding, Extract, Plan, table
from discreet.plans.extract import code_book
from discreet.privacy import ZCDP, Pure
from discreet.tables import Column, Policy, Table
from discreet.tables.kinds import as_number
from tests.engines.databases import KEY, arrow_tables, key_rank, row_rank, typed_database
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.plans import interpreter
from tests.plans.hospital import POLICY, database

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from discreet.engines.loan import Arrays
    from discreet.engines.sql.running import SQLEngine
    from discreet.plans import Frame
    from discreet.plans.expressions.expression import Facts
    from tests.plans.interpreter import Database

ENGINES = [
    "duckdb",
    pytest.param("postgres", marks=pytest.mark.engine),
    pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.filterwarnings("ignore")]),
]
FREE = ZCDP(0)
ROWS = typed_database(POLICY, database(Random("loans"), units=9))


def visits() -> Frame[Plan, Extract]:
    return table(POLICY, "visits")


EXTRACTS = [
    visits().select("ward", "cost", "change", "urgent", "visit_date").rows(),
    visits().select("ward", "cost").where("cost > 100").rows(Bounding(rows=1)),
    visits().select("change", half="cost / 2", late="visit_date > DATE '2021-01-01'").rows(Bounding(place="after")),
    table(POLICY, "answers").select("rating", "weight").rows(),
    visits()
    .select("patient_id", "cost")
    .join(table(POLICY, "patients"), "patient_id")
    .select("age", "sex", "city", "cost")
    .rows(),
]


@pytest.fixture(autouse=True)
def _same_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "rank", row_rank)
    monkeypatch.setattr(interpreter, "key_rank", key_rank)


@pytest.fixture
def opener(tmp_path: Path) -> Callable[[str], SQLEngine]:
    def open_one(kind: str) -> SQLEngine:
        if kind == "duckdb":
            return DuckDB(POLICY, arrow_tables(POLICY, ROWS), rank_key=KEY)
        if kind == "postgres":
            fill_postgres(postgres(), "lent", POLICY, ROWS)
            return Postgres(POLICY, postgres(), schema="lent", rank_key=KEY)
        for name, rows in arrow_tables(POLICY, ROWS).items():
            pq.write_table(rows, tmp_path / f"{name}.parquet")
        return Spark(POLICY, spark_session(), folder=tmp_path, rank_key=KEY)

    return open_one


def read(engine: SQLEngine, extract: Extract) -> BoundedRows:
    return read_of(POLICY, engine, extract)


def read_of(policy: Policy, engine: SQLEngine, extract: Extract, cost: Pure | ZCDP = FREE) -> BoundedRows:
    ledger = MemoryLedger(policy)
    loan = engine.lend(extract, ledger)
    return loan.read(ledger.reserve(cost, loan.entry("a test")))


def coded(cell: object, facts: Facts) -> tuple[object, bool]:
    """What a cell of the reference is in lent rows."""
    known = code_book(facts)
    if known is not None:
        return known.index(cell) if cell in known else len(known), cell is None
    low, high = facts.bounds.lower, facts.bounds.upper
    assert low is not None
    assert high is not None
    if cell is None:
        return max(min(0, high), low), True
    return as_number(cell) if facts.kind.temporal else cell, False  # type: ignore[arg-type]


def by_unit(units: list[object], rows: Sequence[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    """Each unit's rows as one sorted tuple, without its name."""
    found: dict[object, list[tuple[object, ...]]] = {}
    for unit, row in zip(units, rows, strict=True):
        found.setdefault(unit, []).append(row)
    return Counter(tuple(sorted(each)) for each in found.values())


def lent(rows: BoundedRows) -> Counter[tuple[object, ...]]:
    columns = [list(zip(rows.columns[name].tolist(), rows.missing[name].tolist(), strict=True)) for name in rows.schema]
    return by_unit(rows.units.tolist(), list(zip(*columns, strict=True)))


def expected(extract: Extract, rows: Database) -> Counter[tuple[object, ...]]:
    pairs = interpreter.rows_of(extract.node, rows)
    cells = [tuple(coded(row[name], facts) for name, facts in extract.schema.items()) for _, row in pairs]
    return by_unit([unit for unit, _ in pairs], cells)


@pytest.mark.parametrize("kind", ENGINES)
def test_lent_rows_are_those_of_the_reference(kind: str, opener: Callable[[str], SQLEngine]) -> None:
    with opener(kind) as engine:
        for extract in EXTRACTS:
            rows = read(engine, extract)
            assert lent(rows) == expected(extract, ROWS)
            assert sorted(set(rows.units.tolist())) == list(range(rows.units.max() + 1))
            assert np.bincount(rows.units).max() <= extract.rows_per_unit
            for name, facts in rows.schema.items():
                if code_book(facts) is None:
                    assert all(facts.bounds.contains(number) for number in rows.columns[name].tolist())


@pytest.mark.parametrize("kind", ENGINES)
def test_batches_put_together_are_the_rows_on_loan(
    kind: str, opener: Callable[[str], SQLEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each as often as asked for, all rows of a unit in one; read a few rows at a time."""
    for module in ("duckdb", "postgres", "spark"):
        monkeypatch.setattr(f"discreet.engines.{module}.engine.BATCH", 5)
    with opener(kind) as engine:
        for extract in EXTRACTS:
            ledger = MemoryLedger(POLICY)
            loan = engine.lend(extract, ledger)
            paid = ledger.reserve(ZCDP(0), loan.entry("a test"))
            whole = loan.read(paid)
            for rows in (extract.rows_per_unit, 7, 10**6):
                with loan.batches(paid, rows=rows) as given:
                    parts = [*given]
                    assert [arrays(part) for part in given] == [arrays(part) for part in parts]
                assert max(part.units.size for part in parts) <= rows
                assert len(parts) > 1 or rows >= whole.units.size
                for of in (arrays, absent):
                    assert [[*chain(*cells)] for cells in zip(*map(of, parts), strict=True)] == of(whole)
                units = [set(part.units.tolist()) for part in parts]
                assert sum(map(len, units)) == len(set().union(*units))
                batches = [part.arrow() for part in parts]
                assert [batch.num_rows for batch in batches] == [part.units.size for part in parts]
                assert [*chain(*(batch["unit"].to_pylist() for batch in batches))] == whole.units.tolist()


def absent(rows: BoundedRows) -> list[list[bool]]:
    return [rows.missing[name].tolist() for name in rows.schema]


@pytest.mark.parametrize("kind", ENGINES)
def test_rows_that_nobody_owns_come_in_no_batch(kind: str, opener: Callable[[str], SQLEngine]) -> None:
    with opener(kind) as engine:
        ledger = MemoryLedger(POLICY)
        loan = engine.lend(visits().select("cost").where("cost < 0").rows(), ledger)
        paid = ledger.reserve(ZCDP(0), loan.entry("a test"))
        with loan.batches(paid, rows=9) as batches:
            assert [*batches] == []
        assert loan.read(paid).units.size == 0


def some(*units: int) -> Arrays:
    """Rows of these units, as an engine hands them over; each cell is the number of its unit."""
    given = np.array(units, dtype=np.int64)
    return given, {"x": (given, np.zeros(given.size, dtype=bool))}


@pytest.mark.parametrize("rows", [2, 3, 99])
def test_units_with_more_rows_than_were_believed_have_the_first_ones_in_one_batch(rows: int) -> None:
    """What the owner has verified may have changed since; no batch fails of it, and none has more of a unit."""
    declared = Table("t", unit="id", rows_per_unit=2, columns=[Column("x", lower=0, upper=9, type="integer")])
    extract = table(Policy([declared], epsilon=1), "t").select("x").rows()

    def handed(take: Callable[[Arrays], None], *, whole: bool) -> None:
        assert not whole
        for part in (some(0, 0, 0, 0), some(0), some(1, 2, 2), some(2, 2, 2), some(2, 3)):
            take(part)

    with Batches(extract, rows, lambda: None, handed) as batches:
        parts = [batch.units.tolist() for batch in batches]
        assert [*chain(*parts)] == [0, 0, 1, 2, 2, 3]
        assert max(map(len, parts)) <= rows
        assert [*chain(*(batch.columns["x"].tolist() for batch in batches))] == [0, 0, 1, 2, 2, 3]


def test_rows_that_could_not_be_kept_are_removed_before_the_error_is_seen(tmp_path: Path) -> None:
    """An error holds its frames, and may be held itself: rows must not stay on the disk as long."""
    extract = table(POLICY, "visits").select("cost").rows(Bounding(rows=1))
    folders: list[Path] = []

    def failing(take: Callable[[Arrays], None], *, whole: bool) -> None:  # noqa: ARG001 - as engines are called
        folders.extend(tmp_path.iterdir())
        raise EngineError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path))
        with pytest.raises(EngineError) as error:
            Batches(extract, 9, lambda: None, failing)
        assert error.tb is not None
        assert len(folders) == 1
        assert [*tmp_path.iterdir()] == []


def test_memory_does_not_grow_with_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows there are, the engine hands over as many at a time, and a batch is all that is held."""
    policy = Policy([Table("t", unit="id", rows_per_unit=1, columns=[Column("x", lower=0, upper=1)])], epsilon=1)
    size = 100_000
    data = {"t": pa.table({"id": np.arange(size), "x": np.zeros(size)})}
    handed = []
    plain = Batches._keep

    def keep(batches: Batches, arrays: Arrays) -> None:
        handed.append(arrays[0].size)
        plain(batches, arrays)

    monkeypatch.setattr(Batches, "_keep", keep)
    with DuckDB(policy, data) as engine:
        ledger = MemoryLedger(policy)
        loan = engine.lend(table(policy, "t").select("x").rows(), ledger)
        with loan.batches(ledger.reserve(Pure(1), loan.entry("a test")), rows=700) as batches:
            sizes = [batch.units.size for batch in batches]
    assert handed == [10_000] * 10
    assert sizes == [700] * 142 + [600]


def test_keys_that_are_days_have_codes() -> None:
    days = [dt.date(2024, 2, 29), dt.date(1969, 12, 31)]
    policy = Policy([Table("t", row_is_unit=True, columns=[Column("day", type="date", keys=days)])], epsilon=1)
    with DuckDB(policy, {"t": pa.table({"day": [days[1], days[0], None, dt.date(1999, 1, 1)]})}) as engine:
        rows = read_of(policy, engine, table(policy, "t").rows(), Pure(0))
    codes = sorted(zip(rows.columns["day"].tolist(), rows.missing["day"].tolist(), strict=True))
    assert codes == [(0, False), (1, False), (2, False), (2, True)]


def test_the_order_of_rows_does_not_tell_how_they_are_stored() -> None:
    turned = {name: rows[::-1] for name, rows in ROWS.items()}
    with (
        DuckDB(POLICY, arrow_tables(POLICY, ROWS), rank_key=KEY) as one,
        DuckDB(POLICY, arrow_tables(POLICY, turned), rank_key=KEY) as two,
    ):
        for extract in EXTRACTS:
            assert arrays(read(one, extract)) == arrays(read(two, extract))


@pytest.mark.parametrize("unit", [{"unit": "id", "rows_per_unit": 1}, {"row_is_unit": True}], ids=["named", "row"])
def test_the_numbers_of_units_depend_on_the_key_and_not_on_names_or_cells(unit: dict[str, Any]) -> None:
    columns = [Column("id", type="integer"), Column("cost", lower=0, upper=40)]
    policy = Policy([Table("visits", columns=columns, **unit)], epsilon=1)
    data = {"visits": pa.table({"id": range(40), "cost": range(40)})}
    orders = []
    for key in (KEY, bytes(32)):
        ledger = MemoryLedger(policy)
        with DuckDB(policy, data, rank_key=key) as engine:
            loan = engine.lend(table(policy, "visits").select("cost").rows(), ledger)
            orders.append(loan.read(ledger.reserve(Pure(1), loan.entry("a test"))).columns["cost"].tolist())
    assert [sorted(order) for order in orders] == [list(range(40))] * 2
    assert len({tuple(order) for order in (*orders, list(range(40)))}) == 3


def arrays(rows: BoundedRows) -> list[list[object]]:
    return [rows.units.tolist(), *(rows.columns[name].tolist() for name in rows.schema)]


def test_removing_a_unit_removes_its_rows_and_no_others() -> None:
    extract = EXTRACTS[0]
    gone = ROWS["visits"][0]["patient_id"]
    fewer = ROWS | {"visits": [row for row in ROWS["visits"] if row["patient_id"] != gone]}
    with (
        DuckDB(POLICY, arrow_tables(POLICY, ROWS), rank_key=KEY) as one,
        DuckDB(POLICY, arrow_tables(POLICY, fewer), rank_key=KEY) as two,
    ):
        lost = lent(read(one, extract)) - lent(read(two, extract))
    assert lost.total() == 1
    assert len(next(iter(lost))) <= extract.rows_per_unit


@pytest.mark.parametrize(
    "build, said",
    [
        (lambda: visits().select("diagnosis").rows(), "diagnosis: Nothing bounds what one row holds"),
        (lambda: visits().select("score").rows(), "score: Nothing bounds"),
        (lambda: visits().select("patient_id").rows(), "patient_id: It names the unit"),
        (lambda: visits().select().rows(), "There are no columns"),
        (lambda: table(POLICY, "wards").select("floor").rows(), "Public rows need no loan"),
        (lambda: visits().select("ward").rows(Bounding(groups=1)), "without groups"),
        (lambda: visits().select("ward").rows(Bounding(shape="sums", rows=1)), "without sums"),
        (lambda: visits().select("ward").rows(7), "bounding is 7; it must be a Bounding"),  # type: ignore[arg-type]
    ],
)
def test_what_nothing_bounds_is_not_lent(build: Callable[[], object], said: str) -> None:
    with pytest.raises((QueryRefused, ParameterError), match=said):
        build()


def test_rows_on_loan_keep_the_limit_that_was_asked_for() -> None:
    assert [extract.rows_per_unit for extract in EXTRACTS] == [3, 1, 3, 1, 3]
    with DuckDB(POLICY, arrow_tables(POLICY, ROWS)) as engine:
        counts = [np.bincount(read(engine, extract).units).max() for extract in EXTRACTS[:2]]
    assert counts == [3, 1]


def test_rows_of_rows_that_are_read_twice_are_refused() -> None:
    answers = table(POLICY, "answers").select("rating")
    with DuckDB(POLICY, arrow_tables(POLICY, ROWS)) as engine, pytest.raises(QueryRefused, match="cannot be told"):
        engine.lend(answers.union_all(answers).rows(), MemoryLedger(POLICY))


COLUMNS = [
    Column("k", keys=["a", "b"], null_key=True),
    Column("n", lower=-3, upper=9),
    Column("x", type="float", lower="0.1", upper=2),
]


def test_plain_arrays_are_bounded_whatever_they_hold() -> None:
    """Each odd cell is read by itself; none is an error."""
    odd = [None, "a", 2, -1e9, 10**400, float("nan"), float("inf"), [1], 1.4, True]
    rows = BoundedRows.of({"k": odd, "n": odd, "x": odd}, COLUMNS)
    assert rows.columns["k"].tolist() == [2, 0, 3, 3, 3, 3, 3, 3, 3, 3]
    assert rows.columns["n"].tolist() == [0, 0, 2, -3, 9, 0, 9, 0, 1, 1]
    assert rows.columns["x"].tolist() == [0.1, 0.1, 2.0, 0.1, 2.0, 0.1, 2.0, 0.1, 1.4, 1.0]
    absent = [True, True, False, False, False, True, False, True, False, False]
    assert rows.missing["n"].tolist() == rows.missing["x"].tolist() == absent
    whole = BoundedRows.of({"k": ["a"] * 3, "n": np.array([-9, 0, 99]), "x": np.array([-0.5, np.nan, 9])}, COLUMNS)
    assert whole.columns["n"].tolist() == [-3, 0, 9]
    assert whole.columns["x"].tolist() == [0.1, 0.1, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        whole.columns["n"][0] = 1


def test_plain_arrays_have_the_first_rows_of_each_unit() -> None:
    units = ["z", None, "a", "z", "z", float("nan"), "a"]
    rows = BoundedRows.of({"n": [1, 2, 3, 9, 5, 6, 0]}, COLUMNS[1:2], units=units, rows_per_unit=2)
    assert (rows.units.tolist(), rows.columns["n"].tolist()) == ([0, 0, 1, 1], [1, 9, 0, 3])


@pytest.mark.parametrize(
    "given, said",
    [
        ({"arrays": {}, "columns": COLUMNS}, "has the declared columns: k, n, x"),
        ({"arrays": {"n": [1]}, "columns": COLUMNS[1:2], "units": [1, 2]}, "different lengths"),
        ({"arrays": {"n": [1]}, "columns": COLUMNS[1:2], "rows_per_unit": 0}, "rows_per_unit is 0"),
        ({"arrays": {"d": [1]}, "columns": [Column("d", type="text")]}, "Nothing bounds"),
        ({"arrays": {"n": np.array(["secret"])}, "columns": COLUMNS[1:2]}, "a column of numbers is needed"),
    ],
)
def test_plain_arrays_that_do_not_fit_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises((ParameterError, QueryRefused), match=said) as raised:
        BoundedRows.of(**given)  # type: ignore[arg-type]
    assert "secret" not in str(raised.value)

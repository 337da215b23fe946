"""The example method, on every engine: charged once, recorded, found again, audited."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import privacy as p
from discreet.checks.audits import audit
from discreet.database import Database
from discreet.engines import BoundedRows
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.errors import EngineError
from discreet.ledgers import SQLiteLedger
from discreet.privacy import Pure
from discreet.tables import Column, Policy, Table
from examples.refined_histogram import noisy_counts, refined, refined_histogram
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.checks.audits.black_box import Sampler
    from discreet.engines.sql.running import SQLEngine
    from discreet.mechanisms.release import Release
    from discreet.noise import BitSource

AGE = Column("age", lower=0, upper=128)
VISITS = Table("visits", unit="id", rows_per_unit=2, columns=[AGE, Column("id", type="integer")])
POLICY = Policy([VISITS], epsilon=100, dataset="town")
ROWS = [{"id": place // 3, "age": 31 if place % 9 else 100} for place in range(900)]
CONFIDENCE = "0.999999999"


def opened(kind: str, folder: Path) -> SQLEngine:
    tables = pa.table({name: [row[name] for row in ROWS] for name in ("id", "age")})
    if kind == "duckdb":
        return DuckDB(POLICY, {"visits": tables})
    if kind == "postgres":
        fill_postgres(postgres(), "town", POLICY, {"visits": ROWS})
        return Postgres(POLICY, postgres(), schema="town")
    pq.write_table(tables, folder / "visits.parquet")
    return Spark(POLICY, spark_session(), folder=folder)


@pytest.mark.parametrize(
    "kind",
    [
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.engine),
        pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.filterwarnings("ignore")]),
    ],
)
def test_it_is_charged_once_recorded_and_found_again(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    epsilon, path = Fraction(90), tmp_path / "town.sqlite"
    with opened(kind, tmp_path) as engine:
        with SQLiteLedger(path, POLICY) as ledger, Database(POLICY, engine, ledger=ledger) as db:
            first = refined_histogram(db.table("visits").select("age").rows(), epsilon)
            assert db.remaining == Pure(10)
        assert sum(first.values()) == pytest.approx(600, abs=9)  # two rows of three are kept; ε = 30 for each round
        assert {edge for edge, count in first.items() if count > 50} <= {16.0, 24.0, 64.0, 96.0}
        monkeypatch.setattr(engine, "_results", lambda _: None)
        with SQLiteLedger(path, POLICY) as ledger, Database(POLICY, engine, ledger=ledger) as db:
            loan = db.table("visits").select("age").rows()
            assert refined_histogram(loan, epsilon) == first
            assert db.remaining == Pure(10)
            assert len([*ledger.entries(kind="part")]) == 3
            assert ledger.verify().ok
            with pytest.raises(EngineError):  # the partner: what is not stored does ask the engine
                refined_histogram(loan, Fraction(9))


def sampler(rows: BoundedRows) -> Sampler:
    """All rounds of the method for ε = 2: what tells most, the counts of one age clipped to 0 and 2, summed."""

    def once(bits: BitSource) -> int:
        held: list[int] = []

        def release(edges: list[float]) -> Release[Any]:
            counts = noisy_counts(rows, edges, Fraction(2, 3), bits)
            held.append(counts.value[np.searchsorted(edges, 31, side="right") - 1])
            return counts

        refined(release)
        return int(np.clip(held, 0, 2).sum())

    return lambda count, bits: np.array([once(bits) for _ in range(count)])


def two_rows(units: list[str], rows_per_unit: int) -> tuple[BoundedRows, BoundedRows]:
    """Two rows that come or go together, of these units."""
    with_them, without = (
        BoundedRows.of({"age": [31] * len(some)}, [AGE], units=some, rows_per_unit=rows_per_unit)
        for some in (units, [])
    )
    return with_them, without


@pytest.mark.slow
def test_the_audit_does_not_refute_it_and_refutes_one_that_takes_a_unit_s_rows_for_units(seed: int) -> None:
    """The partner has noise for one row of a unit, and the unit has two: its true ε is twice the claim."""
    found, partner = (
        audit(*map(sampler, rows), claim=p.pure(epsilon=2), draws=4000, confidence=CONFIDENCE, bits=ReplayBits(seed))
        for rows in (two_rows(["ann", "ann"], 2), two_rows(["ann", "also ann"], 1))
    )
    assert not found.refuted
    assert found.epsilon > 0.75
    assert partner.refuted

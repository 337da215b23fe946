"""The same rows on every engine give the same model from the same bits, and are read only after they were paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from discreet.engines import Loan
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.ledgers import MemoryLedger
from discreet.methods.learning import (
    PATE,
    PCA,
    AdditiveModel,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    RandomDecisionTrees,
    RandomForest,
    StandardScaler,
)
from discreet.plans import Bounding, Extract, table
from discreet.privacy import ZCDP
from discreet.tables import Column, Policy, Table
from tests.engines.databases import KEY, arrow_tables
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.methods.learning.tabular.estimator import Estimator

VISITS = Table(
    "visits",
    unit="id",
    rows_per_unit=2,
    columns=[
        Column("id", type="integer"),
        Column("age", lower=0, upper=100),
        Column("dose", type="float", lower="0.5", upper="7.25"),
        Column("ward", keys=["a", "b"]),
        Column("ill", keys=["no", "yes"]),
        Column("cost", lower=0, upper=500),
    ],
)
POLICY = Policy([VISITS], epsilon=30, delta="1e-3")
ASKED: dict[str, Any] = {"age": [10, 90], "dose": [1.0, 6.0], "ward": ["a", "b"]}
MODELS: list[tuple[Estimator, str | None]] = [
    (LogisticRegression(epsilon=1), "ill"),
    (LogisticRegression(epsilon=1, method="objective"), "ill"),
    (LogisticRegression(epsilon=1, method="output"), "ill"),
    (LogisticRegression(epsilon=1, rate="0.5"), "ill"),
    (LinearRegression(epsilon=1, method="statistics"), "cost"),
    (LinearRegression(epsilon=1, method="adaptive posterior"), "cost"),
    (AdditiveModel(epsilon=1, turns=2, bins=5), "ill"),
    (RandomForest(epsilon=1, trees=2, depth=2), "ill"),
    (RandomDecisionTrees(epsilon=1, trees=2, depth=2), "ill"),
    (GaussianNB(epsilon=1), "ill"),
    (PATE(epsilon=1, public=ASKED, teachers=5), "ill"),
    (StandardScaler(epsilon=1), None),
    (PCA(epsilon=1), None),
    (KMeans(epsilon=1, n_clusters=2), None),
]


def cells() -> list[dict[str, Any]]:
    chance = np.random.default_rng(8)
    age, dose = chance.integers(-5, 110, 400), chance.uniform(0, 8, 400)
    wards = chance.choice(["a", "b", "c"], 400)
    return [
        {
            "id": place // 3,
            "age": None if place % 17 == 0 else int(age[place]),
            "dose": float(dose[place]),
            "ward": str(wards[place]),
            "ill": "yes" if age[place] > 50 else "no",
            "cost": int(age[place]) * 4,
        }
        for place in range(400)
    ]


def loans(kind: str, folder: Path) -> Iterator[tuple[Any, str | None, Loan, MemoryLedger]]:
    database = {"visits": cells()}
    if kind == "duckdb":
        engine: Any = DuckDB(POLICY, arrow_tables(POLICY, database), rank_key=KEY)
    elif kind == "postgres":
        fill_postgres(postgres(), "learned", POLICY, database)
        engine = Postgres(POLICY, postgres(), schema="learned", rank_key=KEY)
    else:
        for name, rows in arrow_tables(POLICY, database).items():
            pq.write_table(rows, folder / f"{name}.parquet")
        engine = Spark(POLICY, spark_session(), folder=folder, rank_key=KEY)
    with engine:
        for model, target in MODELS:
            names = [*ASKED, *([target] if target else [])]
            ledger = MemoryLedger(POLICY)
            yield (
                model,
                target,
                engine.lend(Extract(POLICY, table(POLICY, "visits").select(*names).node, Bounding()), ledger),
                ledger,
            )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind", [pytest.param("postgres", marks=pytest.mark.slow), pytest.param("spark", marks=pytest.mark.spark)]
)
def test_the_same_bits_give_the_same_model_on_every_engine(kind: str, tmp_path: Path) -> None:
    made, reference = [], []
    for model, target, loan, ledger in loans(kind, tmp_path):
        task = model.task_of(loan, target)
        rows = loan.read(ledger.reserve(ZCDP("0.001"), loan.entry("a test")))
        made.append(model._fitted(rows, task, ReplayBits(3))[0])
    for model, target, loan, ledger in loans("duckdb", tmp_path):
        rows = loan.read(ledger.reserve(ZCDP("0.001"), loan.entry("a test")))
        reference.append(model._fitted(rows, model.task_of(loan, target), ReplayBits(3))[0])
    for first, second in zip(made, reference, strict=True):
        assert first.keys() == second.keys()
        assert all(np.array_equal(np.asarray(first[name]), np.asarray(second[name])) for name in first)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.spark)])
def test_rows_are_read_after_they_were_paid(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, spent = Loan.read, []
    for model, target, loan, ledger in loans(kind, tmp_path):
        full = ledger.remaining

        def watched(loan: Loan, paid: Any, ledger: MemoryLedger = ledger, full: object = full) -> Any:  # noqa: ANN401
            spent.append(ledger.remaining != full)
            return read(loan, paid)

        monkeypatch.setattr(Loan, "read", watched)
        model.fit(loan, target=target)
        if hasattr(model, "predict"):
            assert len(model.predict(ASKED)) == 2
    assert spent == [True] * len(MODELS)

"""The same 20,000 rows give the same exact aggregates, however they are stored and whichever engine reads them."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import opened
from tests.engines.databases import KEY
from tests.engines.servers import fill_postgres, postgres, spark_session

if TYPE_CHECKING:
    from discreet.engines import Engine

ROWS = 20_000
VISITS = Table(
    "visits",
    unit="id",
    rows_per_unit=9,
    columns=[
        Column("id", type="integer"),
        Column("cost", lower=0, upper=20_000),
        Column("dose", lower="0.5", upper="7.25"),
        Column("ward", keys=["cardiology", "surgery"], null_key=True),
        Column("floor", keys=[1, 2, 3]),
        Column("urgent", type="boolean"),
        Column("day", lower=dt.date(2020, 1, 1), upper=dt.date(2023, 12, 31)),
        Column("note", type="text"),
    ],
)
POLICY = Policy([VISITS], epsilon=1, delta=1e-6)
QUESTIONS = [
    "SELECT COUNT(*), COUNT(cost), SUM(cost), COUNT(dose), SUM(dose) FROM visits",
    "SELECT COUNT(DISTINCT id), COUNT(DISTINCT note) FROM visits",
    "SELECT ward, COUNT(*), SUM(cost), AVG(dose), COUNT(floor) FROM visits GROUP BY ward",
    "SELECT floor, COUNT(*), VARIANCE(cost), MEDIAN(cost) FROM visits WHERE urgent GROUP BY floor",
    "SELECT EXTRACT(year FROM day) AS y, COUNT(*), SUM(cost) FROM visits WHERE day >= '2021-02-01' GROUP BY 1",
    "SELECT COUNT(*) FROM visits WHERE note LIKE 'a,%' OR urgent IS NULL OR ward = 'surgery'",
]


def frame() -> pd.DataFrame:
    """Rows as pandas has them: whole numbers with missing ones among them are floats, so CSV files hold 15400.0."""
    random = Random(4)

    def cells(some: Any, share: float = 0.1) -> list[Any]:  # noqa: ANN401 - a cell of any kind
        return [None if random.random() < share else some() for _ in range(ROWS)]

    start = dt.date(2019, 6, 1)
    return pd.DataFrame(
        {
            "id": pd.Series(cells(lambda: random.randrange(2500)), dtype="float64"),
            "cost": pd.Series(cells(lambda: random.randrange(-100, 20_100)), dtype="float64"),
            "dose": pd.Series(cells(lambda: random.gauss(4, 3)), dtype="float64"),
            "ward": pd.Series(
                cells(lambda: random.choice(["cardiology", "surgery", " surgery ", "attic"])), dtype=object
            ),
            "floor": pd.Series(cells(lambda: random.randrange(5)), dtype="float64"),
            "urgent": pd.Series(cells(lambda: random.random() < 0.5), dtype=object),
            "day": pd.to_datetime(pd.Series(cells(lambda: start + dt.timedelta(random.randrange(1800))))),
            "note": pd.Series(cells(lambda: random.choice(['a,"b"', "ä\nö", "x" * 300, "NaN?"])), dtype=object),
        }
    )


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The frame in every form."""
    rows = frame()
    folder = tmp_path_factory.mktemp("frame")
    for kind in ("csv", "parquet"):
        (folder / kind).mkdir()
    rows.to_csv(folder / "csv" / "visits.csv", index=False)
    rows.to_parquet(folder / "parquet" / "visits.parquet", index=False)
    arrow = pa.Table.from_pandas(rows, preserve_index=False)
    return {"pandas": {"visits": rows}, "arrow": {"visits": arrow}, **{k: folder / k for k in ("csv", "parquet")}}


def exact(engine: Engine) -> list[object]:
    aggregates = [plan_sql(POLICY, question).aggregate for question in QUESTIONS]
    return [opened(engine.prepare(each).run(), each) for each in aggregates]


@pytest.fixture(scope="module")
def wanted(stored: dict[str, Any]) -> list[object]:
    with DuckDB(POLICY, stored["arrow"], rank_key=KEY) as engine:
        return exact(engine)


def test_the_aggregates_are_of_the_rows() -> None:
    """Counted by pandas itself: the partner of a comparison that two equal mistakes would pass."""
    rows = frame()
    rows = rows[rows["id"].notna()]
    costs = rows["cost"].dropna().clip(0, 20_000)
    assert rows.groupby("id").size().max() > 9  # some rows are cut, alike on every engine
    assert len(costs) > 10_000
    with DuckDB(Policy([unlimited()], epsilon=1, delta=1e-6), {"visits": rows}, rank_key=KEY) as engine:
        policy = Policy([unlimited()], epsilon=1, delta=1e-6)
        aggregate = plan_sql(policy, "SELECT COUNT(*), COUNT(cost), SUM(cost) FROM visits").aggregate
        found = str(opened(engine.prepare(aggregate).run(), aggregate))
    for number in (len(rows), len(costs), int(costs.sum())):
        assert str(number) in found


def unlimited() -> Table:
    return Table("visits", unit="id", rows_per_unit=1000, columns=VISITS.columns)


@pytest.mark.parametrize("kind", ["pandas", "csv", "parquet"])
def test_the_same_frame_gives_the_same_aggregates_in_duckdb(
    kind: str, stored: dict[str, Any], wanted: list[object]
) -> None:
    with DuckDB(POLICY, stored[kind], rank_key=KEY) as engine:
        assert exact(engine) == wanted


@pytest.mark.engine
@pytest.mark.parametrize("text", [True, False], ids=["csv", "typed"])
def test_the_same_frame_gives_the_same_aggregates_in_postgres(
    text: bool,  # noqa: FBT001 - a parameter
    stored: dict[str, Any],
    wanted: list[object],
) -> None:
    if text:
        read = pd.read_csv(stored["csv"] / "visits.csv", dtype=str, keep_default_na=False, na_values=[""])
    else:
        read = frame()
        read["day"] = read["day"].dt.date
    whole = () if text else ("id", "cost", "floor")
    cells = {
        name: [None if pd.isna(cell) else int(cell) if name in whole else cell for cell in read[name]] for name in read
    }
    records = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    fill_postgres(postgres(), "frame", POLICY, {"visits": records}, text=text)
    with Postgres(POLICY, postgres(), schema="frame", rank_key=KEY) as engine:
        assert exact(engine) == wanted


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_same_frame_gives_the_same_aggregates_in_spark(
    kind: str, stored: dict[str, Any], wanted: list[object]
) -> None:
    with Spark(POLICY, spark_session(), folder=stored[kind], rank_key=KEY) as engine:
        assert exact(engine) == wanted

"""Every aggregate of a plan is read by one measure, found by walking the folder."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.errors import QueryRefused
from discreet.plans import aggregates as agg
from discreet.plans.aggregates import Measure
from discreet.plans.aggregates.measure import expression_of
from discreet.plans.statistics import RowCount
from discreet.releases import measures
from discreet.releases.measures import measure as registry
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Schema
    from discreet.plans.statistics import Statistic

AGGREGATES = [
    thing
    for name in agg.__all__
    if inspect.isclass(thing := getattr(agg, name)) and issubclass(thing, Measure) and not inspect.isabstract(thing)
]
SHARED = {"__init__", "measure", "ratio"}


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_every_aggregate_has_its_measure(aggregate: type[Measure]) -> None:
    assert aggregate in registry._KINDS[aggregate].reads


def test_every_file_of_measures_reads_an_aggregate() -> None:
    files = {path.stem for path in Path(measures.__file__).parent.glob("*.py")} - SHARED
    homes = {registry._KINDS[aggregate].__module__.rpartition(".")[2] for aggregate in AGGREGATES}
    assert files == homes


def test_a_measure_is_counted_or_summed_as_its_aggregate_says() -> None:
    counts = {kind.__name__ for kind, read in registry._KINDS.items() if read.counts}
    sums = {kind.__name__ for kind, read in registry._KINDS.items() if read.sums}
    assert {"Count", "CountDistinct", "Histogram"} <= counts
    assert {"Sum", "Mean", "Variance", "StdDev", "Covariance", "Correlation"} <= sums
    assert not counts & sums
    assert {"Quantiles", "Extreme"}.isdisjoint(counts | sums)


@dataclass(frozen=True, slots=True)
class Unread(Measure):
    """An aggregate that nobody reads from noisy numbers."""

    symbol = "unread"

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        del schema
        return (RowCount(),)


@dataclass(frozen=True, slots=True)
class MeanOfMine(agg.Mean):
    """An aggregate that is read like the one that it is made of."""


def test_what_nobody_could_read_is_refused_before_it_is_paid_for() -> None:
    table = Table("t", row_is_unit=True, columns=[Column("x", lower=0, upper=1)])
    with dp.Database(Policy([table], epsilon=1), {"t": pa.table({"x": [1] * 99})}) as db:
        with pytest.raises(QueryRefused, match="unread"):
            db.table("t").agg(n=Unread(()))
        assert db.remaining == dp.privacy.Pure(1)
        assert db.table("t").agg(mean=MeanOfMine((expression_of("x"),))).release(epsilon=1).columns == ("mean",)


GROUPS, ROWS = 1000, 40
FALSE_ALARM = 1e-9


def test_the_error_of_a_ratio_holds_as_often_as_it_says() -> None:
    """Each group has noise of its own; half of the ± is exceeded more often than is allowed."""
    columns = [Column("g", keys=list(range(GROUPS))), Column("x", lower=0, upper=100, nullable=False)]
    rows = pa.table({"g": [n % GROUPS for n in range(GROUPS * ROWS)], "x": [90] * (GROUPS * ROWS)})
    with dp.Database(Policy([Table("t", row_is_unit=True, columns=columns)], epsilon=9), {"t": rows}) as db:
        cells = db.sql("SELECT g, AVG(x) AS mean FROM t GROUP BY g").release(epsilon=3).cells(0.95)
    most = binom.isf(FALSE_ALARM, GROUPS, 0.05)

    def misses(part: float) -> int:
        return sum(abs(row["mean"].value - 90) > part * row["mean"].error for row in cells)  # type: ignore[operator]

    assert misses(1) <= most < misses(1 / 2)


@pytest.mark.parametrize("sql", ["VAR_SAMP(x)", "STDDEV_SAMP(x)", "COVAR_SAMP(x, y)"])
@pytest.mark.parametrize("rho, confidence", [(300, 0.99), (3000, 0.95)])
def test_the_error_of_what_is_divided_by_n_less_1_knows_how_noisy_n_is(sql: str, rho: int, confidence: float) -> None:
    """Two rows at both ends: with a count that is a little off, n - 1 is off by much more of it than n."""
    columns = [Column("g", keys=list(range(GROUPS))), *(Column(name, lower=0, upper=10) for name in "xy")]
    ends = [10.0 * (n % 2) for n in range(2 * GROUPS)]
    rows = pa.table({"g": [n // 2 for n in range(2 * GROUPS)], "x": ends, "y": ends})
    policy = Policy([Table("t", row_is_unit=True, columns=columns)], epsilon=10**6, delta="0.001")
    with dp.Database(policy, {"t": rows}) as db:
        cells = db.sql(f"SELECT g, {sql} AS s FROM t GROUP BY g").release(rho=rho).cells(confidence)
    most, truth = binom.isf(FALSE_ALARM, GROUPS, 1 - confidence), 50**0.5 if "STD" in sql else 50

    def misses(part: float) -> int:
        return sum(abs(row["s"].value - truth) > part * row["s"].error for row in cells)  # type: ignore[operator]

    assert misses(1) <= most < misses(1 / 10)

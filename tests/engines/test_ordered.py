"""One statement reads the cells near ranks, and the bins of all groups with them where they are paid for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.database import Database
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb import engine as engine_module
from discreet.errors import ParameterError
from discreet.plans import plan_sql
from discreet.plans.statistics import RankedCells, Window
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.engines.sql.running import Results

GROUPS = 3
MEDIAN = Window(1, 1, 0, 9)
GRIDS = {
    "floats": {"type": "float", "lower": 0, "upper": 100},
    "floats from below 0": {"type": "float", "lower": -7.3, "upper": 1e6},
    "integers": {"lower": -50, "upper": 5000},
    "few integers": {"lower": -5, "upper": 90},
    "marks beside cells": {"type": "float", "lower": -0.3, "upper": 0.77},
}


def policy(grid: str) -> Policy:
    columns = [Column("key", keys=range(GROUPS)), Column("value", nullable=False, **GRIDS[grid])]  # type: ignore[arg-type]
    return Policy([Table("visits", columns=columns, row_is_unit=True)], epsilon=10**6)


def visits(count: int, *, whole: bool) -> pa.Table:
    """Keys of which some are not known, and values of which many are round, and some missing, odd or too far away."""
    draw = np.random.default_rng(count)
    values = np.where(draw.random(count) < 0.4, draw.integers(0, 12, count) * 10.0, draw.normal(40, 30, count))
    if whole:
        cells = [None if draw.random() < 0.02 else round(each) for each in values.tolist()]
        return pa.table({"key": draw.integers(0, GROUPS + 2, count), "value": pa.array(cells, type=pa.int64())})
    values[draw.integers(0, count, 12)] = [np.nan, np.inf, -np.inf] * 4
    return pa.table({"key": draw.integers(0, GROUPS + 2, count), "value": values})


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("count", [0, 1, 2000])
def test_bins_are_counted_from_the_cells_that_are_read(grid: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cells, counted one by one, give the same bins as the few that are read near ranks."""
    monkeypatch.setattr(engine_module, "_FEW", -1)
    rules = policy(grid)
    aggregate = plan_sql(rules, "SELECT key, MEDIAN(value) FROM visits GROUP BY key").aggregate
    (statistic,) = aggregate.statistics
    assert isinstance(statistic, RankedCells)
    near = replace(aggregate, statistics=(replace(statistic, windows=(MEDIAN,)),))
    data = visits(count, whole="integers" in grid) if count else visits(1, whole="integers" in grid).slice(1)
    with DuckDB(rules, {"visits": data}) as engine:
        prepared = engine.prepare(aggregate)
        every, some = prepared.run(), prepared.near(near).run()
    counted = np.zeros(len(statistic.marks.starts), dtype=np.int64)
    for cells in every.unprotected_cells(0):
        for cell, _, equal, _ in cells.tolist():
            counted[statistic.marks.place(cell)] += equal
    assert some.unprotected_pooled(0).tolist() == every.unprotected_pooled(0).tolist() == counted.tolist()
    assert counted.sum() == sum(int(each[:, 2].sum()) for each in every.unprotected_cells(0))
    for cells, all_cells in zip(some.unprotected_cells(0), every.unprotected_cells(0), strict=True):
        wanted = [row for row in all_cells.tolist() if MEDIAN.misses(below=row[1], equal=row[2], total=row[3]) < 9]
        assert cells.tolist() == wanted
    if count > 1:
        assert counted.sum() > count / 2


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("windows", [(), (MEDIAN,), (Window(1, 9, 0, 6), Window(1, 0, 2, 3))])
def test_cells_are_the_same_wherever_they_are_ordered(
    grid: str, windows: tuple[Window, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = policy(grid)
    aggregate = plan_sql(rules, "SELECT key, MEDIAN(value) FROM visits GROUP BY key").aggregate
    (statistic,) = aggregate.statistics
    assert isinstance(statistic, RankedCells)
    near = replace(aggregate, statistics=(replace(statistic, windows=windows),))
    found = []
    data = visits(900, whole="integers" in grid)
    if grid == "marks beside cells":
        assert statistic.marks.rate and not statistic.marks.every  # noqa: PT018 - what the grid is here for
        data = data.set_column(1, "value", pc.divide(data["value"], 100.0))
    for few in (-1, 10_000):
        monkeypatch.setattr(engine_module, "_FEW", few)
        with DuckDB(rules, {"visits": data}) as engine:
            computed = engine.prepare(near).run()
        cells = [each.tolist() for each in computed.unprotected_cells(0)]
        found.append((cells, computed.unprotected_pooled(0).tolist()))
    assert found[0] == found[1]
    assert sum(map(len, found[0][0])) >= 2 * GROUPS


def texts_of(sql: str, monkeypatch: pytest.MonkeyPatch, *, few: int = -1) -> list[str]:
    """Give the statements that a question runs, after the one that finds out how many rows there are."""
    found: list[str] = []
    plain = DuckDB._results

    def recorded(engine: DuckDB, texts: Sequence[str]) -> Results | None:
        found.extend(texts)
        return plain(engine, texts)

    with Database(policy("floats"), {"visits": visits(100, whole=False)}) as db:
        question = db.sql(sql)
        monkeypatch.setattr(DuckDB, "_results", recorded)
        monkeypatch.setattr(engine_module, "_FEW", few)
        question.release(epsilon=1)
        monkeypatch.undo()
    return found[1:]


def test_cells_of_few_rows_are_ordered_as_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a hundred rows, a window takes longer to plan than all else to compute."""
    sql = "SELECT key, MEDIAN(value) FROM visits GROUP BY key"
    for few, ordered in ((100, False), (99, True)):
        (text,) = texts_of(sql, monkeypatch, few=few)
        assert (" OVER " in text) is ordered


def test_a_quantile_takes_one_statement_and_extremes_read_no_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    for measures, bins in (("MEDIAN(value)", True), ("MIN(value), MAX(value)", False), ("MAX(value)", False)):
        (text,) = texts_of(f"SELECT key, {measures} FROM visits GROUP BY key", monkeypatch)
        assert ("lead(" in text) is bins
    (text,) = texts_of("SELECT MEDIAN(value) FROM visits", monkeypatch)  # one group learns nothing
    assert "lead(" not in text


def test_bins_that_were_not_asked_for_are_not_there() -> None:
    rules = policy("floats")
    aggregate = plan_sql(rules, "SELECT key, MAX(value) FROM visits GROUP BY key").aggregate
    (statistic,) = aggregate.statistics
    assert isinstance(statistic, RankedCells)
    with DuckDB(rules, {"visits": visits(50, whole=False)}) as engine:
        found = engine.prepare(replace(aggregate, statistics=(replace(statistic, bins=False),))).run()
    with pytest.raises(ParameterError, match="no counts over all groups"):
        found.unprotected_pooled(0)

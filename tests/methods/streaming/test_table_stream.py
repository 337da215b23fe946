"""Streams of a table that grows: each period is read once, and no unit counts more often than it may."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.errors import BudgetError, LedgerError, ParameterError, QueryRefused
from discreet.ledgers import MemoryLedger
from discreet.mechanisms.prefix import KaryTree
from discreet.privacy import NeighborRelation
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

DAY = "SELECT DATE_TRUNC('day', day) AS d, COUNT(*) AS n FROM visits GROUP BY 1"
WARD = "SELECT DATE_TRUNC('day', day) AS d, ward, COUNT(*) AS n FROM visits WHERE ward <> 'x' GROUP BY 1, ward"
TABLE = Table(
    "visits",
    unit="id",
    columns=[
        Column("day", type="date", lower="2024-01-01", upper="2030-01-01"),
        Column("ward", keys=["a", "b", "x"]),
    ],
)
POLICY = Policy([TABLE], epsilon=900, dataset="hospital")
SURE: dict[str, Any] = {"horizon": 30, "rows": 1, "epsilon": 500}


def at(day: int, hour: int = 12) -> dt.datetime:
    return dt.datetime(2024, 1, day, hour, tzinfo=dt.UTC)


def table(rows: Iterable[tuple[str, int, str]]) -> pa.Table:
    listed = list(rows)
    days = [dt.date(2024, 1, day) for _, day, _ in listed]
    return pa.table({"id": [row[0] for row in listed], "day": days, "ward": [row[2] for row in listed]})


def opened(rows: Iterable[tuple[str, int, str]], ledger: MemoryLedger) -> Database:
    return Database(POLICY, {"visits": table(rows)}, ledger=ledger)


def test_each_period_is_counted_when_it_is_over() -> None:
    rows = [(f"p{day}-{place}", day, "a") for day in (1, 2, 3, 5) for place in range(10 * day)]
    with opened(rows, MemoryLedger(POLICY)) as db, db.stream(DAY, **SURE) as stream:
        assert stream.advance(at(1)) == []
        assert [each.value for each in stream.advance(at(3))] == [10, 30]
        assert stream.advance(at(3, 23)) == []
        assert [each.value for each in stream.advance(at(6))] == [60, 60, 110]
        last = stream.releases[-1]
        assert (last.details["from"], last.details["until"], last.details["step"]) == ("2024-01-05", "2024-01-06", 5)
        assert stream.period(5) == (dt.date(2024, 1, 5), dt.date(2024, 1, 6))


def test_late_and_deleted_rows_of_closed_periods_are_ignored() -> None:
    ledger = MemoryLedger(POLICY)
    first = [("ann", 1, "a"), ("bob", 1, "a"), ("eve", 2, "a")]
    with opened(first, ledger) as db, db.stream(DAY, **SURE) as stream:
        assert [each.value for each in stream.advance(at(3))] == [2, 3]
    later = [("ann", 1, "a"), ("late", 1, "a"), ("late2", 2, "b"), ("dan", 3, "a")]  # bob and eve are gone
    with opened(later, ledger) as db, db.stream(DAY, **SURE) as stream:
        assert [each.value for each in stream.advance(at(4))] == [4]


def test_a_unit_counts_so_often_in_the_whole_stream_whatever_the_table_says_later() -> None:
    ledger, sums = MemoryLedger(POLICY), []
    for day in range(1, 6):
        rows = [("ann", day, "a"), ("ann", day, "b"), (f"new {day}", day, "a")]  # her earlier rows were deleted
        with opened(rows, ledger) as db, db.stream(DAY, **{**SURE, "rows": 3}) as stream:
            sums += [each.value for each in stream.advance(at(day + 1))]
    assert sums == [3, 5, 6, 7, 8]


def test_many_counters_share_one_clock() -> None:
    rows = [(f"p{place}", 1 + place % 2, "ab"[place % 3 == 0]) for place in range(60)] + [("q", 1, "x"), ("r", 1, "z")]
    with opened(rows, MemoryLedger(POLICY)) as db, db.stream(WARD, **SURE) as stream:
        assert stream.groups == [("a",), ("b",), ("x",)]
        assert [each.value.tolist() for each in stream.advance(at(3))] == [[20, 10, 0], [40, 20, 0]]


def test_the_whole_price_is_taken_once_and_parameters_are_kept() -> None:
    ledger = MemoryLedger(POLICY)
    with opened([], ledger) as db:
        with db.stream(DAY, **SURE) as stream:
            with pytest.raises(LedgerError, match="held by another"):
                db.stream(DAY, **SURE)
            assert stream.advance(at(5))[-1].mechanism.neighbors is NeighborRelation.ADD_REMOVE
        left = ledger.remaining
        assert left.fields()["epsilon"] == 400
        with db.stream(DAY, **SURE) as stream:
            assert stream.step == 4
        assert ledger.remaining == left
        changes: list[dict[str, Any]] = [{"rows": 2}, {"horizon": 31}, {"epsilon": 400}]
        for change in changes:
            with pytest.raises(ParameterError, match="opened with other"):
                db.stream(DAY, **{**SURE, **change})
        with pytest.raises(ParameterError, match="opened with other"):
            db.stream(WARD, **SURE)
        with pytest.raises(BudgetError):
            db.stream(DAY, **{**SURE, "epsilon": 401, "horizon": 300}, name="another")
        assert ledger.remaining == left


def test_the_noise_is_that_of_so_many_rows() -> None:
    with opened([], MemoryLedger(POLICY)) as db:
        scales = [db.stream(DAY, horizon=30, rows=rows, epsilon=1, name=str(rows)).promise.scale for rows in (1, 4)]
        assert scales[1] == 4 * scales[0]
        assert scales[0] == KaryTree(30).height
    changed = Policy([TABLE], epsilon=900, dataset="hospital", neighbors=NeighborRelation.CHANGE_ONE)
    with Database(changed, {"visits": table([])}) as db:
        assert db.stream(DAY, horizon=30, rows=4, epsilon=1).promise.scale == 2 * scales[1]


def test_it_ends_at_its_horizon() -> None:
    rows = [("ann", 1, "a"), ("bob", 2, "a"), ("eve", 3, "a")]
    with opened(rows, MemoryLedger(POLICY)) as db, db.stream(DAY, **{**SURE, "horizon": 2}) as stream:
        assert [each.value for each in stream.advance(at(20))] == [1, 2]
        assert stream.advance(at(21)) == []


def test_what_is_no_stream_is_refused_before_anything_is_paid() -> None:
    ledger = MemoryLedger(POLICY)
    with opened([], ledger) as db:
        for sql in (
            "SELECT COUNT(*) AS n FROM visits",
            "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
            "SELECT DATE_TRUNC('day', day) AS d, COUNT(ward) AS n FROM visits GROUP BY 1",
            "SELECT DATE_TRUNC('day', day) AS d, COUNT(*) * 2 AS n FROM visits GROUP BY 1",
            "SELECT DATE_TRUNC('day', day) AS d, COUNT(*) AS n FROM visits GROUP BY 1 HAVING COUNT(*) > 3",
            "SELECT DATE_TRUNC('day', day) AS d, COUNT(*) AS n FROM visits GROUP BY 1 LIMIT 3",
            "SELECT DATE_TRUNC('day', day) AS d, DATE_TRUNC('year', day) AS y, COUNT(*) AS n FROM visits GROUP BY 1, 2",
        ):
            with pytest.raises(QueryRefused):
                db.stream(sql, **SURE)
        bad: list[dict[str, Any]] = [{"rows": 0}, {"horizon": 0}, {"start": "2024"}, {"name": " "}, {"epsilon": 0}]
        for change in bad:
            with pytest.raises(ParameterError):
                db.stream(DAY, **{**SURE, **change})
        assert ledger.remaining.fields()["epsilon"] == 900
        with db.stream(DAY, **SURE) as stream, pytest.raises(ParameterError, match="time zone"):
            stream.advance(dt.datetime(2024, 1, 1))  # noqa: DTZ001 - what is refused
    rows_are_units = Policy([Table("visits", row_is_unit=True, columns=list(TABLE.columns))], epsilon=50)
    with Database(rows_are_units, {"visits": table([])}) as db, pytest.raises(QueryRefused, match="recognized"):
        db.stream(DAY, **{**SURE, "epsilon": 5})


@pytest.mark.parametrize("period, ends", [("week", 8), ("month", 31), ("year", 366)])
def test_periods_are_those_of_date_trunc(period: str, ends: int) -> None:
    rows = [(f"p{day}", day, "a") for day in range(1, 31)]
    with opened(rows, MemoryLedger(POLICY)) as db, db.stream(DAY.replace("'day'", f"'{period}'"), **SURE) as stream:
        end = dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=ends if period != "week" else 7)
        assert stream.advance(end - dt.timedelta(seconds=1)) == []
        assert [each.value for each in stream.advance(end)] == [7 if period == "week" else 30]

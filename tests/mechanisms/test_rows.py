"""Containers: accepted or refused by type alone; no row raises, and none changes how another one is read."""

from __future__ import annotations

import math
from array import array
from collections import deque
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import mechanisms as m
from discreet.errors import ParameterError
from discreet.mechanisms.inputs.columns import read_column
from discreet.mechanisms.inputs.rows import present, read_rows
from tests.mechanisms.test_statistics import ADD_REMOVE, STATISTICS, Statistic, exact_sums, made

if TYPE_CHECKING:
    from collections.abc import Callable


class Hostile:
    """A row of which nothing can be asked."""

    def __hash__(self) -> int:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __float__(self) -> float:
        raise RuntimeError


ODD: list[Any] = [
    None, math.nan, math.inf, -math.inf, 2**70, -7, 0, 1, 0.5, 1.5, True, "x", b"x", [1, 2], (), {}, 1j, np.True_,
    np.int8(1), np.uint64(2**63), np.float32("nan"), np.float16(1.5), np.longdouble(1.5), np.array(1), np.array([1, 2]),
    np.array(np.nan), np.ma.masked, np.timedelta64(1, "D"), np.datetime64("NaT"), Decimal("0.5"), Decimal("sNaN"),
    Decimal("1e999999999"), Decimal("-Infinity"), Decimal("1e-999999999"), Fraction(1, 2), Hostile(), object(),
]  # fmt: skip


def rows_of(statistic: Statistic, odd: list[Any]) -> list[Any]:
    return [(row, 1) for row in odd] if isinstance(statistic.rows[0], tuple) else odd


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda each: each.name)
def test_each_row_adds_its_own_part(monkeypatch: pytest.MonkeyPatch, statistic: Statistic) -> None:
    """What all rows add up to is what each adds alone, whatever the other rows are; and none raises."""
    mechanism, rows = made(statistic, ADD_REMOVE, 1), rows_of(statistic, ODD)

    def sums(some: list[Any]) -> Any:  # noqa: ANN401
        return np.array(exact_sums(monkeypatch, mechanism, statistic.table(some)), dtype=object)

    alone = [sums([row]) for row in rows]
    assert list(sums(rows)) == list(sum(alone))
    plain = rows_of(statistic, [1, 1, 0, True, 2, 3])
    before = sums(plain)
    for row, part in zip(rows, alone, strict=True):
        assert list(sums([*plain, row])) == list(before + part)


def reads_each_alone(read: Callable[[list[Any]], Any], rows: list[Any]) -> bool:
    return bool([read([row]).tolist()[0] for row in rows] == read(rows).tolist())


def test_a_reader_that_asks_numpy_is_noticed() -> None:
    """NumPy reads a list by its widest type, so that one float rounds the integers beside it."""
    rows = [2**53 + 1, 0.5]
    assert reads_each_alone(read_column, rows)
    assert not reads_each_alone(np.asarray, rows)


@pytest.mark.parametrize("hold", [list, tuple, deque, np.array, lambda rows: array("q", rows)])
def test_containers_that_are_columns(hold: Callable[[list[int]], Any]) -> None:
    assert read_column(hold([1, 2, 3])).tolist() == [1, 2, 3]
    assert present(hold([1, 2, 3])) == 3


@pytest.mark.parametrize(
    "values", [5, None, "abc", b"abc", {1}, {1: 2}, iter([1]), np.array(5), np.ones((2, 2)), np.empty((0, 3))]
)
def test_what_is_no_column(values: Any) -> None:  # noqa: ANN401
    for ask in (lambda: m.count(values, epsilon=1), lambda: m.sum(values, bounds=(0, 1), epsilon=1)):
        with pytest.raises(ParameterError, match="a column"):
            ask()


def test_masked_cells_are_missing() -> None:
    cells = np.ma.array([2**53 + 1, 5], mask=[False, True])
    assert str(read_column(cells).tolist()) == f"[{2**53 + 1}, nan]"
    assert present(cells) == present(np.ma.array([1.5, np.nan, 3], mask=[True, False, False])) == 1


def test_absent_rows_are_not_counted() -> None:
    absent = [
        None,
        math.nan,
        np.float32("nan"),
        np.longdouble("nan"),
        Decimal("nan"),
        np.datetime64("NaT"),
        np.ma.masked,
    ]
    assert present([*absent, "nan", 0, Hostile()]) == 3
    assert present(np.array(["NaT", "2020-01-01"], dtype="M8[D]")) == 1
    assert present(np.array([1j, complex(math.nan, 0)])) == 1


@pytest.mark.parametrize("dtype", ["Int64", "UInt64", "int64[pyarrow]", "Float64", "boolean", "int64", "float64"])
def test_pandas(dtype: str) -> None:
    rows: list[Any] = [True, False] if dtype == "boolean" else [2**53 + (1 if "nt" in dtype else 0), 5]
    plain = pd.Series(rows, dtype=dtype)
    assert read_column(plain).tolist() == rows
    if dtype not in {"int64", "float64"}:
        nulls = pd.Series([*rows, None], dtype=dtype)
        assert read_column(nulls).tolist()[:2] == rows
        assert (present(nulls), read_column(nulls).size) == (2, 3)


def test_pandas_nulls_and_tables() -> None:
    assert present([pd.NA, pd.NaT, 1]) == present(pd.Series([pd.NaT, pd.Timestamp("2020")])) == 1
    assert str(read_column([pd.NA, pd.NaT, 1]).tolist()) == "[nan, nan, 1]"
    with pytest.raises(ParameterError, match="2 dimensions"):
        m.count(pd.DataFrame({"a": [1]}), epsilon=1)
    with pytest.raises(ParameterError, match="numbers is needed"):
        read_column(pd.Series([1, 2], dtype="category"))


@pytest.mark.parametrize("name", ["Int64", "UInt64", "Int8", "Boolean", "Float64", "Decimal", "Null"])
def test_polars(name: str) -> None:
    large = {"Int64": 2**53 + 1, "UInt64": 2**63 + 1, "Boolean": True, "Null": None}
    rows = [large.get(name, 1)] * 2
    dtype = pl.Decimal(10, 2) if name == "Decimal" else getattr(pl, name)
    plain, nulls = pl.Series(rows, dtype=dtype), pl.Series([*rows, None], dtype=dtype)
    assert str(read_column(nulls).tolist()[:2]) == str(read_column(plain).tolist())
    assert name == "Null" or read_column(plain).tolist() == rows
    assert present(nulls) == (0 if name == "Null" else 2)
    with pytest.raises(ParameterError, match="2 dimensions"):
        read_rows(pl.DataFrame({"a": rows}))
    with pytest.raises(ParameterError, match="numbers is needed"):
        read_column(pl.Series(["a"]))


def test_arrow() -> None:
    assert str(read_column(pa.array([2**53 + 1, None])).tolist()) == f"[{2**53 + 1}, nan]"
    with pytest.raises(ParameterError, match="2 dimensions"):
        read_rows(pa.table({"a": [1]}))


def test_points_and_edges_meet_floats() -> None:
    assert m.cdf([0.1] * 1000, [0.1], epsilon=10).value[0] > 0.9
    assert m.histogram([0.3] * 1000, edges=[0, 0.3, 1], epsilon=10).value[1] > 900


def test_categories_in_an_array() -> None:
    categories: Any = np.array(["a", "b"])
    found = m.histogram(np.array(["a", "b", "b"] * 100), categories=categories, epsilon=10)
    assert abs(found.value - [100, 200]).max() < 50
    assert found.mechanism.categories == (("a", "b"),)  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrong", [5, np.array([["a"]]), [["a"], ["a"]], [], ["a", "a"]])
def test_categories_that_are_none(wrong: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match="categories is"):
        m.histogram(["a"], categories=wrong, epsilon=1)


def test_points_that_are_no_list() -> None:
    wrong: Any = 5
    for ask in (lambda: m.cdf([1], wrong, epsilon=1), lambda: m.histogram([1], edges=wrong, epsilon=1)):
        with pytest.raises(ParameterError, match="must be a list of numbers"):
            ask()


def test_errors_beyond_bounds_on_a_coarse_grid() -> None:
    """Bounds 0.4 and 1.6 on whole numbers: releases lie in [0, 2], and a row at 1.6 is 1.6 away from 0."""
    mean = m.Mean(lower=0.4, upper=1.6, grid=1, epsilon="0.01")
    assert mean.error_of(0.0, {"total": 0}) == 2
    variance = m.Variance(lower=0.4, upper=1.6, grid=1, epsilon="0.01")
    assert variance.error_of(1.0, {"total": 0, "share": 0.5}) == 1


def test_guarantees_name_no_other_promise() -> None:
    for made_for in (m.Mean(lower=0, upper=1, rho=1), m.Variance(lower=0, upper=1, rho=1)):
        assert "epsilon-diff" not in made_for.guarantee

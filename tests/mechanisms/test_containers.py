"""What holds the rows is accepted or refused by its type, and no null in it changes how other rows are read."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import ParameterError
from discreet.exact import Grid
from discreet.mechanisms import (
    AboveThreshold,
    Cdf,
    ContingencyTable,
    Correlation,
    Count,
    CountDistinct,
    Covariance,
    DiscreteGaussian,
    DiscreteLaplace,
    InverseSensitivity,
    JointQuantiles,
    Laplace,
    LocalSensitivityBound,
    Mode,
    NoisyMax,
    PredictionVariance,
    ProposeTestRelease,
    Quantiles,
    SampleAndAggregate,
    SmoothSensitivity,
    StableTopK,
    StableValue,
    TopK,
    recommend,
)
from discreet.mechanisms.choosing.scores import private_scores
from discreet.mechanisms.inputs.values import exact_integers, snapped
from discreet.privacy import NeighborRelation, Pure
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

BIG = 2**60 + 1  # no float holds it
CHANGE = NeighborRelation.CHANGE_ONE
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "polars": lambda rows: pl.Series(rows, dtype=pl.Int64),
    "arrow": lambda rows: pa.array(rows, type=pa.int64()),
    "arrow in chunks": lambda rows: pa.chunked_array([rows], type=pa.int64()),
    "pandas": lambda rows: pd.Series(rows, dtype="Int64"),
    "pandas on arrow": lambda rows: pd.Series(rows, dtype="int64[pyarrow]"),
    "list": list,
}
TABLES: dict[str, Callable[[list[Any]], Any]] = {
    "polars": lambda rows: pl.DataFrame({"a": rows}, schema={"a": pl.Int64}),
    "arrow": lambda rows: pa.table({"a": pa.array(rows, type=pa.int64())}),
    "pandas": lambda rows: pd.DataFrame({"a": rows}, dtype="Int64"),
}


@pytest.mark.parametrize("container", COLUMNS)
def test_a_null_does_not_round_the_other_rows(container: str) -> None:
    whole, missing = (COLUMNS[container](rows) for rows in ([1, BIG], [None, BIG]))
    assert np.asarray(snapped(whole, Grid(1))).tolist() == [1, BIG]
    assert np.asarray(snapped(missing, Grid(1))).tolist() == [0, BIG]
    assert exact_integers(whole).tolist() == [1, BIG]
    assert exact_integers(missing).tolist() == [0, BIG]
    assert private_scores(whole)[1] == private_scores(missing)[1] == BIG


@pytest.mark.parametrize("container", TABLES)
def test_a_null_in_a_table_does_not_round_the_other_cells(container: str) -> None:
    table = TABLES[container]([None, BIG])
    assert np.asarray(snapped(table, Grid(1))).tolist() == [[0], [BIG]]
    assert exact_integers(table).tolist() == [[0], [BIG]]


@pytest.mark.parametrize("container", COLUMNS)
def test_a_null_count_raises_nothing(container: str) -> None:
    for mechanism in (DiscreteLaplace(1, epsilon=1), DiscreteGaussian(1, rho=1), Laplace(1, epsilon=1, dimensions=2)):
        assert np.shape(mechanism.release(COLUMNS[container]([None, 5])).value) == (2,)


@pytest.mark.parametrize(
    "container", [*COLUMNS, *(f"table of {name}" for name in TABLES), "booleans", "frame of several types"]
)
def test_a_null_in_one_block_is_not_seen_in_another(container: str) -> None:
    """Whatever the function does: here it tells the type of what it gets, which a null changed for all blocks."""
    made: dict[str, Callable[[list[Any]], Any]] = {f"table of {name}": each for name, each in TABLES.items()}
    made["booleans"] = lambda rows: pd.Series([None if row is None else bool(row) for row in rows], dtype="boolean")
    made["frame of several types"] = lambda rows: pd.DataFrame({"a": pd.Series(rows, dtype="Int64"), "b": 0.5})
    build = {**COLUMNS, **made}[container]
    mechanism = SampleAndAggregate(40, lower=0, upper=255, grid=1, epsilon=1)

    def told(block: Any) -> int:  # noqa: ANN401  whatever a block is
        return ord(block.dtype.kind) if isinstance(block, np.ndarray) else sum(type(row) is not int for row in block)

    answers = [
        mechanism.answers(build(rows), told, bits=ReplayBits(3)) for rows in ([1] * 400, [1] * 200 + [None] + [1] * 199)
    ]
    assert np.count_nonzero(answers[0] != answers[1]) <= 1


def test_blocks_of_any_container_hold_its_rows() -> None:
    mechanism = SampleAndAggregate(1, lower=0, upper=100, grid=1, epsilon=1000)
    assert mechanism.release((iter([2.0, 4.0]), np.mean)).value == 3  # type: ignore[arg-type]
    for build in [*COLUMNS.values(), *TABLES.values()]:
        assert mechanism.release((build([1, 2, 6]), np.mean)).value == 3
        assert mechanism.release((build([]), len)).value == 0


def test_scores_of_a_list_have_one_end_whatever_their_type() -> None:
    for far in (2**63, 2**70, -(2**63)):
        as_whole, as_float = (private_scores([kind(far), 0]).tolist() for kind in (int, float))
        assert as_whole == as_float == [far, 0]
    assert private_scores(np.array([2**63], dtype=np.uint64)).tolist() == [2**62]  # the type of an array is public


PAIRED = (
    SmoothSensitivity(lower=0, upper=1, epsilon=1),
    ProposeTestRelease(1, epsilon=1, delta="0.1"),
    StableValue(epsilon=1, delta="0.1"),
    LocalSensitivityBound(1, epsilon=1, delta="0.1"),
    InverseSensitivity(lower=0, upper=1, epsilon=1),
    SampleAndAggregate(2, lower=0, upper=1, epsilon=1),
    Covariance(first=(0, 1), second=(0, 1), epsilon=1),
    Correlation(first=(0, 1), second=(0, 1), epsilon=1),
)


@pytest.mark.parametrize("mechanism", PAIRED, ids=lambda each: each.kind)
@pytest.mark.parametrize("value", [5, None, [1, 2, 3], np.array(5.0), (1,)], ids=str)
def test_what_is_no_pair_is_refused_in_words(mechanism: Any, value: object) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match="it must be the pair"):
        mechanism.release(value)


def test_the_parts_of_a_pair_are_refused_in_words() -> None:
    with pytest.raises(ParameterError, match="bounds is of type int"):
        InverseSensitivity(lower=0, upper=1, epsilon=1).release((1, 5))  # type: ignore[arg-type]
    blocks = SampleAndAggregate(2, lower=0, upper=1, epsilon=1)
    for rows in (5, np.array(5.0), object()):
        with pytest.raises(ParameterError, match="the rows are of type"):
            blocks.release((rows, len))  # type: ignore[arg-type]
    assert 0 <= blocks.release(([[1], [2, 3]], len)).value <= 1  # what lies in rows is not looked at
    with pytest.raises(ParameterError, match="function of a block"):
        blocks.release(([1], 5))  # type: ignore[arg-type]


def test_records_and_spans_of_time_are_no_numbers() -> None:
    records: Any = np.ma.array([(1, 2.0)], dtype=[("a", int), ("b", float)], mask=[(True, False)])
    for mechanism in (Laplace(1, epsilon=1), DiscreteLaplace(1, epsilon=1), NoisyMax(1, epsilon=1)):
        with pytest.raises(ParameterError):
            mechanism.release(records)
    span: Any = np.timedelta64(5, "s")
    for other in (Laplace(1, epsilon=1), DiscreteLaplace(1, epsilon=1), DiscreteGaussian(1, rho=1)):
        with pytest.raises(ParameterError):
            other.release(span)


def test_tables_are_no_columns() -> None:
    tables: list[Any] = [pl.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), pa.table({"a": [1]})]
    for mechanism in (CountDistinct(epsilon=1), Mode([1], epsilon=1), Count(epsilon=1)):
        for table in tables:
            with pytest.raises(ParameterError, match=r"2 dimensions|must hold the values"):
                mechanism.release(table)
    with pytest.raises(ParameterError, match="one sequence of rows per column"):
        ContingencyTable(["ab"], epsilon=1).release(np.array(5))  # type: ignore[arg-type]


DAY = dt.date(2026, 3, 1)
MOMENTS: dict[str, Any] = {
    "date": DAY,
    "datetime": dt.datetime(2026, 3, 1),  # noqa: DTZ001
    "timestamp": pd.Timestamp(DAY),
    **{unit: np.datetime64(DAY, unit) for unit in ("D", "h", "s", "ms", "us", "ns")},
}


@pytest.mark.parametrize("kind", MOMENTS)
def test_dates_are_counted_whichever_library_made_them(kind: str, seed: int) -> None:
    """They were counted as 0 where rows came as numbers of nanoseconds."""
    categories = [MOMENTS[kind], np.datetime64("2030-01-01", "D")]
    days = np.full(900, DAY, dtype="M8[D]")
    containers: list[Any] = [days.astype("M8[ns]"), days, pd.Series(days.astype("M8[s]")), pl.Series(days), list(days)]
    for rows in [*containers, [DAY] * 900]:
        table = ContingencyTable([categories], epsilon=30).release((rows,), bits=ReplayBits(seed))
        assert table.value.tolist() == [900, 0]
        found = StableTopK(categories, epsilon=30, delta="1e-6").release(rows, bits=ReplayBits(seed)).value
        assert found == (categories[0],)


def test_moments_that_differ_are_not_joined() -> None:
    rows = [np.datetime64("2026-03-01T00:00:00.000000001"), np.datetime64("NaT"), np.timedelta64(3, "M"), DAY]
    counts = ContingencyTable([[DAY]], epsilon=60).release((rows,), bits=ReplayBits(1)).value
    assert counts.tolist() == [1]


NO_LIST: dict[str, Callable[[Any], object]] = {
    "mode": lambda wrong: Mode(wrong, epsilon=1),
    "top": lambda wrong: StableTopK(wrong, epsilon=1, delta="0.1"),
    "quantiles": lambda wrong: Quantiles(wrong, lower=0, upper=1, epsilon=1),
    "joint": lambda wrong: JointQuantiles(wrong, lower=0, upper=1, epsilon=1),
    "point": lambda wrong: PredictionVariance(wrong, radius=1, ridge=1, epsilon=1),
    "grids": lambda wrong: Covariance(first=(0, 1), second=(0, 1), epsilon=1, grids=wrong),
    "noise": lambda wrong: Count(noise=wrong),
    "noise of shares": lambda wrong: Cdf([0], noise=wrong),
    "scale": lambda wrong: Laplace(1, scale=wrong),
    "level": lambda wrong: Quantiles(["1/2"], lower=0, upper=1, level_epsilon=wrong),
    "round": lambda wrong: TopK(1, sensitivity=1, round_epsilon=wrong),
    "branching": lambda wrong: Cdf([0], epsilon=1, branching=wrong),
    "statistic": lambda wrong: recommend(wrong, 1, n=10),
    "spread": lambda wrong: recommend("mean", 1, n=10, spread=wrong),
}


@pytest.mark.parametrize("wrong", [object(), np.ones((2, 1)), [[1], [2]], Laplace(1, epsilon=1, grid=1)], ids=type)
@pytest.mark.parametrize("what", NO_LIST)
def test_public_arguments_are_refused_in_words(what: str, wrong: object) -> None:
    with pytest.raises(ParameterError):
        NO_LIST[what](wrong)


def test_huge_arguments_are_refused_in_words() -> None:
    for what in ("spread", "branching"):
        with pytest.raises(ParameterError):
            NO_LIST[what](10**400)


@pytest.mark.parametrize("monotone", ["no", 1, None, np.array([True])])
def test_only_a_truth_value_makes_answers_monotone(monotone: Any) -> None:  # noqa: ANN401
    """A text such as "no" is true in Python, and halved the noise."""
    with pytest.raises(ParameterError, match="monotone is"):
        AboveThreshold(0, sensitivity=1, epsilon=1, monotone=monotone)


def test_candidates_in_an_array_travel_through_json() -> None:
    made = Mode(np.array([1, 2]), epsilon=1)
    assert made.candidates == (1, 2)
    assert Mode.from_record(made.record()) == made
    with pytest.raises(ParameterError, match="JSON"):
        Mode([DAY], epsilon=1).record()


def test_a_stated_number_of_rows_is_that_of_the_shares() -> None:
    with pytest.raises(ParameterError, match="2 rows, but size=5"):
        Cdf([0], epsilon=1, size=5, neighbors=CHANGE).release([1, 2])


def test_means_are_recommended_where_no_trimmed_one_exists() -> None:
    for promise in (Pure(1, neighbors=NeighborRelation.ADD_REMOVE.group(3)), Pure("1e-9")):
        assert [option.name for option in recommend("mean", promise, n=10).options] == ["mean, discrete Laplace noise"]

"""How a row becomes a vector of length at most 1: by public facts alone, and in whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engines.bounded_rows import BoundedRows
from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.plans.extract import code_book
from discreet.tables import Column
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.plans.expressions.expression import Facts, Schema
    from discreet.tables import Value

__all__ = ["SCALE", "Feature", "Features", "columns_of", "declared", "lengths", "read_bounds", "unit_rows"]

SCALE = 1 << 14
"""How many steps the length of a row has at most."""
_FINE = 1 << 20  # steps of one feature before its row is scaled


@dataclass(frozen=True, slots=True)
class Feature:
    """One column as a model sees it: a number between public bounds, or one of known keys.

    A number lies between -1 and 1 after scaling, and 0, the middle of its bounds, stands where it is missing. A key is
    a 1 among zeros; what is none of the keys is zeros alone.

    >>> Feature("age", lower=0, upper=100).width, Feature("ward", keys=("a", "b")).width
    (1, 2)
    """

    name: str
    lower: Fraction | int | float | None = None
    upper: Fraction | int | float | None = None
    keys: tuple[Value, ...] | None = None
    whole: bool = False

    @staticmethod
    def of(name: str, facts: Facts) -> Feature:
        """Take the public facts of a column that is on loan."""
        keys = code_book(facts)
        if keys is not None:
            return Feature(name, keys=keys)
        low, high = facts.bounds.lower, facts.bounds.upper
        assert low is not None and high is not None  # noqa: PT018, S101 - nothing else is lent
        return Feature(name, rational(low), rational(high), whole=facts.kind is not Kind.FLOAT)

    @property
    def width(self) -> int:
        """How many numbers it becomes."""
        return 1 if self.keys is None else len(self.keys)

    @property
    def column(self) -> Column:
        """Declare the column, to read rows that are predicted for as those that were trained on."""
        if self.keys is None:
            kind = Kind.INTEGER if self.whole else Kind.FLOAT
            return Column(self.name, type=kind, lower=self.lower, upper=self.upper)
        known = [key for key in self.keys if key is not None]
        return Column(self.name, keys=known, null_key=None in self.keys)

    def written(self, cells: NDArray[Any], missing: NDArray[np.bool_], out: NDArray[np.float64]) -> None:
        """Write the cells into the columns of a matrix of zeros, each by itself."""
        if self.keys is None:
            low, high = float(self.lower or 0), float(self.upper or 0)
            middle, half = (low + high) / 2, (high - low) / 2
            scaled = np.clip((cells - middle) / half, -1, 1) if half else np.zeros(cells.size)
            out[:, 0] = np.where(missing, 0, scaled)
            return
        known = np.flatnonzero(cells < len(self.keys))
        out[known, cells[known]] = 1

    def record(self) -> dict[str, Any]:
        """Return the feature as a JSON object."""
        if self.keys is not None:
            return {"name": self.name, "keys": list(self.keys)}
        return {"name": self.name, "lower": str(self.lower), "upper": str(self.upper), "whole": self.whole}

    @staticmethod
    def read(record: Mapping[str, Any]) -> Feature:
        """Read what `record` wrote."""
        if "keys" in record:
            return Feature(record["name"], keys=tuple(record["keys"]))
        lower, upper = Fraction(record["lower"]), Fraction(record["upper"])
        return Feature(record["name"], lower, upper, whole=bool(record["whole"]))


@dataclass(frozen=True, slots=True)
class Features:
    """The columns of a model in their order, with a 1 before them for the intercept.

    >>> features = Features((Feature("age", 0, 100), Feature("ward", keys=("a", "b"))))
    >>> features.matrix(features.rows({"age": [75, 0], "ward": ["b", "x"]})).tolist()
    [[1.0, 0.5, 0.0, 1.0], [1.0, -1.0, 0.0, 0.0]]
    """

    columns: tuple[Feature, ...]

    def __post_init__(self) -> None:
        """Refuse to learn from nothing."""
        if not self.columns:
            msg = "there are no features; a model learns from at least one column beside its target."
            raise ParameterError(msg)

    @property
    def width(self) -> int:
        """How many numbers a row becomes, with the intercept."""
        return 1 + sum(feature.width for feature in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each number of a row."""
        named = [
            [feature.name] if feature.keys is None else [f"{feature.name}={key}" for key in feature.keys]
            for feature in self.columns
        ]
        return ("(intercept)", *(name for names in named for name in names))

    def matrix(self, rows: BoundedRows) -> NDArray[np.float64]:
        """Return the numbers of each row, between -1 and 1."""
        first = rows.columns[self.columns[0].name]
        values = np.zeros((first.size, self.width))
        values[:, 0] = 1
        start = 1
        for feature in self.columns:
            part = values[:, start : start + feature.width]
            feature.written(rows.columns[feature.name], rows.missing[feature.name], part)
            start += feature.width
        return values

    def rows(self, table: object) -> BoundedRows:
        """Read rows to predict for, by the names of their columns or, in an array, by their order.

        Rows on loan are bounded already, by the same facts as those that were trained on, or they are refused.
        """
        if isinstance(table, BoundedRows):
            self.require(table.schema)
            return table
        return BoundedRows.of(columns_of(table, self.columns), [feature.column for feature in self.columns])

    def require(self, schema: Schema) -> None:
        """Refuse a loan whose columns are not those of the features, with the same bounds and keys."""
        for feature in self.columns:
            if feature.name not in schema or Feature.of(feature.name, schema[feature.name]) != feature:
                msg = f"the loan has no column {shown(feature.name)} with the bounds or keys that the model knows."
                raise ParameterError(msg)

    def record(self) -> list[dict[str, Any]]:
        """Return the features as JSON objects."""
        return [feature.record() for feature in self.columns]

    @staticmethod
    def read(record: Sequence[Mapping[str, Any]]) -> Features:
        """Read what `record` wrote."""
        return Features(tuple(Feature.read(feature) for feature in record))


def unit_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Scale each row to length 1, in steps of 1/SCALE: whole numbers whose squares add up to at most SCALE squared.

    Each row is a function of itself alone, whatever rows are beside it: it is rounded to whole numbers first, whose
    squares add up exactly; a square root, a product and a quotient of two floats are what IEEE 754 says, in any order.
    With |v| the length of a row v in whole numbers, each number becomes trunc(v_i c / |v|) with c = SCALE (1 - 2^-20):
    four roundings of at most 2^-53 each cannot make up for the factor, so the length is at most SCALE.

    >>> unit_rows(np.array([[1.0, 0.0], [1.0, 1.0]])).astype(int).tolist()
    [[16383, 0], [11585, 11585]]
    """
    longest = np.maximum(lengths(values), 1 / _FINE)[:, None] * _FINE
    scaled: NDArray[np.float64] = np.trunc(np.rint(values * _FINE) * (SCALE * (1 - 2.0**-20)) / longest)
    return scaled


def lengths(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how long each row is, by numbers that are rounded first.

    >>> lengths(np.array([[3.0, 4.0]])).tolist()
    [5.0]
    """
    whole = np.rint(values * _FINE).astype(np.int64)
    long: NDArray[np.float64] = np.sqrt((whole**2).sum(axis=1).astype(np.float64)) / _FINE
    return long


def columns_of(table: object, features: Sequence[Feature]) -> dict[str, object]:
    """Return the columns of a mapping, a data frame, or an array whose columns stand in the order of the features.

    >>> list(columns_of(np.zeros((3, 1)), [Feature("x0", 0, 1)]))
    ['x0']
    """
    names = [feature.name for feature in features]
    if isinstance(table, Mapping) or hasattr(table, "columns"):
        there = list(table) if isinstance(table, Mapping) else [str(name) for name in table.columns]
        lost = [name for name in names if name not in there]
        if lost:
            msg = f"X has no column {shown(lost[0])}; the model reads {', '.join(names)}."
            raise ParameterError(msg)
        return {name: table[name] for name in names}  # type: ignore[index]  # a mapping, or a data frame
    array = _array(table)
    if array.shape[1] != len(names):
        msg = (
            f"X has {array.shape[1]} features, but the model is expecting {len(names)} features as input: "
            f"{', '.join(names[:6])}."
        )
        raise ParameterError(msg)
    return {name: array[:, place] for place, name in enumerate(names)}


def declared(bounds: object, columns: object, table: object) -> tuple[Feature, ...]:
    """Read what is public about the features: `columns` that are declared, or `bounds` for the numbers of an array.

    >>> declared((0, 16), None, np.zeros((5, 2)))[1]
    Feature(name='x1', lower=Fraction(0, 1), upper=Fraction(16, 1), keys=None, whole=False)
    """
    if columns is not None:
        if not isinstance(columns, Sequence) or not all(isinstance(column, Column) for column in columns):
            msg = f"columns is {shown(columns)}; it must be a list of Column, one for each feature."
            raise ParameterError(msg)
        return tuple(_feature(column) for column in columns)
    if bounds is None:
        msg = (
            "bounds are missing: without them one row can move the model without limit. Write bounds=(0, 16), with a "
            "list at each end for ends of each column, or columns=[Column('age', lower=0, upper=120), …]; take them "
            "from outside knowledge, not from the data."
        )
        raise ParameterError(msg)
    names = _names(table)
    pairs = read_bounds(bounds, len(names))
    return tuple(Feature(name, lower, upper) for name, (lower, upper) in zip(names, pairs, strict=True))


def _names(table: object) -> list[str]:
    if isinstance(table, Mapping):
        return list(table)
    if hasattr(table, "columns"):
        return [str(name) for name in table.columns]
    return [f"x{place}" for place in range(_array(table).shape[1])]


def _array(table: object) -> NDArray[Any]:
    """Read a plain table: rows, and a column for each feature."""
    if hasattr(table, "tocsr"):
        msg = "X is sparse, and sparse input is not supported; write X.toarray()."
        raise ParameterError(msg)
    array = np.asarray(table)
    if array.ndim != 2:
        msg = f"X has {array.ndim} dimensions; rows with a column for each feature are read. Reshape your data."
        raise ParameterError(msg)
    if array.dtype.kind == "c":
        msg = "X has complex numbers. Complex data not supported; give columns of real numbers."
        raise ParameterError(msg)
    return array


def read_bounds(bounds: Any, count: int, *, name: str = "bounds") -> list[tuple[Fraction, Fraction]]:  # noqa: ANN401 - what a caller wrote
    """Read one pair for all columns, or a pair of lists with an end for each.

    >>> read_bounds((0, [1, 2]), 2)
    [(Fraction(0, 1), Fraction(1, 1)), (Fraction(0, 1), Fraction(2, 1))]
    """
    try:
        lower, upper = bounds
        lows, highs = (list(end) if np.ndim(end) else [end] * count for end in (lower, upper))
    except (TypeError, ValueError):
        lows = highs = []
    if len(lows) != count or len(highs) != count:
        msg = (
            f"{name} is {shown(bounds)}; it must be a pair (lower, upper): of numbers, or of lists of {count} numbers."
        )
        raise ParameterError(msg)
    pairs = [(_end(low, name), _end(high, name)) for low, high in zip(lows, highs, strict=True)]
    for low, high in pairs:
        if low > high:
            msg = f"{name} are {shown((low, high))}; the lower one must not lie above the upper one."
            raise ParameterError(msg)
    return pairs


def _end(end: Number, name: str) -> Fraction:
    return rational(end.item() if isinstance(end, np.generic) else end, name=name)


def _feature(column: Column) -> Feature:
    if column.keys is not None:
        return Feature(column.name, keys=tuple(column.keys))
    low, high = column.bounds.lower, column.bounds.upper
    if low is None or high is None or column.kind not in {Kind.FLOAT, Kind.INTEGER}:
        msg = f"column {column.name} has no keys and not two bounds; a feature is a bounded number, or has keys."
        raise ParameterError(msg)
    return Feature(column.name, rational(low), rational(high), whole=column.kind is Kind.INTEGER)

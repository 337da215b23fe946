"""Rows as a method computes with them: bounded, coded, at most so many of each unit, in a type that shows nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from discreet.engines.sealed import Sealed
from discreet.errors import ParameterError
from discreet.exact import float_down, float_up, integer, shown
from discreet.mechanisms.inputs.rows import codes, identity, is_absent, read_rows, require_numbers
from discreet.mechanisms.inputs.values import private_number
from discreet.plans.extract import code_book, require_bounded
from discreet.plans.nodes import Scan
from discreet.privacy.relations import NeighborRelation
from discreet.tables import Table
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.plans.expressions.expression import Facts, Schema
    from discreet.privacy.relations import Relation
    from discreet.tables import Column, Value

    Coded = NDArray[np.int64 | np.float64]

__all__ = ["BoundedRows", "described", "facts_of", "first_of_each"]

Cell = TypeVar("Cell", bound=np.generic)


class BoundedRows(Sealed):
    """Private rows for a method: `Loan.read` gives them, `BoundedRows.of` makes them of plain arrays.

    - `columns` has an array for each column. Numbers are clamped to their bounds, so that every cell lies within
      `schema[name].bounds` exactly; dates count days, timestamps microseconds, since 1970.
    - A column with known values (`keys(name)`) holds their places, 0 to m - 1; m stands for whatever is none of the m
      values. So `np.bincount(codes, minlength=m + 1)` never fails, whatever the rows hold.
    - `missing` says where a cell is NULL (or NaN). The number there is the one within the bounds that is closest to 0,
      and the code m, unless NULL is a known value: who does not look at `missing` is still within the bounds.
    - `units` numbers the units of the rows from 0 on. There are at most `rows_per_unit` rows of each. Removing a unit
      removes its rows and moves the numbers of others; nothing else changes.

    Rows stand in the order of their units, and for each unit in the order of their cells: the order tells nothing of
    how they are stored. The arrays cannot be written to. Everything here but the public facts (`schema`, `keys`,
    `rows_per_unit`, `unit_kind`, `neighbors`) is private, the number of rows among it.

    >>> from discreet.tables import Column
    >>> given = {"ward": ["b", "a", "x", "b"], "cost": [5.0, 900.0, None, 7.0]}
    >>> declared = [Column("ward", keys=["a", "b"]), Column("cost", lower=1, upper="99.5")]
    >>> rows = BoundedRows.of(given, declared, units=["ann", "bob", "eve", "ann"], rows_per_unit=1)
    >>> rows.units, rows.columns["ward"], rows.columns["cost"], rows.missing["cost"]
    (array([0, 1, 2]), array([1, 0, 2]), array([ 5. , 99.5,  1. ]), array([False, False,  True]))
    >>> rows
    BoundedRows(ward, cost; at most 1 row of each unit)
    """

    __slots__ = ("_columns", "_missing", "_names", "_neighbors", "_rows_per_unit", "_schema", "_unit_kind", "_units")

    closed = "private rows are not counted, listed, copied, compared or stored; compute with their columns."

    def __init__(  # noqa: PLR0913 - each is a fact of its own
        self,
        columns: Mapping[str, tuple[Coded, NDArray[np.bool_]]],
        schema: Schema,
        units: NDArray[np.int64],
        *,
        rows_per_unit: int,
        unit_kind: str,
        neighbors: Relation,
        names: Sequence[str] | None = None,
    ) -> None:
        """Take the numbers or codes of each column, where they are missing, and units numbered from 0 on.

        `names` has the unit of each row as text.
        """
        self._schema = MappingProxyType(dict(schema))
        self._rows_per_unit = rows_per_unit
        self._unit_kind = unit_kind
        self._neighbors = neighbors
        kept = first_of_each(units, rows_per_unit)
        cells = {name: _within(columns[name][0][kept], columns[name][1][kept], facts) for name, facts in schema.items()}
        missing = {name: columns[name][1][kept] for name in schema}
        parts = [part for name in reversed(cells) for part in (missing[name], cells[name])]
        order = np.lexsort([*parts, units[kept]])
        self._units = _locked(units[kept][order])
        self._names = None if names is None else _locked(np.array(names, dtype=object)[kept][order])
        self._columns = MappingProxyType({name: _locked(values[order]) for name, values in cells.items()})
        self._missing = MappingProxyType({name: _locked(values[order]) for name, values in missing.items()})

    @staticmethod
    def of(  # noqa: PLR0913 - each is a fact of its own
        arrays: Mapping[str, object],
        columns: Sequence[Column],
        *,
        units: object = None,
        rows_per_unit: int = 1,
        unit_kind: str = "unit",
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> BoundedRows:
        """Bound plain arrays as the declared columns say; for a method that is given data instead of a loan.

        `units` says whose each row is, without it each row is a unit of its own. Rows without a unit are dropped, and
        of a unit with more than `rows_per_unit` rows the first are kept. A cell that is no number where one is declared
        is missing; no error depends on what a cell holds.
        """
        most = integer(rows_per_unit, name="rows_per_unit", least=1)
        schema = Scan(Table("rows", row_is_unit=True, columns=list(columns))).schema
        if not isinstance(arrays, Mapping) or not schema or not schema.keys() <= arrays.keys():
            msg = f"arrays must be a mapping that has the declared columns: {', '.join(schema) or 'at least one'}."
            raise ParameterError(msg)
        read = {name: _read(name, arrays[name], facts) for name, facts in schema.items()}
        sizes = {cells.size for cells, _ in read.values()}
        owners = np.arange(max(sizes)) if units is None else _numbered(units)
        if sizes != {owners.size}:
            msg = "the arrays are of different lengths; a row has a cell in each of them, and a unit."
            raise ParameterError(msg)
        there = owners >= 0
        cells = {name: (numbers[there], missing[there]) for name, (numbers, missing) in read.items()}
        return BoundedRows(cells, schema, owners[there], rows_per_unit=most, unit_kind=unit_kind, neighbors=neighbors)

    @property
    def schema(self) -> Schema:
        """The columns in their order, each with its public facts."""
        return self._schema

    @property
    def rows_per_unit(self) -> int:
        """The most rows of one unit."""
        return self._rows_per_unit

    @property
    def unit_kind(self) -> str:
        """Who the unit is."""
        return self._unit_kind

    @property
    def neighbors(self) -> Relation:
        """How neighbors differ."""
        return self._neighbors

    def keys(self, name: str) -> tuple[Value, ...] | None:
        """The known values of a column, by their codes; None for a column of numbers."""
        return code_book(facts_of(self._schema, name))

    @property
    def columns(self) -> Mapping[str, Coded]:
        """The cells of each column; private."""
        return self._columns

    @property
    def missing(self) -> Mapping[str, NDArray[np.bool_]]:
        """Where each column is NULL; private."""
        return self._missing

    @property
    def units(self) -> NDArray[np.int64]:
        """Whose each row is; private."""
        return self._units

    @property
    def names(self) -> NDArray[np.object_]:
        """Whose each row is, by the unit's name as text; private, and there only where it was asked for.

        A stream that reads a table again and again counts the rows of each unit by it.
        """
        if self._names is None:
            msg = "the rows were lent without the names of their units; a number tells rows of one reading apart."
            raise ParameterError(msg)
        return self._names

    def arrow(self) -> pa.RecordBatch:
        """Give the rows as an Arrow record batch, which needs pyarrow; private.

        The columns are those of `columns`, numbers NULL where they are `missing`, and behind them the units, under a
        name that no column has.

        >>> from discreet.tables import Column
        >>> rows = BoundedRows.of({"cost": [5, None]}, [Column("cost", lower=1, upper=9)])
        >>> rows.arrow().to_pydict()
        {'cost': [5, None], 'unit': [0, 1]}
        """
        import pyarrow as pa

        cells = {
            name: pa.array(column, mask=self._missing[name] if self.keys(name) is None else None)
            for name, column in self._columns.items()
        }
        unit = "unit"
        while unit in cells:
            unit += "_"
        return pa.record_batch(cells | {unit: pa.array(self._units)})

    def __repr__(self) -> str:
        return f"BoundedRows({described(self._schema, self._rows_per_unit, self._unit_kind)})"


def described(schema: Schema, rows: int, kind: str) -> str:
    """Say what rows are, by public facts alone.

    >>> described({}, 2, "patient")
    '; at most 2 rows of each patient'
    """
    return f"{', '.join(schema)}; at most {rows} row{'s' if rows > 1 else ''} of each {kind}"


def facts_of(schema: Schema, name: str) -> Facts:
    """Give the facts of a column, or say which columns there are.

    >>> facts_of({}, "age")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: there is no column 'age'; there are .
    """
    if name not in schema:
        msg = f"there is no column {shown(name)}; there are {', '.join(schema)}."
        raise ParameterError(msg)
    return schema[name]


def _locked(array: NDArray[Cell]) -> NDArray[Cell]:
    array.setflags(write=False)
    return array


def first_of_each(units: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Give the places of the first rows of each unit, at most so many.

    >>> first_of_each(np.array([7, 5, 7, 7]), 2).tolist()
    [1, 0, 2]
    """
    order = np.argsort(units, kind="stable")
    ordered = units[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if ordered.size else ordered
    counts = np.diff(np.r_[starts, ordered.size])
    return order[np.arange(ordered.size) - np.repeat(starts, counts) < most]


def _numbered(units: object) -> NDArray[np.int64]:
    """Number units in the order in which they come; -1 for what is none, such as NULL and NaN."""
    places: dict[object, int] = {}
    names = [identity(unit) for unit in read_rows(units)]
    return np.array([-1 if name is None else places.setdefault(name, len(places)) for name in names], dtype=np.int64)


def _within(cells: Coded, missing: NDArray[np.bool_], facts: Facts) -> Coded:
    """Clamp a column to its bounds, exactly; the missing to what is closest to 0, and codes to one for all others."""
    known = code_book(facts)
    if known is not None:
        return np.where((cells >= 0) & (cells < len(known)), cells, len(known)).astype(np.int64)
    low, high = _ends(facts)
    inside: Coded = np.clip(np.where(missing, 0, cells), low, high)
    return inside + 0  # no cell is -0.0


def _ends(facts: Facts) -> tuple[int, int] | tuple[float, float]:
    """Give the least and the largest number of a column's type within its bounds."""
    low, high = facts.bounds.lower, facts.bounds.upper
    assert low is not None and high is not None  # noqa: PT018, S101 - by `require_bounded`
    return (float_up(low), float_down(high)) if facts.kind is Kind.FLOAT else (-(-low // 1), high // 1)


def _read(name: str, values: object, facts: Facts) -> tuple[Coded, NDArray[np.bool_]]:
    """Read a plain column."""
    require_bounded(name, facts)
    rows = read_rows(values)
    known = code_book(facts)
    if known is not None:
        return codes(rows, known), np.array([is_absent(row) for row in rows], dtype=bool)
    if facts.kind not in {Kind.FLOAT, Kind.INTEGER}:
        msg = f"column {name} is of kind {facts.kind.value}; give days or seconds as a column of whole numbers."
        raise ParameterError(msg)
    require_numbers(values)
    if isinstance(rows, np.ndarray) and rows.dtype == (np.float64 if facts.kind is Kind.FLOAT else np.int64):
        return rows, np.isnan(rows)
    return _exactly(rows, facts)


def _exactly(rows: Iterable[object], facts: Facts) -> tuple[Coded, NDArray[np.bool_]]:
    """Read numbers one by one; a fraction is rounded in a column of whole numbers."""
    low, high = _ends(facts)
    read = [private_number(row) for row in rows]
    missing = np.array([isinstance(number, float) and math.isnan(number) for number in read], dtype=bool)
    clamped = [low if absent else min(max(number, low), high) for number, absent in zip(read, missing, strict=True)]
    if facts.kind is Kind.FLOAT:
        return np.array([float(number) for number in clamped]), missing
    return np.array([round(number) for number in clamped], dtype=np.int64), missing

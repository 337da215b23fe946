"""Which cells the columns of a synthetic table have, by public facts alone, and how values become cells and back."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, rational, shown
from discreet.exact.rational import as_text
from discreet.mechanisms.carried import decode, encode
from discreet.plans.expressions import Case, Column, Equal, IsNull, Less, Literal
from discreet.plans.extract import code_book
from discreet.tables.kinds import Kind, as_date, as_timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.noise import BitSource
    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Facts, Schema
    from discreet.tables import Value

__all__ = ["Attribute", "Domain"]

BINS = 32
_MOST_CELLS = 4096


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column as a synthesizer sees it: known values, or bins of a bounded number or date, and what is neither.

    `edges` are the lower ends of bins, with the upper bound behind them; in a column of whole numbers, days or
    microseconds a bin has the whole numbers from its edge up to the next. `null` stands for a missing value, `other`
    for one that is not listed; each has a cell of its own, behind the others.

    >>> Attribute("age", Kind.INTEGER, edges=(0, 40, 80, 121), null=True).size
    4
    """

    name: str
    kind: Kind
    values: tuple[Value, ...] | None = None
    edges: tuple[Fraction | int, ...] = ()
    null: bool = False
    other: bool = False

    @staticmethod
    def of(name: str, facts: Facts, bins: int) -> Attribute:
        """Take the public facts of a column."""
        known = code_book(facts)
        if known is not None:
            listed = tuple(value for value in known if value is not None)
            _require_few(name, len(listed), "values; list the most frequent as keys and the rest as other")
            nullable = facts.nullable or None in known
            return Attribute(name, facts.kind, listed, null=nullable, other=facts.kind is not Kind.BOOLEAN)
        low, high = facts.bounds.lower, facts.bounds.upper
        if low is None or high is None:
            msg = f"column {name} has neither keys nor two bounds: nothing says which cells it has. Leave it out."
            raise ParameterError(msg)
        low, high = rational(low), rational(high)
        return Attribute(name, facts.kind, edges=_edges(facts.kind, low, high, bins), null=facts.nullable)

    @property
    def known(self) -> int:
        """How many cells stand for values."""
        return len(self.edges) - 1 if self.values is None else len(self.values)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.known + self.null + self.other

    @property
    def whole(self) -> bool:
        """Whether the values within a bin are whole numbers."""
        return self.kind is not Kind.FLOAT

    @property
    def labels(self) -> tuple[str, ...]:
        """The cells in words."""
        if self.values is not None:
            names = [str(value) for value in self.values]
        else:
            ends = zip(self.edges, self.edges[1:], strict=False)
            names = [self._label(low, high) for low, high in ends]
        return (*names, *["NULL"] * self.null, *["other"] * self.other)

    def _label(self, low: Fraction | int, high: Fraction | int) -> str:
        if self.whole and high - low == 1:
            return str(self._read(int(low)))
        if self.whole:
            return f"{self._read(int(low))} to {self._read(int(high) - 1)}"
        return f"{as_text(Fraction(low))} to {as_text(Fraction(high))}"

    def codes(self, cells: NDArray[Any], missing: NDArray[np.bool_], keys: Sequence[Value] | None) -> NDArray[np.int32]:
        """Turn bounded cells of a column into places; what is missing and has no cell for it, into -1."""
        if self.values is None:
            inner = np.array([float(edge) for edge in self.edges[1:-1]])
            found = np.searchsorted(inner, cells, side="right")
        else:
            places = {value: place for place, value in enumerate(self.values)}
            table = [places.get(value, -1) for value in keys or ()]
            found = np.array([*table, self.size - 1 if self.other else -1])[cells]
        found = np.where(missing, self.known if self.null else -1, found)
        return found.astype(np.int32)

    def expression(self) -> Expression:
        """The place of a value as an expression that an engine groups by."""
        column = Column(self.name)
        parts: list[Expression] = []
        if self.null:
            parts += [IsNull((column,)), _whole(self.known)]
        last = self.size - 1 if self.other else self.known - 1
        if self.values is None:
            for place, edge in enumerate(self.edges[1:-1]):
                parts += [Less((column, Literal(self._read(edge), self.kind))), _whole(place)]
        else:
            for place, value in enumerate(self.values):
                parts += [Equal((column, Literal(value, self.kind))), _whole(place)]
        return Case((*parts, _whole(last))) if parts else Case((Equal((column, column)), _whole(last), _whole(last)))

    def sampled(self, cells: NDArray[np.int64], bits: BitSource) -> NDArray[Any]:
        """Turn cells into values, evenly within bins; NULL and what is not listed become None and "other"."""
        other: Value = "other" if self.kind is Kind.TEXT else None
        if self.values is not None:
            table = np.array([*self.values, *[None] * self.null, *[other] * self.other], dtype=object)
            return table[cells]
        inside = np.minimum(cells, self.known - 1)
        edges = np.array([float(edge) for edge in self.edges])
        share = (bits.words64(cells.size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        numbers = edges[inside] + share * (edges[inside + 1] - edges[inside])
        if self.whole:
            drawn = np.minimum(np.floor(numbers), edges[inside + 1] - 1).astype(np.int64)
            values = np.array([self._read(number) for number in drawn.tolist()], dtype=object)
        else:
            values = numbers.astype(object)
        values[cells >= self.known] = None
        return values

    def _read(self, number: Fraction | int) -> Any:  # noqa: ANN401 - a value of the column
        if self.kind is Kind.FLOAT:
            return float(number)
        if self.kind is Kind.INTEGER:
            return int(number)
        return as_date(int(number)) if self.kind is Kind.DATE else as_timestamp(int(number))

    def record(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        values = None if self.values is None else [_plain(value) for value in self.values]
        told = {"name": self.name, "type": self.kind.value, "null": self.null, "other": self.other}
        return {**told, "values": values, "edges": [str(edge) for edge in self.edges]}

    @staticmethod
    def read(record: Mapping[str, Any]) -> Attribute:
        """Read what `record` wrote."""
        kind = Kind(record["type"])
        values = None if record["values"] is None else tuple(_value(value, kind) for value in record["values"])
        edges = tuple(Fraction(edge) for edge in record["edges"])
        return Attribute(str(record["name"]), kind, values, edges, bool(record["null"]), bool(record["other"]))


@dataclass(frozen=True, slots=True)
class Domain:
    """The columns of a synthetic table in their order.

    >>> from discreet.tables import Column as Declared
    >>> domain = Domain.declared([Declared("ward", keys=["a", "b"]), Declared("age", lower=0, upper=99)], bins=10)
    >>> domain.sizes, domain["age"].labels[1]
    ((4, 11), '10 to 19')
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        """Refuse to synthesize nothing."""
        if not self.attributes:
            msg = "there are no columns; a synthetic table has at least one, with keys or with bounds."
            raise ParameterError(msg)

    @staticmethod
    def of(schema: Schema, bins: int | Mapping[str, int] = BINS) -> Domain:
        """Take the public facts of columns; `bins` is how many cells a number has at most, for all or by name."""
        if isinstance(bins, Mapping) and (lost := [name for name in bins if name not in schema]):
            msg = f"bins names {shown(lost[0])}; the columns are {', '.join(schema)}."
            raise ParameterError(msg)
        given = bins if isinstance(bins, Mapping) else dict.fromkeys(schema, bins)
        counts = {name: integer(given.get(name, BINS), name="bins", least=1, most=_MOST_CELLS) for name in schema}
        return Domain(tuple(Attribute.of(name, facts, counts[name]) for name, facts in schema.items()))

    @staticmethod
    def declared(columns: Iterable[Any], *, bins: int | Mapping[str, int] = BINS) -> Domain:
        """Take declared columns, `discreet.tables.Column`, for data that is given as it is."""
        from discreet.plans.nodes import Scan
        from discreet.tables import Table

        return Domain.of(Scan(Table("rows", row_is_unit=True, columns=list(columns))).schema, bins)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The cells of each column."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def cells(self) -> int:
        """The cells of all columns together."""
        return math.prod(self.sizes)

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.place(name)]

    def place(self, name: str) -> int:
        """The place of a column."""
        if name not in self.names:
            msg = f"there is no column {shown(name)}; there are {', '.join(self.names)}."
            raise ParameterError(msg)
        return self.names.index(name)

    def places(self, names: Iterable[str]) -> tuple[int, ...]:
        """The places of columns, in rising order."""
        return tuple(sorted({self.place(name) for name in names}))

    def coded(self, rows: BoundedRows) -> NDArray[np.int32]:
        """Turn bounded rows into cells; private."""
        columns = [
            attribute.codes(rows.columns[attribute.name], rows.missing[attribute.name], rows.keys(attribute.name))
            for attribute in self.attributes
        ]
        return np.stack(columns, axis=1)

    def record(self) -> list[dict[str, Any]]:
        """Return it as JSON objects."""
        return [attribute.record() for attribute in self.attributes]

    @staticmethod
    def read(record: Iterable[Mapping[str, Any]]) -> Domain:
        """Read what `record` wrote."""
        return Domain(tuple(Attribute.read(one) for one in record))


def _whole(place: int) -> Expression:
    return Literal(place, Kind.INTEGER)


def _require_few(name: str, count: int, instead: str) -> None:
    if count > _MOST_CELLS:
        msg = f"column {name} has {count} {instead}: at most {_MOST_CELLS} cells are synthesized."
        raise ParameterError(msg)


def _edges(kind: Kind, low: Fraction, high: Fraction, bins: int) -> tuple[Fraction | int, ...]:
    """Cut an interval into bins: one for each whole number if there are few, else equally wide ones."""
    if kind is Kind.FLOAT:
        width = (high - low) / bins
        if not width:
            return (low, high)
        return tuple(low + place * width for place in range(bins + 1))
    first, end = math.ceil(low), math.floor(high) + 1
    count = min(bins, end - first)
    return tuple(first + (end - first) * place // count for place in range(count + 1))


def _plain(value: Value) -> object:
    return {"iso": value.isoformat()} if isinstance(value, dt.date) else encode(value)


def _value(value: Any, kind: Kind) -> Value:  # noqa: ANN401 - JSON
    if isinstance(value, dict) and "iso" in value:
        read = dt.date.fromisoformat if kind is Kind.DATE else dt.datetime.fromisoformat
        return read(value["iso"])
    return decode(value)  # type: ignore[no-any-return]

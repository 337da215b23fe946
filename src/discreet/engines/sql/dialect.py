"""What an engine's SQL dialect must offer, what all of them write alike, and what their rules work with."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

from sqlglot import exp

from discreet.engines.sql.words import (
    SQL,
    all_of,
    any_of,
    between,
    binary,
    call,
    case,
    cast,
    clamp,
    column,
    not_null,
    number,
    over,
    string,
    written,
)
from discreet.exact import float_down, float_up
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import EARLIEST, LARGEST_FLOAT, LATEST, SMALLEST_FLOAT, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from discreet.engines.sql.words import SQL
    from discreet.plans.expressions import Expression, Like, Matches
    from discreet.plans.expressions.expression import Facts
    from discreet.plans.statistics import Snapped
    from discreet.tables.kinds import Value

__all__ = ["DATE", "FLOAT", "INTEGER", "LIMB", "TIMESTAMP", "Binding", "Dialect", "TypedSQL", "Unread", "Writing"]


@dataclass(frozen=True, slots=True)
class TypedSQL:
    """An expression as SQL, with its facts."""

    sql: SQL
    facts: Facts

    @property
    def kind(self) -> Kind:
        """The kind of the value."""
        return self.facts.kind


@dataclass(frozen=True, slots=True)
class Unread:
    """A stored double as it is, and the ends that reading clamps it into."""

    sql: SQL
    low: float
    high: float


class Binding(Protocol):
    """Somewhere to bind values."""

    def bind(self, value: SQL) -> SQL:
        """Give a value a name."""


class Writing(Binding, Protocol):
    """The rows of a relation, over which expressions are written."""

    @property
    def dialect(self) -> Dialect:
        """How the engine writes."""

    def once(self, key: Hashable, value: Callable[[], SQL]) -> SQL:
        """Bind a value under a key; the same key gives the same column again."""

    def shared(self, key: Hashable) -> SQL | None:
        """Give the column that was bound under a key, if there is one."""

    def cell(self, expression: Expression) -> TypedSQL:
        """Give the SQL of an expression."""

    def unread(self, expression: Expression) -> Unread | None:
        """Give the stored double behind an expression that is nothing but a bounded column, if it is at hand."""


INTEGER = "[+-]?[0-9]{1,18}"
FLOAT = "[+-]?[0-9]{1,18}([.][0-9]{1,24})?([eE][+-]?[0-9]{1,2})?"
DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIMESTAMP = DATE + "([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?)?"
"""The spellings that `discreet.plans.expressions.Cast` reads; everything else is NULL."""

LIMB = 2**63

_FIRST = dt.datetime.combine(EARLIEST, dt.time.min)
_LAST = dt.datetime.combine(LATEST, dt.time.max)

_Real: TypeAlias = float  # `Dialect.float` takes the name inside the class

_CAPITALS, _SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


class Dialect(ABC):
    """How one engine writes the operations of plans; a value in is of the engine's own type for its kind.

    Every method gives SQL that has a value for every row, whatever the row holds.
    """

    name: ClassVar[str]
    """The sqlglot dialect that writes the text."""
    functions: ClassVar[frozenset[str]]
    """The functions that may occur in a statement."""
    types: ClassVar[dict[Kind, str]]
    wide: ClassVar[str]
    """A type for integers of at least 126 bits."""

    reads_late: ClassVar[bool] = False
    """Whether `steps` reads a stored double into its bounds and onto a grid at once."""

    most_layers: ClassVar[int] = 500
    """So many SELECTs may read from each other; more are refused before anything is paid."""

    divides_whole: ClassVar[bool] = False
    """Whether // divides 64-bit integers from 0 on, rounded down, as quickly as any operator."""

    def written(self, statement: SQL) -> str:
        """Write a statement, after the gate."""
        return written(statement, self.name, self.functions)

    def fenced(self, layer: exp.Select) -> exp.Select:
        """Keep an engine from writing a layer's columns out again where they are used."""
        return layer

    def literal(self, value: Value, kind: Kind) -> SQL:  # noqa: PLR0911 - one for each kind
        """Write a constant with its type."""
        if value is None:
            return cast(exp.Null(), self.types[kind])
        if isinstance(value, bool):
            return exp.Boolean(this=value)
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dt.datetime):
            return cast(string(value.isoformat(sep=" ")), self.types[Kind.TIMESTAMP])
        if isinstance(value, dt.date):
            return cast(string(value.isoformat()), self.types[Kind.DATE])
        if kind is Kind.FLOAT:
            return self.float(float(value))
        return cast(string(str(value)), self.types[Kind.INTEGER])

    def text(self, value: str) -> SQL:
        """Write a text constant."""
        return string(value)

    def float(self, value: float) -> SQL:
        """Write a double so that the engine reads the same double: by its shortest decimal."""
        return cast(string(repr(value + 0.0)), self.types[Kind.FLOAT])

    def to(self, value: SQL, kind: Kind) -> SQL:
        """Convert an integer to a double, a date to its midnight, an integer to its text: what cannot fail."""
        return cast(value, self.types[kind])

    def widened(self, value: SQL) -> SQL:
        """Convert an integer to the wide type."""
        return cast(value, self.wide)

    def settled(self, value: SQL, facts: Facts, rows: Binding) -> SQL:
        """Bring a double that is neither NaN nor NULL-making into the kind: huge to 2**500, tiny to 0.

        Operations on settled doubles never give NaN, and give infinity nowhere (see `docs/explanation/plans.md`).
        The upper branches are left out where the bounds show that they are never taken.
        """
        x = rows.bind(value)
        branches = [(binary("<", call("abs", x), self.float(SMALLEST_FLOAT)), self.float(0.0))]
        if not facts.bounds.finite:
            for symbol, end in ((">", LARGEST_FLOAT), ("<", -LARGEST_FLOAT)):
                branches.append((binary(symbol, x, self.float(end)), self.float(end)))
        return case(*branches, default=x)

    def read_bounded(self, value: SQL, low: _Real, high: _Real, rows: Binding) -> SQL:
        """Bring any double into the kind and into bounds at once: NaN to NULL, tiny numbers to 0, all within bounds.

        Most rows pass by the first branch, and engines skip the others for them. NaN does not pass there: it is above
        everything, or compares with nothing.
        """
        x = rows.bind(value)
        ends, small = (self.float(low), self.float(high)), self.float(SMALLEST_FLOAT)
        inside = between(x, *ends)
        if low < 0:
            inside = all_of([inside, binary("<=", small, call("abs", x))])
        elif low < SMALLEST_FLOAT:
            inside = between(x, small, ends[1])
        return case(
            (inside, x),
            (self.is_nan(x), self.literal(None, Kind.FLOAT)),
            (binary(">", x, ends[1]), ends[1]),
            (binary("<", x, ends[0]), ends[0]),
            (not_null(x), self.float(max(low, min(high, 0.0)))),
            default=self.literal(None, Kind.FLOAT),
        )

    def read_float(self, value: SQL, rows: Binding) -> SQL:
        """Bring any double into the kind: NaN to NULL, infinities to ±2**500."""
        x = rows.bind(value)
        top, zero = self.float(LARGEST_FLOAT), self.float(0.0)
        return case(
            (self.is_nan(x), self.literal(None, Kind.FLOAT)),
            (binary("<", call("abs", x), self.float(SMALLEST_FLOAT)), zero),
            (binary(">", x, top), top),
            (binary("<", x, self.float(-LARGEST_FLOAT)), self.float(-LARGEST_FLOAT)),
            default=x,
        )

    @abstractmethod
    def is_nan(self, value: SQL) -> SQL:
        """Tell whether a double is NaN."""

    @abstractmethod
    def whole(self, symbol: str, left: SQL, right: SQL, rows: Binding) -> SQL:
        """Apply + - * // % to 64-bit integers; NULL where the result leaves them or a divisor is 0."""

    @abstractmethod
    def remainder(self, left: SQL, right: SQL) -> SQL:
        """C's fmod of two doubles, NULL for a divisor of 0."""

    def truncated(self, value: SQL, rows: Binding) -> SQL:  # noqa: ARG002 - nothing is used twice
        """A double without its fraction."""
        return call("trunc", value)

    def floor(self, value: SQL, rows: Binding) -> SQL:  # noqa: ARG002 - nothing is used twice
        """The largest whole double that is not above."""
        return call("floor", value)

    def ceil(self, value: SQL, rows: Binding) -> SQL:  # noqa: ARG002 - nothing is used twice
        """The smallest whole double that is not below."""
        return call("ceil", value)

    @abstractmethod
    def nearest(self, value: SQL) -> SQL:
        """A double within ±2**62 as the nearest 64-bit integer, halves to even."""

    def snapped(self, value: SQL, bounds: Bounds, rows: Binding) -> SQL:  # noqa: ARG002 - bounds are not trusted
        """Any settled double as the nearest 64-bit integer; beyond ±2**62 it becomes that."""
        return self.nearest(clamp(rows.bind(value), self.float(-(2.0**62)), self.float(2.0**62)))

    def steps(self, cell: TypedSQL, unread: Unread | None, factor: Snapped, rows: Binding) -> SQL:  # noqa: ARG002
        """A float on its grid, clamped: any number that is not NULL or NaN has a place there."""
        x = rows.bind(cell.sql)
        if factor.step < SMALLEST_FLOAT:  # what a condition drops may be so large that the product is no double
            low, high = (float_down(factor.lower * factor.step), float_up(factor.upper * factor.step))
            x = clamp(x, self.float(low), self.float(high))
        scaled = binary("*", x, self.float(float(1 / factor.step)))
        bounds = cell.facts.bounds * Bounds(1 / factor.step, 1 / factor.step)
        ends = [self.literal(end, Kind.INTEGER) for end in (factor.lower, factor.upper)]
        return clamp(rows.bind(self.snapped(scaled, bounds, rows)), *ends)

    def placed(self, cell: TypedSQL, unread: Unread | None, factor: Snapped, rows: Binding) -> tuple[SQL, SQL]:
        """What `steps` gives for rows that have a place on the grid, and the condition that leaves others out."""
        stepped = rows.bind(self.steps(cell, unread, factor, rows))
        return stepped, not_null(stepped)

    def signed(self, value: SQL) -> SQL:
        """What `steps` gives, as a number to compute with."""
        return value

    @abstractmethod
    def narrowed(self, value: SQL, rows: Binding) -> SQL:
        """A wide integer as a 64-bit one; NULL where it does not fit."""

    def short_total(self, value: SQL) -> SQL:
        """The sum of integers as a 64-bit integer that is known to hold it; 0 for no rows."""
        return self.fitting(call("coalesce", self.total(value), self.widened(number(0))))

    def fitting(self, value: SQL) -> SQL:
        """A wide integer that is known to fit as a 64-bit one."""
        return cast(value, self.types[Kind.INTEGER])

    def rounded(self, value: SQL) -> SQL:
        """A wide integer as the nearest double."""
        return cast(value, self.types[Kind.FLOAT])

    @abstractmethod
    def matches(self, value: SQL, pattern: str) -> SQL:
        """Tell whether a whole text matches a regular expression of character classes, groups and counts."""

    @abstractmethod
    def read_text(self, value: SQL, kind: Kind, rows: Binding) -> SQL:
        """Read a text of the allowed spelling as a number, date or timestamp; NULL for dates that do not exist."""

    def read_whole(self, value: SQL, rows: Binding) -> SQL:
        """Read a text of at most 18 digits, a point and zeros as the integer before the point."""
        return self.narrowed(cast(value, "DECIMAL(37, 18)"), rows)

    def in_calendar(self, value: SQL, kind: Kind) -> SQL:
        """A date or timestamp of the years 1 to 9999; NULL for others, among them infinities."""
        ends = (EARLIEST, LATEST) if kind is Kind.DATE else (_FIRST, _LAST)
        inside = between(value, *(self.literal(end, kind) for end in ends))
        return case((inside, value), default=self.literal(None, kind))

    def divided(self, left: SQL, right: SQL) -> SQL:
        """Divide doubles; NULL for a divisor of 0."""
        return binary("/", left, call("nullif", right, self.float(0.0)))

    def lower(self, value: SQL) -> SQL:
        """A to Z become a to z."""
        return call("translate", value, string(_CAPITALS), string(_SMALL))

    def upper(self, value: SQL) -> SQL:
        """A to z become A to Z."""
        return call("translate", value, string(_SMALL), string(_CAPITALS))

    def trimmed(self, value: SQL) -> SQL:
        """Without U+0020 at both ends."""
        return call("trim", value, string(" "))

    def length(self, value: SQL) -> SQL:
        """The number of code points, as a 64-bit integer."""
        return cast(call("length", value), self.types[Kind.INTEGER])

    def like(self, value: SQL, pattern: Like) -> SQL:
        """Tell whether a text is like a pattern, in so many steps at most as the lengths of both multiplied.

        Many matchers go back to an earlier % where a later piece is missing, and take n**k steps for k of them: a
        dialect of such an engine writes another match, unless the pattern is simple.
        """
        return binary("like", value, self.text("%".join(pattern.pieces)))

    @abstractmethod
    def octets(self, value: SQL) -> SQL:
        """The number of bytes of a text, which every engine knows without a look at them: no fewer than code points."""

    def within(self, value: SQL, length: int) -> SQL:
        """Tell whether a text has so many code points at most; most texts pass by their bytes."""
        return any_of([self._few_octets(value, length), binary("<=", self.length(value), number(length))])

    def cut(self, value: SQL, length: int) -> SQL:
        """A text's first so many code points; a text that is short enough is not copied."""
        return case((self._few_octets(value, length), value), default=self.substring(value, 1, length))

    def _few_octets(self, value: SQL, length: int) -> SQL:
        return binary("<=", self.octets(value), number(length))

    def substring(self, value: SQL, start: int, length: int) -> SQL:
        """So many code points from a place on, counted from 1."""
        return call("substring", value, number(start), number(length))

    @abstractmethod
    def position(self, value: SQL, sought: str) -> SQL:
        """The place of the first code point of the first occurrence, as a 64-bit integer; 0 if there is none."""

    def replaced(self, value: SQL, sought: str, by: str) -> SQL:
        """Every occurrence, from the left, by another text."""
        return call("replace", value, self.text(sought), self.text(by))

    def split_part(self, value: SQL, sought: str, place: int) -> SQL:
        """What stands between two occurrences, counted from 1; empty behind the last."""
        return call("split_part", value, self.text(sought), number(place))

    @abstractmethod
    def found(self, value: SQL, pattern: Matches) -> SQL:
        """Tell whether a part of a text matches a pattern, in no more steps than it says."""

    def short_key(self, cell: TypedSQL, known: tuple[Value, ...] | None) -> SQL | None:  # noqa: ARG002
        """A key in so short a type that the groups which are not known are few; None if there is none for it."""
        return None

    @abstractmethod
    def date_part(self, part: str, value: SQL, kind: Kind) -> SQL:
        """A part of a date or timestamp, as a 64-bit integer."""

    @abstractmethod
    def date_trunc(self, unit: str, value: SQL, kind: Kind) -> SQL:
        """The start of a period, of the same kind."""

    @abstractmethod
    def days(self, value: SQL, kind: Kind) -> SQL:
        """Days since 1970 of a date, or of the day of a timestamp, as a 64-bit integer."""

    def later(self, value: SQL, days: int) -> SQL:
        """A date so many days later, which is one of the calendar."""
        return binary("+", value, number(days))

    def seconds_later(self, value: SQL, seconds: int) -> SQL:
        """A timestamp so many seconds later, which is one of the calendar."""
        return binary("+", value, call("to_seconds", number(seconds)))

    def date_of(self, days: SQL) -> SQL:
        """The date so many days after 1970, which is one of the calendar; NULL for NULL."""
        return binary("+", cast(string("1970-01-01"), self.types[Kind.DATE]), cast(days, "INTEGER"))

    @abstractmethod
    def timestamp_of(self, seconds: SQL) -> SQL:
        """The timestamp so many seconds after 1970, which is one of the calendar; NULL for NULL."""

    @abstractmethod
    def microseconds(self, value: SQL) -> SQL:
        """Microseconds since 1970 of a timestamp, as a 64-bit integer."""

    def among_first(self, unit: SQL, rank: SQL, limit: int) -> tuple[SQL, SQL]:
        """Give a column "m" for each row, and the condition on it and the unit that holds for a unit's first rows."""
        return over(call("row_number"), [unit], [rank]), binary("<=", column("m"), number(limit))

    @abstractmethod
    def text_number(self, value: SQL) -> SQL:
        """The first 60 bits of SHA-256 of a text's UTF-8 bytes, as a 64-bit integer."""

    def shifted(self, value: SQL, bits: int) -> SQL:
        """Divide a 64-bit integer by a power of two, rounded down."""
        return binary(">>", value, number(bits))

    @abstractmethod
    def total(self, value: SQL) -> SQL:
        """The sum of integers as a wide integer, exact; NULL for no rows."""

    def limbs(self, value: SQL) -> tuple[SQL, SQL]:
        """A wide integer as quotient and remainder by LIMB, both 64-bit; the quotient is toward 0."""
        limb = self.widened(string(str(LIMB)))
        return self.fitting(binary("//", value, limb)), self.fitting(binary("%", value, limb))

    @abstractmethod
    def stored(self, value: SQL, stored: str, rows: Binding) -> tuple[SQL, Kind] | None:
        """Bring a stored column of some type of the engine into the type of a kind; None for a type without a kind."""

    def smallest(self, value: SQL, kind: Kind) -> SQL:  # noqa: ARG002 - of any kind
        """MIN of any kind."""
        return call("min", value)

    def largest(self, value: SQL, kind: Kind) -> SQL:  # noqa: ARG002 - of any kind
        """MAX of any kind."""
        return call("max", value)

    def row_number(self) -> SQL:
        """A number that differs for every row of one relation."""
        return exp.Window(this=call("row_number"))

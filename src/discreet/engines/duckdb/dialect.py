"""How DuckDB writes it: with the functions that it has."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.words import (
    SQL,
    between,
    binary,
    call,
    case,
    cast,
    negated,
    number,
    string,
    try_cast,
)
from discreet.plans.expressions.text import piece_pattern
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.engines.sql.dialect import Binding, TypedSQL, Unread
    from discreet.plans.expressions import Like, Matches
    from discreet.plans.statistics import Snapped
    from discreet.tables.kinds import Value

__all__ = ["DuckDBDialect"]

_INTEGERS = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}
_SHORT = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER")}
_TIMESTAMPS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}


_BYTE = 255
_EXACT = 2**53
_UNSIGNED = 2**32
_HALF = Bounds(-(2**62), 2**62)


class DuckDBDialect(Dialect):
    """DuckDB 2: integers of 128 bits and TRY_CAST make most operations total."""

    name: ClassVar[str] = "duckdb"
    functions: ClassVar[frozenset[str]] = frozenset(
        {
            *("abs", "ceil", "coalesce", "date_diff", "date_part", "date_trunc", "dense_rank", "epoch_us", "exp"),
            *("floor", "greatest", "hash", "isnan", "lead", "least", "length", "ln", "max", "min", "nullif", "power"),
            *(
                "make_timestamp",
                "to_seconds",
                "rank",
                "regexp_full_match",
                "regexp_matches",
                "replace",
                "row_number",
                "sha256",
            ),
            *("split_part", "sqrt", "strlen", "strpos", "substring", "sum", "translate", "trim", "trunc"),
        }
    )
    types: ClassVar[dict[Kind, str]] = {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.FLOAT: "DOUBLE",
        Kind.TEXT: "VARCHAR",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
    }
    wide: ClassVar[str] = "HUGEINT"
    reads_late: ClassVar[bool] = True
    divides_whole: ClassVar[bool] = True

    def float(self, value: float) -> SQL:
        """A number with an exponent is a double, read correctly rounded."""
        text = repr(abs(value))
        literal = exp.Literal.number(text if "e" in text else f"{text}e0")
        return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal

    def is_nan(self, value: SQL) -> SQL:
        """There is a function for it."""
        return call("isnan", value)

    def whole(self, symbol: str, left: SQL, right: SQL, rows: Binding) -> SQL:  # noqa: ARG002 - nothing is used twice
        """Compute in 128 bits, which hold every result, and come back if it fits."""
        if symbol in {"//", "%"}:
            right = call("nullif", right, number(0))
        return try_cast(binary(symbol, self.widened(left), self.widened(right)), "BIGINT")

    def remainder(self, left: SQL, right: SQL) -> SQL:
        """% is C's fmod; DuckDB's function of that name rounds down."""
        return binary("%", left, call("nullif", right, self.float(0.0)))

    def nearest(self, value: SQL) -> SQL:
        """Casts round halves to even."""
        return try_cast(value, "BIGINT")

    def snapped(self, value: SQL, bounds: Bounds, rows: Binding) -> SQL:
        """Within bounds the clamp is left out: were they wrong, TRY_CAST would give NULL, and no error."""
        return self.nearest(value) if bounds.within(_HALF) else Dialect.snapped(self, value, bounds, rows)

    def steps(self, cell: TypedSQL, unread: Unread | None, factor: Snapped, rows: Binding) -> SQL:
        """Put a float on its grid first and clamp it there: most rows pass by the first branch.

        Rounding keeps the order, so round and clamp give what clamp, round and clamp would, with the ends taken along.
        The products are exact, the powers of two being what they are, or infinite. NaN and what leaves the type
        become NULL, and are told apart by the other branches: whatever lies outside lies on one side of the middle,
        NaN above it.
        """
        stepped = self._stepped(cell, unread, factor, rows)
        if stepped is None:
            return Dialect.steps(self, cell, unread, factor, rows)
        x, below, top = stepped
        return case(*below, (negated(self.is_nan(x)), top))

    def placed(self, cell: TypedSQL, unread: Unread | None, factor: Snapped, rows: Binding) -> tuple[SQL, SQL]:
        """As `steps`; where the double itself tells NaN and NULL, the last branch need not: it is quicker to read."""
        stepped = self._stepped(cell, unread, factor, rows)
        if stepped is None:
            return Dialect.placed(self, cell, unread, factor, rows)
        x, below, top = stepped
        return case(*below, default=top), negated(self.is_nan(x))

    def _stepped(
        self, cell: TypedSQL, unread: Unread | None, factor: Snapped, rows: Binding
    ) -> tuple[SQL, list[tuple[SQL, SQL]], SQL] | None:
        """Give a float, the branches for what is not above the grid, and its upper end; None if 53 bits are too few."""
        scale = float(1 / factor.step)
        low, high = factor.lower, factor.upper
        if unread is not None:
            low, high = (max(low, min(round(end * scale), high)) for end in (unread.low, unread.high))
        if not -_EXACT <= low <= high <= _EXACT:
            return None
        x = rows.bind(cell.sql if unread is None else unread.sql)
        kind = "UINTEGER" if low == 0 and high < _UNSIGNED else "BIGINT"
        ends = [number(end) for end in (low, high)]  # constants take the type of what they stand beside
        step = rows.bind(try_cast(binary("*", x, self.float(scale)), kind))
        inside = binary("<=", step, ends[1]) if low == 0 and kind == "UINTEGER" else between(step, *ends)
        middle = self.float(float(Fraction(low + high, 2) * factor.step))
        return x, [(inside, step), (binary("<=", x, middle), ends[0])], ends[1]

    def short_key(self, cell: TypedSQL, known: tuple[Value, ...] | None) -> SQL | None:
        """Whole numbers of 8 bits: for them DuckDB groups by a table of all values instead of by hashing."""
        fits = cell.kind is Kind.INTEGER and all(type(key) is int and 0 <= key <= _BYTE for key in known or [None])
        return try_cast(cell.sql, "UTINYINT") if fits else None

    def signed(self, value: SQL) -> SQL:
        """Steps without a sign would not go below 0."""
        return cast(value, "BIGINT")

    def narrowed(self, value: SQL, rows: Binding) -> SQL:  # noqa: ARG002 - nothing is used twice
        """NULL where it does not fit."""
        return try_cast(value, "BIGINT")

    def matches(self, value: SQL, pattern: str) -> SQL:
        """The whole text, without a special meaning of line ends."""
        return call("regexp_full_match", value, string(pattern))

    def read_text(self, value: SQL, kind: Kind, rows: Binding) -> SQL:
        """TRY_CAST; the year 0 is a year to DuckDB."""
        number = try_cast(value, self.types[kind])
        return self.in_calendar(rows.bind(number), kind) if kind.temporal else number

    def like(self, value: SQL, pattern: Like) -> SQL:
        """Constant patterns without _ are matched piece by piece; of others nothing is promised.

        Regular expressions are: they run in all states at once, and never go back.
        """
        if pattern.simple or "_" not in pattern.pattern:
            return Dialect.like(self, value, pattern)
        return call("regexp_full_match", value, string(".*".join(map(piece_pattern, pattern.pieces))), string("s"))

    def position(self, value: SQL, sought: str) -> SQL:
        """There is a function for it."""
        return call("strpos", value, string(sought))

    def found(self, value: SQL, pattern: Matches) -> SQL:
        """Regular expressions run in all states at once, and never go back."""
        return call("regexp_matches", value, string(pattern.written(start=r"\A", end=r"\z")), string("s"))

    def octets(self, value: SQL) -> SQL:
        """DuckDB's OCTET_LENGTH is for bytes only."""
        return call("strlen", value)

    def date_part(self, part: str, value: SQL, kind: Kind) -> SQL:  # noqa: ARG002 - the same for both
        """The reference: DuckDB's own parts."""
        return call("date_part", string(part), value)

    def date_trunc(self, unit: str, value: SQL, kind: Kind) -> SQL:
        """Of a date it gives a timestamp."""
        return cast(call("date_trunc", string(unit), value), self.types[kind])

    def days(self, value: SQL, kind: Kind) -> SQL:
        """Count days from 1970."""
        day = value if kind is Kind.DATE else cast(value, "DATE")
        return call("date_diff", string("day"), cast(string("1970-01-01"), "DATE"), day)

    def timestamp_of(self, seconds: SQL) -> SQL:
        """There is a function of microseconds."""
        return call("make_timestamp", binary("*", seconds, self.literal(10**6, Kind.INTEGER)))

    def microseconds(self, value: SQL) -> SQL:
        """Count microseconds from 1970."""
        return call("epoch_us", value)

    def text_number(self, value: SQL) -> SQL:
        """Fifteen hexadecimal digits."""
        start = call("substring", call("sha256", value), number(1), number(15))
        return try_cast(binary("||", string("0x"), start), "BIGINT")

    def total(self, value: SQL) -> SQL:
        """The sum of 64-bit integers is a 128-bit one."""
        return call("sum", value)

    def short_total(self, value: SQL) -> SQL:
        """A constant takes the type of what it stands beside."""
        return self.fitting(call("coalesce", self.total(value), number(0)))

    def rounded(self, value: SQL) -> SQL:
        """By way of 64 bits, or of a text: DuckDB's own cast of 128 bits is now and then the second nearest double."""
        short = cast(try_cast(value, "BIGINT"), "DOUBLE")
        return call("coalesce", short, try_cast(cast(value, "VARCHAR"), "DOUBLE"))

    def stored(self, value: SQL, stored: str, rows: Binding) -> tuple[SQL, Kind] | None:  # noqa: PLR0911 - by type
        """Integers beyond 64 bits are NULL; decimals become the nearest doubles, by way of their texts."""
        base = stored if stored.endswith("]") else stored.partition("(")[0]  # DECIMAL(9,2)[] is no number
        if base == "BOOLEAN":
            return value, Kind.BOOLEAN
        if base in _INTEGERS or (base == "DECIMAL" and stored.endswith(",0)")):
            widened = value if base == "BIGINT" else (cast if base in _SHORT else try_cast)(value, "BIGINT")
            return widened, Kind.INTEGER
        if base == "DECIMAL":
            return try_cast(cast(value, "VARCHAR"), "DOUBLE"), Kind.FLOAT
        if base in {"FLOAT", "DOUBLE"}:
            return (value if base == "DOUBLE" else cast(value, "DOUBLE")), Kind.FLOAT
        if base in {"VARCHAR", "ENUM", "UUID", '"NULL"'}:  # the last: what Arrow infers where nothing is but NULL
            return (_by_bytes(value) if base == "VARCHAR" else cast(value, "VARCHAR")), Kind.TEXT
        if base == "DATE":
            return self.in_calendar(rows.bind(value), Kind.DATE), Kind.DATE
        if stored in _TIMESTAMPS:
            return self.in_calendar(rows.bind(try_cast(value, "TIMESTAMP")), Kind.TIMESTAMP), Kind.TIMESTAMP
        return None


def _by_bytes(value: SQL) -> SQL:
    """A text that is compared by bytes, whatever collation its column has.

    By a collation that ignores case, a group would be called by the first spelling that is met: one row more could
    rename it to a key that is not known, and so drop the rows of everybody in it.
    """
    return exp.Paren(this=exp.Collate(this=value, expression=exp.to_identifier("C", quoted=True)))

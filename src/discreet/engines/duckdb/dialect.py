"""How DuckDB writes the operations of plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from discreet.engines.sql.dialect import LIMB, Dialect
from discreet.engines.sql.words import SQL, binary, call, cast, number, string, try_cast
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.engines.sql.binding import Binding

__all__ = ["DuckDBDialect"]

_INTEGERS = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}
_TIMESTAMPS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}


_HALF = Bounds(-(2**62), 2**62)


class DuckDBDialect(Dialect):
    """DuckDB 2: integers of 128 bits and TRY_CAST make most operations total."""

    name: ClassVar[str] = "duckdb"
    functions: ClassVar[frozenset[str]] = frozenset(
        {
            *("abs", "ceil", "coalesce", "date_diff", "date_part", "date_trunc", "dense_rank", "epoch_us", "exp"),
            *("floor", "greatest", "isnan", "least", "length", "ln", "max", "min", "nullif", "power"),
            *("regexp_full_match", "row_number", "sha256", "sqrt", "substring", "sum", "translate", "trim", "trunc"),
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

    def float(self, value: float) -> SQL:
        """A number with an exponent is a double, read correctly rounded."""
        text = repr(abs(value))
        found = exp.Literal.number(text if "e" in text else f"{text}e0")
        return exp.Paren(this=exp.Neg(this=found)) if value < 0 else found

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

    def truncated(self, value: SQL, rows: Binding) -> SQL:  # noqa: ARG002 - nothing is used twice
        """There is a function for it."""
        return call("trunc", value)

    def floor(self, value: SQL, rows: Binding) -> SQL:  # noqa: ARG002 - nothing is used twice
        """There is a function for it."""
        return call("floor", value)

    def ceil(self, value: SQL, rows: Binding) -> SQL:  # noqa: ARG002 - nothing is used twice
        """There is a function for it."""
        return call("ceil", value)

    def nearest(self, value: SQL) -> SQL:
        """Casts round halves to even."""
        return try_cast(value, "BIGINT")

    def snapped(self, value: SQL, bounds: Bounds, rows: Binding) -> SQL:
        """Within bounds the clamp is left out: were they wrong, TRY_CAST would give NULL, and no error."""
        return self.nearest(value) if bounds.within(_HALF) else Dialect.snapped(self, value, bounds, rows)

    def narrowed(self, value: SQL, rows: Binding) -> SQL:  # noqa: ARG002 - nothing is used twice
        """NULL where it does not fit."""
        return try_cast(value, "BIGINT")

    def matches(self, value: SQL, pattern: str) -> SQL:
        """The whole text, without a special meaning of line ends."""
        return call("regexp_full_match", value, string(pattern))

    def read_text(self, value: SQL, kind: Kind, rows: Binding) -> SQL:
        """TRY_CAST; the year 0 is a year to DuckDB."""
        found = try_cast(value, self.types[kind])
        return self.in_calendar(rows.bind(found), kind) if kind.temporal else found

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

    def microseconds(self, value: SQL) -> SQL:
        """Count microseconds from 1970."""
        return call("epoch_us", value)

    def hashed(self, value: SQL) -> SQL:
        """The first 60 bits as a number, which sorts five times as fast as the text.

        Rows of one unit that agree in these bits and differ in a cell, one pair in 2**60, would tie.
        """
        start = call("substring", call("sha256", value), number(1), number(15))
        return try_cast(binary("||", string("0x"), start), "BIGINT")

    def total(self, value: SQL) -> SQL:
        """The sum of 64-bit integers is a 128-bit one."""
        return call("sum", value)

    def limbs(self, value: SQL) -> tuple[SQL, SQL]:
        """Quotient and remainder toward 0."""
        limb = self.widened(string(str(LIMB)))
        return self.fitting(binary("//", value, limb)), self.fitting(binary("%", value, limb))

    def smallest(self, value: SQL, kind: Kind) -> SQL:  # noqa: ARG002 - of any kind
        """MIN."""
        return call("min", value)

    def largest(self, value: SQL, kind: Kind) -> SQL:  # noqa: ARG002 - of any kind
        """MAX."""
        return call("max", value)

    def stored(self, value: SQL, stored: str, rows: Binding) -> tuple[SQL, Kind] | None:  # noqa: PLR0911 - by type
        """Integers beyond 64 bits are NULL; decimals become the nearest doubles, by way of their texts."""
        base = stored.partition("(")[0]
        if base == "BOOLEAN":
            return value, Kind.BOOLEAN
        if base in _INTEGERS or (base == "DECIMAL" and stored.endswith(",0)")):
            return (value if base == "BIGINT" else try_cast(value, "BIGINT")), Kind.INTEGER
        if base == "DECIMAL":
            return try_cast(cast(value, "VARCHAR"), "DOUBLE"), Kind.FLOAT
        if base in {"FLOAT", "DOUBLE"}:
            return (value if base == "DOUBLE" else cast(value, "DOUBLE")), Kind.FLOAT
        if base in {"VARCHAR", "ENUM", "UUID"}:
            return (value if base == "VARCHAR" else cast(value, "VARCHAR")), Kind.TEXT
        if base == "DATE":
            return self.in_calendar(rows.bind(value), Kind.DATE), Kind.DATE
        if stored in _TIMESTAMPS:
            return self.in_calendar(rows.bind(try_cast(value, "TIMESTAMP")), Kind.TIMESTAMP), Kind.TIMESTAMP
        return None

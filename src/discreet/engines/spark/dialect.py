"""How Spark writes the operations of plans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.words import SQL, any_of, binary, call, case, cast, number, string, try_cast
from discreet.plans.expressions.text import piece_pattern
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.engines.sql.dialect import Binding
    from discreet.plans.expressions import Like, Matches

__all__ = ["SparkDialect"]

_INTEGERS = {"tinyint", "smallint", "int", "bigint"}
_PLAIN = re.compile(r"[A-Za-z0-9 .,:;+*/()<>=_%|?^\[\]{}-]*")
_CHECKED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_PARTS = {
    "year": ("year", 0),
    "quarter": ("quarter", 0),
    "month": ("month", 0),
    "day": ("dayofmonth", 0),
    "hour": ("hour", 0),
    "minute": ("minute", 0),
    "second": ("second", 0),
    "dow": ("dayofweek", -1),
    "isodow": ("weekday", 1),
    "doy": ("dayofyear", 0),
    "week": ("weekofyear", 0),
}
"""Spark's functions for parts, and what is added: its Sunday is 1, and its weekday counts from Monday as 0."""


class SparkDialect(Dialect):
    """Spark 4 in ANSI mode, where errors are errors: so each operation is the one that gives NULL instead.

    sqlglot's own Spark dialect writes TRY_CAST as CAST; the one for Databricks keeps it, and Spark 4 reads it.
    """

    name: ClassVar[str] = "databricks"
    most_layers: ClassVar[int] = 80
    # Beyond some 170, Spark's parser runs out of its stack.
    functions: ClassVar[frozenset[str]] = frozenset(
        {
            *(
                "abs",
                "btrim",
                "char_length",
                "coalesce",
                "conv",
                "date_add",
                "date_trunc",
                "datediff",
                "decode",
                "dense_rank",
                "exp",
            ),
            *("greatest", "isnan", "lead", "least", "ln", "max", "min", "monotonically_increasing_id", "nullif"),
            "octet_length",
            *("power", "regexp_like", "rint", "row_number", "sha2", "sqrt", "substring", "sum", "translate", "unhex"),
            *("instr", "replace", "split_part", "timestamp_seconds", "make_dt_interval"),
            *("try_validate_utf8", "unix_micros", *_CHECKED.values(), *(name for name, _ in _PARTS.values())),
        }
    )
    types: ClassVar[dict[Kind, str]] = {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.FLOAT: "DOUBLE",
        Kind.TEXT: "STRING",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP_NTZ",
    }
    wide: ClassVar[str] = "DECIMAL(38, 0)"

    def text(self, value: str) -> SQL:
        """Write anything that is not plain by its bytes: backslashes mean something in Spark's texts."""
        if _PLAIN.fullmatch(value):
            return string(value)
        return call("decode", call("unhex", string(value.encode().hex())), string("UTF-8"))

    def is_nan(self, value: SQL) -> SQL:
        """There is a function for it."""
        return call("isnan", value)

    def whole(self, symbol: str, left: SQL, right: SQL, rows: Binding) -> SQL:
        """Checked functions; -2**63 // -1 is the only quotient that leaves 64 bits."""
        if symbol in _CHECKED:
            return call(_CHECKED[symbol], left, right)
        if symbol == "%":
            return binary("%", left, call("nullif", right, self.literal(0, Kind.INTEGER)))
        x, y = rows.bind(left), rows.bind(right)
        zero, minus = self.literal(0, Kind.INTEGER), self.literal(-1, Kind.INTEGER)
        bad = any_of([binary("=", y, zero), binary("=", y, minus)])
        safe = case((bad, self.literal(None, Kind.INTEGER)), default=y)
        return case((binary("=", y, minus), call("try_subtract", zero, x)), default=binary("//", x, safe))

    def remainder(self, left: SQL, right: SQL) -> SQL:
        """Java's % of doubles is C's fmod."""
        return binary("%", left, call("nullif", right, self.float(0.0)))

    def truncated(self, value: SQL, rows: Binding) -> SQL:
        """Down for what is not negative, else up."""
        x = rows.bind(value)
        return case((binary(">=", x, self.float(0.0)), self.floor(x, rows)), default=self.ceil(x, rows))

    def floor(self, value: SQL, rows: Binding) -> SQL:
        """Spark's floor gives a 64-bit integer; the nearest whole double, less 1 if it is above, does not."""
        x = rows.bind(value)
        near = rows.bind(call("rint", x))
        return case((binary(">", near, x), binary("-", near, self.float(1.0))), default=near)

    def ceil(self, value: SQL, rows: Binding) -> SQL:
        """The nearest whole double, plus 1 if it is below."""
        x = rows.bind(value)
        near = rows.bind(call("rint", x))
        return case((binary("<", near, x), binary("+", near, self.float(1.0))), default=near)

    def nearest(self, value: SQL) -> SQL:
        """Round halves to even before the cast, which cuts off."""
        return try_cast(call("rint", value), "BIGINT")

    def narrowed(self, value: SQL, rows: Binding) -> SQL:  # noqa: ARG002 - nothing is used twice
        """NULL where it does not fit."""
        return try_cast(value, "BIGINT")

    def matches(self, value: SQL, pattern: str) -> SQL:
        r"""The whole text: $ would stand before a line end too, so it is \z."""
        return call("regexp_like", value, string(rf"\A(?:{pattern})\z"))

    def read_text(self, value: SQL, kind: Kind, rows: Binding) -> SQL:
        """TRY_CAST; the year 0 is a year to Spark."""
        number = try_cast(value, self.types[kind])
        return self.in_calendar(rows.bind(number), kind) if kind.temporal else number

    def trimmed(self, value: SQL) -> SQL:
        """Without U+0020 at both ends."""
        return call("btrim", value, string(" "))

    def length(self, value: SQL) -> SQL:
        """The number of code points."""
        return cast(call("char_length", value), "BIGINT")

    def like(self, value: SQL, pattern: Like) -> SQL:
        r"""LIKE becomes a regular expression that goes back; here each piece is in a group that is never entered again.

        Where a piece is found first is the best place for it, so nothing is lost by not going back.
        """
        if pattern.simple:
            return Dialect.like(self, value, pattern)
        head, *middle, tail = map(piece_pattern, pattern.pieces)
        searched = "".join(rf"(?>.*?{piece})" for piece in middle)
        return call("regexp_like", value, self.text(rf"(?s)\A{head}{searched}.*{tail}\z"))

    def position(self, value: SQL, sought: str) -> SQL:
        """There is a function for it."""
        return cast(call("instr", value, self.text(sought)), "BIGINT")

    def found(self, value: SQL, pattern: Matches) -> SQL:
        """The matcher goes back; the pattern counts the steps of that."""
        return call("regexp_like", value, self.text("(?s)" + pattern.written(start=r"\A", end=r"\z")))

    def octets(self, value: SQL) -> SQL:
        """There is a function for it."""
        return call("octet_length", value)

    def date_part(self, part: str, value: SQL, kind: Kind) -> SQL:
        """One function for each part."""
        name, more = _PARTS[part]
        moment = cast(value, "TIMESTAMP_NTZ") if kind is Kind.DATE else value
        whole = cast(call(name, moment), "BIGINT")
        return binary("+", whole, number(more)) if more else whole

    def date_trunc(self, unit: str, value: SQL, kind: Kind) -> SQL:
        """Weeks start on Monday here too; the session's zone is UTC."""
        return cast(call("date_trunc", string(unit), cast(value, "TIMESTAMP")), self.types[kind])

    def days(self, value: SQL, kind: Kind) -> SQL:
        """Count days from 1970."""
        day = value if kind is Kind.DATE else cast(value, "DATE")
        return cast(call("datediff", day, cast(string("1970-01-01"), "DATE")), "BIGINT")

    def later(self, value: SQL, days: int) -> SQL:
        """A sum of a date and a number is none here."""
        return call("date_add", value, number(days))

    def seconds_later(self, value: SQL, seconds: int) -> SQL:
        """An interval of seconds, which is exact."""
        return binary("+", value, call("make_dt_interval", number(0), number(0), number(0), number(seconds)))

    def date_of(self, days: SQL) -> SQL:
        """A sum of a date and a number is none here."""
        return call("date_add", cast(string("1970-01-01"), "DATE"), cast(days, "INT"))

    def timestamp_of(self, seconds: SQL) -> SQL:
        """In UTC."""
        return cast(call("timestamp_seconds", seconds), "TIMESTAMP_NTZ")

    def microseconds(self, value: SQL) -> SQL:
        """Count microseconds from 1970, in UTC."""
        return call("unix_micros", cast(value, "TIMESTAMP"))

    def text_number(self, value: SQL) -> SQL:
        """Fifteen hexadecimal digits, written in decimal and read again."""
        digits = call("substring", call("sha2", value, number(256)), number(1), number(15))
        return try_cast(call("conv", digits, number(16), number(10)), "BIGINT")

    def total(self, value: SQL) -> SQL:
        """Sums of 64-bit integers could overflow; of decimals they have 38 digits."""
        return call("sum", self.widened(value))

    def short_total(self, value: SQL) -> SQL:
        """Where 64 bits hold the sum, they are much faster."""
        return call("coalesce", call("sum", value), self.literal(0, Kind.INTEGER))

    def row_number(self) -> SQL:
        """Numbers that differ; a window without an order is refused."""
        return call("monotonically_increasing_id")

    def stored(self, value: SQL, stored: str, rows: Binding) -> tuple[SQL, Kind] | None:  # noqa: PLR0911 - by type
        """A timestamp with a local zone is read in UTC; a text that is no Unicode is NULL."""
        base = stored.partition("(")[0]
        if base == "boolean":
            return value, Kind.BOOLEAN
        if base in _INTEGERS:
            return cast(value, "BIGINT"), Kind.INTEGER
        if base == "decimal":
            whole = stored.endswith(",0)")
            return (try_cast(value, "BIGINT"), Kind.INTEGER) if whole else (cast(value, "DOUBLE"), Kind.FLOAT)
        if base in {"float", "double"}:
            return cast(value, "DOUBLE"), Kind.FLOAT
        if base in {"string", "varchar", "char"}:
            # Bytes that are no text would fail where results are read, and sooner or later in a function of texts.
            return call("try_validate_utf8", cast(value, "STRING")), Kind.TEXT
        if base == "date":
            return self.in_calendar(rows.bind(value), Kind.DATE), Kind.DATE
        if base in {"timestamp", "timestamp_ntz"}:
            return self.in_calendar(rows.bind(cast(value, "TIMESTAMP_NTZ")), Kind.TIMESTAMP), Kind.TIMESTAMP
        return None

"""How PostgreSQL writes the operations of plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from discreet.engines.sql.dialect import LIMB, Dialect
from discreet.engines.sql.words import SQL, between, binary, call, case, cast, number, string
from discreet.plans.refusals import refuse
from discreet.tables.kinds import LARGEST_FLOAT, SMALLEST_FLOAT, Kind

if TYPE_CHECKING:
    from discreet.engines.sql.dialect import Binding
    from discreet.plans.expressions import Like, Matches

__all__ = ["PostgresDialect"]

_INTEGERS = {"smallint", "integer", "bigint"}
_TEXTS = {"text", "character varying", "character", "uuid", "enum"}


class PostgresDialect(Dialect):
    """PostgreSQL raises errors on overflow, underflow and bad casts; here none of them is ever asked for.

    Layers are fenced by OFFSET 0: without it the planner would write bound values out at each use, and with it a
    guard in a lower layer is computed before what it guards. Texts are compared by bytes (COLLATE "C").
    """

    name: ClassVar[str] = "postgres"
    functions: ClassVar[frozenset[str]] = frozenset(
        {
            *("abs", "bool_and", "bool_or", "btrim", "ceil", "char_length", "coalesce", "convert_to", "date_part"),
            *(
                "date_trunc",
                "dense_rank",
                "div",
                "encode",
                "exp",
                "floor",
                "greatest",
                "lead",
                "least",
                "ln",
                "max",
                "min",
                "mod",
            ),
            *(
                "nullif",
                "octet_length",
                "pg_input_is_valid",
                "power",
                "regexp_like",
                "row_number",
                "sha256",
                "sqrt",
                "substr",
                "sum",
            ),
            *("replace", "split_part", "strpos", "timezone", "to_timestamp", "translate", "trunc"),
        }
    )
    types: ClassVar[dict[Kind, str]] = {
        Kind.BOOLEAN: "boolean",
        Kind.INTEGER: "bigint",
        Kind.FLOAT: "double precision",
        Kind.TEXT: "text",
        Kind.DATE: "date",
        Kind.TIMESTAMP: "timestamp",
    }
    wide: ClassVar[str] = "numeric"

    def fenced(self, layer: exp.Select) -> exp.Select:
        """Keep the planner from merging layers."""
        layer.set("offset", exp.Offset(expression=number(0)))
        return layer

    def text(self, value: str) -> SQL:
        """Write a text constant; PostgreSQL has no texts with the character 0."""
        if "\x00" in value:
            refuse("a text constant", why="PostgreSQL's texts cannot hold the character 0.", instead="another text.")
        return _by_bytes(string(value))

    def to(self, value: SQL, kind: Kind) -> SQL:
        """Compare texts of numbers by bytes too."""
        return _by_bytes(value) if kind is Kind.TEXT else cast(value, self.types[kind])

    def is_nan(self, value: SQL) -> SQL:
        """NaN equals itself here."""
        return binary("=", value, cast(string("NaN"), "double precision"))

    def whole(self, symbol: str, left: SQL, right: SQL, rows: Binding) -> SQL:
        """Compute in decimals of any length, and come back if it fits."""
        wide = self.widened(left), self.widened(right)
        if symbol in {"//", "%"}:
            quotient = call(
                "div" if symbol == "//" else "mod", wide[0], call("nullif", wide[1], self.widened(number(0)))
            )
        else:
            quotient = binary(symbol, *wide)
        return self.narrowed(quotient, rows)

    def remainder(self, left: SQL, right: SQL) -> SQL:  # noqa: ARG002 - there is none
        """There is no exact remainder of doubles."""
        refuse("%", why="PostgreSQL has no remainder of floats.", instead="% of integers.")

    def nearest(self, value: SQL) -> SQL:
        """Casts of doubles round halves to even."""
        return cast(value, "bigint")

    def narrowed(self, value: SQL, rows: Binding) -> SQL:
        """Compare before the cast; the guard stands inside it."""
        x = rows.bind(value)
        ends = [self.widened(string(str(end))) for end in (-(2**63), 2**63 - 1)]
        return cast(case((between(x, *ends), x), default=cast(exp.Null(), "numeric")), "bigint")

    def matches(self, value: SQL, pattern: str) -> SQL:
        """A dollar sign is the end of the text, whatever stands there."""
        return call("regexp_like", value, string(f"^(?:{pattern})$"))

    def read_text(self, value: SQL, kind: Kind, rows: Binding) -> SQL:
        """Ask whether a date exists before it is read."""
        if not kind.temporal:
            return cast(value, self.types[kind])
        x = rows.bind(value)
        valid = call("pg_input_is_valid", x, string(self.types[kind]))
        return cast(rows.bind(case((valid, x), default=self.literal(None, Kind.TEXT))), self.types[kind])

    def trimmed(self, value: SQL) -> SQL:
        """Without U+0020 at both ends."""
        return call("btrim", value, string(" "))

    def length(self, value: SQL) -> SQL:
        """The number of code points."""
        return cast(call("char_length", value), "bigint")

    def substring(self, value: SQL, start: int, length: int) -> SQL:
        """Code points from a place on."""
        return call("substr", value, number(start), number(length))

    def like(self, value: SQL, pattern: Like) -> SQL:
        """LIKE gives up for good where a text ends before a piece was found, so it never tries a place again."""
        return Dialect.like(self, value, pattern)

    def position(self, value: SQL, sought: str) -> SQL:
        """There is a function for it."""
        return cast(call("strpos", value, self.text(sought)), "bigint")

    def found(self, value: SQL, pattern: Matches) -> SQL:
        """Without references back a pattern runs in all states at once; a point is any character here."""
        return call("regexp_like", value, string(pattern.written(start="^", end="$")))

    def octets(self, value: SQL) -> SQL:
        """There is a function for it."""
        return call("octet_length", value)

    def date_part(self, part: str, value: SQL, kind: Kind) -> SQL:  # noqa: ARG002 - the same for both
        """Seconds have a fraction here."""
        return cast(call("floor", call("date_part", string(part), cast(value, "timestamp"))), "bigint")

    def date_trunc(self, unit: str, value: SQL, kind: Kind) -> SQL:
        """Weeks start on Monday here too."""
        return cast(call("date_trunc", string(unit), cast(value, "timestamp")), self.types[kind])

    def days(self, value: SQL, kind: Kind) -> SQL:  # noqa: ARG002 - the same for both
        """A difference of dates is a number of days."""
        return cast(binary("-", cast(value, "date"), cast(string("1970-01-01"), "date")), "bigint")

    def timestamp_of(self, seconds: SQL) -> SQL:
        """Whole seconds are exact doubles."""
        return call("timezone", string("UTC"), call("to_timestamp", cast(seconds, "double precision")))

    def seconds_later(self, value: SQL, seconds: int) -> SQL:
        """An interval of seconds has no days, which a zone could lengthen."""
        return binary("+", value, cast(string(f"{seconds} seconds"), "interval"))

    def microseconds(self, value: SQL) -> SQL:
        """EXTRACT(EPOCH …) is an exact decimal."""
        epoch = exp.Extract(this=exp.Var(this="EPOCH"), expression=value.copy())
        return cast(binary("*", epoch, cast(number(10**6), "numeric")), "bigint")

    def text_number(self, value: SQL) -> SQL:
        """Fifteen hexadecimal digits, read as bits."""
        digits = call("encode", call("sha256", call("convert_to", value, string("UTF8"))), string("hex"))
        start = binary("||", string("x"), call("substr", digits, number(1), number(15)))
        return cast(cast(start, "bit(60)"), "bigint")

    def total(self, value: SQL) -> SQL:
        """The sum of 64-bit integers, or of decimals, is an exact decimal."""
        return call("sum", value)

    def limbs(self, value: SQL) -> tuple[SQL, SQL]:
        """Quotient and remainder toward 0."""
        limb = self.widened(string(str(LIMB)))
        return self.fitting(call("div", value, limb)), self.fitting(call("mod", value, limb))

    def smallest(self, value: SQL, kind: Kind) -> SQL:
        """Truth values have no MIN."""
        return call("bool_and" if kind is Kind.BOOLEAN else "min", value)

    def largest(self, value: SQL, kind: Kind) -> SQL:
        """Truth values have no MAX."""
        return call("bool_or" if kind is Kind.BOOLEAN else "max", value)

    def stored(self, value: SQL, stored: str, rows: Binding) -> tuple[SQL, Kind] | None:  # noqa: PLR0911 - by type
        """Decimals are compared with the ends of doubles before they become doubles."""
        base = stored if stored.endswith("]") else stored.partition("(")[0]  # numeric(9,2)[] is no number
        if base == "boolean":
            return value, Kind.BOOLEAN
        if base in _INTEGERS:
            return cast(value, "bigint"), Kind.INTEGER
        if base in {"real", "double precision"}:
            return cast(value, "double precision"), Kind.FLOAT
        if base == "numeric":
            whole = stored.endswith(",0)")
            return (self.narrowed(value, rows), Kind.INTEGER) if whole else (self._decimal(value, rows), Kind.FLOAT)
        if base in _TEXTS:
            return _by_bytes(value), Kind.TEXT
        if base == "date":
            return self.in_calendar(rows.bind(value), Kind.DATE), Kind.DATE
        if base == "timestamp without time zone" or (base == "timestamp" and stored.endswith("without time zone")):
            return self.in_calendar(rows.bind(cast(value, "timestamp")), Kind.TIMESTAMP), Kind.TIMESTAMP
        return None

    def _decimal(self, value: SQL, rows: Binding) -> SQL:
        """A decimal as a double: NaN to NULL, huge ones to ±2**500, tiny ones to 0."""
        x = rows.bind(value)
        big, small = (self.widened(string(repr(end))) for end in (LARGEST_FLOAT, SMALLEST_FLOAT))
        low = binary("-", self.widened(number(0)), big)
        guarded = case(
            (binary("=", x, self.widened(string("NaN"))), cast(exp.Null(), "numeric")),
            (binary("<", call("abs", x), small), self.widened(number(0))),
            (binary(">", x, big), big),
            (binary("<", x, low), low),
            default=x,
        )
        return cast(rows.bind(guarded), "double precision")


def _by_bytes(value: SQL) -> SQL:
    """A text that is compared by code point."""
    collated = exp.Collate(this=cast(value, "text"), expression=exp.to_identifier("C", quoted=True))
    return exp.Paren(this=collated)

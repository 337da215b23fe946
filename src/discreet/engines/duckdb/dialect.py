"""How DuckDB writes it: with the functions that it has, and nested SELECTs as few as possible.

Rules write relation upon relation. DuckDB reads, binds and optimizes every layer and every column anew for each
question, which takes longer than to answer a small one. Here layers become one: columns that nobody uses are left out,
and what is used once, or is another column or a cast of one, is written where it is used. What is used more often is a
column of a layer, so that texts do not grow. Every expression is total, for rows that a condition drops too, so it does
not matter in which layer it stands; conditions stand as low as they can, so that less is computed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import chain, count
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from sqlglot import exp

from discreet.engines.sql.dialect import LIMB, Dialect
from discreet.engines.sql.words import (
    SQL,
    between,
    binary,
    call,
    case,
    cast,
    column,
    negated,
    number,
    select,
    string,
    try_cast,
)
from discreet.plans.expressions.text import piece_pattern
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.engines.sql.dialect import Binding, Cell, Unread
    from discreet.plans.expressions import Like
    from discreet.plans.statistics import Snapped
    from discreet.tables.kinds import Value

__all__ = ["DuckDBDialect", "flattened"]

_AGGREGATES = {"max", "min", "sum"}
_BY_ROW = {"expressions", "from_", "where"}
_TOP = {*_BY_ROW, "group"}
_WHOLE = frozenset({exp.Boolean, exp.DataType, exp.Identifier, exp.Literal, exp.Null, exp.Star})
"""Parts without columns inside."""
_QUERIES: frozenset[type[exp.Expr]] = frozenset({exp.Select, exp.Subquery, exp.Union})
_OVER_ROWS = frozenset({exp.Count, exp.Window})

_Place: TypeAlias = "tuple[int, str]"
"""A column by the layer that defines it, counted from above, and its name there; the last number is the source's."""


def flattened(query: SQL) -> SQL:
    """Write a query with as few layers as possible; its columns and its rows stay the same.

    >>> from discreet.engines.sql.words import alias, binary, table
    >>> inner = select([alias(column("age"), "x"), alias(column("name"), "y")], table("people"))
    >>> print(flattened(select([alias(binary("+", column("x"), number(1)), "z")], inner)).sql())
    SELECT ("age" + 1) AS "z" FROM "people"
    """
    if isinstance(query, exp.Union):
        return exp.Union(this=flattened(query.this), expression=flattened(query.expression), distinct=False)
    if not isinstance(query, exp.Select):
        return query
    flat = _Flat.of(query)
    return _only_below(query) if flat is None else flat.written()


def _only_below(query: exp.Select) -> exp.Select:
    """Leave a query as it is, and flatten what it reads from."""
    given = {name: value for name, value in query.args.items() if value}
    given["from_"] = exp.From(this=_source(query.args["from_"].this))
    if "joins" in given:
        given["joins"] = [exp.Join(**{**joined.args, "this": _source(joined.this)}) for joined in given["joins"]]
    return exp.Select(**given)


def _source(source: SQL) -> SQL:
    if not isinstance(source, exp.Subquery):
        return source
    return exp.Subquery(this=flattened(source.this), alias=source.args.get("alias"))


def _used(*values: SQL, by_row: bool) -> list[str] | None:
    """Give the columns that values use, as often as they do; None if one looks at another relation or other rows."""
    names, left = [], [*values]
    while left:  # sqlglot's own walk takes several times as long
        part = left.pop()
        kind = type(part)
        if kind is exp.Column:
            if part.args.get("table") is not None:
                return None
            names.append(_name(part))
        elif kind in _QUERIES or (by_row and _is_across_rows(part)):
            return None
        elif kind not in _WHOLE:
            for child in part.args.values():
                if isinstance(child, exp.Expression):
                    left.append(child)
                elif type(child) is list:
                    left += child
    return names


def _name(part: SQL) -> str:
    """Give the name of a column, in a fraction of the time that sqlglot takes for it."""
    return str(part.args["this"].args["this"])


def _is_across_rows(part: SQL) -> bool:
    """Tell whether a value is made of several rows."""
    kind = type(part)
    return kind in _OVER_ROWS or (kind is exp.Anonymous and part.args["this"] in _AGGREGATES)


def _columns(query: exp.Select) -> list[tuple[str, SQL]]:
    """Give the names and values of a query's columns, apart from *."""
    columns = []
    for expression in query.args["expressions"]:
        if type(expression) is exp.Alias:
            columns.append((expression.args["alias"].args["this"], expression.args["this"]))
        elif type(expression) is exp.Column:
            columns.append((_name(expression), expression))
    return columns


def _named(value: SQL, name: str) -> SQL:
    """Name a column; unlike `alias` it does not copy what stands in another tree, as nothing here is changed later."""
    if type(value) is exp.Column and _name(value) == name:
        return value
    return exp.Alias(this=value, alias=exp.Identifier(this=name, quoted=True))


def _keys(query: exp.Select) -> list[SQL]:
    """Give what rows are grouped by."""
    group = query.args.get("group")
    return [] if group is None else group.expressions


def _shown(query: exp.Select) -> dict[str, int]:
    """Give the columns that are in the result as they are, with their numbers there: rows are grouped by these."""
    values = (value for _, value in _columns(query))
    return {_name(value): number for number, value in enumerate(values, start=1) if type(value) is exp.Column}


def _where(query: exp.Select, wanted: list[SQL]) -> exp.Select:
    """Keep the rows for which all conditions hold."""
    if wanted:
        query.set("where", exp.Where(this=reduce(lambda a, b: exp.And(this=a, expression=b), wanted)))
    return query


def _is_short(value: SQL) -> bool:
    """Tell whether a value is another column, or a cast of one; TRY_CAST is a cast too."""
    return type(value.args["this"] if isinstance(value, exp.Cast) else value) is exp.Column


def _direct(value: SQL) -> SQL:
    """Cast an integer to a byte by way of nothing: CAST to BIGINT is written of integers alone, which it all keeps."""
    if isinstance(value, exp.TryCast) and value.args["to"].args["kind"] == "UTINYINT":
        below = value.this
        if type(below) is exp.Cast and below.args["to"].args["kind"] == "BIGINT":
            return exp.TryCast(this=below.this, to=value.args["to"])
    return value


@dataclass(frozen=True, slots=True)
class _Layer:
    """The columns of a SELECT by name, each with those that it uses; where it says *, all below it are there too."""

    columns: dict[str, tuple[SQL, list[str]]]
    wanted: list[tuple[SQL, list[str]]]

    @staticmethod
    def of(query: SQL) -> _Layer | None:
        """Read a SELECT that works row by row, None if it is another."""
        if not isinstance(query, exp.Select) or any(query.args[word] for word in query.args.keys() - _BY_ROW):
            return None
        columns, wanted = {}, []
        for name, value in _columns(query):
            used = _used(value, by_row=True)
            if used is None:
                return None
            columns[name] = value, used
        where = query.args.get("where")
        if where is not None:
            used = _used(where.this, by_row=True)
            if used is None:
                return None
            wanted.append((where.this, used))
        return _Layer(columns, wanted)


class _Flat:
    """An uppermost SELECT, which may group rows, the layers below it, and what the last of them reads from."""

    def __init__(self, top: exp.Select, used: list[str], layers: list[_Layer], source: SQL) -> None:
        self._top = top
        self._layers = layers
        self._source = source
        self._counts: defaultdict[_Place, int] = defaultdict(int)
        self._kept: dict[_Place, int] = {}
        self._names: dict[_Place, str] = {}
        self._taken: set[str] = set()
        self._count(used)

    @staticmethod
    def of(top: exp.Select) -> _Flat | None:
        """Read a query and the layers below it, None if it cannot be one with them."""
        more = [top.args[word] for word in top.args.keys() - _TOP]
        if any(more) or len(_columns(top)) < len(top.args["expressions"]):
            return None
        shown, where = _shown(top), top.args.get("where")
        keys = [key for key in _keys(top) if type(key) is not exp.Column or _name(key) not in shown]
        values = [value for _, value in _columns(top)]
        used = _used(*values, *keys, *([where.this] if where else []), by_row=False)
        if used is None:
            return None
        layers: list[_Layer] = []
        source = top.args["from_"].this
        while isinstance(source, exp.Subquery) and (layer := _Layer.of(source.this)) is not None:
            layers.append(layer)
            source = source.this.args["from_"].this
        return _Flat(top, used, layers, _source(source)) if layers else None

    def _place(self, depth: int, name: str) -> _Place:
        """Find the layer that defines a column, at this depth or below."""
        for place in range(depth, len(self._layers)):
            if name in self._layers[place].columns:
                return place, name
        return len(self._layers), name

    def _count(self, used: list[str]) -> None:
        """Count how often each column is written, from above: what is not kept is written as often as it is used."""
        counts = self._counts
        for name in used:
            counts[self._place(0, name)] += 1
        for depth, layer in enumerate(self._layers):
            for _, names in layer.wanted:
                for name in names:
                    counts[self._place(depth + 1, name)] += 1
            for name, (value, names) in layer.columns.items():
                times = counts.get((depth, name), 0)
                if times > 1 and not _is_short(value):
                    self._kept[depth, name] = 0  # until it is known from how many layers it reads
                    times = 1
                for sought in names if times else ():
                    counts[self._place(depth + 1, sought)] += times
        for depth, name in sorted(self._kept, reverse=True):
            self._kept[depth, name] = 1 + self._height(depth, self._layers[depth].columns[name][1])

    def _height(self, depth: int, names: list[str]) -> int:
        """Tell from how many layers something reads that is written in one."""
        most = 0
        for at, name in (self._place(depth + 1, used) for used in names):
            if (at, name) in self._kept:
                most = max(most, self._kept[at, name])
            elif at < len(self._layers):
                most = max(most, self._height(at, self._layers[at].columns[name][1]))
        return most

    def _name(self, place: _Place, name: str) -> str:
        """Name a column of a layer as it is called above, unless another has that name or the source, where it is used.

        What is called the same need not be written anew.
        """
        if place not in self._names:
            names, source = chain([name], (f"f{number}" for number in count())), len(self._layers)
            self._names[place] = next(
                tried
                for tried in names
                if tried not in self._taken and ((source, tried) not in self._counts or place == (source, tried))
            )
            self._taken.add(self._names[place])
        return self._names[place]

    def written(self) -> exp.Select:
        """Write the query: the top, layers of kept columns from the last to the first, and the source."""
        height = max(self._kept.values(), default=0)
        results = _columns(self._top)
        if not height and any((len(self._layers), name) in self._counts for name, _ in results):
            height = 1  # a name must not mean a column of the source here and one of the result there
        needed: dict[_Place, None] = {}
        columns = [_named(self._moved(value, -1, height, needed), name) for name, value in results]
        shown, where = _shown(self._top), self._top.args.get("where")
        keys = [
            number(shown[_name(key)])
            if type(key) is exp.Column and _name(key) in shown
            else self._moved(key, -1, height, needed)
            for key in _keys(self._top)
        ]
        wanted = self._conditions(height, height, needed)
        wanted += [] if where is None else [self._moved(where.this, -1, height, needed)]
        flat = _where(select(columns, self._below(height, height, needed)), wanted)
        if keys:
            flat.set("group", exp.Group(expressions=keys))
        return flat

    def _conditions(self, height: int, top: int, needed: dict[_Place, None]) -> list[SQL]:
        """Write the conditions that read from a height, of all up to the top: each stands as low as it can.

        So columns that are kept are computed for the rows that are wanted alone.
        """
        return [
            self._moved(value, depth, height, needed)
            for depth, layer in reversed([*enumerate(self._layers)])
            for value, used in layer.wanted
            if min(self._height(depth, used), top) == height
        ]

    def _below(self, height: int, top: int, needed: dict[_Place, None]) -> SQL:
        """Write the layers up to a height, with the columns that are needed above."""
        if not height:
            return self._source
        columns: list[SQL] = []
        more: dict[_Place, None] = {}
        for place in needed:
            name = self._names[place]
            if self._kept.get(place) == height:
                value = self._moved(self._layers[place[0]].columns[place[1]][0], place[0], height - 1, more)
            else:
                value = column(place[1] if height == 1 else name)
                more[place] = None
            columns.append(_named(value, name))
        wanted = self._conditions(height - 1, top, more)
        return _where(select(columns, self._below(height - 1, top, more)), wanted)

    def _moved(self, part: SQL, depth: int, height: int, needed: dict[_Place, None]) -> SQL:
        """Write what stood in a layer above another height; what has not changed is used as it is."""
        kind = type(part)
        if kind is exp.Column:
            return self._moved_column(part, depth, height, needed)
        if kind in _WHOLE:
            return part
        given: dict[str, object] = {}
        for name, child in part.args.items():
            if isinstance(child, exp.Expression):
                moved = self._moved(child, depth, height, needed)
                if moved is not child:
                    given[name] = moved
            elif type(child) is list:
                some = [self._moved(item, depth, height, needed) for item in child]
                if any(a is not b for a, b in zip(some, child, strict=True)):
                    given[name] = some
        return _direct(kind(**{**part.args, **given})) if given else part

    def _moved_column(self, part: SQL, depth: int, height: int, needed: dict[_Place, None]) -> SQL:
        """Write what a column stands for; one that is called as before is used as it is."""
        name = _name(part)
        place = self._place(depth + 1, name)
        while place not in self._kept and place[0] < len(self._layers):
            value = self._layers[place[0]].columns[place[1]][0]
            if type(value) is not exp.Column:
                return self._moved(value, place[0], height, needed)
            place = self._place(place[0] + 1, _name(value))
        new = place[1]
        if height:
            needed[place] = None
            new = self._name(place, name)
        return part if new == name else column(new)


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
            *("rank", "regexp_full_match", "row_number", "sha256", "sqrt", "strlen", "substring", "sum", "translate"),
            *("trim", "trunc"),
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

    def layered(self, query: SQL) -> SQL:
        """To read and bind layers takes longer than to answer a small question."""
        return flattened(query)

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

    def steps(self, cell: Cell, unread: Unread | None, factor: Snapped, rows: Binding) -> SQL:
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

    def placed(self, cell: Cell, unread: Unread | None, factor: Snapped, rows: Binding) -> tuple[SQL, SQL]:
        """As `steps`; where the double itself tells NaN and NULL, the last branch need not: it is quicker to read."""
        stepped = self._stepped(cell, unread, factor, rows)
        if stepped is None:
            return Dialect.placed(self, cell, unread, factor, rows)
        x, below, top = stepped
        return case(*below, default=top), negated(self.is_nan(x))

    def _stepped(
        self, cell: Cell, unread: Unread | None, factor: Snapped, rows: Binding
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

    def short_key(self, cell: Cell, known: tuple[Value, ...] | None) -> SQL | None:
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

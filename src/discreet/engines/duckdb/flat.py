"""Nested SELECTs as few as possible.

Rules write relation upon relation. DuckDB reads, binds and optimizes every layer and every column anew for each
question, which takes longer than to answer a small one. Here layers become one: columns that nobody uses are left out,
and what is used once, or is another column or a cast of one, is written where it is used. What is used more often is a
column of a layer, so that texts do not grow. Every expression is total, for rows that a condition drops too, so it does
not matter in which layer it stands; conditions stand as low as they can, so that less is computed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from itertools import chain, count
from typing import TypeAlias

from sqlglot import exp

from discreet.engines.sql.words import SQL, column, number, select

__all__ = ["flattened"]

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

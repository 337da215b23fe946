"""One SELECT over rows of units, taken apart: the keys and aggregates that are released, and what is made of them."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.shell.relations import Private, aggregates_of, found, source_name, windowed_by
from discreet.plans.sql.grouped import alias_of, output_name
from discreet.plans.sql.reading import matching, only, part, refuse_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from discreet.plans.shell.relations import Relation
    from discreet.plans.shell.shell import Core

__all__ = ["Grouping"]

_BELOW = ("expressions", "from_", "joins", "where", "group", "with_")
_ABOVE = ("having", "qualify", "windows", "distinct", "order", "limit", "offset")
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Literal)
_SETS = (exp.Cube, exp.Rollup, exp.GroupingSets)


class Grouping:
    """A SELECT that reads rows of units, among the sources that it reads.

    >>> from discreet.plans.sql.reading import read_statement
    >>> asked = "SELECT ward, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM v GROUP BY 1"
    >>> select = read_statement(asked)
    >>> grouping = Grouping(select, {"v": Private({"ward": False})})
    >>> grouping.keys, grouping.values, next(grouping.cores()).sql()
    (('ward',), ('n',), 'SELECT ward AS ward, COUNT(*) AS n FROM v GROUP BY ward')

    With CUBE, ROLLUP or GROUPING SETS the core has the finest groups, and totals are sums of what was released:

    >>> totals = Grouping(read_statement("SELECT ward, COUNT(*) AS n FROM v GROUP BY CUBE (ward)"), {})
    >>> totals.shell("core1").sql()
    'SELECT core1.ward AS ward, SUM(core1.n) AS n FROM core1 GROUP BY CUBE (core1.ward) ORDER BY core1.ward NULLS LAST'
    """

    def __init__(self, select: exp.Select, read: Mapping[str, Relation]) -> None:
        only(select, *_BELOW, *_ABOVE)
        self.select = select
        self.read = read
        self._items = [alias_of(item) for item in select.expressions]
        self._taken: set[str] = set()
        self._keys: dict[str, tuple[str, exp.Expression]] = {}
        self._values: dict[str, tuple[str, exp.Expression]] = {}
        self._key_nodes = list(self._grouped())

    @cached_property
    def is_core(self) -> bool:
        """Whether it mixes the rows of units: only then it is released. Groups of one unit each are rows of units."""
        units = any(self._is_unit(key) for key in self._key_nodes)
        clauses = [*self.select.expressions, self.select.args.get("having"), self.select.args.get("qualify")]
        aggregates = any(any(aggregates_of(clause)) for clause in clauses if clause is not None)
        distinct = self.select.args.get("distinct") is not None
        if distinct and not self._key_nodes and not aggregates:
            return False
        return (aggregates or bool(self._key_nodes)) and not units

    def is_key(self, node: exp.Expression) -> bool:
        """Whether an expression is one of the keys of the groups."""
        return self.form(node) in {self.form(key) for key in self._key_nodes}

    @property
    def columns(self) -> dict[str, bool]:
        """The columns, if these are rows of units: for each, whether it is the unit."""
        columns: dict[str, bool] = {}
        for item in self.select.expressions:
            node, alias = alias_of(item)
            if alias is None and node.is_star:
                for relation in self.read.values():
                    columns |= {
                        name: isinstance(relation, Private) and name in relation.units for name in relation.columns
                    }
            else:
                columns[alias or node.name] = self._is_unit(node)
        return columns

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the keys in the core."""
        self._taken_apart  # noqa: B018 - names are given there
        return tuple(name for name, _ in self._keys.values())

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the aggregates in the core."""
        self._taken_apart  # noqa: B018 - as above
        return tuple(name for name, _ in self._values.values())

    @property
    def words(self) -> tuple[tuple[str, str], ...]:
        """For each column of the core, what the question says for it."""
        self._taken_apart  # noqa: B018 - as above
        both = (*self._keys.values(), *self._values.values())
        return tuple((name, part(node)) for name, node in both)

    @property
    def has_totals(self) -> bool:
        """Whether it asks for totals of groups as well: CUBE, ROLLUP, GROUPING SETS."""
        group = self.select.args.get("group")
        return group is not None and any(isinstance(item, _SETS) for item in group.expressions)

    @cached_property
    def _taken_apart(self) -> None:
        """Name keys and aggregates, those that an output shows after it."""
        shown = {self.form(node): alias for node, alias in self._items if alias is not None}
        for key in self._key_nodes:
            form = self.form(key)
            if form not in self._keys:
                given = key.name if isinstance(key, exp.Column) else shown.get(form) or "key"
                self._keys[form] = self._free_name(given), key
        for piece in self._above():
            for aggregate in aggregates_of(piece):
                if isinstance(aggregate, exp.Grouping | exp.GroupingId):
                    continue  # it says which keys a total is over
                form = self.form(aggregate)
                if form not in self._values:
                    if self.has_totals:
                        _require_sum(aggregate)
                    given = shown.get(form) or output_name(aggregate, 0)
                    self._values[form] = self._free_name(given), aggregate

    def _above(self) -> Iterator[exp.Expression]:
        """Everything that is computed after the groups were formed."""
        yield from (node for node, _ in self._items)
        for word in ("having", "qualify", "order"):
            if self.select.args.get(word) is not None:
                yield self.select.args[word]
        yield from self.select.args.get("windows") or []

    def _free_name(self, wanted: str) -> str:
        names = itertools.chain((wanted,), (f"{wanted}_{number}" for number in itertools.count(2)))
        name = next(name for name in names if name.casefold() not in self._taken)
        self._taken.add(name.casefold())
        return name

    def cores(self) -> Iterator[exp.Select]:
        """The core as a statement: first with the arithmetic of its outputs, then without."""
        self._taken_apart  # noqa: B018 - as above
        arithmetic = [exp.alias_(node.copy(), name, quoted=True) for name, node in self._arithmetic.items()]
        for more in [arithmetic, []] if arithmetic else [[]]:
            yield self._core(more)

    def _core(self, more: list[exp.Expr]) -> exp.Select:
        both = [*self._keys.values(), *self._values.values()]
        core = exp.Select(expressions=[*(_named(node.copy(), name) for name, node in both), *more])
        for word in ("from_", "joins", "where"):
            clause = self.select.args.get(word)
            if clause:
                core.set(word, [part.copy() for part in clause] if isinstance(clause, list) else clause.copy())
        if self._keys:
            core.set("group", exp.Group(expressions=[node.copy() for _, node in self._keys.values()]))
        return core

    @cached_property
    def _arithmetic(self) -> dict[str, exp.Expression]:
        """Outputs that are arithmetic on the aggregates of one row, under names of their own."""
        if self.has_totals:
            return {}
        return {f" {place}": node for place, (node, _) in enumerate(self._items) if self._is_arithmetic(node)}

    def _is_arithmetic(self, node: exp.Expression) -> bool:
        if self.form(node) in self._values or not any(aggregates_of(node)):
            return False
        inside = node.walk(prune=lambda part: self.form(part) in self._values)
        return all(isinstance(part, _ARITHMETIC) or self.form(part) in self._values for part in inside)

    def places(self, core: Core) -> list[str]:
        """For each output, the column of the core's answer that tells its ±; nothing where there is none."""
        names = core.plan.columns
        return [f" {place}" if f" {place}" in names else "" for place in range(len(self._items))]

    def shell(self, name: str) -> exp.Select:
        """The SELECT over the released core, a table of this name."""
        self._taken_apart  # noqa: B018 - as above
        shell = self.select.copy()
        for word in ("joins", "where", "group", "with_"):
            shell.set(word, None)
        shell.set("from_", exp.From(this=exp.to_table(name)))
        having = shell.args.get("having")
        if self.has_totals:
            shell.set("group", self._sets(name))
        elif having is not None:
            shell.set("having", None)
            shell.set("where", exp.Where(this=having.this))
        items = []
        for place, (item, (_, _alias)) in enumerate(zip(shell.expressions, self._items, strict=True)):
            inner = item.this if isinstance(item, exp.Alias) else item
            made = self._over(inner, name)
            given = item.args["alias"].copy() if isinstance(item, exp.Alias) else None
            named = exp.Alias(this=made, alias=given) if given is not None else _named(made, output_name(item, place))
            items.append(named)
        shell.set("expressions", items)
        for word in ("where", "having", "qualify", "order"):
            if shell.args.get(word) is not None:
                shell.set(word, self._over(shell.args[word], name))
        for place, window in enumerate(shell.args.get("windows") or []):
            shell.args["windows"][place] = self._over(window, name)
        plain = not any(self.select.args.get(word) for word in ("order", "distinct", "limit", "offset"))
        if self.has_totals and plain and self.select.parent is None:
            keys = [_column(key, name) for key in self.keys]
            shell.set("order", exp.Order(expressions=[exp.Ordered(this=key, nulls_first=False) for key in keys]))
        return shell

    def _over(self, node: exp.Expression, core: str) -> exp.Expression:
        """Write keys and aggregates as columns of the core."""
        node = node.copy()
        windowed = {id(part) for window in node.find_all(exp.Window) for part in windowed_by(window)}
        aliases = [alias for _, alias in self._items if alias is not None]
        known = {form: name for form, (name, _) in (self._values | self._keys).items()}
        kinds = {type(part) for _, part in (self._values | self._keys).values()}

        inner = list(node.find_all(exp.Query))
        below = {id(part) for query in inner for part in query.walk()}
        theirs = {source_name(table) for query in inner for table in query.find_all(exp.Table, exp.Subquery)}

        def changed(part: exp.Expression) -> exp.Expression:
            if id(part) in below and not (isinstance(part, exp.Column) and self._is_outer(part, theirs)):
                return part
            if type(part) in kinds and id(part) not in windowed and self.form(part) in known:
                column = _column(known[self.form(part)], core)
                return exp.Sum(this=column) if self.has_totals and self.form(part) in self._values else column
            if isinstance(part, exp.Column) and not (part.args.get("table") is None and matching(part.this, aliases)):
                instead = f"GROUP BY {part.name}, or AVG({part.name})."
                refuse_part(part, "Outside an aggregate a column would show single rows.", instead)
            return part

        made: exp.Expression = node.transform(changed, copy=False)
        return made

    def _sets(self, core: str) -> exp.Group:
        """GROUP BY as it was written, by columns of the core."""
        group: exp.Group = self.select.args["group"].copy()
        for leaf, key in zip(list(_leaves(group)), self._key_nodes, strict=True):
            leaf.replace(_column(self._keys[self.form(key)][0], core))
        return group

    def _is_outer(self, column: exp.Column, theirs: set[str]) -> bool:
        """Whether a column in a subquery is one of this SELECT: it says so, and the subquery has none of that name."""
        table = column.args.get("table")
        name = None if table is None else matching(table, self.read)
        return name is not None and name not in theirs

    def _grouped(self) -> Iterator[exp.Expression]:
        """The expressions that GROUP BY names."""
        group = self.select.args.get("group")
        if group is None:
            return
        only(group, "expressions", "all")
        if group.args.get("all"):
            yield from (node for node, _ in self._items if not any(aggregates_of(node)))
            return
        aliases = {alias: node for node, alias in self._items if alias is not None}
        for item in _leaves(group):
            if isinstance(item, exp.Literal) and not item.is_string and item.name.isdigit():
                place = int(item.name)
                yield self._items[place - 1][0] if 1 <= place <= len(self._items) else item
                continue
            if isinstance(item, exp.Column) and item.args.get("table") is None and self._source(item) is None:
                name = matching(item.this, aliases)
                yield item if name is None else aliases[name]
                continue
            yield item

    def _source(self, column: exp.Column) -> str | None:
        """The source that a column belongs to, if that is clear."""
        table = column.args.get("table")
        if table is not None:
            return matching(table, self.read)
        fits = [name for name, relation in self.read.items() if found(column.this, relation) is not None]
        return fits[0] if fits else None

    def _is_unit(self, node: exp.Expression) -> bool:
        while isinstance(node, exp.Paren | exp.Alias):
            node = node.this
        if not isinstance(node, exp.Column):
            return False
        source = self._source(node)
        if source is None:
            return False
        relation = self.read[source]
        name = found(node.this, relation)
        return isinstance(relation, Private) and name is not None and relation.columns[name]

    def form(self, node: exp.Expr) -> str:
        """One text for expressions that mean the same: names without case, columns with their source."""
        copy = node.copy()
        while isinstance(copy, exp.Paren):
            copy = copy.this
        for column in list(copy.find_all(exp.Column)):
            source = self._source(column)
            if source is not None:
                column.set("table", exp.to_identifier(source))
        for identifier in copy.find_all(exp.Identifier):
            if not identifier.args.get("quoted"):
                identifier.set("this", identifier.name.casefold())
            identifier.set("quoted", None)
        return str(copy.sql(dialect="duckdb"))


def _leaves(item: exp.Expression) -> Iterator[exp.Expression]:
    """The keys of GROUP BY, those within CUBE, ROLLUP and GROUPING SETS as well."""
    if isinstance(item, exp.Paren):
        yield from _leaves(item.this)
    elif isinstance(item, exp.Group | exp.Tuple | exp.Cube | exp.Rollup | exp.GroupingSets):
        for inner in item.expressions:
            yield from _leaves(inner)
    else:
        yield item


def _require_sum(aggregate: exp.Expression) -> None:
    """Refuse an aggregate whose totals are no sums of its parts."""
    inner = aggregate.this if isinstance(aggregate, exp.Filter) else aggregate
    if not isinstance(inner, exp.Count | exp.CountIf | exp.Sum) or isinstance(inner.this, exp.Distinct):
        instead = "COUNT and SUM, from which a mean follows: SUM(x) / COUNT(x)."
        refuse_part(aggregate, "Beside CUBE, ROLLUP and GROUPING SETS totals are the sums of their parts.", instead)


def _column(name: str, core: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=_needs_quotes(name)), core)


def _needs_quotes(name: str) -> bool:
    return not (name.isidentifier() and name.isascii() and name == name.lower())


def _named(node: exp.Expression, name: str) -> exp.Expression:
    named: exp.Expression = exp.alias_(node, name, quoted=_needs_quotes(name))  # type: ignore[assignment]
    return named

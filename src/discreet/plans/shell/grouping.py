"""One SELECT over rows of units, taken apart: the keys and aggregates that are released, and what is made of them."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from discreet.plans.shell.relations import Private, aggregates_of, found, source_name, windowed_by
from discreet.plans.sql.grouped import alias_of, output_name
from discreet.plans.sql.grouping_sets import sets_of
from discreet.plans.sql.reading import matching, only, part, refuse_part
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from discreet.plans.shell.relations import Relation
    from discreet.plans.shell.shell import Core

__all__ = ["Grouping", "by_groups", "mode_of"]

_BELOW = ("expressions", "from_", "joins", "where", "group", "with_")
_ABOVE = ("having", "qualify", "windows", "distinct", "order", "limit", "offset")
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Literal)


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
        self._modes: dict[str, tuple[str, exp.Expression]] = {}
        group = select.args.get("group")
        self._set_nodes = None if group is None else sets_of(group)
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
        both = (*self._keys.values(), *self._values.values(), *self._modes.values())
        return tuple((name, part(node)) for name, node in both)

    @cached_property
    def has_totals(self) -> bool:
        """Whether it asks for totals that are sums of released groups: CUBE and its like, of COUNT and SUM alone."""
        aggregates = (aggregate for piece in self._above() for aggregate in aggregates_of(piece))
        return self._set_nodes is not None and all(_adds_up(aggregate) for aggregate in aggregates)

    @property
    def modes(self) -> dict[str, exp.Expression]:
        """The most frequent values that are asked for, by their names in the shell: what MODE is of."""
        self._taken_apart  # noqa: B018 - as above
        return {name: mode_of(node) for name, node in self._modes.values()}  # type: ignore[misc]  # they are modes

    @property
    def summed(self) -> tuple[str, ...]:
        """The columns that tell which keys a row sums over, where there are several sets of keys."""
        return () if self._set_nodes is None or self.has_totals else tuple(map(_summed, self.keys))

    @property
    def sets(self) -> list[tuple[Grouping, exp.Select]]:
        """For GROUPING SETS whose totals are no sums: for each set the SELECT by its keys, and how the shell reads it.

        The keys that a set sums over are NULL there, and a column of its own tells which they are, for GROUPING(key).
        """
        return [] if self.has_totals else [self._of_set(nodes) for nodes in self._set_nodes or []]

    def _of_set(self, nodes: list[exp.Expression]) -> tuple[Grouping, exp.Select]:
        select = self.select.copy()
        keys = [node.copy() for item in nodes for node in self._meant(item)]
        select.set("group", exp.Group(expressions=keys) if keys else None)
        one = Grouping(select, self.read)
        one._taken_apart  # noqa: B018 - as above
        arm = exp.Select()
        for form, (name, _) in (self._keys | self._values).items():
            own = (one._keys | one._values).get(form)
            value = exp.Null() if own is None else exp.column(exp.to_identifier(own[0], quoted=True))
            arm.append("expressions", exp.alias_(value, name, quoted=True))
        for form, (name, _) in self._keys.items():
            summed = exp.Literal.number(int(form not in one._keys))
            arm.append("expressions", exp.alias_(summed, _summed(name), quoted=True))
        return one, arm

    def by_value(self, of: exp.Expression) -> Grouping:
        """The SELECT that counts how often each value is there, in each group."""
        select = exp.Select(expressions=[*(node.copy() for _, node in self._keys.values()), of.copy()])
        for word in ("from_", "joins", "where"):
            clause = self.select.args.get(word)
            if clause:
                select.set(word, [part.copy() for part in clause] if isinstance(clause, list) else clause.copy())
        select.set("group", exp.Group(expressions=[node.copy() for node in select.expressions]))
        select.append("expressions", exp.Count(this=exp.Star()))
        return Grouping(select, self.read)

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
                kept = self._values if mode_of(aggregate) is None else self._modes
                if form not in kept:
                    given = shown.get(form) or output_name(aggregate, 0)
                    kept[form] = self._free_name(given), aggregate

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
            shell.set("group", self._totals(name))
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
        released = self._values | self._modes | self._keys
        known = {form: name for form, (name, _) in released.items()}
        kinds = {type(part) for _, part in released.values()}

        inner = list(node.find_all(exp.Query))
        below = {id(part) for query in inner for part in query.walk()}
        theirs = {source_name(table) for query in inner for table in query.find_all(exp.Table, exp.Subquery)}

        def changed(part: exp.Expression) -> exp.Expression:
            if id(part) in below and not (isinstance(part, exp.Column) and self._is_outer(part, theirs)):
                return part
            if type(part) in kinds and id(part) not in windowed and self.form(part) in known:
                column = _column(known[self.form(part)], core)
                return exp.Sum(this=column) if self.has_totals and self.form(part) in self._values else column
            if isinstance(part, exp.Grouping | exp.GroupingId) and self._set_nodes is not None and not self.has_totals:
                return self._grouping_of(part, core)
            if isinstance(part, exp.Column) and not (part.args.get("table") is None and matching(part.this, aliases)):
                self._refuse_column(part)
            return part

        made: exp.Expression = node.transform(changed, copy=False)
        return made

    def _totals(self, core: str) -> exp.Group:
        """GROUP BY as it was written, by columns of the core."""
        group: exp.Group = self.select.args["group"].copy()
        for word, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):  # Spark's GROUP BY a, b WITH ROLLUP
            if group.args.get(word):
                group = exp.Group(expressions=[kind(expressions=group.expressions)])
        if group.args.get("grouping_sets"):
            group = exp.Group(expressions=group.args["grouping_sets"])
        for leaf in list(_leaves(group)):
            key = next(self._meant(leaf))
            leaf.replace(_column(self._keys[self.form(key)][0], core))
        return group

    def _refuse_column(self, column: exp.Column) -> NoReturn:
        """A column that is no key, or that there is not."""
        if self._source(column) is None:
            names = sorted({name for relation in self.read.values() for name in relation.columns})
            known = f"one of {', '.join(names) or 'no columns'}."
            refuse_part(column, "There is no such column here." + hint(column.name, names), known)
        instead = f"it beside an aggregate such as COUNT(*), with GROUP BY {column.name}."
        refuse_part(column, "Outside an aggregate a column would show single rows.", instead)

    def _grouping_of(self, node: exp.Expression, core: str) -> exp.Expression:
        """GROUPING(a, b): 1 for each key that a row sums over, as a number in binary."""
        keys = [self._keys.get(self.form(key)) for key in node.expressions]
        if not keys or None in keys:
            refuse_part(node, "It is told of the keys of GROUP BY.", "GROUPING(a key)")
        names = [exp.to_identifier(_summed(key[0]), quoted=True) for key in keys if key is not None]
        made: exp.Expression = exp.column(names[0], core)
        for name in names[1:]:
            twice = exp.Mul(this=exp.Literal.number(2), expression=made)
            made = exp.paren(exp.Add(this=twice, expression=exp.column(name, core)), copy=False)
        return made

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
        only(group, "expressions", "all", "rollup", "cube", "grouping_sets")
        if group.args.get("all"):
            yield from (node for node, _ in self._items if not any(aggregates_of(node)))
            return
        items = group.expressions if self._set_nodes is None else [key for keys in self._set_nodes for key in keys]
        for item in items:
            yield from self._meant(item)

    def _meant(self, item: exp.Expression) -> Iterator[exp.Expression]:
        """What an item of GROUP BY stands for: a place, the name of an output, or itself."""
        aliases = {alias: node for node, alias in self._items if alias is not None}
        if isinstance(item, exp.Literal) and not item.is_string and item.name.isdigit():
            place = int(item.name)
            yield self._items[place - 1][0] if 1 <= place <= len(self._items) else item
            return
        if isinstance(item, exp.Column) and item.args.get("table") is None and self._source(item) is None:
            name = matching(item.this, aliases)
            yield item if name is None else aliases[name]
            return
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


def by_groups(select: exp.Select, read: Mapping[str, Relation], inner: list[exp.Expression]) -> Grouping:
    """The SELECT of a subquery about the row's own group, for all groups at once."""
    if select.args.get("group") is not None or any(select.args.get(word) for word in ("having", "limit", "distinct")):
        refuse_part(select, "It is about the row's own group, and has groups of its own.", "one aggregate, and WHERE.")
    grouped = select.copy()
    grouped.set("group", exp.Group(expressions=[side.copy() for side in inner]))
    return Grouping(grouped, read)


def _leaves(item: exp.Expression) -> Iterator[exp.Expression]:
    """The keys of GROUP BY, those within CUBE, ROLLUP and GROUPING SETS as well."""
    if isinstance(item, exp.Paren):
        yield from _leaves(item.this)
    elif isinstance(item, exp.Group | exp.Tuple | exp.Cube | exp.Rollup | exp.GroupingSets):
        for inner in item.expressions:
            yield from _leaves(inner)
    else:
        yield item


def _adds_up(aggregate: exp.Expression) -> bool:
    """Whether totals of an aggregate are sums of its parts; which keys a total is over is no number."""
    inner = aggregate.this if isinstance(aggregate, exp.Filter) else aggregate
    if isinstance(inner, exp.Grouping | exp.GroupingId):
        return True
    return isinstance(inner, exp.Count | exp.CountIf | exp.Sum) and not isinstance(inner.this, exp.Distinct)


def _column(name: str, core: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=_needs_quotes(name)), core)


def mode_of(node: exp.Expression) -> exp.Expression | None:
    """What a MODE is of: MODE(x), or MODE() WITHIN GROUP (ORDER BY x); None for other aggregates.

    >>> from discreet.plans.sql.reading import read_expression
    >>> [str(mode_of(read_expression(text))) for text in ("MODE(x)", "MODE() WITHIN GROUP (ORDER BY y)", "MAX(x)")]
    ['x', 'y', 'None']
    """
    if isinstance(node, exp.Mode) and node.this is not None:
        return node.this  # type: ignore[no-any-return]
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.Mode):
        ordered = node.expression.expressions
        return ordered[0].this if len(ordered) == 1 else None
    return None


def _summed(key: str) -> str:
    """The column that tells whether a row sums over a key."""
    return f"sums over {key}"


def _needs_quotes(name: str) -> bool:
    return not (name.isidentifier() and name.isascii() and name == name.lower())


def _named(node: exp.Expression, name: str) -> exp.Expression:
    named: exp.Expression = exp.alias_(node, name, quoted=_needs_quotes(name))  # type: ignore[assignment]
    return named

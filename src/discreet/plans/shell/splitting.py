"""From one statement to cores and a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.plans.aggregates import Histogram
from discreet.plans.expressions import Column
from discreet.plans.refusals import refuse
from discreet.plans.shell.allowed import require_allowed
from discreet.plans.shell.choosing import chosen_afterwards
from discreet.plans.shell.comparing import require_released_keys
from discreet.plans.shell.grouping import Grouping, by_groups
from discreet.plans.shell.holes import (
    correlated,
    filled,
    known_groups,
    known_keys,
    memberships,
    placed,
    placed_among,
    scalar_subqueries,
)
from discreet.plans.shell.lineage import EXACT, NOISY, Lineage, Sources, lineage_of
from discreet.plans.shell.relations import (
    Free,
    Known,
    Private,
    Relation,
    names_of_alias,
    renamed,
    source_name,
    table_relation,
)
from discreet.plans.shell.rewriting import keys_alone, total
from discreet.plans.shell.shell import Core, Hole, Shell, in_words
from discreet.plans.shell.size import require_size
from discreet.plans.shell.sources import of_modes, of_sets
from discreet.plans.sql.grouped import output_name
from discreet.plans.sql.question import planned, read_question
from discreet.plans.sql.reading import matching, part, refuse_part
from discreet.plans.sql.refused import SCALAR_SUBQUERY
from discreet.plans.sql.relations import table_named
from discreet.plans.statistics import RankedCells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from discreet.plans.normal import Bounding
    from discreet.plans.plan import Plan
    from discreet.tables import Policy, Table, Value
    from discreet.tables.kinds import Kind

__all__ = ["read_sql", "split_sql"]

_MOST_CORES = 64


def read_sql(  # noqa: PLR0913 - what a question is planned with
    policy: Policy,
    text: str,
    *,
    dialect: str = "duckdb",
    bounding: Bounding | None = None,
    verified: frozenset[str] = frozenset(),
    kind_of: Callable[[Shell], Kind] | None = None,
) -> Plan | Shell:
    """Plan a statement as one question, as `plan_sql` does; what is more than one becomes cores and a shell.

    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", row_is_unit=True)], epsilon=1)
    >>> asked = ["SELECT COUNT(*) AS n FROM people", "SELECT COUNT(*) AS n, RANK() OVER () AS r FROM people"]
    >>> [type(read_sql(policy, text)).__name__ for text in asked]
    ['Plan', 'Shell']
    """
    statement = read_question(policy, text, dialect)
    try:
        return planned(policy, statement, dialect=dialect, bounding=bounding, verified=verified)
    except QueryRefused:
        shell = _split(policy, statement, dialect=dialect, bounding=bounding, verified=verified, kind_of=kind_of)
        if shell is None:
            raise
        return shell


def split_sql(
    policy: Policy,
    text: str,
    *,
    dialect: str = "duckdb",
    bounding: Bounding | None = None,
    verified: frozenset[str] = frozenset(),
) -> Shell | None:
    """Split a statement into cores and a shell, or refuse it; None if it shows rows of units, so that it has no shell.

    Subqueries in cores are refused: what kind of value they give is not known here. `read_sql` can be told.

    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=2, columns=[Column("ward", keys=["a", "b"])])
    >>> policy = Policy([visits], epsilon=3)
    >>> asked = "SELECT ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM visits GROUP BY ward"
    >>> shell = split_sql(policy, asked)
    >>> shell.text
    'SELECT core1.ward AS ward, core1.n AS n, RANK() OVER (ORDER BY core1.n DESC) AS place FROM core1'
    >>> [core.text for core in shell.cores]
    ['SELECT ward AS ward, COUNT(*) AS n FROM visits GROUP BY ward']
    """
    statement = read_question(policy, text, dialect)
    return _split(policy, statement, dialect=dialect, bounding=bounding, verified=verified, kind_of=None)


def _split(  # noqa: PLR0913 - what a question is planned with
    policy: Policy,
    statement: exp.Expression,
    *,
    dialect: str,
    bounding: Bounding | None,
    verified: frozenset[str],
    kind_of: Callable[[Shell], Kind] | None,
) -> Shell | None:
    if not isinstance(statement, exp.Query):
        return None
    splitter = _Splitter(policy, dialect, bounding, verified, kind_of=kind_of)
    splitter.avoid(statement)
    try:
        shell, relation = splitter.query(keys_alone(statement), {}, None)
        if isinstance(relation, Private):
            return None
        splitter.require(shell)
        splitter.require_single_rows()
    except QueryRefused as refused:
        raise splitter.in_words(refused) from None
    except RecursionError:
        refuse_part(statement, "It is nested too deeply.", "a flatter question.")
    shell = total(shell)
    cores, tables = tuple(splitter.cores), tuple(splitter.tables.values())
    lineage = tuple(relation.columns.values())
    return Shell(shell, cores, tables, lineage, policy)


class _Splitter:
    """Reads one statement."""

    def __init__(
        self,
        policy: Policy,
        dialect: str,
        bounding: Bounding | None,
        verified: frozenset[str],
        *,
        kind_of: Callable[[Shell], Kind] | None,
    ) -> None:
        self.policy = policy
        self.dialect = dialect
        self.bounding = bounding
        self.verified = verified
        self.cores: list[Core] = []
        self.tables: dict[str, Table] = {}
        self._known: dict[str, Core] = {}
        self._prefix = "core"
        self._keyed: list[tuple[Core, list[exp.Expression]]] | None = None
        self._made: list[Hole] = []
        self._kind_of = kind_of

    def avoid(self, statement: exp.Expression) -> None:
        """Give cores names that nothing else has."""
        names = {identifier.name.casefold() for identifier in statement.find_all(exp.Identifier)}
        names |= {table.name.casefold() for table in self.policy.tables}
        while any(name.startswith(self._prefix) for name in names):
            self._prefix += "_"

    def in_words(self, refused: QueryRefused) -> QueryRefused:
        """A refusal in the words of the question, without the names that were given here."""
        texts = (refused.part, refused.why, refused.instead)
        said, why, instead = (in_words(text, self.cores, self._made) for text in texts)
        return QueryRefused(said, why=why, instead=instead)

    def require(self, shell: exp.Expression) -> None:
        """Refuse a shell that holds what none may hold, or that would make too many rows."""
        require_allowed(shell)
        known = ((core.name, core.plan.aggregate.groups) for core in self.cores)
        require_size(shell, {name: groups for name, groups in known if groups is not None})

    def require_single_rows(self) -> None:
        """Refuse a histogram below the shell: it is several rows of an answer, and a core has one for each group."""
        for core in self.cores:
            if any(isinstance(measure, Histogram) for _, measure in core.plan.request.measures):
                why = "It has a row for each bin, and something is computed from it, or beside it, once it is released."
                refuse(
                    "HISTOGRAM", why=why, instead="it in a plain question, or COUNT(*) FILTER (WHERE …) for each bin."
                )

    def query(
        self, node: exp.Expression, named: Mapping[str, Known], outer: Sources | None
    ) -> tuple[exp.Expression, Relation]:
        """Give a query as the shell holds it, and what it holds; as it is spelled if it holds rows of units."""
        if isinstance(node, exp.Subquery):
            inner, relation = self.query(node.this, named, outer)
            if isinstance(relation, Private):
                return node, relation
            copy = node.copy()
            copy.set("this", inner)
            return copy, relation
        if isinstance(node, exp.SetOperation):
            return self._both(node, named, outer)
        if isinstance(node, exp.Select):
            return self._select(node, named, outer)
        return refuse_part(node, "It is no question.", "SELECT … FROM a table.")

    def _both(
        self, node: exp.SetOperation, named: Mapping[str, Known], outer: Sources | None
    ) -> tuple[exp.Expression, Relation]:
        """UNION, EXCEPT and INTERSECT: of what was released, or of rows of units."""
        copy = node.copy()
        named, clause = self._named(copy, named, outer)
        left, first = self.query(node.this, named, outer)
        right, second = self.query(node.expression, named, outer)
        if isinstance(first, Private) and isinstance(second, Private):
            return node, first
        if isinstance(first, Private) or isinstance(second, Private):
            refuse_part(node, "One side holds rows of units, the other what may be shown.", "aggregates on both sides.")
        copy.set("with_", clause)
        copy.set("this", left)
        copy.set("expression", right)
        both = zip(first.columns.items(), second.columns.values(), strict=False)
        merged = {name: EXACT if one.exact and other.exact else _either(one, other) for (name, one), other in both}
        return copy, Free(merged, first.public and second.public)

    def _named(
        self, node: exp.Expression, outer_names: Mapping[str, Known], outer: Sources | None
    ) -> tuple[dict[str, Known], exp.With | None]:
        """Read WITH: what holds rows of units stays with the cores, the rest with the shell."""
        names = dict(outer_names)
        clause = node.args.get("with_")
        if clause is None:
            return names, None
        if clause.args.get("recursive"):
            refuse_part(clause, "What calls itself may have no end.", "WITH without RECURSIVE.")
        kept = []
        for common in clause.expressions:
            name, spelled = common.alias, common.copy()
            query, relation = self.query(common.this, names, outer)
            relation = renamed(relation, names_of_alias(common))
            copy = common.copy()
            copy.set("this", query)
            names[name] = Known(name, relation, spelled, copy if isinstance(relation, Free) else None)
            if isinstance(relation, Free):
                kept.append(copy)
        return names, exp.With(expressions=kept) if kept else None

    def _select(
        self, node: exp.Select, named: Mapping[str, Known], outer: Sources | None
    ) -> tuple[exp.Expression, Relation]:
        names, clause = self._named(node, named, outer)
        read: dict[str, Relation] = {}
        sources = []
        for place in _places(node):
            source, relation = self._source(place, names, outer)
            read[source_name(place)] = relation
            sources.append(source)
        if any(isinstance(relation, Private) for relation in read.values()):
            return self._of_units(node, names, clause, read, outer)
        copy = node.copy()
        for place, source in zip(list(_places(copy)), sources, strict=True):
            place.replace(source)
        public = all(relation.public for relation in read.values() if isinstance(relation, Free))
        tables = {name: relation.columns for name, relation in read.items() if isinstance(relation, Free)}
        copy.set("with_", clause)
        return self.finished(copy, Sources(tables, None, outer), names, public=public)

    def finished(
        self, select: exp.Select, sources: Sources, names: Mapping[str, Known], *, public: bool
    ) -> tuple[exp.Expression, Relation]:
        """Split the subqueries in the expressions of a free SELECT, and tell where its columns come from."""
        for subquery in list(_subqueries(select)):
            inner, relation = self.query(subquery, names, sources)
            if isinstance(relation, Private):
                refuse_part(
                    subquery, "It holds rows of units, which only an aggregate may read.", "an aggregate in it."
                )
            public = public and relation.public
            subquery.replace(inner)
        require_released_keys(select, sources, {core.name: core for core in self.cores})
        columns: dict[str, Lineage] = {}
        for place, item in enumerate(list(select.expressions)):
            node = item.this if isinstance(item, exp.Alias) else item
            if node.is_star:
                columns |= sources.star(node)
                continue
            name = output_name(item, place)
            if not isinstance(item, exp.Alias | exp.Column):
                item.replace(exp.alias_(item.copy(), name, quoted=True))
            while name in columns:
                name += "_"
            columns[name] = lineage_of(node, Sources(sources.tables, dict(columns), sources.outer), public=public)
        return select, Free(columns, public)

    def _source(
        self, node: exp.Expression, names: Mapping[str, Known], outer: Sources | None
    ) -> tuple[exp.Expression, Relation]:
        """Read one source of FROM."""
        if isinstance(node, exp.Subquery):
            inner, relation = self.query(node, names, outer)
            return inner, renamed(relation, names_of_alias(node))
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._table(node, names)
        require_allowed(node)
        return node, Free(dict.fromkeys(names_of_alias(node), EXACT), public=True)

    def _table(self, node: exp.Table, names: Mapping[str, Known]) -> tuple[exp.Expression, Relation]:
        schema = node.args.get("db")
        name = None if schema is not None else matching(node.this, names)
        if name is not None:
            return node.copy(), renamed(names[name].relation, names_of_alias(node))
        table = self.policy.table(table_named(self.policy, node))
        relation = table_relation(table)
        if isinstance(relation, Private):
            return node, renamed(relation, names_of_alias(node))
        self.tables[table.name] = table
        copy = node.copy()
        copy.set("this", exp.to_identifier(table.name, quoted=True))
        copy.set("db", None)
        copy.set("catalog", None)
        if not node.args.get("alias"):
            copy.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
        return copy, renamed(relation, names_of_alias(node))

    def _of_units(
        self,
        node: exp.Select,
        names: Mapping[str, Known],
        clause: exp.With | None,
        read: Mapping[str, Relation],
        outer: Sources | None,
    ) -> tuple[exp.Expression, Relation]:
        """A SELECT that reads rows of units: a core, or rows of units again."""
        grouping = Grouping(node, read)
        if not grouping.is_core:
            return node, Private(grouping.columns)
        chosen = node
        if not grouping.has_totals:  # a condition that holds after the groups would leave totals out
            chosen = chosen_afterwards(node, read, grouping.is_key, lambda query: self._is_released(query, names))
        if chosen is not node:
            left = {source_name(place) for place in _places(chosen)}
            chosen.meta.update(node.root().meta)
            node, read = chosen, {name: relation for name, relation in read.items() if name in left}
            grouping = Grouping(node, read)
        keyed, self._keyed = self._keyed, None  # it is about this SELECT, and none within it
        rest, pairs = correlated(node, read)
        if pairs:
            grouping = by_groups(rest, read, [inner for inner, _ in pairs])
        released = [name for name, relation in read.items() if isinstance(relation, Free) and not relation.public]
        if released:
            why = f"It joins rows of units with {released[0]}, which is released first."
            refuse_part(node.args["from_"], why, "an aggregate of each, joined with each other.")
        if grouping.sets or grouping.modes:
            if pairs:
                refuse_part(node, "It is about the row's own group.", "one aggregate, and WHERE.")
            return self._put_together(grouping, node, names, clause, outer)
        core = self._core(grouping, node, names)
        shell = grouping.shell(core.name)
        if pairs and keyed is not None:
            keyed += [(core, [outer for _, outer in pairs])]
            columns = [exp.column(exp.to_identifier(name, quoted=True), core.name) for name in grouping.keys]
            shell.set("expressions", [*columns, *shell.expressions])
        elif pairs:
            shell = _own_group(shell, core.name, grouping.keys, [outer for _, outer in pairs])
        shell.set("with_", clause)
        keys = {name: Lineage(exact=True, source=(core.name, name)) for name in grouping.keys}
        values = {name: self._of_core(core, name) for name in grouping.values}
        sources = Sources({core.name: keys | values}, None, outer)
        select, relation = self.finished(shell, sources, names, public=False)
        assert isinstance(relation, Free)  # noqa: S101 - a core is released
        known = {} if pairs else dict(zip(grouping.places(core), relation.columns, strict=False))
        exact = {column: Lineage(source=(core.name, output)) for output, column in known.items() if output}
        return select, Free({**relation.columns, **exact}, public=False)

    def _put_together(
        self,
        grouping: Grouping,
        node: exp.Select,
        names: Mapping[str, Known],
        clause: exp.With | None,
        outer: Sources | None,
    ) -> tuple[exp.Expression, Relation]:
        """A SELECT over several cores: sets of keys under each other, or beside them what is most frequent."""
        made = of_sets if grouping.sets else of_modes
        source, cores = made(grouping, lambda one: self._core(one, node, names))
        name = cores[0].name
        shell = grouping.shell(name)
        alias = exp.TableAlias(this=exp.to_identifier(name))
        shell.set("from_", exp.From(this=exp.Subquery(this=source, alias=alias)))
        shell.set("with_", clause)
        columns = dict.fromkeys((*grouping.keys, *grouping.summed), EXACT)
        if grouping.modes:
            columns |= {value: self._of_core(cores[0], value) for value in grouping.values}
            columns |= dict.fromkeys(grouping.modes, Lineage(reason=_MOST_FREQUENT))
        else:
            unknown = next((why for core in cores for value in core.columns if (why := _unknown(core.plan, value))), "")
            columns |= dict.fromkeys(grouping.values, Lineage(reason=unknown))
        return self.finished(shell, Sources({name: columns}, None, outer), names, public=False)

    @staticmethod
    def _of_core(core: Core, name: str) -> Lineage:
        return Lineage(source=(core.name, name), reason=_unknown(core.plan, name))

    def _is_released(self, query: exp.Expression, names: Mapping[str, Known]) -> bool:
        """Whether a query reads what cores release; its cores are planned here, and found again later."""
        try:
            _, relation = self.query(query, names, None)
        except QueryRefused:
            return False
        return isinstance(relation, Free) and not relation.public

    def _core(self, grouping: Grouping, node: exp.Select, names: Mapping[str, Known]) -> Core:
        """Plan the core of a SELECT; the same one twice is one core."""
        commons = [known.spelled.copy() for known in names.values() if _is_planned(known)]
        texts = []
        for statement in grouping.cores():
            if commons:
                statement.set("with_", exp.With(expressions=[common.copy() for common in commons]))
            statement.meta.update(node.root().meta)
            texts.append(statement)
        form = texts[0].sql(dialect=self.dialect)
        known = self._known.get(form)
        if known is not None:
            return known
        holes = self._holes(texts, names)
        text = texts[-1].sql(dialect=self.dialect) if holes or len(texts) > 1 else form
        if len(self.cores) >= _MOST_CORES:
            refuse_part(node, f"It has more than {_MOST_CORES} parts that are released.", "a smaller question.")
        name = f"{self._prefix}{len(self.cores) + 1}"
        statement, plan = self._planned(texts)
        again = (lambda values: self._plan(filled(statement, values))) if holes else None
        core = Core(name, plan, (*grouping.keys, *grouping.values), text, grouping.words, holes, again)
        self.cores.append(core)
        self._known[form] = core
        return core

    def _holes(self, statements: list[exp.Select], names: Mapping[str, Known]) -> tuple[Hole, ...]:
        """Put names of constants in the place of a core's subqueries; the same subquery twice is one constant."""
        holes: dict[str, tuple[Hole, list[exp.Expression]]] = {}
        for statement in statements:
            for node in memberships(statement):
                query = node.args["query"]
                if not self._is_released(query, names):
                    continue
                form = query.sql(dialect=self.dialect)
                if form not in holes:
                    holes[form] = self._membership(node, names), []
                node.replace(placed_among(holes[form][0], node))
            for subquery in scalar_subqueries(statement):
                form = subquery.sql(dialect=self.dialect)
                if form not in holes:
                    holes[form] = self._hole(subquery, names)
                subquery.replace(placed(*holes[form]))
        return tuple(hole for hole, _ in holes.values())

    def _hole(self, subquery: exp.Subquery, names: Mapping[str, Known]) -> tuple[Hole, list[exp.Expression]]:
        """Split a subquery that stands in a core: what it gives is released before."""
        keyed: list[tuple[Core, list[exp.Expression]]] = []
        self._keyed = keyed
        query, relation, tables = self._apart(subquery.this, names)
        if isinstance(relation, Private) or len(relation.columns) != 1 + len(keyed):
            return refuse_part(subquery, *SCALAR_SUBQUERY)
        keys = known_groups(keyed[0][0].plan, subquery) if keyed else ()
        hole = self._made_of(query, relation=relation, tables=tables, names=names, node=subquery, keys=keys)
        return hole, keyed[0][1] if keyed else []

    def _membership(self, node: exp.In, names: Mapping[str, Known]) -> Hole:
        """Split the subquery of `x IN (SELECT …)`: of each value that its key may have, whether it is chosen."""
        query, relation, tables = self._apart(node.args["query"], names)
        columns = list(relation.columns.items()) if isinstance(relation, Free) else []
        source = columns[0][1].source if len(columns) == 1 and columns[0][1].exact else None
        if source is None:
            instead = "key IN (SELECT key FROM … GROUP BY key …)"
            refuse_part(node, "What is looked for is not a key of groups that are released.", instead)
        core = next(core for core in self.cores if core.name == source[0])
        keys = tuple((value,) for value in known_keys(core.plan, source[1], node))
        inner = exp.Subquery(this=query.this if isinstance(query, exp.Subquery) else query)
        inner.set("alias", exp.TableAlias(this=exp.to_identifier("chosen")))
        column = exp.column(exp.to_identifier(columns[0][0], quoted=True))
        chosen = exp.Select(expressions=[column, exp.alias_(exp.true(), "among")], distinct=exp.Distinct())
        chosen.set("from_", exp.From(this=inner))
        return self._made_of(chosen, relation=relation, tables=tables, names=names, node=node, keys=keys)

    def _apart(
        self, query: exp.Expression, names: Mapping[str, Known]
    ) -> tuple[exp.Expression, Relation, dict[str, Table]]:
        """Split a query that is released before another one, with the public tables that it reads itself."""
        outer_tables, self.tables = self.tables, {}
        try:
            made, relation = self.query(query, names, None)
        finally:
            self._keyed, tables = None, self.tables
            self.tables = outer_tables
        return made, relation, tables

    def _made_of(  # noqa: PLR0913 - what a constant is made of
        self,
        query: exp.Expression,
        *,
        relation: Relation,
        tables: dict[str, Table],
        names: Mapping[str, Known],
        node: exp.Expression,
        keys: tuple[tuple[Value, ...], ...],
    ) -> Hole:
        """A constant, or one for each key, that this query gives."""
        if self._kind_of is None:
            return refuse_part(node, *SCALAR_SUBQUERY)
        commons = [known.made.copy() for known in names.values() if known.made is not None]
        if commons:
            own = query.args.get("with_")
            query.set("with_", exp.With(expressions=[*commons, *(own.expressions if own is not None else [])]))
        self.require(query)
        made = total(query)
        lineage = tuple(cast("Free", relation).columns.values())
        read = {table.name for table in made.find_all(exp.Table)}
        cores = tuple(core for core in self.cores if core.name in read)
        shell = Shell(made, cores, tuple(tables.values()), lineage, self.policy)
        hole = Hole(f"hole{len(self._made) + 1}", shell, self._kind_of(shell), part(node), keys)
        self._made.append(hole)
        return hole

    def _planned(self, statements: list[exp.Select]) -> tuple[exp.Select, Plan]:
        """Plan a core, with the arithmetic of its rows if that can be planned as well."""
        *more, plain = statements
        for statement in more:
            try:
                return statement, self._plan(statement)
            except QueryRefused:
                continue
        return plain, self._plan(plain)

    def _plan(self, statement: exp.Select) -> Plan:
        return planned(self.policy, statement, dialect=self.dialect, bounding=self.bounding, verified=self.verified)


_MOST_FREQUENT = "what is most frequent jumps, however small the noise."
_PRIVATE_NOISE = "the scale of its noise is private, so it is not known what follows from it."


def _unknown(plan: Plan, name: str) -> str:
    """Why nothing is simulated from a column of a core: a point that is chosen by ranks misses by unknown values."""
    output = dict(plan.request.outputs)[name]
    keys = dict(plan.request.keys)
    places = plan.statistics_of(output.name) if isinstance(output, Column) and output.name not in keys else ()
    return _PRIVATE_NOISE if any(isinstance(plan.statistics[place], RankedCells) for place in places) else ""


def _either(one: Lineage, other: Lineage) -> Lineage:
    reason = one.reason or other.reason
    return Lineage(reason=reason) if reason else NOISY


def _own_group(shell: exp.Select, core: str, keys: tuple[str, ...], outer: list[exp.Expression]) -> exp.Select:
    """Keep the row's own group."""
    sides = (exp.column(exp.to_identifier(name, quoted=True), core) for name in keys)
    same = (exp.EQ(this=side, expression=other.copy()) for side, other in zip(sides, outer, strict=True))
    shell.set("where", exp.Where(this=exp.and_(*same, copy=False)))
    return shell


def _is_planned(known: Known) -> bool:
    """Whether a core may read a named query: one of rows of units or public tables."""
    return isinstance(known.relation, Private) or known.relation.public


def _places(select: exp.Select) -> Iterator[exp.Expression]:
    """The sources of FROM and JOIN."""
    source = select.args.get("from_")
    if source is not None:
        yield source.this
    for join in select.args.get("joins") or []:
        yield join.this


def _subqueries(select: exp.Select) -> Iterator[exp.Expression]:
    """The outermost queries that stand in expressions."""
    apart = {id(part) for part in (select.args.get("from_"), select.args.get("with_")) if part is not None}

    def walk(node: exp.Expression) -> Iterator[exp.Expression]:
        for child in node.iter_expressions():
            if id(child) in apart:
                continue
            if isinstance(child, exp.Join):
                for word in ("on",):
                    if child.args.get(word) is not None:
                        yield from walk(child.args[word])
            elif isinstance(child, exp.Query):
                yield child
            else:
                yield from walk(child)

    yield from walk(select)

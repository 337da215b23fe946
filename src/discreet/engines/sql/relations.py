"""From the nodes of plans to SELECTs: one small rule for each class.

Columns are called c0, c1, … by their place, the hidden unit u: no name of a policy or a question reaches the SQL,
except those of stored tables and their columns, which are quoted.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from discreet.engines.sql.dialect import TypedSQL, Unread
from discreet.engines.sql.expressions import aligned
from discreet.engines.sql.ranks import lead, rank
from discreet.engines.sql.reading import conditions, read_cell, unread_cell
from discreet.engines.sql.rows import Rows, count_rows, finished, unit_statistic_sql
from discreet.engines.sql.words import (
    SQL,
    alias,
    all_of,
    binary,
    call,
    case,
    cast,
    column,
    is_null,
    negated,
    not_null,
    number,
    over,
    select,
)
from discreet.plans.expressions import Column
from discreet.plans.expressions.expression import Facts
from discreet.plans.nodes import (
    BoundGroups,
    BoundRows,
    Children,
    Filter,
    Join,
    JoinKind,
    Keep,
    Node,
    Numbered,
    PerUnit,
    Project,
    Scan,
    SemiJoin,
    UnionAll,
)
from discreet.plans.refusals import refuse
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from discreet.engines.sql.dialect import Dialect
    from discreet.plans.expressions.expression import Schema
    from discreet.plans.nodes import Node
    from discreet.tables import Policy, Table

__all__ = ["UNIT", "Catalog", "Emitter", "Raw", "Relation", "described", "kept_mark", "kept_name", "limits", "visible"]

UNIT = "u"


@dataclass(frozen=True, slots=True)
class Raw:
    """A stored table: where it is read from, and its columns with their types as the engine calls them."""

    source: SQL
    columns: Mapping[str, str]


class Catalog(Protocol):
    """Where an engine's tables are."""

    def raw(self, table: Table) -> Raw:
        """Give a stored table."""

    def kept(self, table: Table, limit: int) -> SQL | None:
        """Give the stored result of limiting a table's rows, if there is one: c0, c1, …."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation as a SELECT of c0, c1, … and, where the unit has a name, u.

    Beside c1 may stand d1, the stored double of the same row that c1 was read from. Nodes that keep rows as they are
    carry it along. Where c1 must not be NULL, it may be `pending` that rows with NaN or NULL there are dropped: until
    then the schema says that c1 may be NULL. `own` is the column that holds the unit, if it is one of c0, c1, ….

    The schema claims less than the node's: it holds for rows that a condition drops too. Engines may compute a
    column first and drop rows then, and a product that fits in the rows that are kept must not fail in the others.
    """

    query: SQL
    schema: Schema
    unit: Facts | None
    unread: Mapping[str, Unread] = field(default_factory=dict)
    pending: frozenset[str] = frozenset()
    own: str | None = None

    @property
    def names(self) -> dict[str, str]:
        """The SQL names of the columns."""
        return {name: f"c{place}" for place, name in enumerate(self.schema)}

    @property
    def columns(self) -> list[str]:
        """All SQL names, the unit's last."""
        return [*self.names.values(), *([UNIT] if self.unit is not None else [])]

    @property
    def carried(self) -> list[str]:
        """All SQL names, and those of stored doubles."""
        return [*self.columns, *(cell.sql.name for cell in self.unread.values())]


def _unsettled(schema: Schema, pending: Collection[str]) -> Schema:
    """What is known of columns while rows with NULL are still there."""
    return {name: replace(facts, nullable=True) if name in pending else facts for name, facts in schema.items()}


def _is_smaller(left: Node, right: Node) -> bool:
    """Guess by public facts whether one side of a join has fewer rows: a public one, or one with fewer rows of a unit.

    Guessed wrong, the join takes more time, for every database alike.
    """
    if left.private != right.private:
        return right.private
    return left.rows is not None and (right.rows is None or left.rows < right.rows)


def _of_all_rows(schema: Schema, known: Iterable[Facts]) -> Schema:
    """What is known of columns while rows that a condition drops are still there: `GREATEST(x, y)` of them may be x."""
    return {
        name: replace(facts, bounds=bounded.bounds, nullable=facts.nullable or bounded.nullable)
        for (name, facts), bounded in zip(schema.items(), known, strict=True)
    }


_OURS, _THEIRS = "ours", "theirs"
"""Marks of rows that the left side of a join has, and the right one."""


class Emitter:
    """Write relations in a dialect, reading from a catalog, with ranks under a key."""

    def __init__(self, dialect: Dialect, catalog: Catalog, key: bytes) -> None:
        self.dialect = dialect
        self._catalog = catalog
        self._key = key
        self._scans: dict[str, tuple[Table, Raw, Relation]] = {}
        self._rules: dict[type[Node], Callable[..., Relation]] = {
            Scan: self._scan,
            Filter: self._filter,
            Project: self._project,
            Join: self._join,
            SemiJoin: self._semi_join,
            UnionAll: self._union,
            PerUnit: self._per_unit,
            BoundRows: self._bound_rows,
            BoundGroups: self._bound_groups,
            Numbered: self._numbered,
            Children: self._children,
        }

    def raw(self, table: Table) -> Raw:
        """Give a stored table."""
        return self._catalog.raw(table)

    def relation(self, node: Node) -> Relation:
        """Write a relation."""
        return self.settled(self.late(node))

    def late(self, node: Node) -> Relation:
        """Write a relation in which it may be pending to drop some rows; a sum that passes over NULL need not wait."""
        return self._rules[type(node)](node)

    def settled(self, relation: Relation) -> Relation:
        """Drop the rows that are to be dropped."""
        if not relation.pending:
            return relation
        present = [negated(self.dialect.is_nan(relation.unread[name].sql)) for name in sorted(relation.pending)]
        query = select([column(name) for name in relation.carried], relation.query, where=all_of(present))
        known = {name: replace(relation.schema[name], nullable=False) for name in relation.pending}
        return replace(relation, query=query, schema={**relation.schema, **known}, pending=frozenset())

    def rows(self, relation: Relation) -> Rows:
        """Start to compute with the rows of a relation."""
        return Rows(relation.query, relation.schema, relation.names, self.dialect, relation.unread)

    def _scan(self, node: Scan) -> Relation:
        """Write a table once: all questions read it alike."""
        table, raw = node.table, self.raw(node.table)
        scanned = self._scans.get(table.name)
        if scanned is None or scanned[0] is not table or scanned[1] is not raw:
            scanned = self._scans[table.name] = table, raw, self._scanned(node, raw)
        return scanned[2]

    def _scanned(self, node: Scan, raw: Raw) -> Relation:
        table = node.table
        given = [alias(column(declared.name), f"x{place}") for place, declared in enumerate(table.columns)]
        rows = Rows(select(given, raw.source), {}, {}, self.dialect)
        cells = {
            declared.name: rows.bind(
                read_cell(
                    declared, column(f"x{place}"), raw.columns[declared.name], rows, unit=declared.name == table.unit
                )
            )
            for place, declared in enumerate(table.columns)
        }
        columns = [alias(cell, f"c{place}") for place, cell in enumerate(cells.values())]
        if table.unit is not None:
            columns.append(alias(cells[table.unit], UNIT))
        unread = {}
        for place, declared in enumerate(table.columns):
            lost = unread_cell(declared, column(f"x{place}"), raw.columns[declared.name], rows)
            if lost is not None:
                columns.append(alias(lost.sql, f"d{place}"))
                unread[declared.name] = replace(lost, sql=column(f"d{place}"))
        strict = {declared.name for declared in table.columns if not declared.nullable and declared.name != table.unit}
        pending = strict & frozenset(unread)
        needed = conditions(table, {name: cell for name, cell in cells.items() if name not in pending})
        query = select(columns, rows.computed(), where=all_of(needed) if needed else None)
        unit = None if table.unit is None else node.schema[table.unit]
        schema = _unsettled(node.schema, pending)
        own = None if table.unit is None else f"c{[*schema].index(table.unit)}"
        return Relation(query, schema, unit, unread, frozenset(pending), own)

    def _filter(self, node: Filter) -> Relation:
        child = self.late(node.child)
        rows = self.rows(child)
        condition = rows.cell(node.predicate).sql
        query = select([column(name) for name in child.carried], rows.computed(), where=condition)
        schema = _of_all_rows(node.schema, child.schema.values())
        return replace(child, query=query, schema=_unsettled(schema, child.pending))

    def _project(self, node: Project) -> Relation:
        child = self.late(node.child)
        if not child.pending <= {
            expression_of.name for _, expression_of in node.columns if isinstance(expression_of, Column)
        }:
            child = self.settled(child)  # a column that is left out can no longer tell which rows to drop
        rows = self.rows(child)
        cells = [rows.cell(expression) for _, expression in node.columns]
        columns = [alias(cell.sql, f"c{place}") for place, cell in enumerate(cells)]
        unread = {}
        for place, (name, expression) in enumerate(node.columns):
            lost = rows.unread(expression)
            if lost is not None:
                columns.append(alias(lost.sql, f"d{place}"))
                unread[name] = replace(lost, sql=column(f"d{place}"))
        given = {name: expression_of.name for name, expression_of in node.columns if isinstance(expression_of, Column)}
        pending = frozenset(name for name, of in given.items() if of in child.pending)
        schema = _unsettled(_of_all_rows(node.schema, (cell.facts for cell in cells)), pending)
        return replace(self._carrying(columns, rows, schema, child.unit), unread=unread, pending=pending)

    @staticmethod
    def _carrying(columns: list[SQL], rows: Rows, schema: Schema, unit: Facts | None) -> Relation:
        """Select columns and let the unit travel along."""
        if unit is not None:
            columns = [*columns, column(UNIT)]
        return Relation(select(columns or [alias(number(1), "one")], rows.computed()), schema, unit)

    def _equalities(self, node: Join | SemiJoin, left: Relation, right: Relation, of: str | None) -> list[list[SQL]]:
        """Write what must be equal on both sides: columns of the left one, called a, and of the right one."""
        rows = self.rows(left)
        pairs = []
        for ours, theirs in node.on:
            one = TypedSQL(column(left.names[ours], "a"), left.schema[ours])
            other = TypedSQL(column(right.names[theirs], of), right.schema[theirs])
            pairs.append(aligned([one, other], rows))
        return pairs

    def _alone(self, relation: Relation, columns: Collection[str]) -> Relation:
        """Leave out rows that are alike in some columns.

        Rows of a public table can be repeated after they were checked: each private row must meet one at most.
        """
        names = relation.names
        cells = [
            alias(
                column(name) if of in columns else self.dialect.smallest(column(name), relation.schema[of].kind), name
            )
            for of, name in names.items()
        ]
        keys = [column(names[shown]) for shown in columns]
        query = select([*cells, alias(count_rows(), "n")], relation.query, group=keys)
        once = binary("=", column("n"), number(1))
        return Relation(select([column(name) for name in names.values()], query, where=once), relation.schema, None)

    def _join(self, node: Join) -> Relation:
        left, right = self.relation(node.left), self.relation(node.right)
        condition = all_of([binary("=", *pair) for pair in self._equalities(node, left, right, "b")])
        if node.left.private and not node.right.private:
            right = self._alone(right, dict.fromkeys(theirs for _, theirs in node.on))
        elif node.right.private and not node.left.private:
            left = self._alone(left, dict.fromkeys(ours for ours, _ in node.on))
        width = len(left.schema)
        columns = [alias(column(f"c{place}", "a"), f"c{place}") for place in range(width)]
        columns += [alias(column(f"c{place}", "b"), f"c{place + width}") for place in range(len(right.schema))]
        unit = left.unit if node.left.private else right.unit
        if unit is not None:
            columns.append(alias(column(UNIT, "a" if node.left.private else "b"), UNIT))
        pairs = self._all_rows(left.query, right.query, columns, condition, swapped=_is_smaller(node.left, node.right))
        wanted = [_OURS] if node.how is JoinKind.LEFT else [_OURS, _THEIRS]
        query = select(
            [column(carried.alias) for carried in columns],
            pairs,
            where=all_of([not_null(column(carried)) for carried in wanted]),
        )
        sides = (*left.schema.values(), *right.schema.values())
        return Relation(query, _of_all_rows(node.schema, sides), unit)

    def _all_rows(
        self, left: SQL, right: SQL, columns: list[SQL], condition: SQL, *, swapped: bool = False
    ) -> exp.Select:
        """Join two relations, called a and b, with all rows of both, marked by where they come from.

        Of any other join engines skip a side where the other one has no rows: a row of one person would decide whether
        the rows of everybody are computed, and the time would tell. What is not wanted is dropped above a fence. DuckDB
        looks up the rows of the first in a table that it makes of the second, whatever it knows of either.
        """
        named = ((left, "a"), (right, "b"))
        sides = [(select([exp.Star(), alias(number(1), "there")], side), name) for side, name in named]
        (first, name), (second, other) = reversed(sides) if swapped else sides
        marks = [alias(column("there", of), name) for of, name in (("a", _OURS), ("b", _THEIRS))]
        query = select([*columns, *marks], first, name=name)
        partner = exp.Subquery(this=second, alias=exp.TableAlias(this=exp.to_identifier(other)))
        query.set("joins", [exp.Join(this=partner, on=condition, side="FULL")])
        return self.dialect.fenced(query)

    def _semi_join(self, node: SemiJoin) -> Relation:
        """Join with the different values of the right side, and keep the left rows that met one, or none."""
        left, right = self.relation(node.left), self.relation(node.right)
        pairs = self._equalities(node, left, right, None)
        keys = [alias(theirs, f"k{place}") for place, (_, theirs) in enumerate(pairs)]
        shown = [column(key.alias) for key in keys]
        values = select(shown, select(keys, right.query), group=shown)
        equal = [binary("=", ours, column(key.alias, "b")) for (ours, _), key in zip(pairs, keys, strict=True)]
        columns = [alias(column(name, "a"), name) for name in left.carried]
        met = (is_null if node.keep is Keep.UNMATCHED else not_null)(column(_THEIRS))
        query = select(
            [column(name) for name in left.carried],
            self._all_rows(left.query, values, columns, all_of(equal)),
            where=all_of([not_null(column(_OURS)), met]),
        )
        return Relation(query, _of_all_rows(node.schema, left.schema.values()), left.unit, left.unread)

    def _union(self, node: UnionAll) -> Relation:
        sides = [self.relation(node.left), self.relation(node.right)]
        queries = [select([column(name) for name in side.columns], side.query) for side in sides]
        union = exp.Union(this=queries[0], expression=queries[1], distinct=False)
        pairs = zip(*(side.schema.values() for side in sides), strict=True)
        schema = _of_all_rows(node.schema, (ours.merged(theirs) for ours, theirs in pairs))
        return Relation(select([exp.Star()], union), schema, sides[0].unit)

    def _with_unit(self, node: Node, what: str) -> Relation:
        """Write a relation whose unit has a name; a row that is its own unit gets a number, once."""
        relation = self.relation(node)
        if relation.unit is not None:
            return relation
        if node.rows != 1:
            refuse(
                what,
                why="Each row is a unit of its own here, and rows that were read twice cannot be told to be the same.",
                instead="the table once, or a unit column in the policy.",
            )
        columns = [column(name) for name in relation.columns]
        query = select([*columns, alias(self.dialect.row_number(), UNIT)], relation.query)
        return Relation(query, relation.schema, Facts(Kind.INTEGER))

    def _unit(self, relation: Relation) -> TypedSQL:
        assert relation.unit is not None  # noqa: S101 - by `_with_unit`
        return TypedSQL(column(UNIT), relation.unit)

    def _per_unit(self, node: PerUnit) -> Relation:
        child = self._with_unit(node.child, "a result per unit")
        rows = self.rows(child)
        keys = [rows.cell(Column(name)).sql for name in node.keys]
        parts = [unit_statistic_sql(statistic, node.child.schema, rows) for _, statistic in node.statistics]
        columns = [alias(key, f"c{place}") for place, key in enumerate(keys)]
        names = [[f"a{place}_{part}" for part in range(len(sums))] for place, sums in enumerate(parts)]
        for some, sums in zip(names, parts, strict=True):
            columns += [alias(part, name) for name, part in zip(some, sums, strict=True)]
        unit = column(UNIT)
        query = select([*columns, unit], rows.computed(), group=[unit, *keys])
        above = Rows(query, {}, {}, self.dialect)
        results = [column(f"c{place}") for place in range(len(keys))]
        for (name, statistic), some in zip(node.statistics, names, strict=True):
            shown = [column(total) for total in some]
            results.append(finished(statistic, shown, node.child.schema, node.schema[name], above))
        columns = [alias(result, f"c{place}") for place, result in enumerate(results)]
        # A condition on the keys above may be tried on rows that one below drops.
        known = (child.schema[name] if name in node.keys else facts for name, facts in node.schema.items())
        return self._carrying(columns, above, _of_all_rows(node.schema, known), child.unit)

    def _bound_rows(self, node: BoundRows) -> Relation:
        below = node.child.rows
        if below is not None and below <= node.limit:  # nothing to drop
            return self.relation(node.child)
        if isinstance(node.child, Scan):
            kept = self._catalog.kept(node.child.table, node.limit)
            if kept is not None:
                table = node.child.table
                unit = None if table.unit is None else node.schema[table.unit]
                names = Relation(kept, node.schema, None).names
                columns = [column(name) for name in names.values()]
                if table.unit is not None:
                    columns.append(alias(column(names[table.unit]), UNIT))
                return Relation(select(columns, kept), node.schema, unit)
        return self.limited(self._with_unit(node.child, "a limit on rows"), node.limit)

    def limited(self, child: Relation, limit: int) -> Relation:
        """Rank the rows of each unit and keep the first; the unit is carried through the sort once, not twice."""
        carried = [column(name) for name in child.columns if name != child.own]
        place, wanted = self.dialect.among_first(column(UNIT), column("r"), limit)
        numbered = select([*carried, alias(place, "m")], self.ranked(child))
        columns = [alias(column(UNIT), name) if name == child.own else column(name) for name in child.columns]
        return Relation(select(columns, numbered, where=wanted), child.schema, child.unit)

    def ranked(self, child: Relation) -> exp.Select:
        """Write the rows with their ranks, as r."""
        return self._hashed(child, rank)

    def coded(self, node: Node, *, named: bool = False) -> tuple[Relation, exp.Select]:
        """Write rows with their units numbered from 1 on, as n: by a keyed hash, so that the numbers tell nothing.

        With `named` the unit itself comes last, for a method that counts its rows over several readings.
        Two units with the same hash, by chance, are told apart by themselves. Where each row is a unit, its hash is
        that of its cells: rows that are alike have any of their numbers.
        """
        child = self.relation(node)
        rows = self.rows(child)
        if child.unit is not None:
            place = over(call("dense_rank"), [], [column("r"), column(UNIT)])
            hashed = rank("unit", self._unit(child), [], self._key, rows)
        else:
            child = self._with_unit(node, "rows") if node.rows != 1 else child
            first, *others = (rows.cell(Column(name)) for name in child.schema)
            place = over(call("row_number"), [], [column("r")])
            hashed = rank("unit", first, others, self._key, rows)
        ranked = select([*(column(name) for name in child.columns), alias(hashed, "r")], rows.computed())
        own = [column(UNIT)] if named else []
        return child, select([*(column(name) for name in child.names.values()), alias(place, "n"), *own], ranked)

    def led(self, child: Relation) -> exp.Select:
        """Write the rows with the leads of their ranks, as r."""
        return self._hashed(child, lead)

    def _hashed(self, child: Relation, by: Callable[..., SQL]) -> exp.Select:
        rows = self.rows(child)
        ranked = alias(by("row", self._unit(child), self._ranked_cells(child, rows), self._key, rows), "r")
        return select([*(column(name) for name in child.columns), ranked], rows.computed())

    def _ranked_cells(self, child: Relation, rows: Rows) -> list[TypedSQL]:
        """Give the cells that a row's rank depends on; the unit's column by the unit's name, to be weighed once."""
        unit = self._unit(child)
        names = child.names
        return [unit if names[name] == child.own else rows.cell(Column(name)) for name in child.schema]

    def _children(self, node: Children) -> Relation:
        """Number the rows of each key by all of their cells, keep the first, and join them with who has the key."""
        left, right = self.relation(node.left), self.relation(node.right)
        key, reference = (
            TypedSQL(column(left.names[node.parent_key], "a"), left.schema[node.parent_key]),
            right.names[node.reference],
        )
        order: list[SQL] = []
        for name in right.names.values():
            order += [case((is_null(column(name)), number(1)), default=number(0)), column(name)]
        names = [column(name) for name in right.names.values()]
        numbered = select([*names, alias(over(call("row_number"), [column(reference)], order), "m")], right.query)
        first = select(names, numbered, where=binary("<=", column("m"), number(node.limit)))
        pair = aligned([key, TypedSQL(column(reference, "b"), right.schema[node.reference])], self.rows(left))
        columns = [alias(column(name, "b"), name) for name in right.names.values()]
        own = next(name for name, facts in node.left.schema.items() if facts.unit)
        columns.append(alias(column(left.names[own], "a"), f"c{len(right.names)}"))
        columns.append(alias(column(UNIT, "a"), UNIT))
        pairs = self._all_rows(left.query, first, columns, binary("=", *pair))
        met = all_of([not_null(column(_OURS)), not_null(column(_THEIRS))])
        query = select([column(carried.alias) for carried in columns], pairs, where=met)
        known = (*right.schema.values(), left.schema[own])
        return Relation(query, _of_all_rows(node.schema, known), left.unit)

    def _numbered(self, node: Numbered) -> Relation:
        """Number each unit's rows by the columns that are named and then by all cells: NULL last, as 1 behind 0."""
        child = self._with_unit(node.child, "ROW_NUMBER")
        names = child.names
        given = [(names[name], falling) for name, falling in node.order]
        order: list[SQL] = []
        for name, falling in (*given, *((name, False) for name in names.values())):
            missing = case((is_null(column(name)), number(1)), default=number(0))
            order += [missing, exp.Ordered(this=column(name), desc=True) if falling else column(name)]
        columns = [column(name) for name in child.columns]
        place = over(call("row_number"), [column(UNIT), *(column(names[name]) for name in node.keys)], order)
        numbered = alias(cast(place, self.dialect.types[Kind.INTEGER]), f"c{len(names)}")
        schema = {**child.schema, node.name: replace(node.schema[node.name], bounds=Bounds(1, None))}
        return Relation(select([*columns, numbered], child.query), schema, child.unit)

    def _bound_groups(self, node: BoundGroups) -> Relation:
        if node.child.rows == 1:
            return self.relation(node.child)
        child = self._with_unit(node.child, "a limit on groups")
        rows = self.rows(child)
        keys, cells = [rows.cell(Column(name)) for name in node.keys], self._ranked_cells(child, rows)
        key_rank = alias(rank("key", self._unit(child), keys, self._key, rows), "k")
        row_rank = alias(rank("row", self._unit(child), cells, self._key, rows), "r")
        columns = [column(name) for name in child.columns]
        ranked = select([*columns, key_rank, row_rank], rows.computed())
        unit = column(UNIT)
        # The keys decide between ranks that are equal by chance: two groups must not pass for one.
        order = [column("k"), *(key.sql for key in keys)]
        places = [alias(over(call("dense_rank"), [unit], order), "n")]
        wanted = [binary("<=", column("n"), number(node.groups))]
        if node.limit is not None:
            places.append(alias(over(call("row_number"), [unit, column("k")], [column("r")]), "m"))
            wanted.append(binary("<=", column("m"), number(node.limit)))
        numbered = select([*columns, *places], ranked)
        return Relation(select(columns, numbered, where=all_of(wanted)), child.schema, child.unit)


def limits(node: Node) -> Iterator[tuple[Scan, int]]:
    """Give each limit on the rows of a stored table whose unit has a name, where there may be something to drop."""
    for part in node.walk():
        if isinstance(part, BoundRows) and isinstance(part.child, Scan) and part.child.table.unit is not None:
            below = part.child.rows
            if below is None or below > part.limit:
                yield part.child, part.limit


def visible(relation: Relation) -> SQL:
    """Leave the hidden unit out: it is one of the columns."""
    return select([column(name) for name in relation.names.values()], relation.query)


def described(policy: Policy) -> str:
    """What stored rows belong to: a dataset, its version and a policy."""
    return f"{policy.dataset}\n{policy.version}\n{policy.hash}"


def kept_name(policy: Policy, table: str, limit: int) -> str:
    """Name the stored rows of a table under a limit."""
    return f"kept_{[known.name for known in policy.tables].index(table)}_{limit}"


def kept_mark(policy: Policy, key: bytes, place: str = "") -> str:
    """Give an end for names of stored rows, from all that decides which rows they are, to tell those of engines apart.

    An engine with an earlier policy may still have the same store open. Under a common name it would read the rows of
    the later one, whose columns stand elsewhere: another column would pass for the unit, which the limit is not for.
    """
    return hashlib.sha256(key + f"{described(policy)}\n{place}".encode()).hexdigest()[:16]

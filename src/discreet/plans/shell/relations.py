"""What a part of a statement holds: rows of units, or what was released and is public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from discreet.plans.shell.lineage import EXACT, Lineage
from discreet.plans.sql.grouped import is_aggregate
from discreet.plans.sql.reading import matching

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from discreet.tables import Table

__all__ = [
    "Free",
    "Known",
    "Private",
    "Relation",
    "aggregates_of",
    "found",
    "names_of_alias",
    "renamed",
    "source_name",
    "table_relation",
    "windowed_by",
]


@dataclass(frozen=True)
class Private:
    """Rows of units; for each column, whether it is the unit.

    >>> Private({"patient_id": True, "cost": False}).units
    ('patient_id',)
    """

    columns: Mapping[str, bool]

    @property
    def units(self) -> tuple[str, ...]:
        """The columns that name the unit."""
        return tuple(name for name, is_unit in self.columns.items() if is_unit)


@dataclass(frozen=True)
class Free:
    """What the shell may hold: made of cores and public tables, or (`public`) of public tables alone.

    >>> Free({"ward": EXACT}, public=True).columns["ward"].exact
    True
    """

    columns: Mapping[str, Lineage]
    public: bool


Relation: TypeAlias = Private | Free


@dataclass(frozen=True)
class Known:
    """A query that WITH names: what it holds, and how the statement spells it.

    >>> from discreet.plans.sql.reading import read_statement
    >>> Known("v", Private({}), read_statement("SELECT 1")).name
    'v'
    """

    name: str
    relation: Relation
    spelled: exp.Expression
    made: exp.Expression | None = None
    """As the shell holds it."""


def table_relation(table: Table) -> Relation:
    """What a table of the policy holds: of a public one, all declared columns; of a private one, nothing for the shell.

    >>> from discreet.tables import Column, Table
    >>> table_relation(Table("wards", public=True, columns=[Column("beds", lower=0, upper=9)])).public
    True
    """
    if table.public:
        return Free({column.name: EXACT for column in table.columns}, public=True)
    names = dict.fromkeys((column.name for column in table.columns), False)
    return Private(names if table.unit is None else {table.unit: True} | names | {table.unit: True})


def renamed(relation: Relation, names: list[str]) -> Relation:
    """The same under the names of an alias with columns: t(a, b).

    >>> list(renamed(Free({"x": EXACT, "y": EXACT}, public=True), ["a"]).columns)
    ['a', 'y']
    """
    if not names:
        return relation
    kept = [*names, *list(relation.columns)[len(names) :]]
    values = [
        *relation.columns.values(),
        *([EXACT] * len(names) if isinstance(relation, Free) else [False] * len(names)),
    ]
    columns = dict(zip(kept, values, strict=False))
    return Free(columns, relation.public) if isinstance(relation, Free) else Private(columns)


def source_name(node: exp.Expression) -> str:
    """The name under which a source in FROM is known: its alias, else its own.

    >>> from discreet.plans.sql.reading import read_statement
    >>> source_name(read_statement("SELECT 1 FROM visits AS v").find(exp.Table))
    'v'
    """
    return str(node.alias_or_name)


def aggregates_of(node: exp.Expression) -> Iterator[exp.Expression]:
    """The outermost aggregates in an expression that group rows: no windows, and none of subqueries.

    >>> from discreet.plans.sql.reading import read_expression
    >>> [found.sql() for found in aggregates_of(read_expression("SUM(COUNT(*)) OVER () + 2 * MAX(x)"))]
    ['COUNT(*)', 'MAX(x)']
    """
    windowed = {id(function) for window in node.find_all(exp.Window) for function in windowed_by(window)}

    def walk(part: exp.Expression) -> Iterator[exp.Expression]:
        if isinstance(part, exp.Query):
            return
        if is_aggregate(part) and id(part) not in windowed:
            yield part
            return
        for child in part.iter_expressions():
            yield from walk(child)

    yield from walk(node)


def windowed_by(window: exp.Window) -> Iterator[exp.Expression]:
    """The function of a window, and what is wrapped around it.

    >>> from discreet.plans.sql.reading import read_expression
    >>> [type(part).__name__ for part in windowed_by(read_expression("SUM(x) FILTER (WHERE x > 1) OVER ()"))]
    ['Filter', 'Sum']
    """
    part = window.this
    while isinstance(part, exp.Expression):
        yield part
        part = (
            part.this if isinstance(part, exp.IgnoreNulls | exp.RespectNulls | exp.Filter | exp.WithinGroup) else None
        )


def names_of_alias(node: exp.Expression) -> list[str]:
    """The columns that an alias names.

    >>> from discreet.plans.sql.reading import read_statement
    >>> names_of_alias(read_statement("SELECT 1 FROM visits AS v(a, b)").find(exp.Table))
    ['a', 'b']
    """
    alias = node.args.get("alias")
    return [part.name for part in alias.args.get("columns") or []] if isinstance(alias, exp.TableAlias) else []


def found(identifier: exp.Expression, relation: Relation) -> str | None:
    """The column of a relation that a name means.

    >>> found(exp.to_identifier("WARD"), Private({"ward": False}))
    'ward'
    """
    return matching(identifier, relation.columns)

"""What every node of a plan states: its columns, whose data it holds, and how much of it one unit can move.

The simplest nodes read a table and compute columns.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

from discreet.errors import ParameterError
from discreet.plans.expressions import Column, Expression
from discreet.plans.expressions.expression import Facts, require_small
from discreet.plans.limits import MOST_STEPS, MOST_STEPS_PER_ROW
from discreet.plans.refusals import refuse
from discreet.tables.kinds import LONGEST_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.tables import Column as Declared
    from discreet.tables import Policy, Table

__all__ = [
    "Node",
    "Part",
    "Project",
    "Scan",
    "Spread",
    "least",
    "product",
    "read_of",
    "require_little_work",
    "require_own_tables",
    "tables_of",
    "verified_of",
]

_CHILDREN = ("child", "left", "right")

_UNKNOWN_ROWS = MOST_STEPS // MOST_STEPS_PER_ROW
"""Where no limit on rows is public, each row may take what it may take in a table of many rows."""

_OF_ROW = 20
"""To hand a row on takes engines as long as to look at some tens of characters."""


@dataclass(frozen=True, slots=True)
class Spread:
    """For some columns: how many different values one unit has there, and how many rows for each of them.

    None is "not bounded". The two hold together with the unit's number of rows.

    >>> Spread(frozenset({"ward"}), groups=2, rows=5).groups
    2
    """

    columns: frozenset[str]
    groups: int | None
    rows: int | None


class Node(ABC):
    """A relation: a bag of rows, each belonging to one unit, or a public bag of rows that belong to nobody.

    Stability, the claim that everything else rests on: the rows of a unit in a relation are a function of that unit's
    rows in the tables alone. So removing a unit from all tables removes from the relation exactly the unit's rows, of
    which there are at most `rows`, and changes no other row. Each node says why it keeps this.

    The unit travels along unseen: an engine carries it as a hidden column next to those of `schema`.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Table
    >>> visits = BoundRows(Scan(Table("visits", unit="id")), 20)
    >>> visits.private, visits.rows, [type(node).__name__ for node in visits.walk()]
    (True, 20, ['BoundRows', 'Scan'])
    """

    def __post_init__(self) -> None:
        """Refuse what is too large, before anything is derived: what is shared counts as often as it is used."""
        require_small(self.parts, self.depth)

    @cached_property
    def parts(self) -> int:
        """How many parts the relation has, written out as a tree: nodes, and what their expressions are made of."""
        own = 1 + sum(expression.parts for expression in self.expressions)
        return own + sum(child.parts for child in self.children)

    @cached_property
    def depth(self) -> int:
        """How many nodes stand upon each other."""
        return 1 + max((child.depth for child in self.children), default=0)

    @property
    def expressions(self) -> Sequence[Expression]:
        """What the node itself computes of each row."""
        return ()

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns of the first child by whose values rows are brought together."""
        return ()

    @cached_property
    def children(self) -> tuple[Node, ...]:
        """The relations that this one is computed from."""
        return tuple(getattr(self, name) for name in _CHILDREN if hasattr(self, name))

    def with_children(self, children: tuple[Node, ...]) -> Self:
        """The same node on other children, which checks and derives everything anew."""
        names = [name for name in _CHILDREN if hasattr(self, name)]
        return dataclasses.replace(self, **dict(zip(names, children, strict=True)))  # type: ignore[type-var]  # nodes are dataclasses

    @property
    @abstractmethod
    def schema(self) -> dict[str, Facts]:
        """The visible columns in their order, each with its facts."""

    @cached_property
    def unit_kind(self) -> str | None:
        """Who the unit is: that of a private relation below, or None for a public relation."""
        return next((child.unit_kind for child in self.children if child.private), None)

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """The most rows that one unit can have, or None."""

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """Sets of columns that never repeat, in the whole relation."""
        return frozenset()

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """What is known about a unit's rows over groups of columns."""
        return ()

    @abstractmethod
    def canonical(self) -> list[object]:
        """Return the node as plain lists and texts, the same for equal nodes."""

    @abstractmethod
    def describe(self) -> str:
        """Say in one line what the node does, in public words."""

    @property
    def private(self) -> bool:
        """Whether the relation holds units' rows."""
        return self.unit_kind is not None

    def groups_of(self, columns: frozenset[str]) -> int | None:
        """Bound how many different values of some columns one unit has.

        At most one per row; at most the number of groups over more columns (each value of the fewer columns
        belongs to at least one value of the more).
        """
        known = [spread.groups for spread in self.spreads if spread.columns >= columns]
        return least(1 if not columns else None, self.rows, *known)

    def rows_in_group(self, columns: frozenset[str]) -> int | None:
        """Bound how many rows one unit has for one value of some columns.

        Rows that agree on the columns agree on fewer columns too, so a bound for fewer columns holds.
        """
        known = [spread.rows for spread in self.spreads if spread.columns <= columns]
        return least(self.rows, *known)

    def walk(self) -> Iterator[Node]:
        """Give this node and everything below it."""
        left: list[Node] = [self]
        while left:
            node = left.pop()
            yield node
            left += node.children[::-1]

    @cached_property
    def key(self) -> str:
        """A digest of the canonical form."""
        return digest(self.canonical())

    def steps_per_unit(self) -> int:
        """Bound the steps that all rows of one unit take: for each node, its rows times what it does for one.

        >>> from discreet.plans.expressions import Like
        >>> from discreet.plans.nodes import BoundRows, Filter, Scan
        >>> from discreet.tables import Column as Declared, Table
        >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=[Declared("note", type="text")])), 20)
        >>> Filter(visits, Like((Column("note"),), "%acute%")).steps_per_unit() - visits.steps_per_unit()
        41380
        """
        stored = self.stored
        return sum(node.passing(stored) * node.steps_of_row for node in self.walk() if node.private)

    def passing(self, stored: int) -> int:
        """How many rows of a unit pass: those that come in, or those that go out, if they are more."""
        known = [stored if node.rows is None else node.rows for node in (self, *self.children) if node.private]
        return max(known)

    @property
    def steps_of_row(self) -> int:
        """The steps for a row: to hand it on, to compare its keys, to compute what is computed of it."""
        computed = [
            part for expression in (*map(Column, self.compared), *self.expressions) for part in expression.walk()
        ]
        return _OF_ROW + sum(part.steps(self.children[0].schema) for part in computed)

    @property
    def stored(self) -> int:
        """The most rows that a unit can have in the tables below, each as often as it is read."""
        return sum(child.stored for child in self.children if child.private) or self.rows or _UNKNOWN_ROWS


class Part(Node):
    """Some of the rows of the first child, as they are.

    A unit gains no rows, fewer rows repeat no more and spread no further: what was known of the rows still holds.

    >>> from discreet.plans.nodes import Filter, Join
    >>> issubclass(Filter, Part), issubclass(Join, Part)
    (True, False)
    """

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """The child's."""
        return self.children[0].schema

    @cached_property
    def rows(self) -> int | None:
        """No unit gains rows."""
        return self.children[0].rows

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """Fewer rows repeat no more."""
        return self.children[0].unique

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """Fewer rows spread no further."""
        return self.children[0].spreads


def require_little_work(relation: Node) -> None:
    """Refuse a relation in which the rows of one unit can make much more work than it takes to read them.

    A bound on what each operator does for a row is not enough: an analyst can aim many operators at one person, and
    join the rows of that person with each other, so that a question takes seconds longer only if the person has some
    value. What is bounded is the product, over the whole question, from public facts alone: all rows of a unit may take
    `MOST_STEPS` together, or `MOST_STEPS_PER_ROW` for each row that the unit can have in the tables, if that is more. A
    person with many rows is slower to read in any case; how many it can be is public.
    """
    steps, most = relation.steps_per_unit(), max(MOST_STEPS, MOST_STEPS_PER_ROW * relation.stored)
    if steps > most:
        refuse(
            "the question",
            why=f"The rows of one {relation.unit_kind} may take {steps} steps there, more than {most}: the time of the "
            "question could tell of them.",
            instead="fewer or shorter patterns, SUBSTRING(x, 1, 100) for a long text x, a subquery grouped by the unit "
            "on one side of a join, or a smaller max_length or rows_per_unit in the policy.",
        )


def digest(form: object) -> str:
    """What names a canonical form: the same for equal ones."""
    return hashlib.sha256(json.dumps(form, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def least(*numbers: int | None) -> int | None:
    """The smallest of the numbers that are known; None if none is."""
    known = [number for number in numbers if number is not None]
    return min(known, default=None)


def product(*numbers: int | None) -> int | None:
    """The product, or None if a factor is not known."""
    known = [number for number in numbers if number is not None]
    return math.prod(known) if len(known) == len(numbers) else None


@dataclass(frozen=True)
class Scan(Node):
    """The declared columns of one table, each cell brought into its declared kind and bounds.

    An engine must, cell by cell: read the declared kind or NULL; settle floats (NaN to NULL, magnitudes beyond 2**500
    to it, below 2**-500 to 0); clamp into the bounds; cut texts to `max_length` code points, but for a unit, which is
    NULL if it is longer; turn values outside `keys` into `other` where that is declared. Then drop rows with NULL in a
    column that is not nullable, and rows whose unit is NULL.

    A public table's unique sets are checked when the table is opened, and the table is refused if one repeats: that
    tells nothing about anybody.

    Stability. Every step looks at one row. `rows` is known only where each row is a unit, or where the owner has had
    the unit's uniqueness verified for this version of the data; otherwise it is for `BoundRows` to enforce.

    >>> from discreet.tables import Column, Table
    >>> Scan(Table("visits", unit="patient_id", columns=[Column("age", lower=0, upper=120)])).rows is None
    True
    """

    table: Table
    verified: bool = False

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """The policy's facts about each declared column."""
        unit = self.table.unit
        return {
            column.name: Facts(
                column.kind,
                column.bounds,
                nullable=column.nullable and column.name != unit,
                domain=column.keys,
                unit=column.name == unit,
                single=column.name == unit,
                length=_length(column),
                declared=column.keys,
            )
            for column in self.table.columns
        }

    @cached_property
    def unit_kind(self) -> str | None:
        """The kind that the policy gives; rows that refer to others are private too, and nobody's by themselves."""
        return self.table.unit_kind if self.table.references is None else f"row of {self.table.name}"

    @cached_property
    def rows(self) -> int | None:
        """One where each row is a unit or the unit is verified to be unique."""
        alone = self.table.row_is_unit or (self.verified and self.table.unit_is_unique)
        return 1 if alone else None

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """A public table's unique sets, which are checked when it is opened; a private table's only once verified."""
        trusted = self.table.public or self.verified
        return frozenset(map(frozenset, self.table.unique)) if trusted else frozenset()

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """A verified unique set holds one row for each of its values, so for each of a unit's; NULL may repeat."""
        facts = self.schema
        whole = [columns for columns in self.unique if not any(facts[name].nullable for name in columns)]
        return tuple(Spread(columns, self.rows, 1) for columns in whole) if self.private else ()

    def canonical(self) -> list[object]:
        """The table's name, and whether its uniqueness is believed: the policy's hash stands for the facts.

        It does not for columns of a public table that were read from the source: they stand here themselves.
        """
        read = self.table.read
        return ["scan", self.table.name, *(["verified"] if self.verified else []), *([read] if read else [])]

    def describe(self) -> str:
        """Name the table."""
        unit = self.table.unit or ("row" if self.table.references is None else "that of " + self.table.references)
        kind = "public table" if self.table.public else f"private table, unit {unit}"
        kind += ", unique columns believed as the owner checked them" if self.verified else ""
        return f"scan {self.table.name} ({kind})"


def _length(column: Declared) -> int:
    """How long texts of a column are as they are read; with `other`, all of them are among the keys."""
    if column.other is not None:
        return max((len(key) for key in column.keys or () if isinstance(key, str)), default=LONGEST_TEXT)
    return LONGEST_TEXT if column.max_length is None else column.max_length


def require_own_tables(policy: Policy, relation: Node) -> None:
    """Refuse tables as another policy declares them: it may say that private rows are public.

    >>> from discreet.tables import Policy, Table
    >>> require_own_tables(Policy([], epsilon=1), Scan(Table("visits", public=True)))
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: the table visits is that of another policy; a question is about one database.
    """
    for node in relation.walk():
        if isinstance(node, Scan) and node.table not in policy.tables:
            msg = f"the table {node.table.name} is that of another policy; a question is about one database."
            raise ParameterError(msg)


def tables_of(relation: Node) -> tuple[str, ...]:
    """Name the tables that a relation reads, for access rights.

    >>> from discreet.tables import Table
    >>> tables_of(Scan(Table("visits", unit="id")))
    ('visits',)
    """
    return tuple(sorted({node.table.name for node in relation.walk() if isinstance(node, Scan)}))


def read_of(relation: Node) -> dict[str, str]:
    """Name the public tables whose columns were read from the source, each with a digest of what was read.

    >>> from discreet.tables import Column, Table
    >>> wards = Table("wards", public=True).with_columns([Column("beds", lower=1, upper=40)])
    >>> list(read_of(Scan(wards)))
    ['wards']
    """
    tables = {node.table.name: node.table.read for node in relation.walk() if isinstance(node, Scan)}
    return {name: digest(read) for name, read in sorted(tables.items()) if read}


def verified_of(relation: Node) -> tuple[str, ...]:
    """Name the tables whose declared uniqueness is believed, as the owner had it checked for this version.

    >>> from discreet.tables import Table
    >>> verified_of(Scan(Table("visits", unit="id", unique=["id"]), verified=True))
    ('visits',)
    """
    return tuple(sorted({node.table.name for node in relation.walk() if isinstance(node, Scan) and node.verified}))


@dataclass(frozen=True)
class Project(Node):
    """One row for each row of the child, with these columns and no others; the unit travels along.

    Stability. Each row is computed from one row, so a unit has as many rows as before.

    Facts. Every column's facts are derived from its expression: a column that is redefined under an old name keeps
    nothing of the old one. Uniqueness and spreads survive for columns that are passed on as they are.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> from discreet.plans.expressions import Negate
    >>> Project(visits, (("cost", Negate((Column("cost"),))),)).schema["cost"].bounds
    Bounds(-500, 0)
    """

    child: Node
    columns: tuple[tuple[str, Expression], ...]

    def __post_init__(self) -> None:
        """Refuse two columns of one name; derive the facts once, so that wrong kinds are refused here."""
        super().__post_init__()
        names = [name for name, _ in self.columns]
        for name in names:
            if names.count(name) > 1:
                refuse(name, why="Two columns have this name.", instead="a name for each: expression AS name.")
        _ = self.schema

    @property
    def expressions(self) -> list[Expression]:
        """The columns."""
        return [expression for _, expression in self.columns]

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """Facts derived from the expressions."""
        return {name: expression.facts(self.child.schema) for name, expression in self.columns}

    @cached_property
    def rows(self) -> int | None:
        """One row for each."""
        return self.child.rows

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """The sets of which every column is passed on."""
        return frozenset(kept for columns in self.child.unique if (kept := self._passed(columns)) is not None)

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """The spreads of which every column is passed on."""
        return tuple(
            Spread(kept, spread.groups, spread.rows)
            for spread in self.child.spreads
            if (kept := self._passed(spread.columns)) is not None
        )

    def _passed(self, columns: frozenset[str]) -> frozenset[str] | None:
        """Give the new names of columns, or None if one of them is gone."""
        new = {expression.name: name for name, expression in self.columns if isinstance(expression, Column)}
        return frozenset(new[name] for name in columns) if columns <= new.keys() else None

    def canonical(self) -> list[object]:
        """The columns and the child."""
        return [
            "project",
            [[name, expression.canonical()] for name, expression in self.columns],
            self.child.canonical(),
        ]

    def describe(self) -> str:
        """Name the columns."""
        return f"compute {', '.join(name for name, _ in self.columns) or 'no columns'}"

"""The last nodes: limits on rows and groups of each unit, and exact integers per group with their sensitivity."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import counted, integer
from discreet.plans.expressions import Column, DateTrunc, Exp, Ln
from discreet.plans.expressions.expression import ENUMERABLE
from discreet.plans.nodes.node import Node, Part, Spread, least, product
from discreet.plans.refusals import refuse
from discreet.privacy.relations import NeighborRelation, group_size
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema
    from discreet.plans.statistics.exact import Statistic
    from discreet.privacy.relations import Relation
    from discreet.tables.kinds import Value

__all__ = ["Aggregate", "BoundGroups", "BoundRows", "GroupKey", "Sensitivity", "known_keys"]


@dataclass(frozen=True)
class BoundRows(Part):
    """Of each unit, the `limit` rows of least rank; a unit with fewer keeps all.

    The rank of a row is a keyed hash of its unit and of all its cells; the key is secret and fixed for a version
    of the data. Rows that are equal in every cell have the same rank, and it does not matter which of them is kept.

    Stability. Which rows of a unit are kept depends on the unit's rows and the key, never on another unit. So a unit
    has at most `limit` rows, and no other unit's rows change.

    >>> from discreet.plans.nodes import Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> visits.limit, visits.rows
    (20, 20)
    """

    child: Node
    limit: int

    def __post_init__(self) -> None:
        """Refuse limits that keep nothing, and relations without units."""
        super().__post_init__()
        integer(self.limit, name="limit", least=1)
        if not self.child.private:
            msg = "a public relation has no units whose rows could be bounded."
            raise ParameterError(msg)

    @cached_property
    def rows(self) -> int | None:
        """The limit, or fewer."""
        return least(self.limit, self.child.rows)

    @property
    def stored(self) -> int:
        """The limit, where nothing else says how many rows a unit has."""
        return self.limit if self.child.rows is None else super().stored

    def canonical(self) -> list[object]:
        """The limit and the child."""
        return ["bound_rows", self.limit, self.child.canonical()]

    def describe(self) -> str:
        """Say how many are kept."""
        return f"keep at most {counted(self.limit, 'row')} of each {self.unit_kind}"


@dataclass(frozen=True)
class BoundGroups(Part):
    """Of each unit, the rows in its `groups` groups of least rank, and of each of those the `limit` rows of least rank.

    A group is a value of the `keys` columns together; NULL is a value like another. The rank of a group is a keyed
    hash of the unit and the key's cells, that of a row as in `BoundRows`. `limit=None` keeps all rows of a kept group.

    Stability. What is kept of a unit depends on the unit's rows and the key of the hash. A unit has at most `groups`
    groups, `limit` rows in each, and groups * limit rows.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> BoundGroups(visits, ("ward",), groups=1, limit=5).rows
    5
    """

    child: Node
    keys: tuple[str, ...]
    groups: int
    limit: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that keep nothing, unknown keys, and relations without units."""
        super().__post_init__()
        integer(self.groups, name="groups", least=1)
        if self.limit is not None:
            integer(self.limit, name="limit", least=1)
        if not self.child.private or not self.keys or not set(self.keys) <= self.child.schema.keys():
            msg = f"groups are bounded over columns of a private relation; {', '.join(self.keys) or 'none'} was given."
            raise ParameterError(msg)

    @property
    def compared(self) -> tuple[str, ...]:
        """The keys."""
        return self.keys

    @cached_property
    def rows(self) -> int | None:
        """Groups times rows in each, or the child's."""
        in_each = least(self.limit, self.child.rows_in_group(frozenset(self.keys)))
        return least(self.child.rows, product(self.groups, in_each))

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """The new bound, and those of the child."""
        return (Spread(frozenset(self.keys), self.groups, self.limit), *self.child.spreads)

    def canonical(self) -> list[object]:
        """The keys in order, the limits, the child."""
        return ["bound_groups", sorted(self.keys), self.groups, self.limit, self.child.canonical()]

    def describe(self) -> str:
        """Say how much is kept."""
        rows = "" if self.limit is None else f" with at most {counted(self.limit, 'row')} each"
        return f"keep at most {counted(self.groups, 'group')} of {', '.join(self.keys)} of each {self.unit_kind}{rows}"


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A column of the child to group by, with its known values in key order, or None where they are not known.

    >>> GroupKey("ward", ("cardiology", "surgery")).known
    ('cardiology', 'surgery')
    """

    column: str
    known: tuple[Value, ...] | None


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far neighbors can be apart, as exact integers over all groups.

    `largest`: the largest change of one number; `l1`: the sum of all changes; `l2_squared`: the sum of their squares.

    >>> Sensitivity(largest=2, l1=6, l2_squared=12).times(2)
    Sensitivity(largest=4, l1=12, l2_squared=48)
    """

    largest: int
    l1: int
    l2_squared: int

    def times(self, factor: int) -> Sensitivity:
        """The same for changes that are so many times as large."""
        return Sensitivity(self.largest * factor, self.l1 * factor, self.l2_squared * factor**2)


@dataclass(frozen=True)
class Aggregate:
    """For each group, each statistic as an exact integer.

    Groups. With known keys only: exactly the cross product of their values, in order, also where no row falls; rows
    with another key are left out. With a key whose values are not known: the groups in the data, which an engine may
    hand on only to a mechanism that selects partitions privately, together with the number of units in each. NULL is
    a known key only if the policy lists it; where values are not known it is a value like any other: limits on groups
    count it (`BoundGroups`, `groups_of`), and it is shown only if it is selected.

    An engine computes in integers of at least 128 bits.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> from discreet.plans.statistics import RowCount
    >>> counts = Aggregate(visits, (GroupKey("ward", ("a", "b")),), (RowCount(),))
    >>> counts.groups, counts.groups_per_unit, counts.sensitivity(RowCount())
    (2, 2, Sensitivity(largest=20, l1=20, l2_squared=400))
    """

    child: Node
    keys: tuple[GroupKey, ...]
    statistics: tuple[Statistic, ...]

    def __post_init__(self) -> None:
        """Refuse questions about public data, and units as groups."""
        if not self.child.private:
            refuse(
                "FROM",
                why="The question reads public tables only, which need no noise.",
                instead="a question about a private table, or read the public table directly.",
            )
        for key in self.keys:
            if key.column not in self.child.schema:
                msg = f"there is no column {key.column!r} to group by."
                raise ParameterError(msg)
            if self.child.schema[key.column].unit:
                refuse(
                    f"GROUP BY {key.column}",
                    why="Each unit would be a group of its own, and no single unit's answer is given out.",
                    instead="a subquery per unit whose results are aggregated, or COUNT(DISTINCT …) of the units.",
                )

    @property
    def known(self) -> bool:
        """Whether all groups are known beforehand."""
        return all(key.known is not None for key in self.keys)

    @property
    def groups(self) -> int | None:
        """The number of groups, if they are known."""
        return math.prod(len(key.known or ()) for key in self.keys) if self.known else None

    @property
    def several(self) -> bool:
        """Whether more than one group is known: then quantiles read a histogram of all of them (`RankedCells`)."""
        return self.known and self.groups != 1

    @property
    def rows_per_unit(self) -> int | None:
        """The most rows that a unit has."""
        return self.child.rows

    @property
    def groups_per_unit(self) -> int | None:
        """The most groups that a unit touches."""
        return least(self.groups, self.child.groups_of(frozenset(key.column for key in self.keys)))

    @property
    def rows_per_group(self) -> int | None:
        """The most rows that a unit has in one group."""
        return self.child.rows_in_group(frozenset(key.column for key in self.keys))

    def sensitivity(self, statistic: Statistic, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Sensitivity:
        """Bound how far one unit can move a statistic over all groups.

        Let a unit have at most k rows, in at most g groups, at most r in each, and let a row contribute within [a,
        b], a <= 0 <= b, m = max(|a|, |b|). Add or remove: a group with n rows of the unit moves by at most n m <= r
        m. The sum of all moves is at most m min(k, g r). The sum of squares is largest when as many groups as
        possible are full: for t = min(k, g r) rows, (t // r) groups of r and one of t % r. A count of units moves by
        one in each group: r = 1.

        Change one: a unit leaves and another enters. One number moves by at most r (b - a): by r b upward and r a
        downward if both are in the group. The sums of moves add up: 2 m t. For squares, with u and v the moves of
        the two, |u - v|^2 <= |u|^2 + |v|^2 if all contributions have one sign, else <= 2 |u|^2 + 2 |v|^2.

        A group of units of size s (Group): s times each.
        """
        low, high = statistic.reach(self.child.schema)
        alone = statistic.once_per_unit(self.child.schema)
        in_group = 1 if alone else self.rows_per_group
        groups = self.groups_per_unit
        rows = (
            groups
            if alone
            else least(self.rows_per_unit, None if groups is None or in_group is None else groups * in_group)
        )
        if rows is None or in_group is None:
            refuse(
                "the number of rows per unit",
                why="Nothing bounds how many rows one unit has, so it could move the answer without limit.",
                instead="rows_per_unit in the policy, or bounding=Bounding(rows=20) beside the question.",
            )
        size = max(-low, high)
        full, rest = divmod(rows, in_group)
        squares = (full * in_group**2 + rest**2) * size**2
        moved = Sensitivity(min(rows, in_group) * size, rows * size, squares)
        relation = neighbors if isinstance(neighbors, NeighborRelation) else neighbors.relation
        if relation is not NeighborRelation.ADD_REMOVE:
            one_sign = low == 0 or high == 0
            moved = Sensitivity(
                min(rows, in_group) * (high - low), 2 * moved.l1, moved.l2_squared * (2 if one_sign else 4)
            )
        return moved.times(group_size(neighbors))

    def canonical(self) -> list[object]:
        """The keys, the statistics and the child; output names do not matter."""
        return [
            "aggregate",
            [key.column for key in self.keys],
            sorted((statistic.canonical() for statistic in self.statistics), key=repr),
            self.child.canonical(),
        ]

    def describe(self) -> str:
        """Say what is computed for which groups."""
        keys = ", ".join(key.column for key in self.keys)
        groups = f"{self.groups} known groups of {keys}" if self.known and keys else f"groups of {keys} found privately"
        return f"aggregate over {groups if keys else 'all rows'}"


def known_keys(expression: Expression, schema: Schema) -> tuple[Value, ...] | None:
    """Give the known values of a key in their order, or None where they are not known.

    Bounds of a number say too much: those of `age // 10 * 10` are 0 and 120, and there are 13 such numbers. So the key
    is computed for each combination of its columns' known values. LN and EXP may differ between engines in the last
    places: a value that is computed with them is no known key.

    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.plans.terms import col
    >>> from discreet.tables.bounds import Bounds
    >>> known_keys((col("age") // 10 * 10).expression, {"age": Facts(Kind.INTEGER, Bounds(0, 39))})
    (0, 10, 20, 30)
    """
    facts = expression.facts(schema)
    if isinstance(expression, DateTrunc) and facts.domain is None and facts.keys is not None:
        return tuple(key for key in facts.keys if expression.apply(key) == key)  # the months of a condition, not days
    if facts.domain is not None or facts.kind not in {Kind.INTEGER, Kind.FLOAT}:
        # NULL is a key only if the policy lists it beside others, not where it is written as a constant.
        return () if facts.domain == (None,) else facts.keys
    parts = list(expression.walk())
    names = list(dict.fromkeys(part.name for part in parts if isinstance(part, Column)))
    if not names or isinstance(expression, Column) or any(isinstance(part, Ln | Exp) for part in parts):
        return facts.keys
    choices: list[tuple[Value, ...]] = []
    for name in names:
        keys = schema[name].keys
        if keys is None:
            return facts.keys
        choices.append((*keys, None) if schema[name].nullable and None not in keys else keys)
    if math.prod(map(len, choices)) > ENUMERABLE:
        return facts.keys
    rows = (dict(zip(names, values, strict=True)) for values in itertools.product(*choices))
    evaluated = {expression.evaluate(row) for row in rows} - {None}
    # A condition on the key itself leaves fewer than its columns do.
    kept = sorted(key for key in evaluated if facts.bounds.contains(Fraction(key)))  # type: ignore[type-var, arg-type]  # numbers
    return tuple(kept)

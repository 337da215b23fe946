"""Where and how each unit's rows are limited."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.plans.expressions import Case, Column, IsNull, Literal, Or
from discreet.plans.nodes import Aggregate, BoundGroups, BoundRows, Filter, Node, PerUnit, Project, Scan
from discreet.plans.refusals import one_of, refuse
from discreet.plans.statistics import (
    DistinctCount,
    Moment,
    RowCount,
    Snapped,
    Statistic,
    UnitCount,
    UnitCountValues,
    UnitMoment,
    UnitStatistic,
    ValueCount,
)
from discreet.plans.tree import rebuilt
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import INT64, Kind

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.facts import Schema

__all__ = ["Bounding", "Place", "Shape", "bounded", "clipped", "unlimited"]


class Place(Enum):
    """Whether rows are limited before or after a table's filter.

    >>> Place("before") is Place.BEFORE
    True
    """

    BEFORE = "before"
    """The kept rows are the same for every question: their rank can be stored. A filter then leaves fewer."""
    AFTER = "after"
    """More of the rows that matter are kept; the rank is computed anew."""


class Shape(Enum):
    """What is limited.

    >>> Shape("sums") is Shape.SUMS
    True
    """

    ROWS = "rows"
    """Of a unit with too many rows, some are dropped."""
    SUMS = "sums"
    """All rows count; a unit's counts and sums in each group are clamped. For counts, sums and what is made of them."""


@dataclass(frozen=True, slots=True, init=False)
class Bounding:
    """What a question may limit further than its policy does.

    `rows`: at most so many rows of each unit in the whole question. `groups` and `rows_per_group`: at most so many
    groups of each unit, and rows in each. With `shape=Shape.SUMS` (or `"sums"`), `rows_per_group` (or `rows`) says how
    many rows' worth a unit may add to a group.

    >>> Bounding(groups=2, rows_per_group=3).groups, Bounding(shape="sums", rows=3).shape
    (2, <Shape.SUMS: 'sums'>)
    """

    rows: int | None
    groups: int | None
    rows_per_group: int | None
    place: Place
    shape: Shape

    def __init__(
        self,
        rows: int | None = None,
        groups: int | None = None,
        rows_per_group: int | None = None,
        place: Place | str = Place.BEFORE,
        shape: Shape | str = Shape.ROWS,
    ) -> None:
        """Refuse limits that keep nothing."""
        for name, number in (("rows", rows), ("groups", groups), ("rows_per_group", rows_per_group)):
            object.__setattr__(self, name, None if number is None else integer(number, name=name, least=1))
        object.__setattr__(self, "place", one_of(Place, place, "place"))
        object.__setattr__(self, "shape", one_of(Shape, shape, "shape"))
        if self.rows_per_group is not None and self.groups is None and self.shape is Shape.ROWS:
            msg = "rows_per_group is given without groups; say also how many groups a unit may touch."
            raise ParameterError(msg)

    def canonical(self) -> list[object]:
        """The limits as plain values."""
        return [self.rows, self.groups, self.rows_per_group, self.place.value, self.shape.value]


def bounded(child: Node, keys: tuple[str, ...], bounding: Bounding) -> Node:
    """Limit each unit's rows of a relation that is about to be aggregated by keys.

    >>> from discreet.tables import Column, Table
    >>> visits = Scan(Table("visits", unit="id", columns=[Column("ward", keys=["a", "b"])]))
    >>> bounded(visits, ("ward",), Bounding(groups=1, rows_per_group=5)).rows
    5
    """
    found = _lifted(child) if bounding.place is Place.AFTER else child
    if bounding.groups is not None and keys:
        limit = bounding.rows_per_group if bounding.shape is Shape.ROWS else None
        found = BoundGroups(found, keys, bounding.groups, limit)
    if bounding.rows is not None and bounding.shape is Shape.ROWS:
        found = BoundRows(found, bounding.rows)
    return found


def _lifted(node: Node) -> Node:
    """Move the limit of a table above the filters that stand directly on it."""
    children = tuple(_lifted(child) for child in node.children)
    found = rebuilt(node, children) if children != node.children else node
    if isinstance(found, Filter) and isinstance(found.child, BoundRows) and _plain(found.child.child):
        return BoundRows(Filter(found.child.child, found.predicate), found.child.limit)
    return found


def _plain(node: Node) -> bool:
    """Tell whether a relation is a table with nothing but filters on it."""
    return isinstance(node, Scan) or (isinstance(node, Filter) and _plain(node.child))


def unlimited(node: Node) -> tuple[Node, int | None]:
    """Take the limit off a single table, and say what it was; other relations keep theirs.

    >>> from discreet.tables import Table
    >>> unlimited(BoundRows(Scan(Table("visits", unit="id")), 20))[1]
    20
    """
    if isinstance(node, BoundRows) and _plain(node.child):
        return node.child, node.limit
    if isinstance(node, Filter | Project):
        below, limit = unlimited(node.child)
        return rebuilt(node, (below,)), limit
    return node, node.rows


def clipped(aggregate: Aggregate, rows: int) -> Aggregate:
    """Replace "at most k rows of a unit in a group" by "at most k rows' worth": sums per unit and group, clamped.

    Each statistic that is a sum over rows is first summed for each unit and group, exactly, and clamped to what k
    rows could contribute: k times the row's reach. The result is a sum over units and groups of clamped integers, so
    a unit moves a group by at most k * max(|reach|), as with k rows; but no row is dropped, and for a count the two
    are the same. The statistics keep their order and their steps. Distinct values and bins are no sums over rows and
    are refused.

    >>> from discreet.tables import Column, Table
    >>> visits = Scan(Table("visits", unit="id", columns=[Column("age", lower=0, upper=120)]))
    >>> plan = clipped(Aggregate(visits, (), (RowCount(),)), rows=4)
    >>> plan.sensitivity(plan.statistics[0]).l1
    4
    """
    schema = aggregate.child.schema
    keys = tuple(key.column for key in aggregate.keys)
    parts = [_per_unit(statistic, schema) for statistic in aggregate.statistics]
    unique = tuple(dict.fromkeys(part for part in parts if part is not None))
    names = {part: f"s{place}" for place, part in enumerate(unique)}
    child = PerUnit(aggregate.child, keys, tuple((name, part) for part, name in names.items()))

    def above(statistic: Statistic, part: UnitStatistic | None) -> Statistic:
        if part is None:
            return RowCount()  # a count of units: one row for each in each group
        low, high = statistic.reach(schema)
        if not Bounds(rows * low, rows * high).within(INT64):
            why = "Its bounds are so far from 0 that clamped sums would not fit into 64 bits."
            refuse(f"{statistic.symbol} with clamped sums", why=why, instead="x minus a constant, or shape=Shape.ROWS.")
        return Moment((Snapped(Column(names[part]), rows * low, rows * high, 0, Fraction(1)),))

    statistics = tuple(above(*pair) for pair in zip(aggregate.statistics, parts, strict=True))
    return replace(aggregate, child=child, statistics=statistics)


def _per_unit(statistic: Statistic, schema: Schema) -> UnitStatistic | None:
    """Give the same sum for one unit's rows; None for a count of units."""
    if isinstance(statistic, RowCount):
        return UnitCount()
    if isinstance(statistic, ValueCount):
        return UnitCountValues(_all_there(statistic.values))
    if isinstance(statistic, Moment):
        return UnitMoment(statistic.factors)
    if not (isinstance(statistic, DistinctCount) and statistic.value.facts(schema).unit):
        why = "Only counts, sums and what is made of them can be clamped per unit."
        refuse(f"{statistic.symbol} with clamped sums", why=why, instead="shape=Shape.ROWS.")
    return None


def _all_there(values: tuple[Expression, ...]) -> Expression:
    """A value that is NULL exactly where one of several is."""
    if len(values) == 1:
        return values[0]
    missing = Or(tuple(IsNull((value,)) for value in values))
    return Case((missing, Literal(None, Kind.INTEGER), Literal(1, Kind.INTEGER)))

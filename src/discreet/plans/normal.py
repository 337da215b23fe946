"""One form for questions that mean the same, so that a question asked twice is recognized and paid once.

Only rewritings that never change a value are made: what is not recognized as equal costs budget, never privacy.

Before that the operands of expressions are brought to fitting kinds, and after it each unit's rows are limited.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from operator import is_
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.exact.rational import read_choice
from discreet.plans.expressions import (
    Add,
    AddDays,
    And,
    Case,
    Cast,
    Coalesce,
    Column,
    DaysBetween,
    Equal,
    Expression,
    Greatest,
    In,
    IsNull,
    Least,
    Less,
    LessOrEqual,
    Literal,
    Multiply,
    Not,
    NotEqual,
    NullIf,
    Operation,
    Or,
    Subtract,
)
from discreet.plans.expressions.casts import without_zone
from discreet.plans.known_keys import require_known_keys
from discreet.plans.nodes import Aggregate, BoundGroups, BoundRows, Filter, Node, PerUnit, Project, Scan, SemiJoin
from discreet.plans.refusals import refuse
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
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import INT64, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema
    from discreet.tables.kinds import Value

__all__ = [
    "Bounding",
    "Place",
    "Shape",
    "aligned",
    "bounded",
    "clipped",
    "normal",
    "replaced",
    "simplified",
    "unlimited",
]

_COMMUTATIVE = (Add, Multiply, Equal, NotEqual)
_OPPOSITE = {Equal: NotEqual, NotEqual: Equal}
_TURNED = {Less: LessOrEqual, LessOrEqual: Less}


def _order(expression: Expression) -> str:
    return repr(expression.canonical())


def replaced(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """Put expressions in the place of columns.

    >>> replaced(Column("x"), {"x": Literal(1, Kind.INTEGER)})
    Literal(value=1, kind=<Kind.INTEGER: 'integer'>)
    """
    if isinstance(expression, Column):
        return columns[expression.name]
    if not expression.operands:
        return expression
    return expression.with_operands(tuple(replaced(operand, columns) for operand in expression.operands))


def simplified(expression: Expression) -> Expression:
    """Bring an expression to its normal form: same value for every row.

    AND and OR are flattened, freed of repetitions and sorted; operands of + * = <> are sorted (floating-point
    addition and multiplication commute, they do not associate); NOT is moved into comparisons, which three-valued
    logic allows; a list of one is an equality; operations on constants are computed.

    >>> both = And((Less((Column("b"), Column("a"))), Equal((Literal(1, Kind.INTEGER), Column("a")))))
    >>> turned = And((Equal((Column("a"), Literal(1, Kind.INTEGER))), Less((Column("b"), Column("a")))))
    >>> simplified(both) == simplified(turned)
    True
    """
    if not isinstance(expression, Operation) or not expression.operands:
        return expression
    if "simplified" not in expression.memo:
        simple = expression.memo["simplified"] = _simplified(expression)
        if isinstance(simple, Operation):
            simple.memo["simplified"] = simple
    remembered: Expression = expression.memo["simplified"]
    return remembered


def _simplified(expression: Operation) -> Expression:
    operands = tuple(simplified(operand) for operand in expression.operands)
    simple = expression if _same(operands, expression.operands) else expression.with_operands(operands)
    if isinstance(simple, And | Or):
        return _connected(simple)
    if isinstance(simple, Not):
        return _negated(simple)
    if isinstance(simple, In):
        return _listed(simple)
    if isinstance(simple, _COMMUTATIVE):
        in_order = tuple(sorted(simple.operands, key=_order))
        simple = simple if _same(in_order, simple.operands) else simple.with_operands(in_order)
    return _folded(simple)


def _same(parts: tuple[object, ...], others: tuple[object, ...]) -> bool:
    """Tell whether these are the very same objects: then what was derived from them need not be derived again."""
    return len(parts) == len(others) and all(map(is_, parts, others))


def _connected(junction: And | Or) -> Expression:
    """Flatten, drop repetitions, sort; a part that decides alone decides, one that never does is dropped."""
    decides = isinstance(junction, Or)
    parts: dict[str, Expression] = {}
    for operand in junction.operands:
        for part in operand.operands if isinstance(operand, type(junction)) else (operand,):
            if isinstance(part, Literal) and part.value is decides:
                return part
            if not (isinstance(part, Literal) and part.value is (not decides)):
                parts[_order(part)] = part
    if not parts:
        return Literal(not decides, Kind.BOOLEAN)
    kept = tuple(parts[name] for name in sorted(parts))
    return kept[0] if len(kept) == 1 else junction.with_operands(kept)


def _negated(negation: Not) -> Expression:
    """NOT NOT x is x; NOT x = y is x <> y; NOT x < y is y <= x: all are NULL for the same rows."""
    inner = negation.operands[0]
    if isinstance(inner, Not):
        return inner.operands[0]
    for kind, other in _OPPOSITE.items():
        if isinstance(inner, kind):
            return other(inner.operands)
    for kind, other in _TURNED.items():
        if isinstance(inner, kind):
            return other(inner.operands[::-1])
    return _folded(negation)


def _listed(membership: In) -> Expression:
    """Sort the constants; one constant is an equality."""
    choices: dict[str, Value] = {repr(choice): choice for choice in membership.choices}
    if len(choices) == 1:
        value = next(iter(choices.values()))
        return simplified(Equal((membership.operands[0], Literal(value, Kind.of(value)))))
    return _folded(In(membership.operands, tuple(choices[name] for name in sorted(choices))))


def _folded(expression: Expression) -> Expression:
    """Compute an operation on constants."""
    if not all(isinstance(operand, Literal) for operand in expression.operands):
        return expression
    return Literal(expression.evaluate({}), expression.facts({}).kind)


def normal(node: Node) -> Node:
    """Bring a relation to its normal form: the same rows for every database.

    Filters that follow each other become one; computed columns move above filters and into each other; what is passed
    on unchanged is no step. Nothing moves across a limit on rows: ranks are computed from a row as it stands there.

    >>> from discreet.plans.nodes import Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> visits = Scan(Table("visits", unit="id", columns=[Declared("age", lower=0, upper=120)]))
    >>> renamed = Project(visits, (("years", Column("age")),))
    >>> young = Filter(renamed, Less((Column("years"), Literal(30, Kind.INTEGER))))
    >>> type(normal(young)).__name__, type(normal(young).child).__name__
    ('Project', 'Filter')
    """
    children = tuple(normal(child) for child in node.children)
    plain = node if _same(children, node.children) else node.with_children(children)
    if isinstance(plain, Filter):
        return _filtered(plain)
    if isinstance(plain, Project):
        return _projected(plain)
    if isinstance(plain, SemiJoin):
        return _matched(plain)
    return plain


def _filtered(filtered: Filter) -> Node:
    """Merge filters, and move one below the columns that it looks at."""
    child, predicate = filtered.child, simplified(filtered.predicate)
    if isinstance(predicate, Literal) and predicate.value is True:
        return child
    if isinstance(child, Filter):
        return _filtered(Filter(child.child, And((child.predicate, predicate))))
    if isinstance(child, Project):
        below = replaced(predicate, dict(child.columns))
        return _projected(Project(_filtered(Filter(child.child, below)), child.columns))
    return filtered if predicate is filtered.predicate else Filter(child, predicate)


def _projected(projected: Project) -> Node:
    """Merge computed columns into one step; drop a step that changes nothing."""
    child = projected.child
    columns = tuple((name, simplified(expression)) for name, expression in projected.columns)
    if isinstance(child, Project):
        inner = dict(child.columns)
        columns = tuple((name, simplified(replaced(expression, inner))) for name, expression in columns)
        child = child.child
    same = tuple((name, Column(name)) for name in child.schema)
    if columns == same:
        return child
    kept = child is projected.child and all(
        new is old for (_, new), (_, old) in zip(columns, projected.columns, strict=True)
    )
    return projected if kept else Project(child, columns)


def _matched(matched: SemiJoin) -> Node:
    """Move a semi-join below columns that are passed on as they are."""
    left = matched.left
    if not isinstance(left, Project):
        return matched
    inner = dict(left.columns)
    pairs = [(inner[ours], theirs) for ours, theirs in matched.on]
    if not all(isinstance(ours, Column) for ours, _ in pairs):
        return matched
    on = tuple((ours.name, theirs) for ours, theirs in pairs if isinstance(ours, Column))
    return _projected(Project(SemiJoin(left.child, matched.right, on, matched.keep), left.columns))


def aligned(expression: Expression, schema: Schema) -> Expression:
    """Return the expression with these conversions, and no others.

    - Where CASE, COALESCE, GREATEST or LEAST choose between integers and floats, the integers become floats.
    - A NULL constant takes the kind of its neighbors.
    - A text constant beside a date or timestamp is read as one.
    - A cast to the kind that a value has already is the value.
    - A difference of dates is a number of days, and a constant number that is added to a date counts days.

    A constant that is compared with a column's keys and is none of them is refused here, as `require_known_keys` says.

    >>> from discreet.plans.expressions import Column
    >>> from discreet.plans.expressions.expression import Facts
    >>> choice = Coalesce((Column("cost"), Literal(0, Kind.INTEGER)))
    >>> aligned(choice, {"cost": Facts(Kind.FLOAT)}).operands[1]
    Literal(value=0.0, kind=<Kind.FLOAT: 'float'>)
    """
    if not expression.operands:
        return expression
    operands = tuple(aligned(operand, schema) for operand in expression.operands)
    if isinstance(expression, Case):
        values = _unified((*operands[1:-1:2], operands[-1]), schema)
        pairs = [part for pair in zip(operands[:-1:2], values, strict=False) for part in pair]
        operands = (*pairs, values[-1])
    elif isinstance(expression, Coalesce | Greatest | Least):
        operands = _unified(operands, schema)
    elif isinstance(expression, Equal | NotEqual | Less | LessOrEqual | NullIf):
        operands = _comparable(operands, schema)
    elif isinstance(expression, Add | Subtract):
        return _in_days(expression, operands, schema)
    elif isinstance(expression, Cast) and operands[0].facts(schema).kind is expression.kind:
        return operands[0]  # what a condition says of the value, it says of this one
    converted = _dated(expression, operands, schema) if isinstance(expression, In) else _on(expression, operands)
    require_known_keys(converted, schema)
    return converted


def _on(expression: Expression, operands: tuple[Expression, ...]) -> Expression:
    """Return the same operation on other operands; the very same where they are, as much is remembered of it."""
    same = all(new is old for new, old in zip(operands, expression.operands, strict=True))
    return expression if same else expression.with_operands(operands)


def _unified(values: tuple[Expression, ...], schema: Schema) -> tuple[Expression, ...]:
    """Bring branches to one kind where that is a matter of integers beside floats, or of NULL."""
    kinds = {value.facts(schema).kind for value in values if not _is_null(value)}
    if kinds == {Kind.INTEGER, Kind.FLOAT}:
        kinds = {Kind.FLOAT}
    if len(kinds) != 1:
        return values
    kind = next(iter(kinds))
    return tuple(_as(value, kind, schema) for value in values)


def _as(value: Expression, kind: Kind, schema: Schema) -> Expression:
    if _is_null(value):
        return Literal(None, kind)
    if value.facts(schema).kind is kind:
        return value
    if isinstance(value, Literal) and isinstance(value.value, int):
        return Literal(float(value.value), kind)
    return Cast((value,), kind)


def _is_null(value: Expression) -> bool:
    return isinstance(value, Literal) and value.value is None


def _comparable(operands: tuple[Expression, ...], schema: Schema) -> tuple[Expression, ...]:
    """Read a text constant as a date beside a date."""
    kinds = [operand.facts(schema).kind for operand in operands]
    for kind in kinds:
        if kind.temporal:
            return tuple(_read(operand, kind) for operand in operands)
    return operands


def _read(operand: Expression, kind: Kind) -> Expression:
    if not (isinstance(operand, Literal) and isinstance(operand.value, str)):
        return operand
    value = _moment(operand.value, kind)
    return Literal(value, Kind.of(value))


def _dated(expression: In, operands: tuple[Expression, ...], schema: Schema) -> Expression:
    """Read the text constants of a list as dates."""
    kind = operands[0].facts(schema).kind
    choices = expression.choices
    if kind.temporal:
        choices = tuple(_moment(choice, kind) if isinstance(choice, str) else choice for choice in choices)
    return In(operands, choices)


def _in_days(expression: Expression, operands: tuple[Expression, ...], schema: Schema) -> Expression:
    """Count dates in days; what does not fit stays, and is refused by its kinds."""
    left, right = operands
    kinds = left.facts(schema).kind, right.facts(schema).kind
    minus = isinstance(expression, Subtract)
    if kinds == (Kind.DATE, Kind.DATE) and minus:
        return DaysBetween((right, left))
    if kinds == (Kind.INTEGER, Kind.DATE) and not minus:
        left, right = right, left
    elif kinds != (Kind.DATE, Kind.INTEGER):
        return _on(expression, operands)
    if not isinstance(right, Literal) or not isinstance(right.value, int):
        return _on(expression, operands)
    moved = AddDays((left,), -right.value if minus else right.value)
    moved.facts(schema)
    if not isinstance(left, Literal) or left.value is None:
        return moved
    value = moved.evaluate({})
    if value is None:
        refuse(f"{left.value} and {right.value} days", why="It lies outside of the years 1 to 9999.", instead="a date.")
    return Literal(value, Kind.DATE)


def _moment(text: str, kind: Kind) -> Value:
    """Read a date, or a timestamp, in the one spelling that casts read; UTC may be said."""
    plain = without_zone(text)
    read = [Cast((), wanted).apply(plain) for wanted in (Kind.DATE, kind, Kind.TIMESTAMP)]
    first = next((value for value in read if isinstance(value, dt.date)), None)
    if first is None:
        why = f"It is compared with a {kind.value} and is none."
        refuse(f"'{text[:40]}'", why=why, instead="a date such as '2024-02-01'.")
    return first


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
        object.__setattr__(self, "place", read_choice(Place, place, "place"))
        object.__setattr__(self, "shape", read_choice(Shape, shape, "shape"))
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
    limited = _lifted(child) if bounding.place is Place.AFTER else child
    if bounding.groups is not None and keys:
        limit = bounding.rows_per_group if bounding.shape is Shape.ROWS else None
        limited = BoundGroups(limited, keys, bounding.groups, limit)
    if bounding.rows is not None and bounding.shape is Shape.ROWS:
        limited = BoundRows(limited, bounding.rows)
    return limited


def _lifted(node: Node) -> Node:
    """Move the limit of a table above the filters that stand directly on it."""
    children = tuple(_lifted(child) for child in node.children)
    same = node.with_children(children) if children != node.children else node
    if isinstance(same, Filter) and isinstance(same.child, BoundRows) and _plain(same.child.child):
        return BoundRows(Filter(same.child.child, same.predicate), same.child.limit)
    return same


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
        return node.with_children((below,)), limit
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

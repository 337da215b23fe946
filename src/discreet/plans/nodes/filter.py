"""Keep the rows for which a condition is true."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.plans.expressions import And, Column, Equal, Expression, In, IsNull, Less, LessOrEqual, Literal, Not
from discreet.plans.nodes.node import Node, Spread
from discreet.plans.refusals import refuse
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind, as_number

if TYPE_CHECKING:
    from discreet.plans.facts import Facts
    from discreet.tables.kinds import Value

__all__ = ["Filter"]

_EXACT = 2**53
_LIMITS = {
    Kind.INTEGER: (Fraction(-(2**63)), Fraction(2**63 - 1)),
    Kind.DATE: (Fraction(as_number(dt.date.min)), Fraction(as_number(dt.date.max))),
}


@dataclass(frozen=True)
class Filter(Node):
    """The rows of the child for which the predicate is true; rows where it is false or NULL are dropped.

    Stability. The predicate looks at one row, so a unit keeps a part of its rows: `rows`, uniqueness and
    spreads are the child's.

    Facts. Where `column <= constant` is one of the conditions, the kept values lie within it and are not NULL; where
    `column < constant` is one, of whole numbers or dates, they lie one below it. Where `column IN (constants)` is one,
    the constants are the known values, as far as the policy knows them too.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> from discreet.plans.expressions import Literal
    >>> dear = Filter(visits, Less((Literal(100, Kind.INTEGER), Column("cost"))))
    >>> dear.schema["cost"].bounds, dear.rows
    (Bounds(101, 500), 20)
    """

    child: Node
    predicate: Expression

    def __post_init__(self) -> None:
        """Refuse a predicate that is no truth value."""
        kind = self.predicate.facts(self.child.schema).kind
        if kind is not Kind.BOOLEAN:
            refuse(
                "WHERE", why=f"The condition is of kind {kind.value}, not a truth value.", instead="WHERE column > 0"
            )

    @property
    def children(self) -> tuple[Node, ...]:
        """The relation that is filtered."""
        return (self.child,)

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """The child's columns, narrowed by conditions that compare a column with a constant."""
        found = dict(self.child.schema)
        for condition in _conditions(self.predicate):
            name, bounds, listed, kind = _narrowing(condition)
            if name is not None:
                facts = found[name]
                inward = _inward(bounds, kind, facts.kind)
                if isinstance(condition, Less) and kind is facts.kind:
                    inward = _beyond(inward, facts.kind)
                found[name] = dataclasses.replace(
                    facts,
                    nullable=False,
                    bounds=facts.bounds.clamped(inward),
                    domain=_kept(facts, listed),
                )
        return found

    @property
    def unit_kind(self) -> str | None:
        """The child's."""
        return self.child.unit_kind

    @property
    def rows(self) -> int | None:
        """No unit gains rows."""
        return self.child.rows

    @property
    def unique(self) -> frozenset[frozenset[str]]:
        """Fewer rows repeat no more."""
        return self.child.unique

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """Fewer rows spread no further."""
        return self.child.spreads

    def canonical(self) -> list[object]:
        """The condition and the child."""
        return ["filter", self.predicate.canonical(), self.child.canonical()]

    def describe(self) -> str:
        """Name the columns that the condition looks at."""
        names = sorted({part.name for part in self.predicate.walk() if isinstance(part, Column)})
        return f"filter on {', '.join(names) or 'a constant'}"


def _inward(bounds: Bounds, given: Kind | None, kind: Kind) -> Bounds:
    """The part of an interval that values of a kind can lie in: whole ends for integers, nothing across kinds.

    Integers and floats are compared as doubles. The double of an integer column is below an end only if the integer is,
    unless the end is so large that integers are rounded to it; an integer constant beside floats is its double.
    """
    if given is None or not (given is kind or (given.numeric and kind.numeric)):
        return Bounds()
    ends = bounds.lower, bounds.upper
    if given is not kind and kind is Kind.FLOAT:
        ends = tuple(None if end is None else Fraction(float(end)) for end in ends)  # type: ignore[assignment]  # two
    if kind is not Kind.INTEGER:
        return Bounds(*ends)
    if given is not kind:
        ends = tuple(None if end is None or abs(end) >= _EXACT else end for end in ends)  # type: ignore[assignment]  # two
    low = None if ends[0] is None else math.ceil(ends[0])
    high = None if ends[1] is None else math.floor(ends[1])
    empty = low is not None and high is not None and low > high  # no row passes: nothing is claimed
    return Bounds() if empty else Bounds(low, high)


def _beyond(bounds: Bounds, kind: Kind) -> Bounds:
    """The ends of a strict comparison: whole numbers, and dates as days, lie at least one beyond the constant.

    Beyond the last value of a kind there is none: no row passes, and the end stays one that the kind can hold.
    """
    if kind not in _LIMITS:
        return bounds
    first, last = _LIMITS[kind]
    low, high = bounds.lower, bounds.upper
    return Bounds(None if low is None else min(low + 1, last), None if high is None else max(high - 1, first))


def _kept(facts: Facts, listed: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    """The known values that a list of constants leaves; without known values the constants themselves are known."""
    if listed is None:
        return facts.domain
    listed = tuple(_compared(value, facts.kind) for value in listed)
    keys = facts.keys
    if keys is not None:
        return tuple(key for key in keys if key in listed)
    return tuple(dict.fromkeys(listed)) if all(Kind.of(value) is facts.kind for value in listed) else None


def _compared(value: Value, kind: Kind) -> Value:
    """The value of a kind that equals a constant: a date beside timestamps is its midnight, and a midnight its date."""
    if kind is Kind.TIMESTAMP and type(value) is dt.date:
        return dt.datetime.combine(value, dt.time())
    if kind is Kind.DATE and isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date()
    return value


def _conditions(predicate: Expression) -> tuple[Expression, ...]:
    """Split a conjunction: all parts are true where the whole is."""
    if isinstance(predicate, And):
        return tuple(part for operand in predicate.operands for part in _conditions(operand))
    return (predicate,)


_Narrowing = tuple[str | None, Bounds, "tuple[Value, ...] | None", Kind | None]


def _narrowing(condition: Expression) -> _Narrowing:
    """Read what a comparison with a constant says about a column: its name, an interval, a list of values, a kind."""
    nothing: _Narrowing = (None, Bounds(), None, None)
    if isinstance(condition, In) and isinstance(condition.operands[0], Column):
        return condition.operands[0].name, Bounds(), condition.choices, None
    if isinstance(condition, Not) and isinstance(condition.operands[0], IsNull):
        value = condition.operands[0].operands[0]
        return (value.name, Bounds(), None, None) if isinstance(value, Column) else nothing
    if not isinstance(condition, Equal | Less | LessOrEqual):
        return nothing
    left, right = condition.operands
    if isinstance(left, Column) and isinstance(right, Literal):
        name, constant, smaller = left.name, right, True
    elif isinstance(right, Column) and isinstance(left, Literal):
        name, constant, smaller = right.name, left, False
    else:
        return nothing
    point = constant.facts({}).bounds
    if isinstance(condition, Equal):
        return name, point, (constant.value,), constant.kind
    return name, Bounds(None, point.upper) if smaller else Bounds(point.lower, None), None, constant.kind

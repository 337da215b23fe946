"""Keep the rows for which a condition is true."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING

from discreet.plans.expressions import And, Column, Equal, Expression, In, IsNull, Less, LessOrEqual, Literal, Not
from discreet.plans.expressions.expression import Facts, Narrowed
from discreet.plans.nodes.node import Node, Part, Spread, least, product
from discreet.plans.refusals import refuse
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import Kind, as_number

if TYPE_CHECKING:
    from discreet.tables.kinds import Value

__all__ = ["Filter", "require_truth"]

_EXACT = 2**53
_DAY = 24 * 60 * 60 * 10**6
_LIMITS = {
    Kind.INTEGER: (Fraction(-(2**63)), Fraction(2**63 - 1)),
    Kind.DATE: (as_number(dt.date.min), as_number(dt.date.max)),
    Kind.TIMESTAMP: (as_number(dt.date.min) * _DAY, (as_number(dt.date.max) + 1) * _DAY - 1),
}


def require_truth(kind: Kind) -> None:
    """Refuse a condition that is no truth value."""
    if kind is not Kind.BOOLEAN:
        why = f"The condition is of kind {kind.value}, not a truth value."
        refuse("WHERE", why=why, instead="WHERE column > 0")


@dataclass(frozen=True)
class Filter(Part):
    """The rows of the child for which the predicate is true; rows where it is false or NULL are dropped.

    Stability. The predicate looks at one row, so a unit keeps a part of its rows: `rows`, uniqueness and
    spreads are the child's.

    Where a unit has at most r rows for each value of some whole numbers, and the condition leaves v values of them, it
    keeps at most v r rows: of its numbered rows the first.

    Facts. Where `x <= constant` is one of the conditions, the kept values lie within it and are not NULL; where
    `x < constant` is one, of whole numbers, dates or timestamps, they lie one below it. Where `x IN (constants)` is
    one, they lie between the least and the largest of them, which are the known values, as far as the policy knows them
    too. x is a column, or any expression: the
    same expression, computed of the kept rows, has the same value again.

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
        super().__post_init__()
        require_truth(self.predicate.facts(self.child.schema).kind)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The predicate."""
        return (self.predicate,)

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """The child's columns, narrowed by conditions that compare a column or an expression with a constant."""
        narrowed = Narrowed(self.child.schema)
        known = [
            narrowing for condition in _conditions(self.predicate) if (narrowing := _narrowing(condition)) is not None
        ]
        # Columns first: what is computed from them is the narrower for it.
        for narrowing in sorted(known, key=lambda tried: not isinstance(tried.subject, Column)):
            facts = narrowing.of(narrowing.subject.facts(narrowed))
            narrowed = Narrowed(narrowed)  # another schema: what was derived from this one is remembered
            if isinstance(narrowing.subject, Column):
                narrowed[narrowing.subject.name] = facts
            else:
                narrowed.computed[narrowing.subject] = facts
        return narrowed

    @cached_property
    def rows(self) -> int | None:
        """The child's, or what a condition leaves of numbers that have few rows each."""
        return least(self.child.rows, *map(self._rows_of, self.child.spreads))

    def _rows_of(self, spread: Spread) -> int | None:
        """The most rows of a unit, by the values that are left of the columns of a spread."""
        values = 1
        for name in spread.columns:
            facts = self.schema[name]
            low, high = facts.bounds.lower, facts.bounds.upper
            if facts.kind is not Kind.INTEGER or facts.nullable or low is None or high is None:
                return None
            values *= max(0, math.floor(high) - math.ceil(low) + 1)
        return product(values, spread.rows) if spread.columns else None

    def canonical(self) -> list[object]:
        """The condition and the child."""
        return ["filter", self.predicate.canonical(), self.child.canonical()]

    def describe(self) -> str:
        """Name the columns that the condition looks at."""
        names = sorted({part.name for part in self.predicate.walk() if isinstance(part, Column)})
        return f"filter on {', '.join(names) or 'a constant'}"


@dataclass(frozen=True, slots=True)
class _Narrowing:
    """What a condition says about an expression: it is not NULL, lies between bounds, is one of some constants.

    The bounds are of the constants' kind; `strict` ones are not reached.
    """

    subject: Expression
    bounds: Bounds = UNBOUNDED
    kind: Kind | None = None
    strict: bool = False
    listed: tuple[Value, ...] | None = None

    def of(self, facts: Facts) -> Facts:
        """Narrow what is known otherwise."""
        inward = _inward(self, facts.kind)
        bounds = facts.bounds.clamped(inward)
        domain = _kept(facts, self.listed, bounds) if _meet(facts.bounds, inward) else ()
        return dataclasses.replace(facts, nullable=False, bounds=bounds, domain=domain)


def _meet(one: Bounds, other: Bounds) -> bool:
    """Tell whether two intervals have a number in common; if not, no row passes, and no key is left."""
    below = one.upper is not None and other.lower is not None and one.upper < other.lower
    return not below and not (one.lower is not None and other.upper is not None and other.upper < one.lower)


def _inward(given: _Narrowing, kind: Kind) -> Bounds:
    """The part of an interval that values of a kind can lie in: whole ends for integers, nothing across kinds.

    Integers and floats are compared as doubles. The double of an integer column is below an end only if the integer is,
    unless the end is so large that integers are rounded to it; an integer constant beside floats is its double. A date
    is compared with a timestamp as its midnight.
    """
    if given.kind is kind:
        return _beyond(given.bounds, kind) if given.strict else given.bounds
    low, high = given.bounds.lower, given.bounds.upper
    if given.kind is Kind.DATE and kind is Kind.TIMESTAMP:
        moments = Bounds(*(None if end is None else end * _DAY for end in (low, high)))
        return _beyond(moments, kind) if given.strict else moments
    if given.kind is Kind.TIMESTAMP and kind is Kind.DATE:
        moments = _beyond(given.bounds, given.kind) if given.strict else given.bounds
        return _whole([None if end is None else end / _DAY for end in (moments.lower, moments.upper)], kind)
    if given.kind is None or not (given.kind.numeric and kind.numeric):
        return Bounds()
    if kind is Kind.FLOAT:
        return Bounds(*(None if end is None else Fraction(float(end)) for end in (low, high)))
    return _whole([None if end is None or abs(end) >= _EXACT else end for end in (low, high)], kind)


def _whole(ends: list[Fraction | None], kind: Kind) -> Bounds:
    """The whole numbers, or days, between two ends; if there is none, no row passes, and nothing is claimed."""
    first, last = _LIMITS[kind]
    low, high = ends
    lower = None if low is None else min(Fraction(math.ceil(low)), last)
    upper = None if high is None else max(Fraction(math.floor(high)), first)
    return Bounds() if lower is not None and upper is not None and lower > upper else Bounds(lower, upper)


def _beyond(bounds: Bounds, kind: Kind) -> Bounds:
    """The ends of a strict comparison: whole numbers, days and microseconds lie at least one beyond the constant.

    Beyond the last value of a kind there is none: no row passes, and the end stays one that the kind can hold.
    """
    if kind not in _LIMITS:
        return bounds
    first, last = _LIMITS[kind]
    low, high = bounds.lower, bounds.upper
    return Bounds(None if low is None else min(low + 1, last), None if high is None else max(high - 1, first))


def _kept(facts: Facts, listed: tuple[Value, ...] | None, bounds: Bounds) -> tuple[Value, ...] | None:
    """The known values that a condition leaves; without known values the listed constants are known."""
    if listed is None:
        return None if facts.domain is None else tuple(key for key in facts.domain if _inside(key, bounds))
    listed = tuple(_compared(value, facts.kind) for value in listed)
    keys = facts.keys
    if keys is not None:
        return tuple(key for key in keys if key in listed)
    alike = all(Kind.of(value) is facts.kind for value in listed)
    return tuple(sorted(set(listed))) if alike else None  # type: ignore[type-var]  # of one kind


def _inside(key: Value, bounds: Bounds) -> bool:
    """Tell whether a known value is one that bounds leave; NULL fulfills no condition."""
    if isinstance(key, dt.date):
        return bounds.contains(as_number(key))
    return key is not None and (isinstance(key, str | bool) or bounds.contains(Fraction(key)))


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


def _narrowing(condition: Expression) -> _Narrowing | None:
    """Read what a comparison with a constant says."""
    if isinstance(condition, In):
        bounds, kind = _hull(condition.choices)
        return _Narrowing(condition.operands[0], bounds, kind, listed=condition.choices)
    if isinstance(condition, Not) and isinstance(condition.operands[0], IsNull):
        return _Narrowing(condition.operands[0].operands[0])
    if isinstance(condition, Equal | Less | LessOrEqual):
        left, right = condition.operands
        for subject, constant in ((left, right), (right, left)):
            if isinstance(constant, Literal) and not isinstance(subject, Literal):
                return _compared_with(constant, condition, subject)
    return None


def _hull(choices: tuple[Value, ...]) -> tuple[Bounds, Kind | None]:
    """The interval of all constants of a list, and their kind: integers beside floats are compared as floats."""
    points = [Literal(choice, Kind.of(choice)).facts({}) for choice in choices]
    kinds = {facts.kind for facts in points}
    if kinds == {Kind.INTEGER, Kind.FLOAT}:
        kinds = {Kind.FLOAT}
    if len(kinds) != 1:
        return UNBOUNDED, None
    return reduce(Bounds.hull, (facts.bounds for facts in points)), next(iter(kinds))


def _compared_with(constant: Literal, condition: Expression, subject: Expression) -> _Narrowing:
    """What a comparison of an expression with a constant says."""
    point = constant.facts({}).bounds
    if isinstance(condition, Equal):
        return _Narrowing(subject, point, constant.kind, listed=(constant.value,))
    bounds = Bounds(None, point.upper) if condition.operands[0] is subject else Bounds(point.lower, None)
    return _Narrowing(subject, bounds, constant.kind, strict=isinstance(condition, Less))

"""Which of the known groups can occur: keys that are computed from one column do not come in all combinations."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from typing import TYPE_CHECKING

from discreet.plans.expressions import Cast, Column, DatePart, DateTrunc, Exp, FormatDate, Ln, Period
from discreet.plans.expressions.expression import ENUMERABLE
from discreet.tables.kinds import Kind, as_date

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Facts, Schema
    from discreet.tables.kinds import Value

__all__ = ["occurring"]

_OF_DAYS = {"year", "quarter", "month", "week", "day", "dow", "isodow", "doy"} | {
    "monthname",
    "dayname",
    "monthname3",
    "dayname3",
}
_MOST_DAYS = 40_000
"""Days between public bounds that are looked at one by one: a hundred years."""


def occurring(keys: Sequence[Expression], schema: Schema) -> Callable[[tuple[Value, ...]], bool]:
    """Give a test of groups: False for combinations of keys that no row can have.

    `year` and `DATE_TRUNC('month', day)` of one column have 36 combinations for 18 months. Keys that share a column are
    computed together, for each of the column's values that public facts allow; a combination that never comes out
    stands for no row whatever the data, so its number is 0 plus noise, and it is not shown. Where the values are not
    known or too many, every combination may occur.

    >>> from discreet.plans.terms import col
    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.tables.bounds import Bounds
    >>> ages = {"age": Facts(Kind.INTEGER, Bounds(0, 39), nullable=False)}
    >>> possible = occurring([(col("age") // 10).expression, (col("age") // 20).expression], ages)
    >>> possible((3, 1)), possible((3, 0))
    (True, False)
    """
    tests = [(places, found) for places in _together(keys) if (found := _combinations(keys, places, schema))]

    def possible(group: tuple[Value, ...]) -> bool:
        return all(tuple(group[place] for place in places) in found for places, found in tests)

    return possible


def _names(expression: Expression) -> frozenset[str]:
    return frozenset(part.name for part in expression.walk() if isinstance(part, Column))


def _together(keys: Sequence[Expression]) -> Iterator[list[int]]:
    """Give the places of keys that share columns, directly or by others; those of two keys at least."""
    left = {place: _names(key) for place, key in enumerate(keys)}
    while left:
        place, names = left.popitem()
        places = [place]
        while near := [other for other, theirs in left.items() if theirs & names]:
            names |= frozenset().union(*(left.pop(other) for other in near))
            places += near
        if len(places) > 1:
            yield sorted(places)


def _combinations(keys: Sequence[Expression], places: list[int], schema: Schema) -> set[tuple[Value, ...]] | None:
    """Compute keys together over all values of their columns; None where these are not known, or too many."""
    some = [keys[place] for place in places]
    names = sorted(frozenset().union(*map(_names, some)))
    if any(isinstance(part, Ln | Exp) for key in some for part in key.walk()):  # engines differ in the last places
        return None
    choices: list[Sequence[Value]] = []
    for name in names:
        values = _values(name, schema[name], some)
        if values is None:
            return None
        choices.append([*values, None] if schema[name].nullable and None not in values else values)
    most = _MOST_DAYS if len(names) == 1 else ENUMERABLE
    if math.prod(map(len, choices)) > most:
        return None
    found = set()
    for combination in itertools.product(*choices):
        row: Mapping[str, Value] = dict(zip(names, combination, strict=True))
        found.add(tuple(key.evaluate(row) for key in some))
    return found


def _values(name: str, facts: Facts, keys: Sequence[Expression]) -> Sequence[Value] | None:
    """The values that a column can have; of dates all days, of timestamps too where keys look at days alone.

    A domain says which values are groups, and others may occur in rows: it is used only where the column stands for
    itself as a key, as rows with another value are in no group then.
    """
    low, high = facts.bounds.lower, facts.bounds.upper
    if low is None or high is None:
        alone = any(isinstance(key, Column) and key.name == name for key in keys)
        return (False, True) if facts.kind is Kind.BOOLEAN else facts.domain if alone else None
    if facts.kind is Kind.INTEGER:
        return range(math.ceil(low), math.floor(high) + 1) if high - low < ENUMERABLE else None
    moments = facts.kind is Kind.TIMESTAMP and all(_looks_at_days(key, name) for key in keys)
    if not (moments or facts.kind is Kind.DATE):
        return None
    first, last = (math.floor(low / _DAY), math.floor(high / _DAY)) if moments else (math.ceil(low), math.floor(high))
    if last - first >= _MOST_DAYS:
        return None
    days = map(as_date, range(first, last + 1))
    return [dt.datetime.combine(day, dt.time()) for day in days] if moments else list(days)


_DAY = 24 * 60 * 60 * 10**6


def _looks_at_days(key: Expression, name: str) -> bool:
    """Tell whether a key has one value for all moments of a day: of the column only parts of days are taken."""
    if isinstance(key, Column):
        return key.name != name
    if any(isinstance(operand, Column) and operand.name == name for operand in key.operands):
        return _takes_days(key)
    return all(_looks_at_days(operand, name) for operand in key.operands)


def _takes_days(operation: Expression) -> bool:
    if isinstance(operation, DatePart):
        return operation.part in _OF_DAYS
    if isinstance(operation, DateTrunc):
        return operation.unit in _OF_DAYS
    if isinstance(operation, Period):
        return operation.seconds % (24 * 60 * 60) == 0
    if isinstance(operation, FormatDate):
        return all(part in _OF_DAYS for part, _ in operation.pieces if part)
    return isinstance(operation, Cast) and operation.kind is Kind.DATE

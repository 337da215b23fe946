"""Which values a group key can take, where the columns that it is computed from have known values."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.plans.expressions import Column, DateTrunc, Exp, Ln
from discreet.plans.facts import ENUMERABLE
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.facts import Schema
    from discreet.tables.kinds import Value

__all__ = ["known_keys"]


def known_keys(expression: Expression, schema: Schema) -> tuple[Value, ...] | None:
    """Give the known values of a key in their order, or None where they are not known.

    Bounds of a number say too much: those of `age // 10 * 10` are 0 and 120, and there are 13 such numbers. So the key
    is computed for each combination of its columns' known values. LN and EXP may differ between engines in the last
    places: a value that is computed with them is no known key.

    >>> from discreet.plans.facts import Facts
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
    found = {expression.evaluate(row) for row in rows} - {None}
    # A condition on the key itself leaves fewer than its columns do.
    kept = sorted(key for key in found if facts.bounds.contains(Fraction(key)))  # type: ignore[type-var, arg-type]  # numbers
    return tuple(kept)

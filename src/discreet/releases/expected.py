"""The ± of arithmetic before anything is released: from those of its values, and from how large these can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.plans.expressions import Add, Cast, Column, Divide, Literal, Multiply, Negate, Subtract
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.plans.expressions import Expression

__all__ = ["Expected", "expected"]


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of a value before it is released: its size lies between two numbers, its noise within `error`.

    >>> Expected(100.0, 100.0, 3.0).error
    3.0
    """

    least: float
    most: float
    error: float


def expected(expression: Expression, values: Mapping[str, Expected]) -> Expected | None:
    """Bound the size of an expression and how far noise moves it, over all values that its parts can have.

    With x' = x + a and y' = y + b, |a| <= A and |b| <= B: sums are off by at most A + B; the product by |x| B + |y| A +
    A B; the quotient x'/y' - x/y = (a - b x/y) / y' by at most (A + B |x| / |y|) / (|y| - B), if B < |y|. None for
    everything else, and where y may be 0 within its noise.

    >>> from discreet.plans.terms import col
    >>> known = {"m0": Expected(0.0, 5000.0, 10.0), "m1": Expected(100.0, 100.0, 3.0)}
    >>> expected((col("m0") / col("m1")).expression, known)
    Expected(least=0.0, most=50.0, error=1.6494845360824741)
    """
    if isinstance(expression, Column):
        return values.get(expression.name)
    if isinstance(expression, Literal):
        value = expression.value
        known = isinstance(value, int | float) and not isinstance(value, bool)
        return Expected(abs(float(value)), abs(float(value)), 0.0) if known else None  # type: ignore[arg-type]
    parts = [expected(operand, values) for operand in expression.operands]
    if any(part is None for part in parts):
        return None
    given = [part for part in parts if part is not None]
    if isinstance(expression, Negate) or (isinstance(expression, Cast) and expression.kind is Kind.FLOAT):
        return given[0]
    found = _combined(expression, *given) if len(given) == 2 else None
    return found if found is not None and math.isfinite(found.error) else None


def _combined(expression: Expression, x: Expected, y: Expected) -> Expected | None:
    if isinstance(expression, Add | Subtract):
        return Expected(max(x.least - y.most, y.least - x.most, 0.0), x.most + y.most, x.error + y.error)
    if isinstance(expression, Multiply):
        # A size without a bound matters only beside noise: a constant has none.
        error = _times(x.most, y.error) + _times(y.most, x.error) + x.error * y.error
        return Expected(x.least * y.least, _times(x.most, y.most), error)
    if isinstance(expression, Divide) and y.error < y.least:
        error = (x.error + _times(x.most, y.error) / y.least) / (y.least - y.error)
        return Expected(x.least / y.most if y.most else 0.0, x.most / y.least, error)
    return None


def _times(size: float, factor: float) -> float:
    return size * factor if factor else 0.0

"""The ± of arithmetic: of what was released, by intervals; and of what will be, from how large values can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.plans.expressions import Add, Cast, Column, Divide, Literal, Multiply, Negate, Subtract
from discreet.plans.expressions.expression import Facts
from discreet.releases.measures.measure import Cell
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.plans.expressions import Expression

__all__ = ["Expected", "computed", "expected", "names_in", "together"]

_OPEN = "it has no ± where a value that it is computed from has none, or might be 0 below a fraction."


def names_in(expression: Expression) -> tuple[str, ...]:
    """The released values that an expression is computed from.

    >>> from discreet.plans.terms import col
    >>> names_in((col("m0") / col("m1") + col("m0")).expression)
    ('m0', 'm1')
    """
    return tuple(dict.fromkeys(part.name for part in expression.walk() if isinstance(part, Column)))


def together(confidence: float, count: int) -> float:
    """The confidence of each of several ± that hold together with a given one: the chances of a miss add up.

    >>> together(0.9, 2)
    0.95
    """
    return 1 - (1 - confidence) / max(count, 1)


def computed(expression: Expression, row: Mapping[str, Cell], kinds: Mapping[str, Kind]) -> Cell:
    """Evaluate an expression, and bound it over everything that its values may truly be.

    With the probability for which the ± in `row` hold together, every true value lies within its ±; then the true
    result lies within the bounds that the expression derives from those of its values, as bounds of columns are
    derived in plans. Where these are open (a fraction whose denominator may be 0, a text), there is no ±.

    >>> from discreet.plans.terms import col
    >>> from discreet.tables import Kind
    >>> kinds = {"m0": Kind.INTEGER, "m1": Kind.INTEGER}
    >>> computed((col("m0") / col("m1")).expression, {"m0": Cell(50, 5.0), "m1": Cell(80, 5.0)}, kinds)
    Cell(value=0.625, error=0.10833333333333339, reason='', exact=False)
    """
    values: dict[str, Any] = {name: cell.value for name, cell in row.items()}
    value: Any = expression.evaluate(values)
    names = names_in(expression)
    if names and all(row[name].exact for name in names):
        return Cell(value, None, "it is computed from keys, which are exact.", exact=True)
    if value is None:
        return Cell(None, None, "a value that it is computed from is NULL, or it is a fraction of 0.")
    if isinstance(value, bool) or not isinstance(value, int | float) or not names:
        return Cell(value, None, "it is no number." if names else "it is a constant.")
    known = {}
    for name in names:
        bounds = _within(row[name])
        if bounds is None:
            return Cell(value, None, _OPEN)
        known[name] = Facts(kinds[name], bounds, nullable=False)
    facts = expression.facts(known)
    low, high = facts.bounds.lower, facts.bounds.upper
    if low is None or high is None or facts.nullable:
        return Cell(value, None, _OPEN)
    return Cell(value, float(max(high - Fraction(value), Fraction(value) - low, Fraction(0))))


def _within(cell: Cell) -> Bounds | None:
    """Where the true value lies; a key is exact, a text has no bounds but needs none."""
    if cell.exact:
        return Bounds(Fraction(cell.value), Fraction(cell.value)) if isinstance(cell.value, int | float) else Bounds()
    if cell.error is None or not isinstance(cell.value, int | float):
        return None
    off = Fraction(cell.error)
    return Bounds(Fraction(cell.value) - off, Fraction(cell.value) + off)


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
    bounded = _combined(expression, *given) if len(given) == 2 else None
    return bounded if bounded is not None and math.isfinite(bounded.error) else None


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

"""What is computed from released values: its ± follows from theirs, by the interval arithmetic of expressions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.plans.expressions import Column
from discreet.plans.facts import Facts
from discreet.releases.decoding import Cell
from discreet.tables.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.plans.expressions import Expression
    from discreet.tables.kinds import Kind

__all__ = ["computed", "names_in", "together"]

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
    if value is None:
        return Cell(None, None, "a value that it is computed from is NULL, or it is a fraction of 0.")
    names = names_in(expression)
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

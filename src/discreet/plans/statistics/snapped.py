"""A number per row as a small integer: clamped, on a power-of-two grid, and counted from a center."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.exact import Grid
from discreet.plans.refusals import refuse
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.facts import Facts

__all__ = ["FLOAT_BITS", "INTEGER_BITS", "SQUARE_BITS", "Snapped"]

FLOAT_BITS = 24
"""Floats are snapped to the largest power of two that is at most 2**-24 of their range."""

INTEGER_BITS = 32
"""Integers are summed as they are, up to a range of 2**32; wider ones are snapped to 2**-32 of it."""

SQUARE_BITS = 16
"""The factors of squares and products are snapped to 2**-16 of their range, so that noise fits into 64 bits.

With |s| <= 2**16 a product is at most 2**32; times 10**4 rows per unit, over an epsilon of 10**-3, that is 2**56, still
within what integer noise can be drawn for. The rounding moves a square by less than 2**-15 of the squared range.
"""

_LEAST_WIDTH = Fraction(1, 2**900)


@dataclass(frozen=True, slots=True)
class Snapped:
    """The integer s = clamp(round(x / step), lower, upper) - center; NULL where x is.

    Rounding is to the nearest integer, halves to even; dividing by a power of two is exact. `lower` and `upper` are
    the snapped bounds, so s lies within [lower - center, upper - center] whatever the row holds: that, not the truth
    of the bounds, is what a sensitivity rests on. Integers have step 1 unless their range is wide; with a larger step
    they are first converted to the nearest double.

    >>> from discreet.plans.expressions import Column
    >>> from discreet.plans.facts import Facts
    >>> from discreet.tables import Bounds, Kind
    >>> age = Snapped.of(Column("age"), Facts(Kind.INTEGER, Bounds(0, 120)), part="AVG")
    >>> age.lower, age.upper, age.centered().center, age.centered().reach
    (0, 120, 60, (-60, 60))
    """

    value: Expression
    lower: int
    upper: int
    center: int
    step: Fraction

    @staticmethod
    def of(value: Expression, facts: Facts, *, part: str, bits: int | None = None) -> Snapped:
        """Choose the grid from the public bounds, or refuse a number without bounds."""
        low, high = facts.bounds.lower, facts.bounds.upper
        if not facts.kind.numeric:
            refuse(part, why=f"It needs numbers, and this is of kind {facts.kind.value}.", instead="COUNT, or a CAST.")
        if low is None or high is None:
            refuse(
                part,
                why="Its numbers have no public bounds, so one unit could move it without limit.",
                instead="bounds in the policy, or LEAST(GREATEST(x, lower), upper).",
            )
        whole = facts.kind is Kind.INTEGER
        width = high - low or abs(high) or Fraction(1)
        if width < _LEAST_WIDTH:
            refuse(part, why="The bounds are closer together than any grid of doubles.", instead="x times a constant.")
        grid = Grid.below(width, bits=bits or (INTEGER_BITS if whole else FLOAT_BITS))
        if whole and grid.step < 1:
            return Snapped(value, int(-(-low // 1)), int(high // 1), 0, Fraction(1))
        if max(abs(low), abs(high)) / grid.step > 2**60:
            refuse(
                part,
                why="The bounds are far from 0 and close together, beyond what doubles can tell apart.",
                instead="x minus a constant.",
            )
        return Snapped(value, grid.steps(low), grid.steps(high), 0, grid.step)

    def centered(self) -> Snapped:
        """Count from the middle of the range: the largest |s|, and with it the noise, becomes half as large or less."""
        return replace(self, center=(self.lower + self.upper) // 2)

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the largest s."""
        return self.lower - self.center, self.upper - self.center

    def canonical(self) -> list[object]:
        """The expression and the grid."""
        return [self.value.canonical(), self.lower, self.upper, self.center, str(self.step)]

"""A stable value: neighbors with different values, and neighbors with the same value at the edge of the test."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import shown_chance
from discreet.mechanisms.instances.stable_value import StableValue

if TYPE_CHECKING:
    from discreet.mechanisms import Mechanism

__all__ = ["cases"]


def _law(mechanism: StableValue, value: tuple[str, int]) -> dict[str, float]:
    """The value where distance plus noise is above the least threshold that hides a distance of 0 well enough."""
    shown = shown_chance(float(mechanism.epsilon), float(mechanism.delta), value[1])
    return {value[0]: shown, "None": 1 - shown}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    tenth = Fraction(1, 10)
    made: Mechanism[tuple[object, float], object] = StableValue(epsilon=1, delta=tenth)
    return (
        Case("another value", made, ("a", 0), ("b", 0), delta=tenth, law=_law, draws=4_000),
        Case("one step nearer", made, ("a", 2), ("a", 3), delta=tenth, law=_law, draws=4_000),
    )

"""The number of different values: a unit that alone holds all its values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import discrete_law
from discreet.mechanisms import CountDistinct

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _law(mechanism: CountDistinct, rows: Sequence[object]) -> dict[int, float]:
    scale = float(mechanism.values / mechanism.epsilon)
    return discrete_law(lambda z: math.exp(-abs(z) / scale), len(set(rows)), -40, 40)


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    return (
        Case("a value more", CountDistinct(epsilon=1), "ab", "abc", law=_law, tight=True),
        Case("three values more", CountDistinct(values=3, epsilon=1), "a", "abcd", law=_law),
    )

"""A count: a row more, and a row exchanged for a missing one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import discrete_law, rounded_law
from discreet.mechanisms import Count
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _law(mechanism: Count, rows: Sequence[object]) -> dict[int, float]:
    scale = 1 / mechanism.privacy.epsilon(0)
    present = sum(row is not None for row in rows)
    return discrete_law(lambda z: math.exp(-abs(z) / scale), present, -40, 40)


def _law_of_rho(mechanism: Count, rows: Sequence[object]) -> dict[int, float]:
    """Rounded Gaussian noise of the variance 1 / (2 rho)."""
    deviation = math.sqrt(1 / (2 * float(mechanism.claim.rho)))  # type: ignore[union-attr]  # a price in rho
    present = sum(row is not None for row in rows)
    return rounded_law(lambda x: math.erfc(x / deviation / math.sqrt(2)) / 2, present, -40, 40)


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    changed = Count(epsilon=1, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("a row more", Count(epsilon=1), [5, 5], [5, 5, 5], law=_law, tight=True),
        Case("a row for a missing one", changed, [5, None], [5, 5], law=_law, tight=True),
        Case("with rho", Count(rho="1/2"), [5, 5], [5, 5, 5], law=_law_of_rho),
    )

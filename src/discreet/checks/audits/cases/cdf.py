"""A distribution function: a row more at the first point, which every sum above holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case, everything
from discreet.checks.audits.laws import discrete_law
from discreet.mechanisms import Cdf
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]


def _below(mechanism: Cdf, rows: Sequence[int], count: int, bits: BitSource) -> NDArray[np.int64]:
    """How many of the rows are at most at the only point."""
    shares = [float(mechanism.release(rows, bits=bits).value[0]) for _ in range(count)]
    return np.round(np.array(shares) * len(rows)).astype(np.int64)


def _law(mechanism: Cdf, rows: Sequence[int]) -> dict[int, float]:
    """One count, which an exchange moves by 1, and another's by 1, with noise for 2; what lies outside is clamped."""
    rate = float(mechanism.claim.epsilon) / 2  # type: ignore[union-attr]  # a pure one
    return discrete_law(lambda z: math.exp(-rate * abs(z)), sum(row <= 0 for row in rows), 0, len(rows))


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    exchanged = Cdf([0], epsilon=2, neighbors=NeighborRelation.CHANGE_ONE, size=20)
    low, high = [0] * 10, [5] * 10
    return (
        Case("a row more", Cdf([0, 1], epsilon=2), [0, 1], [0, 1, 0], everything),
        Case(
            "a row more, in a tree", Cdf([0, 1, 2], epsilon=2, branching=2), [0, 1], [0, 1, 0], everything, draws=2_500
        ),
        Case("a row exchanged", exchanged, [*low, *high], [*low, 0, *high[1:]], _below, law=_law),
    )

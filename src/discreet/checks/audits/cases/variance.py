"""A variance: a row more at a bound, where one of the three sums moves by all that may move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case
from discreet.mechanisms import Variance
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]


def _top(mechanism: Variance, rows: Sequence[int], count: int, bits: BitSource) -> NDArray[np.float64]:
    """The sum of squares, from all that is released; bounds 0 and 1."""
    found = [mechanism.release(rows, bits=bits) for _ in range(count)]
    parts = [(float(str(each.details["total"])), float(str(each.details["share"])), each.value) for each in found]
    return np.array([round(total * (value + share**2), 6) for total, share, value in parts])


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    unit = Variance(lower=0, upper=1, epsilon=2, grid=1)
    exchanged = Variance(lower=0, upper=1, epsilon=2, grid=1, size=3, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("a row more above", unit, [0, 1, 1, 1, 0, 0], [0, 1, 1, 1, 0, 0, 1], _top),
        Case("a row to the other bound", exchanged, [0, 0, 0], [0, 0, 1]),
    )

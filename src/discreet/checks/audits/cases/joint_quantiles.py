"""Quantiles drawn jointly: a row more at an end, and a row that went from one end to the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case
from discreet.mechanisms import JointQuantiles
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]

_POINTS = 2048  # so many that none is divided further


def _at(mechanism: JointQuantiles, rows: Sequence[int], count: int, bits: BitSource) -> NDArray[np.bool_]:
    """Tell whether the median is the point at which all rows are."""
    return np.array([mechanism.release(rows, bits=bits).value[0] == rows[0] for _ in range(count)])


def _law(mechanism: JointQuantiles, rows: Sequence[int]) -> dict[bool, float]:
    """All other points miss half of the rows on either side.

    One row more moves the sum of both by at most 1, a row exchanged by 2.
    """
    moved = 1 if mechanism.neighbors is NeighborRelation.ADD_REMOVE else 2
    others = (_POINTS - 1) * math.exp(-float(mechanism.epsilon) / moved * len(rows) / 2)
    return {True: 1 / (1 + others), False: others / (1 + others)}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    small, wide = {"lower": 0, "upper": 1, "grid": 1}, {"lower": 0, "upper": _POINTS - 1, "grid": 1}
    changed = NeighborRelation.CHANGE_ONE
    plain = JointQuantiles(["1/2"], **small, epsilon=2)  # type: ignore[arg-type]
    exchanged = JointQuantiles(["1/2"], **small, epsilon=2, neighbors=changed)
    heap = JointQuantiles(["1/2"], **wide, epsilon=1)  # type: ignore[arg-type]
    other = JointQuantiles(["1/2"], **wide, epsilon=1, neighbors=changed)
    return (
        Case("a row more", plain, [0, 1], [0, 1, 1], draws=200),
        Case("a row exchanged", exchanged, [0, 0, 1], [0, 1, 1], draws=200),
        Case("a row more on a heap", heap, [1000] * 15, [1000] * 16, _at, draws=800, law=_law, coarse=True),
        Case(
            "a row exchanged on a heap",
            other,
            [1000] * 30,
            [1000] * 29 + [1001],
            _at,
            draws=800,
            law=_law,
            coarse=True,
        ),
    )

"""Several quantiles at once: a row more at an end, and a row that went from one end to the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case
from discreet.mechanisms import Quantiles
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]


def _shown(mechanism: Quantiles, rows: Sequence[int], count: int, bits: BitSource) -> NDArray[np.str_]:
    return np.array([str(mechanism.release(rows, bits=bits).value.tolist()) for _ in range(count)])


_WIDTH = 1 << 60  # so wide that no point is divided further


def _median(mechanism: Quantiles, rows: Sequence[int], count: int, bits: BitSource) -> NDArray[np.bool_]:
    """Tell whether the median, which is drawn first, is the point at which all rows are."""
    middle = len(mechanism.qs) // 2
    return np.array([mechanism.release(rows, bits=bits).value[middle] == rows[0] for _ in range(count)])


def _law(mechanism: Quantiles, rows: Sequence[int]) -> dict[bool, float]:
    """All other points miss the median by half of the rows; one row moves that by a half, an exchange by 1.

    Two levels share the price.
    """
    rate = float(mechanism.claim.epsilon) / mechanism.levels
    rate /= 1 if mechanism.neighbors is NeighborRelation.ADD_REMOVE else 2
    others = _WIDTH * math.exp(-rate * len(rows) / 2)
    return {True: 1 / (1 + others), False: others / (1 + others)}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    changed = NeighborRelation.CHANGE_ONE

    def made(epsilon: int, neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE) -> Quantiles:
        return Quantiles(["1/4", "1/2", "3/4"], lower=0, upper=1, grid=1, epsilon=epsilon, neighbors=neighbors)

    heap = Quantiles(["1/4", "1/2", "3/4"], lower=0, upper=_WIDTH, grid=1, epsilon=2)
    other = Quantiles(["1/4", "1/2", "3/4"], lower=0, upper=_WIDTH, grid=1, epsilon=2, neighbors=changed)
    return (
        Case("a row more", made(2), [0, 1], [0, 1, 1], _shown, draws=400),
        Case("a row exchanged", made(2, changed), [0, 0, 1], [0, 1, 1], _shown, draws=400),
        Case("a row more on a heap", heap, [7] * 83, [7] * 84, _median, draws=400, law=_law, coarse=True),
        Case(
            "a row exchanged on a heap",
            other,
            [7] * 166,
            [7] * 165 + [9],
            _median,
            draws=400,
            law=_law,
            coarse=True,
            also=([7] * 170,),
        ),
    )

"""Several quantiles at once: a row more at an end, and a row that went from one end to the other."""

from __future__ import annotations

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


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    changed = NeighborRelation.CHANGE_ONE

    def made(epsilon: int, neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE) -> Quantiles:
        return Quantiles(["1/4", "1/2", "3/4"], lower=0, upper=1, grid=1, epsilon=epsilon, neighbors=neighbors)

    return (
        Case("a row more", made(2), [0, 1], [0, 1, 1], _shown),
        Case("a row exchanged", made(2, changed), [0, 0, 1], [0, 1, 1], _shown),
    )

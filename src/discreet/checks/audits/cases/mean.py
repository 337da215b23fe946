"""A mean: a row more at a bound; shown are the mean and the noisy number of rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case
from discreet.mechanisms import Mean
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]

_REACH = 30


def _all(mechanism: Mean, rows: Sequence[int], count: int, bits: BitSource) -> NDArray[np.str_]:
    """Everything that is released: the mean, and the total behind its error."""
    found = [mechanism.release(rows, bits=bits) for _ in range(count)]
    return np.array([f"{each.value:.6f} of {each.details['total']}" for each in found])


def _law(mechanism: Mean, rows: Sequence[int]) -> dict[str, float]:
    """Two sums, each with noise of the scale of both together, and the mean that is computed from them."""
    width = int(mechanism.upper - mechanism.lower)
    fall = math.exp(-float(mechanism.claim.epsilon) / width)  # type: ignore[union-attr]  # the laws are of pure ones
    noise = {z: (1 - fall) / (1 + fall) * fall ** abs(z) for z in range(-_REACH, _REACH + 1)}
    above = sum(row - int(mechanism.lower) for row in rows)
    law: dict[str, float] = {}
    for z, p in noise.items():
        for y, q in noise.items():
            first, total = above + z, width * len(rows) + z + y
            share = min(max(first / total, 0.0), 1.0) if total > 0 else 0.5
            name = f"{float(mechanism.lower) + share * width:.6f} of {total}"
            law[name] = law.get(name, 0.0) + p * q
    return law


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    unit = Mean(lower=0, upper=1, epsilon=2, grid=1)
    exchanged = Mean(lower=0, upper=1, epsilon=2, grid=1, size=2, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("a row more above", unit, [0, 1], [0, 1, 1], _all, law=_law),
        Case("a row more below", unit, [0, 1], [0, 1, 0], _all, law=_law),
        Case("the only row", unit, [], [1], _all, law=_law),
        Case("a row to the other bound", exchanged, [0, 0], [0, 1]),
    )

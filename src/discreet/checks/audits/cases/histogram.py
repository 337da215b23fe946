"""A histogram: a row more in one bin, and a row that goes from one bin to another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import convolved, discrete_law
from discreet.mechanisms import Histogram
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]


def _upper(mechanism: Histogram, rows: Sequence[float], count: int, bits: BitSource) -> NDArray[np.int64]:
    """The second bin, in which a row is missing."""
    return np.array([int(mechanism.release(rows, bits=bits).value[1]) for _ in range(count)])


def _difference(mechanism: Histogram, rows: Sequence[float], count: int, bits: BitSource) -> NDArray[np.int64]:
    """The difference of two bins, of which one lost what the other won."""
    return np.array([int(np.diff(mechanism.release(rows, bits=bits).value)[0]) for _ in range(count)])


def _law(mechanism: Histogram, rows: Sequence[float]) -> dict[int, float]:
    scale = 1 / mechanism.privacy.epsilon(0)
    return discrete_law(lambda z: math.exp(-abs(z) / scale), sum(row >= 1 for row in rows), -40, 40)


def _law_of_difference(mechanism: Histogram, rows: Sequence[float]) -> dict[int, float]:
    """Two bins, of which one loses what the other wins, with noise for both on each."""
    scale = 2 / mechanism.privacy.epsilon(0)
    noise = convolved(discrete_law(lambda z: math.exp(-abs(z) / scale), 0, -60, 60), 2)
    off = sum(1 if row >= 1 else -1 for row in rows)
    return {off + z: chance for z, chance in noise.items()}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    exchanged = Histogram([0, 1, 2], epsilon=2, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("a row more", Histogram([0, 1, 2], epsilon=1), [0.5], [0.5, 1.5], _upper, law=_law, tight=True),
        Case("a row in another bin", exchanged, [0.5, 0.5], [0.5, 1.5], _difference, law=_law_of_difference),
    )

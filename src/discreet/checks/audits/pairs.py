"""Covariances and correlations are audited alike: both are computed from noisy sums over a pair of columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.checks.audits.case import Case, everything
from discreet.checks.audits.laws import convolved, discrete_law
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.mechanisms import Correlation, Covariance
    from discreet.noise import BitSource

    Columns: TypeAlias = tuple[Sequence[int], Sequence[int]]
    Paired: TypeAlias = Covariance | Correlation

__all__ = ["pairs"]


def _total(mechanism: Paired, columns: Columns, count: int, bits: BitSource) -> NDArray[np.int64]:
    """Look at the sum of all noisy sums alone, which is released beside the answer."""
    found = [mechanism.release(columns, bits=bits).details["total"] for _ in range(count)]
    return np.maximum(np.array(found, dtype=np.int64), 0)


def _law(mechanism: Paired, columns: Columns) -> dict[int, float]:
    """Every row adds 1 to the sum of all, and every one of the sums has noise for 1; a total below 0 counts as 0."""
    rate, terms = float(mechanism.claim.epsilon), (mechanism.degree + 1) ** 2  # type: ignore[union-attr]
    noise = convolved(discrete_law(lambda z: math.exp(-rate * abs(z)), 0, -20, 20), terms)
    law: dict[int, float] = {}
    for z, chance in noise.items():
        total = max(0, len(columns[0]) + z)
        law[total] = law.get(total, 0.0) + chance
    return law


def pairs(kind: type[Paired]) -> tuple[Case, ...]:
    """Return a row more in a corner of the two bounds, where one of the sums moves by all that may move.

    >>> from discreet.mechanisms import Covariance
    >>> [case.name for case in pairs(Covariance)]
    ['a row more', 'the total', 'a row exchanged']
    """
    unit, changed = {"first": (0, 1), "second": (0, 1), "grids": (1, 1)}, NeighborRelation.CHANGE_ONE
    plain = kind(**unit, epsilon=3)  # type: ignore[arg-type]
    exchanged = kind(**unit, epsilon=2, size=2, neighbors=changed)  # type: ignore[arg-type]
    return (
        Case("a row more", plain, ([0, 1], [0, 1]), ([0, 1, 1], [0, 1, 1]), everything),
        Case("the total", plain, ([0] * 8, [0] * 8), ([0] * 9, [0] * 9), _total, law=_law, coarse=True),
        Case("a row exchanged", exchanged, ([0, 1], [0, 1]), ([0, 0], [0, 0]), everything),
    )

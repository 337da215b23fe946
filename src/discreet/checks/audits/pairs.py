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


def _first(mechanism: Paired, columns: Columns, count: int, bits: BitSource) -> NDArray[np.int64]:
    """Look at what is released of the first column beside the answer: its mean, for a correlation its variance.

    It is looked at in cells of which no end is a number that can come out.
    """
    found = [float(mechanism.release(columns, bits=bits).details["first"]) for _ in range(count)]  # type: ignore[arg-type]
    return _cells(np.array(found), len(columns[0]))


def _cells(values: NDArray[np.float64], rows: int) -> NDArray[np.int64]:
    return np.floor(values * 2 * rows + 0.3217).astype(np.int64)


def _first_law(mechanism: Paired, columns: Columns) -> dict[int, float]:
    """Sums over the second column, one for each power of the first, with noise for an exchange on each of their parts.

    The public number of rows corrects all sums alike. A row at the lower end adds 1 to the first of them, one at the
    upper end to the last; the mean is that of 0, 1 or 0, 1/2, 1, the second moment the last one's share.
    """
    rate, size, rows = float(mechanism.claim.epsilon) / 2, mechanism.degree + 1, len(columns[0])  # type: ignore[union-attr]
    noise = convolved(discrete_law(lambda z: math.exp(-rate * abs(z)), 0, -20, 20), size)
    away = np.array([z for z in noise if abs(z) <= 40])
    chances = np.array([noise[z] for z in away.tolist()])
    exact = [columns[0].count(0), *[0] * (size - 2), columns[0].count(1)]
    sums = np.meshgrid(*(held + away for held in exact), indexing="ij")
    joint = math.prod(np.meshgrid(*[chances] * size, indexing="ij"))
    shares = [(each + (rows - sum(sums)) / size) / rows for each in sums]
    mean = sum(share * place / (size - 1) for place, share in enumerate(shares))
    seen = _cells(np.ravel(mean if size == 2 else shares[-1] - mean**2), rows)
    places, which = np.unique(seen, return_inverse=True)
    held = np.bincount(which, weights=np.ravel(joint))
    return dict(zip(places.tolist(), (held / held.sum()).tolist(), strict=True))


def pairs(kind: type[Paired]) -> tuple[Case, ...]:
    """Return a row more in a corner of the two bounds, where one of the sums moves by all that may move.

    >>> from discreet.mechanisms import Covariance
    >>> [case.name for case in pairs(Covariance)]
    ['a row more', 'the total', 'a row exchanged']
    """
    unit, changed = {"first": (0, 1), "second": (0, 1), "grids": (1, 1)}, NeighborRelation.CHANGE_ONE
    plain = kind(**unit, epsilon=3)  # type: ignore[arg-type]
    exchanged = kind(**unit, epsilon=2, size=20, neighbors=changed)  # type: ignore[arg-type]
    even, other = ([0, 1] * 10, [0, 1] * 10), ([0, 1] * 9 + [0, 0], [0, 1] * 9 + [0, 0])
    return (
        Case("a row more", plain, ([0, 1], [0, 1]), ([0, 1, 1], [0, 1, 1]), everything),
        Case("the total", plain, ([0] * 8, [0] * 8), ([0] * 9, [0] * 9), _total, law=_law, coarse=True),
        Case("a row exchanged", exchanged, even, other, _first, law=_first_law, coarse=True),
    )

"""Choices by rank: rows come and go at either end of the grid, or go from one end to the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.checks.audits.case import Case, looking_at
from discreet.checks.audits.laws import normalized
from discreet.mechanisms import JointQuantiles, Maximum, Minimum, Quantile, Quantiles
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]

_CHANGED = NeighborRelation.CHANGE_ONE
_WIDTH = 1 << 60  # so wide that no point is divided further
_POINTS = 2048  # so many that none is divided further


def _extreme(mechanism: Maximum | Minimum, rows: Sequence[int]) -> dict[int, float]:
    """Every point by how many rows more or fewer than the rank lie beyond it; one row moves that by at most 1."""
    sign, weights = 1 if isinstance(mechanism, Maximum) else -1, {}
    for point in range(int(mechanism.lower), int(mechanism.upper) + 1):
        beyond = sum(sign * row > sign * point for row in rows)
        missed = max(0, beyond - mechanism.rank, mechanism.rank - beyond - rows.count(point))
        weights[point] = math.exp(-float(mechanism.epsilon) * missed / 2)
    return normalized(weights)


def _quantile(mechanism: Quantile, rows: Sequence[int]) -> dict[int, float]:
    """Every point of the grid by its score: minus the rows by which it misses the rank."""
    q, n = float(mechanism.q), len(rows)
    moved = max(q, 1 - q) if mechanism.neighbors is NeighborRelation.ADD_REMOVE else 1.0
    weights = {}
    for point in range(int(mechanism.lower), int(mechanism.upper) + 1):
        below, upto = sum(row < point for row in rows), sum(row <= point for row in rows)
        missed = max(0.0, below - q * n, q * n - upto)
        weights[point] = math.exp(-float(mechanism.epsilon) * missed / (2 * moved))
    return normalized(weights)


def _on_heap(mechanism: Quantiles | JointQuantiles, rows: Sequence[int]) -> dict[bool, float]:
    """Whether the median is the point at which all rows are: every other point misses half of the rows.

    Drawn first of several, it has its level's part of the price, and one row moves what it misses by a half, an
    exchange by 1. Drawn jointly, it misses half of the rows on either side, and one row moves the sum of both by at
    most 1, an exchange by 2.
    """
    moved = 1 if mechanism.neighbors is NeighborRelation.ADD_REMOVE else 2
    if isinstance(mechanism, Quantiles):
        rate, others = float(mechanism.claim.epsilon) / mechanism.levels, _WIDTH
    else:
        rate, others = float(mechanism.epsilon), _POINTS - 1
    odds = others * math.exp(-rate / moved * len(rows) / 2)
    return {True: 1 / (1 + odds), False: odds / (1 + odds)}


def _several(epsilon: int, upper: int = 1, neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE) -> Quantiles:
    return Quantiles(["1/4", "1/2", "3/4"], lower=0, upper=upper, grid=1, epsilon=epsilon, neighbors=neighbors)


def _jointly(epsilon: int, upper: int = 1, neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE) -> JointQuantiles:
    return JointQuantiles(["1/2"], lower=0, upper=upper, grid=1, epsilon=epsilon, neighbors=neighbors)


def _quantile_of(q: str, epsilon: int, neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE) -> Quantile:
    return Quantile(q, lower=0, upper=3, grid=1, epsilon=epsilon, neighbors=neighbors)


def _quantiles() -> tuple[Case, ...]:
    shown = looking_at(lambda release: str(release.value.tolist()))
    middle = looking_at(lambda release: release.value[1] == 7)
    only = looking_at(lambda release: release.value[0] == 1000)
    heap: dict[str, Any] = {"law": _on_heap, "coarse": True}
    top, more = _POINTS - 1, ([7] * 170,)
    return (
        Case("a row more", _several(2), [0, 1], [0, 1, 1], shown, draws=400),
        Case("a row exchanged", _several(2, 1, _CHANGED), [0, 0, 1], [0, 1, 1], shown, draws=400),
        Case("a row more on a heap", _several(2, _WIDTH), [7] * 83, [7] * 84, middle, draws=400, **heap),
        Case(
            "a row exchanged on a heap",
            _several(2, _WIDTH, _CHANGED),
            [7] * 166,
            [7] * 165 + [9],
            middle,
            draws=400,
            also=more,
            **heap,
        ),
        Case("a row more", _jointly(2), [0, 1], [0, 1, 1], draws=200),
        Case("a row exchanged", _jointly(2, 1, _CHANGED), [0, 0, 1], [0, 1, 1], draws=200),
        Case("a row more on a heap", _jointly(1, top), [1000] * 15, [1000] * 16, only, draws=800, **heap),
        Case(
            "a row exchanged on a heap",
            _jointly(1, top, _CHANGED),
            [1000] * 30,
            [1000] * 29 + [1001],
            only,
            draws=800,
            **heap,
        ),
    )


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    tiny: dict[str, Any] = {"lower": 0, "upper": 3, "grid": 1, "epsilon": 3}
    half, last = "1/2", _quantile_of("0.9", 3)
    return (
        *(
            case
            for kind, also in ((Maximum, ([0, 1, 3],)), (Minimum, ()))
            for case in (
                Case("a row more above", kind(**tiny), [0, 1], [0, 1, 3], law=_extreme),
                Case("a row more below", kind(**tiny), [3, 3], [0, 3, 3], law=_extreme),
                Case("the only row", kind(**tiny), [], [3], law=_extreme, also=also),
                Case("a row exchanged", kind(**tiny, neighbors=_CHANGED), [0, 0, 3], [0, 3, 3], law=_extreme),
            )
        ),
        Case("the median, a row more", _quantile_of(half, 3), [0, 3], [0, 3, 3], law=_quantile),
        Case("the median, a row more where rows are", _quantile_of(half, 3), [1, 3, 3], [1, 1, 3, 3], law=_quantile),
        Case("the ninth decile, a row more", last, [1, 1, 1, 1, 3], [1, 1, 1, 1, 1, 3], law=_quantile),
        Case("the median, a row exchanged", _quantile_of(half, 2, _CHANGED), [1, 1, 3, 3], [0, 1, 1, 3], law=_quantile),
        Case("the median of nothing", _quantile_of(half, 2), [], [3], law=_quantile),
        *_quantiles(),
    )

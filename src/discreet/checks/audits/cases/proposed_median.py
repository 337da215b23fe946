"""A proposed bound on a median: rows between which the median jumps."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case, shown_in_cells
from discreet.checks.audits.laws import cells_law, law_if_shown, shown_chance
from discreet.mechanisms.instances.proposed_median import ProposedMedian
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]

_EDGES = [-1.5, 0.5, 48.5, 49.5, 50.5, 51.5, 98.5, 99.5, 100.5]


def _law(mechanism: ProposedMedian, rows: Sequence[int]) -> dict[str, float]:
    """Rows all alike but for one, or of both ends: the median, and how many ranks away another value is."""
    ends = [int(mechanism.lower)] * 99 + sorted(rows) + [int(mechanism.upper)] * 99
    middle = 98 + (len(rows) + 1) // 2
    windows = [
        max(ends[middle + i] - ends[middle - (k - i)] for i in range(k + 1)) for k in range(1, 90)
    ]  # of k ranks around the median
    distance = next(k for k, width in enumerate(windows) if width > mechanism.bound)
    half = float(mechanism.epsilon) / 2
    cells = cells_law(lambda x: math.exp(-x) / 2, float(ends[middle]), float(mechanism.bound) / half, _EDGES)
    return law_if_shown(shown_chance(half, float(mechanism.delta), distance), cells)


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    twentieth, facts = Fraction(1, 20), {"lower": 0, "upper": 100, "grid": 1, "epsilon": 2, "delta": "0.05"}
    made = ProposedMedian(1, **facts)  # type: ignore[arg-type]
    exchanged = ProposedMedian(1, **facts, neighbors=NeighborRelation.CHANGE_ONE)  # type: ignore[arg-type]
    seen = shown_in_cells(_EDGES)
    return (
        Case(
            "the median jumps",
            made,
            [0, 100],
            [0, 100, 100],
            seen,
            delta=twentieth,
            law=_law,
            coarse=True,
            also=([50] * 9,),
        ),
        Case("a row exchanged", exchanged, [50] * 9, [50] * 8 + [100], seen, delta=twentieth, law=_law, coarse=True),
    )

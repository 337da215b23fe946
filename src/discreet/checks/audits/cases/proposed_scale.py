"""A proposed bound on a scale: a row that makes the range between quartiles jump."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case, shown_in_cells
from discreet.checks.audits.laws import cells_law, law_if_shown, shown_chance
from discreet.mechanisms.instances.proposed_scale import ProposedScale
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]

_EDGES = [0.25, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5]


def _law(mechanism: ProposedScale, rows: Sequence[int]) -> dict[str, float]:
    """The quartiles' range, and after how many ranks either way it may have changed by the factor."""
    ordered = [int(mechanism.lower)] * 99 + sorted(rows) + [int(mechanism.upper)] * 99
    first, third = (98 + math.ceil(q * len(rows) / 4) for q in (1, 3))
    pairs = [
        (ordered[third + k] - ordered[first - k], ordered[third - k] - ordered[first + k]) for k in range(1, 40)
    ]  # the largest and the least range of data k steps away
    distance = next(k for k, (high, low) in enumerate(pairs) if low <= 0 or high > mechanism.factor * low)
    half, wide = float(mechanism.epsilon) / 2, max(1, ordered[third] - ordered[first])
    scale = math.log(mechanism.factor) / half
    return law_if_shown(
        shown_chance(half, float(mechanism.delta), distance),
        cells_law(lambda x: math.exp(-x) / 2, math.log(wide), scale, _EDGES),
    )


def cases() -> tuple[Case, ...]:
    """Return the pairs; what is shown is looked at by its logarithm."""
    twentieth, facts = Fraction(1, 20), {"lower": 0, "upper": 100, "grid": 1, "epsilon": 2, "delta": "0.05"}
    made = ProposedScale(2, **facts)  # type: ignore[arg-type]
    exchanged = ProposedScale(2, **facts, neighbors=NeighborRelation.CHANGE_ONE)  # type: ignore[arg-type]
    seen, apart = shown_in_cells(_EDGES, math.log), [30] * 9 + [60] * 9
    return (
        Case("a row far away", made, [0, 1], [0, 1, 100], seen, delta=twentieth, law=_law, coarse=True, also=(apart,)),
        Case("two heaps, a row more", made, apart, [*apart, 100], seen, delta=twentieth, law=_law, coarse=True),
        Case(
            "a row exchanged",
            exchanged,
            [0, 1, 1, 2],
            [0, 1, 100, 1],
            seen,
            delta=twentieth,
            law=_law,
            coarse=True,
            also=(apart,),
        ),
    )

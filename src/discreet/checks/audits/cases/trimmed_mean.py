"""A trimmed mean with smooth sensitivity: neighbors that move it, and ones whose noise differs most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case, in_cells
from discreet.checks.audits.laws import cells_law, polyplace_above
from discreet.mechanisms.instances.trimmed_mean import TrimmedMean
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]

_EDGES = [4 + each + 2.0**-19 for each in (-0.2, -0.1, -0.05, -0.02, 0.02, 0.05, 0.1, 0.2)]

_WIDE = [0.125, 1.125, 2.125, 3.125, 4.125, 5.125, 6.125, 7.125]


def _law(mechanism: TrimmedMean, rows: Sequence[int], edges: Sequence[float] = tuple(_EDGES)) -> dict[int, float]:
    """The mean of what is left, with noise for the mechanism's own bound: that it is smooth is tested by trying all."""
    kept = sorted(rows)
    for _ in range(min(mechanism.trim, (len(rows) - 1) // 2)):
        kept = kept[1:-1]
    mean = sum(kept) / len(kept) if kept else float(mechanism.lower + mechanism.upper) / 2
    bound = mechanism.value_and_bound(list(rows))[1] * mechanism.grid.step
    scale = float(mechanism.noise.stretch * bound)
    return cells_law(polyplace_above(float(mechanism.shape)), mean, scale, edges)


def _wide_law(mechanism: TrimmedMean, rows: Sequence[int]) -> dict[int, float]:
    return _law(mechanism, rows, _WIDE)


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    changed, wide = NeighborRelation.CHANGE_ONE, in_cells(_WIDE)
    facts = {"lower": 0, "upper": 8, "grid": "1/4"}
    plain = TrimmedMean(1, **facts, epsilon=2)  # type: ignore[arg-type]
    exchanged = TrimmedMean(1, **facts, epsilon=2, neighbors=changed)  # type: ignore[arg-type]
    return (
        Case("the noise widens", plain, [4] * 24, [4] * 23, in_cells(_EDGES), draws=800, law=_law, coarse=True),
        Case("a row more", plain, [0, 0, 8, 8], [0, 0, 8, 8, 8], wide, draws=1_000, law=_wide_law, coarse=True),
        Case("the only row", plain, [], [8], wide, draws=1_000, law=_wide_law, coarse=True),
        Case(
            "a row exchanged",
            exchanged,
            [0, 0, 8],
            [0, 8, 8],
            wide,
            draws=1_000,
            law=_wide_law,
            coarse=True,
        ),
    )

"""A quantile with smooth sensitivity: neighbors between which the median jumps, and ones whose noise differs most."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case, in_cells
from discreet.checks.audits.laws import cells_law, polyplace_above
from discreet.mechanisms.instances.smooth_quantile import SmoothQuantile
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]

_EDGES = [4 + each / 64 for each in (-24.5, -14.5, -8.5, -3.5, 3.5, 8.5, 14.5, 24.5)]  # between points of a grid

_WIDE = [0.125, 1.125, 2.125, 3.125, 4.125, 5.125, 6.125, 7.125]


def _law(mechanism: SmoothQuantile, rows: Sequence[int]) -> dict[int, float]:
    """The median with noise for the largest exp(-t k) times the widest window of k + 1 ranks around it."""
    ordered = [int(mechanism.lower)] * 99 + sorted(rows) + [int(mechanism.upper)] * 99
    middle, t = 98 + max(1, math.ceil(len(rows) / 2)), float(mechanism.smoothing)
    windows = [max(ordered[middle + i] - ordered[middle - (k - i)] for i in range(k + 1)) for k in range(1, 90)]
    bound = max(math.exp(-t * k) * window for k, window in enumerate(windows))
    scale = float(mechanism.noise.stretch) * bound
    return cells_law(polyplace_above(float(mechanism.shape)), float(ordered[middle]), scale, _EDGES)


def _wide_law(mechanism: SmoothQuantile, rows: Sequence[int]) -> dict[int, float]:
    """The median with noise for the mechanism's own bound: that it is smooth is tested by trying all data."""
    middle, bound = mechanism.value_and_bound(rows)
    scale = float(mechanism.noise.stretch * bound * mechanism.grid.step)
    center = float(mechanism.lower + middle * mechanism.grid.step)
    return cells_law(polyplace_above(float(mechanism.shape)), center, scale, _WIDE)


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    changed, wide = NeighborRelation.CHANGE_ONE, in_cells(_WIDE)
    facts = {"lower": 0, "upper": 8, "grid": "1/4"}
    plain = SmoothQuantile("1/2", **facts, epsilon=2)  # type: ignore[arg-type]
    exchanged = SmoothQuantile("1/2", **facts, epsilon=2, neighbors=changed)  # type: ignore[arg-type]
    fine = SmoothQuantile("1/2", lower=0, upper=8, grid="1/64", epsilon=2)
    return (
        Case("the noise widens", fine, [4] * 24, [4] * 23, in_cells(_EDGES), draws=800, law=_law, coarse=True),
        Case("the median jumps", plain, [0, 0, 8, 8], [0, 0, 8, 8, 8], wide, draws=2_000, law=_wide_law, coarse=True),
        Case("a row exchanged", exchanged, [0, 0, 8], [0, 8, 8], wide, draws=2_000, law=_wide_law, coarse=True),
    )

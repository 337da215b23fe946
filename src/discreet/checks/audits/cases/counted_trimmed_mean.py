"""A trimmed mean whose trimming follows a noisy count: a row more, far away or the only one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case, in_cells
from discreet.checks.audits.laws import cells_law, discrete_law, polyplace_above
from discreet.mechanisms.statistics.trimmed_mean import CountedTrimmedMean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]

_EDGES = [4 + each + 2.0**-30 for each in (-0.5, -0.01, -0.003, -0.001, 0.001, 0.003, 0.01, 0.5)]


def _counts(mechanism: CountedTrimmedMean, rows: Sequence[int]) -> dict[int, float]:
    """The count, with a quarter of epsilon."""
    rate = float(mechanism.epsilon) / 4
    return discrete_law(lambda z: math.exp(-rate * abs(z)), len(rows), -40, 60)


def _counted(mechanism: CountedTrimmedMean, rows: Sequence[int], count: int, bits: BitSource) -> NDArray[np.int64]:
    """Look at the count alone, which is released beside the mean."""
    found = [mechanism.release(rows, bits=bits).details["count"] for _ in range(count)]
    return np.array(found, dtype=np.int64)


def _law(mechanism: CountedTrimmedMean, rows: Sequence[int]) -> dict[int, float]:
    """The mean with noise for the mechanism's own bound, for the trimming that each count leads to."""
    law = dict.fromkeys(range(len(_EDGES) + 1), 0.0)
    mean = sum(rows) / len(rows) if rows else float(mechanism.lower + mechanism.upper) / 2  # rows are all alike
    for count, chance in _counts(mechanism, rows).items():
        made = mechanism.trimmed(count)
        scale = float(made.noise.stretch * made.value_and_bound(list(rows))[1] * made.grid.step)
        for cell, part in cells_law(polyplace_above(float(made.shape)), mean, scale, _EDGES).items():
            law[cell] += chance * part
    return law


def cases() -> tuple[Case, ...]:
    """Return the pairs; a release takes long, so there are few draws."""
    made, alike = CountedTrimmedMean(lower=0, upper=8, epsilon=2), [4] * 30
    return (
        Case("the count of rows", made, [], [8], _counted, draws=400, law=_counts, coarse=True),
        Case(
            "rows all alike",
            made,
            alike,
            [*alike, 4],
            in_cells(_EDGES),
            draws=600,
            law=_law,
            coarse=True,
        ),
    )

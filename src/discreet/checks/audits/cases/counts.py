"""Counts and sums: a row more, or exchanged, where it moves the sum by all that it may."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.audits.case import Case, everything, looking_at
from discreet.checks.audits.laws import difference_law, laplace_law, normal_above, rounded_law
from discreet.mechanisms import Cdf, ContingencyTable, Count, CountDistinct, Histogram, Sum
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    Columns = tuple[Sequence[str], ...]

__all__ = ["cases"]

_CHANGED = NeighborRelation.CHANGE_ONE


def _count(mechanism: Count, rows: Sequence[object]) -> dict[int, float]:
    return laplace_law(1 / mechanism.privacy.epsilon(0), sum(row is not None for row in rows), -40, 40)


def _count_of_rho(mechanism: Count, rows: Sequence[object]) -> dict[int, float]:
    """Rounded Gaussian noise of the variance 1 / (2 rho)."""
    deviation = math.sqrt(1 / (2 * float(mechanism.claim.rho)))  # type: ignore[union-attr]  # a price in rho
    return rounded_law(lambda x: normal_above(x / deviation), sum(row is not None for row in rows), -40, 40)


def _distinct(mechanism: CountDistinct, rows: Sequence[object]) -> dict[int, float]:
    return laplace_law(float(mechanism.values / mechanism.epsilon), len(set(rows)), -40, 40)


def _sum(mechanism: Sum, rows: Sequence[int]) -> dict[int, float]:
    """Whole numbers: noise for the farther bound, or for the distance of the bounds."""
    low, high = int(mechanism.lower), int(mechanism.upper)
    moved = max(abs(low), abs(high), 0 if mechanism.neighbors is NeighborRelation.ADD_REMOVE else high - low)
    scale = moved / float(mechanism.claim.epsilon)  # type: ignore[union-attr]  # the laws are of pure ones
    return laplace_law(scale, sum(min(max(row, low), high) for row in rows), -60, 60)


def _upper_bin(mechanism: Histogram, rows: Sequence[float]) -> dict[int, float]:
    return laplace_law(1 / mechanism.privacy.epsilon(0), sum(row >= 1 for row in rows), -40, 40)


def _bins_apart(mechanism: Histogram, rows: Sequence[float]) -> dict[int, float]:
    """Two bins, of which one loses what the other wins, with noise for both on each."""
    return difference_law(2 / mechanism.privacy.epsilon(0), sum(1 if row >= 1 else -1 for row in rows))


def _last_cell(mechanism: ContingencyTable, columns: Columns) -> dict[int, float]:
    held = sum(row == ("b", "d") for row in zip(*columns, strict=True))
    return laplace_law(1 / mechanism.privacy.epsilon(0), held, -40, 40)


def _cells_apart(mechanism: ContingencyTable, columns: Columns) -> dict[int, float]:
    """As of bins."""
    return difference_law(2 / mechanism.privacy.epsilon(0), sum(1 if value == "b" else -1 for value in columns[0]))


def _rows_below(mechanism: Cdf, rows: Sequence[int]) -> dict[int, float]:
    """One count, which an exchange moves by 1, and another's by 1, with noise for 2; what lies outside is clamped."""
    scale = 2 / float(mechanism.claim.epsilon)  # type: ignore[union-attr]  # a pure one
    return laplace_law(scale, sum(row <= 0 for row in rows), 0, len(rows))


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    last = looking_at(lambda release: int(np.ravel(release.value)[-1]))
    apart = looking_at(lambda release: int(np.diff(release.value)[0]))
    below = looking_at(lambda release: round(float(release.value[0]) * 20))
    whole: dict[str, Any] = {"lower": -3, "upper": 2, "epsilon": 1, "grid": 1}
    changed: dict[str, Any] = {"epsilon": 2, "neighbors": _CHANGED}
    wide, binned = Sum(**whole), Histogram([0, 1, 2], **changed)
    table, low, high = ContingencyTable(["ab", "cd"], epsilon=1), [0] * 10, [5] * 10
    one, other = (["a"], ["c"]), (["a", "b"], ["c", "d"])
    return (
        Case("a row more", Count(epsilon=1), [5, 5], [5, 5, 5], law=_count, tight=True),
        Case(
            "a row for a missing one", Count(epsilon=1, neighbors=_CHANGED), [5, None], [5, 5], law=_count, tight=True
        ),
        Case("with rho", Count(rho="1/2"), [5, 5], [5, 5, 5], law=_count_of_rho),
        Case("a value more", CountDistinct(epsilon=1), "ab", "abc", law=_distinct, tight=True),
        Case("three values more", CountDistinct(values=3, epsilon=1), "a", "abcd", law=_distinct),
        Case("a row more", wide, [0, 1], [0, 1, -3], law=_sum),
        Case("a row far outside", wide, [0, 1], [0, 1, -(10**12)], law=_sum),
        Case("a row to the other bound", Sum(**whole, size=2, neighbors=_CHANGED), [0, -3], [0, 2], law=_sum),
        Case("with rho", Sum(lower=0, upper=1, rho=1, grid="1/4"), [0.0], [0.0, 1.0]),
        Case("a row more", Histogram([0, 1, 2], epsilon=1), [0.5], [0.5, 1.5], last, law=_upper_bin, tight=True),
        Case("a row in another bin", binned, [0.5, 0.5], [0.5, 1.5], apart, law=_bins_apart),
        Case("a row more", table, one, other, last, law=_last_cell, tight=True),
        Case(
            "a row in another cell",
            ContingencyTable(["ab"], **changed),
            (["a", "a"],),
            (["a", "b"],),
            apart,
            law=_cells_apart,
        ),
        Case("a row more", Cdf([0, 1], epsilon=2), [0, 1], [0, 1, 0], everything),
        Case(
            "a row more, in a tree", Cdf([0, 1, 2], epsilon=2, branching=2), [0, 1], [0, 1, 0], everything, draws=2_500
        ),
        Case(
            "a row exchanged", Cdf([0], **changed, size=20), [*low, *high], [*low, 0, *high[1:]], below, law=_rows_below
        ),
    )

"""Answers that are shown where they are stable: neighbors that break what was proposed, and ones at the test's edge."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.checks.audits.case import Case, shown_in_cells
from discreet.checks.audits.laws import cells_law, laplace_above, law_if_shown, shown_chance
from discreet.mechanisms.data_dependent.propose_test_release import ProposeTestRelease
from discreet.mechanisms.data_dependent.proposed_median import ProposedMedian
from discreet.mechanisms.data_dependent.proposed_scale import ProposedScale
from discreet.mechanisms.data_dependent.stable_top_k import StableTopK
from discreet.mechanisms.data_dependent.stable_value import StableValue
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.mechanisms import Mechanism

__all__ = ["cases"]

_CHANGED = NeighborRelation.CHANGE_ONE
_VALUES = [-1.5, -0.5, 0.5, 1.5, 25.5, 49.5, 50.5]
_MEDIANS = [-1.5, 0.5, 48.5, 49.5, 50.5, 51.5, 98.5, 99.5, 100.5]
_SCALES = [0.25, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5]


def _value(mechanism: StableValue, value: tuple[str, int]) -> dict[str, float]:
    """The value where distance plus noise is above the least threshold that hides a distance of 0 well enough."""
    shown = shown_chance(float(mechanism.epsilon), float(mechanism.delta), value[1])
    return {value[0]: shown, "None": 1 - shown}


def _top(mechanism: StableTopK, rows: Sequence[str]) -> dict[str, float]:
    """The most frequent names, ties to the first, and how many rows it takes until they are others, less one."""
    names, k = [str(candidate) for candidate in mechanism.candidates], mechanism.k
    order = sorted(names, key=lambda name: (-rows.count(name), names.index(name)))
    gaps = [rows.count(a) - rows.count(b) + (names.index(b) > names.index(a)) for a in order[:k] for b in order[k:]]
    closed = 1 if mechanism.neighbors is NeighborRelation.ADD_REMOVE else 2
    shown = shown_chance(float(mechanism.epsilon), float(mechanism.delta), -(-min(gaps) // closed) - 1)
    return {str(tuple(sorted(order[:k], key=names.index))): shown, "None": 1 - shown}


def _proposed(  # noqa: PLR0913, PLR0917 - the numbers of one law
    half: float, delta: float, distance: int, center: float, scale: float, edges: Sequence[float]
) -> dict[str, float]:
    """A test of the distance with half of epsilon, and Laplace noise for the bound with the other half."""
    return law_if_shown(shown_chance(half, delta, distance), cells_law(laplace_above, center, scale, edges))


def _any(mechanism: ProposeTestRelease, value: tuple[float, int]) -> dict[str, float]:
    """Noise for the bound and for a step of its grid."""
    half = float(mechanism.epsilon) / 2
    step = 2.0 ** math.floor(math.log2(float(mechanism.bound) * min(1.0, 1 / half))) * 2.0**-20
    scale = (float(mechanism.bound) + step) / half
    return _proposed(half, float(mechanism.delta), value[1], value[0], scale, _VALUES)


def _median(mechanism: ProposedMedian, rows: Sequence[int]) -> dict[str, float]:
    """Rows all alike but for one, or of both ends: the median, and how many ranks away another value is."""
    ends = [int(mechanism.lower)] * 99 + sorted(rows) + [int(mechanism.upper)] * 99
    middle = 98 + (len(rows) + 1) // 2
    windows = [
        max(ends[middle + i] - ends[middle - (k - i)] for i in range(k + 1)) for k in range(1, 90)
    ]  # of k ranks around the median
    distance = next(k for k, width in enumerate(windows) if width > mechanism.bound)
    half, scale = float(mechanism.epsilon) / 2, float(mechanism.bound) / (float(mechanism.epsilon) / 2)
    return _proposed(half, float(mechanism.delta), distance, float(ends[middle]), scale, _MEDIANS)


def _scale(mechanism: ProposedScale, rows: Sequence[int]) -> dict[str, float]:
    """The quartiles' range, and after how many ranks either way it may have changed by the factor."""
    ordered = [int(mechanism.lower)] * 99 + sorted(rows) + [int(mechanism.upper)] * 99
    first, third = (98 + math.ceil(q * len(rows) / 4) for q in (1, 3))
    ranges = [
        (ordered[third + k] - ordered[first - k], ordered[third - k] - ordered[first + k]) for k in range(1, 40)
    ]  # the largest and the least range of data k steps away
    distance = next(k for k, (high, low) in enumerate(ranges) if low <= 0 or high > mechanism.factor * low)
    half, wide = float(mechanism.epsilon) / 2, max(1, ordered[third] - ordered[first])
    return _proposed(half, float(mechanism.delta), distance, math.log(wide), math.log(mechanism.factor) / half, _SCALES)


def _of_proposals() -> tuple[Case, ...]:
    """What is shown of a scale is looked at by its logarithm."""
    any_bound = ProposeTestRelease(1, epsilon=2, delta="0.05")
    edge, apart = any_bound.test.threshold, [30] * 9 + [60] * 9
    facts: dict[str, Any] = {"lower": 0, "upper": 100, "grid": 1, "epsilon": 2, "delta": "0.05"}
    median, swapped = ProposedMedian(1, **facts), ProposedMedian(1, **facts, neighbors=_CHANGED)
    scale, other = ProposedScale(2, **facts), ProposedScale(2, **facts, neighbors=_CHANGED)
    seen: dict[str, Any] = {"delta": "0.05", "coarse": True}
    values: dict[str, Any] = {**seen, "draw": shown_in_cells(_VALUES), "law": _any}
    medians: dict[str, Any] = {**seen, "draw": shown_in_cells(_MEDIANS), "law": _median}
    scales: dict[str, Any] = {**seen, "draw": shown_in_cells(_SCALES, math.log), "law": _scale}
    return (
        Case("the bound is broken", any_bound, (0.0, 0), (50.0, 0), draws=4_000, **values),
        Case("at the edge of the test", any_bound, (0.0, edge), (1.0, edge + 1), **values),
        Case("the median jumps", median, [0, 100], [0, 100, 100], also=([50] * 9,), **medians),
        Case("a row exchanged", swapped, [50] * 9, [50] * 8 + [100], **medians),
        Case("a row far away", scale, [0, 1], [0, 1, 100], also=(apart,), **scales),
        Case("two heaps, a row more", scale, apart, [*apart, 100], **scales),
        Case("a row exchanged", other, [0, 1, 1, 2], [0, 1, 100, 1], also=(apart,), **scales),
    )


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    value: Mechanism[tuple[object, float], object] = StableValue(epsilon=1, delta="0.1")
    price: dict[str, Any] = {"epsilon": 1, "delta": "0.1"}
    top, two, exchanged = (
        StableTopK("ab", 1, **price),
        StableTopK("abc", 2, **price),
        StableTopK("ab", 1, **price, neighbors=_CHANGED),
    )
    often: dict[str, Any] = {"delta": "0.1", "draws": 4_000}
    return (
        Case("another value", value, ("a", 0), ("b", 0), law=_value, **often),
        Case("one step nearer", value, ("a", 2), ("a", 3), law=_value, **often),
        Case("a row breaks a tie", top, list("ab"), list("abb"), law=_top, **often),
        Case("a row widens a lead", two, list("aaaabbb"), list("aaaabbbb"), law=_top, **often),
        Case("a row exchanged", exchanged, list("aab"), list("abb"), law=_top, **often),
        *_of_proposals(),
    )

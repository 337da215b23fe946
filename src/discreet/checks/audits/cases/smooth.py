"""Smooth sensitivity: neighbors that move the value, and ones whose noise differs most.

Numbers are looked at in cells whose edges lie between points of the grids; cells do not see that ends are clamped.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.checks.audits.case import Case, in_cells, looking_at
from discreet.checks.audits.laws import cells_law, laplace_above, laplace_law, polyplace_above
from discreet.mechanisms import PredictionVariance
from discreet.mechanisms.data_dependent.reciprocal_count import ReciprocalCount
from discreet.mechanisms.data_dependent.smooth_quantile import SmoothQuantile
from discreet.mechanisms.data_dependent.smooth_sensitivity import SmoothSensitivity
from discreet.mechanisms.data_dependent.trimmed_mean import TrimmedMean
from discreet.mechanisms.statistics.trimmed_mean import CountedTrimmedMean
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.mechanisms.sensitivity.smooth_mechanism import Smooth

    Place = tuple[float, float]  # the value, and the bound that its noise is for

__all__ = ["cases"]

_CHANGED = NeighborRelation.CHANGE_ONE
_NARROW_QUANTILES = [4 + away / 64 for away in (-24.5, -14.5, -8.5, -3.5, 3.5, 8.5, 14.5, 24.5)]
_NARROW_MEANS = [4 + away + 2.0**-19 for away in (-0.2, -0.1, -0.05, -0.02, 0.02, 0.05, 0.1, 0.2)]
_NARROW_COUNTED = [4 + away + 2.0**-30 for away in (-0.5, -0.01, -0.003, -0.001, 0.001, 0.003, 0.01, 0.5)]
_NARROW_PREDICTIONS = [0.038, 0.042, 0.044, 0.046, 0.048, 0.05, 0.052, 0.056, 0.06]
_WIDE_PREDICTIONS = [0.03, 0.06, 0.09, 0.11, 0.13, 0.16, 0.25, 0.5, 0.8]
_WIDE = [0.125, 1.125, 2.125, 3.125, 4.125, 5.125, 6.125, 7.125]
_TENTHS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
_WHOLE = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
_FINE = [0.5625, 1.5625, 2.5625, 3.5625, 4.5625, 5.5625, 6.5625]


def _case(  # noqa: PLR0913, PLR0917 - what cases differ in
    name: str,
    mechanism: Smooth,
    inputs: tuple[Any, Any],
    edges: Sequence[float],
    place: Callable[[Any, Any], Place],
    draws: int,
    also: tuple[Any, ...] = (),
) -> Case:
    """A value with noise in proportion to its bound, looked at in cells."""

    def law(mechanism: Smooth, value: object) -> dict[int, float]:
        center, bound = place(mechanism, value)
        scale = float(mechanism.noise.stretch) * bound
        return cells_law(polyplace_above(float(mechanism.shape)), center, scale, edges)

    return Case(name, mechanism, *inputs, in_cells(edges), draws=draws, law=law, coarse=True, also=also)


def _median(mechanism: SmoothQuantile, rows: Sequence[int]) -> Place:
    """The median, and the largest exp(-t k) times the widest window of k + 1 ranks around it."""
    ordered = [int(mechanism.lower)] * 99 + sorted(rows) + [int(mechanism.upper)] * 99
    middle, t = 98 + max(1, math.ceil(len(rows) / 2)), float(mechanism.smoothing)
    windows = [max(ordered[middle + i] - ordered[middle - (k - i)] for i in range(k + 1)) for k in range(1, 90)]
    return float(ordered[middle]), max(math.exp(-t * k) * window for k, window in enumerate(windows))


def _own_median(mechanism: SmoothQuantile, rows: Sequence[int]) -> Place:
    """The median with the mechanism's own bound: that it is smooth is tested by trying all data."""
    middle, bound = mechanism.value_and_bound(rows)
    return float(mechanism.lower + middle * mechanism.grid.step), float(bound * mechanism.grid.step)


def _trimmed(mechanism: TrimmedMean, rows: Sequence[int]) -> Place:
    """The mean of what is left, with the mechanism's own bound: that it is smooth is tested by trying all."""
    cut = min(mechanism.trim, (len(rows) - 1) // 2) if rows else 0
    kept = sorted(rows)[cut : len(rows) - cut]
    mean = sum(kept) / len(kept) if kept else float(mechanism.lower + mechanism.upper) / 2
    return mean, float(mechanism.value_and_bound(list(rows))[1] * mechanism.grid.step)


def _reciprocal(mechanism: ReciprocalCount, count: int) -> Place:
    """The reciprocal, and the largest exp(-t k) times the move from a count k away."""
    t, moves = float(mechanism.smoothing), [0.0, 0.5, *(1 / (c * (c - 1)) for c in range(2, 60))]
    return 1 / max(1, count), max(math.exp(-t * abs(count - c)) * move for c, move in enumerate(moves))


def _prediction(mechanism: PredictionVariance, rows: Sequence[Sequence[float]]) -> Place:
    """One feature, radius, ridge and point 1: 1 / (1 + sum of squares), which a row less moves by 1 / (m (m - 1))."""
    moment, t = 1 + sum(row[0] ** 2 for row in rows), float(mechanism.smoothing)
    least = [max(1.0, moment - k) for k in range(200)]
    bound = max(math.exp(-t * k) * (1 / (m * (m - 1)) if m > 1.5 else 1.0) for k, m in enumerate(least))
    return 1 / moment, min(bound, 1.0)


def _given(_mechanism: SmoothSensitivity, value: tuple[int, int | Fraction]) -> Place:
    return float(value[0]), float(value[1])


def _of_rho(mechanism: SmoothSensitivity, value: tuple[int, int | Fraction]) -> dict[int, float]:
    """Laplace noise times exp(shape Y) for a standard normal Y: its tail is a mean over Y, by the trapezoidal rule."""
    shape, step = float(mechanism.shape), 1 / 16
    nodes = [(k * step, math.exp(-((k * step) ** 2) / 2) * step / math.sqrt(2 * math.pi)) for k in range(-160, 161)]

    def above(x: float) -> float:
        return math.fsum(weight * laplace_above(x * math.exp(-shape * y)) for y, weight in nodes)

    return cells_law(above, float(value[0]), float(mechanism.noise.stretch * value[1]), _FINE)


def _counts(mechanism: CountedTrimmedMean, rows: Sequence[int]) -> dict[int, float]:
    """The count, with a quarter of epsilon."""
    return laplace_law(4 / float(mechanism.epsilon), len(rows), -40, 60)


def _counted(mechanism: CountedTrimmedMean, rows: Sequence[int]) -> dict[int, float]:
    """The mean with noise for the mechanism's own bound, for the trimming that each count leads to; rows all alike."""
    law = dict.fromkeys(range(len(_NARROW_COUNTED) + 1), 0.0)
    for count, chance in _counts(mechanism, rows).items():
        made = mechanism.trimmed(count)
        mean, bound = _trimmed(made, rows)
        scale = float(made.noise.stretch) * bound
        for cell, part in cells_law(polyplace_above(float(made.shape)), mean, scale, _NARROW_COUNTED).items():
            law[cell] += chance * part
    return law


def _of_quantiles() -> tuple[Case, ...]:
    facts: dict[str, Any] = {"lower": 0, "upper": 8, "epsilon": 2}
    fine, jumps = SmoothQuantile("1/2", **facts, grid="1/64"), SmoothQuantile("1/2", **facts, grid="1/4")
    exchanged = SmoothQuantile("1/2", **facts, grid="1/4", neighbors=_CHANGED)
    alike, heaps, three = ([4] * 24, [4] * 23), ([0, 0, 8, 8], [0, 0, 8, 8, 8]), ([0, 0, 8], [0, 8, 8])
    mean, changed = TrimmedMean(1, **facts, grid="1/4"), TrimmedMean(1, **facts, grid="1/4", neighbors=_CHANGED)
    return (
        _case("the noise widens", fine, alike, _NARROW_QUANTILES, _median, 800),
        _case("the median jumps", jumps, heaps, _WIDE, _own_median, 2_000),
        _case("a row exchanged", exchanged, three, _WIDE, _own_median, 2_000),
        _case("the noise widens", mean, alike, _NARROW_MEANS, _trimmed, 800),
        _case("a row more", mean, heaps, _WIDE, _trimmed, 1_000),
        _case("the only row", mean, ([], [8]), _WIDE, _trimmed, 1_000),
        _case("a row exchanged", changed, three, _WIDE, _trimmed, 1_000),
    )


def _of_given() -> tuple[Case, ...]:
    """Values as far apart as the bound, with bounds a factor exp(smoothing) apart."""
    wide, facts = Fraction(math.exp(0.125)), {"lower": 0, "upper": 8, "smoothing": "1/8"}
    made: dict[str, Any] = {**facts, "epsilon": 1}
    rho = SmoothSensitivity(**facts, grid="1/8", rho=1, law="laplace_log_normal", shape="1/4")  # type: ignore[arg-type]
    up, down = ((3, 1), (4, wide)), ((4, 1), (3, wide))
    return (
        _case("value and bound up", SmoothSensitivity(**made, grid="1"), up, _WHOLE, _given, 400),
        _case("value down, bound up", SmoothSensitivity(**made, grid="1/8"), down, _FINE, _given, 400),
        Case("with rho", rho, *down, in_cells(_FINE), draws=400, law=_of_rho, coarse=True),
    )


def cases() -> tuple[Case, ...]:
    """Return the pairs; a release of a mean whose count is noisy takes long, so there are few draws."""
    counted, alike = CountedTrimmedMean(lower=0, upper=8, epsilon=2), ([4] * 30, [4] * 31)
    count = looking_at(lambda release: int(release.details["count"]))
    one, exchanged = ReciprocalCount(epsilon=2), ReciprocalCount(epsilon=2, neighbors=_CHANGED)
    facts: dict[str, Any] = {"radius": 1, "ridge": 1, "epsilon": 2}
    predicted, changed = PredictionVariance([1], **facts), PredictionVariance([1], **facts, neighbors=_CHANGED)
    many, few, swapped = ([[1.0]] * 20, [[1.0]] * 21), ([[1.0]] * 8,), ([[0.0]] * 3, [[0.0], [0.0], [1.0]])
    return (
        *_of_quantiles(),
        *_of_given(),
        Case("the count of rows", counted, [], [8], count, draws=400, law=_counts, coarse=True),
        Case("rows all alike", counted, *alike, in_cells(_NARROW_COUNTED), draws=600, law=_counted, coarse=True),
        _case("one and two", one, (1, 2), _TENTHS, _reciprocal, 1_000),
        _case("two and three", one, (2, 3), _TENTHS, _reciprocal, 400),
        _case("exchanged", exchanged, (0, 1), _TENTHS, _reciprocal, 2_000),
        _case("one row more of many", predicted, many, _NARROW_PREDICTIONS, _prediction, 800),
        _case("the first row", predicted, ([], [[1.0]]), _WIDE_PREDICTIONS, _prediction, 600, few),
        _case("a row exchanged", changed, swapped, _WIDE_PREDICTIONS, _prediction, 600, few),
    )

"""Means, variances and covariances: a row more at a bound, where one of the noisy sums moves by all that may move."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.checks.audits.case import Case, everything, looking_at
from discreet.checks.audits.laws import convolved, laplace_law
from discreet.mechanisms import Correlation, Covariance, Mean, StandardDeviation, Variance
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Columns: TypeAlias = tuple[Sequence[int], Sequence[int]]
    Paired: TypeAlias = Covariance | Correlation

__all__ = ["cases"]

_REACH = 30
_EXCHANGED = 20  # rows of the pairs of columns of which one row is exchanged


def _rate(mechanism: Mean | Paired) -> float:
    return float(mechanism.claim.epsilon)  # type: ignore[union-attr]  # the laws are of pure ones


def _mean(mechanism: Mean, rows: Sequence[int]) -> dict[str, float]:
    """Two sums, each with noise of the scale of both together, and the mean that is computed from them."""
    width = int(mechanism.upper - mechanism.lower)
    fall = math.exp(-_rate(mechanism) / width)
    noise = {z: (1 - fall) / (1 + fall) * fall ** abs(z) for z in range(-_REACH, _REACH + 1)}
    above = sum(row - int(mechanism.lower) for row in rows)
    law: dict[str, float] = {}
    for z, p in noise.items():
        for y, q in noise.items():
            first, total = above + z, width * len(rows) + z + y
            share = min(max(first / total, 0.0), 1.0) if total > 0 else 0.5
            name = f"{float(mechanism.lower) + share * width:.6f} of {total}"
            law[name] = law.get(name, 0.0) + p * q
    return law


def _squares(release: Any) -> float:  # noqa: ANN401  of a variance
    """The sum of squares, from all that is released; bounds 0 and 1."""
    total, share = (float(str(release.details[name])) for name in ("total", "share"))
    return round(total * (float(release.value) + share**2), 6)


def _total(mechanism: Paired, columns: Columns) -> dict[int, float]:
    """Every row adds 1 to the sum of all, and every one of the sums has noise for 1; a total below 0 counts as 0."""
    law: dict[int, float] = {}
    for z, chance in convolved(laplace_law(1 / _rate(mechanism), 0, -20, 20), (mechanism.degree + 1) ** 2).items():
        total = max(0, len(columns[0]) + z)
        law[total] = law.get(total, 0.0) + chance
    return law


def _cells(values: float | NDArray[np.float64]) -> NDArray[np.int64]:
    """Cells of which no end is a number that can come out."""
    return np.floor(np.asarray(values) * 2 * _EXCHANGED + 0.3217).astype(np.int64)


def _first(mechanism: Paired, columns: Columns) -> dict[int, float]:
    """What is released of the first column beside the answer: its mean, for a correlation its variance.

    Sums over the second column, one for each power of the first, with noise for an exchange on each of their parts.
    The public number of rows corrects all sums alike. A row at the lower end adds 1 to the first of them, one at the
    upper end to the last; the mean is that of 0, 1 or 0, 1/2, 1, the second moment the last one's share.
    """
    size, rows = mechanism.degree + 1, len(columns[0])
    noise = convolved(laplace_law(2 / _rate(mechanism), 0, -20, 20), size)
    away = np.array([z for z in noise if abs(z) <= 40])
    chances = np.array([noise[z] for z in away.tolist()])
    exact = [columns[0].count(0), *[0] * (size - 2), columns[0].count(1)]
    sums = np.meshgrid(*(held + away for held in exact), indexing="ij")
    joint = math.prod(np.meshgrid(*[chances] * size, indexing="ij"))
    shares = [(one + (rows - sum(sums)) / size) / rows for one in sums]
    mean = sum(share * place / (size - 1) for place, share in enumerate(shares))
    seen = _cells(np.ravel(mean if size == 2 else shares[-1] - mean**2))
    places, which = np.unique(seen, return_inverse=True)
    held = np.bincount(which, weights=np.ravel(joint))
    return dict(zip(places.tolist(), (held / held.sum()).tolist(), strict=True))


def _pairs(kind: type[Paired]) -> tuple[Case, ...]:
    """A row more in a corner of the two bounds."""
    unit: dict[str, Any] = {"first": (0, 1), "second": (0, 1), "grids": (1, 1)}
    plain = kind(**unit, epsilon=3)
    exchanged = kind(**unit, epsilon=2, size=_EXCHANGED, neighbors=NeighborRelation.CHANGE_ONE)
    even, other = ([0, 1] * 10, [0, 1] * 10), ([0, 1] * 9 + [0, 0], [0, 1] * 9 + [0, 0])
    total = looking_at(lambda release: max(release.details["total"], 0))
    first = looking_at(lambda release: _cells(float(release.details["first"])))
    return (
        Case("a row more", plain, ([0, 1], [0, 1]), ([0, 1, 1], [0, 1, 1]), everything),
        Case("the total", plain, ([0] * 8, [0] * 8), ([0] * 9, [0] * 9), total, law=_total, coarse=True),
        Case("a row exchanged", exchanged, even, other, first, law=_first, coarse=True),
    )


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    unit: dict[str, Any] = {"lower": 0, "upper": 1, "epsilon": 2, "grid": 1}
    changed: dict[str, Any] = {**unit, "neighbors": NeighborRelation.CHANGE_ONE}
    mean, both = Mean(**unit), looking_at(lambda release: f"{release.value:.6f} of {release.details['total']}")
    spread, three = StandardDeviation(lower=0, upper=1, epsilon=3, grid=1), ([0, 0, 0], [0, 0, 1])
    six = [0, 1, 1, 1, 0, 0]
    return (
        Case("a row more above", mean, [0, 1], [0, 1, 1], both, law=_mean),
        Case("a row more below", mean, [0, 1], [0, 1, 0], both, law=_mean),
        Case("the only row", mean, [], [1], both, law=_mean),
        Case("a row to the other bound", Mean(**changed, size=2), [0, 0], [0, 1]),
        Case("a row more above", Variance(**unit), six, [*six, 1], looking_at(_squares)),
        Case("a row to the other bound", Variance(**changed, size=3), *three),
        Case("a row more above", spread, [0, 1, 1, 0], [0, 1, 1, 0, 1], everything, draws=3_000),
        Case("a row to the other bound", StandardDeviation(**changed, size=3), *three, everything),
        *_pairs(Covariance),
        *_pairs(Correlation),
    )

"""The covariance of two bounded columns."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, cast

from discreet.mechanisms.adding.bounded import PairedColumns, around_middles
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Covariance", "covariance"]


@dataclass(frozen=True, slots=True, init=False)
class Covariance(PairedColumns):
    r"""Release the (population) covariance of two columns with public bounds.

    Privacy. A row with the shares s and t of the ways between the bounds adds the products $(1-s)(1-t)$, $(1-s)t$,
    $s(1-t)$ and $st$, on a grid in whole numbers: at least 0, together 1. So the four sums move by exactly 1 in L1 for
    a row more or less, by at most 2 for a row exchanged, and noise for that on each is private. The shares of their
    total are the means of these products, and the covariance is mean(st) - mean(s) mean(t).

    Rows that miss one of two numbers are left out under add/remove; under change-one a missing number counts as the
    middle of its bounds, and the public number of rows corrects the four sums.

    The error is that of a `Product`: of the mean product around the middles of the bounds, and of both means.

    Dwork, McSherry, Nissim & Smith 2006 (doi:10.1007/11681878_14).

    >>> import numpy as np
    >>> x = np.arange(100_000) % 10
    >>> answer = Covariance(first=(0, 10), second=(0, 10), epsilon=1).release((x, x))
    >>> 8 < answer.value < 8.5
    True
    """

    kind: ClassVar[str] = "covariance"
    guarantee: ClassVar[str] = (
        "The sums of the four products of distances to the bounds, which one row moves by 1 together under add/remove "
        "and by 2 under change-one, with noise for that, are private; the covariance is computed from them."
    )
    accuracy: ClassVar[str] = (
        "the ± of the mean product, and |x| f + |y| e + e f for means x ± e and y ± f from the middle"
    )
    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14"

    @property
    def _scale(self) -> Fraction:
        one, other = self._clamps
        return one.width * one.grid.step * other.width * other.grid.step

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return the error of one release, from its noisy sums."""
        del value
        total, s, t = (float(cast("float", details[name])) for name in ("total", "first", "second"))
        wide = [float(high - low) for low, high in (self.first, self.second)]
        # a covariance lies within a quarter of the widths on either side of 0, the released one of the snapped widths
        most = (float(self._scale) + wide[0] * wide[1]) / 4
        if total <= 0:
            return most
        away = [(share - 0.5) * clamp.span for share, clamp in zip((s, t), self._clamps, strict=True)]
        return min(most, self._product(*self._columns(0, 1)).error(total / self._unit, (away[0], away[1]), confidence))

    def release(self, value: tuple[ArrayLike, ArrayLike], *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private covariance; `value` is a pair of columns."""
        total, split = self._noisy_sums(self._sums(value), bits)
        details = {"total": total, "count": total / self._unit, "first": 0.5, "second": 0.5}
        if total <= 0:
            return Release(0.0, self, MappingProxyType(details))
        columns, count = self._columns(0, 1), float(split[0])
        product, totals = self._product(*columns), around_middles(split, *columns)
        most = float(self._scale) / 4
        for name, away, clamp in zip(("first", "second"), product.away(totals, count), self._clamps, strict=True):
            details[name] = away / clamp.span + 0.5
        return Release(min(max(product.centered(totals, count), -most), most), self, MappingProxyType(details))


def covariance(  # noqa: PLR0913
    first: ArrayLike,
    second: ArrayLike,
    *,
    bounds: tuple[tuple[Number, Number], tuple[Number, Number]] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float]:
    """Release the population covariance of two columns; `bounds` is a pair of bounds for each.

    >>> import numpy as np
    >>> x = np.arange(100_000) % 10
    >>> answer = covariance(x, 10 - x, bounds=((0, 10), (0, 10)), epsilon=1)
    >>> -8.5 < answer.value < -8
    True
    """
    return Covariance.released((first, second), bounds, neighbors, epsilon=epsilon, delta=delta, rho=rho)

"""The variance of a bounded column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, cast

from discreet.errors import ParameterError
from discreet.mechanisms.adding.bounded import BoundedColumn, around_middles
from discreet.mechanisms.adding.sums import Moved, Partition, noisy, require_rows, squares
from discreet.mechanisms.inputs.columns import exact_sum, read_column
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import group_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Variance", "variance"]

_MOST_TO_SQUARE = 1 << 31


@dataclass(frozen=True, slots=True, init=False)
class Variance(BoundedColumn):
    r"""Release the (population) variance of a column with public bounds.

    Privacy, add/remove. A row that is t = k / R of the way from the lower to the upper bound adds the whole numbers
    $((R-k)^2,\; 2k(R-k),\; k^2)$, R^2 times the Bernstein polynomials $(1-t)^2,\, 2t(1-t),\, t^2$: at least 0,
    together R^2. So the three sums $B_0, B_1, B_2$ move by exactly R^2 in L1, and noise for that on each is private.
    From them come the number of rows $(B_0 + B_1 + B_2)/R^2$, the mean of t, $(B_1/2 + B_2)/\sum B$, and the mean of
    t^2, $B_2/\sum B$: three moments for one price.

    Privacy, change-one. The number of rows n is public, stated as `size`. Released is $n \sum k^2 - (\sum k)^2$, n^2
    times the variance. Let one row go from a to b, and let the other n - 1 add up to s: it moves by
    (b - a)((n - 1)(a + b) - 2 s). With 0 <= s <= (n - 1) R and d = |b - a| that is at most (n - 1) d (2R - d) <=
    (n - 1) R^2. Missing rows count as the middle of the bounds then; under add/remove they are left out.

    The error is that of a `Product`: of the mean square around the middle of the bounds, and of the square of the mean.

    >>> import numpy as np
    >>> answer = Variance(lower=0, upper=100, epsilon=1).release(np.arange(10_000) % 100)
    >>> 780 < answer.value < 890
    True
    """

    kind: ClassVar[str] = "variance"
    guarantee: ClassVar[str] = (
        "The sums of the three Bernstein polynomials of degree 2, which one row moves by 1 together, with noise for 1 "
        "on each, keep the noise's promise under add/remove; the variance is computed from them. Under "
        "change-one n^2 times the variance moves by at most (n - 1)(upper - lower)^2."
    )
    accuracy: ClassVar[str] = "the ± of the mean square, and 2 |mean| e + e^2 for the mean's ± e, around the middle"
    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14"

    _bits: ClassVar[int] = 20

    @property
    def split(self) -> Partition:
        """The Bernstein polynomials of degree 2; grids so fine that squares do not fit into 64 bits are refused."""
        width = self._clamp.width
        if width >= _MOST_TO_SQUARE:
            msg = f"the grid is {self.grid.step}; squares of rows need fewer than 2**31 steps between the bounds."
            raise ParameterError(msg)
        return squares(0, 1, 2, (0, width))

    def _moved(self) -> Moved:
        split = self.split
        if self.size is None:
            return split.moved(self.neighbors)
        total = group_size(self.neighbors) * max(1, self.size - 1) * split.unit
        return Moved(total, Fraction(total), 1)

    def error(self, confidence: float = 0.95) -> float | None:
        """Return the error where the number of rows is public; None under add/remove."""
        if self.size is None:
            return None
        unit = float(self.grid.step) ** 2 / self.size**2
        return min(self._most, self.noise.error(confidence) * unit + self._snapping)

    @property
    def _most(self) -> float:
        return max(self._span, self._clamp.span) ** 2 / 4

    @property
    def _snapping(self) -> float:
        """Moving every row by half a step h moves the standard deviation by at most h, its square by h (2 s + h)."""
        half = float(self.grid.step) / 2
        return half * (self._span + half)

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return the error of one release, from its noisy sums."""
        known = self.error(confidence)
        if known is not None:
            return known
        del value
        clamp, total = self._clamp, cast("int", details["total"])
        if total <= 0:
            return self._most
        away = (cast("float", details["share"]) - 0.5) * clamp.span
        column, rows = (clamp, 1), total / clamp.width**2
        return min(self._most, self._product(column, column, 2).error(rows, (away, away), confidence))

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private variance, between 0 and its most; `value` holds the rows."""
        clamp, column = self._clamp, read_column(value)
        require_rows(column.size, self.size)
        steps = clamp.steps(column, missing=None if self.size is None else self._missing)
        sums = [steps.size, exact_sum(steps, clamp.width), exact_sum(steps**2, clamp.width**2)]
        if self.size is not None:
            (spread,) = noisy([self.size * sums[2] - sums[1] ** 2], self.noise, bits)
            return self._released(float(spread * self.grid.step**2 / self.size**2), {})
        total, split = self._noisy_sums(sums, bits)
        if total <= 0:
            return self._released(clamp.span**2 / 12, {"total": total, "share": 0.5, "count": 0.0})
        axis, count = (clamp, 1), float(split[0])
        product, totals = self._product(axis, axis, 2), around_middles(split, axis, axis, 2)
        share = product.away(totals, count)[0] / clamp.span + 0.5
        details = {"total": total, "share": share, "count": total / clamp.width**2}
        return self._released(product.centered(totals, count), details)

    def _released(self, variance: float, details: Mapping[str, object]) -> Release[float]:
        """Bring the variance to where it is known to lie: from 0 to a quarter of the square of the width."""
        return Release(min(max(variance, 0.0), self._clamp.span**2 / 4), self, MappingProxyType(details))


def variance(  # noqa: PLR0913
    values: ArrayLike,
    *,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float]:
    """Release the population variance of a column.

    >>> import numpy as np
    >>> answer = variance(np.arange(100_000) % 10, bounds=(0, 10), epsilon=1)
    >>> 8.1 < answer.value < 8.4, answer.mechanism.promise
    (True, 'ε = 1')
    """
    return Variance.of_rows(values, bounds, neighbors, epsilon=epsilon, delta=delta, rho=rho).release(values)

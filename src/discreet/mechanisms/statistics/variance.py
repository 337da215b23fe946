"""The variance of a bounded column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from discreet.mechanisms.columns import exact_sum, read_column
from discreet.mechanisms.release import Release
from discreet.mechanisms.sums import BoundedColumn, Moved, noisy, require_rows
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import group_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Variance", "variance"]


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

    The error. With m a bound on all three noises, w_i the weights of $\sum (t - \mu)^2$ in the B_i at the released
    mean, and T the noisy total, the variance of t is off by at most m (|w_0| + |w_1| + |w_2| + 3/4) / T + (1 + 3 m /
    T)(3 m / (2 T))^2: the noise against fixed weights, the noise of T times a variance of at most 1/4, and the square
    of what the mean is off. Derived here.

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
    accuracy: ClassVar[str] = "m (|w0| + |w1| + |w2| + 3/4) / T + (1 + 3m/T)(3m/2T)^2, times (upper - lower)^2"
    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14"

    _bits: ClassVar[int] = 20

    def _moved(self) -> Moved:
        square = self._squares()
        if self.size is None:
            return Moved.by_row(square, 3, self.neighbors)
        total = group_size(self.neighbors) * max(1, self.size - 1) * square
        return Moved(total, Fraction(total), 1)

    def error(self, confidence: float = 0.95) -> float | None:
        """Return the error where the number of rows is public; None under add/remove."""
        if self.size is None:
            return None
        unit = float(self.grid.step) ** 2 / self.size**2
        return min(self._most, self.noise.error(confidence) * unit + self._snapping)

    @property
    def no_error_because(self) -> str:
        """The number of rows is private."""
        return "the error depends on the number of rows, which is private; a release has a ± from its noisy number."

    @property
    def _most(self) -> float:
        return max(self._span, self._snapped_span) ** 2 / 4

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
        total, mean = float(details["total"]), float(details["share"])  # type: ignore[arg-type]
        if total <= 0:
            return self._most
        reach = self.noise.error(confidence, together=3) / total
        weights = mean**2 + mean * (1 - mean) + (1 - mean) ** 2
        bound = reach * (weights + 0.75) + (1 + 3 * reach) * (1.5 * reach) ** 2
        return min(self._most, bound * self._snapped_span**2 + self._snapping)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private variance; `value` holds the rows."""
        clamp, column = self._clamp, read_column(value)
        require_rows(column.size, self.size)
        if self.size is not None:
            steps = clamp.steps(column, missing=clamp.width // 2)
            first, second = exact_sum(steps, clamp.width), exact_sum(steps**2, clamp.width**2)
            (found,) = noisy([self.size * second - first**2], self.noise, bits)
            return self._released(Fraction(found, self.size**2 * clamp.width**2), {})
        steps = clamp.steps(column)
        first, second = exact_sum(steps, clamp.width), exact_sum(steps**2, clamp.width**2)
        middle = 2 * (clamp.width * first - second)
        low, middle, high = noisy([steps.size * clamp.width**2 - middle - second, middle, second], self.noise, bits)
        total = low + middle + high
        if total <= 0:
            return self._released(Fraction(1, 12), {"total": total, "share": 0.5, "count": 0.0})
        mean = Fraction(middle + 2 * high, 2 * total)
        share = min(max(float(mean), 0.0), 1.0)
        count = total / clamp.width**2
        return self._released(Fraction(high, total) - mean**2, {"total": total, "share": share, "count": count})

    def _released(self, found: Fraction, details: dict[str, object]) -> Release[float]:
        """Bring the variance of t into [0, 1/4], where it is known to lie, and into the unit of the column."""
        kept = min(max(found, Fraction(0)), Fraction(1, 4))
        return Release(float(kept * (self._clamp.width * self.grid.step) ** 2), self, MappingProxyType(details))


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

"""The covariance of two bounded columns."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, cast

from discreet.mechanisms.bernstein import PairedColumns
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Mapping

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

    The error. With m a bound on all four noises over the noisy total, and w_i the value of (s - mean)(t - mean) at the
    four corners for the released means, the covariance is off by at most m (|w_0| + … + |w_3| + 1) + (1 + 4 m)(2 m)^2
    times the product of the widths: fixed weights against the noise, the total's noise times a covariance of at most
    1/4, and the product of what both means are off. Derived here.

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
    accuracy: ClassVar[str] = "(m (sum of |w| + 1) + (1 + 4m)(2m)^2) times the widths, m = noise's reach / noisy total"
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
        m = self.reach(total, confidence) * (1 if self.size is None else 2)
        weights = sum(abs((i - s) * (j - t)) for i in (0, 1) for j in (0, 1))
        steps = [float(grid.step) for grid in self.grids]
        snapping = (steps[0] * wide[1] + steps[1] * wide[0] + steps[0] * steps[1]) / 2
        return min(most, (m * (weights + 1) + (1 + 4 * m) * (2 * m) ** 2) * float(self._scale) + snapping)

    def release(self, value: tuple[ArrayLike, ArrayLike], *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private covariance; `value` is a pair of columns."""
        shares = self.noisy_shares(value, bits)
        kept = min(max(shares.covariance, Fraction(-1, 4)), Fraction(1, 4))
        means = {"first": float(shares.moment(1, 0)), "second": float(shares.moment(0, 1))}
        details = {"total": shares.total, "count": shares.total / self._unit, **means}
        return Release(float(kept * self._scale), self, MappingProxyType(details))


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

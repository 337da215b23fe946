"""The standard deviation of a bounded column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from discreet.mechanisms.adding.ratios import rooted
from discreet.mechanisms.release import Release
from discreet.mechanisms.statistics.variance import Variance
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["StandardDeviation", "std"]


@dataclass(frozen=True, slots=True, init=False)
class StandardDeviation(Variance):
    """Release the (population) standard deviation of a column: the root of a private variance, at no other cost.

    The error. If the variance is within e of the released v, its root is within
    max(sqrt(v + e) - sqrt(v), sqrt(v) - sqrt(v - e)) of sqrt(v), with v - e replaced by 0 where it is negative.

    >>> import numpy as np
    >>> answer = StandardDeviation(lower=0, upper=100, epsilon=1).release(np.arange(10_000) % 100)
    >>> 27 < answer.value < 31
    True
    """

    kind: ClassVar[str] = "standard_deviation"
    guarantee: ClassVar[str] = "The root of a private variance is private: post-processing."
    accuracy: ClassVar[str] = "max(sqrt(v + e) - sqrt(v), sqrt(v) - sqrt(v - e)) for a variance v within e"
    no_error_because: ClassVar[str] = "the error of a root depends on the root; each release has its own ±."

    @property
    def argument(self) -> tuple[str, ...]:
        """The variance's promise, and post-processing."""
        return (f"{Variance.guarantee} ({self.source})", self.guarantee)

    def error(self, confidence: float = 0.95) -> None:
        """Return None: that of the variance speaks of the square."""
        del confidence

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return the error of one release, from its value and its noisy sums."""
        known = Variance.error(self, confidence)
        bound = Variance.error_of(self, value, details, confidence) if known is None else known
        return rooted((float(cast("float", value)) ** 2, bound))[1]

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private standard deviation; `value` holds the rows."""
        variance = Variance.release(self, value, bits=bits)
        return Release(math.sqrt(variance.value), self, variance.details)


def std(  # noqa: PLR0913
    values: ArrayLike,
    *,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float]:
    """Release the population standard deviation of a column.

    >>> import numpy as np
    >>> answer = std(np.arange(100_000) % 10, bounds=(0, 10), epsilon=1)
    >>> 2.8 < answer.value < 2.95
    True
    """
    return StandardDeviation.of_rows(values, bounds, neighbors, epsilon=epsilon, delta=delta, rho=rho).release(values)

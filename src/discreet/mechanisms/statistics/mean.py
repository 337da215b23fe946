"""The mean of a bounded column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, cast

from discreet.mechanisms.adding.bounded import BoundedColumn
from discreet.mechanisms.adding.ratios import Average
from discreet.mechanisms.adding.sums import Moved, adds_rows, noisy, require_rows
from discreet.mechanisms.inputs.columns import read_column
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import group_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Mean", "mean"]


@dataclass(frozen=True, slots=True, init=False)
class Mean(BoundedColumn):
    r"""Release the mean of a column with public bounds.

    Privacy, add/remove: the number of rows is private. Rows are clamped and snapped to k = 0, …, R steps above the
    lower bound. Released are $A = \sum k$ and $B = \sum (R - k)$ with one noise on each. A row adds k to A and R - k
    to B, both at least 0, together R: the pair moves by exactly R in L1, so Laplace noise of scale R / epsilon on both
    is epsilon-differentially private. The number of rows is (A + B) / R, the mean is lower + R A / (A + B) steps.

    This is the centered sum and the count, S = (A - B) / 2 and n = (A + B) / R, in the coordinates in which their joint
    sensitivity is a square and not two separate budgets: S and n each get a variance of 4 (sensitivity / epsilon)^2,
    where the best split of epsilon between them gives 8 to each at the bounds. In these coordinates nothing is left to
    split.

    Privacy, change-one: n is public and stated as `size`. Only A is released; it moves by at most R. Missing rows count
    as the middle of the bounds then; under add/remove they are left out.

    The error is that of an `Average`: the noisy number of rows gives the ±.

    Kulesza, Suresh & Wang 2024, "Mean estimation in the add-remove model of differential privacy" (arXiv:2312.06658).

    >>> import numpy as np
    >>> answer = Mean(lower=0, upper=100, epsilon=1).release(np.full(10_000, 40.0))
    >>> abs(answer.value - 40) < 1, answer.error(0.95) < 0.5
    (True, True)
    """

    kind: ClassVar[str] = "mean"
    guarantee: ClassVar[str] = (
        "The sums of distances to the lower and to the upper bound, which one row moves by R together, with noise for "
        "a distance of R, keep the noise's promise under add/remove; the mean is computed from them. Under change-one, "
        "with public n, the sum moves by R."
    )
    accuracy: ClassVar[str] = "what the noise of A and of B exceeds at half the miss, over the noisy count; half a step"
    source: ClassVar[str] = "Kulesza, Suresh & Wang 2024, arXiv:2312.06658; Dwork et al. 2006, doi:10.1007/11681878_14"

    def _moved(self) -> Moved:
        if adds_rows(self.neighbors):
            return self.split.moved(self.neighbors)
        width = group_size(self.neighbors) * self._clamp.width
        return Moved(width, Fraction(width), 1)

    @property
    def _average(self) -> Average:
        """The sum of steps over the count, or over a public number of rows.

        The mean lies between the bounds, what is released between the snapped ones, up to half a step further out.
        """
        clamp, step = self._clamp, self.grid.step
        terms = self.split.terms(0) if self.size is None else {0: (), 1: ((0, 0, Fraction(1)),)}
        farthest = max(self.upper, clamp.high * step) - min(self.lower, clamp.low * step)
        about = float(clamp.low * step), float(step), float(step) / 2, float(farthest)
        return Average(self._noisy, terms[1], terms[0], (0, clamp.width), *about)

    def error(self, confidence: float = 0.95) -> float | None:
        """Return the error where the number of rows is public; None under add/remove."""
        return None if self.size is None else self._average.error(self.size, confidence)

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return the error of one release, from its noisy number of rows."""
        del value
        average, rows = self._average, self.size or cast("int", details["total"]) / self._clamp.width
        return average.error(rows, confidence) if rows > 0 else average.widest

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private mean; `value` holds the rows. Where the noisy count is not above 0 it is the middle."""
        clamp, column = self._clamp, read_column(value)
        require_rows(column.size, self.size)
        if self.size is not None:
            (noisy_sum,) = noisy([clamp.sum(clamp.steps(column, missing=self._missing))], self.noise, bits)
            total, sums = self.size * clamp.width, {0: Fraction(self.size), 1: Fraction(noisy_sum)}
        else:
            steps = clamp.steps(column)
            total, sums = self._noisy_sums([steps.size, clamp.sum(steps)], bits)
        count, above = (sums[0], sums[1]) if total > 0 else (Fraction(2), Fraction(clamp.width))
        mean = self._average.mean(float(above), float(count))
        return Release(mean, self, MappingProxyType({"total": total, "count": total / clamp.width}))


def mean(  # noqa: PLR0913
    values: ArrayLike,
    *,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float]:
    """Release the mean of a column, for a price in epsilon, (epsilon, delta) or rho.

    >>> import numpy as np
    >>> answer = mean(np.arange(10_000) % 100, bounds=(0, 200), epsilon=1)
    >>> 48 < answer.value < 51, answer.mechanism.promise
    (True, 'ε = 1')
    """
    return Mean.of_rows(values, bounds, neighbors, epsilon=epsilon, delta=delta, rho=rho).release(values)

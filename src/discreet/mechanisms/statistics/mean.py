"""The mean of a bounded column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from discreet.mechanisms.columns import read_column
from discreet.mechanisms.release import Release
from discreet.mechanisms.sums import BoundedColumn, Moved, adds_rows, noisy, require_rows
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

    The error. With noise z on A and z' on B, and f = A / (A + B), the released share is off by exactly
    ((1 - f) z - f z') / (noisy A + noisy B), at most max(|z|, |z'|) over it: the noisy number of rows gives the ±.

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
    accuracy: ClassVar[str] = "noise.error(confidence, together=2) / noisy count * (upper - lower) / R, and half a step"
    source: ClassVar[str] = "Kulesza, Suresh & Wang 2024, arXiv:2312.06658; Dwork et al. 2006, doi:10.1007/11681878_14"

    def _moved(self) -> Moved:
        width = self._clamp.width
        if adds_rows(self.neighbors):
            return Moved.by_row(width, 2, self.neighbors)
        return Moved(group_size(self.neighbors) * width, Fraction(group_size(self.neighbors) * width), 1)

    def error(self, confidence: float = 0.95) -> float | None:
        """Return the error where the number of rows is public; None under add/remove."""
        return None if self.size is None else self._bound(self.size * self._clamp.width, confidence)

    @property
    def no_error_because(self) -> str:
        """The number of rows is private."""
        return "the error depends on the number of rows, which is private; a release has a ± from its noisy number."

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return the error of one release, from its noisy number of rows."""
        del value
        total = self.size * self._clamp.width if self.size is not None else details["total"]
        return self._bound(total, confidence)  # type: ignore[arg-type]

    def _bound(self, total: int, confidence: float) -> float:
        """Half a step for snapping, and the noise's reach over the total; never more than from bound to snapped bound.

        The mean lies between the bounds, what is released between the snapped ones, up to half a step further out.
        """
        reach = self.noise.error(confidence, together=self._moved().dimensions)
        share = reach / total if total > 0 else 1.0
        low, high = self._clamp.low * self.grid.step, self._clamp.high * self.grid.step
        farthest = float(max(self.upper, high) - min(self.lower, low))
        return min(farthest, share * self._snapped_span + float(self.grid.step) / 2)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private mean; `value` holds the rows."""
        clamp, column = self._clamp, read_column(value)
        require_rows(column.size, self.size)
        if self.size is not None:
            steps = clamp.steps(column, missing=clamp.width // 2)
            (above,), total = noisy([clamp.sum(steps)], self.noise, bits), self.size * clamp.width
        else:
            steps = clamp.steps(column)
            first = clamp.sum(steps)
            above, below = noisy([first, steps.size * clamp.width - first], self.noise, bits)
            total = above + below
        share = min(max(Fraction(above, total), Fraction(0)), Fraction(1)) if total > 0 else Fraction(1, 2)
        found = float((clamp.low + share * clamp.width) * self.grid.step)
        return Release(found, self, MappingProxyType({"total": total, "count": total / clamp.width}))


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

"""The sum of a bounded column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.mechanisms.adding.bounded import BoundedColumn
from discreet.mechanisms.adding.sums import Moved, adds_rows, noisy, require_rows
from discreet.mechanisms.inputs.columns import default_grid, read_bounds, read_column, whole_numbers
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import group_size

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.exact import Grid, Number
    from discreet.privacy.relations import Relation

__all__ = ["Sum", "sum"]


@dataclass(frozen=True, slots=True, init=False)
class Sum(BoundedColumn):
    """Release the sum of a column with public bounds.

    Privacy. Rows are clamped to [lower, upper] and snapped, so that sums are exact whole numbers of steps. Add/remove:
    one row moves the sum by at most max(|lower|, |upper|). Change-one: from one bound to the other, upper - lower, or,
    as a row may become a missing one and counts 0 then, max(upper - lower, |lower|, |upper|). Noise for that.

    The sum is exact for integers near 2**63 and beyond; nothing wraps. Where the grid has whole numbers only the
    release is an integer.

    Dwork, McSherry, Nissim & Smith 2006 (doi:10.1007/11681878_14); on sums of floats: Casacuberta, Shoemate, Vadhan &
    Wagaman 2022 (arXiv:2207.10635).

    >>> int(Sum(lower=-3, upper=5, epsilon=1, grid=1).noise.sensitivity)
    5
    >>> change = NeighborRelation.CHANGE_ONE
    >>> int(Sum(lower=-3, upper=5, epsilon=1, grid=1, size=9, neighbors=change).noise.sensitivity)
    8
    """

    kind: ClassVar[str] = "sum"
    guarantee: ClassVar[str] = (
        "A sum of rows in [lower, upper], which one row moves by max(|lower|, |upper|) under add/remove and by "
        "max(upper - lower, |lower|, |upper|) under change-one, with noise for that, keeps the noise's promise."
    )
    accuracy: ClassVar[str] = "the noise's quantile, for the sum of the snapped rows"
    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14"

    def _moved(self) -> Moved:
        clamp, size = self._clamp, group_size(self.neighbors)
        most = max(abs(clamp.low), abs(clamp.high), 0 if adds_rows(self.neighbors) else clamp.width)
        return Moved(size * most, Fraction(size * most), 1)

    def error(self, confidence: float = 0.95) -> float:
        """Return the noise's error, in the unit of the column."""
        return self.noise.error(confidence) * float(self.grid.step)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float | int]:
        """Return the private sum; `value` holds the rows."""
        clamp, column = self._clamp, read_column(value)
        require_rows(column.size, self.size)
        steps = clamp.steps(column)
        (noised,) = noisy([clamp.sum(steps) + clamp.low * steps.size], self.noise, bits)
        total = noised * self.grid.step
        return Release(int(total) if self.grid.step >= 1 else self.grid.value(noised), self)


def sum(  # noqa: A001, PLR0913  called as dp.sum, the name that everybody looks for
    values: ArrayLike,
    *,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    grid: Grid | Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float | int]:
    """Release the sum of a column; of an array of whole numbers with whole bounds, a whole number.

    >>> import numpy as np
    >>> answer = sum(np.arange(1_000), bounds=(0, 1_000), epsilon=1)
    >>> abs(answer.value - 499_500) < 50_000, isinstance(answer.value, int), answer.error(0.95)
    (True, True, 2996.0)
    """
    lower, upper = read_bounds(bounds)
    if grid is None and whole_numbers(values) and lower.denominator == upper.denominator == 1:
        grid = default_grid(lower, upper, bits=40, whole=True)
    made = Sum.of_rows(values, bounds, neighbors, epsilon=epsilon, delta=delta, rho=rho, grid=grid)
    return made.release(values)

"""AVG, read from noisy numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.adding.combinations import combined
from discreet.plans.aggregates import Mean
from discreet.releases.measures.measure import Cell
from discreet.releases.measures.ratio import TOO_FEW_ROWS, Ratio
from discreet.releases.showing.texts import rounded_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.mechanisms.adding.sums import Terms

__all__ = ["NoisyMean"]


class NoisyMean(Ratio):
    """A centered sum over its count."""

    reads = (Mean,)

    def combinations(self) -> list[Terms]:
        """The sum less its count times a mean halfway to either end."""
        ends = (Fraction(end, 2) for end in self.span(1))
        return [combined((self.terms(1), 1), (self.terms(0), -end)) for end in ends]

    def cell(self, group: int) -> Cell:
        """The noisy ratio, within the bounds."""
        count = self.counted(group)
        if count is None:
            return Cell(None, None, TOO_FEW_ROWS)
        average = self.averages[1]
        total = self.number(1, group)
        return Cell(average.mean(total, count), average.error(count, self.confidence, total))

    def values(self) -> NDArray[np.float64]:
        """The same for all groups."""
        counts, factor = self.array(0), self.factor(1)
        known = counts > self.enough
        shares = np.clip(self.array(1) / np.where(known, counts, 1.0), *self.span(1))
        return np.where(known, (factor.center + shares) * float(factor.step), np.nan)

    def foreseen(self, rows: int | None) -> tuple[float | None, str]:
        """The noise of the sum over n, for the expected n, or a formula."""
        if rows is not None:
            return self.averages[1].error(rows, self.confidence), ""
        reach = self.averages[1].reach(self.confidence)
        note = "where n is the number of rows in the group; give expected_count= for a number."
        return None, f"± {rounded_up(reach, 4)} / n, {note}"

    def size(self, rows: int | None) -> tuple[float, float]:  # noqa: ARG002 - for any number
        """No farther from 0 than the values."""
        return 0.0, self.farthest(1)

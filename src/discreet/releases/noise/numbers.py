"""Noisy numbers: the integers of each block with noise, and linear combinations of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.releases.noise.reach import reach_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.mechanisms.sums import Noise
    from discreet.releases.noise.blocks import Terms
    from discreet.releases.noise.choices import RankChoice

__all__ = ["NoisyNumbers"]


@dataclass(frozen=True, eq=False)
class NoisyNumbers:
    """For each block an array of integers with noise: one row per group, one column per number.

    >>> from fractions import Fraction
    >>> from discreet.mechanisms import DiscreteLaplace
    >>> numbers = NoisyNumbers((np.array([[5], [7]]),), (DiscreteLaplace(1, epsilon=1),))
    >>> numbers.values(((0, 0, Fraction(2)),)), numbers.reach(((0, 0, Fraction(2)),), 0.95)
    ([10.0, 14.0], 6.0)
    """

    blocks: tuple[NDArray[np.int64] | NDArray[np.object_], ...]
    noises: tuple[Noise | RankChoice, ...]
    _known: dict[tuple[Terms, float], float] = field(default_factory=dict, compare=False, repr=False)

    def array(self, terms: Terms) -> NDArray[np.float64]:
        """Evaluate a linear combination for all groups; the numbers are noisy, so floats do."""
        total = np.zeros(len(self.blocks[0]))
        for block, column, coefficient in terms:
            total += float(coefficient) * self.blocks[block][:, column].astype(np.float64)
        return total

    def values(self, terms: Terms) -> list[float]:
        """Give the same as Python's numbers."""
        listed: list[float] = self.array(terms).tolist()
        return listed

    def reach(self, terms: Terms, confidence: float) -> float:
        """Return how far the noise of a linear combination reaches, with this probability."""
        if (terms, confidence) not in self._known:
            self._known[terms, confidence] = reach_of(terms, self.noises, confidence)
        return self._known[terms, confidence]

    def least_count(self, terms: Terms) -> float:
        """What a noisy count must exceed to say something: 1, and what noise alone reaches with probability 0.95."""
        return max(self.reach(terms, 0.95), 1.0)

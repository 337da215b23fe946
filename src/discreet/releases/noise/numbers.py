"""Noisy numbers: the integers of each block with noise, and linear combinations of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.sums import noisy, noisy_counts
from discreet.releases.noise.blocks import Choice
from discreet.releases.noise.choices import RankChoice, choose
from discreet.releases.noise.reach import reach_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.engines import Aggregates
    from discreet.mechanisms.sums import Noise
    from discreet.noise import BitSource
    from discreet.releases.noise.blocks import Terms
    from discreet.releases.noise.protection import Protection
    from discreet.releases.noise.recipe import Recipe

__all__ = ["NoisyNumbers", "add_noise"]


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
        found: list[float] = self.array(terms).tolist()
        return found

    def reach(self, terms: Terms, confidence: float) -> float:
        """Return how far the noise of a linear combination reaches, with this probability."""
        if (terms, confidence) not in self._known:
            self._known[terms, confidence] = reach_of(terms, self.noises, confidence)
        return self._known[terms, confidence]


def add_noise(
    recipe: Recipe, protection: Protection, aggregates: Aggregates, kept: NDArray[np.int64] | None, bits: BitSource
) -> NoisyNumbers:
    """Add noise to each block of exact integers: in one call for all groups, or for those that were selected."""
    found: list[NDArray[np.int64] | NDArray[np.object_]] = []
    for block, noise in zip(recipe.blocks, protection.noises, strict=True):
        if isinstance(block, Choice) or isinstance(noise, RankChoice):
            assert isinstance(block, Choice)  # noqa: S101 - the protection makes choices for these blocks
            assert isinstance(noise, RankChoice)  # noqa: S101 - and for no others
            cells = aggregates.unprotected_cells(block.place, kept)
            statistic = recipe.plan.statistics[block.place]
            pooled = None if noise.pooled is None else aggregates.unprotected_pooled(block.place)
            found.append(choose(noise, statistic, cells, bits, pooled))
            continue
        exact = block.exact(aggregates, kept)
        if exact.dtype == np.int64:
            found.append(noisy_counts(exact, noise, bits))  # type: ignore[arg-type]
        else:
            flat: NDArray[np.object_] = np.array(noisy(exact.ravel().tolist(), noise, bits), dtype=object)
            found.append(flat.reshape(exact.shape))
    return NoisyNumbers(tuple(found), protection.noises)

"""What Laplace and Gaussian noise on a grid share: how values are snapped and released, and how far they err."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.exact import float_up
from discreet.mechanisms.adding.grids import Inputs, Norm, added, converted, ends, float_gap, place, require_size
from discreet.mechanisms.inputs.parameters import miss
from discreet.mechanisms.inputs.values import limited, snapped
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.mechanisms.words import movers
from discreet.noise import SYSTEM, BitSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Grid

__all__ = ["GridNoise"]


class GridNoise(Mechanism["ArrayLike | Fraction", "float | NDArray[np.float64]"]):
    """Noise of one scale on numbers, vectors or arrays that are snapped to a grid.

    >>> from discreet.mechanisms import Laplace
    >>> Laplace(1, scale=2, grid="1/4").moved
    Fraction(5, 4)
    """

    __slots__ = ()

    counted: ClassVar[Norm]
    """The norm in which the noise hides a distance."""

    sensitivity: Fraction
    grid: Grid
    dimensions: int
    norm: Norm
    inputs: Inputs

    @property
    @abstractmethod
    def _spread(self) -> Fraction:
        """The scale of the noise."""

    @abstractmethod
    def _reach(self, ratio: Fraction, chance: Fraction) -> int:
        """Return how many steps the noise, of so many steps, exceeds with at most this chance."""

    @abstractmethod
    def _drawn(self, shape: tuple[int, ...] | None, bits: BitSource) -> int | NDArray[np.int64]:
        """Draw noise in steps of the grid: one number, or an array of them."""

    @property
    def moved(self) -> Fraction:
        """How far two neighbors' snapped values can be apart, in the norm of the noise."""
        distance = converted(self.sensitivity, self.norm, self.counted, self.dimensions)
        return place(
            distance, self._spread, norm=self.counted, dimensions=self.dimensions, grid=self.grid, inputs=self.inputs
        )[1]

    @property
    def assumed(self) -> tuple[str, ...]:
        """The sensitivity, and the range of the values."""
        what = "the values" if self.inputs is Inputs.RAW else f"the values, snapped to multiples of {self.grid.step},"
        return (
            f"{movers(self.neighbors)} moves {what} by at most {self.sensitivity} in the norm {self.norm.value}.",
            ends(self.grid.step),
        )

    def error(self, confidence: float = 0.95, *, together: int = 1) -> float:
        """Return how far `together` coordinates stay from their values, with this probability.

        It speaks of values within 2**62 steps of the grid, at whose ends others are clamped, and of the exact sums; a
        released float of more than 2**53 steps is the nearest one, which the error of that release counts.
        """
        reach = self._reach(self._spread / self.grid.step, miss(confidence, together))
        snap = Fraction(1, 2) if self.inputs is Inputs.RAW else 0
        return float_up((reach + snap) * self.grid.step)

    def error_of(
        self, value: float | NDArray[np.float64], details: Mapping[str, object], confidence: float = 0.95
    ) -> float:
        """Return the error of one release: that of the noise, and of the floats where steps are finer than they are."""
        del details
        return self.error(confidence) + float_gap(value, self.grid)

    def release(self, value: ArrayLike | Fraction, *, bits: BitSource = SYSTEM) -> Release[float | NDArray[np.float64]]:
        """Return the values with noise, as floats on the grid."""
        steps = snapped(value, self.grid)
        require_size(np.size(steps), self.dimensions)
        if isinstance(steps, int):
            return Release(self.grid.value(limited(steps + int(self._drawn(None, bits)))), self)
        return Release(self.grid.values(added(steps, np.asarray(self._drawn(steps.shape, bits)))), self)

"""The notes' second bad idea: noise on every element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.mechanisms.prefix.factorization import Factorization, Run, by_norm, several

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.mechanisms.adding.grids import Norm
    from discreet.mechanisms.prefix.factorization import Draw

__all__ = ["EveryElement"]


@dataclass(frozen=True, slots=True)
class EveryElement(Factorization):
    """Noise on each element, added up: C = 1, B = A. Little noise, but sum t has t of them.

    A baseline: the lecture's "bad idea 2", where the noise of t elements is written as t Lap(1/epsilon); it is the sum
    of t independent ones, of standard deviation sqrt(2t) / epsilon.

    >>> EveryElement(100).deviations(rho="1/2").max()
    np.float64(10.0)
    """

    kind: ClassVar[str] = "every_element"
    title: ClassVar[str] = "noise on every element"
    source: ClassVar[str] = "Dwork, Naor, Pitassi & Rothblum 2010, doi:10.1145/1806689.1806787, Section 3"

    horizon: int

    def moved(
        self, steps: Fraction, norm: Norm, *, events: int = 1, separation: int = 0, dimension: int = 1
    ) -> Fraction:
        """An event moves one element; events on different steps move different ones."""
        del dimension
        return steps * by_norm(events, norm) if separation else several(steps, events)

    def weights(self, step: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """One noise for each element so far."""
        return np.ones(1), np.array([step])

    def window(self, step: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """One noise for each element of the window."""
        return self.weights(min(step, width))

    def variances(self) -> NDArray[np.float64]:
        """As many as elements."""
        return np.arange(1.0, self.horizon + 1)

    def start(self, dimension: int = 1) -> Run:
        """Begin."""
        return _Run(dimension)


class _Run(Run):
    """The noisy sum alone."""

    arrays = ("noisy",)

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self._noisy = np.zeros(dimension, dtype=np.int64)

    def extend(self, elements: NDArray[np.int64], draw: Draw) -> NDArray[np.float64]:
        sums = self._noisy + np.cumsum(elements + draw(elements.shape), axis=0)
        self._noisy, self.step = sums[-1].copy(), self.step + len(sums)
        return sums.astype(np.float64)

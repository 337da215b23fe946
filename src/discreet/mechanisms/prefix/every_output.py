"""The notes' first bad idea: fresh noise on every sum."""

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

__all__ = ["EveryOutput"]


@dataclass(frozen=True, slots=True)
class EveryOutput(Factorization):
    """Noise on each sum: C = A, B = 1. The first element is in all T sums, and each needs noise for all of them.

    A baseline: the lecture's "bad idea 1".

    >>> EveryOutput(100).deviations(rho="1/2").max()
    np.float64(10.0)
    """

    kind: ClassVar[str] = "every_output"
    title: ClassVar[str] = "noise on every sum"
    source: ClassVar[str] = "Dwork, Naor, Pitassi & Rothblum 2010, doi:10.1145/1806689.1806787, Section 3"

    horizon: int

    def moved(
        self, steps: Fraction, norm: Norm, *, events: int = 1, separation: int = 0, dimension: int = 1
    ) -> Fraction:
        """An event at step 1 moves all T sums."""
        del separation, dimension
        return several(steps * by_norm(self.horizon, norm), events)

    def weights(self, step: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """One noise."""
        del step
        return np.ones(1), np.ones(1, dtype=np.int64)

    def variances(self) -> NDArray[np.float64]:
        """All alike."""
        return np.ones(self.horizon)

    def start(self, dimension: int = 1) -> Run:
        """Begin."""
        return _Run(dimension)


class _Run(Run):
    """The exact sum."""

    arrays = ("total",)

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self._total = np.zeros(dimension, dtype=np.int64)

    def extend(self, elements: NDArray[np.int64], draw: Draw) -> NDArray[np.float64]:
        sums = self._total + np.cumsum(elements, axis=0)
        noisy = sums + draw(sums.shape)
        self._total, self.step = sums[-1].copy(), self.step + len(sums)
        return noisy.astype(np.float64)

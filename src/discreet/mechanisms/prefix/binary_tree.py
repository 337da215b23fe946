"""Tree-based aggregation as the notes have it: noise on the complete dyadic blocks of a stream."""

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

__all__ = ["BinaryTree", "ones"]


def ones(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the ones in the binary digits of numbers: how many dyadic blocks a prefix has.

    >>> ones(np.array([1, 6, 7])).tolist()
    [1, 2, 3]
    """
    counts = np.zeros_like(steps)
    while steps.any():
        counts += steps & 1
        steps = steps >> 1
    return counts


@dataclass(frozen=True, slots=True)
class BinaryTree(Factorization):
    """Noise on each complete dyadic block ((j - 1) 2^h, j 2^h]; a sum adds the blocks of the binary digits of t.

    An element is in at most floor(log2 T) + 1 blocks that are complete by T: one of each length 2^h <= T. So that many
    noises protect it, and a sum has at most as many. (A padded tree with incomplete blocks has ceil(log2 T) + 1.) At
    t = 2^h the block is the root of what there is so far, which has no sibling: it is used itself.

    A baseline: `KaryTree` has less noise under pure privacy, `SquareRoot` and `Buffered` under zCDP.

    >>> BinaryTree(65536).levels, round(float(BinaryTree(65536).deviations(rho="1/2").max()), 2)
    (17, 16.49)
    """

    kind: ClassVar[str] = "binary_tree"
    title: ClassVar[str] = "binary tree"
    source: ClassVar[str] = (
        "Chan, Shi & Song 2011, doi:10.1145/2043621.2043626; Dwork, Naor, Pitassi & Rothblum 2010, "
        "doi:10.1145/1806689.1806787"
    )

    horizon: int

    @property
    def levels(self) -> int:
        """In how many blocks an element may be: floor(log2 T) + 1."""
        return self.horizon.bit_length()

    def moved(
        self, steps: Fraction, norm: Norm, *, events: int = 1, separation: int = 0, dimension: int = 1
    ) -> Fraction:
        """An event moves the sum of a block of each length."""
        del separation, dimension
        return several(steps * by_norm(self.levels, norm), events)

    def weights(self, step: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """One noise for each one among the digits of t."""
        return np.ones(1), ones(np.array([step]))

    def window(self, step: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Blocks that both prefixes have cancel: those above the highest digit in which they differ."""
        before = max(step - width, 0)
        below = (1 << (step ^ before).bit_length()) - 1
        return np.ones(1), ones(np.array([step & below])) + ones(np.array([before & below]))

    def variances(self) -> NDArray[np.float64]:
        """As many as ones."""
        return ones(np.arange(1, self.horizon + 1)).astype(np.float64)

    def start(self, dimension: int = 1) -> Run:
        """Begin."""
        return _Run(dimension, self.levels)


class _Run(Run):
    """The exact sum, and for each length the noise of the block that prefixes use now."""

    arrays = ("total", "noise")

    def __init__(self, dimension: int, levels: int) -> None:
        super().__init__(dimension)
        self._total = np.zeros(dimension, dtype=np.int64)
        self._noise = np.zeros((levels, dimension), dtype=np.int64)

    def extend(self, elements: NDArray[np.int64], draw: Draw) -> NDArray[np.float64]:
        before, after = self.step, self.step + len(elements)
        noisy = self._total + np.cumsum(elements, axis=0)
        self._total = noisy[-1].copy()
        steps = np.arange(before + 1, after + 1)
        for level, kept in enumerate(self._noise):
            blocks = steps >> level  # its last digit says whether a prefix has a block of this length
            first = ((before >> level) + 1) | 1  # the first such block that begins to be used here
            drawn = draw((max(0, ((after >> level) - first) // 2 + 1), self.dimension))
            known = np.concatenate([kept[None], drawn])
            used = np.flatnonzero(blocks & 1)
            noisy[used] += known[np.maximum((blocks[used] - first) // 2 + 1, 0)]
            if len(drawn):
                self._noise[level] = drawn[-1]
        self.step = after
        return noisy.astype(np.float64)

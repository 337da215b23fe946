"""What all strategies share: whole numbers that are measured with noise, and how answers follow from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.exact import sqrt_upper
from discreet.mechanisms.adding.sums import Moved, adds_rows
from discreet.mechanisms.inputs.values import FARTHEST
from discreet.privacy.relations import group_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.workloads.algebra.workload import Floats, Workload
    from discreet.privacy.relations import Relation

__all__ = ["STEPS", "Reach", "Strategy"]

STEPS = 1 << 20
"""A weight of 1 is so many steps: weights are snapped to whole steps before anything is derived from them."""


@dataclass(frozen=True)
class Reach:
    """How far one row moves the measured whole numbers: the largest column of the strategy's matrix, in both norms.

    `l1` is the largest sum of absolute values of a column, `l2_squared` the largest sum of squares; `apart_squared` the
    largest squared distance of two columns, or of one column and nothing, if it is known.

    Privacy. A unit with at most k rows adds up to k columns, so it moves the measured numbers by at most k times the
    largest column. Under change-one a sum of up to k columns leaves and another one enters: at most 2k times the
    largest in L1, and in L2 at most k times the largest distance of two points of the convex hull of all columns and 0,
    which two of its corners reach; at most 2k times the largest column, and sqrt(2) k times it where no two columns
    have a negative inner product (`acute`), as where no entry is negative. Where `rounded` numbers are each within one
    step of the exact combination, two neighbors are up to two steps farther apart in each: 2 d more in L1, 2 sqrt(d)
    more in L2.

    >>> from discreet.privacy import NeighborRelation
    >>> Reach(4, 4).moved(3, NeighborRelation.ADD_REMOVE, rows=2)
    Moved(l1=8, l2=Fraction(4, 1), dimensions=3)
    """

    l1: int
    l2_squared: int
    acute: bool = True
    apart_squared: int | None = None
    rounded: int = 0

    def moved(self, measurements: int, neighbors: Relation, rows: int = 1) -> Moved:
        """Return how far one unit, or a group of them, moves all numbers, rounded up."""
        times = rows * group_size(neighbors)
        if adds_rows(neighbors):
            l1, l2 = times * self.l1, times * _root(self.l2_squared)
        else:
            apart = (2 if self.acute else 4) * self.l2_squared if self.apart_squared is None else self.apart_squared
            l1, l2 = 2 * times * self.l1, times * _root(apart)
        return Moved(l1 + 2 * self.rounded, l2 + 2 * _root(self.rounded), measurements)


def _root(square: int) -> Fraction:
    """The square root, exact where it is a whole number and rounded up otherwise."""
    return sqrt_upper(Fraction(square))


class Strategy(ABC):
    """Which whole numbers get noise, for a workload, and how its answers follow from them.

    The numbers are exact integer combinations of the counts. Everything after the noise is post-processing.

    >>> sorted(Strategy.__abstractmethods__)
    ['answers', 'exact', 'measurements', 'reach', 'total', 'variances']
    """

    name: ClassVar[str]
    whole: ClassVar[bool] = False
    """Whether the answers are sums of measured numbers, each a count in whole rows."""
    workload: Workload

    @property
    @abstractmethod
    def measurements(self) -> int:
        """How many numbers are measured."""

    @property
    @abstractmethod
    def reach(self) -> Reach:
        """How far one row moves them, exactly."""

    @property
    @abstractmethod
    def total(self) -> float:
        """The expected squared error of all answers, each with its importance, for noise of variance 1."""

    def measure(self, counts: Any) -> NDArray[np.int64]:  # noqa: ANN401 - cells, or a table that gives marginals
        """Compute the exact numbers; each is clamped to 62 bits, which moves no two tables further apart."""
        clamped: NDArray[np.int64] = np.clip(self.exact(counts), -FARTHEST, FARTHEST).astype(np.int64)
        return clamped

    @abstractmethod
    def exact(self, counts: Any) -> NDArray[Any]:  # noqa: ANN401 - as above
        """Compute the numbers: of 64 bits, or of any size where `read_counts` gives such."""

    @abstractmethod
    def answers(self, noisy: Floats) -> Floats:
        """Derive the answers to all queries of the workload from noisy numbers."""

    @abstractmethod
    def variances(self) -> Floats:
        """The variance of each answer, for noise of variance 1."""

    def cells(self, noisy: Floats) -> Floats | None:
        """Estimate the counts of all cells from noisy numbers; None where the workload does not determine them."""
        del noisy
        return None

"""Quantiles and extremes: one point of a fine public grid for each, by the exponential mechanism on ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.exact import sqrt_lower, sqrt_upper
from discreet.mechanisms.selection import gap_bound
from discreet.noise import lottery, uniform_integer
from discreet.plans.statistics import RankedCells, Window
from discreet.privacy import NeighborRelation, curves
from discreet.privacy.relations import Group

if TYPE_CHECKING:
    from discreet.noise import BitSource
    from discreet.plans.nodes.aggregate import Sensitivity
    from discreet.plans.statistics import Statistic
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Cells", "RankChoice", "choose", "laid_out"]

Cells = NDArray[np.int64]
"""For one group, one row per cell: the cell, the rows below it, the rows in it, and all rows of the group."""

_NEGLIGIBLE = 45 * math.log(2)  # points beyond the reach are chosen at most about once in 2**45 times
_HIDDEN = 15  # scales: points beyond the last row are exp(-15) as likely as the row that an extreme aims at
_MOST = 1 << 59


@dataclass(frozen=True)
class RankChoice:
    r"""Choose a point for each level, likelier the fewer rows it misses the level's rank by; for all groups.

    Privacy. A point misses the rank of level q = b / (a + b) by d rows times (a + b), d as in `Window`. One row more or
    less moves d by at most m = max(a, b) (`RankTarget`, with the derivation). Its score is -min(d, reach): clipping
    moves no two numbers further apart, so this holds for the score as well, and points beyond the reach, all alike,
    need not be told apart. With probabilities in proportion to exp(score / scale), a unit with j rows in a group
    changes the logarithm of a ratio of two points there by at most 2 j m / scale: the choice has the range 2 j m /
    scale, so it is as private as that in epsilon, and (its square)/8-zCDP (Cesar & Rogers 2021, arXiv:2004.07223,
    Lemma 3.4). Groups and levels are chosen independently and compose: with T rows of a unit in all groups together
    (the L1 sensitivity of a count) the ranges of a level add up to 2 T m / scale; and its rhos to m^2 S / (2 scale^2),
    S the sum of the squares of the unit's rows by group (the squared L2 sensitivity of a count). Under change-one the
    rows of the unit that leaves and of the one that enters add up in each group: T is the sum of both, and S at most
    four times that of one.

    Smith 2011 (doi:10.1145/1993636.1993743); McSherry & Talwar 2007 (doi:10.1109/FOCS.2007.41).

    >>> from discreet.plans.nodes.aggregate import Sensitivity
    >>> one, median = Sensitivity(1, 1, 1), (Fraction(1, 2),)
    >>> made = RankChoice.of(median, 120, one, NeighborRelation.ADD_REMOVE, epsilon=Fraction(1))
    >>> made.windows[0].reach, made.epsilon, made.rho
    (73, Fraction(1, 1), Fraction(1, 8))
    """

    levels: tuple[Fraction, ...]
    width: int
    moved: Sensitivity
    scales: tuple[Fraction, ...]
    neighbors: Relation

    @staticmethod
    def of(  # noqa: PLR0913 - one of two prices
        levels: tuple[Fraction, ...],
        width: int,
        moved: Sensitivity,
        neighbors: Relation,
        *,
        epsilon: Fraction | None = None,
        rho: Fraction | None = None,
    ) -> RankChoice:
        """Divide a price among the levels so that the sum of their squared rank errors is least.

        With m = max(q, 1 - q) the error of a level is in proportion to m / epsilon_q, or to m / sqrt(rho_q). By
        Lagrange's rule epsilon_q is in proportion to m^(2/3), and rho_q to m.
        """
        sizes = [max(level, 1 - level) for level in levels]
        if epsilon is not None:
            weights = [Fraction(round(1000 * float(size) ** (2 / 3)), 1000) for size in sizes]
            shares = [epsilon * weight / sum(weights) for weight in weights]
            scales = [
                2 * moved.l1 * size * level.denominator / share
                for size, level, share in zip(sizes, levels, shares, strict=True)
            ]
        else:
            shares = [(rho or Fraction(0)) * size / sum(sizes) for size in sizes]
            scales = [
                sqrt_upper(Fraction(_squares(moved, neighbors)) / 2) * size * level.denominator / sqrt_lower(share)
                for size, level, share in zip(sizes, levels, shares, strict=True)
            ]
        return RankChoice(levels, width, moved, tuple(scales), neighbors)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """For each level the rank, and from which miss on all points are alike."""
        found = []
        for level, scale in zip(self.levels, self.scales, strict=True):
            a, b = level.denominator - level.numerator, level.numerator
            hidden = 0 if a * b else min(math.ceil(self._hidden * scale), _MOST)
            reach = math.ceil(min(float(scale) * (math.log(self.width + 1) + _NEGLIGIBLE), float(_MOST))) + hidden + 1
            found.append(Window(a, b, hidden if b == 0 else -hidden, reach))
        return tuple(found)

    @property
    def _hidden(self) -> float:
        """How many scales an extreme keeps from the end: so many that all points beyond it have a chance of 1/20."""
        return min(_HIDDEN, math.log(20 * (self.width + 1)))

    @property
    def epsilon(self) -> Fraction:
        """The sum of the ranges over all groups and levels."""
        parts = zip(self.windows, self.scales, strict=True)
        return sum((2 * self.moved.l1 * max(window.a, window.b) / scale for window, scale in parts), Fraction(0))

    @property
    def rho(self) -> Fraction:
        """The sum of the rhos over all groups and levels."""
        squares = _squares(self.moved, self.neighbors)
        parts = zip(self.windows, self.scales, strict=True)
        return sum((squares * max(window.a, window.b) ** 2 / (2 * scale**2) for window, scale in parts), Fraction(0))

    @property
    def privacy(self) -> Curve:
        """The curve of one choice with the range of all: ranges add up under composition."""
        return curves.exponential(self.epsilon, neighbors=self.neighbors)

    def rank_error(self, place: int, confidence: float) -> float:
        """By how many rows the point of a level misses its rank at most, with this probability.

        Some point misses it by 0 (by less than the rank itself, in a group of fewer rows than an extreme's rank), so
        the bound of the exponential mechanism holds; it is below the reach.
        """
        window = self.windows[place]
        return gap_bound(self.scales[place], self.width + 1, 1, confidence) / (window.a + window.b)


def _squares(moved: Sensitivity, neighbors: Relation) -> int:
    """The sum over groups of the squares of how many rows leave or enter; see `RankChoice`."""
    relation = neighbors.relation if isinstance(neighbors, Group) else neighbors
    return moved.l2_squared if relation is NeighborRelation.ADD_REMOVE else 2 * moved.l2_squared


def choose(choice: RankChoice, statistic: Statistic, groups: list[Cells], bits: BitSource) -> NDArray[np.int64]:
    """Choose a cell for each group and level: one row per group, one column per level."""
    assert isinstance(statistic, RankedCells)  # noqa: S101 - a recipe chooses for these alone
    found = np.zeros((len(groups), len(choice.levels)), dtype=np.int64)
    for number, cells in enumerate(groups):
        for place, (window, scale) in enumerate(zip(choice.windows, choice.scales, strict=True)):
            found[number, place] = _chosen(cells, window, scale, statistic, bits)
    return found


def _chosen(cells: Cells, window: Window, scale: Fraction, statistic: RankedCells, bits: BitSource) -> int:
    """Choose one cell of the grid, exactly with probability in proportion to exp(-min(miss, reach) / scale).

    Cells within the reach are candidates by themselves. Between two of them, and on either side, no point holds a row
    that makes a difference: between, points miss the rank alike; left of the first cell within the reach, by as much as
    the gap just left of it, or by more than the reach (were it less, the next cell would be within the reach too).
    """
    starts, sizes, misses = laid_out(cells, window, statistic.factor.lower, statistic.factor.upper)
    chosen = lottery(-np.minimum(misses, window.reach), scale, sizes, bits)
    size = int(sizes[chosen])
    return int(starts[chosen]) + (uniform_integer(size, bits=bits) if size > 1 else 0)


def laid_out(cells: Cells, window: Window, lower: int, upper: int) -> tuple[Cells, Cells, Cells]:
    """Give runs of points that miss the rank alike: where each begins, how many points it has, and its miss."""
    slope = window.a + window.b
    if not len(cells):
        return np.array([lower]), np.array([upper - lower + 1]), np.array([0])
    aim = window.b * int(cells[0, 3]) + window.c
    below, upto = slope * cells[:, 1] - aim, slope * (cells[:, 1] + cells[:, 2]) - aim
    near = np.maximum(below, -upto) < window.reach
    points, below, upto = cells[near, 0], below[near], upto[near]
    starts = np.concatenate([[lower], points, points + 1])
    sizes = np.concatenate([[points[0] - lower], np.ones_like(points), np.append(points[1:], upper + 1) - points - 1])
    misses = np.concatenate([[abs(below[0])], np.maximum(np.maximum(below, -upto), 0), np.abs(upto)])
    return starts, sizes, misses

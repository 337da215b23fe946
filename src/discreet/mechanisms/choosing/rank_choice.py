"""Quantiles and extremes: one point of a fine public grid for each, by the exponential mechanism on ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.exact import counted, sqrt_lower, sqrt_upper
from discreet.mechanisms.adding.sums import noisy_counts
from discreet.mechanisms.choosing.joint import Joint
from discreet.mechanisms.choosing.ranks import RankTarget
from discreet.mechanisms.choosing.scores import gap_bound
from discreet.mechanisms.choosing.weights import FLOOR_BITS, Weights, ties_of
from discreet.mechanisms.inputs.parameters import miss
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.noise import lotteries, uniform_integer
from discreet.noise.bits import LARGEST_SCALE, SMALLEST_SCALE
from discreet.privacy import ZCDP, NeighborRelation, Pure, curves
from discreet.privacy.convert import convert
from discreet.privacy.relations import Group

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.noise import BitSource
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = [
    "POOLED_SHARE",
    "CellBins",
    "CellGrid",
    "Cells",
    "Moves",
    "RankChoice",
    "RankWindow",
    "aims",
    "choose",
    "laid_out",
    "laplace_rho",
    "learns",
    "pure_rho",
]

Cells = NDArray[np.int64]
"""For one group, one row per cell: the cell, the rows below it, the rows in it, and all rows of the group."""

POOLED_SHARE = Fraction(1, 25)
"""The part of a choice's price that buys a histogram of all groups together, where there are several."""

_NEGLIGIBLE = 45 * math.log(2)  # points beyond the reach are chosen at most about once in 2**45 times
_HIDDEN = 15  # scales: points beyond the last row are exp(-15) as likely as the row that an extreme aims at
_INSIDE = 4  # an extreme aims no farther inside than at one in so many rows
_MOST = 1 << 59
_TOGETHER = 10  # levels at once: more gain little
_MOST_UNIT = 10**6
_gap_bound = lru_cache(maxsize=256)(gap_bound)  # of public numbers; it is the same for every group of an answer
_MOST_CELLS = 1 << 16  # of groups that are chosen for together: a few megabytes
_MOST_NUMBERS = 1 << 23  # 64 megabytes of doubles


class Moves(Protocol):
    """How far one unit moves counts of rows, over all groups."""

    @property
    def l1(self) -> int:
        """The sum of all changes."""

    @property
    def l2_squared(self) -> int:
        """The sum of their squares."""


class CellBins(Protocol):
    """Runs of cells that are counted over all groups."""

    @property
    def starts(self) -> Sequence[int]:
        """The first cell of each."""


class CellGrid(Protocol):
    """The public grid of which points are chosen, and the bins in which the rows of all groups are counted."""

    @property
    def lower(self) -> int:
        """The first cell."""

    @property
    def width(self) -> int:
        """How many steps the last cell is above the first."""

    @property
    def marks(self) -> CellBins:
        """The bins."""


@dataclass(frozen=True, slots=True)
class RankWindow(RankTarget):
    """A rank, and from which miss on all points are alike; both in units of 1 / (a + b) rows.

    >>> RankWindow(1, 1, 0, reach=10).distance(below=3, equal=0, above=5)
    2
    """

    reach: int = field(kw_only=True)


@dataclass(frozen=True)
class RankChoice:
    r"""Choose a point for each level, likelier the fewer rows it misses the level's rank by; for all groups.

    Levels strictly between 0 and 1 are chosen together, up to ten at once (`Joint`); a level by itself, and each end,
    as follows.

    Privacy. A point misses the rank of level q = b / (a + b) by d rows times (a + b), d the distance of `RankTarget`.
    One row more or less moves d by at most m = max(a, b), which is derived there. Its score is -min(d, reach): clipping
    moves no two numbers further apart, so this holds for the score as well, and points beyond the reach, all alike,
    need not be told apart. With probabilities in proportion to exp(score / scale), a unit with j rows in a group
    changes the logarithm of a ratio of two points there by at most 2 j m / scale: the choice has the range 2 j m /
    scale, so it is as private as that in epsilon, and (its square)/8-zCDP (Cesar & Rogers 2021, arXiv:2004.07223,
    Lemma 3.4). Groups and parts are chosen independently and compose: with T rows of a unit in all groups together (the
    L1 sensitivity of a count) the ranges of a part add up to 2 T m / scale; and its rhos to m^2 S / (2 scale^2), S the
    sum of the squares of the unit's rows by group (the squared L2 sensitivity of a count). Under change-one the rows of
    the unit that leaves and of the one that enters add up in each group: T is the sum of both, and S at most four
    times that of one.

    A part of several levels has m = 2 (1 - min p) in rows (`Joint`). Under change-one the two units may be in different
    groups, so m is the same for T. In a group that k rows leave and k' enter, min(k, k') of them are exchanged, for 2
    each: the miss moves by at most 2 max(k, k'), and the squares add up to at most four times the sum of both units'
    squares, 4 S / 2: with S as above, m is sqrt 2 there.

    An extreme aims at the row h scales inside its end, at most at one in `_INSIDE` rows: `aims` has both. Let R be the
    rows below a point for MIN, above it for MAX, n all rows and t = min(c, n // 4) the aim with a public c. A row more
    raises R and t by 0 or 1 each, so that R - t moves by at most 1, and so does the miss, |R - t|: that the aim follows
    the rows costs nothing, and m is 1 as for a fixed one. (For a point in a cell with E rows the miss is max(0, R - t,
    t - R - E): both R and R + E are raised by 0 or 1, and the largest of three moves by no more than each.)

    Where there are several groups, few of their rows may be near a rank and many points beyond them. So `pooled` first
    buys the counts of bins (`Marks`) over all groups together, with Laplace noise, and these say how much the points of
    each bin weigh in every group (`Weights`). A row is in one bin of one group, so the counts of bins move by at most T
    together, whichever groups the unit's rows are in: with noise of the scale T / epsilon they cost epsilon. Given
    them, weights are fixed, and scores and ranges are as above; both prices add up, as the choices may depend on what
    was released before (adaptive composition). The noisy counts are not shown.

    Smith 2011 (doi:10.1145/1993636.1993743); McSherry & Talwar 2007 (doi:10.1109/FOCS.2007.41).

    >>> from discreet.plans.nodes.aggregate import Sensitivity
    >>> one, median = Sensitivity(1, 1, 1), (Fraction(1, 2),)
    >>> made = RankChoice.of(median, 120, one, NeighborRelation.ADD_REMOVE, epsilon=Fraction(1))
    >>> made.windows[0].reach, made.epsilon, made.rho
    (73, Fraction(1, 1), Fraction(1, 8))
    """

    levels: tuple[Fraction, ...]
    width: int
    moved: Moves
    scales: tuple[Fraction, ...]
    neighbors: Relation
    together: int
    """How many levels are chosen at once at most."""
    pooled: DiscreteLaplace | None = None
    """The noise of the histogram of all groups that weights follow; None where all points are alike."""

    @staticmethod
    def of(  # noqa: PLR0913 - one of two prices
        levels: tuple[Fraction, ...],
        width: int,
        moved: Moves,
        neighbors: Relation,
        *,
        epsilon: Fraction | None = None,
        rho: Fraction | None = None,
        several: bool = False,
    ) -> RankChoice:
        """Divide a price among the parts so that the sum of the levels' squared rank errors is least.

        For `several` groups `POOLED_SHARE` of it buys their histogram first, unless extremes alone are asked for, or so
        little is paid that no sampler holds its noise.

        A part of k levels has an error in proportion to m / epsilon, or m / sqrt(rho), k times, with m in rows (half of
        it for several levels, as a point that is off by d adds 2 d to their miss). By Lagrange's rule its epsilon is in
        proportion to (k m^2)^(1/3), and its rho to k^(1/2) m.

        Fewer levels are chosen together, in the end each by itself, where so little is paid that the ranks within the
        reach would be too many to be kept in memory.
        """
        pooled = None
        if several and learns(levels) and ties_of(width) >= FLOOR_BITS:
            pooled = _pooled(moved, neighbors, epsilon=epsilon, rho=rho)
        if pooled is not None:
            epsilon = None if epsilon is None else epsilon * (1 - POOLED_SHARE)
            rho = None if rho is None else rho * (1 - POOLED_SHARE)
        for together in range(_TOGETHER, 0, -1):
            scales = _scales(_parts(levels, together), levels, moved, neighbors, epsilon=epsilon, rho=rho)
            choice = RankChoice(levels, width, moved, scales, neighbors, together, pooled)
            if all(joint is None or joint.numbers <= _MOST_NUMBERS for joint in choice.joints):
                break
        return choice

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Which levels, by their places, are chosen together."""
        return _parts(self.levels, self.together)

    @cached_property
    def joints(self) -> tuple[Joint | None, ...]:
        """For each part of several levels how they are chosen."""
        return tuple(
            Joint(tuple(self.levels[place] for place in part), self.width, scale) if len(part) > 1 else None
            for part, scale in zip(self.parts, self.scales, strict=True)
        )

    @cached_property
    def windows(self) -> tuple[RankWindow, ...]:
        """For each level the rank, and from which miss on all points are alike."""
        windows: dict[int, RankWindow] = {}
        for part, joint, scale in zip(self.parts, self.joints, self.scales, strict=True):
            for place in part:
                level = self.levels[place]
                a, b = level.denominator - level.numerator, level.numerator
                if joint is not None:
                    windows[place] = RankWindow(a, b, 0, reach=joint.reach * (a + b) // (2 * joint.unit) + 1)
                    continue
                hidden = 0 if a * b else min(math.ceil(self._hidden * scale), _MOST)
                within = min(float(scale) * (math.log(self._candidates) + _NEGLIGIBLE), float(_MOST))
                windows[place] = RankWindow(a, b, hidden if b == 0 else -hidden, reach=math.ceil(within) + hidden + 1)
        return tuple(windows[place] for place in range(len(self.levels)))

    @property
    def _hidden(self) -> float:
        """How many scales an extreme keeps from the end: so many that all points beyond it have a chance of 1/20."""
        return min(_HIDDEN, math.log(20 * self._candidates))

    @property
    def _candidates(self) -> int:
        """How many times all cells weigh what one does at most: as many as there are, if all are alike."""
        return (self.width + 1) << (0 if self.pooled is None else FLOOR_BITS)

    @property
    def epsilon(self) -> Fraction:
        """The sum of the ranges over all groups and parts, and the histogram's epsilon."""
        return self._ranges + (0 if self.pooled is None else self.pooled.claim.epsilon)

    @property
    def _ranges(self) -> Fraction:
        parts = zip(self.parts, self.scales, strict=True)
        moves = ((_moves(self.levels, part, self.neighbors)[0], scale) for part, scale in parts)
        return sum((2 * self.moved.l1 * move / scale for move, scale in moves), Fraction(0))

    @property
    def rho(self) -> Fraction:
        """The sum of the rhos over all groups and parts, and the histogram's."""
        squares = _squares(self.moved, self.neighbors)
        parts = zip(self.parts, self.scales, strict=True)
        moves = ((_moves(self.levels, part, self.neighbors)[1], scale) for part, scale in parts)
        pooled = Fraction(0) if self.pooled is None else laplace_rho(self.pooled)
        return sum((squares * move**2 / (2 * scale**2) for move, scale in moves), pooled)

    @property
    def privacy(self) -> Curve:
        """The curve of one choice with the range of all, as ranges add up under composition; and the histogram's."""
        chosen = curves.exponential(self._ranges, neighbors=self.neighbors)
        return chosen if self.pooled is None else chosen + self.pooled.privacy

    def missed(self, levels: tuple[Fraction, ...], confidence: float) -> str:
        """Say by how many rows the points of some levels miss their ranks at most, and where that of an end is."""
        places = [self.levels.index(level) for level in levels]
        rows = counted(f"{max(self.rank_error(place, confidence) for place in places):.3g}", "row")
        inside = max(abs(self.windows[place].c) for place in places)
        rank = (
            f"a rank {counted(inside, 'row')} inside, or a quarter of all rows where they are few,"
            if inside
            else "its rank"
        )
        return f"misses {rank} by at most {rows}; how far apart values lie there is private."

    def rank_error(self, place: int, confidence: float) -> float:
        """By how many rows the point of a level misses its rank at most, with this probability.

        Some point misses it by 0, so the bound of the exponential mechanism holds; it is below the reach. The rank of
        an extreme is as far inside as `aims` says.
        """
        number = next(number for number, part in enumerate(self.parts) if place in part)
        joint = self.joints[number]
        if joint is not None:
            return joint.rank_error(float(miss(confidence)))
        window = self.windows[place]
        return _gap_bound(self.scales[number], self._candidates, 1, confidence) / (window.a + window.b)


def learns(levels: tuple[Fraction, ...]) -> bool:
    """Whether levels gain by a histogram of all groups: extremes, which keep well inside, do not.

    >>> learns((Fraction(0), Fraction(1, 2))), learns((Fraction(0), Fraction(1)))
    (True, False)
    """
    return any(0 < level < 1 for level in levels)


def _pooled(
    moved: Moves, neighbors: Relation, *, epsilon: Fraction | None, rho: Fraction | None
) -> DiscreteLaplace | None:
    """The noise of the histogram for its share of a price; with rho = epsilon^2 / 2 it keeps its share of rho."""
    paid = epsilon * POOLED_SHARE if epsilon is not None else sqrt_lower(2 * (rho or Fraction(0)) * POOLED_SHARE)
    scale = max(moved.l1 / paid, SMALLEST_SCALE)  # more noise than was paid for
    return DiscreteLaplace(moved.l1, scale=scale, neighbors=neighbors) if scale < LARGEST_SCALE else None


def laplace_rho(noise: DiscreteLaplace) -> Fraction:
    """The rho of Laplace noise: its curve's, or that of its pure promise where it is smaller.

    >>> laplace_rho(DiscreteLaplace(1, epsilon=1)) <= Fraction(1, 2)
    True
    """
    return min(Fraction(noise.privacy.zcdp()), pure_rho(noise.claim.epsilon))


@lru_cache(maxsize=64)
def pure_rho(epsilon: Fraction) -> Fraction:
    """The rho that an epsilon is worth; a search, so it is kept.

    >>> pure_rho(Fraction(1)) <= Fraction(1, 2)
    True
    """
    return convert(Pure(epsilon), to=ZCDP).rho


def _scales(  # noqa: PLR0913 - as `RankChoice.of`
    parts: tuple[tuple[int, ...], ...],
    levels: tuple[Fraction, ...],
    moved: Moves,
    neighbors: Relation,
    *,
    epsilon: Fraction | None,
    rho: Fraction | None,
) -> tuple[Fraction, ...]:
    """Divide a price among parts; see `RankChoice.of`."""
    sizes = [_size(levels, part) / _twice(part) for part in parts]
    exponents = (1 / 3, 2 / 3) if epsilon is not None else (1 / 2, 1)
    weights = [
        Fraction(max(1, round(1000 * len(part) ** exponents[0] * float(size) ** exponents[1])), 1000)
        for part, size in zip(parts, sizes, strict=True)
    ]
    scales = []
    for part, weight in zip(parts, weights, strict=True):
        share = weight / sum(weights)
        if epsilon is not None:
            scales.append(2 * moved.l1 * _moves(levels, part, neighbors)[0] / (epsilon * share))
        else:
            squares = _moves(levels, part, neighbors)[1] ** 2 * _squares(moved, neighbors)
            scales.append(sqrt_upper(squares / 2) / sqrt_lower((rho or Fraction(0)) * share))
    return tuple(scales)


def _twice(part: tuple[int, ...]) -> int:
    """A point of several that is off by d adds 2 d to their miss."""
    return 2 if len(part) > 1 else 1


def _parts(levels: tuple[Fraction, ...], together: int) -> tuple[tuple[int, ...], ...]:
    """Levels between the ends, at most so many whose common denominator is short; the ends each by itself."""
    parts: list[list[int]] = []
    inner = [place for place, level in enumerate(levels) if 0 < level < 1]
    most = math.ceil(len(inner) / max(1, math.ceil(len(inner) / together)))
    for place in inner:
        unit = math.lcm(*(levels[other].denominator for other in (*(parts[-1] if parts else ()), place)))
        if parts and len(parts[-1]) < most and unit <= _MOST_UNIT:
            parts[-1].append(place)
        else:
            parts.append([place])
    return tuple(tuple(part) for part in (*parts, *([place] for place in range(len(levels)) if place not in inner)))


def _size(levels: tuple[Fraction, ...], part: tuple[int, ...]) -> Fraction:
    """How far a row more or less moves the miss of a part, in rows."""
    if len(part) == 1:
        return max(levels[part[0]], 1 - levels[part[0]])
    ends = [Fraction(0), *(levels[place] for place in part), Fraction(1)]
    return 2 * (1 - min(b - a for a, b in pairwise(ends)))


def _moves(levels: tuple[Fraction, ...], part: tuple[int, ...], neighbors: Relation) -> tuple[Fraction, Fraction]:
    """How far each row of the L1, and of the L2, sensitivity of a count moves the miss of a part, in its unit."""
    unit = math.lcm(*(levels[place].denominator for place in part))
    relation = neighbors.relation if isinstance(neighbors, Group) else neighbors
    if len(part) == 1 or relation is NeighborRelation.ADD_REMOVE:
        return _size(levels, part) * unit, _size(levels, part) * unit
    return _size(levels, part) * unit, sqrt_upper(Fraction(2)) * unit


def _squares(moved: Moves, neighbors: Relation) -> int:
    """The sum over groups of the squares of how many rows leave or enter; see `RankChoice`."""
    relation = neighbors.relation if isinstance(neighbors, Group) else neighbors
    return moved.l2_squared if relation is NeighborRelation.ADD_REMOVE else 2 * moved.l2_squared


def choose(
    choice: RankChoice,
    grid: CellGrid,
    groups: list[Cells],
    bits: BitSource,
    pooled: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Choose a cell for each group and level: one row per group, one column per level.

    `pooled` are the exact counts of the bins of all groups, where the choice has paid for them. Cells are counted from
    the first one here: beside the ends of 64 bits there is no next cell.
    """
    points = np.zeros((len(groups), len(choice.levels)), dtype=np.int64)
    first = np.array([grid.lower, 0, 0, 0])
    groups = [cells - first for cells in groups]
    learned = _learned(choice, grid, pooled, bits)
    for part, joint, scale in zip(choice.parts, choice.joints, choice.scales, strict=True):
        weights = Weights.even(0, grid.width, 0 if joint is None else joint.ties) if learned is None else learned
        if joint is None:
            for start, some in _together(groups):
                chosen = _chosen(some, choice.windows[part[0]], scale, weights, bits)
                points[start : start + len(some), part[0]] = chosen
            continue
        for number, cells in enumerate(groups):
            points[number, part] = joint.chosen(cells, weights, bits)
    points += grid.lower
    return points


def _learned(choice: RankChoice, grid: CellGrid, pooled: NDArray[np.int64] | None, bits: BitSource) -> Weights | None:
    """Add noise to the counts of all groups, and read weights from them; None where they are not paid for."""
    if choice.pooled is None:
        return None
    assert pooled is not None  # noqa: S101 - who asks the engine asks for them too
    noisy = noisy_counts(pooled, choice.pooled, bits).tolist()
    starts = [start - grid.lower for start in grid.marks.starts]
    return Weights.learned(starts, grid.width, noisy, float(choice.pooled.scale))


def _together(groups: list[Cells]) -> Iterator[tuple[int, list[Cells]]]:
    """Give groups, with the place of the first, as many at once as have few cells together."""
    start, held = 0, 0
    for end, cells in enumerate(groups):
        if held and held + len(cells) > _MOST_CELLS:
            yield start, groups[start:end]
            start, held = end, 0
        held += len(cells) + 1
    if groups:  # of unknown keys none may have been released
        yield start, groups[start:]


def _chosen(groups: list[Cells], window: RankWindow, scale: Fraction, weights: Weights, bits: BitSource) -> list[int]:
    """Choose one cell of the grid for each group, exactly in proportion to its points exp(-min(miss, reach) / scale).

    Cells within the reach are candidates by themselves. Between two of them, and on either side, no point holds a row
    that makes a difference: between, points miss the rank alike; left of the first cell within the reach, by as much as
    the gap just left of it, or by more than the reach (were it less, the next cell would be within the reach too).
    """
    starts, sizes, misses, counts = laid_out(groups, window, int(weights.starts[0]), weights.upper)
    first = weights.first(starts)
    points = weights.first(starts + sizes) - first
    scores = -np.minimum(misses, window.reach)
    chosen = lotteries(scores, scale, points, counts, bits)
    spots = zip(sizes[chosen].tolist(), points[chosen].tolist(), strict=True)
    within = [uniform_integer(count, bits=bits) if size > 1 else 0 for size, count in spots]
    chosen_cells: list[int] = weights.cells(first[chosen] + np.array(within, dtype=np.int64)).tolist()
    return chosen_cells


def aims(window: RankWindow, totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank that a point should have in groups of so many rows, in units of 1 / (a + b) rows.

    An extreme keeps far from the end because points beyond the last row are many. Where rows are few against noise, the
    row so far inside is at the other end, or beyond it, and a quarter of the rows is kept instead: over 432 settings (n
    from 30 to 10^5, epsilon from 0.1 to 10, 1 to 20 rows of a unit, eight shapes) the error was 0.8 times as large in
    the mean, at best 1/25 and at worst 1.6 times; an eighth of the rows was worse by up to 7 times, where all rows lie
    close together far from the end.

    Engines read the window, so around |c|. As its reach is beyond |c|, it holds every cell within the reach of any rank
    up to |c|: below < aim + reach implies below < |c| + reach, and aim - reach < 0.

    >>> aims(RankWindow(1, 0, 30, reach=99), np.array([0, 100, 1000])).tolist()
    [0, 25, 30]
    >>> aims(RankWindow(0, 1, -30, reach=99), np.array([0, 100, 1000])).tolist()
    [0, 75, 970]
    """
    if window.a and window.b:
        return window.b * totals + window.c
    inside: NDArray[np.int64] = np.minimum(abs(window.c), totals // _INSIDE)
    return totals - inside if window.b else inside


def laid_out(groups: list[Cells], window: RankWindow, lower: int, upper: int) -> tuple[Cells, Cells, Cells, Cells]:
    """Give runs of points that miss the rank alike: where each begins, how many points it has, and its miss.

    Those of the first group come first, and so on; the last array says how many each group has. A group has one run on
    the left of its first cell, one for each cell, and one on the right of each. All points of a group without rows miss
    nothing.
    """
    cells, group = np.concatenate(groups), np.repeat(np.arange(len(groups)), [len(some_cells) for some_cells in groups])
    slope, aim = window.a + window.b, aims(window, cells[:, 3])
    below, upto = slope * cells[:, 1] - aim, slope * (cells[:, 1] + cells[:, 2]) - aim
    near = np.maximum(below, -upto) < window.reach
    points, below, upto, group = cells[near, 0], below[near], upto[near], group[near]
    counts = np.bincount(group, minlength=len(groups))
    ends = np.cumsum(counts)
    some, firsts = counts > 0, (ends - counts)[counts > 0]
    last = np.append(points, upper)[1:] - 1  # of the run on the right of each cell
    last[ends[some] - 1] = upper
    starts, sizes, misses = np.full(len(groups), lower), np.full(len(groups), upper - lower + 1), np.zeros_like(counts)
    sizes[some], misses[some] = points[firsts] - lower, np.abs(below[firsts])
    order = np.argsort(np.concatenate([np.arange(len(groups)), group, group]), kind="stable")
    laid = (
        np.concatenate([starts, points, points + 1])[order],
        np.concatenate([sizes, np.ones_like(points), last - points])[order],
        np.concatenate([misses, np.maximum(np.maximum(below, -upto), 0), np.abs(upto)])[order],
    )
    return (*laid, 2 * counts + 1)

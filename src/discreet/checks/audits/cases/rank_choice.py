"""Points near ranks, as a database chooses them: a row more, a row exchanged, and a unit with a row in two groups."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import normalized
from discreet.mechanisms.choosing.rank_choice import RankChoice, choose
from discreet.mechanisms.choosing.weights import Weights
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM
from discreet.plans.expressions import Column
from discreet.plans.nodes.aggregate import Sensitivity
from discreet.plans.statistics import RankedCells, Snapped
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.mechanisms.mechanism import Mechanism
    from discreet.noise import BitSource
    from discreet.privacy import Curve

__all__ = ["RankedGroups", "cases", "made"]

_SMALL = 15
_LARGE = 2**57  # so many points that none is divided further: the law of a tuple is that of its gaps
_CUTS = [_LARGE // 16, _LARGE // 4, _LARGE // 2]
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class RankedGroups:
    """A choice with the grid that it chooses from; what it is given are the values of each group.

    >>> made((Fraction(1, 2),)).privacy.epsilon(0)
    1.0
    """

    kind: ClassVar[str] = "rank_choice"
    choice: RankChoice
    grid: RankedCells

    @property
    def privacy(self) -> Curve:
        """The choice's own."""
        return self.choice.privacy

    def release(self, groups: Sequence[Sequence[int]], *, bits: BitSource = SYSTEM) -> Release[Any]:
        """Count the cells of each group, and where it is paid for the bins of all of them, and choose."""
        points = choose(self.choice, self.grid, [_cells(rows) for rows in groups], bits, _pooled(self.grid, groups))
        return Release(tuple(map(tuple, points.tolist())), self)  # type: ignore[arg-type]


def _cells(rows: Sequence[int]) -> NDArray[np.int64]:
    cells = []
    below = 0
    for cell, count in sorted(Counter(rows).items()):
        cells.append((cell, below, count, len(rows)))
        below += count
    return np.array(cells, dtype=np.int64).reshape(-1, 4)


def _pooled(grid: RankedCells, groups: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    counts = Counter(grid.marks.place(row) for row in itertools.chain.from_iterable(groups))
    return np.array([counts[place] for place in range(len(grid.marks.starts))], dtype=np.int64)


def _after_counts(mechanism: RankedGroups, groups: Sequence[Sequence[int]]) -> dict[str, float]:
    """The law of one level on two cells, after noisy counts of both over all groups: for all of them, one by one."""
    noise = mechanism.choice.pooled
    assert noise is not None  # noqa: S101 - the cases below say so
    counts, reach = _pooled(mechanism.grid, groups).tolist(), math.ceil(30 * noise.scale)
    falling = math.exp(-1 / noise.scale)
    heights = {away: falling ** abs(away) * (1 - falling) / (1 + falling) for away in range(-reach, reach + 1)}
    kinds: Counter[tuple[int, int]] = Counter()
    for first, second in itertools.product(heights, repeat=2):
        weights = Weights.learned((0, 1), 1, [counts[0] + first, counts[1] + second], float(noise.scale))
        kinds[tuple(weights.digits_of(np.arange(2)).tolist())] += heights[first] * heights[second]  # type: ignore[assignment]
    law: Counter[str] = Counter()
    for digits, chance in kinds.items():
        for place, part in _points(mechanism, groups, [2**digit for digit in digits]).items():
            law[place] += chance * part  # type: ignore[assignment]
    return dict(law)


def _points(
    mechanism: RankedGroups, groups: Sequence[Sequence[int]], sizes: Sequence[int] = (1,) * (_SMALL + 1)
) -> dict[str, float]:
    """The law of one level on a small grid: point by point, from the numbers of rows below and above."""
    choice, (scale,) = mechanism.choice, mechanism.choice.scales
    ((level,), (window,)) = choice.levels, choice.windows
    laws = []
    for rows in groups:
        weights = {}
        for point, size in enumerate(sizes):
            low, high = sum(row < point for row in rows), sum(row <= point for row in rows)
            aim = level * len(rows) + (1 - 2 * level) * min(abs(window.c), len(rows) // 4)  # an end: inside of it
            miss = level.denominator * max(low - aim, aim - high, Fraction(0))
            weights[point] = size * math.exp(-min(miss, Fraction(window.reach)) / scale)
        laws.append(normalized(weights))
    chances = itertools.product(*(law.items() for law in laws))
    return {str(tuple((p,) for p, _ in chosen)): math.prod(chance for _, chance in chosen) for chosen in chances}


def _places(mechanism: RankedGroups, groups: Sequence[Sequence[int]], count: int, bits: BitSource) -> NDArray[np.str_]:
    """Between which cuts the points of the only group lie."""
    released = (mechanism.release(groups, bits=bits).value[0] for _ in range(count))
    return np.array([str(np.searchsorted(_CUTS, points, side="left").tolist()) for points in released])


def _tuples(mechanism: RankedGroups, groups: Sequence[Sequence[int]]) -> Mapping[str, float]:
    """The law of several levels: of sorted tuples by the gaps between cuts, all rows lying on cuts.

    With k points in a gap of g points there are g^k / k! tuples.
    """
    choice, (scale,) = mechanism.choice, mechanism.choice.scales
    unit = math.lcm(*(level.denominator for level in choice.levels))
    (rows,) = groups
    ends = [-1, *_CUTS, _LARGE]
    gaps = [((b - a) / _LARGE, sum(row <= a for row in rows)) for a, b in itertools.pairwise(ends)]
    weights = {}
    for chosen in itertools.combinations_with_replacement(range(len(gaps)), len(choice.levels)):
        off = [gaps[at][1] - level * len(rows) for at, level in zip(chosen, choice.levels, strict=True)]
        miss = unit * sum(abs(b - a) for a, b in itertools.pairwise([Fraction(0), *off, Fraction(0)]))
        size = math.prod(gaps[at][0] for at in chosen)
        size /= math.prod(math.factorial(held) for held in Counter(chosen).values())
        weights[str(list(chosen))] = size * math.exp(-miss / scale)
    return normalized(weights)


def made(  # noqa: PLR0913 - what cases differ in
    levels: tuple[Fraction, ...],
    moved: Sensitivity = Sensitivity(1, 1, 1),  # noqa: B008 - a value
    *,
    width: int = _SMALL,
    epsilon: int = 1,
    neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE,
    several: bool = False,
) -> Mechanism[Any, Any]:
    """Make a choice on the grid from 0 to the width.

    >>> made((Fraction(1, 2),)).release([[3, 15]]).value[0][0] in range(16)
    True
    """
    choice = RankChoice.of(levels, width, moved, neighbors, epsilon=Fraction(epsilon), several=several)
    ranked = RankedGroups(choice, RankedCells(Snapped(Column("x"), 0, width, 0, Fraction(1))))
    return cast("Mechanism[Any, Any]", ranked)  # it has all that an audit asks for


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    two, changed = Sensitivity(1, 2, 2), NeighborRelation.CHANGE_ONE
    quarters = (Fraction(1, 4), Fraction(3, 4))
    first, second, third = _CUTS
    spread, heap = list(range(0, 16, 3)) * 2, [15] * 9
    several, groups = made((_HALF,), two), ([[15], [15]], [[3, 15], [3, 15]])
    pooled = made((_HALF,), width=1, epsilon=16, several=True)
    three, wide = [second, second, third], made(quarters, width=_LARGE, epsilon=2)
    exchanged = made((_HALF,), two, epsilon=4, neighbors=changed)
    return (
        Case("a row more", made((_HALF,)), [[15]], [[3, 15]], draws=2_000, law=_points, also=([spread],)),
        Case("a row more, near the end", made((Fraction(0),)), [heap], [[*heap, 3]], draws=2_000, law=_points),
        Case("a row in each of two groups", several, *groups, law=_points, also=([spread, spread],)),
        Case("a row more, after counts of two groups", pooled, [[0, 1], [1]], [[0, 0, 1], [1]], law=_after_counts),
        Case("a row exchanged", exchanged, [[13, 15]], [[2, 13]], law=_points),
        Case("two levels together", wide, [three], [[first, *three]], _places, draws=600, law=_tuples, coarse=True),
    )

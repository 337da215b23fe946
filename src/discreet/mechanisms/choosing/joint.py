"""Several quantiles as one choice among all tuples of points, from the rows near their ranks alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from discreet.exact import Interval
from discreet.mechanisms.choosing.weights import ties_of
from discreet.noise import lottery, uniform_integer
from discreet.noise.bits import LazyUniform, ordered_integers, toss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.mechanisms.choosing.weights import Weights
    from discreet.noise import BitSource

__all__ = ["Chain", "Joint", "toss_product"]

_NEGLIGIBLE = 45 * math.log(2)  # tuples beyond the reach are chosen at most about once in 2**45 times
_SLACK = 2.0**-20
_NEAR = 2.0**-28
_NEVER = Fraction(-(10**6))  # exp of it is 0 in floats


@dataclass(frozen=True)
class Joint:
    r"""Choose points for several levels together.

    Utility. Let r_j be the number of rows below point j of a sorted tuple, n all rows, and D_j = r_j - q_j n by how
    much the point misses the rank of its level. The tuple's miss is $|D_1| + \sum_j |D_{j+1} - D_j| + |D_m|$: by how
    much the numbers of rows between neighboring points are off their shares, as in Gillenwater, Joseph & Kulesza 2021
    (arXiv:2102.08244). A row more raises all r_j right of it by one and each q_j n by q_j: the terms of the miss change
    by the shares p_i, but the one around the row by 1 - p: together at most 2 (1 - min p). A row exchanged for another
    changes the miss by at most 2.

    Clipping. The score is -min(miss, reach), which moves no farther. As the miss is at least 2 |D_j| for each j, tuples
    with a point that misses its rank by reach/2 or more all have the score -reach, and rows farther from all ranks than
    that need not be known.

    Candidates are all tuples of points of the grid (unsorted: a sorted one counts as often as it can be ordered). Cells
    are divided into 2**ties points, or as `Weights` says into no more of them in all, and each row is moved to a random
    one of its cell: one draw of its own per row, which costs nothing and lets rows with equal values lie on both sides
    of a point. Released points are rounded down again.

    All misses are counted in units of 1/`unit` rows, unit a common denominator of the levels; `scale` is in that unit.

    >>> Joint((Fraction(1, 4), Fraction(3, 4)), 100, Fraction(8)).shares
    (1, 2, 1)
    """

    levels: tuple[Fraction, ...]
    width: int
    scale: Fraction

    @cached_property
    def unit(self) -> int:
        """The common denominator of the levels."""
        return math.lcm(*(level.denominator for level in self.levels))

    @cached_property
    def shares(self) -> tuple[int, ...]:
        """The shares of the rows between neighboring levels, in units."""
        ends = [Fraction(0), *self.levels, Fraction(1)]
        return tuple(int((b - a) * self.unit) for a, b in pairwise(ends))

    @cached_property
    def ties(self) -> int:
        """Into how many points (a power of two) a cell is divided where all are alike."""
        return ties_of(self.width)

    @property
    def points(self) -> int:
        """How many points there are at most."""
        return (self.width + 1) << self.ties

    @cached_property
    def tuples(self) -> float:
        """The logarithm of the number of tuples, sorted ones counted once."""
        return len(self.levels) * math.log(self.points) - math.lgamma(len(self.levels) + 1)

    @cached_property
    def reach(self) -> int:
        """From which miss on all tuples are alike; large enough that some rank is always within half of it."""
        return math.ceil(float(self.scale) * (self.tuples + _NEGLIGIBLE)) + 4 * self.unit

    def rank_error(self, chance: float) -> float:
        """By how many rows no point misses its rank by more, but with this probability.

        Some tuple misses each rank by at most half a row, and all together by at most a row per level; the chosen one
        misses by scale ln(tuples / chance) more (McSherry & Talwar 2007), and by at least twice its largest D.
        """
        return (len(self.levels) + float(self.scale) / self.unit * (self.tuples - math.log(chance))) / 2

    @cached_property
    def states(self) -> int:
        """How many ranks there are at most within half the reach of a level's, the ends included."""
        return self.reach // self.unit + 3

    @property
    def numbers(self) -> int:
        """How many numbers `Chain` keeps at most; it depends on public facts alone, not on how many rows there are."""
        levels = len(self.levels)
        return self.states * levels * (levels + 7) // 2

    def near(self, total: int) -> list[tuple[int, int]]:
        """For each level the least and the largest number of rows below a point within half the reach of its rank."""
        half, ranks, aim = Fraction(self.reach, 2), [], 0
        for share in self.shares[:-1]:
            aim += share
            low = math.floor((aim * total - half) / self.unit) + 1
            high = math.ceil((aim * total + half) / self.unit) - 1
            ranks.append((max(low, 0), min(high, total)))
        return ranks

    def chosen(self, cells: NDArray[np.int64], weights: Weights, bits: BitSource) -> NDArray[np.int64]:
        """Choose one cell per level, in rising order; `cells` are those near the ranks, as `RankedCells` says."""
        total = int(cells[0, 3]) if len(cells) else 0
        numbers, known = [], 0
        for low, high in self.near(total):  # both ends rise from level to level
            numbers.append(np.arange(max(low, known + 1), min(high + 1, total) + 1))
            known = max(known, min(high + 1, total))
        asked = np.concatenate(numbers)
        rows = _spread(cells, weights, asked, bits)
        return weights.cells(np.array(Chain(self, rows, asked, total, weights.points).draw(bits), dtype=np.int64))


class Chain:
    """Tuples of points by the numbers of rows below them, drawn exactly.

    A state is the number of rows below a point, r, and how many points so far lie in that gap between rows, k. The
    points of a gap of g points with k of them weigh g^k / k!, so one more point in the gap weighs g / (k + 1), and a
    first one in another gap g; a step from r to r' weighs exp(-|unit (r' - r) - share n| / scale).
    """

    def __init__(
        self, joint: Joint, rows: NDArray[np.int64], numbers: NDArray[np.int64], total: int, points: int
    ) -> None:
        self._joint, self._total, self._points = joint, total, points
        self._rate = 1 / float(joint.scale)
        self._first: list[int] = []
        self._starts: list[NDArray[np.int64]] = []
        self._sizes: list[NDArray[np.int64]] = []
        for low, high in joint.near(total):
            spots = self._spots(rows, numbers, low, high + 1)
            self._first.append(low)
            self._starts.append(spots[:-1] + 1)
            self._sizes.append(np.diff(spots))
        with np.errstate(divide="ignore"):
            self._logs = [np.log(sizes.astype(np.float64)) for sizes in self._sizes]
        self._ahead = self._logarithms()
        finite = [
            float(np.abs(logarithms[np.isfinite(logarithms)]).max(initial=0.0))
            for logarithms in (*self._ahead, *self._logs)
        ]
        most = max(*finite, self._rate * joint.reach, joint.tuples)
        self._slack = Fraction((len(joint.shares) + 1) * (_SLACK + most * 2.0**-44))

    def _spots(self, rows: NDArray[np.int64], numbers: NDArray[np.int64], first: int, last: int) -> NDArray[np.int64]:
        """Where the rows of these numbers lie; before the first row is -1, and after the last one the last point."""
        spots = np.empty(last - first + 1, dtype=np.int64)
        inside = slice(max(first, 1) - first, min(last, self._total) - first + 1)
        spots[inside] = rows[np.searchsorted(numbers, np.arange(first, last + 1)[inside])]
        if first == 0:
            spots[0] = -1
        if last == self._total + 1:
            spots[-1] = self._points - 1
        return spots

    def _misses(self, step: int, gaps: NDArray[np.int64]) -> NDArray[np.int64]:
        """The term of a step over so many rows, in units."""
        return np.abs(self._joint.unit * gaps - self._joint.shares[step] * self._total)

    def _logarithms(self) -> list[NDArray[np.float64]]:
        """For each level and state the logarithm of all weights after it, in floats; they guide and decide nothing.

        Each logarithm is off by less than the number of states times the rounding of one addition, which is less than
        half of `_SLACK` for the most states that are allowed.
        """
        last = len(self._first) - 1
        below = self._first[last] + np.arange(self._sizes[last].size)
        rest = -self._rate * self._misses(last + 1, self._total - below)
        ahead = [np.repeat(rest[:, None], last + 2, axis=1)]
        for level in range(last - 1, -1, -1):
            here = np.arange(self._sizes[level].size)
            offset = self._first[level] - self._first[level + 1]
            moved = self._moved(level + 1, here + offset, self._logs[level + 1] + ahead[0][:, 0])
            after = np.repeat(moved[:, None], level + 2, axis=1)
            there = here + offset
            same = (there >= 0) & (there < self._sizes[level + 1].size)
            stays = self._logs[level + 1][there[same]] - self._rate * self._joint.shares[level + 1] * self._total
            for k in range(1, level + 2):
                more = stays - math.log(k + 1) + ahead[0][there[same], k]
                after[same, k - 1] = np.logaddexp(after[same, k - 1], more)
            ahead.insert(0, after)
        return ahead

    def _moved(self, step: int, places: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""For each place x the logarithm of $\sum_{y > x} \exp(weight_y - |unit (y - x) - share n| / scale)$.

        Up to `most` rows farther the distance counts as a rest, beyond as an excess: two exponentials in y, each a sum
        over a range of y whose end, or whose length, is the same for all x.
        """
        unit, share = self._joint.unit, self._joint.shares[step] * self._total
        most, size = share // unit, weights.size
        slope, shift = self._rate * unit * np.arange(size), self._rate * (unit * places + share)
        ends = np.clip(places + most + 1, 0, size)
        far = np.append(_from_right(weights - slope), -np.inf)[ends] + shift
        near = _in_windows(weights + slope, np.clip(places + 1, 0, size), ends, most) - shift
        both: NDArray[np.float64] = np.logaddexp(far, near)
        return both

    def _scores(self, level: int, below: int, held: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The next numbers of rows below a point that may follow, and the floats by which one of them is drawn."""
        after = self._first[level] + np.arange(self._sizes[level].size)
        scores = self._logs[level] + self._ahead[level][:, 0] - self._rate * self._misses(level, after - below)
        if held:
            place = below - self._first[level]
            if 0 <= place < scores.size:
                stays = self._logs[level][place] - math.log(held + 1) + self._ahead[level][place, held]
                scores[place] = stays - self._rate * self._joint.shares[level] * self._total
        there = np.isfinite(scores) & (after >= below)
        return after[there], scores[there]

    def draw(self, bits: BitSource) -> list[int]:
        """Return a sorted tuple of points with probability in proportion to exp(-min(miss, reach) / scale)."""
        levels = len(self._first)
        outside = self._joint.tuples - self._rate * self._joint.reach
        while True:
            after, scores = self._scores(0, 0, 0)
            place = lottery(np.append(scores, outside), 1, bits=bits)
            if place == scores.size:
                points = self._anywhere(outside, bits)
            else:
                path, held = [int(after[place])], 1
                for level in range(1, levels):
                    after, scores = self._scores(level, path[-1], held)
                    path.append(int(after[lottery(scores, 1, bits=bits)]))
                    held = held + 1 if path[-1] == path[-2] else 1
                points = (
                    self._placed(path, bits) if self._miss(path) < self._joint.reach and self._kept(path, bits) else []
                )
            if points:
                return points

    def _miss(self, path: list[int]) -> int:
        """The miss of a tuple with so many rows below its points."""
        steps = zip(self._joint.shares, pairwise([0, *path, self._total]), strict=True)
        return sum(abs(self._joint.unit * (b - a) - share * self._total) for share, (a, b) in steps)

    def _placed(self, path: list[int], bits: BitSource) -> list[int]:
        """Choose a point in each gap."""
        points = []
        for level, below in enumerate(path):
            place = below - self._first[level]
            points.append(int(self._starts[level][place]) + uniform_integer(int(self._sizes[level][place]), bits=bits))
        return sorted(points)

    def _anywhere(self, score: float, bits: BitSource) -> list[int]:
        """Choose any tuple; none if it is one whose miss is below the reach, which the other way draws."""
        points = sorted(uniform_integer(self._points, bits=bits) for _ in self._first)
        path = []
        for level, point in enumerate(points):
            place = int(np.searchsorted(self._starts[level], point, side="right")) - 1
            if place < 0 or point >= self._starts[level][place] + self._sizes[level][place]:
                break
            path.append(self._first[level] + place)
        if len(path) == len(points) and self._miss(path) < self._joint.reach:
            return []
        levels = len(self._first)
        exponent = -self._slack - self._joint.reach / self._joint.scale - Fraction(score)
        weight = Fraction(self._points**levels, math.factorial(levels))
        return points if toss_product(exponent, weight, [], bits) else []

    def _kept(self, path: list[int], bits: BitSource) -> bool:
        """Toss the coin that turns the law of the lotteries into that of the weights.

        The lotteries drew this path with probability prod exp(s_j) / Z_j, s_j the float that stood for its step j and
        Z_j the sum of exp over all of that step's. Its weight w is known exactly, so a chance in proportion to w prod
        Z_j / prod exp(s_j) is needed; Z_1 is the same for all. s_j was computed as the step's logarithm plus that of
        what follows, and Z_(j+1) is that sum: the product is 1 but for rounding, for which `slack` is plenty.
        """
        exponent = -self._slack - Fraction(self._miss(path)) / self._joint.scale
        weight, sums, below, held = Fraction(1), [], 0, 0
        for level, now in enumerate(path):
            after, scores = self._scores(level, below, held)
            exponent -= Fraction(float(scores[np.searchsorted(after, now)]))
            held = held + 1 if level and now == below else 1
            weight *= Fraction(int(self._sizes[level][now - self._first[level]]), held)
            if level:
                top = float(scores.max())
                exponent += Fraction(top)
                sums.append(scores - top)
            below = now
        return toss_product(exponent, weight, sums, bits)


def _spread(cells: NDArray[np.int64], weights: Weights, asked: NDArray[np.int64], bits: BitSource) -> NDArray[np.int64]:
    """Say where the rows of these numbers lie, once each row was moved to a random point of its cell.

    Rows are numbered from 1 in the order of their places. Nothing but the rows that are asked for is drawn: of a cell
    with many equal values those of the ranks in question. The first digits of a uniform integer are one of fewer
    digits, so one draw does for cells that are divided differently.
    """
    if not asked.size:
        return np.zeros(0, dtype=np.int64)
    held = np.searchsorted(cells[:, 1] + cells[:, 2], asked)
    points, digits = weights.first(cells[held, 0]), weights.digits_of(cells[held, 0])
    most = int(digits.max())
    if not most:
        return points
    if (cells[held, 2] == 1).all():
        return points + (uniform_integer(1 << most, asked.size, bits) >> (most - digits))
    here, first, counts = np.unique(held, return_index=True, return_counts=True)
    whole = counts == cells[here, 2]
    wanted = np.repeat(whole, counts)
    # Cells of which every row is asked for are drawn and sorted together: in a cell the order is that of the points.
    parts = uniform_integer(1 << most, int(wanted.sum()), bits) >> (most - digits[wanted])
    points[wanted] = np.sort(points[wanted] + parts)
    for cell, start, count in zip(here[~whole], first[~whole], counts[~whole], strict=True):
        part = slice(int(start), int(start + count))
        size, below = int(cells[cell, 2]), int(cells[cell, 1])
        points[part] += ordered_integers(size, int(digits[start]), asked[part] - below, bits)
    return points


def _from_right(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each place the logarithm of the sum of exp from there on."""
    sums: NDArray[np.float64] = np.logaddexp.accumulate(values[::-1])[::-1]
    return sums


def _in_windows(
    values: NDArray[np.float64], starts: NDArray[np.int64], ends: NDArray[np.int64], length: int
) -> NDArray[np.float64]:
    """For each pair of rising ends the logarithm of the sum of exp between them; none is longer than `length`.

    No sum is taken as a difference of two, which floats would not survive. Places are divided into blocks of the
    length; a window is in two neighboring blocks at most, the end of one and the beginning of the next, or in one as
    its beginning or its end, for windows are shorter only where they begin at the first place or end at the last.
    """
    sums = np.full(starts.size, -np.inf)
    some = ends > starts
    if not some.any():
        return sums
    block = min(length, values.size)
    padded = np.full(-(-values.size // block) * block, -np.inf)
    padded[: values.size] = values
    rows = padded.reshape(-1, block)
    upto = np.logaddexp.accumulate(rows, axis=1).ravel()
    onward = np.logaddexp.accumulate(rows[:, ::-1], axis=1)[:, ::-1].ravel()
    first, last = starts[some], ends[some] - 1
    split = first // block != last // block
    inner = np.where(first % block == 0, upto[last], onward[first])
    sums[some] = np.where(split, np.logaddexp(onward[first], upto[last]), inner)
    return sums


def toss_product(exponent: Fraction, weight: Fraction, sums: list[NDArray[np.float64]], bits: BitSource) -> bool:
    """Toss a coin with chance weight * exp(exponent) times the product of the sums of exp of each array.

    >>> from discreet.noise import SYSTEM
    >>> toss_product(Fraction(-(10**9)), Fraction(1), [], SYSTEM)
    False
    """
    chance = LazyUniform(bits, bits.integer(64), 64)
    logarithm = math.log(weight.numerator) - math.log(weight.denominator)
    near = math.exp(float(max(exponent, _NEVER)) + logarithm + sum(math.log(np.exp(scores).sum()) for scores in sums))
    if abs(chance.digits * 2.0**-64 - near) > _NEAR:
        return chance.digits * 2.0**-64 < near

    def enclosed(precision: int) -> Interval:
        product = Interval.of(exponent, precision).exp().scaled(weight)
        for scores in sums:
            terms = [Interval.of(Fraction(float(score)), precision).exp() for score in scores]
            product = product * Interval(sum(t.lo for t in terms), sum(t.hi for t in terms), precision)
        return product

    return toss(enclosed, bits, chance)

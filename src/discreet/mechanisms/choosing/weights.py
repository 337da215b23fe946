"""How many points each cell of a grid counts as: alike, or as a noisy histogram of all groups suggests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["FLOOR_BITS", "Weights", "ties_of"]

FLOOR_BITS = 4
"""A cell counts for at least 2**-4 of what it would count for if all were alike, whatever the histogram says."""

_MOST_BITS = 58
_TIE_BITS = 20
_MASS_BITS = 80
_MASS = 1 << _MASS_BITS
_CLEAR = 3  # standard deviations: a smaller difference between two halves is taken for noise
_ALONE = 5  # the same for a bin by itself: of two hundred hardly one is beyond by noise alone


def ties_of(width: int) -> int:
    """Into how many parts (a power of two) a cell is divided if all are alike; 2**58 points are not exceeded.

    >>> ties_of(120), ties_of(2**50)
    (20, 7)
    """
    return max(0, min(_TIE_BITS, _MOST_BITS - (width + 1).bit_length()))


@dataclass(frozen=True, eq=False)
class Weights:
    """The base measure of the exponential mechanism (McSherry & Talwar 2007, doi:10.1109/FOCS.2007.41).

    Cells from a start up to the next are divided into 2**digits points each; a choice among points, all alike, is one
    among cells with these weights. They are public facts, or follow from a release that was paid for: given them, a
    choice is as private as with any others, so its price and that of the release add up (adaptive composition).

    >>> weights = Weights(np.array([0, 40, 41]), np.array([0, 5, 1]), 100)
    >>> weights.points, weights.first(np.array([39, 40, 41, 42])).tolist()
    (192, [39, 40, 72, 74])
    >>> weights.cells(np.array([39, 40, 71, 72])).tolist()
    [39, 40, 40, 41]
    """

    starts: NDArray[np.int64]
    digits: NDArray[np.int64]
    upper: int

    @staticmethod
    def even(lower: int, width: int, digits: int) -> Weights:
        """All cells alike.

        >>> Weights.even(0, 99, 3).points
        800
        """
        return Weights(np.array([lower]), np.array([digits]), lower + width)

    @staticmethod
    def learned(starts: Sequence[int], upper: int, counts: Sequence[int], scale: float) -> Weights:
        """Follow the noisy counts of bins that begin at these cells, as far as they are more than noise of a scale.

        Points are divided among bins half by half (`_divided`), so that bins that hold little are smoothed together. A
        bin whose count is beyond what that leaves it by more than `_ALONE` standard deviations of its noise has the
        excess for itself: a value that many rows have is told from its neighbors. One of 16 points is spread over all
        cells alike. Parts of a cell are rounded down to a power of two: there are at most as many points as with even
        weights. Bins without a cell count for nothing.

        >>> weights = Weights.learned([0, 40, 41], 100, [3, 5000, -2], 20.0)
        >>> weights.digits.tolist(), ties_of(100)
        ([16, 26, 16], 20)
        """
        firsts, every = np.array(starts, dtype=np.int64), np.diff(np.array(starts, dtype=np.int64), append=upper + 1)
        there = every > 0
        sizes, held = every[there].tolist(), np.array(counts, dtype=np.int64)[there].tolist()
        masses = _masses(sizes, held, scale)
        begins = firsts[there]
        cells, ties, floor = sum(sizes), ties_of(upper - int(begins[0])), (1 << FLOOR_BITS) - 1
        shift = _MASS_BITS + FLOOR_BITS - ties  # a part of a cell is (floor * mass * cells / size + _MASS) / 2**shift
        digits = [
            max(0, ((floor * cells * mass // size + _MASS) >> shift).bit_length() - 1)
            for mass, size in zip(masses, sizes, strict=True)
        ]
        return Weights(begins, np.array(digits, dtype=np.int64), upper)

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        """The first point of each bin, and one more than the last point."""
        sizes = np.diff(np.append(self.starts, self.upper + 1)) << self.digits
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def points(self) -> int:
        """How many points there are."""
        return int(self._offsets[-1])

    def _bins(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        bins: NDArray[np.int64] = np.searchsorted(self.starts, cells, side="right") - 1
        return bins

    def digits_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Into how many points, as a power of two, each of these cells is divided."""
        digits: NDArray[np.int64] = self.digits[self._bins(cells)]
        return digits

    def first(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first point of each of these cells; of the one after the last cell, the number of points."""
        bins = self._bins(cells)
        points: NDArray[np.int64] = self._offsets[bins] + ((cells - self.starts[bins]) << self.digits[bins])
        return points

    def cells(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cell that each of these points is in."""
        bins = np.searchsorted(self._offsets, points, side="right") - 1
        inside: NDArray[np.int64] = self.starts[bins] + ((points - self._offsets[bins]) >> self.digits[bins])
        return inside


def _masses(sizes: list[int], counts: list[int], scale: float) -> list[int]:
    """Divide a mass among bins; see `Weights.learned`.

    Laplace noise of a scale has the variance 2 scale^2. It is above x with the chance exp(-x / scale) / 2, and then x +
    scale in the mean: so much is taken for an excess where there is none. What is divided smoothly counts for no less.
    """
    line = _ALONE * math.sqrt(2)
    total = max(sum(counts), 0)
    smooth = _divided(sizes, counts, scale, _MASS)
    over = (count - mass * total // _MASS for count, mass in zip(counts, smooth, strict=True))
    excess = [more if more > line * scale else 0 for more in over]
    if not any(excess):
        return smooth
    rest = [count - more for count, more in zip(counts, excess, strict=True)]
    doubt = math.ceil(len(sizes) * math.exp(-line) / 2 * (line + 1) * scale)
    left = max(sum(rest), doubt)
    total = sum(excess) + left
    smooth = _divided(sizes, rest, scale, _MASS * left // total)
    return [_MASS * more // total + part for more, part in zip(excess, smooth, strict=True)]


def _divided(sizes: list[int], counts: list[int], scale: float, mass: int) -> list[int]:
    """Divide a mass among the two halves of the bins, theirs among their halves, and so on.

    It is divided as the counts of both halves are, where these differ from the shares of cells by more than `_CLEAR`
    standard deviations of the noise in them, else by cells: thresholds on differences, as for wavelets by Donoho &
    Johnstone 1994 (doi:10.1093/biomet/81.3.425). All thresholds are tested at once; where none is passed any more, the
    rest is divided by cells in one step.
    """
    low, middle, high, after = _halves(len(sizes))
    cells, held = (np.concatenate([[0], np.cumsum(amounts, dtype=np.int64)]) for amounts in (sizes, counts))
    left, whole = cells[middle] - cells[low], cells[high] - cells[low]
    fewer, more = held[middle] - held[low], held[high] - held[middle]
    share = left / whole
    noise = scale * np.sqrt(2 * ((1 - share) ** 2 * (middle - low) + share**2 * (high - middle)))
    clear = (np.abs(fewer - share * (fewer + more)) > _CLEAR * noise) & (np.maximum(fewer, more) > 0)
    passed = np.concatenate([[0], np.cumsum(clear)])
    some = passed[after] > passed[:-1]
    masses = [0] * len(sizes)
    waiting = [(0, 0, len(sizes), mass)]
    while waiting:
        node, start, end, part = waiting.pop()
        if end - start == 1 or not some[node]:
            held_here = int(cells[end] - cells[start])
            masses[start:end] = [part * size // held_here for size in sizes[start:end]]
            continue
        cut = (start + end) // 2
        ours, theirs = int(left[node]), int(whole[node])
        if clear[node]:
            ours, theirs = max(int(fewer[node]), 0), max(int(fewer[node]), 0) + max(int(more[node]), 0)
        lower = part * ours // theirs
        waiting += [(node + 1, start, cut, lower), (node + cut - start, cut, end, part - lower)]
    return masses


@lru_cache(maxsize=64)
def _halves(
    count: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Say where the halves of so many bins begin, part and end, their halves, and so on, each before its own halves.

    The last number says which comes after all that are within: n bins are halved n - 1 times, and so are their halves,
    so that those of the first half follow at once, and those of the second after as many as that has bins.

    >>> [places.tolist() for places in _halves(3)]
    [[0, 1], [1, 2], [3, 3], [2, 2]]
    """
    nodes: list[tuple[int, int, int, int]] = []
    waiting = [(0, count)]
    while waiting:
        low, high = waiting.pop()
        if high - low > 1:
            middle = (low + high) // 2
            nodes.append((low, middle, high, len(nodes) + high - low - 1))
            waiting += [(middle, high), (low, middle)]
    begins, parts, ends, after = np.array(nodes, dtype=np.int64).reshape(-1, 4).T
    return begins, parts, ends, after

"""Bins that part a fine grid, so that values that many rows share are likely to have one for themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

__all__ = ["Marks"]

_MOST_MARKS = 128
_MOST_CELLS = 1 << 44


@dataclass(frozen=True, slots=True)
class Marks:
    """Few cells by themselves; else the cells of round numbers, and what lies between them.

    Round numbers are the multiples of 1, 2 or 5 times a power of ten, at most 128 of them within a range and one more:
    recorded values are often round, and then many rows have the same.

    Bin 2 r is the cell of mark r, bin 2 r + 1 all cells up to the next mark, with mark 0 at the first cell or below it;
    so some bins at the ends may have no cell. Where `rate` is 0, bin r is cell r. Bins are where `place` says, in
    doubles of which every operation is rounded alike on all engines; `starts` are their first cells. A mark is less
    than `half` away on both sides for its own cells, which are counted twice; for others on one side. Every operation
    keeps the order, so a higher cell is never in a lower bin.

    Where a whole number of cells lies from mark to mark, whole numbers say the same: the marks up to a cell, and those
    below it. An engine may compute either. Four roundings of doubles up to 130 put a cell off by less than 2**-53 * 4 *
    130 / rate < 2**-5 cells, as rate > 50 / 2**44 for the grids that are treated so (of multiples of 1, 2 or 5 times a
    power of ten, the finest that fit, there are more than 50): a mark's own cell stays within half of one, and others,
    at least one away, beyond.

    >>> found = Marks.of(0, 1000, Fraction(1))
    >>> found.starts[:5], [found.place(cell) for cell in (0, 1, 9, 10, 11, 1000)]
    ((0, 1, 10, 11, 20), [0, 1, 1, 2, 3, 200])
    >>> Marks.of(3, 6, Fraction(1)).starts
    (3, 4, 5, 6)
    """

    lower: int
    rate: float
    """Marks per cell."""
    phase: float
    """How many marks the first cell is beyond mark 0, less than one."""
    starts: tuple[int, ...]
    every: int = 0
    """How many cells lie from mark to mark, where that is a whole number; else 0."""
    zero: int = 0
    """The cell of mark 0, at the first cell or below it, where it is one."""

    @staticmethod
    @lru_cache(maxsize=256)
    def of(lower: int, upper: int, step: Fraction) -> Marks:
        """Place marks on the grid of a step between two cells."""
        if upper - lower < 2 * _MOST_MARKS:
            return Marks(lower, 0.0, 0.0, tuple(range(lower, upper + 1)))
        apart = _apart((upper - lower) * step)
        first = math.floor(lower * step / apart)
        rate, phase = float(step / apart), float(lower * step / apart - first)
        last = round((upper - lower) * rate + phase)
        cells = [round((first + mark) * apart / step) for mark in range(last + 1)]
        starts = tuple(min(max(start, lower), upper + 1) for cell in cells for start in (cell, cell + 1))
        if (apart / step).denominator == 1 and upper - lower < _MOST_CELLS:
            return Marks(lower, rate, phase, starts, int(apart / step), first * int(apart / step))
        return Marks(lower, rate, phase, starts)

    def place(self, cell: int) -> int:
        """Give the bin of a cell."""
        if not self.rate:
            return cell - self.lower
        if self.every:
            return (cell - self.zero) // self.every - (self.zero - cell) // self.every
        away = (cell - self.lower) * self.rate + self.phase
        return math.floor(away + self.half) + math.ceil(away - self.half)

    @property
    def half(self) -> float:
        """Half a cell, in marks, and a little more than products are rounded by.

        A mark that lies just between two cells would else have neither of them, or one, as roundings fall: both count
        as its own.
        """
        return self.rate * (0.5 + 2.0**-11)


def _apart(width: Fraction) -> Fraction:
    """The least of 1, 2 and 5 times powers of ten of which at most 128 fit into a width.

    >>> _apart(Fraction(100)), _apart(Fraction(50_000))
    (Fraction(1, 1), Fraction(500, 1))
    """
    power = math.floor(math.log10(width.numerator) - math.log10(width.denominator)) - 4
    spacings = (digit * Fraction(10) ** exponent for exponent, digit in product(range(power, power + 6), (1, 2, 5)))
    return next(spacing for spacing in spacings if width / spacing <= _MOST_MARKS)

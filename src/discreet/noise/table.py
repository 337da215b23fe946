"""A finite law as a look-up table with certified thresholds: the core of the fast samplers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise.bits import BitSource

__all__ = ["Table", "Weights"]

Weights = Callable[[int], tuple[Sequence[int], Sequence[int]]]
"""For a number of bits p: lower and upper ends of every outcome's weight, in units of 2**-p.

The enclosures must shrink to the true weights as p grows; the weights need not sum to one.
"""

_CELL_BITS = 16
_CELLS = 1 << _CELL_BITS
_PRECISION = 192


class Table:
    """Draw outcome i with probability w_i / sum(w), exactly.

    A uniform real U in [0, 65536) is revealed bit by bit. Outcome i owns a_i whole cells, where a_i is a certified
    lower bound of 65536 w_i / sum(w): the first 16 bits of U decide it by one look-up. The R = 65536 - sum(a_i)
    cells left over are shared by what each outcome is still owed, C_i = (65536 (w_0 + ... + w_i) / sum(w)) -
    (a_0 + ... + a_i) being the upper end of outcome i's part. There 48 more bits are compared with the 64-bit
    thresholds floor(2**48 C_i), and if they agree with a threshold to the last bit, more bits and a narrower enclosure
    of C_i settle the case. No float takes part. (The whole cells are the condensed table of Marsaglia, Tsang, Wang
    2004, "Fast Generation of Discrete Random Variables", made exact.)

    Exactness: each U but those in a set of measure zero reaches its outcome, and the lengths of the parts of
    [0, 65536) owned by outcome i, a_i and C_i - C_(i-1), add up to 65536 w_i / sum(w).
    """

    def __init__(self, values: Sequence[int], weights: Weights, *, rare: Sequence[bool] | None = None) -> None:
        """Build the table; outcomes marked `rare` get no cells, so that every one of them takes the slow path."""
        self.values = np.asarray(values, dtype=np.int64)
        self._weights = weights
        lows, highs = weights(_PRECISION)
        total = sum(highs)
        whole = [_CELLS * low // total for low in lows]
        if rare is not None:
            whole = [0 if out else cells for cells, out in zip(whole, rare, strict=True)]
        self._owned = list(accumulate(whole))
        self.first_rare = self._owned[-1]
        """The first cell that takes the slow path."""
        small = np.int16 if np.abs(self.values).max(initial=0) < 1 << 15 else np.int64
        self._cells = np.zeros(_CELLS, dtype=small)
        self._cells[: self.first_rare] = np.repeat(self.values.astype(small), whole)
        shift = 64 - _CELL_BITS
        bounds = self._residual(shift, (lows, highs))
        self.thresholds = np.array([min(low, 2**64 - 1) for low, _ in bounds], dtype=np.uint64)
        """floor(2**48 C_i), certified but for exact ties, where the lower of two neighbors stands."""
        self._upper = np.array([min(high, 2**64 - 1) for _, high in bounds], dtype=np.uint64)

    def _residual(self, shift: int, weights: tuple[Sequence[int], Sequence[int]]) -> list[tuple[int, int]]:
        """Return the floors of 2**shift times both ends of each C_i but the last, which is R itself.

        With S the sum up to i and T the sum after it, S/(S+T) grows with S and falls with T, so its ends come from
        opposite ends of the two; exact weights give exact thresholds.
        """
        lows, highs = weights
        low_sums, high_sums = list(accumulate(lows)), list(accumulate(highs))
        low_all, high_all = low_sums[-1], high_sums[-1]
        least, most = [], []
        for low, high, owned in zip(low_sums[:-1], high_sums[:-1], self._owned[:-1], strict=True):
            least.append((low << shift + _CELL_BITS) // (low + high_all - high) - (owned << shift))
            most.append((high << shift + _CELL_BITS) // (high + low_all - low) - (owned << shift))
        # C_i never falls as i grows: a lower end holds for all later i, an upper end for all earlier ones.
        rising = accumulate(least, max, initial=0)
        falling = list(accumulate(reversed(most), min))[::-1]
        return list(zip(islice(rising, 1, None), falling, strict=True))

    def draw(self, count: int, bits: BitSource) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return drawn values and the positions at which the slow path was taken."""
        words = bits.words16(count)
        out, slow = self.fast(words)
        if slow.size:
            out[slow] = self.slow(words[slow], bits)
        return out, slow

    def fast(self, words: NDArray[np.uint16]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Look up the cells of 16-bit words; return values and the positions that are not decided yet."""
        out = self._cells.take(words).astype(np.int64)
        if self.first_rare == _CELLS:
            return out, np.empty(0, dtype=np.intp)
        return out, np.flatnonzero(words >= self.first_rare)

    def slow(self, words: NDArray[np.uint16], bits: BitSource) -> NDArray[np.int64]:
        """Decide words beyond the owned cells with 48 more bits each, or settle them with as many as it takes."""
        return self.values[self._slow(words, bits)]

    def _slow(self, words: NDArray[np.uint16], bits: BitSource) -> NDArray[np.intp]:
        cell = words.astype(np.uint64) - np.uint64(self.first_rare)
        place = (cell << np.uint64(48)) | (bits.words64(words.size) >> np.uint64(16))
        found = np.searchsorted(self.thresholds, place, side="left")
        near = np.minimum(found, self.thresholds.size - 1)
        before = np.maximum(found, 1) - 1
        unsure = (self.thresholds[near] == place) | ((self._upper[before] >= place) & (found > 0))
        for i in np.flatnonzero(unsure):
            found[i] = self._settle(int(place[i]), bits)
        return found

    def _settle(self, place: int, bits: BitSource) -> int:
        """Reveal 64 bits at a time until they lie clearly between two neighboring C_i.

        With U in [place, place + 1) in units of 2**-shift and floors (l_i, m_i) of both ends of C_i: U >= C_i
        is certain once place > m_i, and U < C_i once place < l_i.
        """
        shift = 64 - _CELL_BITS
        while True:
            place, shift = place << 64 | bits.integer(64), shift + 64
            bounds = self._residual(shift, self._weights(shift + _PRECISION))
            first = bisect_right([high for _, high in bounds], place - 1)  # the first outcome not certainly passed
            if first == len(bounds) or place < bounds[first][0]:
                return first

"""Laws as look-up tables with certified thresholds: finite ones, and geometric ones digit by digit, at any scale."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.exact import Interval
from discreet.noise.bits import parts

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.noise.bits import BitSource

__all__ = ["Decay", "Digits", "ExponentialDecay", "RationalDecay", "WeightTable", "Weights"]

Weights = Callable[[int], tuple[Sequence[int], Sequence[int]]]
"""For a number of bits p: lower and upper ends of every outcome's weight, in units of 2**-p.

The enclosures must shrink to the true weights as p grows; the weights need not sum to one.
"""

_CELL_BITS = 16
_CELLS = 1 << _CELL_BITS
_PRECISION = 192
_LOW_DIGIT = 8  # bits per low digit: 256 outcomes
_HIGH_SCALE = 32  # the high digit's scale is below this
_REACH = 25  # the high digit's table ends at this many scales, exp(-25); the rest is memoryless
_LIMIT = np.iinfo(np.int64).max


class WeightTable:
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
        outcome = np.searchsorted(self.thresholds, place, side="left")
        near = np.minimum(outcome, self.thresholds.size - 1)
        before = np.maximum(outcome, 1) - 1
        unsure = (self.thresholds[near] == place) | ((self._upper[before] >= place) & (outcome > 0))
        for i in np.flatnonzero(unsure):
            outcome[i] = self._settle(int(place[i]), bits)
        return outcome

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


class Decay(Protocol):
    """A ratio r with 0 < r < 1."""

    @property
    def scale(self) -> float:
        """About -1 / log(r); it guides the choice of tables and decides nothing else."""

    def power(self, exponent: int, precision: int) -> Interval:
        """Enclose r**exponent."""


@dataclass(frozen=True, slots=True)
class ExponentialDecay:
    """The ratio exp(-rate)."""

    rate: Fraction

    @property
    def scale(self) -> float:
        """1 / rate."""
        return float(1 / self.rate)

    def power(self, exponent: int, precision: int) -> Interval:
        """Enclose exp(-rate * exponent)."""
        return Interval.of(-self.rate * exponent, precision).exp()


@dataclass(frozen=True, slots=True)
class RationalDecay:
    """A rational ratio."""

    ratio: Fraction

    @property
    def scale(self) -> float:
        """-1 / log(ratio), through 1 - ratio where the ratio is close to 1."""
        if 2 * self.ratio > 1:
            return -1 / math.log1p(-float(1 - self.ratio))
        return -1 / math.log(max(float(self.ratio), 1e-300))

    def power(self, exponent: int, precision: int) -> Interval:
        """Enclose ratio**exponent by repeated squaring; each squaring doubles the error, hence the guard bits."""
        guard = exponent.bit_length() + 8
        base, power = Interval.of(self.ratio, precision + guard), Interval.of(1, precision + guard)
        for digit in f"{exponent:b}":
            power = power * power
            if digit == "1":
                power = power * base
        return Interval(power.lo >> guard, -(-power.hi >> guard), precision)


class Digits:
    """Fill arrays with geometric variables G, Pr[G = g] = (1 - r) r**g for g = 0, 1, 2, …, or with their mirror image.

    Why digits: for B = 2**K write G = B H + L with 0 <= L < B. Then r**G = (r**B)**H * r**L, so H and L are
    independent, H is geometric with ratio r**B, and the binary digits of L are independent in turn, so L
    splits into digits of at most 8 bits, each a small table. H's table ends at n; beyond it H - n is geometric
    again (no memory), so the draw is repeated and added.

    Mirror: with `mirror` = m the draw is G with a weight of 1 and -1 - G, which is ~G in two's complement, with a
    weight of r**m. The sign is independent of G. m = 1 gives the discrete Laplace law (weights r**|x| on all integers),
    m = 0 the floor of a symmetric continuous one.

    Results beyond the 64-bit range are set to its end: adding them to a value of at most 2**62 and clamping
    the sum to 2**62 gives the same as with unbounded integers, so that clamp is plain post-processing.
    """

    def __init__(self, decay: Decay, *, mirror: int | None = None) -> None:
        self._decay = decay
        scale = decay.scale
        self._low_bits = _low_bits(scale)
        self._end: int = max(1, math.ceil(_REACH * scale / 2**self._low_bits))
        values = list(range(self._end + 1))
        if mirror is not None:
            values += [~value for value in values]
        tails = [value in (self._end, ~self._end) for value in values]
        self._high = WeightTable(values, self._high_weights(mirror), rare=tails)
        splits = range(0, self._low_bits, _LOW_DIGIT)
        self._lows = [(at, self._low_table(at, min(_LOW_DIGIT, self._low_bits - at))) for at in splits]

    @property
    def tables(self) -> list[WeightTable]:
        """All tables, the high digit's first."""
        return [self._high, *(table for _, table in self._lows)]

    def _high_weights(self, mirror: int | None) -> Weights:
        def weights(precision: int) -> tuple[Sequence[int], Sequence[int]]:
            ratio = self._decay.power(1 << self._low_bits, precision)
            lows, highs = _powers((ratio.lo, ratio.hi), self._end + 1, precision)
            # The last outcome stands for all from `end` on: ratio**end / (1 - ratio).
            one = 1 << precision
            lows[-1] = (lows[-1] << precision) // (one - ratio.lo)
            highs[-1] = -((-highs[-1] << precision) // (one - ratio.hi))
            if mirror is None:
                return lows, highs
            factor = self._decay.power(mirror, precision)
            lows += [low * factor.lo >> precision for low in lows]
            highs += [-(-high * factor.hi >> precision) for high in highs]
            return lows, highs

        return weights

    def _low_table(self, at: int, width: int) -> WeightTable:
        def weights(precision: int) -> tuple[Sequence[int], Sequence[int]]:
            ratio = self._decay.power(1 << at, precision)
            return _powers((ratio.lo, ratio.hi), 1 << width, precision)

        return WeightTable(range(1 << width), weights)

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:
        """Fill a one-dimensional array."""
        for part in parts(out):
            self._fill(part, bits)

    def _fill(self, out: NDArray[np.int64], bits: BitSource) -> None:
        high, slow = self._high.draw(out.size, bits)
        rare = high[slow]
        beyond = slow[(rare == self._end) | (rare == ~self._end)]
        tails = {int(i): self._tail(int(high[i]), bits) for i in beyond}
        if not self._low_bits:
            out[:] = high
        else:
            low = np.zeros(out.size, dtype=np.int64)
            for at, table in self._lows:
                low |= table.draw(out.size, bits)[0] << at
            sign = high >> 63
            np.left_shift(high, self._low_bits, out=out)
            out += low ^ (sign & ((1 << self._low_bits) - 1))
        for i, far in tails.items():
            near = int(out[i]) - (int(high[i]) << self._low_bits)
            out[i] = min(max((far << self._low_bits) + near, -_LIMIT), _LIMIT)

    def _tail(self, high: int, bits: BitSource) -> int:
        """Go on drawing a high digit that reached the table's end."""
        total = self._end
        while True:
            more = int(self._high.draw(1, bits)[0][0])
            more = more if more >= 0 else ~more  # sign and magnitude are independent; the sign is not needed
            total += more
            if more < self._end:
                return total if high >= 0 else ~total


def _low_bits(scale: float) -> int:
    """Choose K so that the high digit's scale is below 32, or below 64 where that saves a digit of a single bit."""
    bits = max(0, math.floor(math.log2(scale / _HIGH_SCALE)) + 1) if scale > _HIGH_SCALE else 0
    return bits - (bits % _LOW_DIGIT == 1)


def _powers(ratio: tuple[int, int], count: int, precision: int) -> tuple[list[int], list[int]]:
    """Enclose 1, ratio, ratio**2 and so on."""
    low = high = 1 << precision
    lows, highs = [low], [high]
    for _ in range(count - 1):
        low, high = low * ratio[0] >> precision, -(-high * ratio[1] >> precision)
        lows.append(low)
        highs.append(high)
    return lows, highs

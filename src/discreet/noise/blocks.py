"""Gaussian shapes by blocks: one look-up for the block, uniform bits inside it, and an exact squeeze at the rim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.exact import Interval
from discreet.noise.bits import BLOCK, LazyUniform, parts, toss
from discreet.noise.tables import Digits, ExponentialDecay, WeightTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise.bits import BitSource

__all__ = ["Blocks", "Rounding"]

_FINENESS = 32  # sigma holds at least this many blocks
_REACH = 8  # the table ends at this many sigma; beyond it an envelope takes over
_DIRECT = 16  # up to this sigma every integer has a table entry of its own
_SLACK = 2.0**-44
_LIMIT = np.iinfo(np.int64).max


class Rounding(Enum):
    """What is sampled from exp(-x**2 / (2 sigma**2))."""

    INTEGERS = "the integers themselves: the discrete Gaussian"
    FLOORS = "the floor of a real variable: the continuous Gaussian, rounded down"


@dataclass(frozen=True, slots=True)
class _Side:
    """Blocks on one side of zero: |x| starts at `start` and `length` is the distance of a block's two extremes."""

    start: int
    length: int


class Blocks:
    """Fill arrays with Gaussian noise, exactly.

    Let w(a) = exp(-a**2 / (2 sigma**2)), which falls as the magnitude a grows. The magnitudes are cut into blocks
    of B = 2**k. A block whose near end has w = M and whose far end has w = m is split into a *sure* part of weight
    B m, uniform over the block, and a *rim* of weight B (M - m), proposed uniformly and kept with probability
    (w(a) - m) / (M - m). Beyond the last block, at magnitude A, the envelope w(A) exp(-A (a - A) / sigma**2) >= w(a) is
    proposed (a geometric law) and kept with probability exp(-(a - A)**2 / (2 sigma**2)), because
    a**2 - A**2 = 2 A (a - A) + (a - A)**2. What is not kept is drawn again from the start. Each part kept has the
    weight of w on it, so the law is exactly proportional to w. One `WeightTable` draws block and part; with
    B about sigma / 40 the rim takes 2 % of the draws and everything else is one look-up and k uniform bits.

    Integers: the blocks hold x = jB + r for x >= 0 and x = -1 - (jB + r) below, so near and far ends are those
    integers. Floors: x = floor(X) for a real X, whose magnitude runs over [jB, jB + B) on both sides; the place of X
    inside its unit cell is uniform and revealed lazily when the rim asks for it.

    Whether a rim draw is kept is decided in floats when their certified error allows it (for integers all but 2**-43 of
    the cases; for floors all but about one in B, where the place inside the cell matters) and by big-integer
    enclosures otherwise.
    """

    def __init__(self, variance: Fraction, shape: Rounding) -> None:
        self._shape = shape
        self._rate = 1 / (2 * variance)
        sigma = math.sqrt(variance)
        direct = shape is Rounding.INTEGERS and sigma <= _DIRECT
        self._bits = 0 if direct else max(0, math.floor(math.log2(sigma / _FINENESS)))
        width = 1 << self._bits
        self._count = max(1, math.ceil(_REACH * sigma / width))
        far = width - 1 if shape is Rounding.INTEGERS else width
        self._positive, self._negative = _Side(0, far), _Side(1 if shape is Rounding.INTEGERS else 0, far)
        count = self._count
        # Outcome values: blocks j and ~j; those of the rims and tails lie `_RIM` higher (or lower).
        blocks = [*range(count), *(~j for j in range(count))]
        self._rim = 2 * count + 2
        rims = [j + self._rim if j >= 0 else j - self._rim for j in [*blocks, count, ~count]]
        self._table = WeightTable(blocks + rims, self._weights, rare=[False] * len(blocks) + [True] * len(rims))
        self._tails = {
            side: Digits(ExponentialDecay(2 * self._rate * (side.start + count * width)))
            for side in (self._positive, self._negative)
        }

    @property
    def tables(self) -> list[WeightTable]:
        """The table of blocks."""
        return [self._table]

    def _weights(self, precision: int) -> tuple[Sequence[int], Sequence[int]]:
        """Enclose the weights: sure parts, then rims, then the two envelopes (all divided by B)."""
        width = 1 << self._bits
        ends = [self._ends(side, width, precision) for side in (self._positive, self._negative)]
        lows, highs, rim_lows, rim_highs = [], [], [], []
        for near, far in ends:
            lows += [low for low, _ in far]
            highs += [high for _, high in far]
            # M - m of a single integer is exactly zero, not merely enclosed by zero
            single = self._shape is Rounding.INTEGERS and width == 1
            rim_lows += [0 if single else max(0, a[0] - b[1]) for a, b in zip(near, far, strict=True)]
            rim_highs += [0 if single else a[1] - b[0] for a, b in zip(near, far, strict=True)]
        for side in (self._positive, self._negative):
            low, high = self._envelope(side, precision)
            rim_lows.append(low)
            rim_highs.append(high)
        return lows + rim_lows, highs + rim_highs

    def _ends(self, side: _Side, width: int, precision: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Enclose w at the near and far end of each block.

        w(a + B) = w(a) * exp(-rate (2 a B + B**2)), and that factor falls by exp(-2 rate B**2) per block.
        """
        rows = []
        guard = 32
        p = precision + guard
        for start in (side.start, side.start + side.length):
            low, high = _ends_of(Interval.of(-self._rate * start**2, p).exp())
            factor_low, factor_high = _ends_of(Interval.of(-self._rate * (2 * start * width + width**2), p).exp())
            fall_low, fall_high = _ends_of(Interval.of(-self._rate * 2 * width**2, p).exp())
            row = []
            for _ in range(self._count):  # products of positive intervals, lower ends rounded down, upper ends up
                row.append((low >> guard, -(-high >> guard)))
                low, high = low * factor_low >> p, -(-high * factor_high >> p)
                factor_low, factor_high = factor_low * fall_low >> p, -(-factor_high * fall_high >> p)
            rows.append(row)
        return rows[0], rows[1]

    def _envelope(self, side: _Side, precision: int) -> tuple[int, int]:
        """Enclose the tail's envelope: the sum of w(A) q**i over i >= 0 with q = exp(-2 rate A), divided by B.

        For floors the cell i holds at most w(A) q**i, the envelope at its near end, so the same sum serves.
        """
        start = side.start + (self._count << self._bits)
        height = Interval.of(-self._rate * start**2, precision).exp()
        ratio = Interval.of(-2 * self._rate * start, precision).exp()
        one = Interval.of(1, precision)
        return _ends_of((height / (one - ratio)).scaled(Fraction(1, 1 << self._bits)))

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:
        """Fill a one-dimensional array: the sure draws block by block, all others at once, what was dropped again."""
        places, words = [], []
        for start, part in zip(range(0, out.size, BLOCK), parts(out), strict=True):
            drawn = bits.words16(part.size)
            high, slow = self._table.fast(drawn)
            np.left_shift(high, self._bits, out=part)
            if self._bits:
                np.bitwise_or(part, self._uniform(part.size, bits), out=part)
            places.append(slow + start)
            words.append(drawn[slow])
        if sum(slow.size for slow in places) == 0:
            return
        left = self._propose(out, np.concatenate(places), np.concatenate(words), bits)
        again = np.empty(left.size, dtype=np.int64)
        self(again, bits)
        out[left] = again

    def _propose(
        self, out: NDArray[np.int64], at: NDArray[np.intp], words: NDArray[np.uint16], bits: BitSource
    ) -> NDArray[np.intp]:
        """Decide the draws that one look-up left open; return the positions of proposals that were dropped."""
        high = self._table.slow(words, bits)
        rim = (high >= self._rim) | (high < -self._rim)
        high = np.where(rim, np.where(high >= 0, high - self._rim, high + self._rim), high)
        x = (out[at] & ((1 << self._bits) - 1)) | (high << self._bits)  # the uniform bits are there already
        tail = (high == self._count) | (high == ~self._count)
        near = rim & ~tail
        dropped = np.zeros(at.size, dtype=np.bool_)
        dropped[near] = ~self._keep(x[near], high[near], bits)
        for i in np.flatnonzero(tail):
            kept = self._far(int(high[i]), bits)
            dropped[i] = kept is None
            x[i] = 0 if kept is None else min(max(kept, -_LIMIT), _LIMIT)
        out[at] = x
        return at[dropped]

    def _uniform(self, count: int, bits: BitSource) -> NDArray[np.uint16] | NDArray[np.int64]:
        if self._bits <= 16:
            return bits.words16(count) >> np.uint16(16 - self._bits)
        return (bits.words64(count) >> np.uint64(64 - self._bits)).view(np.int64)

    def _keep(self, x: NDArray[np.int64], block: NDArray[np.int64], bits: BitSource) -> NDArray[np.bool_]:
        """Keep rim proposals with probability (w(a) - m) / (M - m) = expm1(G) / expm1(H).

        Here G = rate (far**2 - a**2), H = rate (far**2 - near**2), both at least 0. The products of integers are formed
        from exact differences and sums, so G and H carry a few roundings of 2**-53 each, and expm1 is assumed within
        2**-49; for floors, a is known to one unit only and the two ends of the cell bound the probability.
        """
        near = np.where(block >= 0, block << self._bits, (~block << self._bits) + self._negative.start)
        far = near + self._positive.length
        a = np.where(x >= 0, x, -x if self._shape is Rounding.INTEGERS else ~x)
        rate = float(self._rate)
        whole = np.expm1(rate * ((far - near).astype(np.float64) * (far + near)))
        upper = np.expm1(rate * ((far - a).astype(np.float64) * (far + a))) / whole
        if self._shape is Rounding.INTEGERS:
            lower = upper
        else:
            lower = np.expm1(rate * ((far - a - 1).astype(np.float64) * (far + a + 1))) / whole
        words = bits.words64(x.size)
        chance = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        keep: NDArray[np.bool_] = chance + 2.0**-53 <= lower * (1 - _SLACK)
        unsure = ~keep & (chance <= upper * (1 + _SLACK))
        for i in np.flatnonzero(unsure):
            keep[i] = self._settle(int(a[i]), int(near[i]), LazyUniform(bits, int(words[i]), 64))
        return keep

    def _settle(self, a: int, near: int, chance: LazyUniform) -> bool:
        """Decide chance * (M - m) < w(a) - m with enclosures that narrow until they decide."""
        far = near + self._positive.length
        place = LazyUniform(chance.bits) if self._shape is Rounding.FLOORS else None
        precision = 128
        while True:
            magnitude = Interval.of(a, precision)
            if place is not None:
                magnitude = magnitude + place.interval(precision)
            # all divided by w(near), so that nothing is too small to see
            base = Interval.of(near**2, precision)
            top = (base - magnitude * magnitude).scaled(self._rate).exp()
            floor = Interval.of(self._rate * (near**2 - far**2), precision).exp()
            margin = (top - floor) - chance.interval(precision) * (Interval.of(1, precision) - floor)
            if margin.lo >= 0:
                return True
            if margin.hi <= 0:
                return False
            precision *= 2

    def _far(self, high: int, bits: BitSource) -> int | None:
        """Propose a magnitude beyond the table from its envelope; None if it is not kept."""
        side = self._positive if high >= 0 else self._negative
        start = side.start + (self._count << self._bits)
        step = np.empty(1, dtype=np.int64)
        self._tails[side](step, bits)
        over = int(step[0])
        if self._shape is Rounding.INTEGERS:
            kept = toss(lambda p: Interval.of(-self._rate * over**2, p).exp(), bits)
        else:
            place = LazyUniform(bits)

            def chance(precision: int) -> Interval:
                """Enclose w(a) / (w(A) q**over) for a = A + over + place."""
                a = Interval.of(start + over, precision) + place.interval(precision)
                spare = Interval.of(start**2 + 2 * start * over, precision) - a * a
                return spare.scaled(self._rate).exp()

            kept = toss(chance, bits)
        if not kept:
            return None
        magnitude = start + over
        if high >= 0:
            return magnitude
        return -magnitude if self._shape is Rounding.INTEGERS else ~magnitude


def _ends_of(interval: Interval) -> tuple[int, int]:
    return interval.lo, interval.hi

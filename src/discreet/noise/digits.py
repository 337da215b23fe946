"""Geometric variables by their digits: a few table look-ups per draw, at any scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.noise.draws import parts
from discreet.noise.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise.bits import BitSource
    from discreet.noise.decay import Decay
    from discreet.noise.table import Weights

__all__ = ["Digits"]

_LOW_DIGIT = 8  # bits per low digit: 256 outcomes
_HIGH_SCALE = 32  # the high digit's scale is below this
_REACH = 25  # the high digit's table ends at this many scales, exp(-25); the rest is memoryless
_LIMIT = np.iinfo(np.int64).max


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
        self._high = Table(values, self._high_weights(mirror), rare=tails)
        splits = range(0, self._low_bits, _LOW_DIGIT)
        self._lows = [(at, self._low_table(at, min(_LOW_DIGIT, self._low_bits - at))) for at in splits]

    @property
    def tables(self) -> list[Table]:
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

    def _low_table(self, at: int, width: int) -> Table:
        def weights(precision: int) -> tuple[Sequence[int], Sequence[int]]:
            ratio = self._decay.power(1 << at, precision)
            return _powers((ratio.lo, ratio.hi), 1 << width, precision)

        return Table(range(1 << width), weights)

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

"""Some of many uniform integers in rising order, without drawing all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.noise.uniform import uniform_integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise.bits import BitSource

__all__ = ["ordered_integers"]

_FEW = 4096
_CHUNK = 1 << 20


def ordered_integers(count: int, width: int, ranks: NDArray[np.int64], bits: BitSource) -> NDArray[np.int64]:
    """Draw `count` independent uniform integers of `width` bits, and return those of the given ranks, exactly.

    The first digits are fair coins: how many of the integers have a 0 there is the number of zeros among `count` coins,
    and given that number, those with a 0 and those with a 1 are uniform in their halves, independently. So the ranks
    are divided among the halves, and a half without one is never looked into. Few integers are drawn and sorted. The
    memory is that of the ranks and of a few thousand integers; the time is one coin for each integer of a half that
    holds a rank, so about two for each in all.

    `ranks` are from 1 to `count`, in rising order.

    >>> from discreet.noise import SYSTEM
    >>> found = ordered_integers(10**6, 20, np.array([1, 500_000, 10**6]), SYSTEM)
    >>> bool(found[0] < 100 < 2**18 < found[1] < 3 * 2**18 < found[2] < 2**20)
    True
    """
    found = np.empty(ranks.size, dtype=np.int64)
    waiting = [(0, ranks.size, count, 0, width, 0)]
    while waiting:
        low, high, size, before, left, start = waiting.pop()
        if low == high:
            continue
        if not left:
            found[low:high] = start
        elif size <= _FEW:
            drawn = np.sort(uniform_integer(1 << left, size, bits))
            found[low:high] = start + drawn[ranks[low:high] - before - 1]
        else:
            zeros = _zeros(size, bits)
            middle = low + int(np.searchsorted(ranks[low:high], before + zeros, side="right"))
            waiting.append((low, middle, zeros, before, left - 1, start))
            waiting.append((middle, high, size - zeros, before + zeros, left - 1, start + (1 << (left - 1))))
    return found


def _zeros(count: int, bits: BitSource) -> int:
    """Toss so many fair coins and count the zeros."""
    ones = 0
    for tossed in range(0, count, _CHUNK):
        ones += bits.integer(min(_CHUNK, count - tossed)).bit_count()
    return count - ones

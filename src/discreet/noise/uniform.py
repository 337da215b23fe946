"""Uniform integers and permutations."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.exact import integer
from discreet.noise.bits import SYSTEM, BitSource
from discreet.noise.draws import BLOCK, array, once, parts, shape_of

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

__all__ = ["permutation", "uniform_integer"]

_MOST = 1 << 63


@overload
def uniform_integer(upper: SupportsIndex, size: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def uniform_integer(
    upper: SupportsIndex, size: int | tuple[int, ...], bits: BitSource = SYSTEM
) -> NDArray[np.int64]: ...
def uniform_integer(
    upper: SupportsIndex, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> int | NDArray[np.int64]:
    """Draw integers from 0 to upper - 1, all equally likely.

    As many bits as `upper - 1` has are drawn, and drawn again while they make a number that is too large; a remainder
    would favor small numbers. A single draw may be of any length; arrays are of 64-bit integers.

    >>> 0 <= uniform_integer(10**30) < 10**30
    True
    >>> sorted(set(uniform_integer(3, size=200).tolist()))
    [0, 1, 2]
    """
    if size is None:
        limit = integer(upper, name="upper", least=1)
        return once(lambda: _below(limit, bits))
    limit = integer(upper, name="upper", least=1, most=_MOST)
    return array(size, _Below(limit), bits)


def _below(limit: int, bits: BitSource) -> int:
    width = (limit - 1).bit_length()
    while True:
        draw = bits.integer(width) if width else 0
        if draw < limit:
            return draw


class _Below:
    """Fill arrays with integers below a limit."""

    def __init__(self, limit: int) -> None:
        self._last = limit - 1
        self._shift = 64 - self._last.bit_length()

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:
        if self._last == 0:
            out[:] = 0
            return
        for part in parts(out):
            left = part.size
            while left:
                words = (bits.words64(left) >> np.uint64(self._shift)).view(np.int64)
                kept = words[words <= self._last]
                part[part.size - left : part.size - left + kept.size] = kept
                left -= kept.size


def permutation(count: SupportsIndex, bits: BitSource = SYSTEM) -> NDArray[np.int64]:
    """Return the integers below `count` in an order that is uniform among all orders.

    Each item gets 64 random bits and the items are sorted by them. Independent keys that are all different are
    in uniform order by symmetry; if two agree, all keys are drawn again (for a billion items, once in 37 times).

    >>> sorted(permutation(5).tolist())
    [0, 1, 2, 3, 4]
    """
    number = integer(count, name="count", least=0)
    shape_of(number, width=32, name="count")
    return once(lambda: _shuffled(number, bits))


def _shuffled(number: int, bits: BitSource) -> NDArray[np.int64]:
    while True:
        keys = np.empty(number, dtype=np.uint64)
        for start in range(0, number, BLOCK):
            keys[start : start + BLOCK] = bits.words64(min(BLOCK, number - start))
        order = np.argsort(keys)
        keys = keys[order]
        if not (keys[1:] == keys[:-1]).any():
            return order.astype(np.int64, copy=False)

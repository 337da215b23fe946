"""Many coins at once, each with a bias of its own that is known by enclosures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.exact import Box
from discreet.noise.bits import SYSTEM, BitSource
from discreet.noise.draws import BLOCK, once, shape_of
from discreet.noise.lazy import LazyUniform, bernoulli

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.exact import Interval

__all__ = ["coins"]


def coins(
    chances: Box, which: NDArray[np.int64], exact: Callable[[int, int], Interval], bits: BitSource = SYSTEM
) -> NDArray[np.bool_]:
    """Toss a coin for each entry of `which`, True with exactly the chance at that place of the list of chances.

    `chances` encloses them by floats; `exact(place, precision)` encloses one by big integers, as closely as is asked
    for. Each toss compares its chance with a uniform real. Floats and the first 64 digits settle nearly all of them;
    for the others that very real and the chance are refined until they are apart.

    >>> from fractions import Fraction
    >>> from discreet.exact import Interval
    >>> never_and_always = Box.of(np.array([0.0, 1.0]))
    >>> coins(never_and_always, np.array([1, 0, 1]), lambda place, precision: Interval.of(place, precision)).tolist()
    [True, False, True]
    """
    (size,) = shape_of(which.size, width=1, name="the number of coins")

    def toss() -> NDArray[np.bool_]:
        found = np.empty(size, dtype=np.bool_)
        for start in range(0, size, BLOCK):
            some = which[start : start + BLOCK]
            found[start : start + BLOCK] = _tossed(chances, some, exact, bits)
        return found

    return once(toss)


def _tossed(
    chances: Box, which: NDArray[np.int64], exact: Callable[[int, int], Interval], bits: BitSource
) -> NDArray[np.bool_]:
    words = bits.words64(which.size)
    reals = Box.of_words(words)
    heads: NDArray[np.bool_] = reals.hi <= chances.lo[which]
    settled = heads | (reals.lo >= chances.hi[which])  # NaN, where floats tell nothing, settles nothing
    for number in np.flatnonzero(~settled).tolist():
        place = int(which[number])
        real = LazyUniform(bits, int(words[number]), 64)
        heads[number] = bernoulli(lambda precision, place=place: exact(place, precision), bits, real)  # type: ignore[misc]
    return heads

"""Random subsets: a fixed number without replacement, or each item by its own coin."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Number, integer, rational, shown
from discreet.noise.bits import SYSTEM, BitSource, once, shape_of, uniform_integer
from discreet.noise.tables import Digits, RationalDecay

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

__all__ = ["poisson_subset", "subset"]

_MOST = 1 << 60
_SMALLEST_RATE = Fraction(1, 1 << 56)


def subset(count: SupportsIndex, chosen: SupportsIndex, bits: BitSource = SYSTEM) -> NDArray[np.int64]:
    """Choose `chosen` of the integers below `count`, every subset equally likely; sorted.

    Uniform integers are drawn until enough different ones have come; each new one is uniform among those that have
    not, which is sampling without replacement. Of more than half, the complement is drawn.

    >>> subset(5, 5).tolist(), subset(10**12, 3).size
    ([0, 1, 2, 3, 4], 3)
    """
    total = integer(count, name="count", least=0, most=_MOST)
    wanted = integer(chosen, name="chosen", least=0, most=total)
    shape_of(wanted, width=40, name="chosen")
    if 2 * wanted > total:
        shape_of(total, width=1, name="count")
        left_in = np.ones(total, dtype=np.bool_)
        left_in[subset(total, total - wanted, bits)] = False
        return np.flatnonzero(left_in).astype(np.int64, copy=False)
    members = np.empty(0, dtype=np.int64)
    while members.size < wanted:
        fresh = uniform_integer(total, size=wanted - members.size, bits=bits)
        # Every batch is at most what is still missing, so no draw is ever cut off for being one too many.
        members = np.union1d(members, fresh)
    return members


def poisson_subset(count: SupportsIndex, rate: Number, bits: BitSource = SYSTEM) -> NDArray[np.int64]:
    """Include each of the integers below `count` independently with probability `rate`; sorted.

    The gaps between included items are independent and geometric, so the work grows with the size of the
    sample and not with `count`. The size of the sample is random, and under add/remove neighbors it is private.

    >>> poisson_subset(4, 1).tolist(), poisson_subset(4, 0).tolist()
    ([0, 1, 2, 3], [])
    """
    total = integer(count, name="count", least=0, most=_MOST)
    chance = rational(rate, name="rate")
    if not 0 <= chance <= 1:
        msg = f"rate is {shown(rate)}; it must be between 0 and 1."
        raise ParameterError(msg)
    if chance in (0, 1):
        shape_of(total if chance else 0, name="count")
        return np.arange(total if chance else 0, dtype=np.int64)
    if chance < _SMALLEST_RATE:
        msg = f"rate is {shown(rate)}; it must be 0 or at least 2**-56."
        raise ParameterError(msg)
    shape_of(int(total * chance) + 1, width=24, name="count * rate")
    return once(lambda: _by_gaps(total, chance, bits))


def _by_gaps(total: int, chance: Fraction, bits: BitSource) -> NDArray[np.int64]:
    fill = _gaps(chance)
    parts, last = [np.empty(0, dtype=np.int64)], -1
    while last < total:
        expected = float((total - last) * chance)
        gaps = np.empty(int(min(expected + 4 * expected**0.5, 1 << 20)) + 16, dtype=np.int64)
        fill(gaps, bits)
        # A gap of `total` or more ends the sample, so it may be cut there.
        places = _running(last, np.minimum(gaps, total), total)
        parts.append(places[places < total])
        last = int(places[-1])
    return np.concatenate(parts)


def _running(last: int, gaps: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Add gap + 1 after gap + 1, up to the first place at or beyond `total`, without overflow.

    Floats find where the sum certainly exceeds the total; up to there it is below 1.01 total + 1e4 + (total + 1) <
    2**62.
    """
    rough = np.cumsum(gaps.astype(np.float64) + 1) + last
    enough = int(np.searchsorted(rough, 1.01 * total + 1e4, side="left")) + 1
    return np.cumsum(gaps[:enough] + 1) + last


@lru_cache(maxsize=64)
def _gaps(chance: Fraction) -> Digits:
    return Digits(RationalDecay(1 - chance))

"""Rungs around a private number: how many units must change before the answer can be there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.noise import BitSource, lottery, uniform_integer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

__all__ = ["choose_on_ladder", "rungs"]

_LONGEST = 1 << 14
_NEGLIGIBLE = 64  # ln of how much less likely than the first rung the last one may be


def rungs(epsilon: Fraction) -> int:
    """Return how many rungs are told apart: a public number, at which a point is exp(-64) times as likely.

    >>> from fractions import Fraction
    >>> rungs(Fraction(1))
    128
    """
    return min(math.ceil(2 * _NEGLIGIBLE / epsilon), _LONGEST)


def choose_on_ladder(center: Fraction, climbs: Sequence[int], width: int, epsilon: Fraction, bits: BitSource) -> int:
    """Choose an integer from 0 to width, with probability proportional to exp(-epsilon rung / 2), exactly.

    Rung k holds the integers within the sum of the first k climbs from the center and not within k - 1; all beyond the
    last climb are on one more. Everything but width and epsilon is private.

    >>> from fractions import Fraction
    >>> from discreet.noise import SYSTEM
    >>> choose_on_ladder(Fraction(7), [1, 1, 1], 20, Fraction(1000), SYSTEM)
    7
    """
    starts, sizes, scores = [], [], []
    low, high = math.floor(center) + 1, math.ceil(center) - 1  # empty: an integer center is added as rung 0
    distance = 0
    for rung, climb in enumerate([0, *climbs]):
        distance += climb
        below = max(0, math.ceil(center - distance))
        above = min(width, math.floor(center + distance))
        if below <= above:
            first = rung == 0 or high < low
            left, right = (above - below + 1, 0) if first else (low - below, above - high)
            starts += [below, high + 1]
            sizes += [left, right]
            scores += [-rung, -rung]
            low, high = below, above
    last = len(climbs) + 1
    starts += [0, high + 1]
    sizes += [max(0, low), max(0, width - high)]
    scores += [-last, -last]
    at = lottery(np.array(scores, dtype=np.int64), 2 / epsilon, np.array(sizes, dtype=np.int64), bits)
    return starts[at] + uniform_integer(sizes[at], bits=bits)

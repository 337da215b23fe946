"""Prove how fast the characteristic function of a loss falls: never by waiting, always by a bound for all heights.

Let L have a density of at least f_j between l_j and l_{j+1}. Cut the axis into pieces.

High up. A law with density at least f on a piece of width w is a mixture of the uniform law on it, with weight w f,
and of
a rest. The uniform law has |E exp(itU)| <= 2 / (t w), the rest at most 1, so for every t >= b

    |E exp(itL)| <= 1 - sum over pieces of w f (1 - 2 / (b w)).

Low down. The modulus is evaluated at points t_1 < t_2 < ... and cannot rise far between them: with an independent copy
L', |E exp(itL)|^2 = E cos(t (L - L')) has a derivative of size at most min(2 t Var L, 2 E|L - m|) for any m, so between
two points a Lipschitz function with known ends lies below the mean of the ends plus half of what the slope allows.

A chain of intervals [b, rb], [rb, r^2 b], ... bounded low down ends where the first bound, which holds for all
higher t,
is at least as strong as the weakest link.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.numerics.loss import Reals

RATIO = 1.5


class Decay:
    """Bounds of log |E exp(itL)| for all t above a height."""

    def __init__(  # noqa: PLR0913, PLR0917  the numbers that make one line
        self,
        losses: Reals,
        densities: Reals,
        modulus: Callable[[Reals], Reals],
        variance: float,
        deviation: float,
        limit: float,
    ) -> None:
        """Take what is known of L.

        Args:
            losses: grid points of L, monotone.
            densities: a lower bound of the density of L between each two of them.
            modulus: returns |E exp(itL)| at an increasing array of t.
            variance: an upper bound of Var L.
            deviation: an upper bound of E|L - m| for some m.
            limit: the height up to which the modulus is worth evaluating.
        """
        ascending = losses if losses[-1] >= losses[0] else -losses
        self._losses = ascending
        self._densities = np.where(np.diff(ascending) > 0, densities, 0.0)
        self._modulus = modulus
        self._variance = variance
        self._deviation = deviation
        self._limit = limit
        self._bounds: dict[int, float] = {}
        self._lows: dict[int, float] = {}
        self._highs: dict[int, float] = {}

    def above(self, height: float) -> float:
        """Return an upper bound of log |E exp(itL)| over all t >= height."""
        begin = math.floor(math.log(height) / math.log(RATIO))
        if begin not in self._bounds:
            self._bounds[begin] = self._chain(begin)
        return self._bounds[begin]

    def _chain(self, begin: int) -> float:
        """Bound everything above RATIO**begin."""
        worst, best = -math.inf, 0.0
        for index in range(begin, begin + 200):
            if index not in self._highs:
                self._highs[index] = self._high(RATIO**index)
            best = min(best, max(worst, self._highs[index]))
            if worst >= best:
                break
            if RATIO**index > self._limit:
                break
            if index not in self._lows:
                self._lows[index] = self._low(RATIO**index)
            worst = max(worst, self._lows[index])
        return min(best, 0.0)

    def _high(self, height: float) -> float:
        """Bound all t >= height by uniform pieces."""
        best = 0.0
        for width in (6.0 / height, 30.0 / height):
            cells = np.floor((self._losses[:-1] - self._losses[0]) / width)
            starts = np.flatnonzero(np.diff(cells, prepend=-1.0))
            ends = np.append(starts[1:], len(self._densities))
            lowest = np.minimum.reduceat(self._densities, starts)
            widths = self._losses[ends] - self._losses[starts]
            gain = 1 - 2 / (height * np.maximum(widths, 1e-300))
            best = max(best, float((widths * lowest * np.maximum(gain, 0.0)).sum()))
        return math.log1p(-min(best, 1 - 1e-12))

    def _low(self, height: float) -> float:
        """Bound t in [height, RATIO * height] by values and slopes."""
        count = 8
        while True:
            points = np.linspace(height, RATIO * height, count + 1)
            squares = self._modulus(points) ** 2
            rise = np.minimum(self._variance * np.diff(points**2), 2 * self._deviation * np.diff(points))
            peaks = 0.5 * (squares[1:] + squares[:-1] + rise)
            top = float(np.minimum(peaks, 1.0).max()) + 1e-13
            if 1 - top >= 0.5 * (1 - float(squares.max())) or count >= 64:
                return 0.5 * math.log(min(top, 1.0))
            count *= 2

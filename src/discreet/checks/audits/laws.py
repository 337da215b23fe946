"""Output laws written out from their formulas, without the code that samples them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["discrete_law", "rounded_law"]


def discrete_law(weight: Callable[[int], float], center: int, first: int, last: int) -> dict[int, float]:
    """Return the law with chances proportional to weight(k - center), tails joined at `first` and `last`.

    The sum runs to 400 beyond the ends; the weights must have vanished there.

    >>> law = discrete_law(lambda z: math.exp(-abs(z)), 0, -2, 2)
    >>> round(law[0], 12) == round(math.tanh(0.5), 12), abs(sum(law.values()) - 1) < 1e-15
    (True, True)
    """
    places = range(first - 400, last + 401)
    weights = {k: weight(k - center) for k in places}
    total = math.fsum(weights.values())
    law = {k: weights[k] / total for k in range(first + 1, last)}
    law[first] = math.fsum(weights[k] for k in places if k <= first) / total
    law[last] = math.fsum(weights[k] for k in places if k >= last) / total
    return law


def rounded_law(above: Callable[[float], float], center: int, first: int, last: int) -> dict[int, float]:
    """Return the law of rounding symmetric real noise around an integer, tails joined at `first` and `last`.

    `above(x)` is the chance of noise above x, for x >= 0; integer k stands for (k - 1/2, k + 1/2].

    >>> law = rounded_law(lambda x: math.exp(-x) / 2, 0, -3, 3)
    >>> law[0] == 1 - math.exp(-0.5), abs(sum(law.values()) - 1) < 1e-15
    (True, True)
    """

    def tail(k: int) -> float:
        """The chance of at most k, for noise around 0."""
        return above(-k - 0.5) if k < 0 else 1 - above(k + 0.5)

    law = {}
    for k in range(first, last + 1):
        z = k - center
        if k == first:
            law[k] = tail(z)
        elif k == last:
            law[k] = tail(-z)
        else:
            law[k] = 1 - 2 * above(0.5) if z == 0 else above(abs(z) - 0.5) - above(abs(z) + 0.5)
    return law

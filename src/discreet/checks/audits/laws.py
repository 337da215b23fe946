"""Output laws written out from their formulas, without the code that samples them."""

from __future__ import annotations

import math
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Outcome = TypeVar("Outcome")

__all__ = [
    "cells_law",
    "convolved",
    "difference_law",
    "discrete_law",
    "flipped",
    "laplace_above",
    "laplace_law",
    "laplace_winner",
    "law_if_shown",
    "normal_above",
    "normalized",
    "ordered",
    "polyplace_above",
    "rounded_law",
    "shown_chance",
    "softmax",
]


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


def laplace_law(scale: float, center: int, first: int, last: int) -> dict[int, float]:
    """Return the law of a number with discrete Laplace noise, tails joined at `first` and `last`.

    >>> round(laplace_law(1.0, 0, -2, 2)[0], 12) == round(math.tanh(0.5), 12)
    True
    """
    return discrete_law(lambda z: math.exp(-abs(z) / scale), center, first, last)


def difference_law(scale: float, center: int) -> dict[int, float]:
    """Return the law of the difference of two numbers, each with discrete Laplace noise.

    >>> law = difference_law(1.0, 3)
    >>> max(law, key=lambda place: law[place])
    3
    """
    return {center + z: chance for z, chance in convolved(laplace_law(scale, 0, -60, 60), 2).items()}


def normalized(weights: dict[Outcome, float]) -> dict[Outcome, float]:
    """Return chances in proportion to these weights.

    >>> normalized({"a": 1.0, "b": 3.0})
    {'a': 0.25, 'b': 0.75}
    """
    total = math.fsum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def laplace_above(x: float) -> float:
    """Return the chance that standard Laplace noise lies above x >= 0.

    >>> laplace_above(0.0)
    0.5
    """
    return math.exp(-x) / 2


def normal_above(x: float) -> float:
    """Return the chance that standard normal noise lies above x.

    >>> normal_above(0.0)
    0.5
    """
    return math.erfc(x / math.sqrt(2)) / 2


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


def convolved(law: dict[int, float], times: int) -> dict[int, float]:
    """Return the law of the sum of so many independent draws.

    >>> convolved({0: 0.5, 1: 0.5}, 2)
    {0: 0.25, 1: 0.5, 2: 0.25}
    """
    total = {0: 1.0}
    for _ in range(times):
        longer: dict[int, float] = {}
        for a, p in total.items():
            for b, q in law.items():
                longer[a + b] = longer.get(a + b, 0.0) + p * q
        total = longer
    return total


def softmax(scores: Sequence[float], scale: float) -> list[float]:
    """Return chances proportional to exp(score / scale): the exponential mechanism.

    >>> softmax([0, 0], 1.0)
    [0.5, 0.5]
    """
    return list(normalized({i: math.exp((score - max(scores)) / scale) for i, score in enumerate(scores)}).values())


def flipped(scores: Sequence[float], scale: float) -> list[float]:
    """Return the law of permute-and-flip: in a random order, take the first whose coin of exp((s - max) / scale) is 1.

    McKenna & Sheldon 2020 (arXiv:2010.12603), Algorithm 1, all orders added up: for few candidates.

    >>> [round(chance, 4) for chance in flipped([0, 1], 1.0)]
    [0.1839, 0.8161]
    """
    coins = [math.exp((score - max(scores)) / scale) for score in scores]
    chances = [0.0] * len(scores)
    for order in permutations(range(len(scores))):
        left = 1.0
        for i in order:
            chances[i] += left * coins[i] / math.factorial(len(scores))
            left *= 1 - coins[i]
    return chances


def laplace_winner(scores: Sequence[float], scale: float) -> list[float]:
    """Return each candidate's chance to have the largest score with Laplace noise, by quadrature.

    >>> [round(chance, 12) for chance in laplace_winner([0, 0], 1.0)]
    [0.5, 0.5]
    """
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(20)
    values = np.asarray(scores, dtype=np.float64) / scale
    chances = np.zeros(len(values))
    edges = np.unique(np.append(values, [values.min() - 40, values.max() + 40]))  # beyond: below 1e-17
    for low, high in pairwise(np.concatenate([np.linspace(a, b, 41)[:-1] for a, b in pairwise(edges)] + [edges[-1:]])):
        away = (low + high) / 2 + (high - low) / 2 * nodes[:, None] - values
        below = np.where(away < 0, np.exp(-np.abs(away)) / 2, 1 - np.exp(-np.abs(away)) / 2)
        for i in range(len(values)):
            others = np.prod(np.delete(below, i, axis=1), axis=1)
            chances[i] += (high - low) / 2 * (weights * others * np.exp(-np.abs(away[:, i])) / 2).sum()
    return [float(chance) for chance in chances]


def ordered(
    scores: Sequence[float], count: int, choose: Callable[[list[float]], list[float]]
) -> dict[tuple[int, ...], float]:
    """Return the law of choosing one candidate after the other, each among those left.

    >>> ordered([0, 0], 2, lambda left: softmax(left, 1.0))
    {(0, 1): 0.5, (1, 0): 0.5}
    """
    law: dict[tuple[int, ...], float] = {}
    for order in permutations(range(len(scores)), count):
        left, chance = list(range(len(scores))), 1.0
        for i in order:
            chance *= choose([scores[j] for j in left])[left.index(i)]
            left.remove(i)
        law[order] = chance
    return law


def cells_law(above: Callable[[float], float], center: float, scale: float, edges: Sequence[float]) -> dict[int, float]:
    """Return the law of the number of rising edges below center + scale * noise, for noise that is symmetric around 0.

    `above(x)` is the chance of noise above x, for x >= 0.

    >>> {cell: round(chance, 3) for cell, chance in cells_law(lambda x: math.exp(-x) / 2, 0.0, 1.0, [0.0, 1.0]).items()}
    {0: 0.5, 1: 0.316, 2: 0.184}
    """

    def beyond(edge: float) -> float:
        z = (edge - center) / scale
        return above(z) if z >= 0 else 1 - above(-z)

    chances = [1.0, *map(beyond, edges), 0.0]
    return {cell: over - under for cell, (over, under) in enumerate(pairwise(chances))}


def polyplace_above(tail: float) -> Callable[[float], float]:
    """Return the tail of the density in proportion to (1 + |z| / tail)**(-tail - 1), the smooth mechanisms' default.

    >>> polyplace_above(3.0)(0.0), polyplace_above(3.0)(3.0)
    (0.5, 0.0625)
    """
    return lambda x: (1 + x / tail) ** -tail / 2


def shown_chance(epsilon: float, delta: float, distance: int) -> float:
    """Return the chance that a distance with discrete Laplace noise passes the least threshold that hides a 0.

    >>> round(shown_chance(1.0, 0.1, 0), 4), round(shown_chance(1.0, 0.1, 50), 4)
    (0.0989, 1.0)
    """
    fall, threshold = math.exp(-epsilon), 0
    while fall ** (threshold + 1) / (1 + fall) > delta:
        threshold += 1
    needed = threshold + 1 - distance
    return fall**needed / (1 + fall) if needed > 0 else 1 - fall ** (1 - needed) / (1 + fall)


def law_if_shown(shown: float, cells: dict[int, float]) -> dict[str, float]:
    """Return the law of an answer that is shown with some chance: its cell as a text, or None.

    >>> law_if_shown(0.5, {0: 0.25, 1: 0.75})
    {'None': 0.5, '0': 0.125, '1': 0.375}
    """
    return {"None": 1 - shown, **{str(cell): shown * chance for cell, chance in cells.items()}}

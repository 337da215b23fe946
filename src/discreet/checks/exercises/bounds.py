"""Bounds that can be computed: noisy max without its partition function, bad outcomes under Rényi, packing."""

from __future__ import annotations

import math
from itertools import combinations, product
from statistics import NormalDist
from typing import TYPE_CHECKING

from discreet.checks.exercises.shown import Comparison, Shown, require_above
from discreet.errors import ParameterError
from discreet.exact import integer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["noisy_max", "packing", "renyi_bad_outcomes"]

MOST_SCORES = 8
LARGEST_EXPONENT = 500.0


def noisy_max(scores: Sequence[float] = (3, 2, 0), epsilon: float = 1.0) -> tuple[Shown, ...]:
    r"""Add Exp(rate epsilon/2) to scores of sensitivity 1 and name the largest: epsilon-private, and no sum to compute.

    Fix the other scores' noise: the winner must pass a threshold, which a neighbor moves by at most 2, and an
    exponential tail pays at most e^rate for each 1: Pr[X > a - b] <= e^(rate b) Pr[X > a]. The law is written out here
    by inclusion and exclusion: with m_j = max score - score j, Pr[i] is e^(-rate m_i) times the sum, over sets S of
    the others, of (-1)^|S| e^(-rate sum of m_j over S)/(|S| + 1). All neighbors that move each score by -1, 0 or 1 are
    tried. Its expected score is never below that of the exponential mechanism (McKenna & Sheldon 2020,
    arXiv:2010.12603, theorem 2), whose chances need the partition function.

    >>> print(*noisy_max(), sep="\n")
    holds: the largest loss to a neighbor is 1, at most 1
    holds: its expected score is 2.45226, at least 2.30265
    """
    require_above(0, epsilon=epsilon)
    if not 0 < len(scores) <= MOST_SCORES or not all(math.isfinite(score) for score in scores):
        msg = f"scores must be 1 to {MOST_SCORES} finite numbers: all their neighbors are tried."
        raise ParameterError(msg)
    if epsilon / 2 * (max(scores) - min(scores) + 2) > LARGEST_EXPONENT:
        msg = "scores are too far apart for this epsilon: some of their chances are too small for floats."
        raise ParameterError(msg)
    law = _noisy_max_law(scores, epsilon / 2)
    losses = []
    for moves in product((-1, 0, 1), repeat=len(scores)):
        other = _noisy_max_law([score + move for score, move in zip(scores, moves, strict=True)], epsilon / 2)
        losses += [abs(math.log(mine / its)) for mine, its in zip(law, other, strict=True)]
    weights = [math.exp(epsilon * score / 2) for score in scores]
    expected = sum(chance * score for chance, score in zip(law, scores, strict=True))
    lottery = sum(weight * score for weight, score in zip(weights, scores, strict=True)) / sum(weights)
    return (
        Shown("the largest loss to a neighbor", max(losses), Comparison.AT_MOST, epsilon),
        Shown("its expected score", expected, Comparison.AT_LEAST, lottery),
    )


def _noisy_max_law(scores: Sequence[float], rate: float) -> list[float]:
    behind = [math.exp(-rate * (max(scores) - score)) for score in scores]
    law = []
    for place, own in enumerate(behind):
        others = behind[:place] + behind[place + 1 :]
        terms = [
            (-1) ** size * math.prod(some) / (size + 1)
            for size in range(len(others) + 1)
            for some in combinations(others, size)
        ]
        law.append(own * math.fsum(terms))
    return law


def renyi_bad_outcomes(sigma: float = 2.0, order: float = 8.0) -> tuple[Shown, ...]:
    r"""Bound a bad outcome under Rényi privacy: P(S) <= (e^(eps(order)) Q(S))^(1 - 1/order), and not by e^eps Q(S).

    From Hölder's inequality (Langlois, Stehlé, Steinfeld 2014; Mironov 2017, arXiv:1702.07476, proposition 10). For
    Gaussian noise and neighbors 1 apart eps(order) = order/(2 sigma^2). All upper tails are tried, on a fine grid up to
    7 sigma. The factor e^eps alone is exceeded by some of them: that is why delta is not 0.

    >>> print(*renyi_bad_outcomes(), sep="\n")
    holds: the largest P(S) / (e^eps Q(S))^(1 - 1/order) is 0.850086, at most 1
    holds: the largest P(S) / (e^eps Q(S)) is 11.5439, at least 1
    """
    require_above(0, sigma=sigma)
    require_above(1, order=order)
    law, epsilon = NormalDist(0, sigma), order / (2 * sigma**2)
    if epsilon > LARGEST_EXPONENT:
        msg = f"sigma is {sigma} and order {order}; order / (2 sigma^2) must be at most {LARGEST_EXPONENT:g}."
        raise ParameterError(msg)
    places = [sigma * (step / 100) for step in range(-600, 701)]
    tails = [(law.cdf(1 - place), law.cdf(-place)) for place in places]  # beyond the place: P moved by 1, and Q
    renyi = max(p / (math.exp(epsilon) * q) ** (1 - 1 / order) for p, q in tails)
    plain = max(p / (math.exp(epsilon) * q) for p, q in tails)
    return (
        Shown("the largest P(S) / (e^eps Q(S))^(1 - 1/order)", renyi, Comparison.AT_MOST, 1.0),
        Shown("the largest P(S) / (e^eps Q(S))", plain, Comparison.AT_LEAST, 1.0),
    )


def packing(counts: int = 20, people: int = 1000, epsilon: float = 1.0) -> tuple[Shown, ...]:
    """Bound from below what k counts cost: at least half of the time an error of nearly (k - 1) ln 2/(2 epsilon n).

    For each of the 2^k rows b let m of the n people have the row b and the others zeros. The k means of two such data
    sets differ by m/n somewhere, so answers with all errors below m/(2n) lie in disjoint sets S_b. If that happens with
    chance above 1/2 for each, group privacy gives 1 >= sum over b of P_0(S_b) > 2^k e^(-epsilon m)/2 under the data of
    zeros, so m > (k - 1) ln 2/epsilon (Hardt & Talwar 2010, arXiv:0907.3754; change one). The largest m that is not
    allowed gives the bound. Beside it, the median of the largest error of the Laplace mechanism, of scale
    k/(epsilon n): the two grow alike in k, but for a logarithm.

    >>> print(*packing())
    holds: the Laplace mechanism's median error is 0.0675905, at least 0.0065
    """
    require_above(0, epsilon=epsilon)
    many, total = integer(counts, name="counts", least=1), integer(people, name="people", least=1)
    moved = min(math.floor((many - 1) * math.log(2) / epsilon), total)
    median = -many / (epsilon * total) * math.log(-math.expm1(-math.log(2) / many))
    return (Shown("the Laplace mechanism's median error", median, Comparison.AT_LEAST, moved / (2 * total)),)

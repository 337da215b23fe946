"""What the exponential mechanism really leaks: enumerated on concrete scores, both ends of its curve meet there."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

from discreet import privacy as p
from discreet.errors import ContradictionWarning

Law = list[float]


def selected(scores: list[float], epsilon: float) -> Law:
    """The exponential mechanism's law for scores of sensitivity 1."""
    weights = [math.exp(epsilon * score / 2) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


def divergence(present: Law, absent: Law, epsilon: float) -> float:
    """delta(epsilon) of two laws, by the definition."""
    return math.fsum(max(a - math.exp(epsilon) * b, 0.0) for a, b in zip(present, absent, strict=True))


def tilted(epsilon: float, largest: float) -> tuple[Law, Law]:
    """Scores 0 and s that move by 1 in opposite directions: the losses are `largest` and `largest` - epsilon.

    With a = exp(epsilon / 2) and weight w of the second score, the loss of the first is
    epsilon / 2 - log((a + w / a) / (1 + w)); solved for w.
    """
    a, ratio = math.exp(epsilon / 2), math.exp(epsilon / 2 - largest)
    weight = (a - ratio) / (ratio - 1 / a)
    score = 2 * math.log(weight) / epsilon
    return selected([1.0, score - 1], epsilon), selected([0.0, score], epsilon)


def sampled(pair: tuple[Law, Law], rate: float) -> tuple[Law, Law]:
    """The unit is in the sample with this chance."""
    present, absent = pair
    return [(1 - rate) * b + rate * a for a, b in zip(present, absent, strict=True)], absent


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_one_selection_attains_its_profile(epsilon: float, share: float) -> None:
    at = share * epsilon
    attained = divergence(*tilted(epsilon, (at + epsilon) / 2), at)
    lower, upper = p.exponential(epsilon).delta_interval(at)
    assert lower <= attained * (1 + 1e-12)
    assert attained <= upper * (1 + 1e-12)
    assert upper - lower <= 1e-9 * upper
    least, most = p.exponential(epsilon).interval(attained)
    assert least <= at * (1 + 1e-9) + 1e-12
    assert at * (1 - 1e-9) <= most
    assert most - least <= 1e-8 * epsilon


@pytest.mark.parametrize("epsilon, at", [(1.0, 0.0), (1.0, 0.4), (2.5, 1.0)])
def test_no_scores_of_a_small_domain_leak_more(epsilon: float, at: float) -> None:
    """All lists of three scores among -3, -1.5 .. 3 with all moves by -1, 0 or 1 each; some come near."""
    grid = [-3.0, -1.5, 0.0, 1.5, 3.0]
    most = 0.0
    for scores in itertools.product(grid, repeat=2):
        for moves in itertools.product([-1.0, 0.0, 1.0], repeat=3):
            before = [0.0, *scores]
            after = [score + move for score, move in zip(before, moves, strict=True)]
            most = max(most, divergence(selected(after, epsilon), selected(before, epsilon), at))
    upper = p.exponential(epsilon).delta(at)
    assert 0.9 * upper <= most <= upper * (1 + 1e-12)


@pytest.mark.parametrize("rate", [0.02, 0.3])
@pytest.mark.parametrize("at", [0.002, 0.01])
def test_one_sampled_selection_attains_its_profile(rate: float, at: float) -> None:
    inner = math.log1p(math.expm1(at) / rate)
    attained = divergence(*sampled(tilted(1.0, (inner + 1) / 2), rate), at)
    assert attained > 0
    lower, upper = p.exponential(1).subsample(rate).delta_interval(at)
    assert lower <= attained * (1 + 1e-9)
    assert attained <= upper * (1 + 1e-9)
    assert upper - lower <= 1e-8 * upper


def best_without_adapting(epsilon: float, count: int, at: float) -> float:
    """The largest delta of `count` selections whose neighbors lean alike, over a fine grid of leanings."""
    best = 0.0
    low = np.arange(count + 1)
    ways = np.array([math.comb(count, i) for i in range(count + 1)], dtype=float)
    for largest in np.linspace(0.5, 1, 4000, endpoint=False) * epsilon:
        chance = -math.expm1(largest - epsilon) / -math.expm1(-epsilon)
        masses = ways * chance ** (count - low) * (1 - chance) ** low
        sums = count * largest - low * epsilon
        best = max(best, float((masses * -np.expm1(np.minimum(at - sums, 0.0))).sum()))
    return best


@pytest.mark.parametrize("epsilon, count, at", [(1.0, 2, 1.5), (1.0, 20, 12.0), (0.1, 10, 0.6), (1.0, 4, 1.25)])
def test_a_composition_has_the_lower_end_of_the_worst_neighbors(epsilon: float, count: int, at: float) -> None:
    """The lower ends are those of neighbors that exist; adaptive composition may cost what the upper ends say."""
    truth = best_without_adapting(epsilon, count, at)
    curve = p.exponential(epsilon) * count
    lower, upper = curve.delta_interval(at)
    assert truth * (1 - 1e-3) <= lower <= truth * (1 + 1e-5)  # the grid has 4000 points
    assert truth <= upper
    least, most = curve.interval(truth)
    assert at * (1 - 2e-3) <= least <= at * (1 + 1e-5)
    assert at <= most


@pytest.mark.parametrize("rate, count, at", [("0.1", 6, 0.3), ("0.5", 3, 1.0)])
def test_a_composition_of_samples_has_the_lower_end_of_some_neighbors(rate: str, count: int, at: float) -> None:
    """Enumerated over the leanings: the lower end is above that of the symmetric neighbors, and not above the best."""
    listed = []
    for share in np.linspace(0.5, 0.999, 400):
        present, absent = sampled(tilted(1.0, float(share)), float(rate))
        total = 0.0
        for i in range(count + 1):
            over = math.comb(count, i) * present[0] ** (count - i) * present[1] ** i
            under = math.comb(count, i) * absent[0] ** (count - i) * absent[1] ** i
            total += max(over - math.exp(at) * under, 0.0)
        listed.append(total)
    lower, upper = (p.exponential(1).subsample(rate) * count).delta_interval(at)
    assert listed[0] * 1.05 < lower <= max(listed) * (1 + 1e-3)
    assert max(listed) <= upper


@pytest.mark.parametrize("count", [1, 3])
def test_without_a_delta_selections_cost_their_epsilons(count: int) -> None:
    lower, upper = (p.exponential("0.8") * count).interval(0)
    assert 0.8 * count * (1 - 1e-8) <= lower <= 0.8 * count <= upper <= 0.8 * count * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5])
def test_rho_is_attained_by_the_symmetric_neighbors(epsilon: float) -> None:
    """Just above order 1 the divergence of losses +-epsilon/2 is (epsilon/2) tanh(epsilon/4), nearly epsilon^2 / 8."""
    attained = 0.5 * epsilon * math.tanh(0.25 * epsilon)
    assert attained <= p.exponential(epsilon).zcdp() <= attained * (1 + epsilon**2)


def test_mixtures_with_a_selection_do_not_contradict_themselves() -> None:
    """Every lower end is below the upper end, which a pair that nobody attains would not grant."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ContradictionWarning)
        for curve in (
            p.exponential(1) * 3 + p.laplace(2) * 2,
            p.exponential("0.4") * 7 + p.exponential(2) + p.gaussian(3),
            p.exponential(1).subsample("0.2") * 3 + p.gaussian(3).subsample("0.1"),
            p.exponential(1, neighbors=p.NeighborRelation.CHANGE_ONE).subsample("0.1") * 8,
            p.exponential(2).parallel(p.gaussian(1)),
        ):
            for delta in ("1e-2", "1e-6", "1e-12"):
                lower, upper = curve.interval(delta)
                assert 0.7 * upper <= lower <= upper

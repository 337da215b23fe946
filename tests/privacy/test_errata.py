"""Formulas about composition that are often misprinted: each test fails for the misprinted form."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest

from discreet import privacy as p
from discreet.errors import ParameterError
from discreet.privacy import Approximate, NeighborRelation, Pure
from discreet.privacy.composition import (
    Parts,
    advanced,
    amplified,
    group_privacy,
    kairouz,
    mironov,
    parallel,
    sampled_gaussian_rdp,
)
from discreet.privacy.convert import rdp_epsilon, to_relation
from discreet.privacy.meanings import attacker_accuracy, semantic_bound, true_positive_rate


@pytest.mark.parametrize("slack", [1e-3, 1e-5, 1e-6])
def test_advanced_composition_needs_its_second_term(slack: float) -> None:
    """The misprint: epsilon * sqrt(2 k ln(1/delta')) alone. 50 randomized responses of 0.5 already exceed it."""
    short = 0.5 * math.sqrt(2 * 50 * math.log(1 / slack))
    truth = kairouz(Approximate("0.5"), 50, slack).epsilon
    assert truth > short, "so the short form is no bound"
    assert advanced(Approximate("0.5"), 50, slack).epsilon >= truth


def test_advanced_composition_pays_for_every_delta_and_the_slack() -> None:
    """The misprint: epsilon * sqrt(T log 1/delta) with T * delta."""
    found = advanced(Approximate("0.1", 1e-9), 100, 1e-6)
    assert found.delta == Fraction(100, 10**9) + Fraction(1, 10**6)
    assert found.epsilon > Fraction(1, 10) * Fraction(math.sqrt(2 * 100 * math.log(1e6)))


@pytest.mark.parametrize("epsilon, delta", [(5.8, 0.1), (8.5, 1e-5)])
def test_the_textbook_gaussian_is_too_small_for_large_epsilons(epsilon: float, delta: float) -> None:
    """The misprint: sigma = sqrt(2 ln(1.25/delta)) / epsilon for any epsilon; it is proved below 1 only."""
    textbook = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert p.gaussian(textbook).delta_interval(epsilon)[0] > delta
    sigma = p.gaussian_sigma(epsilon=epsilon, delta=delta)
    assert sigma > textbook
    assert p.gaussian(sigma).delta(epsilon) <= delta


def test_the_textbook_gaussian_is_wasteful_for_small_epsilons() -> None:
    textbook = math.sqrt(2 * math.log(1.25 / 1e-5))
    assert p.gaussian_sigma(epsilon=1, delta=1e-5) < 0.78 * textbook


def test_disjoint_parts_cost_the_two_largest_under_change_one() -> None:
    """The misprint: the largest epsilon, whatever the relation.

    Two counts, of women and of men, each by discrete Laplace noise of epsilon 1: exchanging a woman for a man moves
    both, and the pair of answers (w + 1, m - 1) has a likelihood ratio of e**2.
    """
    change = NeighborRelation.CHANGE_ONE
    inside = [Approximate(1, neighbors=change)] * 2
    ratio = math.exp(-abs(0) - abs(0)) / math.exp(-abs(-1) - abs(1))
    assert math.log(ratio) == 2
    assert parallel([Approximate(1)] * 2, exchanged=inside).epsilon == 2
    assert parallel([Approximate(1)] * 2).epsilon == 1
    assert to_relation(Pure(1), change).epsilon == 2
    with pytest.raises(ParameterError):
        parallel(inside, Parts.BY_INDEX)


def test_the_closed_form_for_samples_is_far_too_low_outside_its_conditions() -> None:
    """The misprint: conditions left out. At q = 0.001, sigma = 1, order 32 the form is low by a factor above 1e5."""
    form = 2 * 0.001**2 * 32 / 1**2
    assert sampled_gaussian_rdp("0.001", 1, 32).values[0] > 1e5 * form
    with pytest.raises(ParameterError, match="sigma is 1"):
        mironov("0.001", 1, 32)
    assert sampled_gaussian_rdp("0.001", 4, 20).values[0] <= mironov("0.001", 4, 20).values[0]


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_sampling_does_not_multiply_epsilon(epsilon: float) -> None:
    """The misprint: rate * epsilon. Sampled randomized response has the ratio 1 + q (e^epsilon - 1)."""
    q = 0.1
    truth = math.log1p(q * math.expm1(epsilon))
    found = amplified(Approximate(epsilon, 1e-6), q)
    assert float(found.epsilon) == pytest.approx(truth, rel=1e-12)
    assert found.epsilon > q * epsilon
    assert found.delta == Fraction(1, 10**7)


def test_an_attacker_wins_at_most_this_often() -> None:
    """The misprint: e^epsilon / 2, up to 1/2 + epsilon / 2."""
    for epsilon in ("0.1", "0.5", "1", "3"):
        e = float(epsilon)
        accuracy = attacker_accuracy(p.randomized_response(epsilon=epsilon))
        assert accuracy == pytest.approx(math.exp(e) / (1 + math.exp(e)), rel=1e-9)
        assert accuracy <= 0.5 + e / 4 + 1e-12
        assert accuracy < math.exp(e) / 2


def test_beliefs_move_less_than_the_loose_bound() -> None:
    """The loose bound: e^(2 epsilon) - 1."""
    for epsilon in (0.1, 1.0, 2.0):
        prior = 1 / (1 + math.exp(epsilon))
        up, down = prior * math.exp(epsilon), (1 - prior) * math.exp(-epsilon)
        moved = up / (up + down) - prior
        assert moved <= semantic_bound(epsilon) * (1 + 1e-12)
        assert semantic_bound(epsilon) == pytest.approx(math.tanh(epsilon / 2))
        assert semantic_bound(epsilon) < math.expm1(2 * epsilon)


def test_the_semantic_bound_is_attained() -> None:
    """Over all priors on two points, a likelihood ratio of e^(2 epsilon) moves at most, and just, tanh(epsilon / 2)."""
    epsilon = 1.0
    moves = []
    for i in range(1, 1000):
        prior = i / 1000
        up, down = prior * math.exp(epsilon), (1 - prior) * math.exp(-epsilon)
        moves.append(up / (up + down) - prior)
    assert max(moves) <= semantic_bound(epsilon)
    assert max(moves) > semantic_bound(epsilon) - 1e-5


def test_groups_pay_delta_more_than_k_times() -> None:
    """The misprint: (k epsilon, k delta). Two steps give e^epsilon * delta + delta."""
    found = group_privacy(Approximate(1, 1e-6), 2)
    assert found.epsilon == 2
    assert float(found.delta) == pytest.approx((1 + math.e) * 1e-6, rel=1e-12)
    assert float(found.delta) <= 2 * math.e * 1e-6


def test_delta_is_not_the_chance_of_a_large_loss() -> None:
    """The misprint: Pr[L > epsilon] <= delta as a definition. A Gaussian's delta(2) is below half of that chance."""
    mu, epsilon = 1.0, 2.0
    chance = float(mp.ncdf(-(epsilon - mu * mu / 2) / mu))
    delta = p.gaussian(sigma=1).delta(epsilon)
    assert delta < chance / 2
    exact = float(mp.ncdf(-1.5) - mp.exp(2) * mp.ncdf(-2.5))
    assert delta == pytest.approx(exact, rel=1e-9)


def test_a_laplace_scale_is_no_standard_deviation() -> None:
    """The misprint: standard deviation sensitivity / epsilon; noise of that deviation has scale / sqrt(2)."""
    assert p.laplace_scale(epsilon="0.5") == 2.0
    assert p.laplace(scale=2).epsilon(0.0) == pytest.approx(0.5, rel=1e-9)
    assert p.laplace(scale=2 / math.sqrt(2)).epsilon(0.0) > 0.7


def test_two_coins_are_ln_three() -> None:
    """Kept with 3/4, flipped with 1/4."""
    assert p.randomized_response(epsilon=math.log(3)).delta(0.0) == pytest.approx(0.75 - 0.25, rel=1e-9)


@pytest.mark.parametrize("fpr", [0.001, 0.01, 0.2])
def test_membership_is_a_product_and_a_sum(fpr: float) -> None:
    """The misprint: epsilon ** epsilon. TPR <= e^epsilon * FPR + delta, and TNR likewise."""
    epsilon, delta = 1.0, 1e-3
    tpr = true_positive_rate(p.approximate(epsilon=epsilon, delta=delta), fpr=fpr)
    bound = min(math.e * fpr + delta, 1 - (1 - delta - fpr) / math.e)
    assert tpr == pytest.approx(bound, rel=1e-6)


def test_the_old_conversion_of_renyi_is_beaten() -> None:
    order, delta = Fraction(10), Fraction(1, 10**5)
    assert float(rdp_epsilon(order, Fraction(1), delta)) < 1 + math.log(1e5) / 9 - 0.35

"""Lower ends claim no more than is known: what stands for a law from above says nothing from below."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet import privacy as p
from discreet.errors import ContradictionWarning
from discreet.privacy.curves import examples
from discreet.privacy.numerics.losses.gaussian import GaussianLoss
from discreet.privacy.numerics.losses.loss import SLACK, Direction
from discreet.privacy.numerics.losses.profile import reach
from discreet.privacy.numerics.losses.sampled import CutLoss, Formula
from discreet.privacy.numerics.solvers.account import delta_interval, epsilon_interval
from discreet.privacy.numerics.solvers.convolution import convolve_at
from discreet.privacy.numerics.solvers.single import meet, ordered
from discreet.privacy.part import pair_of

if TYPE_CHECKING:
    from discreet.privacy import Curve
    from discreet.privacy.numerics.losses.loss import Loss, Reals

GROUP = p.laplace(5).subsample("0.1").group(2)
"""A chain of neighbors: its profile is bounded from above only."""

LEAKING = p.finite_pair(["0.1", "0.001", "0.899"], ["0", "0.0001", "0.9999"]) * 10
"""Its infinite losses have a mass of 1 - 0.9^10, its largest finite one, 10 log(10), one of 1e-30."""


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_a_bound_from_above_raises_no_lower_end(delta: float) -> None:
    response = p.randomized_response(1, neighbors=GROUP.neighbors)
    assert GROUP.interval(delta)[0] == 0, "nothing is known of the group from below"
    both = GROUP + response
    assert both.interval(delta)[0] <= response.interval(delta)[1]
    for epsilon in (0.5, 0.99, 1.01):
        assert both.delta_interval(epsilon)[0] <= response.delta_interval(epsilon)[1]


@pytest.mark.parametrize(
    "curve",
    [
        p.discrete_gaussian(2),
        p.discrete_gaussian(2) * 3,
        p.discrete_gaussian(1) + p.randomized_response(1),
        p.discrete_gaussian(3).subsample("0.1") * 5,
        p.laplace(5).subsample("0.1") + p.pure(1),
        GROUP,
    ],
    ids=str,
)
def test_what_is_cut_off_far_out_is_no_sure_mass_at_infinity(curve: Curve) -> None:
    assert curve.delta_interval(math.inf)[0] == 0, "no outcome of it is possible for one neighbor only"
    assert curve.delta_interval(10**6)[0] == 0


def test_the_far_tail_of_discrete_gaussians_is_as_small_as_it_is() -> None:
    # sigma = 2: L = (1 - 2x) / 8 > 20 for x < -79.5, and exp(-80^2 / 8) is exp(-800)
    lower, upper = p.discrete_gaussian(2).delta_interval(20)
    assert lower <= math.exp(-700) < upper


def _leaking_delta(epsilon: float) -> float:
    """Sum over how many of ten uses had the rare outcome: all terms are positive."""
    total = 0.0
    for k in range(11):
        loss = k * math.log(10) + (10 - k) * math.log(0.899 / 0.9999)
        if loss > epsilon:
            total += math.comb(10, k) * 0.001**k * 0.899 ** (10 - k) * -math.expm1(epsilon - loss)
    return total


def test_the_sum_of_the_leaking_pair_is_what_its_curve_says() -> None:
    leak = float(1 - Fraction(9, 10) ** 10)
    lower, upper = LEAKING.delta_interval(4)
    assert lower - 1e-12 <= leak + _leaking_delta(4) <= upper + 1e-12


@pytest.mark.parametrize("above", ["1e-12", "1e-15"])
def test_a_delta_just_above_the_mass_at_infinity_leaves_room_for_rare_losses(above: str) -> None:
    leak = 1 - Fraction(9, 10) ** 10
    lower, upper = LEAKING.interval(leak + Fraction(above))
    assert _leaking_delta(upper) <= float(Fraction(above)) * (1 + 1e-9)
    assert lower == 0 or _leaking_delta(lower) >= float(Fraction(above)) * (1 - 1e-9)


def test_a_delta_equal_to_the_mass_at_infinity_is_not_below_it() -> None:
    for mass in ("0.1", "0.3", "0.7"):
        lower, upper = p.finite_pair([mass, 1 - Fraction(mass)], [0, 1]).interval(mass)
        assert lower == 0, "the other outcome is less likely with the unit than without"
        assert upper >= 0


@pytest.mark.parametrize(
    "curve, truth",
    [
        # computed outside of this accountant, to the digits shown
        ((p.gaussian(2) + p.laplace(3)).subsample("0.01") * 10, 0.10963),
        # this accountant's own, from both sides; the law itself is in test_groups_of_samples.py
        (p.gaussian(2).subsample("0.1").group(2) * 5, 1.60855),
    ],
    ids=["summed, then sampled", "sampled, then grouped"],
)
def test_certified_intervals_of_bounds_agree_and_hold_the_truth(curve: Curve, truth: float) -> None:
    """Their parts are bounds in tables: two ways to compute them must not claim a lower end of the coarser one."""
    lower, upper = curve.interval(1e-6)
    assert lower <= truth * (1 + 1e-4), "a warning of a contradiction would be an error here"
    assert truth * (1 - 1e-4) <= upper <= truth * (1 + 1e-3)


def _every_loss() -> list[Loss]:
    more = (GROUP, (p.gaussian(2) + p.laplace(3)).subsample("0.1"), p.gaussian(3).parallel(p.laplace(4)))
    curves = [*more, *(curve for shown in examples().values() for curve in shown)]
    return [loss for curve in curves for part, _ in curve.terms for loss in pair_of(part)]


def test_what_dominates_only_has_the_lower_end_of_what_it_is_known_to_reach() -> None:
    attained = Direction(((GaussianLoss(0.5), 1),))
    for loss in _every_loss():
        twice = Direction(((loss, 2),))
        below = loss.below()
        assert loss.attained is (below is loss)
        assert below is None or below.attained, "a lower end comes from something that is attained"
        assert Direction((*attained.parts, (loss, 1))).attained is loss.attained, "one bound makes the sum a bound"
        known = 0.0 if below is None else epsilon_interval(Direction(((below, 2),)), 1e-5)[1]
        one_pair = isinstance(loss, CutLoss) and loss.exact and not loss.apart
        if not loss.attained and not one_pair and not loss.leans:  # what leans has a better pair for every epsilon
            assert epsilon_interval(twice, 1e-5)[0] <= known * (1 + 1e-9), loss


def test_bounds_are_convolved_as_the_tables_that_stand_for_them() -> None:
    """A bound's own profile lies below its table and has no slope: one of them says nothing of the other from below."""
    bound = pair_of(GROUP.terms[0][0])[0]
    assert isinstance(bound, CutLoss)
    assert not bound.exact
    table = Direction(((bound.table, 3),))
    for epsilon in (0.03, 0.06):
        made = convolve_at(Direction(((bound, 3),)), epsilon, 1e-2)
        assert made is not None
        low, high = made.delta(epsilon)
        certain = delta_interval(table, epsilon)
        assert low <= certain[1] * (1 + 1e-9)
        assert certain[0] <= high * (1 + 1e-9)


def test_the_end_of_a_profile_is_found_where_a_promise_leaks() -> None:
    """A bound on delta stays a little above the mass at infinity for ever: sampling zCDP with a delta never ended."""
    calls = 0

    def profile(epsilon: Reals) -> Reals:
        nonlocal calls
        calls += 1
        assert calls < 100, "it goes on for ever"
        return np.asarray(1e-3 * (1 + SLACK) + np.exp(-np.asarray(epsilon) - 10))

    assert reach(Formula(profile, profile, 1e-3, math.inf)) > 10
    assert 0 < p.zcdp("0.01", "1e-4").subsample("0.12").epsilon(1e-3) < 1


def test_contradicting_intervals_are_loud_and_never_lower_a_cost() -> None:
    assert meet((1.0, 3.0), (2.0, 4.0)) == (2.0, 3.0)
    assert ordered(1.0, 2.0) == (1.0, 2.0)
    with pytest.warns(ContradictionWarning, match="please report"):
        assert meet((1.0, 2.0), (3.0, 4.0)) == (1.0, 4.0)
    with pytest.warns(ContradictionWarning, match="please report"):
        assert ordered(2.0, 1.0) == (1.0, 2.0)


def of_fixed_size(e: float, rate: float, uses: int, epsilon: float, without: float) -> float:
    """Delta of responses to a sample of fixed size, enumerated; `without` is the chance of 1 if neither is in it."""
    chance = math.exp(e) / (1 + math.exp(e))
    one, other = (((1 - rate) * without + rate * p) for p in (chance, 1 - chance))

    def delta(one: float, other: float) -> float:
        laws = [[law**k * (1 - law) ** (uses - k) for k in range(uses + 1)] for law in (one, other)]
        more = [max(0.0, a - math.exp(epsilon) * b) for a, b in zip(*laws, strict=True)]
        return math.fsum(math.comb(uses, k) * each for k, each in enumerate(more))

    return max(delta(one, other), delta(other, one))


@pytest.mark.parametrize("e, rate, uses", [(1, 0.5, 2), (1, 0.1, 3), (2, 0.3, 4)])
def test_uses_of_a_fixed_size_claim_no_more_than_some_mechanism_reaches(e: int, rate: float, uses: int) -> None:
    """No pair of neighbors has the whole symmetric profile; the composition of it was called a lower end."""
    curve = p.randomized_response(e, neighbors=p.NeighborRelation.CHANGE_ONE).subsample(str(rate), p.FixedSize) * uses
    for epsilon in (0.1, 0.2, 0.4):
        lower, upper = curve.delta_interval(epsilon)
        low = 1 / (1 + math.exp(e))
        reached = max(of_fixed_size(e, rate, uses, epsilon, low + (1 - 2 * low) * k / 40) for k in range(41))
        assert lower <= reached * (1 + 1e-9) <= upper * (1 + 1e-8)
        assert lower > 0.5 * reached

"""Lower ends claim no more than is known: what stands for a law from above says nothing from below."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from discreet import privacy as p
from discreet.errors import ContradictionWarning
from discreet.privacy.numerics.single import meet, ordered

if TYPE_CHECKING:
    from discreet.privacy import Curve

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


def test_contradicting_intervals_are_loud_and_never_lower_a_cost() -> None:
    assert meet((1.0, 3.0), (2.0, 4.0)) == (2.0, 3.0)
    assert ordered(1.0, 2.0) == (1.0, 2.0)
    with pytest.warns(ContradictionWarning, match="please report"):
        assert meet((1.0, 2.0), (3.0, 4.0)) == (1.0, 4.0)
    with pytest.warns(ContradictionWarning, match="please report"):
        assert ordered(2.0, 1.0) == (1.0, 2.0)

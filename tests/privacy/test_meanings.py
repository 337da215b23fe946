"""What a curve means, against attackers that are computed exactly."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from discreet import privacy as p
from discreet.errors import ParameterError
from discreet.privacy.meanings import (
    attacker_accuracy,
    exposed_units,
    log_odds_shift,
    meaning,
    meaningful_population,
    semantic_bound,
    true_positive_rate,
)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
def test_the_best_attacker_of_a_gaussian_is_the_threshold(sigma: float) -> None:
    """At even odds she cuts in the middle: Phi(1 / (2 sigma)) right; at a fixed FPR, Neyman and Pearson."""
    curve = p.gaussian(sigma)
    assert attacker_accuracy(curve) == pytest.approx(float(mp.ncdf(1 / (2 * sigma))), rel=1e-9)
    threshold = float(mp.sqrt(2) * mp.erfinv(1 - 0.02))
    exact = float(1 - mp.ncdf(threshold - 1 / sigma))
    found = true_positive_rate(curve, fpr=0.01)
    assert exact <= found <= exact + 1e-6


@pytest.mark.parametrize("failure", [1e-3, 1e-6, 1e-9])
def test_the_odds_rarely_move_further(failure: float) -> None:
    """The loss of N(1, 1) against N(0, 1) is N(1/2, 1); its quantile is what an exact bound would be."""
    found = log_odds_shift(p.gaussian(1), failure=failure)
    quantile = 0.5 + float(mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(failure)))
    assert quantile <= found <= quantile + 0.6


def test_pure_curves_have_a_bound_without_exceptions() -> None:
    assert log_odds_shift(p.randomized_response(epsilon=1)) == pytest.approx(1, rel=1e-9)
    assert log_odds_shift(p.laplace(scale=1), failure=1e-6) <= 1 + 1e-9
    assert log_odds_shift(p.pure(epsilon=0)) == 0
    with pytest.raises(ParameterError, match="no bound"):
        log_odds_shift(p.gaussian(1))
    with pytest.raises(ParameterError, match="tells everything"):
        log_odds_shift(p.approximate(epsilon=1, delta=1e-3), failure=1e-4)


def test_all_numbers_at_once() -> None:
    found = meaning(p.pure(epsilon=1), delta=1e-6, n=10_000)
    assert found.odds_factor == pytest.approx(math.e, rel=1e-6)
    assert found.semantic == pytest.approx(math.tanh(0.5))
    assert found.exposed == pytest.approx(0.01)
    assert found.fpr == 0.01
    assert found.tpr == pytest.approx(0.01 * math.e, rel=1e-6)
    assert meaning(p.gaussian(1), delta=1e-6).exposed is None
    assert meaning(p.gaussian(1), delta=1e-6).semantic is None


def test_a_huge_loss_is_still_a_number() -> None:
    found = meaning(p.pure(epsilon=1000), delta=0)
    assert found.log_odds == pytest.approx(1000)
    assert found.odds_factor == math.inf
    assert found.accuracy == 1


def test_delta_needs_a_population() -> None:
    assert exposed_units(1e-6, n=10**6) == 1
    assert meaningful_population(1e-6) == 10**6 - 1
    assert meaningful_population("3/10") == 3
    for n in (-1, 2.5, True):
        with pytest.raises(ParameterError, match="n is"):
            exposed_units(1e-6, n=n)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="every n"):
        meaningful_population(0)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf])
def test_a_semantic_bound_needs_a_finite_epsilon(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        semantic_bound(epsilon)

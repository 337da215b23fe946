"""What a whole curve leaves room for: the recursion is the best of all laws of right guesses, and rarely wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom, norm

import discreet.privacy as p
from discreet.checks.audits.guessing import LINES, expected_right, gaussian_misses, misses_of, too_many_right


def largest_chance(right: int, guesses: int, canaries: int, lines: list[tuple[float, float]]) -> float:
    """Maximize P[N >= right] over all laws of N with R_v <= F(H_(v-1)) for each (epsilon, delta): a linear program."""
    counts = np.arange(guesses + 1)
    rows, limits = [], []
    for least in range(1, guesses + 1):
        hits = np.where(counts >= least, counts, 0) / canaries
        wrong = np.where(counts >= least - 1, guesses - counts, 0) / canaries
        for epsilon, delta in lines:
            # R <= delta + e^eps H, and its mirror image 1 - H <= delta + e^eps (1 - R).
            rows += [hits - math.exp(epsilon) * wrong, math.exp(epsilon) * hits - wrong]
            limits += [delta, math.exp(epsilon) - 1 + delta]
    solved = linprog(
        c=-(counts >= right).astype(float), A_ub=rows, b_ub=limits, A_eq=[np.ones(guesses + 1)], b_eq=[1.0]
    )
    return -float(solved.fun or 0.0)


@pytest.mark.parametrize("right, guesses, canaries", [(6, 8, 8), (8, 10, 20), (5, 5, 30), (15, 20, 40)])
@pytest.mark.parametrize("epsilon, delta", [(0.5, 0.0), (1.0, 0.01), (2.0, 0.05)])
def test_the_recursion_is_the_best_of_all_laws(
    right: int, guesses: int, canaries: int, epsilon: float, delta: float
) -> None:
    claim = p.approximate(epsilon=epsilon, delta=delta) if delta else p.pure(epsilon=epsilon)
    lines = [(float(e), claim.delta(float(e))) for e in np.linspace(0, epsilon, LINES)]
    best = largest_chance(right, guesses, canaries, lines)
    misses = misses_of(claim)
    assert 0 < best <= 1 + 1e-9
    assert best > 0.999 or too_many_right(right, guesses, canaries, misses=misses, error=best * 1.001)
    assert not too_many_right(right, guesses, canaries, misses=misses, error=best * 0.999)


def critical(guesses: int, canaries: int, mu: float, error: float) -> int:
    """The least number of right guesses that refutes noise with neighbors mu apart."""
    misses = gaussian_misses(mu)
    return next(
        right
        for right in range(guesses + 2)
        if right > guesses or too_many_right(right, guesses, canaries, misses=misses, error=error)
    )


@pytest.mark.parametrize("mu, guesses", [(0.25, 20), (0.5, 100), (2.0, 200)])
def test_gaussian_noise_is_refuted_as_rarely_as_stated(mu: float, guesses: int) -> None:
    """Every canary guessed by its own noisy coordinate: the number of right guesses is binomial."""
    error, chance = 0.05, norm.cdf(mu / 2)
    assert binom.sf(critical(guesses, guesses, mu, error) - 1, guesses, chance) <= error
    # The partner: a curve with a third of the distance is refuted too often.
    assert binom.sf(critical(guesses, guesses, 0.3 * mu, error) - 1, guesses, chance) > error


@pytest.mark.parametrize("guesses", [20, 200])
def test_randomized_responses_are_refuted_as_rarely_as_stated(guesses: int) -> None:
    claim, error = p.pure(epsilon=1), 0.05
    misses = misses_of(claim)
    first = next(
        right for right in range(guesses + 1) if too_many_right(right, guesses, guesses, misses=misses, error=error)
    )
    assert binom.sf(first - 1, guesses, 1 / (1 + math.exp(-1))) <= error


def test_a_claim_is_never_taken_for_a_better_one() -> None:
    """F^-1 from some lines of a curve lies at or below that of the whole curve, and close to it."""
    claim, exact = p.gaussian(sigma=1), gaussian_misses(1.0)
    misses = misses_of(claim)
    for right in np.linspace(0.001, 0.999, 60):
        assert misses(float(right)) <= exact(float(right)) + 1e-9
        assert misses(float(right)) >= exact(float(right)) * 0.97 - 1e-4


def test_what_is_expected_is_what_gaussian_scores_tell() -> None:
    """All guessed: right with chance Phi(mu/2); of few, more."""
    assert expected_right(gaussian_misses(1.0), 1.0) == pytest.approx(norm.cdf(0.5), abs=1e-3)
    assert expected_right(gaussian_misses(1.0), 0.1) > 0.8

"""How mechanisms relate: what one is in terms of another, and what that costs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.mechanisms import (
    DiscreteLaplace,
    Exponential,
    Mean,
    Norm,
    RandomizedResponse,
)
from discreet.mechanisms.adding.grids import converted
from discreet.mechanisms.choosing.scores import gap_bound
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits


def softmax(scores: np.ndarray, scale: float) -> np.ndarray:
    weights = np.exp((scores - scores.max()) / scale)
    return np.asarray(weights / weights.sum())


def laplace(points: np.ndarray, scale: float) -> np.ndarray:
    r = math.exp(-1 / scale)
    return np.asarray((1 - r) / (1 + r) * r ** np.abs(points))


def test_the_exponential_mechanism_on_numbers_is_laplace_noise_of_twice_the_scale() -> None:
    """Scores -|x - f(data)|: the law is discrete Laplace with 2 sensitivity / epsilon, not sensitivity / epsilon."""
    points, epsilon = np.arange(-400, 401), Fraction(1, 2)
    chosen = softmax(-np.abs(points), float(Exponential(1, epsilon=epsilon).scale))
    scale = float(DiscreteLaplace(1, epsilon=epsilon).scale)
    assert np.allclose(chosen, laplace(points, 2 * scale), atol=1e-15)
    assert not np.allclose(chosen, laplace(points, scale), atol=1e-3)


def test_its_sum_of_weights_hardly_moves_so_that_half_of_epsilon_is_given_away() -> None:
    """Far from the ends the sum over all numbers is the same for neighbors, so the loss is epsilon / 2."""
    points, scale = np.arange(-400, 401), float(Exponential(1, epsilon=1).scale)
    one, other = softmax(-np.abs(points), scale), softmax(-np.abs(points - 1), scale)
    assert math.isclose(np.abs(np.log(one / other)).max(), 0.5, rel_tol=1e-9)


@pytest.mark.parametrize("answers", [2, 3, 10])
def test_randomized_response_is_the_exponential_mechanism_at_half_of_epsilon(answers: int) -> None:
    """Score 1 for the truth, 0 for all else, which one unit moves by 1: the truth has the chance of epsilon / 2."""
    chosen = softmax(np.eye(answers)[0], float(Exponential(1, epsilon=2).scale))
    assert math.isclose(chosen[0], RandomizedResponse(answers, epsilon=1).keep, rel_tol=1e-12)
    assert not math.isclose(chosen[0], RandomizedResponse(answers, epsilon=2).keep, rel_tol=0.05)


@pytest.mark.parametrize("best", [1, 5, 50])
def test_many_best_candidates_bring_the_bound_closer(best: int) -> None:
    """ln(candidates / best): the true chance of falling short is below the bound's, which is sharp to a factor 2."""
    scale = Exponential(1, epsilon=1).scale
    for gap in (4, 8, 16):
        law = softmax(np.array([0] * best + [-gap] * (100 - best)), float(scale))
        short = float(law[best:].sum())
        bound = (100 / best) * math.exp(-gap / float(scale))
        assert short <= bound
        assert bound > 1 or short > bound / 4
    assert math.isclose(
        gap_bound(scale, 100, 1, 0.95) - gap_bound(scale, 100, best, 0.95), float(scale) * math.log(best), abs_tol=1e-9
    )


@pytest.mark.parametrize("dimensions", [1, 3, 16])
def test_norms_of_a_move(dimensions: int) -> None:
    """|v|_2 <= |v|_1 <= sqrt(k) |v|_2, and both ends are reached."""
    moves = np.random.default_rng(0).normal(size=(200, dimensions))
    l1, l2 = np.abs(moves).sum(axis=1), np.linalg.norm(moves, axis=1)
    assert (l2 <= l1 * (1 + 1e-12)).all()
    assert (l1 <= float(converted(Fraction(1), Norm.L2, Norm.L1, dimensions)) * l2 * (1 + 1e-12)).all()
    ones = np.ones(dimensions)
    assert math.isclose(ones.sum(), math.sqrt(dimensions) * float(np.linalg.norm(ones)))


@pytest.mark.parametrize("shift", [-1000, 0, 7])
def test_a_mean_feels_the_diameter_of_its_rows_and_not_their_distance_from_zero(shift: int) -> None:
    """With n public, a mean of rows in an interval of length D moves by at most D / n, wherever the interval lies."""
    change = NeighborRelation.CHANGE_ONE
    made = Mean(lower=shift, upper=shift + 4, epsilon=1, grid=1, size=10, neighbors=change)
    assert made.noise.sensitivity == 4
    one, other = [shift] * 10, [shift] * 9 + [shift + 4]
    assert math.isclose(abs(np.mean(one) - np.mean(other)), 4 / 10, rel_tol=1e-9)


@pytest.mark.parametrize("dimensions", [2, 8, 32])
def test_noise_by_norm_beats_noise_by_coordinate_for_moves_bounded_in_l2(dimensions: int, seed: int) -> None:
    """A move of length 1: E|z|^2 is d (d + 1) for density exp(-|z|), 2 d^2 for Laplace noise of scale sqrt(d) each."""
    bits, draws = ReplayBits(seed), 4_000
    by_norm = noise.l2_laplace(1, "1/1024", dimensions, size=draws, bits=bits)
    each = noise.laplace(math.sqrt(dimensions), "1/1024", (draws, dimensions), bits)
    norm, coordinate = ((sample**2).sum(axis=1).mean() for sample in (by_norm, each))
    assert math.isclose(norm, dimensions * (dimensions + 1), rel_tol=0.25)
    assert math.isclose(coordinate, 2 * dimensions**2, rel_tol=0.25)
    assert norm < coordinate


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_count_errs_by_one_in_the_central_model_and_by_the_root_of_n_in_the_local_one(epsilon: float) -> None:
    """And no private count does better than its lower bound: it errs with chance 1 / (1 + e^epsilon) at least.

    Any epsilon-private answer hits an event with chance p on one table and at most e^epsilon p on a neighbor. The two
    tables' true counts differ, so it is right with chance at most e^epsilon / (1 + e^epsilon) on one of them.
    """
    central = math.sqrt(2) * float(DiscreteLaplace(1, epsilon=epsilon).scale)
    kept = RandomizedResponse(2, epsilon=epsilon).keep
    ratios = []
    for n in (100, 10_000):
        local = math.sqrt(n * kept * (1 - kept)) / (2 * kept - 1)
        ratios.append(local / central)
    assert math.isclose(ratios[1] / ratios[0], 10.0)
    r = math.exp(-epsilon)
    assert 2 * r / (1 + r) >= 1 / (1 + math.exp(epsilon))

"""Projections bring noisy answers closer to the truth, and solve what they say they solve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from discreet.errors import ParameterError
from discreet.inference import (
    at_least,
    at_most,
    constrained,
    equal,
    hierarchy,
    isotonic,
    nonnegative,
    ordered,
    projection_error,
    simplex,
    tree,
    zero,
)

NUMBERS = arrays.arrays(np.float64, 6, elements=st.floats(-100, 100, width=32))


def closer(fitted: np.ndarray, noisy: np.ndarray, truth: np.ndarray) -> bool:
    """Tell whether a fit is at least as close to the truth as what was noisy."""
    return bool(np.sum((fitted - truth) ** 2) <= np.sum((noisy - truth) ** 2) * (1 + 1e-9) + 1e-9)


@settings(max_examples=60, deadline=None)
@given(truth=NUMBERS, noise=NUMBERS)
def test_projection_onto_a_convex_set_with_the_truth_never_adds_error(truth: np.ndarray, noise: np.ndarray) -> None:
    sorted_truth = np.sort(truth)
    assert closer(isotonic(sorted_truth + noise), sorted_truth + noise, sorted_truth)
    positive = np.abs(truth)
    assert closer(simplex(positive + noise, float(positive.sum())), positive + noise, positive)
    assert closer(nonnegative(np.eye(6), positive + noise), positive + noise, positive)
    known = [equal(np.ones(6), float(truth.sum())), at_most([1, 1, 0, 0, 0, 0], float(truth[:2].sum()) + 1)]
    assert closer(constrained(truth + noise, known), truth + noise, truth)
    assert closer(constrained(sorted_truth + noise, ordered(range(6), 6)), sorted_truth + noise, sorted_truth)


def test_a_projection_onto_a_set_without_the_truth_can_add_error() -> None:
    """The partner: the theorem needs the truth to be in the set."""
    truth, noisy = np.array([3.0, 1.0]), np.array([3.1, 1.0])
    assert not closer(isotonic(noisy), noisy, truth)


@settings(max_examples=40, deadline=None)
@given(noisy=NUMBERS)
def test_isotonic_is_what_the_general_solver_finds(noisy: np.ndarray) -> None:
    np.testing.assert_allclose(isotonic(noisy), constrained(noisy, ordered(range(6), 6)), atol=1e-6)
    np.testing.assert_allclose(isotonic(noisy, falling=True), -isotonic(-noisy), atol=1e-9)


@pytest.mark.parametrize("branching", [2, 3])
def test_trees_are_fitted_by_weighted_least_squares(branching: int) -> None:
    depth = 3
    sizes = [branching ** (depth - level) for level in range(depth + 1)]
    variances = [1.0, 0.25, np.inf, 4.0]
    numbers = np.sin(np.arange(sum(sizes))) * 10
    levels = np.split(numbers, np.cumsum(sizes)[:-1])
    rows = np.vstack([np.kron(np.eye(size), np.ones(branching**level)) for level, size in enumerate(sizes)])
    weights = np.concatenate([np.full(size, 1 / variance) for size, variance in zip(sizes, variances, strict=True)])
    leaves = np.linalg.solve(rows.T @ (weights[:, None] * rows), rows.T @ (weights * numbers))
    fitted = tree(levels, branching=branching, variances=variances)
    np.testing.assert_allclose(np.concatenate(fitted), rows @ leaves, atol=1e-9)


def test_hierarchies_of_any_shape_are_fitted_by_weighted_least_squares() -> None:
    values = {"all": 20.0, "a": 9.0, "b": 6.0, "a1": 2.0, "a2": 4.0, "a3": 1.0}
    parents = {"a": "all", "b": "all", "a1": "a", "a2": "a", "a3": "a"}
    variances = {"all": 2.0, "a": 1.0, "b": 3.0, "a1": 0.5, "a2": 1.0, "a3": 2.0}
    rows = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], dtype=float)
    weights = np.array([1 / variances[name] for name in values])
    noisy = np.array(list(values.values()))
    leaves = np.linalg.solve(rows.T @ (weights[:, None] * rows), rows.T @ (weights * noisy))
    fitted = hierarchy(values, parents, variances=variances)
    np.testing.assert_allclose([fitted[name] for name in values], rows @ leaves, atol=1e-9)
    del values["a3"]
    del variances["a3"]
    fitted = hierarchy(values, parents, variances=variances)
    assert fitted["a1"] + fitted["a2"] + fitted["a3"] == pytest.approx(fitted["a"])
    assert (fitted["a1"], fitted["a2"]) == (2.0, 4.0)


def test_weights_and_equations_make_a_lower_variance_and_say_which() -> None:
    known = [equal([1, 1, 1], 10)]
    deviations, reason = projection_error([1.0, 2.0, 3.0], known)
    assert reason == ""
    assert deviations is not None
    draws = np.random.default_rng(7).normal(size=(4000, 3)) * [1, 2, 3] + [1, 3, 6]
    fitted = np.array([constrained(draw, known, variances=[1, 4, 9]) for draw in draws])
    np.testing.assert_allclose(fitted.std(axis=0), deviations, rtol=0.06)
    none, reason = projection_error([1.0], [at_most([1], 3)])
    assert none is None
    assert "inequalities" in reason


def test_what_contradicts_itself_is_named() -> None:
    with pytest.raises(ParameterError, match=r"no numbers keep all of at_least\(\[1, 0\], 5\), at_most\(\[1, 0\], 4\)"):
        constrained([1, 2], [equal([0, 1], 3), at_least([1, 0], 5), at_most([1, 0], 4)])
    with pytest.raises(ParameterError, match="no numbers keep all of equal"):
        constrained([1, 2], [*zero([0], 2), equal([1, 0], 3)])


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: isotonic([]), "at least one"),
        (lambda: isotonic([1, np.nan]), "finite"),
        (lambda: isotonic([1, 2], weights=[1, 0]), "above 0"),
        (lambda: simplex([1], -1), "add up to 0 or more"),
        (lambda: tree([[1, 2, 3], [4]]), "branching"),
        (lambda: tree([[1, 2], [3]], variances=[np.inf, 1]), "finite for the leaves"),
        (lambda: constrained([1], [equal([1, 1], 2)]), "2 coefficients, for 1 numbers"),
        (lambda: constrained([1], [], variances=[0]), "above 0"),
        (lambda: nonnegative([[1]], [1, 2]), "each row needs"),
        (lambda: hierarchy({"a": 1, "b": 1}, {}), "there must be one"),
        (lambda: hierarchy({"r": 1}, {"a": "b", "b": "a"}), "circle"),
    ],
)
def test_nonsense_is_refused(call: object, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        call()  # type: ignore[operator]

"""Graphical models against sums over all cells, fits against their conditions, samples against their law."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.methods.synthesis import fitting
from discreet.methods.synthesis.fitting import Measured, combined, fit, rows_of
from discreet.methods.synthesis.graphical import GraphicalModel, calibrated, potentials_of, project, spread
from discreet.methods.synthesis.sampling import sampled
from discreet.methods.synthesis.trees import junction_tree
from tests.noise.replay import ReplayBits


def random_model(seed: int) -> tuple[GraphicalModel, np.ndarray, float, float]:
    """A model of random factors, the same as a table of all cells, and what the weights of both sum to."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 6).tolist()
    pairs = list(itertools.combinations(range(6), 2))
    sets = [pairs[place] for place in rng.permutation(len(pairs))[: rng.integers(0, 8)]]
    factors = {columns: rng.normal(size=[sizes[c] for c in columns]) * 3 for columns in [*sets, (0,), (5,)]}
    tree = junction_tree(sizes, factors)
    logs, total = calibrated(tree, potentials_of(tree, factors))
    weights = np.zeros(sizes)
    for columns, factor in factors.items():
        weights = weights + spread(factor, columns, tuple(range(6)))
    whole = np.exp(weights)
    return GraphicalModel(tree, [np.exp(one) for one in logs]), whole / whole.sum(), total, math.log(whole.sum())


@pytest.mark.parametrize("number", range(12))
def test_messages_and_products_along_the_tree_give_what_summing_all_cells_gives(number: int) -> None:
    model, table, total, summed = random_model(number)
    assert total == pytest.approx(summed)
    for size in (1, 2, 3):
        for columns in itertools.combinations(range(6), size):
            expected = project(table, tuple(range(6)), columns)
            assert np.allclose(model.marginal(columns), expected, atol=1e-10), columns


def test_whole_rows_are_as_likely_as_the_model_says() -> None:
    model, table, *_ = random_model(4)
    cells = np.stack(np.unravel_index(np.arange(table.size), table.shape), axis=1)
    assert np.allclose(np.exp(model.log_chance(cells)), table.ravel(), atol=1e-10)


def test_a_tree_holds_every_set_and_what_cliques_share_lies_between_them() -> None:
    sets = [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5)]
    tree = junction_tree([2] * 7, sets)
    assert all(tree.home(columns) is not None for columns in sets)
    assert {column for clique in tree.cliques for column in clique} == set(range(7))
    for column in range(7):  # the cliques of a column are connected: all but one hang on another one of them
        own = [place for place, clique in enumerate(tree.cliques) if column in clique]
        assert sum(tree.parents[place] not in own or column not in tree.separators[place] for place in own) == 1


def test_memory_is_stated_before_anything_runs() -> None:
    with pytest.raises(ParameterError, match=r"columns \(0, 1\) hang together and have 1000000 cells"):
        fit([1000, 1000], [Measured((0, 1), np.zeros((1000, 1000)), 1.0)], memory=1 << 20)


def test_a_fit_fulfills_its_conditions_and_weighs_by_noise() -> None:
    """At the optimum N p_r - y_r + s sigma_r^2 theta_r = 0, with p the model's and s the strength of the entropy."""
    rng = np.random.default_rng(1)
    table = rng.integers(0, 60, (3, 2, 4)).astype(float)
    measured = [
        Measured((0, 1), table.sum(axis=2) + rng.normal(0, 4, (3, 2)), 4.0),
        Measured((1, 2), table.sum(axis=0) + rng.normal(0, 9, (2, 4)), 9.0),
    ]
    fitted = fit([3, 2, 4], measured, memory=1 << 20)
    for one in measured:
        off = fitted.rows * fitted.model.marginal(one.columns) - one.counts
        assert np.allclose(off, -fitting.STRENGTH * one.sigma**2 * fitted.factors[one.columns], atol=0.5)
    twice = combined([Measured((0,), np.array([10.0]), 1.0), Measured((0,), np.array([40.0]), 2.0)])
    assert twice[0].counts.tolist() == [16.0]
    assert twice[0].sigma == pytest.approx(math.sqrt(4 / 5))
    assert rows_of([Measured((0,), np.array([60.0, 40.0]), 1.0), Measured((1,), np.array([130.0]), 2.0)]) == 110.0


def test_rows_follow_the_model_within_one_row_per_group(seed: int) -> None:
    model, *_ = random_model(3)
    cells = sampled(model, 5_000, ReplayBits(seed))
    clique = model.tree.cliques[0]
    flat = np.ravel_multi_index([cells[:, c] for c in clique], model.tables[0].shape)
    counts = np.bincount(flat, minlength=model.tables[0].size)
    groups = model.tables[0].size
    assert np.abs(counts - 5_000 * model.tables[0].ravel()).max() <= groups
    for columns in itertools.combinations(range(6), 2):
        shape = [model.sizes[c] for c in columns]
        seen = np.bincount(np.ravel_multi_index([cells[:, c] for c in columns], shape), minlength=math.prod(shape))
        assert np.abs(seen / 5_000 - model.marginal(columns).ravel()).sum() / 2 < 0.06


def test_rounding_is_random_and_not_biased(seed: int) -> None:
    """A column of one row with shares .3 and .7: each value as often as that; a sampler that always rounds is seen."""
    model = GraphicalModel(junction_tree([2], []), [np.array([0.3, 0.7])])
    bits = ReplayBits(seed)
    draws = np.array([sampled(model, 1, bits)[0, 0] for _ in range(2_000)])
    reach = 6.2 * math.sqrt(0.21 / 2_000)  # false alarm 1e-9
    assert abs(draws.mean() - 0.7) < reach
    assert abs(np.ones(2_000).mean() - 0.7) > reach


def test_no_row_is_drawn_of_an_empty_table() -> None:
    model = GraphicalModel(junction_tree([2, 3], []), [np.array([0.5, 0.5]), np.ones(3) / 3])
    assert sampled(model, 0, ReplayBits(0)).shape == (0, 2)

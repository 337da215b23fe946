"""Every strategy measures what it says, counts how far a row moves it, and errs as much as it states."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms.adding.grids import Norm
from discreet.methods.workloads import (
    AllRange,
    Identity,
    Kron,
    Marginals,
    Predicates,
    Prefix,
    Ranges,
    Records,
    Total,
    Union,
    Weighted,
    Width,
    Workload,
)
from discreet.methods.workloads.strategies.fixed_point import fixed_point, solve
from discreet.methods.workloads.strategies.haar import haar
from discreet.methods.workloads.strategies.identity import Cells
from discreet.methods.workloads.strategies.itself import Itself, Separately
from discreet.methods.workloads.strategies.margins import best_margins
from discreet.methods.workloads.strategies.p_identity import p_identity
from discreet.methods.workloads.strategies.product import Product
from discreet.methods.workloads.strategies.residual import residual
from discreet.methods.workloads.strategies.strategy import Reach, Strategy
from discreet.methods.workloads.strategies.tree import best_tree, hierarchical
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Callable

LINES = [
    Identity(8),
    Prefix(8),
    AllRange(8),
    Width(8, 3),
    Ranges(8, [(0, 3), (2, 8), (5, 6)]),
    Predicates([[1, 0, 1, 0, 0, 1, 1, 1], [0, 1, 1, 0, 1, 0, 0, 1]]),
    Union([Prefix(8), Weighted(Total(8), 4)]),
]
TABLES = [
    Marginals([2, 3, 4], 2),
    Marginals([2, 3, 4], [(0, 1), (2,), ()]),
    Marginals([1, 3, 1], [(0, 1), (1, 2)]),
    Union([Kron([Prefix(4), Total(3)]), Weighted(Kron([Identity(4), Identity(3)]), 2)]),
    Union([Kron([Prefix(4), Total(3)]), Kron([Total(4), Identity(3)])]),
    Kron([Prefix(4), AllRange(3)]),
]


def small_steps(workload: Kron) -> Product:
    return Product(workload, [fixed_point(axis, steps=256) for axis in workload.factors])


def cases() -> list[tuple[Workload, Callable[[], Strategy]]]:
    found: list[tuple[Workload, Callable[[], Strategy]]] = []
    for line in LINES:
        found += [(line, partial(make, line)) for make in (Cells, Itself, hierarchical, fixed_point, p_identity)]
        found += [(line, partial(make, line, norm)) for make in (best_tree, haar) for norm in (Norm.L1, Norm.L2)]
    for table in TABLES:
        found += [(table, partial(Cells, table)), (table, partial(Itself, table))]
        if isinstance(table, Marginals):
            found += [(table, partial(best_margins, table, norm)) for norm in (Norm.L1, Norm.L2)]
        found.append((table, partial(small_steps, table) if isinstance(table, Kron) else partial(residual, table)))
    return found


CASES = cases()


def written(strategy: Strategy, workload: Workload) -> np.ndarray:
    """Write the strategy's matrix out, from what it measures of single rows."""
    units = np.eye(workload.cells, dtype=np.int64)
    return np.stack([strategy.measure(unit.reshape(workload.shape)) for unit in units], axis=1)


def in_words(case: tuple[Workload, Callable[[], Strategy]]) -> str:
    return f"{case[1]().name} for {case[0]}"


@pytest.mark.parametrize("case", CASES, ids=in_words)
def test_no_row_moves_the_numbers_further_than_the_reach(case: tuple[Workload, Callable[[], Strategy]]) -> None:
    workload, make = case
    strategy = make()
    columns = written(strategy, workload).astype(object)
    reach = strategy.reach
    sizes = [sum(abs(entry) for entry in column) for column in columns.T]
    squares = [sum(entry**2 for entry in column) for column in columns.T]
    assert columns.shape[0] == strategy.measurements
    assert max(sizes) <= reach.l1 + reach.rounded
    assert max(squares) ** 0.5 <= reach.l2_squared**0.5 + reach.rounded**0.5
    # From below as well: no strategy pays for more than it uses, but for the sum of maxima over parts of a table.
    assert max(sizes) >= 0.999 * reach.l1 or "residual" in strategy.name
    assert max(squares) >= 0.97 * reach.l2_squared
    apart = max(sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) for one in columns.T for two in columns.T)
    l2 = reach.moved(1, NeighborRelation.CHANGE_ONE).l2
    assert max(apart, *squares) <= l2**2 * (1 + 1e-12)
    assert reach.moved(1, NeighborRelation.CHANGE_ONE).l1 >= 2 * max(sizes)


@pytest.mark.parametrize("case", CASES, ids=in_words)
def test_answers_are_least_squares_and_their_variances_are_exact(
    case: tuple[Workload, Callable[[], Strategy]],
) -> None:
    workload, make = case
    strategy = make()
    columns = written(strategy, workload).astype(float)
    counts = (np.arange(workload.cells) * 7 % 5).reshape(workload.shape)
    exact = strategy.measure(counts)
    np.testing.assert_allclose(strategy.answers(exact.astype(float)), workload.answers(counts), atol=1e-4)
    inverse = workload.matrix() @ np.linalg.pinv(columns, rcond=1e-9)
    if "itself" in strategy.name:
        inverse = np.eye(workload.queries)
    noise = np.cos(np.arange(len(columns))) * np.abs(columns).max()
    size = 1.0 if strategy.whole else 4e-3  # where the axis is padded, the estimate is one of more cells
    if not ("hierarchical" in strategy.name and workload.cells == 8):
        np.testing.assert_allclose(strategy.answers(noise), inverse @ noise, rtol=size / 4, atol=1e-3)
        np.testing.assert_allclose(strategy.variances(), (inverse**2).sum(axis=1), rtol=1e-4)
    else:
        assert (strategy.variances() >= (inverse**2).sum(axis=1) * (1 - 1e-9)).all()
    weights = np.concatenate(
        [np.full(part.queries, part.importance) for part in getattr(workload, "parts", [workload])]
    )
    assert strategy.total == pytest.approx(float(weights @ strategy.variances()), rel=1e-6)


@pytest.mark.parametrize("workload", [*LINES, *TABLES], ids=str)
def test_what_is_not_written_out_is_what_would_be_written(workload: Workload) -> None:
    matrix = workload.matrix()
    parts = getattr(workload, "parts", [workload])
    weights = np.concatenate([np.full(part.queries, part.importance) for part in parts])
    gram = matrix.T @ (weights[:, None] * matrix)
    counts = np.arange(workload.cells) ** 2 % 11
    np.testing.assert_allclose(workload.answers(counts), matrix @ counts)
    np.testing.assert_allclose(workload.gram_dot(np.eye(workload.cells)), gram)
    np.testing.assert_allclose(workload.gram_diagonal(), np.diag(gram))
    np.testing.assert_allclose(workload.coverage(), matrix.sum(axis=0))
    np.testing.assert_allclose(workload.block_squares(1), (matrix**2).sum(axis=1))
    singular = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0)).sum()
    assert workload.singular_sum() == pytest.approx(singular, rel=1e-6)
    if len(workload.shape) == 1:
        sums = np.add.reduceat(matrix, [0, 3, 6], axis=1)
        np.testing.assert_allclose(workload.block_squares(3), (sums**2).sum(axis=1))
        assert workload.block_trace(3) == pytest.approx(float(weights @ (sums**2).sum(axis=1)))


@pytest.mark.parametrize("workload", [Prefix(24), AllRange(24), Identity(24), Marginals([2, 3, 4], 2)], ids=str)
def test_the_bound_is_below_every_strategy_and_close_to_the_best(workload: Workload) -> None:
    solved = solve(workload.gram())
    best = fixed_point(workload)
    assert solved.bound <= best.total * best.reach.l2_squared <= solved.bound * 1.001
    assert workload.singular_sum() ** 2 / workload.cells <= solved.bound * (1 + 1e-6)
    for other in (Cells(workload), Itself(workload)):
        assert other.total * other.reach.l2_squared >= solved.bound
    for seed in range(20):  # any matrix with a diagonal of at most 1
        factor = np.random.default_rng(seed).normal(size=(workload.cells, workload.cells))
        product = factor.T @ factor
        scale = np.sqrt(np.diag(product))
        product = product / scale[:, None] / scale
        assert np.trace(workload.gram() @ np.linalg.inv(product)) >= solved.bound


def test_residuals_reach_the_bound_of_marginals() -> None:
    workload = Marginals([3, 4, 5], 2)
    strategy = residual(workload)
    bound = workload.singular_sum() ** 2 / workload.cells
    assert (
        bound <= strategy.total * float(strategy.reach.moved(1, NeighborRelation.ADD_REMOVE).l2) ** 2 <= bound * 1.0001
    )


def test_records_count_what_cells_count() -> None:
    rows = np.array([[0, 2], [1, 1], [1, 1], [5, 0], [-1, 0]])
    workload = Marginals([2, 3], [(0, 1), (1,)])
    strategy = residual(workload)
    cells = np.array([[0, 0, 1], [0, 2, 0]])
    np.testing.assert_array_equal(strategy.measure(Records((2, 3), rows)), strategy.measure(cells))


def test_rows_per_unit_and_relations_multiply_the_reach() -> None:
    reach = Reach(3, 4, rounded=0)
    once, change = reach.moved(5, NeighborRelation.ADD_REMOVE), reach.moved(5, NeighborRelation.CHANGE_ONE)
    assert (once.l1, int(once.l2), once.dimensions) == (3, 2, 5)
    assert (reach.moved(5, NeighborRelation.ADD_REMOVE, 7).l1, change.l1) == (21, 6)
    assert change.l2**2 >= 8
    assert change.l2 < 2.8285
    assert Reach(3, 4, acute=False).moved(5, NeighborRelation.CHANGE_ONE).l2 == 4
    assert Reach(3, 4, rounded=16).moved(16, NeighborRelation.ADD_REMOVE).l1 == 3 + 32
    assert Reach(3, 4, rounded=16).moved(16, NeighborRelation.ADD_REMOVE).l2 == 2 + 8
    assert reach.moved(5, NeighborRelation.ADD_REMOVE.group(2)).l1 == 6
    assert Separately(Prefix(3)).reach.l1 == 3


def test_residuals_of_huge_tables_are_clamped_and_do_not_overflow() -> None:
    workload = Marginals([2, 2], 2)
    strategy = residual(workload)
    huge = np.array([[2**61, 0], [0, 2**60]])
    assert np.abs(strategy.measure(huge)).max() <= 2**51
    wide = Union([Kron([Prefix(4)] * 5), Kron([Prefix(4), *[Total(4)] * 4])])
    cells = np.zeros(wide.shape, dtype=np.int64)
    cells[1, 2, 3, 0, 1] = 2**28
    strategy = residual(wide)
    np.testing.assert_allclose(strategy.answers(strategy.measure(cells).astype(float)), wide.answers(cells), atol=1e-3)


@pytest.mark.parametrize("case", CASES, ids=in_words)
def test_one_row_more_moves_the_numbers_of_huge_counts_no_further(
    case: tuple[Workload, Callable[[], Strategy]],
) -> None:
    """At the ends of 62 and 52 bits nothing wraps around, and no float forgets a row."""
    workload, make = case
    strategy = make()
    for large in (2**36 // workload.cells, 2**42, 2**53, 2**61):
        counts = np.full(workload.shape, large)
        counts.flat[0] += 1
        before, moved = strategy.measure(np.full(workload.shape, large)), strategy.measure(counts)
        distance = [abs(int(a) - int(b)) for a, b in zip(before, moved, strict=True)]
        assert sum(distance) <= strategy.reach.l1 + 2 * strategy.reach.rounded, large


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: Prefix(0), "at least one cell"),
        (lambda: Identity(2**40), "Bin the values"),
        (lambda: Width(3, 4), "width"),
        (lambda: Ranges(3, [(2, 2)]), "start < stop"),
        (lambda: Ranges(3, []), "list of pairs"),
        (lambda: Predicates([[0, 2]]), "zeros and ones"),
        (lambda: Marginals([2, 3], 3), "sets"),
        (lambda: Marginals([2, 3], [(0, 2)]), "from 0 to 1"),
        (lambda: Marginals([2], [(0,), (0,)]), "different sets"),
        (lambda: Kron([]), "one workload"),
        (lambda: Kron([Prefix(2**14), Prefix(2**14)]), "at most"),
        (lambda: Union([Prefix(2), Prefix(3)]), "a union is over one domain"),
        (lambda: Weighted(Prefix(2), 0), "above 0"),
        (lambda: Prefix(3).answers([1, 2]), "the domain has the shape"),
        (lambda: Cells(Prefix(3)).measure([1, 2]), "the domain has 3 cells"),
        (lambda: Cells(Prefix(3)).measure([1.5, 2, 3]), "whole"),
        (lambda: AllRange(2**14).answers(np.zeros(2**14)), "too many to list"),
        (lambda: haar(Marginals([2, 3], 1), Norm.L1), "2 axes"),
        (lambda: Records((2,), [[0.5]]), "whole numbers"),
    ],
)
def test_nonsense_is_refused(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        call()

"""Laws over the registry that the numbers keep, not only the symbols: counts, order, noise, theorems."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet import privacy as p
from discreet.errors import ParameterError
from discreet.privacy import curves
from discreet.privacy.curve import Curve
from discreet.privacy.numerics.losses.loss import Direction
from discreet.privacy.numerics.solvers.account import delta_interval

if TYPE_CHECKING:
    from collections.abc import Callable

ALL = [(name, i, curve) for name, found in curves.examples().items() for i, curve in enumerate(found)]
EACH = pytest.mark.parametrize("curve", [curve for _, _, curve in ALL], ids=[f"{name}{i}" for name, i, _ in ALL])
CHANGE = p.NeighborRelation.CHANGE_ONE


def probing_point(curve: Curve) -> float:
    """An epsilon at which one use has a delta that is neither 0 nor 1."""
    upper = curve.epsilon("0.001")
    return 0.3 * upper if math.isfinite(upper) else 0.5


@pytest.mark.slow
@EACH
def test_counts_count(curve: Curve) -> None:
    """Twenty uses cost visibly more than one, and Renyi divergences add up; an accountant that ignored counts fails."""
    point = probing_point(curve)
    one, many = curve.delta_interval(point), (curve * 20).delta_interval(point)
    if curve.epsilon(0) == 0:  # what costs nothing costs nothing twenty times
        assert many == one == (0.0, 0.0)
    else:
        assert many[1] > 1.05 * one[1]
    for order in (2, 5):
        single, total = curve.rdp(order), (curve * 20).rdp(order)
        if math.isfinite(single):
            assert total == pytest.approx(20 * single, rel=1e-6)
        else:
            assert math.isinf(total)


def test_an_accountant_that_ignores_counts_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Curve.directions

    def forgetful(curve: Curve) -> tuple[Direction, ...]:
        return tuple(replace(way, parts=tuple((loss, 1) for loss, _ in way.parts)) for way in whole(curve))

    monkeypatch.setattr(Curve, "directions", forgetful)
    with pytest.raises(AssertionError):
        test_counts_count(p.randomized_response("0.5", answers=5))


@EACH
def test_the_order_of_composition_does_not_move_the_numbers(curve: Curve) -> None:
    other = p.laplace(3, neighbors=curve.neighbors) * 2 + p.gaussian(4, neighbors=curve.neighbors)
    total = curve + other
    point = 0.7 * min(probing_point(total), 3.0)
    for way in total.directions():
        forth = delta_interval(way, point)
        back = delta_interval(Direction(way.parts[::-1]), point)
        assert max(forth[0], back[0]) <= min(forth[1], back[1])


QUIETER: dict[str, tuple[Callable[[], Curve], Callable[[], Curve]]] = {
    "approximate": (lambda: p.approximate("0.5", "1e-9"), lambda: p.approximate("0.6", "2e-9")),
    "discrete_gaussian": (lambda: p.discrete_gaussian(3), lambda: p.discrete_gaussian("2.5")),
    "discrete_laplace": (lambda: p.discrete_laplace(12), lambda: p.discrete_laplace(9)),
    "exponential": (lambda: p.exponential("0.5"), lambda: p.exponential("0.7")),
    "finite_pair": (
        lambda: p.finite_pair(["0.55", "0.45"], ["0.45", "0.55"]),
        lambda: p.finite_pair(["0.6", "0.4"], ["0.4", "0.6"]),
    ),
    "gaussian": (lambda: p.gaussian(2), lambda: p.gaussian("1.7")),
    "grouped": (lambda: p.laplace(9).subsample("0.5").group(2), lambda: p.laplace(6).subsample("0.5").group(2)),
    "laplace": (lambda: p.laplace(12), lambda: p.laplace(9)),
    "parallel": (lambda: p.laplace(9).parallel(p.gaussian(5)), lambda: p.laplace(6).parallel(p.gaussian(3))),
    "partition_selection": (lambda: p.partition_selection(2, 60), lambda: p.partition_selection(1, 30)),
    "permute_and_flip": (lambda: p.permute_and_flip("0.5"), lambda: p.permute_and_flip("0.7")),
    "pure": (lambda: p.pure("0.5"), lambda: p.pure("0.7")),
    "randomized_response": (lambda: p.randomized_response("0.5", 4), lambda: p.randomized_response("0.7", 4)),
    "rdp": (lambda: p.rdp([2, 8], ["0.1", "0.4"]), lambda: p.rdp([2, 8], ["0.2", "0.8"])),
    "sampled": (lambda: p.gaussian(2).subsample("0.1"), lambda: p.gaussian("1.7").subsample("0.1")),
    "shuffled": (lambda: p.shuffled("0.7", 40), lambda: p.shuffled(1, 40)),
    "sparse_vector": (lambda: p.sparse_vector("0.5"), lambda: p.sparse_vector("0.7")),
    "staircase": (lambda: p.staircase("0.5"), lambda: p.staircase("0.7")),
    "zcdp": (lambda: p.zcdp("0.1"), lambda: p.zcdp("0.2")),
}


@pytest.mark.parametrize("name", curves.examples())
@pytest.mark.parametrize("count", [1, 6])
def test_more_noise_costs_less_everywhere(name: str, count: int) -> None:
    """Every file of the registry has a noisier and a quieter curve; a file without them is an error here."""
    much, little = (make() * count for make in QUIETER[name])
    for delta in ("1e-3", "1e-7"):
        noisy, quiet = much.interval(delta), little.interval(delta)
        assert noisy[0] <= quiet[1]
        assert noisy[1] < quiet[1]


COMPARED = [curve for _, _, curve in ALL if math.isfinite(curve.epsilon("1e-6"))]


@pytest.mark.parametrize("curve", COMPARED, ids=[f"{i}" for i in range(len(COMPARED))])
def test_no_theorem_is_below_the_numbers(curve: Curve) -> None:
    table = p.compare(curve, 4, "1e-5")
    least = (curve * 4).interval("1e-5")[0]
    for row in table.rows:
        assert row.epsilon is None or row.epsilon >= least * (1 - 1e-12), row.name


def test_fixed_size_needs_change_one_and_poisson_add_remove() -> None:
    """PROMISES 22: a relation is part of the type."""
    for neighbors, scheme in ((p.NeighborRelation.ADD_REMOVE, p.FixedSize), (CHANGE, p.Poisson)):
        with pytest.raises(ParameterError, match="proved bound"):
            p.gaussian(1, neighbors=neighbors).subsample("0.1", scheme=scheme)


SIDED = {
    "finite pair": (["0.5", "0.3", "0.2"], ["0.4", "0.5", "0.1"]),
    "one outcome of one law alone": (["0.9", "0.1", "0"], ["0.5", "0.45", "0.05"]),
}


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("name", SIDED)
def test_which_neighbor_holds_the_unit_changes_no_curve(name: str, size: int) -> None:
    """The worse direction counts, for one unit and along a chain of them: neighbors have no order."""
    present, absent = SIDED[name]
    one, other = p.finite_pair(present, absent).group(size), p.finite_pair(absent, present).group(size)
    for epsilon in (0.1, 0.5, 1.0, 1.3, 1.8):
        assert one.delta_interval(epsilon) == other.delta_interval(epsilon)
    for delta in ("0.3", "0.1", "0.01"):
        assert one.interval(delta) == other.interval(delta)
    assert one.rdp(3) == other.rdp(3)


def test_a_chain_costs_at_least_the_enumerated_step() -> None:
    """A group of two, the second unit alike: the law of the pair of outcomes is known, and lies below the chain."""
    present, absent = (np.array([float(mass) for mass in law]) for law in SIDED["finite pair"])
    for epsilon in (0.5, 0.7, 1.0):
        worst = max(
            float(np.maximum(one - math.exp(epsilon) * other, 0).sum())
            for one, other in ((present, absent), (absent, present))
        )
        chained = p.finite_pair(*SIDED["finite pair"]).group(2).delta(2 * epsilon)
        factor = 1 + math.exp(epsilon)
        assert chained == pytest.approx(min(factor * worst, 1.0), rel=1e-6)

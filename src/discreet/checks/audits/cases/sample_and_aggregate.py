"""Blocks of rows: a row more, and a row exchanged, with a function that one row moves all the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import flipped, laplace_law, softmax
from discreet.mechanisms import SampleAndAggregate
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Given: TypeAlias = tuple[Sequence[float], Callable[[Sequence[float]], float]]

__all__ = ["cases"]


def _loud(rows: Sequence[float]) -> float:
    """The largest row."""
    return max(rows, default=0.0)


def _mean(mechanism: SampleAndAggregate, value: Given) -> dict[float, float]:
    """The sum over blocks, one of which says the largest row and the others 0, with noise for one block's whole way."""
    scale, last = 4 / float(mechanism.epsilon), 4 * mechanism.blocks
    law = laplace_law(scale, int(_loud(value[0])), 0, last)
    return {total / mechanism.blocks: chance for total, chance in law.items()}


def _median(mechanism: SampleAndAggregate, value: Given) -> dict[float, float]:
    """One block: its own point misses the rank by nothing, every other by half a block; an exchange moves that by 1."""
    weights = [0.0 if point == _loud(value[0]) else -0.5 for point in range(5)]
    return dict(enumerate(softmax(weights, 2 / float(mechanism.epsilon))))


def _mode(mechanism: SampleAndAggregate, value: Given) -> dict[float, float]:
    """One vote among five points; an exchange takes it from one and gives it to another: 2 / epsilon."""
    votes = [int(point == _loud(value[0])) for point in range(5)]
    return dict(enumerate(flipped(votes, 2 / float(mechanism.epsilon))))


def cases() -> tuple[Case, ...]:
    """Return the pairs; all rows are in one block, so that the answer moves from bound to bound."""
    few, middle, many = (([row], _loud) for row in (0.0, 2.0, 4.0))
    none_and_many = few, ([0.0, 4.0], _loud)
    facts: dict[str, Any] = {"lower": 0, "upper": 4, "grid": 1}
    votes = SampleAndAggregate(1, **facts, epsilon=4, aggregator="mode", neighbors=NeighborRelation.CHANGE_ONE)
    half = SampleAndAggregate(1, **facts, epsilon=8, aggregator="median")
    mean, two = (SampleAndAggregate(blocks, **facts, epsilon=1) for blocks in (1, 2))
    return (
        Case("a mean", mean, *none_and_many, draws=3_000, law=_mean, also=(middle,)),
        Case("a mean of two blocks", two, *none_and_many, draws=1_500, law=_mean),
        Case("a median", half, *none_and_many, draws=600, law=_median),
        Case("a mode", votes, few, many, law=_mode),
    )

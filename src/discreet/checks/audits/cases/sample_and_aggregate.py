"""Blocks of rows: a row more, and a row exchanged, with a function that one row moves all the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.mechanisms import SampleAndAggregate
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _loud(rows: Sequence[float]) -> float:
    """The largest row."""
    return max(rows, default=0.0)


def cases() -> tuple[Case, ...]:
    """Return the pairs; all rows are in one block, so that the answer moves from bound to bound."""
    few, many = ([0.0], _loud), ([0.0, 4.0], _loud)
    change = NeighborRelation.CHANGE_ONE
    return (
        Case("a mean", SampleAndAggregate(1, lower=0, upper=4, grid=1, epsilon=1), few, many, draws=3_000),
        Case("a mean of two blocks", SampleAndAggregate(2, lower=0, upper=4, grid=1, epsilon=1), few, many, draws=500),
        Case(
            "a median",
            SampleAndAggregate(1, lower=0, upper=4, grid=1, epsilon=2, aggregator="median"),
            few,
            many,
            draws=500,
        ),
        Case(
            "a mode",
            SampleAndAggregate(1, lower=0, upper=4, epsilon=2, aggregator="mode", neighbors=change),
            few,
            ([4.0], _loud),
        ),
    )

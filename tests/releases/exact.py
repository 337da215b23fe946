"""Exact aggregates made by the reference interpreter, in the type that releases take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.engines import Aggregates
from discreet.releases.noise.recipe import Parts, Single
from tests.plans.interpreter import by_key, by_unit, groups_of, pooled_of, rows_of

if TYPE_CHECKING:
    from discreet.plans.nodes import Aggregate
    from discreet.releases.noise.recipe import Block
    from tests.plans.interpreter import Database

Numbers = dict[tuple[Any, ...], list[int]]


def aggregates_of(aggregate: Aggregate, database: Database) -> Aggregates:
    """What an engine would return for these rows."""
    found = groups_of(aggregate, database)
    groups = list(found)
    numbers = [[list(found[group][place]) for group in groups] for place in range(len(aggregate.statistics))]
    keys = [key.column for key in aggregate.keys]
    held = [set(by_key(rows, keys)) for rows in by_unit(rows_of(aggregate.child, database)).values()]
    units = [sum(group in each for each in held) for group in groups]
    columns = None if aggregate.known else [[group[place] for group in groups] for place in range(len(keys))]
    return Aggregates(aggregate, columns, numbers, units, pooled_of(aggregate, database))


def numbers_of(block: Block, aggregate: Aggregate, database: Database) -> Numbers:
    """The exact integers of a block by group; of a choice, by group and cell."""
    aggregates = aggregates_of(aggregate, database)
    if not isinstance(block, Single | Parts):
        (place,) = block.places
        cells = zip(aggregates.unprotected_groups(), aggregates.unprotected_cells(place), strict=True)
        return {(*group, cell): [count] for group, found in cells for cell, _, count, _ in found.tolist()}
    rows = block.exact(aggregates).tolist()
    return dict(zip(aggregates.unprotected_groups(), rows, strict=True))


def moved(first: Numbers, second: Numbers) -> tuple[int, int]:
    """How far apart two neighbors' numbers are: in L1, and in L2 squared; a missing group is all 0."""
    gaps = []
    for group in first.keys() | second.keys():
        size = len(first.get(group) or second[group])
        pair = zip(first.get(group, [0] * size), second.get(group, [0] * size), strict=True)
        gaps += [abs(a - b) for a, b in pair]
    return sum(gaps), sum(gap**2 for gap in gaps)

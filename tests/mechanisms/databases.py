"""All databases of a tiny domain, for tests that leave nothing out."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Rows = tuple[int, ...]
ADD, CHANGE = NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE


def databases(width: int, most: int, neighbors: NeighborRelation) -> list[Rows]:
    """Every multiset of numbers from 0 to width with at most (or, where rows are exchanged, just) so many rows."""
    sizes = range(most + 1) if neighbors is ADD else [most]
    return [rows for size in sizes for rows in itertools.combinations_with_replacement(range(width + 1), size)]


def are_neighbors(one: Rows, other: Rows, neighbors: NeighborRelation) -> bool:
    return distance(one, other, neighbors) == 1


def distance(one: Rows, other: Rows, neighbors: NeighborRelation) -> int:
    """How many rows are added, removed or exchanged."""
    gone, come = Counter(one) - Counter(other), Counter(other) - Counter(one)
    total = sum(gone.values()) + sum(come.values())
    return total if neighbors is ADD else total // 2


def pairs(found: list[Rows], neighbors: NeighborRelation) -> Iterator[tuple[Rows, Rows]]:
    """Every pair of neighbors, both ways."""
    return (pair for pair in itertools.permutations(found, 2) if are_neighbors(*pair, neighbors))


def local_sensitivities(
    found: list[Rows], value: Callable[[Rows], object], neighbors: NeighborRelation
) -> dict[Rows, object]:
    """The largest move to a neighbor, of every database."""
    values = {rows: value(rows) for rows in found}
    worst = dict.fromkeys(found, 0)
    for one, other in pairs(found, neighbors):
        worst[one] = max(worst[one], abs(values[one] - values[other]))  # type: ignore[operator]
    return worst  # type: ignore[return-value]

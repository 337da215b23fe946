"""Junction trees: which columns a graphical model holds together, and how much memory that takes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["BYTES", "Clique", "JunctionTree", "junction_tree"]

Clique: TypeAlias = tuple[int, ...]
"""Columns by their places, in rising order."""

BYTES = 8 * 6
"""What a cell of a clique takes in a fit: some six arrays hold it at once, such as potentials and beliefs."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in an order in which each but the first of its part hangs on an earlier one, by their common columns.

    Whatever two cliques have in common lies in all cliques on the way between them (the running intersection), so that
    a distribution that multiplies functions of cliques has marginals that messages along the tree compute exactly:
    Koller & Friedman 2009, "Probabilistic Graphical Models", chapter 10.

    >>> tree = junction_tree([2, 3, 4], [(0, 1), (1, 2)])
    >>> tree.cliques, tree.cells
    (((1, 2), (0, 1)), 18)
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    """The place of the clique that each hangs on; -1 for the first of a part."""

    @property
    def cells(self) -> int:
        """The cells of all cliques together."""
        return sum(self.size(clique) for clique in self.cliques)

    @property
    def bytes(self) -> int:
        """The memory that a fit on the tree takes, about."""
        return BYTES * self.cells

    def size(self, columns: Iterable[int]) -> int:
        """The cells of a marginal."""
        return math.prod(self.sizes[column] for column in columns)

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        """What each clique has in common with the one that it hangs on."""
        return tuple(
            tuple(c for c in clique if parent >= 0 and c in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    def home(self, columns: Iterable[int]) -> int | None:
        """The place of the smallest clique that has all of these columns, if there is one."""
        wanted = set(columns)
        homes = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(homes, key=lambda place: self.size(self.cliques[place]), default=None)

    def require(self, limit: int) -> None:
        """Refuse a tree that needs more memory than this, from public facts alone."""
        if self.bytes <= limit:
            return
        worst = max(self.cliques, key=self.size)
        msg = (
            f"the model needs about {self.bytes / 2**20:.0f} MB, and the limit is {limit / 2**20:.0f} MB: the columns "
            f"{worst} hang together and have {self.size(worst)} cells. Measure fewer of their combinations, take fewer "
            "bins for the widest of them, or raise memory=."
        )
        raise ParameterError(msg)


def junction_tree(sizes: Sequence[int], sets: Iterable[Clique]) -> JunctionTree:
    """Find a tree of cliques, each set of columns in one of them, by eliminating what makes the smallest clique.

    >>> junction_tree([2, 2, 2], [(0, 1), (1, 2), (0, 2)]).cliques
    ((0, 1, 2),)
    """
    neighbors: dict[int, set[int]] = {column: set() for column in range(len(sizes))}
    for columns in sets:
        for one, other in itertools.combinations(columns, 2):
            neighbors[one].add(other)
            neighbors[other].add(one)
    found: list[set[int]] = []
    while neighbors:
        best = min(neighbors, key=lambda c: (math.prod(sizes[n] for n in neighbors[c]) * sizes[c], c))
        around = neighbors.pop(best)
        for one in around:
            neighbors[one] |= around - {one}
            neighbors[one].discard(best)
        if not any({best, *around} <= other for other in found):
            found.append({best, *around})
    return _hung(tuple(sizes), [tuple(sorted(clique)) for clique in found])


def _hung(sizes: tuple[int, ...], cliques: list[Clique]) -> JunctionTree:
    """Hang cliques on each other by the largest common sets: a maximum spanning tree is a junction tree."""
    left = sorted(cliques, key=lambda clique: (-math.prod(sizes[c] for c in clique), clique))
    order, parents = [left.pop(0)] if left else [], [-1]
    shared = dict.fromkeys(left, (0, -1))
    while left:
        for clique in left:
            common = len(set(clique) & set(order[-1]))
            if common > shared[clique][0]:
                shared[clique] = common, len(order) - 1
        clique = max(left, key=lambda each: shared[each][0])
        left.remove(clique)
        parents.append(shared[clique][1])
        order.append(clique)
    return JunctionTree(sizes, tuple(order), tuple(parents[: len(order)]))

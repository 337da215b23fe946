"""A graphical model: a distribution over the cells of all columns that multiplies functions of a few columns each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.methods.synthesis.trees import Clique, JunctionTree

    Floats = NDArray[np.float64]

__all__ = ["GraphicalModel", "Model", "calibrated", "potentials_of", "project", "spread"]

_einsum: Any = np.einsum
"""As it takes lists of places, which its types do not know."""


class Model(Protocol):
    """A distribution over the cells of a domain, whose marginals can be asked for and that can be sampled.

    >>> Model.__doc__.split(",")[0]
    'A distribution over the cells of a domain'
    """

    @property
    def sizes(self) -> tuple[int, ...]:
        """The cells of each column."""

    def marginal(self, columns: Clique) -> Floats:
        """The shares of the combinations of some columns."""

    def marginals(self, sets: Iterable[Clique]) -> dict[Clique, Floats]:
        """Several at once."""


def project(table: Floats, columns: Sequence[int], kept: Sequence[int]) -> Floats:
    """Sum a table over the columns that are not kept; the others stay in their order.

    >>> project(np.array([[1.0, 2.0], [3.0, 4.0]]), (5, 7), (7,)).tolist()
    [4.0, 6.0]
    """
    summed: Floats = table.sum(axis=tuple(place for place, column in enumerate(columns) if column not in kept))
    return summed


def spread(table: Floats, columns: Sequence[int], wide: Sequence[int]) -> Floats:
    """Give a table of some columns an axis for each of more columns, both in rising order.

    >>> spread(np.zeros(3), (1,), (0, 1, 2)).shape
    (1, 3, 1)
    """
    sizes = dict(zip(columns, table.shape, strict=True))
    return table.reshape([sizes.get(column, 1) for column in wide])


def _log_sum(table: Floats, axes: tuple[int, ...]) -> Floats:
    """The logarithm of the sum of exponentials over axes; what is nowhere possible stays so."""
    if not axes:
        return table
    top = table.max(axis=axes, keepdims=True)
    top[~np.isfinite(top)] = 0
    with np.errstate(divide="ignore"):
        summed: Floats = np.log(np.exp(table - top).sum(axis=axes)) + np.squeeze(top, axis=axes)
    return summed


def calibrated(tree: JunctionTree, potentials: Sequence[Floats]) -> tuple[list[Floats], float]:
    """Pass messages along the tree; return the logarithms of the cliques' marginals, and of what all weights sum to.

    In logarithms throughout: weights of cells may be as far apart as floats can write exponents.

    >>> from discreet.methods.synthesis.trees import junction_tree
    >>> logs, total = calibrated(junction_tree([2], []), [np.log([1.0, 3.0])])
    >>> np.exp(logs[0]).round(2).tolist(), round(float(np.exp(total)))
    ([0.25, 0.75], 4)
    """
    beliefs, upward = [potential.copy() for potential in potentials], {}
    total = 0.0
    for place in reversed(range(len(beliefs))):
        clique, parent, shared = tree.cliques[place], tree.parents[place], tree.separators[place]
        out = tuple(axis for axis, column in enumerate(clique) if column not in shared)
        upward[place] = message = _log_sum(beliefs[place], out)
        if shared:
            beliefs[parent] += spread(message, shared, tree.cliques[parent])
        else:
            total += float(message)
            beliefs[place] -= message
    for place, (clique, parent, shared) in enumerate(zip(tree.cliques, tree.parents, tree.separators, strict=True)):
        if shared:
            wide = tree.cliques[parent]
            out = tuple(axis for axis, column in enumerate(wide) if column not in shared)
            with np.errstate(invalid="ignore"):
                change = _log_sum(beliefs[parent], out) - upward[place]
            change[np.isnan(change)] = -np.inf
            beliefs[place] += spread(change, shared, clique)
    return beliefs, total


class GraphicalModel:
    """A distribution by the marginals of the cliques of a junction tree.

    Where cliques overlap their marginals agree, so that P = product of marginals / product of those of separators.
    Columns that no path of cliques joins are independent.

    >>> from discreet.methods.synthesis.trees import junction_tree
    >>> tree = junction_tree([2, 2], [])
    >>> GraphicalModel(tree, [np.array([0.5, 0.5]), np.array([0.25, 0.75])]).marginal((0, 1)).tolist()
    [[0.125, 0.375], [0.125, 0.375]]
    """

    def __init__(self, tree: JunctionTree, tables: Sequence[Floats]) -> None:
        self.tree = tree
        self.tables = tuple(tables)
        around: list[list[tuple[int, Clique]]] = [[] for _ in tree.cliques]
        for place, (parent, shared) in enumerate(zip(tree.parents, tree.separators, strict=True)):
            if shared:
                around[place].append((parent, shared))
                around[parent].append((place, shared))
        self._around = around

    @property
    def sizes(self) -> tuple[int, ...]:
        """The cells of each column."""
        return self.tree.sizes

    def marginal(self, columns: Clique) -> Floats:
        """The shares of the combinations of some columns, in rising order."""
        return self.marginals([columns])[columns]

    def marginals(self, sets: Iterable[Clique]) -> dict[Clique, Floats]:
        """Several marginals: those within a clique by summing, pairs by products along the tree, others by joining."""
        found: dict[Clique, Floats] = {}
        pairs: dict[int, list[Clique]] = {}
        for columns in sets:
            home = self.tree.home(columns)
            if home is not None:
                found[columns] = project(self.tables[home], self.tree.cliques[home], columns)
            elif len(columns) == 2:
                pairs.setdefault(columns[0], []).append(columns)
            else:
                found[columns] = self._joined(columns)
        for first, wanted in pairs.items():
            joint = self._with_each(first, {pair[1] for pair in wanted})
            found |= {pair: joint[pair[1]] for pair in wanted}
        return found

    def log_chance(self, cells: NDArray[np.int64]) -> Floats:
        """The logarithm of the chance of whole rows of cells: cliques' marginals, less those of separators."""
        chance: Floats = np.zeros(len(cells))
        with np.errstate(divide="ignore", invalid="ignore"):
            for clique, shared, table in zip(self.tree.cliques, self.tree.separators, self.tables, strict=True):
                chance += np.log(_conditional(table, clique, shared)[tuple(cells[:, c] for c in clique)])
        return chance

    def _with_each(self, first: int, wanted: set[int]) -> dict[int, Floats]:
        """The pairs of one column with others: what it tells of a separator is carried along the tree, a product each.

        Given the separator S, what lies beyond is independent of the column: P(a, b) = sum over S of P(a, S) P(b | S).
        """
        start = self.tree.home((first,))
        assert start is not None  # noqa: S101 - every column is in a clique
        one = project(self.tables[start], self.tree.cliques[start], (first,))
        found: dict[int, Floats] = {}
        ways: list[tuple[int, int, Clique, Floats]] = []
        for place, shared in self._around[start]:
            kept = tuple(sorted({first, *shared}))
            table = project(self.tables[start], self.tree.cliques[start], kept)
            if first in shared:
                table = _doubled(table, shared.index(first))
            else:
                table = np.moveaxis(table, kept.index(first), 0)
            ways.append((place, start, shared, table.reshape(one.size, -1)))
        while ways:
            place, before, shared, joint = ways.pop()
            clique, table = self.tree.cliques[place], self.tables[place]
            for column in wanted - found.keys():
                if column in clique and column not in shared:
                    found[column] = joint @ _given(table, clique, shared, (column,))
            for beyond, further in self._around[place]:
                if beyond != before:
                    ways.append((beyond, place, further, joint @ _given(table, clique, shared, further)))
        for column in wanted - found.keys():
            home = self.tree.home((column,))
            assert home is not None  # noqa: S101 - as above
            other = project(self.tables[home], self.tree.cliques[home], (column,))
            found[column] = np.multiply.outer(one, other)
        return found

    def _joined(self, columns: Clique) -> Floats:
        """Any marginal: the cliques between its columns, multiplied one after the other, each summed out when done."""
        held: tuple[int, ...] = ()
        table: Floats = np.ones(())
        order = self._between(columns)
        for number, place in enumerate(order):
            clique, shared = self.tree.cliques[place], self._shared_before(order[:number], place)
            needed = set(columns) | {c for later in order[number + 1 :] for c in self.tree.cliques[later]}
            factor = _conditional(self.tables[place], clique, shared)
            kept = tuple(sorted(c for c in {*held, *clique} if c in needed))
            table = _einsum(table, list(held), factor, list(clique), list(kept), optimize=True)
            held = kept
        whole: Floats = _einsum(table, list(held), list(columns))
        return whole

    def _shared_before(self, before: Sequence[int], place: int) -> Clique:
        return next((shared for near, shared in self._around[place] if near in before), ())

    def _between(self, columns: Clique) -> list[int]:
        """The cliques of the smallest part of the tree that has all these columns, each next to an earlier one."""
        inside = set(range(len(self.tree.cliques)))
        peeling = True
        while peeling:
            peeling = False
            for place in sorted(inside, key=lambda p: -self.tree.size(self.tree.cliques[p])):
                near = [one for one, _ in self._around[place] if one in inside]
                others = {c for one in inside - {place} for c in self.tree.cliques[one]}
                if len(near) <= 1 and set(columns) & set(self.tree.cliques[place]) <= others:
                    inside.discard(place)
                    peeling = True
                    break
        return sorted(inside)  # a clique stands behind the one that it hangs on


def _doubled(table: Floats, axis: int) -> Floats:
    """Put a column of a table before it once more: P(a, S) where a is in S."""
    size = table.shape[axis]
    wide = np.zeros((size, *table.shape))
    for cell in range(size):
        place = (slice(None),) * axis + (cell,)
        wide[(cell, *place)] = table[place]
    return wide


def _conditional(table: Floats, clique: Clique, shared: Clique) -> Floats:
    """A clique's marginal given its separator; 0 where the separator has no weight."""
    if not shared:
        return table
    below = spread(project(table, clique, shared), shared, clique)
    return np.divide(table, below, out=np.zeros_like(table), where=below > 0)


def _given(table: Floats, clique: Clique, shared: Clique, wanted: Clique) -> Floats:
    """A matrix: the chances of the wanted columns for each cell of the separator, which may share some."""
    both = tuple(sorted({*shared, *wanted}))
    joint = project(table, clique, both)
    for column in reversed([c for c in shared if c in wanted]):
        joint = np.moveaxis(_doubled(joint, both.index(column)), 0, -1)
        # the copy, now last, stands for the column among the wanted
    rest = [c for c in both if c not in shared]
    copies = [c for c in reversed(shared) if c in wanted]
    axes = [*both, *(-1 - c for c in copies)]
    order = [axes.index(c) for c in shared]
    order += [axes.index(c if c in rest else -1 - c) for c in wanted]
    size = int(np.prod([table.shape[clique.index(c)] for c in shared]))
    matrix = np.transpose(joint, order).reshape(size, -1)
    below = matrix.sum(axis=1, keepdims=True)
    chances: Floats = np.divide(matrix, below, out=np.zeros_like(matrix), where=below > 0)
    return chances


def potentials_of(tree: JunctionTree, factors: Mapping[Clique, Floats]) -> list[Floats]:
    """Add functions of a few columns up in the cliques that have them.

    >>> from discreet.methods.synthesis.trees import junction_tree
    >>> potentials_of(junction_tree([2], []), {(0,): np.array([1.0, 2.0])})[0].tolist()
    [1.0, 2.0]
    """
    potentials: list[Floats] = [np.zeros([tree.sizes[c] for c in clique]) for clique in tree.cliques]
    for columns, factor in factors.items():
        home = tree.home(columns)
        assert home is not None  # noqa: S101 - the tree was made for these sets
        potentials[home] += spread(factor, columns, tree.cliques[home])
    return potentials

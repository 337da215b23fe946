"""Workloads made of others: products over axes, unions, importance, and marginals of a table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.mechanisms.inputs.parameters import read_positive
from discreet.methods.workloads.algebra.lines import Identity, Total
from discreet.methods.workloads.algebra.workload import MOST_CELLS, MOST_DENSE, Workload, kron, read_cells

if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Any

    from discreet.exact import Number
    from discreet.methods.workloads.algebra.workload import Floats

__all__ = ["Kron", "Marginals", "Union", "Weighted", "products_of"]


@dataclass(frozen=True)
class Kron(Workload):
    """Every combination of one query per axis, such as rectangles of a map; its matrix is the Kronecker product.

    >>> from discreet.methods.workloads import Kron, Prefix, Total
    >>> Kron([Prefix(2), Total(3)]).answers([[4, 0, 1], [1, 1, 1]]).tolist()
    [5.0, 8.0]
    """

    factors: tuple[Workload, ...]

    def __init__(self, factors: Sequence[Workload]) -> None:
        """Refuse what has no axes."""
        listed = tuple(factors)
        if not listed or not all(isinstance(factor, Workload) and len(factor.shape) == 1 for factor in listed):
            msg = f"factors is {shown(factors)}; give one workload over a single axis for each axis."
            raise ParameterError(msg)
        object.__setattr__(self, "factors", listed)
        if self.cells > MOST_CELLS and not self.is_of_marginals:
            msg = f"the product has {self.cells} cells; at most {MOST_CELLS} are counted. Bin some axes more coarsely."
            raise ParameterError(msg)

    @property
    def shape(self) -> tuple[int, ...]:
        """The axes of all factors."""
        return tuple(factor.cells for factor in self.factors)

    @property
    def queries(self) -> int:
        """Every combination."""
        return math.prod(factor.queries for factor in self.factors)

    @property
    def is_of_marginals(self) -> bool:
        """Whether each factor is the identity or the total, so that it is a marginal of the table."""
        return all(isinstance(factor, Identity | Total) for factor in self.factors)

    def answers(self, counts: Any) -> Floats:  # noqa: ANN401 - whatever numpy reads as an array
        """Answer axis by axis."""
        answers = self._read_answers(counts)
        for place, factor in enumerate(self.factors):
            moved = np.moveaxis(answers, place, -1)
            lines = moved.reshape(-1, moved.shape[-1])
            asked = np.stack([factor.answers(line) for line in lines])
            answers = np.moveaxis(asked.reshape(*moved.shape[:-1], -1), -1, place)
        return answers.ravel()

    def gram_dot(self, rows: Floats) -> Floats:
        """Multiply axis by axis."""
        product = rows.reshape(len(rows), *self.shape)
        for place, factor in enumerate(self.factors, start=1):
            moved = np.moveaxis(product, place, -1)
            if isinstance(factor, Identity):
                continue
            lines = moved.reshape(-1, moved.shape[-1])
            multiplied = lines @ factor.gram() if factor.cells <= MOST_DENSE // 4 else factor.gram_dot(lines)
            product = np.moveaxis(multiplied.reshape(moved.shape), -1, place)
        return product.reshape(rows.shape)

    def coverage(self) -> Floats:
        """The product over all axes."""
        return kron([factor.coverage() for factor in self.factors])

    def gram_diagonal(self) -> Floats:
        """The product of all diagonals."""
        return kron([factor.gram_diagonal() for factor in self.factors])

    def block_squares(self, block: int) -> Floats:
        """The products over all axes, of single cells; blocks of neighbors are for one axis."""
        if block > 1:
            return super().block_squares(block)
        return kron([factor.block_squares(1) for factor in self.factors])

    def matrix(self) -> Floats:
        """The Kronecker product."""
        return kron([factor.matrix() for factor in self.factors])

    def singular_sum(self) -> float:
        """The product of all sums, as singular values multiply."""
        return math.prod(factor.singular_sum() for factor in self.factors)

    def __str__(self) -> str:
        return " × ".join(str(factor) for factor in self.factors)


@dataclass(frozen=True)
class Weighted(Workload):
    """The same queries, whose squared errors count `weight` times as much; their answers stay as they are.

    >>> from discreet.methods.workloads import Prefix, Weighted
    >>> Weighted(Prefix(2), 3).answers([1, 2]).tolist(), Weighted(Prefix(2), 3).importance
    ([1.0, 3.0], 3.0)
    """

    workload: Workload
    weight: Fraction

    def __init__(self, workload: Workload, weight: Number) -> None:
        """Refuse weights that are not above 0."""
        if not isinstance(workload, Workload):
            msg = f"workload is {shown(workload)}; it must be a workload, such as Prefix(100)."
            raise ParameterError(msg)
        object.__setattr__(self, "workload", workload)
        object.__setattr__(self, "weight", read_positive(weight, "weight", zero="leave the workload out instead"))

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the workload."""
        return self.workload.shape

    @property
    def queries(self) -> int:
        """Those of the workload."""
        return self.workload.queries

    @property
    def importance(self) -> float:
        """The weight, times that of the workload."""
        return float(self.weight) * self.workload.importance

    def answers(self, counts: Any) -> Floats:  # noqa: ANN401 - whatever numpy reads as an array
        """Answer the workload."""
        return self.workload.answers(counts)

    def gram_dot(self, rows: Floats) -> Floats:
        """Multiply, and weigh."""
        return float(self.weight) * self.workload.gram_dot(rows)

    def coverage(self) -> Floats:
        """That of the workload."""
        return self.workload.coverage()

    def gram_diagonal(self) -> Floats:
        """Weigh the diagonal."""
        return float(self.weight) * self.workload.gram_diagonal()

    def matrix(self) -> Floats:
        """The queries as they are."""
        return self.workload.matrix()

    def block_squares(self, block: int) -> Floats:
        """Those of the workload."""
        return self.workload.block_squares(block)

    def block_trace(self, block: int) -> float:
        """Weigh the trace."""
        return float(self.weight) * self.workload.block_trace(block)

    def singular_sum(self) -> float:
        """Weigh by the root of the weight."""
        return math.sqrt(self.weight) * self.workload.singular_sum()

    def __str__(self) -> str:
        return f"{self.weight} · {self.workload}"


@dataclass(frozen=True)
class Union(Workload):
    """Several workloads over the same domain, asked together.

    >>> from discreet.methods.workloads import Identity, Prefix, Union
    >>> Union([Identity(2), Prefix(2)]).answers([1, 2]).tolist()
    [1.0, 2.0, 1.0, 3.0]
    """

    parts: tuple[Workload, ...]

    def __init__(self, parts: Sequence[Workload]) -> None:
        """Refuse parts over different domains."""
        listed = tuple(parts)
        if not listed or not all(isinstance(part, Workload) for part in listed):
            msg = f"parts is {shown(parts)}; give a list of workloads, at least one."
            raise ParameterError(msg)
        if len(shapes := sorted({part.shape for part in listed})) > 1:
            msg = f"parts are over the domains {shapes[0]} and {shapes[1]}; a union is over one domain."
            raise ParameterError(msg)
        object.__setattr__(self, "parts", listed)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of each part."""
        return self.parts[0].shape

    @property
    def queries(self) -> int:
        """Those of all parts."""
        return sum(part.queries for part in self.parts)

    def answers(self, counts: Any) -> Floats:  # noqa: ANN401 - whatever numpy reads as an array
        """Answer part after part."""
        return np.concatenate([part.answers(counts) for part in self.parts])

    def gram_dot(self, rows: Floats) -> Floats:
        """Add up the products of all parts."""
        product: Floats = np.sum([part.gram_dot(rows) for part in self.parts], axis=0)
        return product

    def coverage(self) -> Floats:
        """Add up."""
        covered: Floats = np.sum([part.coverage() for part in self.parts], axis=0)
        return covered

    def gram_diagonal(self) -> Floats:
        """Add up the diagonals."""
        diagonal: Floats = np.sum([part.gram_diagonal() for part in self.parts], axis=0)
        return diagonal

    def matrix(self) -> Floats:
        """One part below the other."""
        return np.vstack([part.matrix() for part in self.parts])

    def block_squares(self, block: int) -> Floats:
        """Part after part."""
        return np.concatenate([part.block_squares(block) for part in self.parts])

    def block_trace(self, block: int) -> float:
        """Add up the traces."""
        return sum(part.block_trace(block) for part in self.parts)

    def __str__(self) -> str:
        return " + ".join(str(part) for part in self.parts)


class Marginals(Union):
    """Marginal tables of a table with several columns: for each set of columns the counts of all their combinations.

    `sets` is how many columns each marginal has (all sets of that many), or a list of sets of places of columns; the
    empty set is the total.

    >>> workload = Marginals([2, 3], 1)
    >>> workload.sets, workload.answers([[1, 0, 0], [2, 0, 5]]).tolist()
    (((0,), (1,)), [1.0, 7.0, 3.0, 0.0, 5.0])
    >>> Marginals([2, 3], [(0, 1), ()]).queries
    7
    """

    sets: tuple[tuple[int, ...], ...]

    def __init__(self, sizes: Sequence[int], sets: int | Iterable[Iterable[int]]) -> None:
        """Refuse sets of columns that are not there."""
        axes = [read_cells(size, "sizes") for size in sizes]
        listed = _read_sets(len(axes), sets)
        super().__init__(
            [
                Kron([Identity(size) if place in chosen else Total(size) for place, size in enumerate(axes)])
                for chosen in listed
            ]
        )
        object.__setattr__(self, "sets", listed)

    def __str__(self) -> str:
        kinds = sorted({len(chosen) for chosen in self.sets})
        return f"{len(self.sets)} marginals of {' or '.join(map(str, kinds))} columns, of {len(self.shape)}"


def _read_sets(columns: int, sets: int | Iterable[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    if not columns:
        msg = "sizes is empty; a table has at least one column."
        raise ParameterError(msg)
    if not isinstance(sets, Iterable):
        each = integer(sets, name="sets", least=0, most=columns)
        return tuple(itertools.combinations(range(columns), each))
    listed = [tuple(sorted(integer(place, name="column") for place in chosen)) for chosen in sets]
    for chosen in listed:
        if len(set(chosen)) < len(chosen) or any(not 0 <= place < columns for place in chosen):
            msg = f"sets holds {chosen}; a marginal names different columns, from 0 to {columns - 1}."
            raise ParameterError(msg)
    if not listed or len(set(listed)) < len(listed):
        msg = "sets must be a list of different sets of columns, at least one."
        raise ParameterError(msg)
    return tuple(listed)


def products_of(workload: Workload) -> list[tuple[float, Kron]]:
    """Return the products that a workload is a union of, with their importance; an empty list if it is none.

    >>> [(weight, str(product)) for weight, product in products_of(Weighted(Marginals([2, 3], [(0,)]), 2))]
    [(2.0, 'Identity(2) × Total(3)')]
    """
    if isinstance(workload, Weighted):
        inner = products_of(workload.workload)
        return [(float(workload.weight) * weight, product) for weight, product in inner]
    if isinstance(workload, Union):
        found = [products_of(part) for part in workload.parts]
        return [product for part in found for product in part] if all(found) else []
    return [(1.0, workload)] if isinstance(workload, Kron) else []

"""Residuals of marginals: what each marginal adds to smaller ones, in closed form, for Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.methods.workloads.algebra.compounds import products_of
from discreet.methods.workloads.algebra.lines import Identity, Total
from discreet.methods.workloads.strategies.axes import AxisBasis, Differences, Residues
from discreet.methods.workloads.strategies.margins import below, put_together
from discreet.methods.workloads.strategies.product import along
from discreet.methods.workloads.strategies.strategy import Reach, Strategy
from discreet.methods.workloads.tallies import tally

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.methods.workloads.algebra.compounds import Kron
    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["Residual", "residual"]

Columns = tuple[int, ...]

_SCALE = 1 << 22
"""A row of length 1 is measured in so many steps."""
_FARTHEST = 1 << 51
_LARGE = 1 << 26
_FLOATS = 1 + Fraction(1, 1 << 48)
"""More than six roundings of floats can add to a product."""


def _holds(product: Kron) -> Columns:
    """The columns that a product does not sum over."""
    return tuple(place for place, factor in enumerate(product.factors) if not isinstance(factor, Total))


@dataclass(frozen=True)
class Residual(Strategy):
    r"""Measure, for each set A of columns, what the marginal over A adds to those over fewer columns.

    For each column there is a basis S of the vectors that add up to 0 (`AxisBasis`); for a set A the product of S for
    the columns in A and of sums over all others is measured with a weight w_A. These parts are orthogonal, so an
    answer's variance is the sum of what it has in each, and the error of a workload is sum_A f_A / w_A**2 at the cost
    sum_A c_A w_A**2, c_A the largest squared column: w_A**2 = sqrt(f_A / c_A) is best, in closed form, by Cauchy and
    Schwarz. For marginals alone, where S has orthonormal rows, the error is (sum_A sqrt(f_A c_A))**2, which is the
    bound by singular values (Li & Miklau 2013, arXiv:1202.3399): no strategy for Gaussian noise errs less. Xiao, He,
    Zhang & Kifer 2023, "An optimal and scalable matrix mechanism for noisy marginals under convex loss functions"
    (arXiv:2305.08175), for marginals; columns with prefixes or ranges get a basis of their own.

    A row is measured as a float c times a whole number z, rounded to a whole number of steps and clamped at 2**51 of
    them (for a weight of 1 that is 2**29 rows), which moves no two tables further apart. Below that the roundings of z
    to a float and of the product are a quarter of a step each, so the measured number is within one step of c z, or on
    its side of the clamp. What is counted for privacy is the exact c z, with c no more than its formula and a few
    roundings, and two steps for each number (`Reach.rounded`). z is exact: where 64 bits may not hold it, and that
    depends on the bases alone, Python's whole numbers do.

    >>> from discreet.methods.workloads import Marginals
    >>> strategy = residual(Marginals([2, 3], 1))
    >>> strategy.parts, strategy.measurements
    (((), (0,), (1,)), 4)
    """

    name: ClassVar[str] = "residuals of marginals"

    workload: Workload
    bases: tuple[AxisBasis, ...]
    weights: Mapping[Columns, float]

    @property
    def parts(self) -> tuple[Columns, ...]:
        """The sets of columns."""
        return tuple(self.weights)

    @property
    def measurements(self) -> int:
        """One for each row of each part."""
        return sum(math.prod(self.bases[place].rows for place in part) for part in self.weights)

    def _factors(self, part: Columns) -> Floats:
        """What the whole numbers of a part are multiplied by, in steps."""
        return self.weights[part] * _SCALE * self._scales(part)

    def _scales(self, part: Columns) -> Floats:
        """One over the length of each row of a part, before it has a weight."""
        scales: Floats = reduce(np.multiply.outer, [self.bases[place].scales for place in part], np.array(1.0))
        return scales

    @cached_property
    def reach(self) -> Reach:
        """The largest columns of all parts, added up: at least the largest column."""
        l1 = l2 = Fraction(0)
        for part, weight in self.weights.items():
            steps = Fraction(weight) * _SCALE * _FLOATS
            l1 += steps * math.prod(Fraction(self.bases[place].longest) for place in part)
            l2 += steps**2 * math.prod(self.bases[place].largest for place in part)
        return Reach(math.ceil(l1), math.ceil(l2), acute=False, rounded=self.measurements)

    def exact(self, counts: Any) -> NDArray[Any]:  # noqa: ANN401 - as the strategy says
        """Take differences along the columns of each marginal, and multiply."""
        counted = tally(counts, self.workload.shape)
        measured = {}
        for part in sorted(self.weights, key=len, reverse=True):  # smaller marginals are sums of larger ones
            table = counted.marginal(part)
            if math.prod(self.bases[place].most for place in part) >= _LARGE:
                table = table.astype(object)
            for axis, place in enumerate(part):
                table = self.bases[place].apply(table, axis)
            steps = np.clip(np.rint(table.astype(float) * self._factors(part)), -_FARTHEST, _FARTHEST)
            measured[part] = steps.astype(np.int64).ravel()
        return np.concatenate([measured[part] for part in self.weights])

    def answers(self, noisy: Floats) -> Floats:
        """Invert each part, put tables together, and answer the queries about them."""
        parts, place = {}, 0
        for part in self.weights:
            factors = self._factors(part)
            table = noisy[place : place + factors.size].reshape(factors.shape) / factors
            place += factors.size
            for axis, column in enumerate(part):
                table = self.bases[column].invert(table, axis)
            parts[part] = table
        answered = [self._answered(product, parts) for _, product in products_of(self.workload)]
        return np.concatenate([answer.ravel() for answer in answered])

    def _answered(self, product: Kron, parts: Mapping[Columns, Floats]) -> Floats:
        columns = _holds(product)
        table = put_together(columns, parts, self.workload.shape)
        for axis, place in enumerate(columns):
            factor = product.factors[place]
            if not isinstance(factor, Identity):
                table = along(table, factor.matrix(), axis)
        return table

    @cached_property
    def _left(self) -> dict[Columns, float]:
        """The variance of each part."""
        return {part: (weight * _SCALE) ** -2 for part, weight in self.weights.items()}

    @cached_property
    def total(self) -> float:
        """The sum over parts and products."""
        return sum(
            weight * self._left[part] * self._needed(product, part)
            for weight, product in products_of(self.workload)
            for part in below([_holds(product)])
        )

    def _needed(self, product: Kron, part: Columns) -> float:
        """How much of a product lies in a part."""
        return math.prod(
            self.bases[place].needed(product.factors[place])[place not in part] for place in _holds(product)
        )

    def variances(self) -> Floats:
        """The sum over parts for each query."""
        found = []
        for _, product in products_of(self.workload):
            columns = _holds(product)
            each = [self.bases[place].lengths(product.factors[place]) for place in columns]
            table = np.zeros([len(lengths[0]) for lengths in each])
            for part in below([columns]):
                chosen = [lengths[place not in part] for lengths, place in zip(each, columns, strict=True)]
                table = table + self._left[part] * reduce(np.multiply.outer, chosen, np.array(1.0))
            found.append(table.ravel())
        return np.concatenate(found)


def residual(workload: Workload) -> Residual:
    """Choose a basis for each column, and weights in closed form.

    >>> from discreet.methods.workloads import Kron, Marginals, Prefix, Total, Union
    >>> residual(Union([Kron([Prefix(4), Total(2)]), *Marginals([4, 2], [(1,)]).parts])).parts
    ((), (0,), (1,))
    """
    products = products_of(workload)
    bases = tuple(_basis(workload, place) for place in range(len(workload.shape)))
    parts = below(_holds(product) for _, product in products)
    made = Residual(workload, bases, dict.fromkeys(parts, 1.0))
    needed = dict.fromkeys(parts, 0.0)
    for weight, product in products:
        for part in below([_holds(product)]):
            needed[part] += weight * made._needed(product, part)  # noqa: SLF001 - of this file
    costs = {part: float(math.prod(bases[place].largest for place in part)) for part in parts}
    squares = {part: math.sqrt(needed[part] / costs[part]) if costs[part] else 0.0 for part in parts}
    whole = sum(squares[part] * costs[part] for part in parts)
    # A column with one value adds nothing to smaller marginals: such a part has no rows, and any weight.
    return Residual(workload, bases, {part: math.sqrt(squares[part] / whole) if costs[part] else 1.0 for part in parts})


def _basis(workload: Workload, place: int) -> AxisBasis:
    """Differences for a column that is only counted by value; the best basis for its own queries otherwise."""
    factors = {product.factors[place] for _, product in products_of(workload)}
    others = [factor for factor in factors if not isinstance(factor, Identity | Total)]
    size = workload.shape[place]
    if not others or size == 1:
        return Differences(size)
    wanted = [Identity(size)] if any(isinstance(factor, Identity) for factor in factors) else []
    return Residues.best([*wanted, *others])

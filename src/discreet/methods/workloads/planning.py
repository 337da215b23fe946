"""Planning: which strategy and noise answer a workload with the least error, and how far from the best that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.mechanisms.adding.grids import Norm
from discreet.mechanisms.adding.sums import Noise, adds_rows, best_noise, noisy_counts, variance_of
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.release import Release
from discreet.methods.workloads.algebra.workload import MOST_QUERIES, Workload
from discreet.methods.workloads.answered import Answered
from discreet.methods.workloads.candidates import candidates, changed
from discreet.methods.workloads.strategies.identity import Cells
from discreet.methods.workloads.strategies.itself import importance_of
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import ZCDP, Approximate, NeighborRelation, Pure

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.methods.workloads.algebra.workload import Floats
    from discreet.methods.workloads.strategies.strategy import Strategy
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Considered", "WorkloadPlan", "plan"]

_SAME = 1.001
_LISTED = 1 << 20


@dataclass(frozen=True, eq=False)
class Considered:
    """A strategy with the noise that a promise takes, and the squared error that is to be expected.

    >>> from discreet.methods.workloads import Prefix
    >>> from discreet.privacy import Pure
    >>> plan(Prefix(4), Pure(1)).considered[0].error > 0
    True
    """

    strategy: Strategy
    noise: Noise
    neighbors: Relation
    rows: int

    @property
    def error(self) -> float:
        """The expected squared error of all answers, each with its importance."""
        return self.variance * self.strategy.total

    @property
    def variance(self) -> float:
        """The variance of one measured number: that of the noise, and 1/12 for rounding real noise to whole numbers."""
        return float(variance_of(self.noise)) + (0.0 if isinstance(self.noise, DiscreteLaplace) else 1 / 12)

    @property
    def name(self) -> str:
        """The strategy and its noise."""
        return f"{self.strategy.name}, {'Laplace' if isinstance(self.noise, DiscreteLaplace) else 'Gaussian'}"


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadPlan:
    """What will be measured, with which noise, and how wrong the answers will be; from public facts alone.

    Privacy. The strategy's numbers are whole numbers; `Strategy.reach` bounds exactly how far one unit moves them, and
    the noise is a discrete Laplace or a rounded Gaussian one for that. Everything after it is post-processing.

    The `gap` compares the expected squared error with a lower bound for every strategy of this kind: linear
    measurements with Laplace or Gaussian noise, and estimates of least squares. For Laplace noise the bound uses that
    the largest column is at least as long in L1 as in L2, and is not tight.

    >>> from discreet.methods.workloads import Predicates
    >>> from discreet.privacy import Pure
    >>> men_and_women = Predicates([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]])
    >>> print(plan(men_and_women, Pure(1)))
    4 queries of 4 cells, promise ε = 1: identity, Laplace; squared error 12 in all, 1.73 per query (root mean square).
    No strategy of this kind has less than 10.47; within 15 % in squared error.
    considered                         squared error
    each query for its share, Laplace          128
    hierarchical, Laplace                     43.3
    the workload itself, Laplace                32
    Haar wavelet, Laplace                     31.4
    tree, Laplace                               12
    p-identity, Laplace                         12
    identity, Laplace                           12
    """

    workload: Workload
    chosen: Considered
    considered: tuple[Considered, ...]
    bound: float

    @property
    def strategy(self) -> Strategy:
        """What is measured."""
        return self.chosen.strategy

    @property
    def noise(self) -> Noise:
        """What is added to each measured number."""
        return self.chosen.noise

    @property
    def privacy(self) -> Curve:
        """The curve of a release."""
        return self.noise.privacy

    @property
    def promise(self) -> Answered:
        """What a release stands on."""
        return Answered(
            strategy=self.strategy.name,
            queries=self.workload.queries,
            noise=self.noise,
            rows=self.chosen.rows,
            whole=self.strategy.whole,
            neighbors=self.chosen.neighbors,
        )

    @property
    def total_squared_error(self) -> float:
        """The expected squared error of all answers, each with its importance."""
        return self.chosen.error

    @property
    def rmse(self) -> float:
        """The root of the mean expected squared error per query; the mean is by importance."""
        return math.sqrt(self.total_squared_error / importance_of(self.workload))

    @property
    def gap(self) -> float:
        """By how much the squared error may exceed the least possible one, as a share of it."""
        return self.total_squared_error / self.bound - 1 if self.bound else math.inf

    @cached_property
    def deviations(self) -> Floats:
        """The standard deviation of each answer."""
        if self.workload.queries > MOST_QUERIES:
            msg = f"{self.workload.queries} queries are too many to list; rmse is their root mean square."
            raise ParameterError(msg)
        return np.sqrt(self.chosen.variance * self.strategy.variances())

    def error(self, confidence: float = 0.95) -> Floats:
        """Return the ± of each answer."""
        return self.promise.reach(self.deviations, confidence)

    def release(self, counts: Any, *, bits: BitSource = SYSTEM) -> Release[NDArray[np.float64]]:  # noqa: ANN401
        """Answer all queries about counts that the caller holds: of all cells, or a `Records` of rows of codes.

        Of more than a million queries the estimated cells are the answer, from which the others follow by sums.

        >>> from discreet.methods.workloads import Prefix
        >>> from discreet.privacy import Pure
        >>> answer = plan(Prefix(3), Pure(1)).release([4, 0, 1])
        >>> answer.value.shape, answer.error(0.95).shape, answer.mechanism.promise
        ((3,), (3,), 'ε = 1')
        """
        exact = self.strategy.measure(counts)
        noisy = noisy_counts(exact, self.noise, bits).astype(np.float64)
        if self.workload.queries > _LISTED:
            cells = self.strategy.cells(noisy)
            if cells is None:
                msg = f"{self.workload.queries} answers are too many to list, and the cells are not determined."
                raise ParameterError(msg)
            return Release(cells, self.promise)
        details = MappingProxyType({"deviations": self.deviations})
        return Release(self.strategy.answers(noisy), self.promise, details)

    def __str__(self) -> str:
        gap = f"within {100 * self.gap:.2g} %" if self.gap < 1 else f"within a factor of {self.gap + 1:.3g}"
        asked = f"{self.workload.queries} queries of {self.workload.cells} cells"
        error = f"squared error {self.total_squared_error:.4g} in all, {self.rmse:.3g} per query (root mean square)."
        width = max(len(one.name) for one in self.considered) + 2
        lines = [
            f"{asked}, promise {self.promise.promise}: {self.chosen.name}; {error}",
            f"No strategy of this kind has less than {self.bound:.4g}; {gap} in squared error.",
            f"{'considered':<{width}}squared error",
            *(f"{one.name:<{width}}{one.error:>11.3g}" for one in self.considered),
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"WorkloadPlan({self.workload}, {self.chosen.name}, rmse={self.rmse:.4g})"


def plan(
    workload: Workload,
    privacy: Pure | Approximate | ZCDP,
    *,
    rows_per_unit: SupportsIndex = 1,
) -> WorkloadPlan:
    """Choose what to measure and with which noise: by the expected squared error, from public facts alone.

    `privacy` is a promise with its neighbors: a pure epsilon takes Laplace noise, rho Gaussian noise, and an
    (epsilon, delta) whichever errs less. A unit has at most `rows_per_unit` rows.

    >>> from discreet.methods.workloads import AllRange
    >>> from discreet.privacy import ZCDP
    >>> found = plan(AllRange(64), ZCDP("0.5"))
    >>> found.chosen.name, round(found.rmse, 2), found.gap < 0.001
    ('fixed point, Gaussian', 2.3, True)
    """
    if not isinstance(workload, Workload):
        msg = f"workload is {shown(workload)}; it must be a workload, such as Prefix(100) or Marginals([2, 5, 9], 2)."
        raise ParameterError(msg)
    price = _price(privacy)
    rows = integer(rows_per_unit, name="rows_per_unit", least=1, most=1 << 30)
    norms = [Norm.L1] if isinstance(privacy, Pure) else [Norm.L2] if isinstance(privacy, ZCDP) else [Norm.L1, Norm.L2]
    found, root = candidates(workload, norms)
    neighbors = privacy.neighbors
    considered = []
    refused: ParameterError | None = None
    for make in found:
        strategy = make()
        moved = strategy.reach.moved(strategy.measurements, neighbors, rows)
        try:
            considered.append(Considered(strategy, best_noise(moved, neighbors=neighbors, **price), neighbors, rows))
        except ParameterError as error:  # so much privacy, or so little, that no sampler has this noise
            refused = error
    if refused is not None and not considered:
        raise refused
    least = min(one.error for one in considered)
    simple = next((one for one in considered if one.strategy.name == Cells.name and one.error <= _SAME * least), None)
    considered.sort(key=lambda one: (-one.error, one is simple))
    chosen = considered[-1] if simple is None else simple
    if chosen is not considered[-1]:
        considered.remove(chosen)
        considered.append(chosen)
    root = changed(workload, root) if not adds_rows(neighbors) else root
    unit = _unit_variance(neighbors, rows, price)
    return WorkloadPlan(workload, chosen, tuple(considered), unit * root)


def _price(privacy: Pure | Approximate | ZCDP) -> dict[str, Any]:
    if isinstance(privacy, ZCDP) and not privacy.delta:
        return {"rho": privacy.rho}
    if isinstance(privacy, Approximate):
        return {"epsilon": privacy.epsilon, "delta": privacy.delta}
    if isinstance(privacy, Pure):
        return {"epsilon": privacy.epsilon}
    msg = f"privacy is {shown(privacy)}; it must be Pure(epsilon), ZCDP(rho) or Approximate(epsilon, delta)."
    raise ParameterError(msg)


def _unit_variance(neighbors: Relation, rows: int, price: dict[str, Any]) -> float:
    """The variance of noise for a strategy whose columns have length 1 in L2, in the norm that takes less."""
    from discreet.methods.workloads.strategies.strategy import STEPS, Reach

    reach = Reach(STEPS, STEPS**2, apart_squared=STEPS**2)  # two columns may be as close as we like; none to nothing
    noise = best_noise(reach.moved(1, NeighborRelation.ADD_REMOVE, rows), neighbors=neighbors, **price)
    return float(variance_of(noise)) / STEPS**2 * (1 - 1e-9)

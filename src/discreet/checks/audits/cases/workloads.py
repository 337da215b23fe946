"""Workloads: each strategy with its noise, and multiplicative weights, on tiny domains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.audits.case import Case, looking_at
from discreet.checks.audits.laws import normal_above, rounded_law
from discreet.mechanisms.adding.sums import noisy_counts
from discreet.methods.workloads import (
    Identity,
    Kron,
    Marginals,
    MultiplicativeWeights,
    Mwem,
    Predicates,
    Prefix,
    Workload,
    WorkloadPlan,
    plan,
)
from discreet.privacy import ZCDP, NeighborRelation, Pure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]

_CHANGED = NeighborRelation.CHANGE_ONE
_BINS = 8


def _chosen(workload: Workload, privacy: Pure | ZCDP, name: str) -> WorkloadPlan:
    """A plan whose strategy is the one of this name."""
    found = plan(workload, privacy)
    chosen = next(one for one in found.considered if one.strategy.name == name)
    return WorkloadPlan(found.workload, chosen, found.considered, found.bound)


@dataclass(frozen=True)
class _Neighbors:
    """Two inputs, and what is looked at of releases on either."""

    first: Any
    second: Any

    def _noisy(self, made: WorkloadPlan, value: Any, count: int, bits: BitSource) -> NDArray[np.float64]:  # noqa: ANN401
        exact = made.strategy.measure(np.array(value))
        return noisy_counts(np.tile(exact, (count, 1)), made.noise, bits).astype(float)

    def _ends(self, made: WorkloadPlan) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        here, there = (made.strategy.measure(np.array(each)).astype(float) for each in (self.first, self.second))
        return here, there

    def directed(self, made: WorkloadPlan, value: Any, count: int, bits: BitSource) -> NDArray[Any]:  # noqa: ANN401
        """Look at the noisy numbers along the way from one neighbor's to the other's, in eighths of it.

        For Gaussian noise all that tells the two apart lies there.
        """
        here, there = self._ends(made)
        way = there - here
        along = (self._noisy(made, value, count, bits) - here) @ way / float(way @ way)
        return np.rint(along * _BINS).astype(int)

    def ratio(self, made: WorkloadPlan, value: Any, count: int, bits: BitSource) -> NDArray[Any]:  # noqa: ANN401
        """Look at how much nearer in L1 the noisy numbers are to one neighbor's than to the other's: the whole loss."""
        here, there = self._ends(made)
        noisy = self._noisy(made, value, count, bits)
        gap = np.abs(noisy - here).sum(axis=1) - np.abs(noisy - there).sum(axis=1)
        seen: NDArray[Any] = np.rint(gap / np.abs(there - here).sum() * _BINS).astype(int)
        return seen

    def normal(self, made: WorkloadPlan, value: Any) -> dict[int, float]:  # noqa: ANN401
        """A normal law with a deviation from the longest column, over the way's length."""
        here, there = self._ends(made)
        deviation = _sigma(made) / float(np.linalg.norm(there - here)) * _BINS
        return rounded_law(lambda x: normal_above(x / deviation), 0 if value == self.first else _BINS, -60, 60)

    def counted(self, made: WorkloadPlan, value: Any) -> dict[int, float]:  # noqa: ANN401
        """The same look where single rows are counted: a sum of normal noises, each rounded by itself."""
        here, there = self._ends(made)
        sigma, way = _sigma(made), (there - here).astype(int).tolist()
        reach = math.ceil(12 * sigma)
        single = np.array(list(rounded_law(lambda x: normal_above(x / sigma), 0, -reach, reach).values()))
        chances = np.ones(1)
        for step in way:
            spread = np.zeros(2 * reach * abs(step) + 1)
            spread[:: abs(step) or 1] = single if step else 1.0
            chances = np.convolve(chances, spread)
        square, law = sum(step * step for step in way), dict[int, float]()
        start = 0 if value == self.first else square
        for place, chance in enumerate(chances.tolist()):
            seen = round((place - chances.size // 2 + start) / square * _BINS)
            law[seen] = law.get(seen, 0.0) + chance
        return law


def _sigma(made: WorkloadPlan) -> float:
    """The deviation of the noise, by the longest column, worked out from single rows."""
    units = np.eye(made.workload.cells, dtype=np.int64)
    columns = [made.strategy.measure(unit.reshape(made.workload.shape)).astype(float) for unit in units]
    longest = max(float(np.linalg.norm(column)) for column in columns)
    return longest / math.sqrt(2 * float(made.noise.claim.rho))  # type: ignore[union-attr]  # a price in rho


def _plans() -> list[Case]:
    """One more row where it moves the numbers furthest, for each strategy and noise."""
    line = Prefix(4)
    none, one = [0, 0, 0, 0], [1, 0, 0, 0]
    square, empty, full = Marginals([2, 2], [(0, 1), (0,)]), [[0, 0], [0, 0]], [[1, 0], [0, 0]]
    grid = Kron([Prefix(2), Identity(2)])
    laplace: Sequence[tuple[Workload, str, Any, Any]] = [
        (line, "identity", none, one),
        (line, "the workload itself", none, one),
        (line, "each query for its share", none, one),
        (line, "hierarchical", none, one),
        (line, "tree", none, one),
        (line, "Haar wavelet", none, one),
        (line, "p-identity", none, one),
        (square, "weighted marginals", empty, full),
        (grid, "product", empty, full),
    ]
    found = [
        Case(
            f"{name}, Laplace", _chosen(workload, Pure(2), name), a, b, _Neighbors(a, b).ratio, draws=8_000, coarse=True
        )
        for workload, name, a, b in laplace
    ]
    gaussian: Sequence[tuple[Workload, str, Any, Any]] = [
        (line, "hierarchical", none, one),
        (line, "tree", none, one),
        (line, "Haar wavelet", none, one),
        (line, "fixed point", none, one),
        (grid, "product", empty, full),
        (square, "residuals of marginals", empty, full),
        (square, "weighted marginals", empty, full),
    ]
    found += [
        Case(
            f"{name}, Gaussian",
            _chosen(workload, ZCDP("0.5"), name),
            a,
            b,
            _Neighbors(a, b).directed,
            delta="1e-3",
            law=_Neighbors(a, b).normal,
            coarse=True,
        )
        for workload, name, a, b in gaussian
    ]
    exchanged = _chosen(Predicates([[1, 0], [0, 1]]), Pure(2, neighbors=_CHANGED), "identity")
    pair = _Neighbors([1, 0], [0, 1])
    return [
        *found,
        *_counting_rows(),
        Case("exchanged, Laplace", exchanged, pair.first, pair.second, pair.ratio, draws=8_000, coarse=True),
    ]


def _counting_rows() -> list[Case]:
    """The same for strategies that count single rows: rounding their noise is seen."""
    pair = _Neighbors([0, 0, 0, 0], [1, 0, 0, 0])
    return [
        Case(
            f"{name}, Gaussian",
            _chosen(Prefix(4), ZCDP("0.5"), name),
            pair.first,
            pair.second,
            pair.directed,
            delta="1e-3",
            law=pair.counted,
            coarse=True,
        )
        for name in ("identity", "the workload itself", "each query for its share")
    ]


def _above(x: float, scale: float) -> float:
    """The chance that Laplace noise is at least x."""
    return math.exp(-x / scale) / 2 if x > 0 else 1 - math.exp(x / scale) / 2


def _one_query(weights: MultiplicativeWeights, value: Any) -> dict[int, float]:  # noqa: ANN401
    """One query about the first of two cells: the guess, or if it seems off the count with noise of its own."""
    counts, _ = value
    share = 1 / (1 + 2 ** (2 / 3))
    half, truth, guess = float(weights.claim.epsilon) / 2, counts[0], weights.population / 2  # type: ignore[operator]
    first, second = 1 / (half * share), 2 / (half * (1 - share))
    bars = np.linspace(-80, 80, 40_001)
    density = np.exp(-np.abs(bars) / first)
    density /= density.sum()
    below = [
        np.array([1 - _above(1 + bar - sign * (truth - guess), second) for bar in bars.tolist()]) for sign in (1, -1)
    ]
    quiet = float((density * below[0] * below[1]).sum())
    law = rounded_law(lambda x: _above(x, 1 / half), truth, -40, 40)
    law = {number: chance * (1 - quiet) for number, chance in law.items()}
    law[round(guess)] += quiet
    return law


def _one_round(fitted: Mwem, value: Any) -> dict[str, float]:  # noqa: ANN401
    """One of two queries, likelier the more it is off, and its count with noise."""
    counts, _ = value
    each, even = float(fitted.epsilon) / 2, fitted.population / 2  # type: ignore[operator]  # public here
    weights = [math.exp(each / 2 * abs(count - even)) for count in counts]
    law = {}
    for place, count in enumerate(counts):
        for number, chance in rounded_law(lambda x: _above(x, 1 / each), count, -40, 40).items():
            law[str((place, number))] = chance * weights[place] / sum(weights)
    return law


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    weights = MultiplicativeWeights(2, threshold=1, updates=1, epsilon=2, population=2)
    fitted = Mwem(rounds=1, epsilon=2, population=2)
    asked, listed = [[1, 0]], [[1, 0], [0, 1]]
    answers = looking_at(lambda release: _within(release.value[0]))
    chosen = looking_at(
        lambda release: str((int(release.details["chosen"][0]), _within(release.details["answers"][0])))
    )
    return (
        *_plans(),
        Case("one query", weights, ([1, 1], asked), ([2, 1], asked), answers, law=_one_query, draws=4_000, coarse=True),
        Case("one round", fitted, ([1, 1], listed), ([2, 1], listed), chosen, law=_one_round, draws=4_000, coarse=True),
    )


def _within(number: float) -> int:
    """Round, and stop at the ends of the laws."""
    return min(max(round(number), -40), 40)

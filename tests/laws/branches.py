"""Mechanisms as users make them, with two inputs of neighbors each: the branches that no audit case goes through.

Laws run over these and over the mechanisms of all audit cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.mechanisms import (
    AboveThreshold,
    Cdf,
    ContingencyTable,
    Correlation,
    Count,
    CountDistinct,
    CountedTrimmedMean,
    Covariance,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Histogram,
    InverseSensitivity,
    JointQuantiles,
    Laplace,
    LocalSensitivityBound,
    Maximum,
    Mean,
    Mechanism,
    Minimum,
    Mode,
    NoisyMax,
    PartitionSelection,
    PredictionVariance,
    ProposedMedian,
    ProposedScale,
    ProposeTestRelease,
    Quantile,
    Quantiles,
    RandomizedResponse,
    ReciprocalCount,
    SampleAndAggregate,
    SmoothQuantile,
    StableTopK,
    StableValue,
    Staircase,
    StandardDeviation,
    Sum,
    TopK,
    TrimmedMean,
    Variance,
)
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

CHANGED = NeighborRelation.CHANGE_ONE
TINY: dict[str, Any] = {"lower": 0, "upper": 3, "grid": 1}
PAIR: dict[str, Any] = {"first": (0, 1), "second": (0, 1), "grids": (1, 1)}
QUARTERS = ["1/4", "1/2", "3/4"]


class Branch(NamedTuple):
    """A mechanism with two inputs that neighbors could give it."""

    mechanism: Mechanism[Any, Any]
    first: Any
    second: Any


def loud(rows: Sequence[float]) -> float:
    """The largest row: one is enough to move it all the way."""
    return max(rows, default=0.0)


BRANCHES: list[Branch] = [
    Branch(DiscreteGaussian(1, rho="0.005"), 0, 1),
    Branch(DiscreteGaussian(3, epsilon="1/2", delta=1e-5, dimensions=1), 0, 3),
    Branch(DiscreteGaussian(2, sigma=2, norm="l2"), [0, 0, 0, 0], [1, 1, 1, 1]),
    Branch(DiscreteGaussian(1, epsilon=2, delta="0.01", neighbors=CHANGED), 5, 4),
    Branch(DiscreteLaplace(1, scale=100), 0, 1),
    Branch(DiscreteLaplace(3, epsilon="1/2", dimensions=1), 0, 3),
    Branch(DiscreteLaplace(2, epsilon=1), [0, 5], [1, 6]),
    Branch(DiscreteLaplace(1, epsilon=2, neighbors=CHANGED), 5, 4),
    Branch(Gaussian(1, rho="0.005"), 0, 1),
    Branch(Gaussian(1, epsilon="1/2", delta=1e-5), 0, 1),
    Branch(Gaussian(5, sigma=4, dimensions=2), [0.0, 7.0], [3.0, 11.0]),
    Branch(Gaussian("0.5", epsilon=2, delta="0.01", neighbors=CHANGED), 0.5, 1.0),
    Branch(Laplace(1, scale=20), 0, 1),
    Branch(Laplace(1, epsilon="1/2"), 0, 1),
    Branch(Laplace(3, epsilon=1, dimensions=2), [0.0, 7.0], [3.0, 7.0]),
    Branch(Laplace("0.5", epsilon=2, neighbors=CHANGED), 0.5, 1.0),
    Branch(Staircase(1, epsilon="0.05"), 0, 1),
    Branch(Staircase(1, epsilon=3, grid="1/64"), 0.0, 1.0),
    Branch(Staircase(4, epsilon=4, near=2, neighbors=CHANGED), 7, 3),
    Branch(Exponential(1, epsilon="1/4"), [0, 0], [1, -1]),
    Branch(Exponential(1, epsilon=1), [3, 0, 0], [2, 1, 1]),
    Branch(Exponential("0.5", epsilon=3, neighbors=CHANGED), [0.0, 0.0], [0.5, -0.5]),
    Branch(JointQuantiles(["1/3", "2/3"], **TINY, epsilon="1/2"), [0, 3], [0, 3, 3]),
    Branch(JointQuantiles(["1/3", "2/3"], **TINY, epsilon=2), [0, 0, 3, 3], [0, 0, 3, 3, 3]),
    Branch(JointQuantiles(["1/3", "2/3"], **TINY, epsilon=3, neighbors=CHANGED), [0, 0, 3], [0, 3, 3]),
    Branch(Mode("ab", epsilon="1/2"), ["a", "b"], ["a", "b", "b"]),
    Branch(Mode("abc", epsilon=2), ["a", "b", "c"], ["a", "b", "c", "c"]),
    Branch(NoisyMax(1, epsilon="1/4"), [0, 0], [1, -1]),
    Branch(NoisyMax(1, epsilon=1, noise="laplace"), [3, 2, 2], [2, 3, 3]),
    Branch(NoisyMax(1, epsilon=1, noise="gumbel", monotone=True), [3, 3, 2], [3, 4, 2]),
    Branch(NoisyMax("0.5", epsilon=3, neighbors=CHANGED), [0.0, 0.0], [0.5, -0.5]),
    Branch(Quantile("1/2", **TINY, epsilon="1/2"), [0, 3], [0, 3, 3]),
    Branch(Quantile("0.9", **TINY, epsilon=2), [0, 2, 3], [0, 0, 2, 3]),
    Branch(Quantile("1/2", **TINY, epsilon=3, neighbors=CHANGED), [0, 0, 3], [0, 3, 3]),
    Branch(Quantiles(QUARTERS, **TINY, epsilon="1/2"), [0, 3], [0, 3, 3]),
    Branch(Quantiles(QUARTERS, **TINY, epsilon=2), [0, 0, 3, 3], [0, 0, 3, 3, 3]),
    Branch(Quantiles(QUARTERS, **TINY, epsilon=3, neighbors=CHANGED), [0, 0, 3], [0, 3, 3]),
    Branch(Quantiles(QUARTERS, **TINY, epsilon=3, delta=1e-3), [0, 0, 3, 3], [0, 0, 3, 3, 3]),
    Branch(TopK(2, sensitivity=1, epsilon="1/2"), [0, 0, 0], [1, 1, -1]),
    Branch(TopK(2, sensitivity=1, epsilon=3, delta=1e-3), [1, 1, -1], [0, 0, 0]),
    Branch(AboveThreshold(0, sensitivity=1, epsilon="0.2", grid=1, inputs="snapped"), [0, 0, 1], [1, 1, 0]),
    Branch(AboveThreshold(1, sensitivity=1, epsilon=1, above=2), [0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]),
    Branch(AboveThreshold(0, sensitivity=1, epsilon=3, monotone=True, grid=1, inputs="snapped"), [0, 0], [1, 1]),
    Branch(CountDistinct(values=3, epsilon="0.1"), ("a", "b", "c", "d"), ("a",)),
    Branch(CountDistinct(values=2, epsilon=3, neighbors=CHANGED), ("a", "b", "c"), ("c", "c", "c")),
    Branch(PartitionSelection(epsilon="0.1", delta="0.001"), {"a": 50}, {"a": 51}),
    Branch(PartitionSelection(epsilon=1, delta="0.1", method="gaussian"), {"a": 1}, {}),
    Branch(PartitionSelection(epsilon=2, delta="0.1", neighbors=CHANGED), {"a": 1}, {"b": 1}),
    Branch(RandomizedResponse(2, epsilon="0.1"), 0, 1),
    Branch(RandomizedResponse(4, epsilon=2), [0, 3], [0, 1]),
    Branch(InverseSensitivity(lower=0, upper=8, grid=1, epsilon="1/2"), (3, [1, 1, 2]), (4, [1, 1, 1])),
    Branch(InverseSensitivity(lower=0, upper=8, grid="1/2", epsilon=2), ("2.5", [2, 2]), ("4.5", [2, 2])),
    Branch(LocalSensitivityBound(1, epsilon="1/2", delta="1e-6"), (0, 1), (1, 2)),
    Branch(LocalSensitivityBound(1, epsilon=2, delta="0.05"), (0, 1), (1, 2)),
    Branch(LocalSensitivityBound("1/2", epsilon=4, delta="0.05", grid="1/2"), (0, 3), (3, "3.5")),
    Branch(PredictionVariance([1], radius=1, ridge=1, epsilon="1/2"), [[1.0]], [[1.0], [1.0]]),
    Branch(PredictionVariance([1, 0], radius=1, ridge=1, epsilon=2), [[0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]),
    Branch(ProposeTestRelease(1, epsilon="1/2", delta="1e-6"), (0.0, 0), (50.0, 0)),
    Branch(ProposedMedian(1, lower=0, upper=100, grid=1, epsilon="1/2", delta="1e-6"), [0, 100], [0, 100, 100]),
    Branch(ProposedScale(2, lower=0, upper=100, grid=1, epsilon="1/2", delta="1e-6"), [0, 1], [0, 1, 100]),
    Branch(ReciprocalCount(epsilon="1/2"), 1, 2),
    Branch(SampleAndAggregate(2, lower=0, upper=4, grid=1, epsilon="1/2"), ([0.0], loud), ([0.0, 4.0], loud)),
    Branch(
        SampleAndAggregate(1, lower=0, upper=4, grid=1, epsilon=2, aggregator="median"),
        ([0.0], loud),
        ([0.0, 4.0], loud),
    ),
    Branch(
        SampleAndAggregate(1, lower=0, upper=4, epsilon=2, aggregator="mode", neighbors=CHANGED),
        ([0.0], loud),
        ([4.0], loud),
    ),
    Branch(SmoothQuantile("1/2", lower=0, upper=3, grid=1, epsilon="1/2"), [0, 3], [0, 3, 3]),
    Branch(SmoothQuantile("1/2", lower=0, upper=3, grid="1/4", epsilon=2), [0, 0, 3], [0, 3]),
    Branch(SmoothQuantile("0.9", lower=0, upper=3, grid="1/4", rho="1/2", neighbors=CHANGED), [0, 2, 3], [0, 2, 0]),
    Branch(
        SmoothQuantile("1/2", lower=0, upper=8, grid="1/4", epsilon=2, delta="0.01", law="laplace", shape=1),
        [4, 4, 4],
        [4, 4, 8, 4],
    ),
    Branch(StableTopK("ab", epsilon="1/2", delta="1e-6"), ["a", "b"], ["a", "b", "b"]),
    Branch(StableValue(epsilon="0.1", delta="1e-6"), ("a", 0), ("b", 0)),
    Branch(StableValue(epsilon=1, delta="0.05"), ("a", 0), ("b", 0)),
    Branch(TrimmedMean(1, lower=0, upper=4, grid=1, epsilon="1/2"), [0, 2, 4], [0, 2, 4, 4]),
    Branch(TrimmedMean(1, lower=0, upper=4, grid="1/4", epsilon=2), [], [4]),
    Branch(TrimmedMean(1, lower=0, upper=4, grid="1/4", rho=1, neighbors=CHANGED), [0, 2, 2, 4], [2, 2, 4, 4]),
    Branch(Cdf([0, 1], epsilon="1/2"), [0, 1], [0, 1, 1]),
    Branch(Cdf([0, 1], epsilon=2, size=2, neighbors=CHANGED), [0, 1], [0, 5]),
    Branch(ContingencyTable(["ab"], epsilon="1/4"), (["a", "b"],), (["a", "b", "b"],)),
    Branch(Correlation(**PAIR, epsilon="1/2"), ([0, 1], [0, 1]), ([0, 1, 1], [0, 1, 1])),
    Branch(Correlation(**PAIR, epsilon=2), ([0, 1], [1, 0]), ([0, 1, 1], [1, 0, 0])),
    Branch(Correlation(**PAIR, epsilon=2, size=2, neighbors=CHANGED), ([0, 1], [0, 1]), ([0, 0], [0, 0])),
    Branch(Count(epsilon="1/10"), [5, 5], [5, 5, 5]),
    Branch(Count(rho=1), [5, 5, 5], [5, 5]),
    Branch(Count(epsilon=2, neighbors=CHANGED), [5, None], [5, 5]),
    Branch(Covariance(**PAIR, epsilon="1/2"), ([0, 1], [0, 1]), ([0, 1, 1], [0, 1, 1])),
    Branch(Covariance(**PAIR, epsilon=2), ([0, 1], [1, 0]), ([0, 1, 1], [1, 0, 0])),
    Branch(Covariance(**PAIR, epsilon=2, size=2, neighbors=CHANGED), ([0, 1], [0, 1]), ([0, 0], [0, 0])),
    Branch(Maximum(**TINY, rank=1, epsilon="1/2"), [0, 3], [0, 3, 0]),
    Branch(Maximum(**TINY, rank=1, epsilon=2), [0, 0, 3, 3], [0, 3, 3]),
    Branch(Maximum(**TINY, rank=1, epsilon=3, neighbors=CHANGED), [0, 0, 3], [0, 3, 3]),
    Branch(Minimum(**TINY, rank=1, epsilon="1/2"), [0, 3], [0, 3, 0]),
    Branch(Minimum(**TINY, rank=1, epsilon=2), [0, 0, 3, 3], [0, 3, 3]),
    Branch(Minimum(**TINY, rank=1, epsilon=3, neighbors=CHANGED), [0, 0, 3], [0, 3, 3]),
    Branch(Histogram([0, 1, 2], epsilon="1/4"), [0.5, 1.5], [0.5, 1.5, 1.5]),
    Branch(Histogram([0, 1, 2], rho="1/2"), [0.5, 1.5], [0.5, 1.5, 1.5]),
    Branch(Mean(lower=0, upper=1, epsilon="1/2", grid=1), [0, 1], [0, 1, 1]),
    Branch(Mean(lower=-1, upper=3, epsilon=2, grid=1), [0, 1, 3], [0, 1, 3, -1]),
    Branch(Mean(lower=0, upper=1, rho="1/8", grid="1/4"), [0, 1], [0, 1, 1]),
    Branch(StandardDeviation(lower=0, upper=1, epsilon="1/2", grid=1), [0, 1], [0, 1, 1]),
    Branch(StandardDeviation(lower=0, upper=2, epsilon=2, grid=1), [0, 1, 2], [0, 1, 2, 2]),
    Branch(StandardDeviation(lower=0, upper=1, rho="1/8", grid=1), [0, 1], [0, 1, 1]),
    Branch(Sum(lower=0, upper=1, epsilon="1/2", grid=1), [0, 1], [0, 1, 1]),
    Branch(Sum(lower=0, upper=1, rho="1/8", grid="1/4"), [0, 1], [0, 1, 1]),
    Branch(Sum(lower=-1, upper=1, epsilon=2, grid=1, size=2, neighbors=CHANGED), [0, 1], [0, -1]),
    Branch(CountedTrimmedMean(lower=0, upper=4, epsilon="1/2"), [0, 2, 4], [0, 2, 4, 4]),
    Branch(CountedTrimmedMean(lower=0, upper=4, epsilon=2), [], [4]),
    Branch(Variance(lower=0, upper=1, epsilon="1/2", grid=1), [0, 1], [0, 1, 1]),
    Branch(Variance(lower=0, upper=2, epsilon=2, grid=1), [0, 1, 2], [0, 1, 2, 2]),
    Branch(Variance(lower=0, upper=1, rho="1/8", grid=1), [0, 1], [0, 1, 1]),
]

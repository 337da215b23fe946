"""A statistic made private: one mechanism, one file, found by walking the folders of `registry.GROUPS`.

Names are imported when they are first used, here and as `discreet.Laplace`.

>>> from discreet import mechanisms as m
>>> m.Laplace(sensitivity=1, epsilon="0.5").promise
'ε = 0.5'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.mechanisms.additive import Inputs as Inputs
    from discreet.mechanisms.choices.exponential import Exponential as Exponential
    from discreet.mechanisms.choices.exponential import exponential as exponential
    from discreet.mechanisms.choices.joint_quantiles import JointQuantiles as JointQuantiles
    from discreet.mechanisms.choices.mode import Mode as Mode
    from discreet.mechanisms.choices.noisy_max import NoisyMax as NoisyMax
    from discreet.mechanisms.choices.noisy_max import RaceNoise as RaceNoise
    from discreet.mechanisms.choices.quantile import Quantile as Quantile
    from discreet.mechanisms.choices.quantile import median as median
    from discreet.mechanisms.choices.quantile import quantile as quantile
    from discreet.mechanisms.choices.quantiles import Quantiles as Quantiles
    from discreet.mechanisms.choices.quantiles import quantiles as quantiles
    from discreet.mechanisms.choices.top_k import TopK as TopK
    from discreet.mechanisms.choices.top_k import TopKMethod as TopKMethod
    from discreet.mechanisms.instances.inverse_sensitivity import InverseSensitivity as InverseSensitivity
    from discreet.mechanisms.instances.local_sensitivity_bound import LocalSensitivityBound as LocalSensitivityBound
    from discreet.mechanisms.instances.prediction_variance import PredictionVariance as PredictionVariance
    from discreet.mechanisms.instances.propose_test_release import ProposeTestRelease as ProposeTestRelease
    from discreet.mechanisms.instances.proposed_median import ProposedMedian as ProposedMedian
    from discreet.mechanisms.instances.proposed_scale import ProposedScale as ProposedScale
    from discreet.mechanisms.instances.reciprocal_count import ReciprocalCount as ReciprocalCount
    from discreet.mechanisms.instances.sample_and_aggregate import Aggregator as Aggregator
    from discreet.mechanisms.instances.sample_and_aggregate import SampleAndAggregate as SampleAndAggregate
    from discreet.mechanisms.instances.smooth_quantile import SmoothQuantile as SmoothQuantile
    from discreet.mechanisms.instances.smooth_sensitivity import SmoothSensitivity as SmoothSensitivity
    from discreet.mechanisms.instances.stable_top_k import StableTopK as StableTopK
    from discreet.mechanisms.instances.stable_top_k import argmax_distance as argmax_distance
    from discreet.mechanisms.instances.stable_value import StableValue as StableValue
    from discreet.mechanisms.instances.trimmed_mean import TrimmedMean as TrimmedMean
    from discreet.mechanisms.mechanism import Mechanism as Mechanism
    from discreet.mechanisms.mechanism import registered as registered
    from discreet.mechanisms.norms import Norm as Norm
    from discreet.mechanisms.numbers.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
    from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace as DiscreteLaplace
    from discreet.mechanisms.numbers.gaussian import Gaussian as Gaussian
    from discreet.mechanisms.numbers.laplace import Laplace as Laplace
    from discreet.mechanisms.numbers.staircase import Staircase as Staircase
    from discreet.mechanisms.per_instance import largest_move as largest_move
    from discreet.mechanisms.per_instance import pdp as pdp
    from discreet.mechanisms.promise import Promise as Promise
    from discreet.mechanisms.recommendation import Option as Option
    from discreet.mechanisms.recommendation import Recommendation as Recommendation
    from discreet.mechanisms.recommendation import recommend as recommend
    from discreet.mechanisms.release import Release as Release
    from discreet.mechanisms.responses.randomized_response import RandomizedResponse as RandomizedResponse
    from discreet.mechanisms.responses.randomized_response import Shares as Shares
    from discreet.mechanisms.statistics.cdf import Cdf as Cdf
    from discreet.mechanisms.statistics.cdf import cdf as cdf
    from discreet.mechanisms.statistics.contingency_table import ContingencyTable as ContingencyTable
    from discreet.mechanisms.statistics.contingency_table import contingency_table as contingency_table
    from discreet.mechanisms.statistics.correlation import Correlation as Correlation
    from discreet.mechanisms.statistics.correlation import correlation as correlation
    from discreet.mechanisms.statistics.count import Count as Count
    from discreet.mechanisms.statistics.count import count as count
    from discreet.mechanisms.statistics.covariance import Covariance as Covariance
    from discreet.mechanisms.statistics.covariance import covariance as covariance
    from discreet.mechanisms.statistics.extremes import Maximum as Maximum
    from discreet.mechanisms.statistics.extremes import Minimum as Minimum
    from discreet.mechanisms.statistics.extremes import maximum as maximum
    from discreet.mechanisms.statistics.extremes import minimum as minimum
    from discreet.mechanisms.statistics.histogram import Histogram as Histogram
    from discreet.mechanisms.statistics.histogram import histogram as histogram
    from discreet.mechanisms.statistics.mean import Mean as Mean
    from discreet.mechanisms.statistics.mean import mean as mean
    from discreet.mechanisms.statistics.standard_deviation import StandardDeviation as StandardDeviation
    from discreet.mechanisms.statistics.standard_deviation import std as std
    from discreet.mechanisms.statistics.sum import Sum as Sum
    from discreet.mechanisms.statistics.sum import sum as sum  # noqa: A004  called as dp.sum
    from discreet.mechanisms.statistics.trimmed_mean import CountedTrimmedMean as CountedTrimmedMean
    from discreet.mechanisms.statistics.trimmed_mean import trimmed_mean as trimmed_mean
    from discreet.mechanisms.statistics.variance import Variance as Variance
    from discreet.mechanisms.statistics.variance import variance as variance
    from discreet.mechanisms.thresholds.above_threshold import AboveThreshold as AboveThreshold
    from discreet.mechanisms.thresholds.above_threshold import Watch as Watch
    from discreet.mechanisms.thresholds.count_distinct import CountDistinct as CountDistinct
    from discreet.mechanisms.thresholds.partition_selection import PartitionSelection as PartitionSelection
    from discreet.mechanisms.thresholds.partition_selection import SelectionMethod as SelectionMethod
    from discreet.mechanisms.together import Together as Together

# One line per file. Whoever adds a name writes it twice: above for type checkers, here for everyone else.
_HOMES: dict[str, tuple[str, ...]] = {
    "additive": ("Inputs",),
    "choices.exponential": ("Exponential", "exponential"),
    "choices.joint_quantiles": ("JointQuantiles",),
    "choices.mode": ("Mode",),
    "choices.noisy_max": ("NoisyMax", "RaceNoise"),
    "choices.quantile": ("Quantile", "median", "quantile"),
    "choices.quantiles": ("Quantiles", "quantiles"),
    "choices.top_k": ("TopK", "TopKMethod"),
    "instances.inverse_sensitivity": ("InverseSensitivity",),
    "instances.local_sensitivity_bound": ("LocalSensitivityBound",),
    "instances.prediction_variance": ("PredictionVariance",),
    "instances.propose_test_release": ("ProposeTestRelease",),
    "instances.proposed_median": ("ProposedMedian",),
    "instances.proposed_scale": ("ProposedScale",),
    "instances.reciprocal_count": ("ReciprocalCount",),
    "instances.sample_and_aggregate": ("Aggregator", "SampleAndAggregate"),
    "instances.smooth_quantile": ("SmoothQuantile",),
    "instances.smooth_sensitivity": ("SmoothSensitivity",),
    "instances.stable_top_k": ("StableTopK", "argmax_distance"),
    "instances.stable_value": ("StableValue",),
    "instances.trimmed_mean": ("TrimmedMean",),
    "mechanism": ("Mechanism", "registered"),
    "norms": ("Norm",),
    "numbers.discrete_gaussian": ("DiscreteGaussian",),
    "numbers.discrete_laplace": ("DiscreteLaplace",),
    "numbers.gaussian": ("Gaussian",),
    "numbers.laplace": ("Laplace",),
    "numbers.staircase": ("Staircase",),
    "recommendation": ("Option", "Recommendation", "recommend"),
    "per_instance": ("largest_move", "pdp"),
    "promise": ("Promise",),
    "release": ("Release",),
    "responses.randomized_response": ("RandomizedResponse", "Shares"),
    "statistics.cdf": ("Cdf", "cdf"),
    "statistics.contingency_table": ("ContingencyTable", "contingency_table"),
    "statistics.correlation": ("Correlation", "correlation"),
    "statistics.count": ("Count", "count"),
    "statistics.covariance": ("Covariance", "covariance"),
    "statistics.extremes": ("Maximum", "Minimum", "maximum", "minimum"),
    "statistics.histogram": ("Histogram", "histogram"),
    "statistics.mean": ("Mean", "mean"),
    "statistics.standard_deviation": ("StandardDeviation", "std"),
    "statistics.sum": ("Sum", "sum"),
    "statistics.trimmed_mean": ("CountedTrimmedMean", "trimmed_mean"),
    "statistics.variance": ("Variance", "variance"),
    "thresholds.above_threshold": ("AboveThreshold", "Watch"),
    "thresholds.count_distinct": ("CountDistinct",),
    "thresholds.partition_selection": ("PartitionSelection", "SelectionMethod"),
    "together": ("Together",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # type checkers take the imports above, which they can read
    __all__ = sorted(_HOME_OF)  # noqa: PLE0605  the table above is the list


def __getattr__(name: str) -> object:
    """Import a name from its home when it is first used."""
    if name not in _HOME_OF:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List all public names, loaded or not."""
    return sorted({*globals(), *_HOME_OF})

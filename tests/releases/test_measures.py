"""Every aggregate of a plan is read by one measure, found by walking the folder."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from discreet.plans import aggregates as agg
from discreet.plans.aggregates import Measure
from discreet.releases import measures
from discreet.releases.measures import measure as registry

AGGREGATES = [
    thing
    for name in agg.__all__
    if inspect.isclass(thing := getattr(agg, name)) and issubclass(thing, Measure) and not inspect.isabstract(thing)
]
SHARED = {"__init__", "measure", "ratio"}


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_every_aggregate_has_its_measure(aggregate: type[Measure]) -> None:
    assert aggregate in registry._KINDS[aggregate].reads


def test_every_file_of_measures_reads_an_aggregate() -> None:
    files = {path.stem for path in Path(measures.__file__).parent.glob("*.py")} - SHARED
    homes = {registry._KINDS[aggregate].__module__.rpartition(".")[2] for aggregate in AGGREGATES}
    assert files == homes


def test_a_measure_is_counted_or_summed_as_its_aggregate_says() -> None:
    counts = {kind.__name__ for kind, read in registry._KINDS.items() if read.counts}
    sums = {kind.__name__ for kind, read in registry._KINDS.items() if read.sums}
    assert {"Count", "CountDistinct", "Histogram"} <= counts
    assert {"Sum", "Mean", "Variance", "StdDev", "Covariance", "Correlation"} <= sums
    assert not counts & sums
    assert {"Quantiles", "Extreme"}.isdisjoint(counts | sums)

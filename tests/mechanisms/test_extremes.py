"""Public numbers at the ends of what can be written: refused or answered, and never by what the rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import (
    CountedTrimmedMean,
    InverseSensitivity,
    LocalSensitivityBound,
    PredictionVariance,
    ProposedMedian,
    ProposedScale,
    SampleAndAggregate,
    SmoothQuantile,
    count,
    maximum,
    mean,
    median,
    minimum,
    quantiles,
    trimmed_mean,
)
from discreet.mechanisms import sum as total
from discreet.mechanisms.sensitivity.spreads import spreads
from discreet.mechanisms.words import promise_in_words
from discreet.privacy import Approximate, NeighborRelation, Pure

if TYPE_CHECKING:
    from collections.abc import Callable

DELTA = "1e-6"
FACTS: dict[str, Any] = {"lower": 0, "upper": 4}
STATISTICS: dict[str, Callable[[Any, str], Any]] = {
    "count": lambda rows, epsilon: count(rows, epsilon=epsilon),
    "sum": lambda rows, epsilon: total(rows, bounds=(0, 4), epsilon=epsilon),
    "mean": lambda rows, epsilon: mean(rows, bounds=(0, 4), epsilon=epsilon),
    "median": lambda rows, epsilon: median(rows, bounds=(0, 4), epsilon=epsilon),
    "minimum": lambda rows, epsilon: minimum(rows, bounds=(0, 4), epsilon=epsilon),
    "maximum": lambda rows, epsilon: maximum(rows, bounds=(0, 4), epsilon=epsilon, rank=3),
    "quantiles": lambda rows, epsilon: quantiles(rows, ["1/4", "1/2"], bounds=(0, 4), epsilon=epsilon),
    "trimmed_mean": lambda rows, epsilon: trimmed_mean(rows, bounds=(0, 4), epsilon=epsilon),
    "proposed_median": lambda rows, epsilon: ProposedMedian(1, epsilon=epsilon, delta=DELTA, **FACTS).release(rows),
    "proposed_scale": lambda rows, epsilon: ProposedScale(2, epsilon=epsilon, delta=DELTA, **FACTS).release(rows),
    "smooth_quantile": lambda rows, epsilon: SmoothQuantile("1/2", epsilon=epsilon, **FACTS).release(rows),
    "variance": lambda rows, epsilon: PredictionVariance([1], radius=1, ridge=1, epsilon=epsilon).release(
        [[row] for row in rows]
    ),
    "blocks": lambda rows, epsilon: SampleAndAggregate(3, epsilon=epsilon, aggregator="median", **FACTS).release(
        (rows, lambda block: float(np.sum(block)))
    ),
    "inverse": lambda rows, epsilon: InverseSensitivity(epsilon=epsilon, **FACTS).release((len(rows), [1, 1])),
    "local": lambda rows, epsilon: LocalSensitivityBound(1, epsilon=epsilon, delta=DELTA).release((len(rows), 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1e-400", "1e-310", "1e-30", "1e-12", "2e-5", "1e9", "1e30", "1e400"])
@pytest.mark.parametrize("name", STATISTICS)
def test_an_epsilon_is_refused_or_answered_whatever_the_rows(name: str, epsilon: str) -> None:
    answered = []
    for rows in ([], [1.0, 2.0, 3.0], [4.0] * 50):
        try:
            STATISTICS[name](rows, epsilon)
            answered.append(True)
        except ParameterError:
            answered.append(False)
    assert len(set(answered)) == 1


def test_a_trimmed_mean_is_refused_before_its_count_is_paid_for() -> None:
    with pytest.raises(ParameterError, match="tiny epsilon"):
        CountedTrimmedMean(lower=0, upper=4, epsilon="2e-6")
    for rows in (0, 1, 40, 10**9):  # whatever the noisy count may be
        assert CountedTrimmedMean(lower=0, upper=4, epsilon="2e-5").trimmed(rows).smoothing > 0


@pytest.mark.parametrize("bound", [1, 2, 5, 10])
@pytest.mark.parametrize("epsilon", ["1/2", 8])
def test_the_distance_of_a_median_is_that_of_all_windows(bound: int, epsilon: str | int) -> None:
    """Searched by halves, as it is by looking at one window after the other."""
    made = ProposedMedian(bound, lower=0, upper=9, grid=1, epsilon=epsilon, delta="0.1")
    farthest = made.proposal.far_enough(1 - 2**-30)
    for seed in range(60):
        rows = np.sort(np.random.default_rng(seed).integers(0, 10, seed))
        rank = max(min(1, rows.size), (rows.size + 1) // 2)
        wide = np.flatnonzero(spreads(rows, rank, rank, 9, farthest + 1)[1:] > bound)
        assert made.value_and_distance(rows)[1] == (wide[0] if wide.size else farthest)


def test_a_promise_beyond_floats_is_not_printed_as_nothing() -> None:
    assert promise_in_words(Approximate(1, "1e-400")) == "ε = 1, δ = 1e-400"
    assert promise_in_words(Pure("2e400")) == "ε = 2e+400"


@pytest.mark.parametrize("bounds", [(0, 10**400), (0, "1e-400"), (-1e308, 1e308)])
def test_bounds_that_no_grid_fits_are_named(bounds: Any) -> None:  # noqa: ANN401
    for statistic in (mean, median, total, trimmed_mean):
        with pytest.raises(ParameterError, match=r"^bounds is "):
            statistic([1, 2], bounds=bounds, epsilon=1)


def test_assumptions_speak_of_the_group() -> None:
    made = LocalSensitivityBound(1, epsilon=1, delta=DELTA, neighbors=NeighborRelation.ADD_REMOVE.group(3))
    assert "a group of 3 units changes" in made.assumed[1]

"""The distance of two Gaussian laws is bounded from below as rarely wrongly as stated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import beta, binom, nct, norm

from discreet.checks.audits.gaussian_fit import distance_at_least, require_gaussian
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

FALSE_ALARM = 1e-9
RUNS = 2_000


@pytest.mark.parametrize("mu", [0.0, 0.4, 3.0])
def test_it_is_above_the_truth_as_rarely_as_stated(mu: float) -> None:
    """20 samples of either law, drawn by NumPy: no release depends on them."""
    chance = np.random.default_rng(3)
    draws = chance.normal(0, 1, (RUNS, 2, 20)) + np.array([mu, 0.0])[:, None]
    wrong = sum(distance_at_least(pair[0], pair[1], 0.1) > mu for pair in draws)
    assert binom.sf(wrong - 1, RUNS, 0.1) > FALSE_ALARM
    # The partner: the best of many thresholds, each as if it had been fixed beforehand.
    careless = sum(selected(pair[0], pair[1], 0.1) > mu for pair in draws[:400])
    assert binom.sf(careless - 1, 400, 0.1) < FALSE_ALARM or mu == 3.0


def selected(over: NDArray[np.float64], under: NDArray[np.float64], error: float) -> float:
    """The largest distance that bounds at some threshold give."""
    places = np.sort(np.concatenate([over, under]))[:, None]
    hits, alarms = (over > places).sum(axis=1), (under > places).sum(axis=1)
    low = beta.ppf(error / 2, hits, len(over) - hits + 1)
    high = beta.ppf(1 - error / 2, alarms + 1, len(under) - alarms)
    return float(np.nanmax(np.abs(norm.ppf(low) - norm.ppf(high))))


def test_it_is_the_inverse_of_the_noncentral_law() -> None:
    over, under = np.array([3.0, 4.0, 5.0, 4.5]), np.array([1.0, 0.0, 2.0, 1.0])
    bound = distance_at_least(over, under, 0.2)
    width = np.sqrt((over.var(ddof=1) + under.var(ddof=1)) / 2)
    statistic = (over.mean() - under.mean()) / (width * np.sqrt(0.5))
    assert nct.sf(statistic, 6, bound * np.sqrt(2)) == pytest.approx(0.1, rel=1e-6)
    assert distance_at_least(under, over, 0.2) == pytest.approx(bound)


def test_constants_are_infinitely_far_apart_or_not_at_all() -> None:
    assert distance_at_least(np.ones(9), np.zeros(9), 0.05) == np.inf
    assert distance_at_least(np.ones(9), np.ones(9), 0.05) == 0
    require_gaussian(np.ones(9))
    with pytest.raises(ParameterError, match="gaussian"):
        require_gaussian(np.random.default_rng(0).exponential(1, 2000))

"""Means, locations, strings and ranges of the local model; the purse; what travels and what is refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.database import Database
from discreet.errors import BudgetError, ParameterError
from discreet.mechanisms.release import Release
from discreet.methods.local import (
    Direct,
    DistanceScores,
    HeavyHitters,
    LocalMean,
    PlanarLaplace,
    Purse,
    Ranges,
    frequency_oracle,
)
from discreet.privacy import NeighborRelation
from discreet.tables import Policy, Table
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FAR = 6.8  # a normal variable lies farther off with a chance below 1e-11


@pytest.mark.parametrize("how", [{"epsilon": 1}, {"epsilon": 4}, {"epsilon": 1, "steps": 7}, {"epsilon": "1/10"}])
def test_means_are_unbiased_with_the_error_that_they_state(how: dict[str, Any], seed: int) -> None:
    mean, bits = LocalMean(-2, 6, **how), ReplayBits(seed)
    values = np.repeat([-2.0, 0.7, 6.0, 99.0, np.nan], 8000)
    truth = np.clip(np.nan_to_num(values, nan=2.0), -2, 6).mean()
    found = mean.estimate(mean.report(values, bits=bits))
    off = abs(found.values[0] - truth)
    assert off < FAR * found.standard_error[0]
    assert found.standard_error[0] <= 1.1 * 8 * math.sqrt((mean.variance + 0.25) / values.size)
    low, high = found.interval(1 - 1e-9)
    assert low[0] <= truth <= high[0]
    # the partner: a server that takes messages for the places themselves
    told = mean.report(np.full(40_000, 6.0), bits=bits).messages
    assert abs(-2 + 8 * told.mean() / (mean.messages - 1) - 6) > 0.5


def test_coordinates_of_vectors_are_estimated_each(seed: int) -> None:
    mean = LocalMean(-1, 1, epsilon=2, dimensions=3)
    rows = np.tile([-1.0, 0.25, 1.0], (60_000, 1))
    found = mean.estimate(mean.report(rows, bits=ReplayBits(seed)).encoded())
    assert (np.abs(found.values - [-1, 0.25, 1]) < FAR * found.standard_error).all()
    assert (found.values - found.interval(0.9)[0] > 0).all()


def test_intervals_of_means_cover() -> None:
    mean, bits, covered = LocalMean(0, 1, epsilon=1), ReplayBits(3), 0
    for _ in range(200):
        low, high = mean.estimate(mean.report(np.full(400, 0.5), bits=bits)).interval(0.9)
        covered += int(low[0] <= 0.5 <= high[0])
    assert covered >= 180


def test_variances_of_one_step_and_of_many_are_those_of_the_papers() -> None:
    """On [-1, 1], whose squares are 4 times as large: ((e + 1)/(e - 1))^2, and 4 e^(1/2) / (3 (e^(1/2) - 1)^2)."""
    for epsilon in (0.5, 1.0, 3.0):
        grown = math.exp(epsilon)
        one = 4 * LocalMean(-1, 1, epsilon=epsilon, steps=1).variance
        many = 4 * LocalMean(-1, 1, epsilon=epsilon, steps=4096).variance
        assert math.isclose(one, ((grown + 1) / (grown - 1)) ** 2, rel_tol=1e-9)
        half = math.exp(epsilon / 2)
        assert math.isclose(many, 4 * half / (3 * (half - 1) ** 2), rel_tol=2e-3)


def test_places_are_near_and_within_the_grid(seed: int) -> None:
    planar = PlanarLaplace(200, 100, per_cell="1/2")
    cells = np.tile([100, 50], (20_000, 1))
    told = planar.cells(planar.report(cells, bits=ReplayBits(seed)))
    lengths = np.hypot(*(told - cells).T)
    for reach in (2.5, 6.5):
        share, expected = float((lengths > reach).mean()), planar.farther(reach)
        assert abs(share - expected) < 0.03
    edge = planar.cells(planar.report(np.tile([[-5, 500], [np.nan, 3]], (500, 1)), bits=ReplayBits(seed)))
    assert (edge >= 0).all()
    assert (edge <= [199, 99]).all()
    assert float(planar.within(3).epsilon) == 1.5
    assert planar.claim.epsilon >= planar.per_cell * 222
    assert planar.neighbors is NeighborRelation.CHANGE_ONE_ORDERED


def test_the_notes_grid_is_told_by_either_score() -> None:
    """K = 10, epsilon = ln 3: the true cell with chance 3/102 by the uniform score."""
    assert math.isclose(Direct(100, epsilon=math.log(3)).chances[0], 3 / 102, rel_tol=1e-9)
    scores = DistanceScores(10, 10, epsilon=math.log(3))
    assert math.isclose(float(scores.rate), math.log(3) / 36, rel_tol=1e-9)
    assert float(scores.within(18).epsilon) == float(scores.epsilon)


def test_maps_are_unbiased_with_the_error_that_they_state(seed: int) -> None:
    scores = DistanceScores(4, 3, epsilon=6)
    cells = np.repeat([[0, 0], [3, 2], [1, 1], [9, -5]], [5400, 3600, 1800, 1200], axis=0)
    truth = np.zeros((4, 3))
    truth[0, 0], truth[3, 2], truth[1, 1], truth[3, 0] = 5400, 3600, 1800, 1200
    found = scores.estimate(scores.report(cells, bits=ReplayBits(seed)).encoded())
    assert (np.abs(found.counts - truth) < FAR * found.standard_error).all()
    told = scores.report(cells, bits=ReplayBits(seed)).messages
    naive = np.bincount(told, minlength=12).reshape(4, 3)  # the partner: what was told, taken for the truth
    assert not (np.abs(naive - truth) < FAR * found.standard_error).all()
    errors = [scores.estimate(scores.report(cells, bits=ReplayBits(seed + k))).counts - truth for k in range(30)]
    assert 0.7 < np.sqrt(np.mean(np.square(errors), axis=0) / found.standard_error**2).mean() < 1.4


@pytest.mark.parametrize("randomizer", [LocalMean(0, 1, epsilon=3), PlanarLaplace(5, 4, per_cell="0.3")], ids=repr)
def test_reports_travel(randomizer: Any) -> None:  # noqa: ANN401
    value = [[1.0, 2.0]] if isinstance(randomizer, PlanarLaplace) else [0.3]
    released = randomizer.release(value)
    assert Release.from_json(released.to_json()) == released
    (sent,) = released.value.encoded()
    assert (randomizer.receive([sent]).messages == released.value.messages).all()
    assert dict(randomizer.receive([sent[:5] + b"\xff" * randomizer.width]).refused) == {"no such message": 1}


def test_strings_that_many_have_are_found_and_others_are_not(seed: int) -> None:
    hitters = HeavyHitters("abcdefgh", 6, epsilon=3)
    rare = ["".join(np.random.default_rng(n).choice(list("abcdefgh"), 6)) for n in range(3000)]
    reports = hitters.report(["abcdef"] * 6000 + ["fade"] * 5000 + rare, bits=ReplayBits(seed))
    told = hitters.estimate([*reports, b"what", b""], deviations=6)
    assert told.responses == len(reports)
    assert sum(told.refused.values()) == 2
    found = {one.text: one for one in told.strings}
    assert set(found) == {"abcdef", "fade"}
    assert abs(found["fade"].count - 5000) < FAR * (found["fade"].standard_error + 150)
    with pytest.raises(ParameterError, match="more clients"):
        hitters.estimate(reports[:1])


def test_ranges_and_quantiles_come_from_the_hierarchy(seed: int) -> None:
    ranges = Ranges(256, epsilon=2)
    places = np.repeat(np.arange(256), 160)
    found = ranges.estimate(ranges.report(places, bits=ReplayBits(seed)))
    assert found.responses == places.size
    assert math.isclose(found.places.sum(), places.size, rel_tol=1e-3)
    assert abs(found.count(32, 224) - 192 * 160) < 3000
    assert abs(found.quantile(0.5) - 128) < 20
    flat = frequency_oracle(256, epsilon=2)
    single = flat.estimate(flat.report(places, bits=ReplayBits(seed))).counts
    errors = [abs(found.count(a, a + 120) - 19200) for a in range(0, 130, 10)]
    apart = [abs(single[a : a + 120].sum() - 19200) for a in range(0, 130, 10)]
    assert np.mean(errors) < np.mean(apart) * 1.5


def test_a_purse_pays_once_and_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "purse.sqlite"
    with Purse(path, epsilon=2) as purse:
        first = purse.report(Direct(1000, epsilon=1), 3, question="color")
    with Purse(path, epsilon=2) as purse:
        assert purse.report(Direct(1000, epsilon=1), 900, question="color") == first
        assert purse.remaining.epsilon == 1  # type: ignore[union-attr]
        purse.report(Direct(1000, epsilon=1), 900, question="color of today")
        with pytest.raises(BudgetError):
            purse.report(Direct(1000, epsilon=1), 900, question="color of tomorrow")
        assert Direct(1000, epsilon=1).receive([first]).messages.size == 1


def test_estimates_are_a_public_table_of_a_database(seed: int) -> None:
    oracle = frequency_oracle(3, epsilon=2)
    found = oracle.estimate(oracle.report([0] * 700 + [2] * 300, bits=ReplayBits(seed)))
    table = found.to_arrow(["walk", "bus", "car"])
    with Database(Policy([Table("ways", public=True)], epsilon=1), {"ways": table}) as db:
        answer = db.sql("SELECT item, low, high FROM ways WHERE count > 500").release(epsilon=1)
        assert [row["item"] for row in answer.to_dicts()] == ["walk"]
    with pytest.raises(ParameterError, match="labels names 2"):
        found.to_arrow(["a", "b"])


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: LocalMean(1, 1, epsilon=1), "bounds|lower|upper"),
        (lambda: LocalMean(0, 1, epsilon=0), "epsilon is 0"),
        (lambda: LocalMean(0, 1, epsilon=1, dimensions=2).report([1, 2, 3]), "coordinates|shape"),
        (lambda: LocalMean(0, 1, epsilon=1).report(["secret"]), "all numbers"),
        (lambda: PlanarLaplace(1, 1, per_cell=1), "one cell"),
        (lambda: DistanceScores(1, 1, epsilon=1), "one cell"),
        (lambda: PlanarLaplace(5, 5, per_cell=0), "per_cell is 0"),
        (lambda: PlanarLaplace(5, 5, per_cell=1, epsilon=3), "follows from"),
        (lambda: PlanarLaplace(5, 5, per_cell=1).report([1, 2, 3]), "column, row"),
        (lambda: HeavyHitters("aa", 3, epsilon=1), "different letters"),
        (lambda: HeavyHitters("abc", 40, epsilon=1), "60 bits"),
        (lambda: Ranges(1, epsilon=1), "places is 1"),
        (lambda: Ranges(9, epsilon=1).report(["secret"]), "whole number"),
        (lambda: Purse(epsilon=1).report(Direct(3, epsilon=1), 1, question=" "), "question"),
    ],
)
def test_nonsense_is_refused(call: Callable[[], object], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()

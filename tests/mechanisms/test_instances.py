"""Propose-test-release, stable values and their kin against every database of a tiny domain, and against each other."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.mechanisms import (
    InverseSensitivity,
    Laplace,
    LocalSensitivityBound,
    NoisyMax,
    PredictionVariance,
    ProposedMedian,
    ProposedScale,
    ReciprocalCount,
    SampleAndAggregate,
    SmoothSensitivity,
    StableTopK,
    StableValue,
    TrimmedMean,
    largest_move,
    pdp,
)
from discreet.mechanisms.sensitivity.stability import DistanceTest
from tests.mechanisms.databases import ADD, CHANGE, Rows, databases, distance, local_sensitivities, pairs
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy import NeighborRelation

RELATIONS = pytest.mark.parametrize("neighbors", [ADD, CHANGE])
FAR = 1 << 40


def pass_chance(test: DistanceTest, far: int) -> float:
    """Pr[d + Z > T] for two-sided geometric Z, by its sum."""
    r = math.exp(-float(test.epsilon))
    return sum((1 - r) / (1 + r) * r ** abs(z) for z in range(test.threshold + 1 - far, 400))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("delta", ["0.3", "0.01", "1e-9"])
def test_the_threshold_is_the_smallest_that_keeps_delta(epsilon: str, delta: str) -> None:
    test = DistanceTest(Fraction(epsilon), Fraction(delta))
    assert pass_chance(test, 0) <= float(delta) * (1 + 1e-9)
    assert test.threshold == 0 or pass_chance(test, 1) > float(delta)
    assert test.threshold <= math.log(1 / float(delta)) / float(epsilon)
    enough = test.enough(0.95)
    assert pass_chance(test, enough) >= 0.95 - 1e-12
    assert enough == test.threshold + 1 or pass_chance(test, enough - 1) < 0.95


@RELATIONS
@pytest.mark.parametrize("k", [1, 2])
def test_the_distance_of_a_top_set_is_exact(neighbors: NeighborRelation, k: int) -> None:
    """Over all databases: one less than the number of steps to the nearest with another set."""
    made = StableTopK([0, 1, 2], k, epsilon=1, delta="0.1", neighbors=neighbors)
    found = databases(2, 6, neighbors)
    top = {rows: frozenset(made._top([rows.count(i) for i in range(3)])) for rows in found}
    for rows in found:
        if neighbors is ADD and len(rows) > 3:  # the nearest may have more rows than are listed
            continue
        nearest = min(distance(rows, other, neighbors) for other in found if top[other] != top[rows])
        assert made.distance([rows.count(i) for i in range(3)]) == nearest - 1


def test_without_the_minus_one_delta_grows_by_a_factor() -> None:
    """The errata: at a distance that is one too large, neighbors with different values leak exp(epsilon) delta."""
    test = DistanceTest(Fraction(1), Fraction(1, 50))
    honest, misprinted = pass_chance(test, 0), pass_chance(test, 1)
    assert honest <= 0.02 < misprinted
    assert misprinted == pytest.approx(math.e * honest, rel=1e-9)


@RELATIONS
def test_distances_of_medians_and_ranges_are_safe(neighbors: NeighborRelation) -> None:
    """At most one step apart for neighbors, and 0 wherever one unit can break the bound."""
    median = ProposedMedian(1, lower=0, upper=3, grid=1, epsilon=1, delta="0.1", neighbors=neighbors)
    scale = ProposedScale(2, lower=0, upper=3, grid=1, epsilon=1, delta="0.1", neighbors=neighbors)
    found = databases(3, 5, neighbors)
    medians = {rows: median.value_and_distance(rows) for rows in found}
    ranges = {rows: scale.value_and_distance(rows) for rows in found}
    for one, other in pairs(found, neighbors):
        assert abs(medians[one][1] - medians[other][1]) <= 1
        assert abs(ranges[one][1] - ranges[other][1]) <= 1
        if abs(medians[one][0] - medians[other][0]) > 1:
            assert medians[one][1] == 0
        if not Fraction(1, 2) <= Fraction(ranges[one][0], ranges[other][0]) <= 2:
            assert ranges[one][1] == 0
    assert max(far for _, far in medians.values()) > 1


def test_the_distance_of_a_median_is_exact_where_rows_are_exchanged() -> None:
    made = ProposedMedian(1, lower=0, upper=3, grid=1, epsilon=1, delta="0.1", neighbors=CHANGE)
    found = databases(3, 5, CHANGE)
    moves = local_sensitivities(found, lambda rows: rows[2], CHANGE)
    for rows in found:
        nearest = min(distance(rows, other, CHANGE) for other in found if moves[other] > 1)  # type: ignore[operator]
        assert made.value_and_distance(rows)[1] == nearest


def test_the_reciprocal_has_the_smallest_smooth_bound() -> None:
    made = ReciprocalCount(epsilon=1, smoothing="1/8")
    values = [Fraction(1, max(1, c)) for c in range(200)]
    moves = [max(abs(values[c] - values[d]) for d in (max(c - 1, 0), c + 1)) for c in range(199)]
    for count in range(60):
        true = max(float(move) * math.exp(-abs(count - c) / 8) for c, move in enumerate(moves))
        value, bound = made.value_and_bound(count)
        assert value == values[count]
        assert float(bound) == pytest.approx(true, rel=1e-8)
        assert bound >= moves[count]


def test_prediction_variances_have_smooth_bounds() -> None:
    made = PredictionVariance([1, 1], radius=1, ridge="1/2", epsilon=1, smoothing="1/8")
    vectors = [(0.0, 1.0), (1.0, 0.0), (0.6, 0.8), (-0.6, 0.8)]
    sets: dict[Rows, Sequence[tuple[float, float]]] = {
        counts: [v for v, times in zip(vectors, counts, strict=True) for _ in range(times)]
        for counts in product(range(4), repeat=4)
    }
    found = {counts: made.value_and_bound(rows) for counts, rows in sets.items()}
    for counts, (value, bound) in found.items():
        for i in range(4):
            more = tuple(c + (j == i) for j, c in enumerate(counts))
            if more in found:
                other, wide = found[more]
                assert abs(value - other) <= min(bound, wide)
                assert max(bound, wide) <= min(bound, wide) * Fraction(math.exp(0.125))
    assert made.value_and_bound([[math.nan, 1.0], [0.0, math.inf], [1.7e308, 1.7e308]])[0] == made.most == 4


def test_a_block_that_fails_counts_as_the_middle() -> None:
    made = SampleAndAggregate(3, lower=0, upper=10, grid=1, epsilon=1)

    def broken(rows: object) -> float:
        raise RuntimeError(rows)

    functions: list[Any] = [broken, lambda _: math.nan, lambda _: math.inf, lambda _: "x", lambda _: None]
    for function in functions:
        assert made.answers([1, 2, 3], function, bits=ReplayBits(1)).tolist() == [5, 5, 5]
    assert made.answers([], len, bits=ReplayBits(1)).tolist() == [0, 0, 0]


def test_blocks_are_uniform_and_hold_every_row_once() -> None:
    made = SampleAndAggregate(4, lower=0, upper=1, epsilon=1)
    seen: list[int] = []

    def count(rows: list[int]) -> float:
        seen.extend(rows)
        return len(rows)

    sizes: Counter[int] = Counter()
    for seed in range(200):
        seen.clear()
        made.answers(list(range(8)), count, bits=ReplayBits(seed))
        assert sorted(seen) == list(range(8))
        sizes[int(np.argmax(made.answers([1.0], count, bits=ReplayBits(seed))))] += 1
    assert min(sizes.values()) > 20  # of 50 expected; below 21 has a chance of 1e-8 per block


@pytest.mark.slow
def test_a_released_bound_tells_the_error() -> None:
    made = LocalSensitivityBound(1, epsilon=2, delta="0.01")
    answers = [made.release((100, 3), bits=ReplayBits(seed)) for seed in range(300)]
    inside = [abs(answer.value - 100) <= answer.error(0.8) for answer in answers]  # type: ignore[operator]
    assert sum(inside) >= 195  # 240 expected; fewer has a chance below 1e-9
    assert sum(inside) <= 275
    assert sum(float(answer.details["bound"]) < 3 for answer in answers) <= 20  # type: ignore[arg-type]  # 3 expected


def test_per_instance_losses_are_below_the_claim_and_add_up_to_it() -> None:
    mechanism = Laplace(sensitivity=10, epsilon=1)
    losses = [pdp(row, [3, 4], sum, mechanism).epsilon(0) for row in range(11)]
    assert losses == sorted(losses)
    assert losses[-1] == pytest.approx(1, rel=1e-6)
    assert losses[5] == pytest.approx(0.5, rel=1e-5)
    assert largest_move(range(11), [3, 4], sum) == 10


def test_a_stable_value_is_exact_where_the_exponential_mechanism_still_errs() -> None:
    """Gap g: the stable value is shown and right; the exponential mechanism errs with a chance near exp(-epsilon g)."""
    stable, noisy = StableValue(epsilon=1, delta="1e-6"), NoisyMax(1, epsilon=1, monotone=True)
    for gap, some in ((2, False), (40, True)):
        answers = [stable.release(("a", gap - 1), bits=ReplayBits(seed)).value for seed in range(200)]
        assert all(each in {"a", None} for each in answers)
        assert ("a" in answers) == some
        picked = [noisy.release([gap, 0], bits=ReplayBits(seed)).value for seed in range(200)]
        assert (picked.count(1) > 0) == (not some)


def test_inverse_sensitivity_beats_a_smooth_bound_that_a_far_jump_rules() -> None:
    """Bounds of 1 for forty units and a million then; where they grow slowly it is the other way round."""
    jumping, slow = [1.0] * 40 + [1e6] * 88, [1.0] * 128
    ladder = InverseSensitivity(lower=0, upper=1e6, epsilon=1, grid="1/16")
    smooth = SmoothSensitivity(lower=0, upper=1e6, epsilon=1, grid="1/16")
    t = float(smooth.smoothing)

    def errors(bounds: list[float]) -> tuple[float, float]:
        bound = max(each * math.exp(-t * k) for k, each in enumerate(bounds))
        bits = ReplayBits(5)
        pair = [
            (ladder.release((5e5, bounds), bits=bits).value, smooth.release((5e5, bound), bits=bits).value)
            for _ in range(60)
        ]
        a, b = np.sqrt(np.mean((np.array(pair) - 5e5) ** 2, axis=0))
        return float(a), float(b)

    far, near = errors(jumping), errors(slow)
    assert far[0] < far[1] / 50
    assert near[0] > near[1]


def test_a_trimmed_mean_beats_plain_noise_by_far() -> None:
    """N(170, 10) in [0, 1000], a thousand rows, epsilon 1: plain Laplace noise on the mean has a deviation of 1.4."""
    rng = np.random.default_rng(3)
    made = TrimmedMean.for_count(1000, lower=0, upper=1000, epsilon=1)
    bits = ReplayBits(9)
    errors = [made.release(rng.normal(170, 10, 1000), bits=bits).value - 170 for _ in range(60)]
    assert math.sqrt(np.mean(np.square(errors))) < 0.45


def test_strange_rows_never_raise() -> None:
    strange: list[Any] = [math.nan, math.inf, -math.inf, None, 1e308, 10**400, "x"]
    for rows in ([], strange, strange * 9):
        assert 0 <= TrimmedMean(2, lower=0, upper=5, epsilon=1).release(rows).value <= 5
        ProposedMedian(1, lower=0, upper=5, epsilon=1, delta="0.1").release(rows)
        ProposedScale(2, lower=0, upper=5, epsilon=1, delta="0.1").release(rows)
    for value, bound in product(strange, repeat=2):
        SmoothSensitivity(lower=0, upper=5, epsilon=1).release((value, bound))
        LocalSensitivityBound(1, epsilon=1, delta="0.1").release((value, bound))
        StableValue(epsilon=1, delta="0.1").release((1, value))

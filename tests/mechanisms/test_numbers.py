"""Noise on numbers: true quantiles, counted rounding, inverse accuracy, and no error that depends on a value."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.exact import Grid
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Inputs, Laplace, Norm, Staircase
from discreet.mechanisms.adding.grids import added, converted, unbounded_laplace
from discreet.mechanisms.inputs.values import FARTHEST, limited, snapped
from discreet.noise import SYSTEM
from discreet.privacy import ZCDP, NeighborRelation
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.mechanisms import Mechanism

FALSE_ALARM = 1e-9


def weights_of(mechanism: Any) -> Callable[[int], mp.mpf]:  # noqa: ANN401  five classes
    """Return the probability of each magnitude of whole-number noise, up to a constant, from its definition."""
    if isinstance(mechanism, DiscreteLaplace):
        return lambda z: mp.exp(-mp.mpf(z) * mechanism.scale.denominator / mechanism.scale.numerator)
    if isinstance(mechanism, DiscreteGaussian):
        sigma = mp.mpf(mechanism.sigma.numerator) / mechanism.sigma.denominator
        return lambda z: mp.exp(-((z / sigma) ** 2) / 2)
    epsilon = mp.mpf(mechanism.epsilon.numerator) / mechanism.epsilon.denominator
    width, near = mechanism.width, mechanism.near
    return lambda z: mp.exp(-epsilon * (z // width + (z % width >= near)))


def true_quantile(mechanism: Any, confidence: float) -> int:  # noqa: ANN401
    """Return the smallest m with Pr[|Z| <= m] >= confidence by adding up the law."""
    weight = weights_of(mechanism)
    terms, z = [weight(0)], 1
    while terms[-1] > mp.mpf(10) ** -40:
        terms.append(2 * weight(z))
        z += 1
    wanted, reached = mp.mpf(str(confidence)) * mp.fsum(terms), mp.mpf(0)
    for m, term in enumerate(terms):
        reached += term
        if reached >= wanted:
            return m
    raise AssertionError


@pytest.mark.parametrize("confidence", [0.01, 0.3, 0.5, 0.9, 0.95, 0.999, 0.9999999])
@pytest.mark.parametrize(
    "mechanism",
    [
        DiscreteLaplace(1, epsilon="0.1"),
        DiscreteLaplace(3, scale="0.3"),
        DiscreteGaussian(1, sigma="0.3"),
        DiscreteGaussian(1, sigma=7),
        DiscreteGaussian(2, sigma="33.3"),
        Staircase(1, epsilon="0.5"),
        Staircase(7, epsilon=1),
        Staircase(7, epsilon=4, near=7),
        Staircase(20, epsilon=3, near=1),
    ],
    ids=str,
)
def test_the_error_of_whole_numbers_is_the_true_quantile(
    mechanism: DiscreteLaplace | DiscreteGaussian | Staircase, confidence: float
) -> None:
    assert mechanism.error(confidence) == true_quantile(mechanism, confidence)


def test_the_sum_over_sigma_2000_agrees_with_the_bound_beyond() -> None:
    """Where both ways of computing are at hand they give the same quantile."""
    from discreet.mechanisms.adding.reach import discrete_gaussian_reach, rounded_gaussian_reach

    for miss in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**12)):
        exact, bound = (reach(Fraction(1999), miss) for reach in (discrete_gaussian_reach, rounded_gaussian_reach))
        assert exact <= bound <= exact + 1


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.95, 0.999999])
def test_the_error_on_a_grid_is_that_of_rounded_real_noise(confidence: float) -> None:
    laplace = Laplace(1, scale=3, grid="1/4", inputs="snapped")
    steps = laplace.error(confidence) / 0.25
    assert mp.exp(-(steps + mp.mpf("0.5")) / 12) <= 1 - mp.mpf(str(confidence))
    assert steps == 0 or mp.exp(-(steps - mp.mpf("0.5")) / 12) > 1 - mp.mpf(str(confidence))
    gaussian = Gaussian(1, sigma=3, grid="1/4", inputs="snapped")
    steps = gaussian.error(confidence) / 0.25
    assert mp.erfc((steps + mp.mpf("0.5")) / 12 / mp.sqrt(2)) <= 1 - mp.mpf(str(confidence))
    assert steps == 0 or mp.erfc((steps - mp.mpf("0.5")) / 12 / mp.sqrt(2)) > 1 - mp.mpf(str(confidence))
    assert Laplace(1, scale=3, grid="1/4").error(confidence) == laplace.error(confidence) + 0.125


def test_the_notes_quantile_is_29_96() -> None:
    """A noisy sum at epsilon = 0.1 is within ln(20) / 0.1 = 29.96 with 95 %, not within 14.5."""
    error = Laplace(1, epsilon="0.1").error(0.95)
    assert error == pytest.approx(10 * math.log(20), rel=1e-4)
    assert error > 2 * 14.5


MANY: list[tuple[Mechanism[Any, Any], Any]] = [
    (DiscreteLaplace(1, epsilon="0.2"), np.zeros(20_000, dtype=np.int64)),
    (DiscreteGaussian(1, rho="0.02"), np.zeros(20_000, dtype=np.int64)),
    (Laplace(1, epsilon="0.2", dimensions=20_000), np.zeros(20_000)),
    (Gaussian(1, rho="0.02", dimensions=20_000), np.zeros(20_000)),
]


def covered(noise: np.ndarray[Any, Any], error: float, confidence: float) -> bool:
    """Tell whether so many of independent errors stay within the bound as promised, at false alarm 1e-9."""
    from scipy import stats

    inside = int(np.count_nonzero(np.abs(noise) <= error))
    return bool(stats.binom.cdf(inside, noise.size, confidence) > FALSE_ALARM)


@pytest.mark.parametrize("mechanism, zeros", MANY, ids=lambda each: getattr(each, "kind", ""))
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_releases_stay_within_their_error(mechanism: Mechanism[Any, Any], zeros: Any, confidence: float) -> None:  # noqa: ANN401
    noise = mechanism.release(zeros, bits=ReplayBits(1)).value
    error = mechanism.error(confidence)
    assert isinstance(error, float)
    assert covered(noise, error, confidence)
    assert not covered(noise, 0.9 * error - 1, confidence)


@pytest.mark.parametrize("together", [1, 10, 1000])
def test_errors_hold_for_many_coordinates_together(together: int) -> None:
    """Pr[max of d] is the product: the bound for all is the bound of one at confidence**(1/d)."""
    mechanism = DiscreteLaplace(1, scale=10)
    m, r = mechanism.error(0.95, together=together), mp.exp(-mp.mpf(1) / 10)
    inside = [(1 - 2 * r ** (k + 1) / (1 + r)) ** together for k in (m - 1, m)]
    assert inside[0] < 0.95 <= inside[1]
    assert mechanism.error(0.95, together=together) <= 10 * math.log(together / 0.05) + 1


MAKERS: list[Callable[..., Any]] = [
    DiscreteLaplace.for_accuracy,
    DiscreteGaussian.for_accuracy,
    Laplace.for_accuracy,
    Gaussian.for_accuracy,
    Staircase.for_accuracy,
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__self__.__name__)
@pytest.mark.parametrize("within, confidence", [(50, 0.95), (3, 0.5), (1000, 0.999)])
def test_for_accuracy_is_the_inverse_of_error(make: Callable[..., Any], within: int, confidence: float) -> None:
    mechanism = make(1, within=within, confidence=confidence)
    assert 0.99 * within <= mechanism.error(confidence) <= within
    noise = "epsilon" if isinstance(mechanism, Staircase) else "sigma" if hasattr(mechanism, "sigma") else "scale"
    change = Fraction(999, 1000) if noise == "epsilon" else Fraction(1001, 1000)
    louder = type(mechanism)(1, **{noise: getattr(mechanism, noise) * change})
    assert louder.error(confidence) > within


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__self__.__name__)
@pytest.mark.parametrize("within", [0, -1, math.nan])
def test_an_impossible_accuracy_is_refused(make: Callable[..., Any], within: float) -> None:
    with pytest.raises(ParameterError, match="within"):
        make(1, within=within)


def test_rounding_is_counted() -> None:
    """Coordinates snapped after summing add d steps in L1 and sqrt(d) steps in L2; snapped before, nothing."""
    grid = Grid("1/8")
    assert Laplace(1, epsilon=1, grid=grid, dimensions=4).moved == 1 + Fraction(4, 8)
    assert Gaussian(1, rho=1, grid=grid, dimensions=4).moved == 1 + Fraction(2, 8)
    assert Laplace(1, epsilon=1, grid=grid, dimensions=4).scale == Fraction(3, 2)
    assert Laplace(1, epsilon=1, grid=grid, dimensions=4, inputs=Inputs.SNAPPED).scale == 1
    assert Staircase(1, epsilon=1, grid=grid).width == 9
    assert Staircase(1, epsilon=1, grid=grid, inputs="snapped").width == 8


@pytest.mark.parametrize("seed", range(20))
def test_snapped_neighbors_are_no_further_apart_than_counted(seed: int) -> None:
    random = np.random.default_rng(seed)
    grid = Grid("1/8")
    first = random.normal(size=5) * 10
    move = random.normal(size=5)
    move /= np.abs(move).sum()
    steps = np.asarray(snapped(first + move, grid)) - np.asarray(snapped(first, grid))
    assert np.abs(steps).sum() * grid.step <= Laplace(1, epsilon=1, grid=grid, dimensions=5).moved
    assert abs(steps[0]) * grid.step <= Staircase(1, epsilon=1, grid=grid).width * grid.step


@pytest.mark.parametrize("dimensions", [1, 2, 7])
def test_norms_bound_each_other(dimensions: int) -> None:
    """|v|_2 <= |v|_1 <= sqrt(d) |v|_2 <= d |v|_inf, each reached."""
    random = np.random.default_rng(dimensions)
    lengths = {Norm.L1: 1, Norm.L2: 2, Norm.LINF: np.inf}
    for vector in [*random.normal(size=(50, dimensions)), np.ones(dimensions), np.eye(dimensions)[0]]:
        for stated, order in lengths.items():
            for wanted, other in ((Norm.L1, 1), (Norm.L2, 2)):
                size = float(np.linalg.norm(vector, order))
                bound = converted(Fraction(size), stated, wanted, dimensions)
                assert np.linalg.norm(vector, other) <= float(bound) * (1 + 1e-12)
    ones = Fraction(1)
    assert float(converted(ones, Norm.LINF, Norm.L2, dimensions)) == pytest.approx(math.sqrt(dimensions))


def test_stated_norms_set_the_noise() -> None:
    assert DiscreteLaplace(2, epsilon=1, norm="linf", dimensions=5).scale == 10
    assert DiscreteLaplace(3, epsilon=1, norm="l2", dimensions=4).scale == 6
    assert Gaussian(1, rho="1/2", norm="linf", dimensions=9, grid="1/1024", inputs="snapped").sigma == 3
    with pytest.raises(ParameterError, match="State dimensions"):
        DiscreteLaplace(2, epsilon=1, norm="linf")
    with pytest.raises(ParameterError, match="norm is 'l7'"):
        Laplace(1, epsilon=1, norm="l7")


def test_the_classic_gaussian_is_refused_from_one_on_and_wider_below() -> None:
    classic = Gaussian.classic(1, epsilon="0.9", delta=1e-5)
    assert float(classic.sigma) == pytest.approx(math.sqrt(2 * math.log(1.25e5)) / 0.9, rel=1e-5)
    assert classic.privacy.epsilon(1e-5) < 0.9
    assert classic.sigma > Gaussian(1, epsilon="0.9", delta=1e-5).sigma
    for epsilon in (1, 2, 10):
        with pytest.raises(ParameterError, match="proved for epsilon below 1 only"):
            Gaussian.classic(1, epsilon=epsilon, delta=1e-5)


def test_the_classic_formula_breaks_where_it_is_refused() -> None:
    """At epsilon = 8.5 and delta = 1e-5 the textbook's sigma is too small, and the analytic one is not."""
    from discreet.privacy import gaussian

    epsilon = 8.5
    sigma = math.sqrt(2 * math.log(1.25e5)) / epsilon
    assert gaussian(sigma).delta(epsilon) > 1e-5
    assert Gaussian(1, epsilon=epsilon, delta=1e-5).privacy.delta(epsilon) <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("split", [(1, 1, 1, 1), (2, 2), (3, 1), (1, 2, 1)])
@pytest.mark.parametrize("scale", ["0.5", "2", "10"])
def test_one_coordinate_that_moves_all_the_way_is_the_worst_for_laplace(split: tuple[int, ...], scale: str) -> None:
    """However an L1 move is spread over coordinates, its curve lies below that of one coordinate that makes it all."""
    from discreet import privacy as p

    for whole, part in (
        (DiscreteLaplace(4, scale=scale).privacy, p.discrete_laplace),
        (Laplace(4, scale=scale, grid="1/1024", inputs="snapped", dimensions=4).privacy, p.laplace),
    ):
        spread = part(scale, split[0])
        for move in split[1:]:
            spread += part(scale, move)
        for epsilon in np.linspace(0, 4 / float(scale), 9):
            assert spread.delta_interval(float(epsilon))[0] <= whole.delta(float(epsilon)) * (1 + 1e-9) + 1e-15
        assert spread.delta(0) < whole.delta_interval(0)[0]


def test_coordinates_that_each_move_all_the_way_are_composed() -> None:
    from discreet import privacy as p

    each = DiscreteGaussian(2, sigma=9, norm="linf", dimensions=5)
    assert each.privacy == p.discrete_gaussian(9, 2) * 5
    assert each.privacy.epsilon(1e-6) < p.zcdp(each.claim.rho).epsilon(1e-6)  # type: ignore[union-attr]
    assert DiscreteLaplace(2, scale=30, norm="linf", dimensions=5).privacy == p.discrete_laplace(30, 2) * 5
    laplace = Laplace(2, scale=30, norm="linf", dimensions=5, grid="1/8")
    assert laplace.privacy == p.laplace(30, Fraction(17, 8)) * 5
    assert laplace.claim.epsilon == Fraction(5 * 17, 8 * 30)


def test_the_discrete_gaussian_is_not_rotation_invariant() -> None:
    """At sigma 1 and L2 distance 2, (1, 1, 1, 1) tells more than one coordinate: vectors use zCDP."""
    alone, together = DiscreteGaussian(2, sigma=1, dimensions=1), DiscreteGaussian(2, sigma=1)
    from discreet import privacy as p

    four = (p.discrete_gaussian(1, 1) * 4).delta(12)
    assert alone.privacy.delta(12) == pytest.approx(5.3e-9, rel=0.02)
    assert four == pytest.approx(3.7e-8, rel=0.02)
    assert together.privacy.delta(12) >= four > alone.privacy.delta(12)


HOSTILE = [
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    -1e308,
    5e-324,
    0.0,
    10**400,
    -(10**400),
    Fraction(1, 3),
    Decimal("NaN"),
]


@pytest.mark.parametrize(
    "value",
    [*HOSTILE, Decimal("-Infinity"), Decimal("1e999999"), Decimal("-1e-999999"), np.float32(3.3), np.int8(4), True + 1],
    ids=repr,
)
@pytest.mark.parametrize(
    "mechanism", [Laplace(1, epsilon=1), Gaussian(1, rho=1), Staircase(1, epsilon=1, grid="1/8")], ids=lambda m: m.kind
)
def test_no_number_raises(mechanism: Mechanism[Any, Any], value: Any) -> None:  # noqa: ANN401
    found = mechanism.release(value, bits=ReplayBits(2)).value
    assert isinstance(found, float)
    assert math.isfinite(found)


@pytest.mark.parametrize("kind", [list, lambda values: np.array(values, dtype=object)])
def test_lists_of_hostile_numbers_do_not_raise(kind: Callable[[list[Any]], Any]) -> None:
    values = kind([math.nan, 10**400, -math.inf, None, 1])
    found = Laplace(1, epsilon=1, dimensions=5).release(values, bits=ReplayBits(2)).value
    assert np.isfinite(np.asarray(found)).all()


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**64, 10**30, 0], ids=repr)
def test_whole_numbers_near_the_end_of_64_bits(value: int) -> None:
    alone = DiscreteLaplace(1, epsilon=1).release(value, bits=ReplayBits(0)).value
    assert isinstance(alone, int)
    assert abs(alone - value) < 60
    for mechanism in (DiscreteLaplace(1, epsilon=1), DiscreteGaussian(1, rho=1)):
        for values in ([value, 0], np.array([min(value, 2**63 - 1), 0])):
            assert isinstance(mechanism, DiscreteLaplace | DiscreteGaussian)
            found = np.asarray(mechanism.release(values, bits=ReplayBits(0)).value)
            assert abs(int(found[0]) - limited(value)) < 60
            assert np.abs(found).max() <= FARTHEST


def test_counts_of_any_integer_type_are_read() -> None:
    for kind in (np.int8, np.uint8, np.int32, np.uint64, np.int64):
        found = DiscreteLaplace(1, epsilon=50).release(np.array([7, 9], dtype=kind)).value
        assert isinstance(found, np.ndarray)
        assert found.tolist() == [7, 9]
        assert found.dtype == np.int64
    assert DiscreteLaplace(1, epsilon=50).release(np.full((2, 3), 4)).value.shape == (2, 3)  # type: ignore[union-attr]
    assert DiscreteLaplace(1, epsilon=50).release([]).value.size == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [1.5, "3", True, [1.0, 2.0], [True, 1.5], np.array(["a"]), [[1], [2, 3]]], ids=repr)
def test_what_is_no_whole_number_is_refused_by_its_type(value: Any) -> None:  # noqa: ANN401
    for mechanism in (DiscreteLaplace(1, epsilon=1), DiscreteGaussian(1, rho=1)):
        with pytest.raises(ParameterError, match="whole number"):
            mechanism.release(value)


def test_sums_are_clamped_and_never_wrap() -> None:
    """Noise that 64 bits stopped leads to a clamped sum whatever the value was, as unbounded noise does."""
    ends = np.array([FARTHEST, 0, -FARTHEST])
    most = np.full(3, 2**63 - 1)
    assert added(ends, most).tolist() == [FARTHEST] * 3
    assert added(ends, -most).tolist() == [-FARTHEST] * 3
    assert added(ends, np.array([-(2**62), 5, 2**62])).tolist() == [FARTHEST - 2**62, 5, 2**62 - FARTHEST]


def test_stopped_noise_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.mechanisms.adding import grids

    draws = iter([2**63 - 1, 7])
    monkeypatch.setattr(grids, "discrete_laplace", lambda *_args, **_options: -(2**63 - 1))
    monkeypatch.setattr(grids, "geometric", lambda *_args, **_options: next(draws))
    assert unbounded_laplace(Fraction(10), SYSTEM) == -(2 * (2**63 - 1) + 7)


@pytest.mark.parametrize("mechanism", [Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"sensitivity": 0}, "sensitivity is 0"),
        ({"sensitivity": -1}, "sensitivity is -1"),
        ({"sensitivity": math.nan}, "sensitivity is nan"),
        ({"sensitivity": 1, "dimensions": 0}, "dimensions is 0"),
        ({"sensitivity": 1, "neighbors": "change_one"}, "neighbors is 'change_one'"),
    ],
)
def test_wrong_arguments_are_refused_in_sentences(mechanism: Any, arguments: dict[str, Any], words: str) -> None:  # noqa: ANN401
    noise = {"scale": 3} if "Laplace" in mechanism.__name__ else {"sigma": 3}
    with pytest.raises(ParameterError, match=words):
        mechanism(**arguments, **noise)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Laplace(1), "give exactly one of epsilon, scale; none was given"),
        (lambda: Laplace(1, epsilon=1, scale=1), "give exactly one of epsilon, scale"),
        (lambda: Laplace(1, epsilon=0), "epsilon is 0; it must be above 0"),
        (lambda: Laplace(1, epsilon="1e-30"), "sensitivity / epsilon"),
        (lambda: Laplace(1, scale=1, grid="1/3"), "step is '1/3'; it must be a power of two"),
        (lambda: DiscreteLaplace(1, epsilon="1e-30"), "below 1.44e17"),
        (lambda: DiscreteLaplace("1/2", epsilon=1), "whole numbers move by at least 1"),
        (lambda: Gaussian(1, epsilon=1), "delta is None; Gaussian noise keeps an epsilon only with a delta"),
        (lambda: Gaussian(1, epsilon=1, delta=0), "delta is 0"),
        (lambda: Gaussian(1, epsilon=-1, delta="0.1"), "epsilon is -1; it must be at least 0"),
        (lambda: Gaussian(1, rho=0), "rho is 0"),
        (lambda: Staircase("1/2", epsilon=1), "Give a grid for others"),
        (lambda: Staircase(5, epsilon=1, near=6), "near is 6; it must be at most 5"),
        (lambda: Laplace(1, epsilon=1).release([1.0, 2.0]), "made for dimensions=1"),
        (lambda: Laplace(1, epsilon=1).release("x"), "must be a real number"),
        (lambda: Staircase(5, epsilon=1).release([1, 2]), "made for dimensions=1"),  # type: ignore[arg-type]
    ],
)
def test_refusals_say_what_to_write(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def test_a_million_counts_are_released_in_one_call() -> None:
    counts = np.arange(1_000_000)
    release = DiscreteLaplace(1, epsilon=1).release(counts, bits=ReplayBits(4))
    noise = np.asarray(release.value) - counts
    assert abs(noise.mean()) < 0.01
    assert noise.std() == pytest.approx(math.sqrt(2 * math.exp(-1)) / (1 - math.exp(-1)), rel=0.01)


def test_change_one_is_part_of_the_promise() -> None:
    assert Laplace(1, epsilon=1, neighbors=NeighborRelation.CHANGE_ONE).privacy.neighbors is NeighborRelation.CHANGE_ONE


@pytest.mark.parametrize("width", [1, 2, 5, 8])
@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
def test_the_staircase_curve_is_exact(width: int, epsilon: str) -> None:
    """delta(e) of the written-out laws, the worst of all moves up to the sensitivity, is the curve's."""
    rate = float(epsilon)
    reach = math.ceil(45 / rate) * width
    for near in range(1, width + 1):
        places = np.arange(-reach, reach + 1)
        law = np.exp(-rate * (np.abs(places) // width + (np.abs(places) % width >= near)))
        law /= law.sum()
        curve = Staircase(width, epsilon=epsilon, near=near).privacy
        for at in (0.0, rate / 3, rate * 0.9):
            worst = max(np.maximum(law[d:] - math.exp(at) * law[:-d], 0).sum() for d in range(1, width + 1))
            assert curve.delta(at) == pytest.approx(worst, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("width", [1, 3, 10, 57])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3", "8"])
def test_the_staircase_is_the_best_of_its_kind(width: int, epsilon: str) -> None:
    """Of all steps, the chosen one has the least expected magnitude; and it is no worse than discrete Laplace noise."""
    rate, places = float(epsilon), np.arange(math.ceil(60 / float(epsilon)) * width)

    def magnitude(law: Any) -> float:  # noqa: ANN401
        both = np.where(places == 0, law, 2 * law)
        return float((places * both).sum() / both.sum())

    stairs = [magnitude(np.exp(-rate * (places // width + (places % width >= near)))) for near in range(1, width + 1)]
    chosen = Staircase(width, epsilon=epsilon).near
    assert stairs[chosen - 1] == pytest.approx(min(stairs), rel=1e-12)
    assert min(stairs) <= magnitude(np.exp(-rate * places / width)) * (1 + 1e-12)


def delta_of_move(sigma: float, move: tuple[int, ...], epsilon: float) -> float:
    """The exact delta of discrete Gaussian noise moved by whole numbers, from the law of their inner product alone.

    At x the loss is (|m|^2 - 2 m x) / (2 sigma^2) for a move m: a function of m x, whose law is a convolution.
    """
    reach = math.ceil(12 * sigma)
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    law = {0: 1.0}
    for step in move:
        added: dict[int, float] = {}
        for place, chance in law.items():
            for z, weight in zip(range(-reach, reach + 1), weights / weights.sum(), strict=True):
                added[place + step * z] = added.get(place + step * z, 0.0) + chance * weight
        law = added
    square = sum(step**2 for step in move)
    losses = ((chance, (2 * place + square) / (2 * sigma**2)) for place, chance in law.items())
    return math.fsum(chance * max(0.0, -math.expm1(epsilon - loss)) for chance, loss in losses)


MOVES = [(1,), (2,), (3,), (1, 1), (2, 1), (2, 2), (1, 1, 1), (1, 1, 1, 1)]


@pytest.mark.parametrize("sensitivity", ["1", "1.2", "1.5", "1.9", "2", "2.3", "3"])
@pytest.mark.parametrize("dimensions", [None, 1, 2])
def test_no_move_by_whole_numbers_within_the_ball_costs_more(sensitivity: str, dimensions: int | None) -> None:
    """Both the curve and the claim in rho, against the exact law of every move that two neighbors can make."""
    sigma = 2
    made = DiscreteGaussian(sensitivity, sigma=sigma, dimensions=dimensions)
    within = [
        move
        for move in MOVES
        if sum(step**2 for step in move) <= Fraction(sensitivity) ** 2 and len(move) <= (dimensions or 4)
    ]
    assert isinstance(made.claim, ZCDP)
    assert made.claim.rho >= Fraction(max(sum(step**2 for step in move) for move in within), 2 * sigma**2)
    for epsilon in (0.0, 0.25, 1.0):
        worst = max(delta_of_move(sigma, move, epsilon) for move in within)
        assert made.privacy.delta(epsilon) >= worst * (1 - 1e-9), epsilon
    assert made.claim.rho <= Fraction(sensitivity) ** 2 / (2 * sigma**2)

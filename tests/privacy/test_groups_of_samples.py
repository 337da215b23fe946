"""Groups of units on samples: against convolutions on a grid that know nothing of the accountant."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest
from scipy.stats import binom, norm

from discreet import privacy as p
from discreet.privacy.curves import examples
from discreet.privacy.numerics.losses.finite import FiniteLoss
from discreet.privacy.numerics.losses.grouped import grouped_pair
from discreet.privacy.numerics.losses.mixture import MOST_UNITS, Split
from discreet.privacy.part import pair_of

if TYPE_CHECKING:
    from discreet.privacy.part import Part

CASES = [("1", "0.1", 2), ("2", "0.3", 3), ("0.7", "0.01", 2), ("4", "0.5", 4), ("1", "0.9", 2)]
"""Noise, rate, units of the group."""

Law = tuple["np.ndarray[tuple[int], np.dtype[np.float64]]", "np.ndarray[tuple[int], np.dtype[np.float64]]"]


def mixtures(sigma: str, rate: str, present: int, absent: int) -> Law:
    """Integrate both densities of a split over narrow cells of the count: P's and Q's masses."""
    noise, q = float(sigma), float(rate)
    edges = np.linspace(-absent - 12 * noise, present + 12 * noise, 40001)
    laws = []
    for units, sign in ((present, 1), (absent, -1)):
        cells = [norm.cdf(edges, sign * j, noise) * binom.pmf(j, units, q) for j in range(units + 1)]
        laws.append(np.diff(np.sum(cells, axis=0)))
    return laws[0], laws[1]


def composed(law: Law, uses: int, step: float = 2e-4) -> Law:
    """Round the loss of every cell to a grid, without moving its mean, and convolve: losses and their masses."""
    over, under = (side[(law[0] > 1e-25) & (law[1] > 1e-25)] for side in law)
    losses = np.log(over / under)
    low = math.floor(losses.min() / step)
    place = losses / step - low
    whole = np.floor(place).astype(int)
    masses = np.zeros(whole.max() + 2)
    np.add.at(masses, whole, over * (1 - (place - whole)))
    np.add.at(masses, whole + 1, over * (place - whole))
    size = 1 << (uses * len(masses)).bit_length()
    total = np.fft.irfft(np.fft.rfft(masses, size) ** uses, size)[: uses * (len(masses) - 1) + 1]
    return step * (uses * low + np.arange(len(total))), total


def delta(law: Law, uses: int, epsilon: float) -> float:
    """Return the divergence of so many uses, good to a few digits."""
    losses, masses = composed(law, uses)
    beyond = losses > epsilon
    return float(masses[beyond] @ -np.expm1(epsilon - losses[beyond]))


@pytest.mark.parametrize("sigma, rate, size", CASES)
@pytest.mark.parametrize("uses", [1, 8])
def test_groups_of_sampled_gaussians_cost_what_their_mixtures_do(sigma: str, rate: str, size: int, uses: int) -> None:
    curve = p.gaussian(sigma).subsample(rate).group(size) * uses
    for asked in (0.5, 2.0):
        lower, upper = curve.delta_interval(asked)
        splits = [delta(mixtures(sigma, rate, a, size - a), uses, asked) for a in range(size + 1)]
        worst = max(splits)
        assert splits[size] == pytest.approx(worst, rel=1e-5), "all units present in one dataset is the worst split"
        assert worst * (1 - 1e-3) - 1e-11 <= upper
        assert lower <= worst * (1 + 1e-3) + 1e-11
        assert upper - lower <= 0.06 * upper, "the worst split is attained; one pair for all others costs some percent"


@pytest.mark.parametrize("sigma, rate, size", CASES)
def test_the_mixtures_beat_the_chain_of_neighbors(sigma: str, rate: str, size: int) -> None:
    sampled = p.gaussian(sigma).subsample(rate)
    chain = grouped_pair(*pair_of(sampled.terms[0][0]), size)[0]
    grouped = sampled.group(size)
    for asked in np.linspace(0.01, 6.0, 12):
        assert grouped.delta(float(asked)) <= float(chain.delta(np.array([asked]))[0]) * (1 + 1e-9)


def test_a_group_of_sampled_gaussians_is_as_narrow_as_one_unit() -> None:
    curve = p.gaussian(1).subsample("0.1").group(2) * 20
    lower, upper = curve.interval(1e-6)
    assert 9.2549 < lower <= upper < 9.2550, "the chain gave 10.9868, and no lower end"


@pytest.mark.parametrize("present, absent", [(2, 0), (0, 3), (2, 1), (1, 2), (3, 3)])
def test_the_profile_of_a_split_is_that_of_its_densities(present: int, absent: int) -> None:
    split = Split(1 / 1.5, 0.3, present, absent)
    over, under = mixtures("1.5", "0.3", present, absent)
    for epsilon in (-2.0, -0.5, 0.0, 0.3, 1.0, 2.5):
        beyond = over > math.exp(epsilon) * under
        expected = float((over - math.exp(epsilon) * under)[beyond].sum())
        assert split.delta(np.array([epsilon]))[0] == pytest.approx(expected, rel=1e-6, abs=1e-12)
        assert split.slope(np.array([epsilon]))[0] == pytest.approx(float(under[beyond].sum()), abs=1e-3)
        mirrored = Split(1 / 1.5, 0.3, absent, present).delta(np.array([-epsilon]))[0]
        back = -math.expm1(epsilon) + math.exp(epsilon) * mirrored
        assert split.delta(np.array([epsilon]))[0] == pytest.approx(back, rel=1e-12, abs=1e-14), (
            "the other direction's profile"
        )


@pytest.mark.parametrize("present, absent", [(2, 0), (1, 2), (0, 3)])
def test_the_profile_of_a_split_is_right_to_twelve_digits(present: int, absent: int) -> None:
    q = mpmath.mpf("0.3")
    with mpmath.workdps(40):

        def chances(units: int) -> list[mpmath.mpf]:
            return [mpmath.binomial(units, j) * q**j * (1 - q) ** (units - j) for j in range(units + 1)]

        for epsilon in (-0.9, -0.05, 0.0, 0.4, 0.9):

            def excess(x: mpmath.mpf, epsilon: float = epsilon) -> mpmath.mpf:
                over = mpmath.fsum(
                    w * mpmath.exp(j * x / 2 - mpmath.mpf(j * j) / 8) for j, w in enumerate(chances(present))
                )
                under = mpmath.fsum(
                    w * mpmath.exp(-i * x / 2 - mpmath.mpf(i * i) / 8) for i, w in enumerate(chances(absent))
                )
                return mpmath.log(over / under) - epsilon

            if excess(mpmath.mpf(-300)) > 0 or excess(mpmath.mpf(300)) < 0:
                continue
            low, x = mpmath.mpf(-300), mpmath.mpf(300)
            for _ in range(140):
                middle = (low + x) / 2
                low, x = (middle, x) if excess(middle) < 0 else (low, middle)
            over = mpmath.fsum(w * mpmath.ncdf(mpmath.mpf(j) / 2 - x) for j, w in enumerate(chances(present)))
            under = mpmath.fsum(w * mpmath.ncdf(-mpmath.mpf(i) / 2 - x) for i, w in enumerate(chances(absent)))
            truth = over - mpmath.exp(epsilon) * under
            found = Split(0.5, 0.3, present, absent).delta(np.array([epsilon]))[0]
            assert abs(found / truth - 1) < 1e-12, epsilon


def test_a_long_list_has_one_profile_at_few_points_and_at_many() -> None:
    draws = np.random.default_rng(5)
    values, masses = np.sort(draws.normal(0, 3, 500)), draws.random(500)
    loss = FiniteLoss(values, 0.9 * masses / masses.sum(), 0.1)
    points = np.linspace(-20, 15, 200)
    one_by_one = [float(loss.delta(np.array([point]))[0]) for point in points]
    assert np.allclose(loss.delta(points), one_by_one, rtol=1e-12)


def test_no_mechanism_with_the_promise_exceeds_a_split() -> None:
    """A vector query whose units move it at right angles has the sensitivity and never more loss."""
    q, angle = 0.4, math.pi / 2
    grid = np.linspace(-7, 9, 321)
    x, y = np.meshgrid(grid, grid)
    cell = (grid[1] - grid[0]) ** 2

    def density(a: float, b: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.asarray(norm.pdf(x, a) * norm.pdf(y, b) * cell)

    with_both = (
        (1 - q) ** 2 * density(0, 0)
        + q * (1 - q) * (density(1, 0) + density(math.cos(angle), math.sin(angle)))
        + q * q * density(1 + math.cos(angle), math.sin(angle))
    )
    without = density(0, 0)
    split = Split(1.0, q, 2, 0)
    for epsilon in (-0.4, 0.0, 0.5, 1.5):
        true = float(np.maximum(with_both - math.exp(epsilon) * without, 0).sum())
        assert true <= split.delta(np.array([epsilon]))[0] * (1 + 1e-6)


def test_larger_groups_cost_more_and_the_largest_are_chained() -> None:
    sampled = p.gaussian(20).subsample("0.1")
    costs = [sampled.group(size).epsilon(1e-6) for size in (2, 3, MOST_UNITS, MOST_UNITS + 1)]
    assert all(one < other for one, other in pairwise(costs))


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(
    "laws", [(["0.5", "0.3", "0.2"], ["0.7", "0.2", "0.1"]), (["0.02", "0.98"], ["0.0001", "0.9999"])]
)
def test_swapping_present_and_absent_changes_no_group(laws: tuple[list[str], list[str]], size: int) -> None:
    """A group's units may come and go: the worse direction of one unit counts for every step of the chain."""
    one, other = (p.finite_pair(*pair).group(size) for pair in (laws, laws[::-1]))
    for epsilon in (0.1, 1.0, 3.0):
        assert one.delta_interval(epsilon) == pytest.approx(other.delta_interval(epsilon), rel=1e-9)
    assert one.epsilon(1e-3) == pytest.approx(other.epsilon(1e-3), rel=1e-9)
    worse = max(p.finite_pair(*pair).delta(1.0 / size) for pair in (laws, laws[::-1]))
    assert one.delta(1.0) >= worse * (1 - 1e-9), "a group that is one unit and others without effect"


@pytest.mark.parametrize("name", sorted(examples()))
def test_both_directions_of_a_group_cover_units_that_come_and_units_that_go(name: str) -> None:
    """Composed with other parts, the second direction of a mixture stands for every split but one."""
    asked = np.linspace(-2.0, 2.0, 9)
    for part, _ in (term for curve in examples()[name] for term in curve.group(2).terms):
        one, other = pair_of(part)
        assert one is other or np.allclose(one.delta(asked), other.delta(asked), rtol=1e-9) or _mixed(part)


def _mixed(part: Part) -> bool:
    return part.kind == "grouped" and "PoissonSampled(base=Curve(GaussianPair(" in repr(part)


@pytest.mark.parametrize("sigma, rate, size", CASES)
def test_the_second_direction_of_a_mixture_dominates_all_other_splits(sigma: str, rate: str, size: int) -> None:
    rest = pair_of(p.gaussian(sigma).subsample(rate).group(size).terms[0][0])[1]
    asked = np.linspace(-3.0, 3.0, 13)
    for present in range(size):
        split = Split(1 / float(sigma), float(rate), present, size - present)
        for profile in (rest.delta(asked), rest.table.delta(asked)):  # type: ignore[attr-defined]
            assert (profile >= split.delta(asked) * (1 - 1e-9)).all()

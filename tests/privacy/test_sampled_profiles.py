"""Sampled mechanisms whose profile is cut into cells, and thresholds under every relation."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from discreet import privacy as p
from discreet.errors import ParameterError
from discreet.privacy.numerics.composed import composed_pair
from discreet.privacy.numerics.losses.finite import FiniteLoss
from discreet.privacy.relations import NeighborRelation

SAMPLES = [
    (2.84, 0.00639, 3, "9.73e-7"),
    (0.334, 0.767, 1, "1.12e-10"),
    (0.766, 0.0522, 2, "1.97e-5"),
    (8.47, 0.00307, 4, "4.85e-8"),
    *((0.2 + 0.37 * k, 0.9 / (1 + 0.8 * k), 1 + k % 4, f"1e-{3 + k % 7}") for k in range(24)),
]


@pytest.mark.parametrize("scale, rate, uses, delta", SAMPLES)
def test_the_mass_at_the_largest_loss_stays_finite(scale: float, rate: float, uses: int, delta: str) -> None:
    """Rounding of the last edge once sent the mass of a sampled Laplace loss at its largest value to infinity."""
    lower, upper = (p.laplace(scale).subsample(rate) * uses).interval(delta)
    largest = uses * math.log1p(rate * math.expm1(1 / scale))
    assert lower <= upper <= largest * (1 + 1e-7)  # delta agrees from there on, as far as floats tell
    assert upper - lower <= 1e-4 * upper


def test_two_sampled_laplace_uses_equal_a_sum() -> None:
    """Two uses at rate 1/2, against a sum over a fine grid of the first use's losses, from above and below."""
    strength, rate, epsilon = 1.0, 0.5, 0.4
    curve = p.laplace(1).subsample(rate)
    low, high = (curve * 2).delta_interval(epsilon)
    cells = 4000
    sums = [0.0, 0.0]
    # P = (1 - q) Q + q P', L = log(1 - q + q exp(l)); l is -e0, e0 or between, there with P'-density exp((l - e0)/2)/4
    edges = [-strength + 2 * strength * k / cells for k in range(cells + 1)]
    atoms = [(strength, 0.5 * (rate + (1 - rate) * math.exp(-strength)))]
    atoms += [(-strength, 0.5 * math.exp(-strength) * (rate + (1 - rate) * math.exp(strength)))]
    for left, right in pairwise(edges):
        middle = 0.5 * (left + right)
        mass = 0.25 * math.exp(0.5 * (middle - strength)) * (right - left)
        atoms.append((middle, mass * (rate + (1 - rate) * math.exp(-middle))))
    for loss, mass in atoms:
        for side, moved in ((0, -strength / cells), (1, strength / cells)):
            at = min(max(loss + moved, -strength), strength)
            value = math.log1p(rate * math.expm1(at))
            rest = epsilon - value
            inner = 1 + math.expm1(rest) / rate  # exp of the unsampled loss
            if inner <= math.exp(-strength):
                share = -math.expm1(rest)
            elif inner >= math.exp(strength):
                share = 0.0
            else:
                share = rate * -math.expm1(0.5 * (math.log(inner) - strength))
            sums[side] += mass * share
    # the second use is averaged over the first under P; shifting the first loss by a cell brackets the truth
    assert sums[0] * (1 - 1e-3) <= high
    assert low <= sums[1] * (1 + 1e-3)
    assert high - low <= 1e-4 * high


def test_change_one_touches_twice_as_many_keys() -> None:
    one = p.partition_selection(1, 40)
    both = p.partition_selection(1, 40, neighbors=NeighborRelation.CHANGE_ONE)
    # a unit leaves a key and another enters one: two Laplace mechanisms, each with epsilon 1
    assert one.epsilon("1e-6") == pytest.approx(1, abs=1e-5)
    assert both.epsilon("1e-6") == pytest.approx(2, abs=1e-5)
    assert both.delta(100) == pytest.approx(2 * one.delta(100), rel=1e-6)
    assert p.partition_selection(1, 40, neighbors=NeighborRelation.CHANGE_ONE_ORDERED).terms == both.terms


def test_groups_are_asked_for_afterwards() -> None:
    with pytest.raises(ParameterError, match=r"\.group\(3\)"):
        p.partition_selection(1, 40, neighbors=NeighborRelation.ADD_REMOVE.group(3))
    assert p.partition_selection(1, 40).group(3).epsilon("1e-6") > 2.9


@pytest.mark.parametrize("size", [5, 10, 20, 50, 500])
def test_large_groups_of_samples_have_a_finite_bound(size: int) -> None:
    """Chains that leave the table are bounded by zCDP; none of them is refused at an everyday delta."""
    curve = p.gaussian(1).subsample("0.1").group(size)
    upper = curve.epsilon("1e-3")
    assert 0 < upper <= p.zcdp(curve.zcdp()).epsilon("1e-3") * (1 + 1e-9) or size < 20
    assert upper < math.inf
    assert upper >= p.gaussian(1).subsample("0.1").group(2).epsilon("1e-3")


def two_fixed_size_samples(sigma: float, rate: float, epsilon: float) -> float:
    """Return delta of two uses by quadrature over the first one's losses.

    The pair of one use is symmetric: losses l > 0 lie where z > 1/(2 sigma), with density phi(z) exp(l) under P, those
    below 0 have exp(-l) times the density of their mirror images, and the rest of the mass is at 0.
    """
    mu = 1 / sigma

    def one(e: float) -> float:
        if e < 0:
            return -math.expm1(e) + math.exp(e) * one(-e)
        base = math.log1p(math.expm1(e) / rate)
        return rate * float(norm.cdf(mu / 2 - base / mu) - math.exp(base) * norm.cdf(-mu / 2 - base / mu))

    def loss(z: float) -> float:
        return math.log1p(rate * math.expm1(z * mu - mu * mu / 2))

    def piece(z: float) -> float:
        value = loss(z)
        return float(norm.pdf(z)) * (math.exp(value) * one(epsilon - value) + one(epsilon + value))

    def mass(z: float) -> float:
        return float(norm.pdf(z)) * (math.exp(loss(z)) + 1)

    middle = sigma * math.log1p(math.expm1(epsilon) / rate) + mu / 2  # where the loss is epsilon
    pieces = list(pairwise([mu / 2, middle, middle + 2, middle + 6, middle + 14]))
    whole = math.fsum(quad(mass, *ends, epsabs=1e-16, epsrel=1e-12, limit=400)[0] for ends in pieces)
    return math.fsum(quad(piece, *ends, epsabs=1e-20, epsrel=1e-11, limit=400)[0] for ends in pieces) + (
        1 - whole
    ) * one(epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("sigma, rate", [(1.0, 0.01), (2.0, 0.1), (0.5, 0.01)])
def test_two_samples_of_fixed_size_equal_an_integral(sigma: float, rate: float) -> None:
    """The upper end is the symmetric pair's, to a millionth; the lower end, of neighbors that attain it, is near."""
    curve = p.gaussian(sigma, neighbors=NeighborRelation.CHANGE_ONE).subsample(rate, scheme=p.FixedSize) * 2
    lower, upper = curve.interval(1e-6)
    assert two_fixed_size_samples(sigma, rate, upper) <= 1e-6
    assert two_fixed_size_samples(sigma, rate, upper * (1 - 1e-6)) >= 1e-6
    assert two_fixed_size_samples(sigma, rate, lower) >= 1e-6
    assert upper - lower <= 0.003 * upper
    low, high = curve.delta_interval(upper)
    assert low <= two_fixed_size_samples(sigma, rate, upper) <= high


def test_the_integral_sees_a_rate_that_is_off() -> None:
    """A rate that is a millionth too small is outside."""
    curve = p.gaussian(1, neighbors=NeighborRelation.CHANGE_ONE).subsample("0.00999999", scheme=p.FixedSize) * 2
    assert two_fixed_size_samples(1.0, 0.01, curve.epsilon(1e-6)) > 1e-6


@pytest.mark.parametrize("uses", [1, 3, 10])
def test_few_samples_of_fixed_size_are_narrow(uses: int) -> None:
    """One use has a formula; of a few the lower end is that of neighbors who attain one side of the profile."""
    for sigma, rate in ((2.0, "0.01"), (0.5, "0.001"), (4.0, "0.1")):
        curve = p.gaussian(sigma, neighbors=NeighborRelation.CHANGE_ONE).subsample(rate, scheme=p.FixedSize) * uses
        lower, upper = curve.interval(1e-6)
        assert upper - lower <= (1e-6 if uses == 1 else 0.03) * upper


def test_a_composition_sampled_as_one_has_the_profile_of_each_answer() -> None:
    """Lines that serve for many epsilons give bounds that are no lower than each answer, and hardly higher."""
    curve = p.gaussian(1) + p.laplace(1)
    (loss, _) = composed_pair(*curve.directions())
    points = np.array([3.0, 0.0, 0.4, 0.41, 7.5, 2.9])
    for epsilon, bound in zip(points.tolist(), loss.delta(points).tolist(), strict=True):
        low, high = curve.delta_interval(epsilon)
        assert low <= bound <= high * (1 + 1e-4)
    other = loss.delta(-points)
    assert other == pytest.approx(-np.expm1(-points) + np.exp(-points) * loss.delta(points), rel=1e-3)


@pytest.mark.parametrize("order", [1.0, 100.0, 1e4])
def test_a_value_without_mass_has_no_moment(order: float) -> None:
    """Hulls may end with a value of no mass; at large orders only such a value was once looked at."""
    plain = FiniteLoss(np.array([-0.5, 0.5]), np.array([0.4, 0.6]))
    ended = FiniteLoss(np.array([-0.5, 0.5, 40.0]), np.array([0.4, 0.6, 0.0]))
    assert ended.moment(order) == pytest.approx(plain.moment(order), rel=1e-9)

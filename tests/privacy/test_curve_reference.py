"""Intervals against references computed by other methods: mpmath quadrature, exact binomial and lattice sums."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np
import pytest

from discreet import privacy as p

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.privacy.curve import Curve

    Profile = Callable[[mp.mpf], mp.mpf]

DELTAS = ["1e-2", "1e-6", "1e-12", "1e-30"]


def solve(profile: Profile, delta: str | float, high: mp.mpf) -> mp.mpf:
    """Return epsilon with profile(epsilon) = delta by bisection in high precision."""
    low, high = mp.mpf(0), mp.mpf(high)
    if profile(low) <= delta:
        return mp.mpf(0)
    for _ in range(160):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > delta else (low, middle)
    return high


def check(curve: Curve, profile: Profile, delta: str | float, high: mp.mpf, width: float = 1e-6) -> None:
    truth = solve(profile, mp.mpf(delta), high)
    lower, upper = curve.interval(delta)
    assert mp.mpf(lower) <= truth <= mp.mpf(upper)
    assert upper - lower <= width * max(upper, 1e-3)


def gaussian_profile(mu: mp.mpf) -> Profile:
    return lambda e: mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


@pytest.mark.parametrize("delta", [*DELTAS, "1e-200"])
@pytest.mark.parametrize("sigma, count", [("0.3", 1), (1, 1), (1, 1000), (50, 1), (1000, 10**6), (10**6, 10**12)])
def test_gaussian(sigma: str | float, count: int, delta: str | float) -> None:
    mu = mp.sqrt(count) / mp.mpf(sigma)
    check(p.gaussian(sigma) * count, gaussian_profile(mu), delta, 10 + 40 * mu + mu**2)


def binomial_profile(epsilon: str | float, infinity: str | float, count: int) -> Profile:
    """Kairouz, Oh & Viswanath 2015, Theorem 3.3, term by term."""
    loss, leak = mp.mpf(epsilon), mp.mpf(infinity)
    up = mp.exp(loss) / (1 + mp.exp(loss))
    masses = [mp.binomial(count, k) * up**k * (1 - up) ** (count - k) for k in range(count + 1)]
    losses = [(2 * k - count) * loss for k in range(count + 1)]
    kept = (1 - leak) ** count

    def profile(e: mp.mpf) -> mp.mpf:
        finite = mp.fsum(m * -mp.expm1(e - x) for m, x in zip(masses, losses, strict=True) if x > e)
        return 1 - kept + kept * finite

    return profile


@pytest.mark.slow
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon, count", [("0.1", 1), ("0.1", 2), ("0.05", 7), ("0.1", 50), (1, 10), ("0.01", 300)])
def test_randomized_response(epsilon: str | float, count: int, delta: str | float) -> None:
    profile = binomial_profile(epsilon, 0, count)
    check(p.randomized_response(epsilon) * count, profile, delta, mp.mpf(epsilon) * count)
    check(p.pure(epsilon) * count, profile, delta, mp.mpf(epsilon) * count)
    scale = 1 / mp.mpf(epsilon)
    check(p.discrete_laplace(str(mp.nint(scale))) * count, profile, delta, mp.mpf(epsilon) * count)


@pytest.mark.parametrize("delta", ["1e-3", "1e-6"])
@pytest.mark.parametrize("epsilon, infinity, count", [("0.1", "1e-8", 5), (1, "1e-8", 20), ("0.05", "1e-9", 100)])
def test_boxes(epsilon: str | float, infinity: str, count: int, delta: str | float) -> None:
    profile = binomial_profile(epsilon, infinity, count)
    check(p.approximate(epsilon, infinity) * count, profile, delta, mp.mpf(epsilon) * count)


def laplace_profile(e0: mp.mpf) -> Profile:
    """Two Laplace mechanisms: integrate the profile of one over the loss of the other."""
    e0 = mp.mpf(e0)

    def single(e: mp.mpf) -> mp.mpf:
        if e >= e0:
            return mp.mpf(0)
        return 1 - mp.exp((e - e0) / 2) if e >= -e0 else 1 - mp.exp(e)

    def profile(e: mp.mpf) -> mp.mpf:
        atoms = single(e - e0) / 2 + mp.exp(-e0) * single(e + e0) / 2
        kinks = sorted({-e0, e0, *(x for x in (e - e0, e + e0) if -e0 < x < e0)})
        return atoms + mp.quad(lambda x: mp.exp((x - e0) / 2) / 4 * single(e - x), kinks)

    return profile


@pytest.mark.slow
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("scale", ["0.5", 1, 10, 1000])
def test_two_laplace(scale: str | float, delta: str | float) -> None:
    mp.mp.dps = 40
    check(p.laplace(scale) * 2, laplace_profile(1 / mp.mpf(scale)), delta, 2 / mp.mpf(scale))


def discrete_gaussian_profile(sigma: str | float, shift: int, count: int) -> Profile:
    """Sum the lattice of `count` draws in high precision; the sum of draws is convolved on the integers."""
    spread = mp.mpf(sigma)
    bound = int(16 * spread) + 2
    weights = [mp.exp(-(mp.mpf(x) ** 2) / (2 * spread**2)) for x in range(-bound, bound + 1)]
    single: NDArray[Any] = np.array([weight / mp.fsum(weights) for weight in weights])
    total = single
    for _ in range(count - 1):
        total = np.convolve(total, single)
    span = shift / spread**2
    losses = [span * (mp.mpf(count * shift) / 2 - x) for x in range(-count * bound, count * bound + 1)]
    return lambda e: mp.fsum(m * -mp.expm1(e - x) for m, x in zip(total, losses, strict=True) if x > e)


@pytest.mark.parametrize("delta", ["1e-2", "1e-9"])
@pytest.mark.parametrize("sigma, shift, count", [(1, 1, 1), (1, 2, 1), (2, 1, 3), ("0.5", 1, 2), (4, 3, 2)])
def test_discrete_gaussian(sigma: str | float, shift: int, count: int, delta: str | float) -> None:
    mp.mp.dps = 25
    profile = discrete_gaussian_profile(sigma, shift, count)
    check(p.discrete_gaussian(sigma, shift) * count, profile, delta, 400)


def test_discrete_gaussian_is_not_invariant_under_rotation() -> None:
    # sigma = 1, L2 distance 2, epsilon = 12: one shift by 2, and four shifts by 1
    assert p.discrete_gaussian(1, 2).delta(12) == pytest.approx(5.3e-9, rel=2e-2)
    assert (p.discrete_gaussian(1, 1) * 4).delta(12) == pytest.approx(3.7e-8, rel=2e-2)


def test_large_discrete_gaussian_agrees_with_its_list_of_values() -> None:
    from discreet.privacy.numerics.losses import discrete_gaussian as module

    table = module.discrete_gaussian_loss(59.0, 3)
    theta = module.DiscreteGaussianLoss(59.0, 3)
    heights = np.linspace(0.0, 3000.0, 41)
    for real in (0.5, 7.0, 90.0):
        expected, first = table.line(real, heights)
        found, second = theta.line(real, heights)
        assert np.all(np.abs(np.exp(found - expected) - 1) <= 4 * (first + second) + 1e-12)


@pytest.mark.parametrize("rate, sigma", list(product(["0.001", "0.1", "0.7"], ["0.5", 1, 4])))
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", 2])
def test_one_subsampled_gaussian(rate: str | float, sigma: str | float, epsilon: str | float) -> None:
    """Both directions from the tail probabilities of the two densities, in 200 digits."""
    mp.mp.dps = 200
    q, s, y = mp.mpf(rate), mp.mpf(sigma), mp.exp(mp.mpf(epsilon))

    def above(x: mp.mpf) -> mp.mpf:
        return mp.erfc(x / (s * mp.sqrt(2))) / 2

    root = s**2 * mp.log((y - 1 + q) / q) + mp.mpf(1) / 2
    truth = (1 - q) * above(root) + q * above(root - 1) - y * above(root)
    if y * (1 - q) < 1:
        turn = s**2 * mp.log((1 / y - 1 + q) / q) + mp.mpf(1) / 2
        mixed = (1 - q) * above(-turn) + q * above(1 - turn)
        truth = max(truth, above(-turn) - y * mixed)
    lower, upper = p.gaussian(sigma).subsample(rate).delta_interval(epsilon)
    assert lower <= truth <= upper
    assert upper - lower <= 1e-9 * upper


@pytest.mark.parametrize("sigma, rate, epsilon", [(1, "0.1", "0.5"), ("0.7", "0.3", 2), (2, "0.05", "0.1")])
def test_two_subsampled_gaussians(sigma: str | float, rate: str | float, epsilon: str | float) -> None:
    """Integrate the profile of one over the loss of the other, in the direction that dominates."""
    q, s, e = float(rate), float(sigma), float(epsilon)
    nodes = np.linspace(-14 * s, 1 + 14 * s, 40_001)
    base = np.exp(-(nodes**2) / (2 * s * s)) / (s * math.sqrt(2 * math.pi))
    ratio = 1 - q + q * np.exp((2 * nodes - 1) / (2 * s * s))
    single = p.gaussian(sigma).subsample(rate).directions()[0].parts[0][0]
    truth = float((base * ratio * single.delta(e - np.log(ratio))).sum() * (nodes[1] - nodes[0]))
    lower, upper = (p.gaussian(sigma).subsample(rate) * 2).delta_interval(epsilon)
    assert lower * (1 - 1e-9) <= truth <= upper * (1 + 1e-9)


def buckets(sigma: str | float, rate: str | float, count: int, width: float, *, up: bool) -> Callable[[float], float]:
    """Round every loss onto a grid, up or down, and convolve by FFT: a crude reference that brackets the truth."""
    s, q = float(sigma), float(rate)
    cells = 1 << 18
    nodes = np.linspace(-40 * s, 40 * s + 1, 800_001)
    loss = np.log(1 - q + q * np.exp((2 * nodes - 1) / (2 * s * s)))
    from scipy.special import ndtr

    law = (1 - q) * ndtr(nodes / s) + q * ndtr((nodes - 1) / s)
    masses = np.diff(law)
    edges = loss[1:] if up else loss[:-1]
    index = (np.ceil if up else np.floor)(edges / width).astype(int)
    kept = np.abs(index) < cells // 2
    grid = np.bincount(index[kept] % cells, weights=masses[kept], minlength=cells)
    total = np.maximum(np.fft.irfft(np.fft.rfft(grid) ** count, cells), 0.0)
    values = width * np.where(np.arange(cells) < cells // 2, np.arange(cells), np.arange(cells) - cells)
    return lambda e: float((total * np.maximum(0.0, 1 - np.exp(np.minimum(e - values, 0.0)))).sum())


@pytest.mark.parametrize(
    "sigma, rate, count, delta", [(1, "0.01", 1000, 1e-5), (2, "0.1", 50, 1e-4), (4, "0.05", 400, 1e-3)]
)
def test_many_subsampled_gaussians(sigma: float, rate: str, count: int, delta: float) -> None:
    lower, upper = (p.gaussian(sigma).subsample(rate) * count).interval(delta)
    assert upper - lower <= 1e-6 * upper
    width = 1e-4
    assert buckets(sigma, rate, count, width, up=False)(upper) <= delta + 1e-9
    assert buckets(sigma, rate, count, width, up=True)(lower) >= delta - 1e-9


def test_the_example_of_a_thousand_steps() -> None:
    assert (p.gaussian(sigma=1).subsample(0.01) * 1000).epsilon(1e-5) == pytest.approx(1.82823667, abs=1e-8)


@pytest.mark.parametrize("epsilon, at", list(product([0.3, 1.0, 4.0], [0.0, 0.1, 0.25, 0.9])))
def test_bounded_range_is_the_worst_two_point_pair(epsilon: float, at: float) -> None:
    e = at * epsilon
    best = 0.0
    for t in np.linspace(0, epsilon, 20_001):
        share = (math.exp(-t) - math.exp(-epsilon)) / (1 - math.exp(-epsilon))
        values = [(share * math.exp(t), share), ((1 - share) * math.exp(t - epsilon), 1 - share)]
        best = max(best, sum(max(0.0, up - math.exp(e) * down) for up, down in values))
    assert p.exponential(epsilon).delta(e) == pytest.approx(best, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("rate, sigma, epsilon", list(product([0.01, 0.3], [1.0, 4.0], [0.001, 0.05, 0.5])))
def test_fixed_size_is_the_amplified_profile(rate: float, sigma: float, epsilon: float) -> None:
    """Balle, Barthe & Gaboardi 2018, Theorem 9: delta'(log(1 + q (exp(e) - 1))) = q delta(e)."""
    inner = math.log1p(math.expm1(epsilon) / rate)
    truth = rate * p.gaussian(sigma).delta(inner)
    change = p.NeighborRelation.CHANGE_ONE
    assert p.gaussian(sigma, neighbors=change).subsample(rate).delta(epsilon) == pytest.approx(truth, rel=1e-8)


def test_staircase_by_integration() -> None:
    epsilon, share = 1.5, 0.3
    fall = math.exp(-epsilon)
    cells = 200_000
    x = (np.arange(-40 * cells // 20, 40 * cells // 20) + 0.5) * 20 / cells
    steps = np.floor(np.abs(x)) + (np.abs(x) % 1 >= share)
    density = fall**steps
    density /= density.sum()
    moved = np.roll(density, cells // 20)
    for e in (0.0, 0.4, 1.0):
        truth = np.maximum(density - math.exp(e) * moved, 0).sum()
        assert p.staircase(epsilon, share).delta(e) == pytest.approx(truth, rel=1e-4)

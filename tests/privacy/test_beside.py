"""One subsampled Gaussian beside mechanisms with few outcomes, against the mean of its profile in many digits.

The outcomes of the few-valued mechanisms are listed as fractions; with masses m, n under both laws and G the Gaussian
profile, delta(epsilon) is the sum of the hockey-stick divergences of the products, each by the formulas of
Zhu, Dong & Wang 2022 (arXiv:2106.08567, Theorem 11), at 50 digits. Nothing of the package's numerics is used.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import pytest

from discreet import privacy as p

Law = list[Fraction]
Pair = tuple[Law, Law, int]

HALF = Fraction(1, 2)
CASES: dict[str, tuple[float, str, list[Pair]]] = {
    "one response": (1.0, "0.01", [([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)], 1)]),
    "asymmetric": (2.0, "0.2", [([Fraction(9, 10), Fraction(1, 10)], [HALF, HALF], 3)]),
    "the other way": (2.0, "0.2", [([HALF, HALF], [Fraction(9, 10), Fraction(1, 10)], 3)]),
    "rarely sampled": (0.7, "0.0001", [([Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)], 4)]),
    "much noise": (30.0, "0.5", [([Fraction(51, 100), Fraction(49, 100)], [HALF, HALF], 5)]),
    "a leak each": (
        1.5,
        "0.05",
        [([Fraction(1, 9), Fraction(8, 9), Fraction(0)], [Fraction(0), Fraction(7, 8), Fraction(1, 8)], 2)],
    ),
    "two lattices": (
        1.0,
        "0.1",
        [
            ([Fraction(3, 5), Fraction(2, 5)], [Fraction(2, 5), Fraction(3, 5)], 4),
            ([Fraction(5, 8), Fraction(3, 8)], [HALF, HALF], 3),
        ],
    ),
}


def curve(sigma: float, rate: str, pairs: list[Pair]) -> p.Curve:
    total = p.gaussian(sigma).subsample(rate)
    for present, absent, count in pairs:
        total += p.finite_pair(present, absent) * count
    return total


def outcomes(pairs: list[Pair]) -> list[tuple[Fraction, Fraction]]:
    """Both masses of every outcome of all runs."""
    found = [(Fraction(1), Fraction(1))]
    for present, absent, count in pairs:
        for _ in range(count):
            each = list(zip(present, absent, strict=True))
            found = [(a * c, b * d) for (a, b), (c, d) in product(found, each)]
    return found


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def gaussian(sigma: float, y: mpmath.mpf) -> mpmath.mpf:
    e, mu = mpmath.log(y), 1 / mpmath.mpf(sigma)
    return mpmath.ncdf(mu / 2 - e / mu) - y * mpmath.ncdf(-mu / 2 - e / mu)


def sampled(sigma: float, q: mpmath.mpf, y: mpmath.mpf, *, add: bool) -> mpmath.mpf:
    """The hockey-stick divergence of one subsampled Gaussian at exp(epsilon) = y, any y > 0."""
    if add:
        left = 1 - y * (1 - q)
        return left * gaussian(sigma, y * q / left) if left > 0 else mpmath.mpf(0)
    return q * gaussian(sigma, (y - 1 + q) / q) if y > 1 - q else 1 - y


def truth(sigma: float, rate: str, pairs: list[Pair], epsilon: float) -> mpmath.mpf:
    """The larger of both directions."""
    with mpmath.workdps(50):
        q, y, found = mpmath.mpf(rate), mpmath.exp(mpmath.mpf(epsilon)), []
        for add in (False, True):
            total = mpmath.mpf(0)
            for one, other in outcomes(pairs):
                m, n = (real(other), real(one)) if add else (real(one), real(other))
                if m:
                    total += m * (sampled(sigma, q, y * n / m, add=add) if n else 1)
            found.append(total)
        return max(found)


@pytest.mark.parametrize("name", CASES)
def test_delta_is_the_mean_of_the_profile(name: str) -> None:
    for epsilon in (0.0, 0.4, 1.7, 4.0):
        lower, upper = curve(*CASES[name]).delta_interval(epsilon)
        found = truth(*CASES[name], epsilon)
        assert lower <= found <= upper
        assert upper - lower <= 1e-9 * upper or upper < 1e-200


@pytest.mark.parametrize("name", CASES)
def test_epsilon_is_where_the_mean_crosses_delta(name: str) -> None:
    infinity = float(truth(*CASES[name], 60.0))
    for delta in (infinity + 0.02, infinity + 1e-5):
        lower, upper = curve(*CASES[name]).interval(delta)
        assert truth(*CASES[name], upper) <= delta
        assert lower == 0 or truth(*CASES[name], lower) >= delta
        assert upper - lower <= 1e-7 * max(upper, 1e-3)


def test_the_directions_must_match() -> None:
    """The check sees few-valued losses that are paired with the other direction of the sample."""
    sigma, rate, pairs = CASES["asymmetric"]
    turned = [(absent, present, count) for present, absent, count in pairs]
    for epsilon in (0.4, 1.7):
        lower, upper = curve(sigma, rate, turned).delta_interval(epsilon)
        assert not lower <= truth(sigma, rate, pairs, epsilon) <= upper

"""The moments accountant: the sampled Gaussian mechanism at whole orders."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import integer, rational, shown
from discreet.exact.rational import read_delta
from discreet.privacy.currencies import RDP, Approximate
from discreet.privacy.enclosures import UP, decimal, enclose, log, power, round_up

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = ["moments", "sampled_gaussian_rdp"]

_LAMBDAS = range(1, 65)
_LARGEST_EXPONENT = 10**9  # beyond it the sum is its last term, and sampling saves almost nothing


def sampled_gaussian_rdp(rate: Number, sigma: Number, order: int) -> RDP:
    """Return the Renyi divergence of the Poisson-sampled Gaussian mechanism at a whole order, rounded up.

    For a function of L2 sensitivity 1 under add/remove and noise N(0, sigma**2):
    log(sum_k C(a, k) (1 - q)^(a - k) q^k exp(k (k - 1) / (2 sigma**2))) / (a - 1).

    Abadi et al. 2016 (arXiv:1607.00133), the moments accountant; Mironov, Talwar & Zhang 2019 (arXiv:1908.10530),
    Section 3.3, the sum for integer orders, and their comparison of the two directions: this one is the larger.

    >>> float(sampled_gaussian_rdp("0.01", 4, 32).values[0])
    0.00010526360659081727
    """
    q, s = _rate(rate), _sigma(sigma)
    a = integer(order, name="order", least=2, most=4096)
    if q == 0:
        return RDP([a], [0])
    whole = Fraction(a) / (2 * s * s)  # without sampling, which never costs less (quasi-convexity, arXiv:1206.2459)
    if q == 1 or a * whole > _LARGEST_EXPONENT:
        return RDP([a], [whole])
    value = Fraction(UP.next_plus(UP.ln(_moment(q, s, a)))) / (a - 1)
    return RDP([a], [min(round_up(max(Fraction(0), value)), whole)])


def _moment(rate: Fraction, sigma: Fraction, order: int) -> Decimal:
    """Sum C(a, k) (1 - q)^(a - k) q^k exp(k (k - 1) / (2 sigma**2)) over k, each term from the one before, rounded up.

    From k to k + 1 the binomial weight changes by the factor (a - k) / (k + 1) * q / (1 - q) and the exponential by
    exp(k / sigma**2), a power of exp(1 / sigma**2).
    """
    odds = decimal(rate / (1 - rate), UP)
    base = UP.next_plus(UP.exp(decimal(1 / (sigma * sigma), UP)))
    weight, growth, step = power(decimal(1 - rate, UP), order, UP), Decimal(1), Decimal(1)
    total = weight
    for k in range(order):
        weight = UP.divide(UP.multiply(UP.multiply(weight, odds), Decimal(order - k)), Decimal(k + 1))
        growth = UP.multiply(growth, step)  # exp(k (k + 1) / (2 sigma**2))
        step = UP.multiply(step, base)
        total = UP.add(total, UP.multiply(weight, growth))
    return total


def moments(rate: Number, sigma: Number, steps: int, delta: Number) -> Approximate:
    """Return min over lambda of (steps * alpha(lambda) + ln(1/delta)) / lambda, lambda = 1..64.

    Abadi et al. 2016 (arXiv:1607.00133), Theorem 2, with alpha(lambda) = lambda * D_(lambda + 1) at whole orders.

    >>> promise = moments("0.01", 4, steps=10_000, delta=1e-5)  # their example prints 1.26
    >>> round(float(promise.epsilon), 2)
    1.26
    """
    t, asked = integer(steps, name="steps", least=0), read_delta(delta)
    if asked == 0:
        msg = "delta is 0; the moments accountant needs a delta above 0, such as 1e-6."
        raise ParameterError(msg)
    if t == 0:
        return Approximate(0, asked)
    cost = log(1 / asked)
    bounds = [
        enclose(t * sampled_gaussian_rdp(rate, sigma, lam + 1).values[0]) + cost.scaled(Fraction(1, lam))
        for lam in _LAMBDAS
    ]
    return Approximate(round_up(min(bounds, key=lambda bound: bound.upper)), asked)


def _rate(value: Number) -> Fraction:
    """Read a sampling rate."""
    rate = rational(value, name="rate")
    if not 0 <= rate <= 1:
        msg = f"rate is {shown(value)}; it must be between 0 and 1, the public chance that a unit enters a sample."
        raise ParameterError(msg)
    return rate


def _sigma(value: Number) -> Fraction:
    """Read a standard deviation."""
    sigma = rational(value, name="sigma")
    if sigma <= 0:
        msg = f"sigma is {shown(value)}; it must be above 0. Without noise there is no privacy."
        raise ParameterError(msg)
    return sigma

"""Closed-form bounds for subsampling, each refused outside its conditions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.exact.rational import as_text, require_kind
from discreet.privacy.currencies import RDP, Approximate
from discreet.privacy.enclosures import enclose, exp, log, round_down, round_up
from discreet.privacy.relations import NeighborRelation

if TYPE_CHECKING:
    from discreet.exact import Interval, Number

__all__ = ["abadi_leading_term", "amplified", "bun", "mironov"]


def amplified(promise: Approximate, rate: Number) -> Approximate:
    """Return what a promise is worth on a Poisson sample: (ln(1 + q (e^epsilon - 1)), q * delta).

    Balle, Barthe & Gaboardi 2018 (arXiv:1807.01647), Theorem 8, for add/remove and a sample that holds each unit
    independently with probability q. The often quoted q * epsilon is smaller, and false.

    >>> amplified(Approximate(1, 1e-6), "0.01")
    Approximate(epsilon=0.01703686323617655, delta=1e-08)
    """
    q = _between(rate, "rate", Fraction(0), Fraction(1))
    if require_kind(promise, Approximate, "promise").neighbors is not NeighborRelation.ADD_REMOVE:
        msg = (
            f"neighbors are {promise.neighbors.value}; this bound is for Poisson samples under add_remove. "
            "For other schemes use curve.subsample(rate, scheme=...)."
        )
        raise ParameterError(msg)
    if promise.epsilon > 1000:
        epsilon = promise.epsilon
    else:
        epsilon = round_up((enclose(1) + (exp(promise.epsilon) - enclose(1)).scaled(q)).log())
    return Approximate(min(epsilon, promise.epsilon), q * promise.delta)


def mironov(rate: Number, sigma: Number, order: Number) -> RDP:
    """Return 2 q**2 a / sigma**2 for the Gaussian mechanism on a Poisson sample, where it is proved.

    Mironov, Talwar & Zhang 2019 (arXiv:1908.10530), their closed form: q < 1/5, sigma >= 4, and with
    L = ln(1 + 1 / (q (a - 1))) both a <= sigma**2 L / 2 - 2 ln sigma and
    a <= (sigma**2 L**2 / 2 - ln 5 - 2 ln sigma) / (L + ln(q a) + 1 / (2 sigma**2)).
    Outside of these conditions the formula can be far below the truth and is refused.

    >>> float(mironov("0.01", 4, 8).values[0])
    0.0001
    """
    q = _between(rate, "rate", Fraction(0), Fraction(1))
    s, a = _above(sigma, "sigma", Fraction(0)), _above(order, "order", Fraction(1))
    _require(q < Fraction(1, 5), "rate", rate, "below 1/5")
    _require(s >= 4, "sigma", sigma, "at least 4")
    if q == 0:
        return RDP([a], [0])
    span = log(1 + 1 / (q * (a - 1)))
    twice = log(s).scaled(Fraction(2))
    first = span.scaled(s * s / 2) - twice
    _require_order(a, order, first)
    top = (span * span).scaled(s * s / 2) - log(5) - twice
    bottom = span + log(q * a) + enclose(1 / (2 * s * s))
    _require_order(a, order, top / bottom)
    return RDP([a], [2 * q * q * a / (s * s)])


def bun(rate: Number, sigma: Number, order: Number) -> RDP:
    """Return 6 q**2 a / sigma**2 for the Gaussian mechanism on a sample of fixed size, where it is proved.

    Bun, Dwork, Rothblum & Steinke 2018 (doi:10.1145/3188745.3188946), in the form in which Mironov et al. 2019
    (arXiv:1908.10530) list it: q <= 1/10, sigma >= sqrt(5), a <= sigma**2 ln(1/q) / 2; sensitivity 1 and neighbors
    under change-one.

    >>> bun("0.01", 4, 8)
    RDP(orders=(8,), values=(0.0003,), neighbors=change_one)
    """
    q = _between(rate, "rate", Fraction(0), Fraction(1))
    s, a = _above(sigma, "sigma", Fraction(0)), _above(order, "order", Fraction(1))
    _require(q <= Fraction(1, 10), "rate", rate, "at most 1/10")
    _require(s * s >= 5, "sigma", sigma, "at least the square root of 5")
    if q > 0:
        _require_order(a, order, log(1 / q).scaled(s * s / 2))
    return RDP([a], [6 * q * q * a / (s * s)], neighbors=NeighborRelation.CHANGE_ONE)


def abadi_leading_term(rate: Number, sigma: Number, order: Number) -> float:
    """Return q**2 a / ((1 - q) sigma**2), the leading term of a bound whose remainder has no constant.

    Abadi et al. 2016 (arXiv:1607.00133), Lemma 3: q < 1 / (16 sigma), a <= 1 + sigma**2 ln(1 / (q sigma)), sigma >= 1,
    plus O(q**3 a**3 / sigma**3). Because of the O this is **not a bound**: it is a number for plots, never a promise,
    and so no currency is returned. `moments` computes the real thing.

    >>> abadi_leading_term("0.001", 4, 8)
    5.005005005005005e-07
    """
    q = _between(rate, "rate", Fraction(0), Fraction(1))
    s, a = _above(sigma, "sigma", Fraction(0)), _above(order, "order", Fraction(1))
    _require(s >= 1, "sigma", sigma, "at least 1")
    _require(q < 1 / (16 * s), "rate", rate, "below 1 / (16 sigma)")
    if q > 0:
        _require_order(a, order, enclose(1) + log(1 / (q * s)).scaled(s * s))
    return float(q * q * a / ((1 - q) * s * s))


def _between(value: Number, name: str, low: Fraction, high: Fraction) -> Fraction:
    number = rational(value, name=name)
    if not low <= number <= high:
        msg = f"{name} is {shown(value)}; it must be between {low} and {high}."
        raise ParameterError(msg)
    return number


def _above(value: Number, name: str, low: Fraction) -> Fraction:
    number = rational(value, name=name)
    if number <= low:
        msg = f"{name} is {shown(value)}; it must be above {low}."
        raise ParameterError(msg)
    return number


def _require(holds: bool, name: str, value: Number, allowed: str) -> None:  # noqa: FBT001  a condition, not a mode
    """Refuse a parameter outside the theorem's conditions."""
    if not holds:
        msg = (
            f"{name} is {shown(value)}; the theorem needs it {allowed}. curve.subsample(rate) computes the true value."
        )
        raise ParameterError(msg)


def _require_order(order: Fraction, given: Number, most: Interval) -> None:
    """Refuse an order above the theorem's limit; a limit within rounding counts as exceeded."""
    _require(order <= most.lower, "order", given, f"at most {as_text(round_down(most))} here")

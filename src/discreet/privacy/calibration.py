"""How much noise a promise needs: the inverse of accounting, rounded so that the promise holds.

Every result was checked: the curve at the returned value keeps the promise by its certified upper end. A returned float
means the decimal that it prints as, which is how curves and mechanisms read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import integer, rational
from discreet.privacy.enclosures import enclose, log, round_up
from discreet.privacy.relations import NeighborRelation

if TYPE_CHECKING:
    from discreet.exact import Number
    from discreet.privacy.curve import Curve
    from discreet.privacy.relations import Relation

__all__ = [
    "calibrate",
    "calibrate_largest",
    "dpsgd_noise",
    "dpsgd_rate",
    "dpsgd_steps",
    "gaussian_sigma",
    "laplace_scale",
]

_SMALLEST, _LARGEST = 2.0**-60, 2.0**60
_WIDTH = 1e-10  # relative width of the last bracket
_FAR = 745.0  # the logarithm of the smallest float: how far off a delta of 0 counts
_MOST_STEPS = 10**12

Build = Callable[[float], "Curve"]


def calibrate(build: Build, *, epsilon: Number, delta: Number = 0, start: float = 1.0) -> float:
    """Return the smallest parameter whose curve keeps (epsilon, delta), for curves that fall with it.

    The parameter is a scale of noise: more of it costs less. The search brackets the smallest value by powers of two
    and closes in on a relative width of 1e-10; the upper end, which was checked, is returned.

    >>> from discreet import privacy as p
    >>> sigma = calibrate(lambda sigma: p.gaussian(sigma) * 100, epsilon=1, delta=1e-5)
    >>> 37 < sigma < 38, (p.gaussian(sigma) * 100).epsilon(1e-5) <= 1
    (True, True)
    """
    gap = _gap(build, *_target(epsilon, delta))
    low, high = _bracket(gap, start)
    return _settle(gap, low, high)


def calibrate_largest(build: Build, *, epsilon: Number, delta: Number = 0, start: float = 1.0) -> float:
    """Return the largest parameter whose curve keeps (epsilon, delta), for curves that rise with it.

    >>> from discreet import privacy as p
    >>> shift = calibrate_largest(lambda s: p.gaussian(1, sensitivity=s), epsilon=1, delta=1e-5)
    >>> 0.26 < shift < 0.27
    True
    """
    gap = _gap(lambda inverse: build(1 / inverse), *_target(epsilon, delta))
    low, high = _bracket(gap, 1 / start)
    inverse = _settle(gap, low, high)
    # 1 / (1 / x) may differ from x by a rounding: the value that was checked is the one that is returned
    return 1 / inverse


def _target(epsilon: Number, delta: Number) -> tuple[Fraction, Fraction]:
    """Read what is to be kept; an epsilon and a delta of 0 together would need infinite noise."""
    wanted, chance = rational(epsilon, name="epsilon"), rational(delta, name="delta")
    if wanted < 0 or not 0 <= chance < 1 or wanted == chance == 0:
        msg = (
            f"epsilon is {epsilon} and delta is {delta}; epsilon must be at least 0, delta at least 0 and below 1, and "
            "not both 0: no finite noise reaches that."
        )
        raise ParameterError(msg)
    return wanted, chance


def _gap(build: Build, epsilon: Fraction, delta: Fraction) -> Callable[[float], float]:
    """Return a function of the parameter that is at most 0 exactly where the promise is kept.

    With a delta, log(delta(epsilon) / delta) is compared first, as it is one evaluation of the curve; where it is kept,
    the epsilon that the curve itself reports must not exceed the wanted one either.
    """
    scale, chance = float(epsilon), float(delta)

    def by_epsilon(curve: Curve) -> float:
        found = curve.epsilon(delta)
        if not 0 < found < math.inf or scale == 0:
            return -_FAR if found <= epsilon else _FAR
        distance = max(-_FAR, min(math.log(found / scale), _FAR))
        return min(distance, 0.0) if found <= epsilon else max(distance, 1e-15)

    def by_delta(curve: Curve) -> float:
        found = curve.delta(epsilon)
        distance = math.log(found / chance) if found > 0 else -_FAR
        if found > delta or curve.epsilon(delta) > epsilon:
            return max(distance, 1e-15)
        return min(distance, 0.0)

    measure = by_delta if delta > 0 else by_epsilon
    return lambda parameter: measure(build(parameter))


def _bracket(gap: Callable[[float], float], start: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Find a parameter that fails and the double that holds."""
    at, value = start, gap(start)
    while value > 0:
        if at >= _LARGEST:
            msg = f"no parameter up to {_LARGEST:g} keeps the promise; does more of it make the curve fall?"
            raise ParameterError(msg)
        below, at = (at, value), 2 * at
        value = gap(at)
        if value <= 0:
            return below, (at, value)
    while True:
        if at <= _SMALLEST:
            msg = f"every parameter down to {_SMALLEST:g} keeps the promise; there is no smallest one."
            raise ParameterError(msg)
        above, at = (at, value), at / 2
        value = gap(at)
        if value > 0:
            return (at, value), above


def _settle(gap: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]) -> float:
    """Close the bracket by the Illinois method in the logarithm of the parameter; return its checked upper end.

    Dowell & Jarratt 1971 (doi:10.1007/BF01934364): a secant step, and the value at an end that stays is halved. Steps
    keep half a last width away from both ends, so that the bracket itself, not only one end, closes.
    """
    (left, at_left), (right, at_right) = (math.log(low[0]), low[1]), (math.log(high[0]), high[1])
    checked, side = high[0], 0
    for _ in range(200):
        if right - left <= _WIDTH:
            break
        share = at_left / (at_left - at_right) if at_left > at_right else 0.5
        middle = left + min(max(share * (right - left), _WIDTH / 2), right - left - _WIDTH / 2)
        parameter = math.exp(middle)
        value = gap(parameter)
        if value > 0:
            left, at_left, at_right = middle, value, at_right / 2 if side > 0 else at_right
            side = 1
        else:
            right, at_right, at_left = middle, value, at_left / 2 if side < 0 else at_left
            checked, side = parameter, -1
    return checked


def gaussian_sigma(
    *,
    epsilon: Number,
    delta: Number,
    sensitivity: Number = 1,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> float:
    """Return the smallest sigma of Gaussian noise that is (epsilon, delta)-private, rounded up.

    The analytic Gaussian mechanism: Balle & Wang 2018 (arXiv:1805.06530), Theorem 8 and Algorithm 1. The textbook's
    sqrt(2 ln(1.25/delta)) / epsilon is proved for epsilon < 1 only and is too small for large epsilon.

    >>> round(gaussian_sigma(epsilon=1, delta=1e-5), 6)
    3.730632
    """
    from discreet.privacy.curves import gaussian

    def build(sigma: float) -> Curve:
        return gaussian(sigma, sensitivity=sensitivity, neighbors=neighbors)

    if rational(delta, name="delta") == 0:
        msg = "delta is 0; Gaussian noise is private only with a delta above 0. laplace_scale(epsilon=...) needs none."
        raise ParameterError(msg)
    return calibrate(build, epsilon=epsilon, delta=delta, start=float(rational(sensitivity, name="sensitivity")))


def laplace_scale(*, epsilon: Number, delta: Number = 0, sensitivity: Number = 1) -> float:
    """Return the smallest scale of Laplace noise that is (epsilon, delta)-private, rounded up.

    With delta = 0 it is sensitivity / epsilon (Dwork, McSherry, Nissim & Smith 2006, Theorem 1). A pair of Laplace
    distributions a distance of x scales apart has delta(epsilon) = 1 - exp((epsilon - x) / 2), so in general it is
    sensitivity / (epsilon - 2 ln(1 - delta)).

    >>> laplace_scale(epsilon="0.1"), laplace_scale(epsilon=3)
    (10.0, 0.33333333333333337)
    """
    wanted, chance = _target(epsilon, delta)
    distance = rational(sensitivity, name="sensitivity")
    if distance <= 0:
        msg = f"sensitivity is {sensitivity}; it must be above 0."
        raise ParameterError(msg)
    if chance == 0:
        return float(round_up(distance / wanted))
    scales = enclose(wanted) - log(1 - chance).scaled(Fraction(2))
    return float(round_up(distance / scales.lower))


def dpsgd_noise(*, epsilon: Number, delta: Number, rate: Number, steps: int) -> float:
    """Return the smallest noise multiplier for DP-SGD with Poisson batches, rounded up.

    The mechanism of Abadi et al. 2016 (arXiv:1607.00133): each step adds N(0, (sigma C)**2) to the sum of gradients
    clipped to norm C, over a batch that holds each unit with probability `rate`; under add/remove.

    >>> from discreet import privacy as p
    >>> sigma = dpsgd_noise(epsilon=2, delta=1e-6, rate=0.01, steps=10_000)
    >>> (p.gaussian(sigma).subsample(0.01) * 10_000).epsilon(1e-6) <= 2
    True
    """
    count = integer(steps, name="steps", least=1, most=_MOST_STEPS)
    return calibrate(lambda sigma: _dpsgd(sigma, rate, count), epsilon=epsilon, delta=delta)


def dpsgd_steps(*, epsilon: Number, delta: Number, rate: Number, sigma: Number) -> int:
    """Return the largest number of DP-SGD steps that keeps (epsilon, delta); 0 where not even one does.

    >>> from discreet import privacy as p
    >>> steps = dpsgd_steps(epsilon=1, delta=1e-5, rate=0.01, sigma=2)
    >>> step = p.gaussian(2).subsample(0.01)
    >>> (step * steps).epsilon(1e-5) <= 1 < (step * (steps + 1)).epsilon(1e-5)
    True
    """
    gap = _gap(lambda steps: _dpsgd(sigma, rate, int(steps)), *_target(epsilon, delta))
    low, high = 0, 1024
    while gap(high) <= 0:
        low, high = high, 4 * high
        if high > _MOST_STEPS:
            msg = f"more than {low:,} steps keep the promise at rate={rate}; any number you need is fine."
            raise ParameterError(msg)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if gap(middle) <= 0 else (low, middle)
    return low


def dpsgd_rate(*, epsilon: Number, delta: Number, sigma: Number, steps: int) -> float:
    """Return the largest sampling rate at which DP-SGD keeps (epsilon, delta); 1.0 if even full batches do.

    >>> from discreet import privacy as p
    >>> rate = dpsgd_rate(epsilon=2, delta=1e-5, sigma=1, steps=1000)
    >>> 0.01 < rate < 0.011
    True
    """
    count = integer(steps, name="steps", least=1, most=_MOST_STEPS)
    gap = _gap(lambda rate: _dpsgd(sigma, rate, count), *_target(epsilon, delta))
    if gap(1.0) <= 0:
        return 1.0
    falling = _gap(lambda inverse: _dpsgd(sigma, min(1.0, 1 / inverse), count), *_target(epsilon, delta))
    return 1 / _settle(falling, *_bracket(falling, 128.0))


def _dpsgd(sigma: Number, rate: Number, steps: int) -> Curve:
    """Return the curve of `steps` sampled Gaussian mechanisms."""
    from discreet.privacy.curves import gaussian

    return gaussian(sigma).subsample(rate) * steps

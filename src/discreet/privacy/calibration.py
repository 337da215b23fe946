"""How much noise a promise needs: the inverse of accounting, rounded so that the promise holds.

Every result was checked: the curve at the returned value keeps the promise by its certified upper end. A returned float
means the decimal that it prints as, which is how curves and mechanisms read it. Searches start from an estimate and go
by secants of log(epsilon) against the logarithm of the parameter, which is nearly a line; only the answer is certified.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, PrecisionError
from discreet.exact import counted, float_up, integer, rational, shown
from discreet.exact.rational import as_text, require_kind
from discreet.privacy.curve import Curve
from discreet.privacy.enclosures import enclose, log, round_up
from discreet.privacy.orders import float_log
from discreet.privacy.part import read_positive, read_probability
from discreet.privacy.relations import NeighborRelation, require_relation

if TYPE_CHECKING:
    from discreet.exact import Number
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

_FARTHEST = 140.0  # searches end at exp(140), about 1e60, times or divided by their start
_WIDTH = 1e-9  # relative width of the last bracket
_DPSGD_WIDTH = 1e-7  # the same where one curve takes milliseconds: the intervals themselves are hardly narrower
_FAR = 745.0  # the logarithm of the smallest float: how far off an epsilon of 0 or infinity counts
_SMALLEST_DELTA = Fraction(1, 10**300)
_LARGEST_EPSILON = 10**30
_MOST_STEPS = 10**12
_LEAST_NOISE = Fraction(1, 15)  # below it a sampled Gaussian is bounded by the whole one, see numerics.envelope
_LEAST_RATE = 1e-90

Build = Callable[[float], Curve]
Gap = Callable[[float], float]


def calibrate(build: Build, *, epsilon: Number, delta: Number = 0, start: float = 1.0) -> float:
    """Return the smallest parameter whose curve keeps (epsilon, delta), for curves that fall with it.

    The parameter is a scale of noise: more of it costs less. The search closes in on a relative width of 1e-9; the
    upper end, which was checked, is returned.

    >>> from discreet import privacy as p
    >>> sigma = calibrate(lambda sigma: p.gaussian(sigma) * 100, epsilon=1, delta=1e-5)
    >>> 37 < sigma < 38, (p.gaussian(sigma) * 100).epsilon(1e-5) <= 1
    (True, True)
    """
    return _least(_Goal.read(build, epsilon, delta), _read_start(start))


def calibrate_largest(build: Build, *, epsilon: Number, delta: Number = 0, start: float = 1.0) -> float:
    """Return the largest parameter whose curve keeps (epsilon, delta), for curves that rise with it.

    >>> from discreet import privacy as p
    >>> shift = calibrate_largest(lambda s: p.gaussian(1, sensitivity=s), epsilon=1, delta=1e-5)
    >>> 0.26 < shift < 0.27
    True
    """
    _require_function(build)
    # 1 / (1 / x) may differ from x by a rounding: the value that was checked is the one that is returned
    return 1 / _least(_Goal.read(lambda inverse: build(1 / inverse), epsilon, delta), 1 / _read_start(start))


def _require_function(build: Build) -> None:
    """Refuse what cannot be called."""
    if not callable(build):
        msg = f"build is {shown(build)}; it must be a function from a parameter to a curve."
        raise ParameterError(msg)


def _read_start(start: float) -> float:
    """Read where a search begins."""
    return float(read_positive(start, "start", "the first parameter tried"))


@dataclass(frozen=True, slots=True)
class _Goal:
    """A promise to be kept by the curve of a parameter."""

    build: Build
    epsilon: Fraction
    delta: Fraction

    @staticmethod
    def read(build: Build, epsilon: Number, delta: Number) -> _Goal:
        """Check what the caller wants."""
        _require_function(build)
        return _Goal(build, *_target(epsilon, delta))

    def curve(self, parameter: float) -> Curve:
        """Build the curve of a parameter."""
        return require_kind(self.build(parameter), Curve, "what build returns")

    def gap(self, parameter: float) -> float:
        """Return log(reached / wanted): at most 0 where the promise is kept, and nearly a line in log(parameter).

        It compares epsilons; where epsilon = 0 is wanted, the deltas.
        """
        curve = self.curve(parameter)
        try:
            reached = curve.epsilon(self.delta) if self.epsilon else curve.delta(0)
        except PrecisionError:  # nothing is certified there, so the promise is not kept
            return _FAR
        wanted = self.epsilon or self.delta
        if not 0 < reached < math.inf:
            return -_FAR if reached == 0 else _FAR
        distance = math.log(reached) - float_log(wanted)
        return min(distance, 0.0) if reached <= wanted else max(distance, 1e-15)

    def agrees(self, parameter: float) -> bool:
        """Whether the certified delta at epsilon, where floats hold it, keeps the promise as well."""
        return self.delta < _SMALLEST_DELTA or self.curve(parameter).delta(self.epsilon) <= self.delta


def _target(epsilon: Number, delta: Number) -> tuple[Fraction, Fraction]:
    """Read what is to be kept; an epsilon and a delta of 0 together would need infinite noise."""
    wanted, chance = rational(epsilon, name="epsilon"), rational(delta, name="delta")
    if wanted < 0 or not 0 <= chance < 1 or wanted == chance == 0:
        msg = (
            f"epsilon is {shown(epsilon)} and delta is {shown(delta)}; epsilon must be at least 0, delta at least 0 "
            "and below 1, and not both 0: no finite noise reaches that."
        )
        raise ParameterError(msg)
    return wanted, chance


def _least(goal: _Goal, start: float, width: float = _WIDTH) -> float:
    """Find the smallest parameter: bracket it, close the bracket, certify its upper end."""
    if goal.epsilon > _LARGEST_EPSILON:
        msg = f"epsilon is {as_text(goal.epsilon)}; noise is calibrated up to 1e30, where nothing is private any more."
        raise ParameterError(msg)
    parameter = _settle(goal.gap, *_bracket(goal.gap, start), width)
    kept = goal.agrees(parameter)  # the search itself has certified the epsilon
    for step in range(60):
        if kept:
            return parameter
        parameter *= 1 + width * 2**step / 16
        kept = goal.gap(parameter) <= 0 and goal.agrees(parameter)
    msg = f"no parameter near {parameter:g} is certified to keep the promise; does more of it make the curve fall?"
    raise ParameterError(msg)


def _bracket(gap: Gap, start: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Find a parameter that fails and a larger one that holds, as logarithms with their gaps.

    log(epsilon) falls about as fast as the logarithm of the noise rises, or up to twice as fast: the first step is a
    little larger than the gap, and steps double until the sign turns.
    """
    origin = here = math.log(start)
    value = gap(start)
    sign = 1 if value > 0 else -1
    step = min(max(1.05 * abs(value), 1e-6), 2.0)
    while True:
        before = here, value
        here = here + sign * step
        if abs(here - origin) > _FARTHEST:
            raise ParameterError(_NO_LARGER if sign > 0 else _NO_SMALLER)
        value = gap(math.exp(here))
        if (value > 0) != (sign > 0):
            return (before, (here, value)) if sign > 0 else ((here, value), before)
        step = min(2 * step, 20.0)


_NO_LARGER = "no parameter up to 1e60 times the start keeps the promise; does more of it make the curve fall?"
_NO_SMALLER = (
    "every parameter down to 1e-60 times the start keeps the promise, so there is no smallest one: this promise is "
    "kept without noise."
)


def _settle(gap: Gap, low: tuple[float, float], high: tuple[float, float], width: float) -> float:
    """Close the bracket by the Illinois method in the logarithm of the parameter; return its upper end.

    Dowell & Jarratt 1971 (doi:10.1007/BF01934364): a secant step, and the value at an end that stays is halved. Steps
    keep half a last width away from both ends, so that the bracket itself, not only one end, closes.
    """
    (left, at_left), (right, at_right) = low, high
    checked, side = math.exp(right), 0
    for turn in range(100):
        if right - left <= width:
            break
        share = at_left / (at_left - at_right) if at_left > at_right and turn % 8 != 7 else 0.5
        middle = left + min(max(share * (right - left), width / 2), right - left - width / 2)
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
    sqrt(2 ln(1.25/delta)) / epsilon is proved for epsilon < 1 only and is too small for large epsilon. Only the
    quotient sensitivity / sigma matters: sigma is found for a sensitivity of 1, multiplied exactly, and rounded up.

    >>> round(gaussian_sigma(epsilon=1, delta=1e-5), 6)
    3.730632
    """
    from discreet.privacy.curves import gaussian

    distance = read_positive(sensitivity, "sensitivity", "how far one unit moves the value")
    require_relation(neighbors)
    wanted, chance = _target(epsilon, delta)
    _need_delta(chance)
    goal = _Goal(gaussian, wanted, chance)
    sigma = _least(goal, _gaussian_start(wanted, chance))
    return _representable(rational(sigma, name="sigma") * distance, "sigma")


def _need_delta(delta: Fraction) -> None:
    """Refuse a delta of 0, which Gaussian noise never reaches."""
    if delta == 0:
        msg = "delta is 0; Gaussian noise is private only with a delta above 0. laplace_scale(epsilon=...) needs none."
        raise ParameterError(msg)


def _gaussian_start(epsilon: Fraction, delta: Fraction) -> float:
    """Estimate sigma for a sensitivity of 1: the root of rho + 2 sqrt(rho ln(1/delta)) = epsilon, rho = 1/(2 sigma^2).

    For a tiny epsilon delta(0), about 0.4 / sigma, decides.
    """
    wide = min(0.4 / max(float_up(delta), 1e-59), 1e59)
    if epsilon == 0:
        return max(wide, 0.1)
    length, size = -float_log(delta), max(float_up(min(epsilon, Fraction(10**60))), 1e-59)
    return min((math.sqrt(length) + math.sqrt(length + size)) / (math.sqrt(2) * size), max(wide, 0.1))


def _representable(value: Fraction, name: str) -> float:
    """Round a scale of noise up to a float, or say that none is large enough."""
    rounded = round_up(value)
    if rounded > Fraction(sys.float_info.max):
        msg = f"{name} would be {as_text(rounded)}, beyond the largest float. Ask for a larger epsilon or delta."
        raise ParameterError(msg)
    return float(rounded)


def laplace_scale(*, epsilon: Number, delta: Number = 0, sensitivity: Number = 1) -> float:
    """Return the smallest scale of Laplace noise that is (epsilon, delta)-private, rounded up.

    With delta = 0 it is sensitivity / epsilon (Dwork, McSherry, Nissim & Smith 2006, noise calibrated to sensitivity).
    A pair of Laplace distributions a distance of x scales apart has delta(epsilon) = 1 - exp((epsilon - x) / 2), so in
    general it is sensitivity / (epsilon - 2 ln(1 - delta)), where -ln(1 - delta) >= delta.

    >>> laplace_scale(epsilon="0.1"), laplace_scale(epsilon=3)
    (10.0, 0.33333333333333337)
    """
    wanted, chance = _target(epsilon, delta)
    distance = rational(sensitivity, name="sensitivity")
    if distance <= 0:
        msg = f"sensitivity is {shown(sensitivity)}; it must be above 0."
        raise ParameterError(msg)
    if chance == 0:
        return _representable(distance / wanted, "scale")
    scales = enclose(wanted) - log(1 - chance).scaled(Fraction(2))
    return _representable(distance / max(scales.lower, wanted + 2 * chance), "scale")


def dpsgd_noise(*, epsilon: Number, delta: Number, rate: Number, steps: int) -> float:
    """Return the smallest noise multiplier for DP-SGD with Poisson batches, rounded up.

    The mechanism of Abadi et al. 2016 (arXiv:1607.00133): each step adds N(0, (sigma C)**2) to the sum of gradients
    clipped to norm C, over a batch that holds each unit with probability `rate`; under add/remove.

    >>> from discreet import privacy as p
    >>> sigma = dpsgd_noise(epsilon=2, delta=1e-6, rate=0.01, steps=10_000)
    >>> (p.gaussian(sigma).subsample(0.01) * 10_000).epsilon(1e-6) <= 2
    True
    """
    count, share = integer(steps, name="steps", least=1, most=_MOST_STEPS), read_probability(rate, "rate")
    goal = _dpsgd_goal(lambda sigma: _dpsgd(sigma, share, count), epsilon, delta)
    if share == 0:
        msg = "rate is 0; empty batches cost nothing, so there is no smallest noise. Give the rate that is used."
        raise ParameterError(msg)
    return _least(goal, _central_sigma(_central_mu(goal), share, count), _DPSGD_WIDTH)


def dpsgd_steps(*, epsilon: Number, delta: Number, rate: Number, sigma: Number) -> int:
    """Return the largest number of DP-SGD steps that keeps (epsilon, delta); 0 where not even one does.

    >>> from discreet import privacy as p
    >>> steps = dpsgd_steps(epsilon=1, delta=1e-5, rate=0.01, sigma=2)
    >>> step = p.gaussian(2).subsample(0.01)
    >>> (step * steps).epsilon(1e-5) <= 1 < (step * (steps + 1)).epsilon(1e-5)
    True
    """
    share, noise = read_probability(rate, "rate"), read_positive(sigma, "sigma", "the noise multiplier")
    goal = _dpsgd_goal(lambda steps: _dpsgd(noise, share, int(steps)), epsilon, delta)
    guess = math.exp(min(2 * math.log(_central_mu(goal)) - _step_size(share, noise), math.log(_MOST_STEPS)))
    low, high = _around(goal, min(max(int(guess), 1), _MOST_STEPS))
    if high[0] > _MOST_STEPS:
        msg = f"more than {_MOST_STEPS:,} steps keep the promise at rate={shown(rate)}; any number you need is fine."
        raise ParameterError(msg)
    turn = 0
    while high[0] - low[0] > 1:
        turn += 1
        share_of = low[1] / (low[1] - high[1]) if turn % 3 and low[0] > 0 else 0.5
        middle = low[0] + min(max(round(share_of * (high[0] - low[0])), 1), high[0] - low[0] - 1)
        at = goal.gap(middle)
        low, high = ((middle, at), high) if at <= 0 else (low, (middle, at))
    return low[0]


def _around(goal: _Goal, start: int) -> tuple[tuple[int, float], tuple[int, float]]:
    """Return a number of steps that holds and a larger one that fails, near a guess, with their gaps."""
    at = goal.gap(start)
    width = max(start // 256, 1)
    if at > 0:
        high = start, at
        while start > 0:
            start = max(start - width, 0)
            at = goal.gap(start) if start else -_FAR
            if at <= 0:
                break
            high, width = (start, at), 4 * width
        return (start, at), high
    low = start, at
    while at <= 0 and start <= _MOST_STEPS:
        low, start, width = (start, at), start + width, 4 * width
        at = goal.gap(start)
    return low, (start, at)


def dpsgd_rate(*, epsilon: Number, delta: Number, sigma: Number, steps: int) -> float:
    """Return the largest sampling rate at which DP-SGD keeps (epsilon, delta); 1.0 if even full batches do.

    >>> from discreet import privacy as p
    >>> rate = dpsgd_rate(epsilon=2, delta=1e-5, sigma=1, steps=1000)
    >>> 0.01 < rate < 0.011
    True
    """
    count = integer(steps, name="steps", least=1, most=_MOST_STEPS)
    noise = read_positive(sigma, "sigma", "the noise multiplier")
    whole = _dpsgd_goal(lambda rate: _dpsgd(noise, rate, count), epsilon, delta)
    if whole.gap(1.0) <= 0 and whole.agrees(1.0):
        return 1.0
    if noise < _LEAST_NOISE and whole.gap(_LEAST_RATE) > 0:
        msg = (
            f"sigma is {shown(sigma)}; below 1/15, several sampled steps are accounted for as if nothing were sampled, "
            f"so no rate keeps this promise over {counted(shown(steps), 'step')}. Use a sigma of at least 0.07, or "
            "take one step."
        )
        raise ParameterError(msg)
    goal = _Goal(lambda inverse: _dpsgd(noise, min(1.0, 1 / inverse), count), whole.epsilon, whole.delta)
    log_rate = math.log(_central_mu(goal)) - 0.5 * (math.log(count) + _step_size(Fraction(1), noise))
    return 1 / _least(goal, math.exp(min(max(-log_rate, 0.01), 130.0)), _DPSGD_WIDTH)


def _dpsgd_goal(build: Build, epsilon: Number, delta: Number) -> _Goal:
    """Read the promise that DP-SGD is to keep."""
    wanted, chance = _target(epsilon, delta)
    _need_delta(chance)
    return _Goal(build, wanted, chance)


def _dpsgd(sigma: Number, rate: Number, steps: int) -> Curve:
    """Return the curve of `steps` sampled Gaussian mechanisms."""
    from discreet.privacy.curves import gaussian

    return gaussian(sigma).subsample(rate) * steps


def _central_mu(goal: _Goal) -> float:
    """Return the mu of the Gaussian mechanism that just keeps the promise: where searches for DP-SGD start.

    By a central limit theorem many sampled steps are nearly mu-GDP with mu^2 = steps * rate^2 (exp(1 / sigma^2) - 1)
    (Bu, Dong, Long & Su 2020, arXiv:1911.11607). An estimate, never a bound.
    """
    return 1 / _gaussian_start(min(goal.epsilon, Fraction(_LARGEST_EPSILON)), goal.delta)


def _step_size(rate: Fraction, sigma: Fraction) -> float:
    """Return log(rate^2 (exp(1 / sigma^2) - 1)) of one step; -inf for an empty batch."""
    if rate == 0:
        return -math.inf
    inverse = float_up(min(1 / sigma**2, Fraction(700)))
    return 2 * float_log(rate) + math.log(math.expm1(max(inverse, 1e-300)))


def _central_sigma(mu: float, rate: Fraction, steps: int) -> float:
    """Solve mu^2 = steps * rate^2 (exp(1 / sigma^2) - 1) for sigma."""
    size = 2 * math.log(mu) - math.log(steps) - 2 * float_log(rate)
    inverse = math.log1p(math.exp(size)) if size < 700 else size
    return 1 / math.sqrt(max(inverse, 1e-100))

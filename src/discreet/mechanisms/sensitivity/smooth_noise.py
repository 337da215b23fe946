"""Which noise hides a value whose sensitivity is known at the data only: seven families, and the choice among them.

Setting. S bounds how far any neighbor's value lies away, and S(x) <= exp(t) S(x') for neighbors (a t-smooth bound;
Nissim, Raskhodnikova, Smith 2007). Released is f(x) + stretch S(x) Z. Counted in units of stretch S(x), the two
neighbors give Z and exp(a) Z + b with |a| <= t and |b| <= s min(1, exp(a)), s = 1 / stretch, as |f(x) - f(x')| is at
most S(x) and S(x'). Every constant below bounds the divergence of that pair, in both directions:

- one step changes the scale (Z to exp(a) Z), the other moves (Z to Z + b); the tighter families do both at once;
- if P <= exp(e) R + d and R <= exp(e') Q for all events, then P <= exp(e + e') Q + d: a move with a bounded log-density
  slope L adds L s to epsilon and nothing to delta.

The test suite compares every constant with the divergence of the pair worked out to 50 digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import float_down, float_up, sqrt_lower
from discreet.noise import families
from discreet.privacy import Approximate, Pure, approximate, gaussian, pure, zcdp

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.noise.families import Family
    from discreet.privacy import ZCDP, Curve

__all__ = ["LOOSEST", "Law", "SmoothNoise", "calibrated", "candidates", "chosen", "loosest"]

_MARGIN = 2.0**-40
"""What is given away of each bound: float formulas of a dozen operations are right to 2**-48."""
LOOSEST = Fraction(500)
"""The largest epsilon for which noise is made."""
_TANGENT = math.sqrt(2 / math.pi)
_SECH_SLOPE = 0.6627434193491816
"""The largest value of w / cosh(w), at the root of w tanh(w) = 1; the last digit is rounded up."""


class Law(Enum):
    """A family of noise for smooth sensitivity.

    >>> Law("student_t").value
    'student_t'
    """

    POLYPLACE = "polyplace"
    STUDENT_T = "student_t"
    CAUCHY = "cauchy"
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"
    LAPLACE_LOG_NORMAL = "laplace_log_normal"
    UNIFORM_LOG_NORMAL = "uniform_log_normal"
    ARCSINH_NORMAL = "arcsinh_normal"


@dataclass(frozen=True, slots=True)
class SmoothNoise:
    """A family with its parameters: stretch * S * Z hides a value with a t-smooth bound S, t the smoothing.

    >>> noise = chosen(Pure(1), Fraction(1, 8))
    >>> noise.law.value, round(noise.rms, 2)
    ('polyplace', 1.89)
    """

    law: Law
    shape: Fraction
    smoothing: Fraction
    stretch: Fraction
    claim: Pure | Approximate | ZCDP

    @property
    def family(self) -> Family:
        """The sampler's formula."""
        return _FAMILIES[self.law](self.shape)

    @property
    def rms(self) -> float:
        """The root mean square of the noise for S = 1; inf where it has no variance."""
        return float(self.stretch) * math.sqrt(_variance(self.law, float(self.shape)))

    @property
    def privacy(self) -> Curve:
        """The claim as a curve."""
        claim = self.claim
        if isinstance(claim, Pure):
            return pure(claim.epsilon, neighbors=claim.neighbors)
        if isinstance(claim, Approximate):
            return approximate(claim.epsilon, claim.delta, neighbors=claim.neighbors)
        return zcdp(claim.rho, claim.delta, neighbors=claim.neighbors)


_FAMILIES: dict[Law, Callable[[Fraction], Family]] = {
    Law.POLYPLACE: families.PolyPlace,
    Law.STUDENT_T: families.StudentT,
    Law.CAUCHY: families.Cauchy,
    Law.LAPLACE: lambda _: families.Laplace(),
    Law.GAUSSIAN: lambda _: families.Gaussian(),
    Law.LAPLACE_LOG_NORMAL: families.LaplaceLogNormal,
    Law.UNIFORM_LOG_NORMAL: families.UniformLogNormal,
    Law.ARCSINH_NORMAL: families.ArcsinhNormal,
}


def _variance(law: Law, shape: float) -> float:
    """The variance of a family of scale 1."""
    if law is Law.POLYPLACE:
        return 2 * shape**2 / ((shape - 1) * (shape - 2)) if shape > 2 else math.inf
    if law is Law.STUDENT_T:
        return shape / (shape - 2) if shape > 2 else math.inf
    if law is Law.CAUCHY:  # E |Z|**2 for |Z|**g a ratio of beta variables: sin(pi/g) / sin(3 pi/g)
        return math.sin(math.pi / shape) / math.sin(3 * math.pi / shape) if shape > 3 else math.inf
    if law is Law.ARCSINH_NORMAL:
        return math.expm1(2 * shape**2) / (2 * shape**2)
    spread = math.exp(2 * shape**2)
    sizes = {
        Law.LAPLACE: 2.0,
        Law.GAUSSIAN: 1.0,
        Law.LAPLACE_LOG_NORMAL: 2 * spread,
        Law.UNIFORM_LOG_NORMAL: spread / 3,
    }
    return sizes[law]


def loosest(claim: Pure | Approximate | ZCDP) -> Fraction:
    """Return the epsilon for which noise is made, for rho the epsilon of sqrt(2 rho), rounded down; at most 500.

    Noise for 500 keeps every larger promise too; beyond, formulas would leave the range of floats.

    >>> loosest(Pure(10**400)), loosest(Pure(1))
    (Fraction(500, 1), Fraction(1, 1))
    """
    size = claim.epsilon if isinstance(claim, (Pure, Approximate)) else sqrt_lower(2 * min(claim.rho, Fraction(10**6)))
    return min(size, LOOSEST)


def calibrated(law: Law, shape: Fraction, smoothing: Fraction, claim: Pure | Approximate | ZCDP) -> SmoothNoise:
    """Return the least noise of this family and shape that keeps the claim with bounds of this smoothing.

    >>> noise = calibrated(Law.STUDENT_T, Fraction(3), Fraction(1, 10), Pure(1))
    >>> round(float(noise.stretch), 3), round(noise.rms, 3)
    (1.316, 2.279)
    """
    _require_shape(law, shape)
    move = _largest_move(law, shape, smoothing, claim)
    if move <= 0:
        msg = (
            f"smoothing is {float(smoothing):.6g}, with which {law.value} noise keeps no such promise: changing its "
            "scale alone costs that much. Take a smaller smoothing, or leave it out."
        )
        raise ParameterError(msg)
    return SmoothNoise(law, shape, smoothing, Fraction(float_up(1 / Fraction(move))), claim)


def _require_shape(law: Law, shape: Fraction) -> None:
    """Refuse shapes for which there is no sampler, or no proof."""
    _FAMILIES[law](shape)
    if law is Law.UNIFORM_LOG_NORMAL and shape < Fraction(4, 5):
        msg = (
            f"shape is {shape}; uniform-log-normal noise needs at least 4/5, below which its slope is not bounded here."
        )
        raise ParameterError(msg)
    if law in {Law.LAPLACE, Law.GAUSSIAN} and shape != 1:
        msg = f"shape is {shape}; {law.value} noise has only the shape 1."
        raise ParameterError(msg)


@lru_cache(maxsize=4096)
def _largest_move(law: Law, shape: Fraction, smoothing: Fraction, claim: Pure | Approximate | ZCDP) -> float:
    """Return the largest s that the claim allows, rounded down; not above 0 where none is."""
    size, t = float(shape), float_up(smoothing)
    if law in _PURE:  # epsilon-DP is epsilon**2 / 2 zCDP (Bun, Steinke 2016, Proposition 1.4)
        return _PURE[law](size, t, float_down(loosest(claim))) * (1 - _MARGIN)
    if isinstance(claim, Approximate) and claim.delta > 0:
        return _approximate_move(law, size, t, claim)
    if not isinstance(claim, (Pure, Approximate)) and law not in {Law.LAPLACE, Law.GAUSSIAN}:
        return _concentrated_move(law, size, t, float_down(loosest(claim)))
    return 0.0


def _polyplace(tail: float, t: float, epsilon: float) -> float:
    """Density (1 + |z| / k)**(-k - 1) with k the tail.

    The log-ratio of Z and exp(a) Z + b is monotone between the kinks 0 and b and infinity, so its extremes are there.
    At infinity it is k |a|: needed k t <= epsilon. At the kinks, the center of one density and the flank of the other,
    it is at most |a| + (k + 1) ln(1 + s exp(-|a|) / k) where the center is the narrower law's, and less otherwise. That
    is convex in |a|, so |a| = 0 and |a| = t decide:
    s <= k (exp(epsilon / (k + 1)) - 1) and s <= k exp(t) (exp((epsilon - t) / (k + 1)) - 1).
    """
    if tail * t > epsilon * (1 - _MARGIN):
        return 0.0
    still = math.expm1(epsilon * (1 - _MARGIN) / (tail + 1))
    scaled = math.exp(t) * math.expm1((epsilon * (1 - _MARGIN) - t) / (tail + 1))
    return tail * min(still, scaled)


def _student_t(degrees: float, t: float, epsilon: float) -> float:
    """Density (1 + z**2 / d)**(-(d + 1) / 2).

    Along the path from Z to exp(a) Z + b on which scale and place change at constant relative speeds t and s (the
    second is at most s for |b| <= s min(1, exp(a))), the log-density at v changes at the rate
    t (d - (d + 1) d / (d + v**2)) + s (d + 1) v / (d + v**2), up to signs. Its maximum over v is
    ((d - 1) t + (d + 1) sqrt(t**2 + s**2 / d)) / 2, never above d t + s (d + 1) / (2 sqrt(d)), what the two steps
    cost one after the other (Bun, Steinke 2019, arXiv:1906.02830, have (d + 1) (t + s / (2 sqrt(d)))).
    """
    root = (2 * epsilon * (1 - _MARGIN) - (degrees - 1) * t) / (degrees + 1)
    return math.sqrt(degrees * (root - t) * (root + t)) if root > t else 0.0


def _cauchy(exponent: float, t: float, epsilon: float) -> float:
    """Density 1 / (1 + |z|**g).

    The slope of its logarithm, g v**(g-1) / (1 + v**g), is at most (g - 1)**(1 - 1/g), at v**g = g - 1; changing the
    scale changes the logarithm at a rate between -1 and g - 1. Nissim, Raskhodnikova, Smith 2007 have g + 1
    for both.
    """
    slope = math.pow(exponent - 1, 1 - 1 / exponent)
    return (epsilon * (1 - _MARGIN) - max(1.0, exponent - 1) * t) / slope


_PURE = {Law.POLYPLACE: _polyplace, Law.STUDENT_T: _student_t, Law.CAUCHY: _cauchy}


def _slope(law: Law, shape: float) -> float:
    """Bound the slope of the log-density, rounded up.

    Laplace: 1. Laplace-log-normal: with w = exp(-shape Y) the slope at z > 0 is E[w**2 e**(-zw)] / E[w e**(-zw)], the
    mean of w under a law that leans to small w as z grows; so z = 0 is worst: exp(3 shape**2 / 2). Uniform-log-normal:
    the density is Q(u) exp(shape**2 / 2) / 2 for u = ln(z) / shape + shape and Q the normal tail, the slope
    exp(3 shape**2 / 2) phi(u + shape) / (shape Q(u)); for u <= 0 use Q >= 1/2 and phi <= phi(0), beyond that
    phi(u) exp(-shape u) / Q(u) falls as soon as shape >= sqrt(2 / pi), which shape >= 4/5 ensures. Arcsinh-normal: with
    w = arcsinh(shape z), w / (shape cosh w) + shape tanh(w) / cosh(w), and tanh / cosh is at most 1/2.
    """
    if law is Law.LAPLACE:
        return 1.0
    if law is Law.ARCSINH_NORMAL:
        return (_SECH_SLOPE / shape + shape / 2) * (1 + _MARGIN)
    steep = math.exp(1.5 * shape**2) * (1 + _MARGIN)
    return steep if law is Law.LAPLACE_LOG_NORMAL else steep * _TANGENT / shape


def _approximate_move(law: Law, shape: float, t: float, claim: Approximate) -> float:
    """Spend epsilon on the change of scale until delta is kept, the rest on the move."""
    epsilon, delta = float_down(loosest(claim)), float_down(claim.delta)
    if law is Law.GAUSSIAN:
        return _gaussian_move(t, epsilon, delta)
    scaling = _scaling_epsilon(law, shape, t, delta)
    return (epsilon * (1 - _MARGIN) - scaling * (1 + _MARGIN)) / _slope(law, shape) * (1 - _MARGIN)


def _scaling_epsilon(law: Law, shape: float, t: float, delta: float) -> float:
    """Return an epsilon with which a change of scale by up to exp(t) keeps delta.

    From the wide law to the narrow one the loss is unbounded, from the narrow to the wide at most t.
    Laplace: the loss of exp(a) Z is |Z| (exp(a) - 1) - a, hence delta = exp(-u) (1 - exp(-a)) at
    u = (epsilon + a) / (exp(a) - 1), which grows with a. Log-normal products: given the first factor, the pair is
    normal laws at a distance t / shape. Arcsinh-normal: with y' = |Y| and y = arcsinh(exp(a) sinh(shape y')) / shape,
    at most y' + c for c = a / shape, the loss of exp(a) Z is at most (y**2 - y'**2) / 2 <= c y' + c**2 / 2, the loss
    of normal laws at distance c, met on both sides: twice their delta.
    """
    if law is Law.LAPLACE:
        needed = math.expm1(t) * math.log(-math.expm1(-t) / delta) - t
        return max(needed, t)
    if law is Law.ARCSINH_NORMAL:
        return max(_gaussian_epsilon(t / shape, delta / 2), t)
    return _gaussian_epsilon(t / shape, delta)


@lru_cache(maxsize=4096)
def _gaussian_epsilon(distance: float, delta: float) -> float:
    """The epsilon of normal laws of deviation 1 at this distance, certified from above."""
    return gaussian(sigma=Fraction(1), sensitivity=Fraction(distance * (1 + _MARGIN))).epsilon(Fraction(delta))


def _gaussian_move(t: float, epsilon: float, delta: float) -> float:
    """Normal noise: a change of scale with (e1, d1), then a move with (e2, d2): (e1 + e2, d1 + exp(e1) d2).

    The loss of exp(a) Z is Z**2 (exp(2a) - 1) / 2 - a, so d1 = Pr[|Z| > v] - exp(e1) Pr[|Z| > exp(a) v] for
    v**2 = 2 (e1 + a) / (exp(2a) - 1). Half of delta goes to either.
    """
    scaling = _gaussian_scaling(t, delta / 2)
    left = epsilon * (1 - _MARGIN) - scaling
    if left <= 0:
        return 0.0
    part = delta / 2 * math.exp(-scaling)
    low, high = 0.0, left + math.sqrt(2 * left) + 1
    while high - low > high * 2.0**-30:
        middle = (low + high) / 2
        low, high = (middle, high) if _gaussian_epsilon(middle, part) <= left else (low, middle)
    return low


def _gaussian_scaling(t: float, delta: float) -> float:
    """The smallest epsilon of at least t, to 2**-30, with which normal noise may change its scale by exp(t)."""

    def leak(epsilon: float) -> float:
        v = math.sqrt(2 * (epsilon + t) / math.expm1(2 * t))
        return math.erfc(v / math.sqrt(2))  # what is subtracted is left out: an upper bound

    low, high = t, max(1.0, 2 * t)
    while leak(high) > delta:
        high *= 2
    if leak(low) <= delta:
        return low
    while high - low > high * 2.0**-30:
        middle = (low + high) / 2
        low, high = (low, middle) if leak(middle) <= delta else (middle, high)
    return high


def _concentrated_move(law: Law, shape: float, t: float, root: float) -> float:
    """root**2 / 2 zCDP: the roots of the two steps' costs add up (Bun, Steinke 2016, arXiv:1605.02065).

    A move of slope L costs L s, as L s differential privacy does. A change of scale costs t / shape for the log-normal
    products. Arcsinh-normal: the loss c |Y| + c**2 / 2 gives D_alpha(exp(a) Z | Z) <=
    alpha c**2 / 2 + ln(2 Phi((alpha - 1) c)) / (alpha - 1), and ln(2 Phi(x)) <= sqrt(2 / pi) x; the other direction is
    at most a. So max(a, c**2 / 2 + sqrt(2 / pi) c) per order. Bun, Steinke 2019 prove another constant of that form.
    """
    distance = t / shape
    scaling = distance
    if law is Law.ARCSINH_NORMAL:
        scaling = math.sqrt(2 * max(t, distance**2 / 2 + _TANGENT * distance))
    return (root * (1 - _MARGIN) - scaling * (1 + _MARGIN)) / _slope(law, shape) * (1 - _MARGIN)


def candidates(claim: Pure | Approximate | ZCDP, smoothing: Fraction) -> tuple[SmoothNoise, ...]:
    """Return every family with its best shape that keeps the claim, the least noise first.

    Only the claim and the smoothing decide, which are public. Noise without a variance stands last.

    >>> [noise.law.value for noise in candidates(Pure(1), Fraction(1, 10))]
    ['polyplace', 'student_t', 'cauchy']
    """
    best: list[SmoothNoise] = []
    for law, shapes in _SHAPES.items():
        options = _tails(claim, smoothing) if law is Law.POLYPLACE else shapes
        noises = [
            calibrated(law, shape, smoothing, claim)
            for shape in options
            if _largest_move(law, shape, smoothing, claim) > 0
        ]
        best += sorted(noises, key=lambda noise: noise.rms)[:1]
    return tuple(sorted(best, key=lambda noise: noise.rms))


def _tails(claim: Pure | Approximate | ZCDP, smoothing: Fraction) -> tuple[Fraction, ...]:
    """The lightest tail that the smoothing allows, epsilon / t, as a fraction with few digits."""
    epsilon = float_down(loosest(claim))
    tail = math.floor(epsilon / float_up(smoothing) * 64 * (1 - 4 * _MARGIN))
    return (Fraction(min(tail, 2**20 * 64), 64),) if tail > 65 else ()


_NORMALS = tuple(Fraction(i, 16) for i in range(2, 33))
_SHAPES: dict[Law, tuple[Fraction, ...]] = {
    Law.POLYPLACE: (),
    Law.STUDENT_T: tuple(Fraction(i, 2) for i in (*range(2, 21), 24, 32, 48, 64, 128, 256)),
    Law.CAUCHY: tuple(Fraction(i, 2) for i in (4, 7, 8, 9, 10, 12, 16)),
    Law.LAPLACE: (Fraction(1),),
    Law.GAUSSIAN: (Fraction(1),),
    Law.LAPLACE_LOG_NORMAL: _NORMALS,
    Law.UNIFORM_LOG_NORMAL: tuple(shape for shape in _NORMALS if shape >= Fraction(4, 5)),
    Law.ARCSINH_NORMAL: _NORMALS,
}


@lru_cache(maxsize=256)
def chosen(claim: Pure | Approximate | ZCDP, smoothing: Fraction) -> SmoothNoise:
    """Return the family and shape with the least noise for this claim and smoothing.

    >>> from discreet.privacy import ZCDP
    >>> chosen(ZCDP("0.125"), Fraction(1, 5)).law.value
    'uniform_log_normal'
    """
    noises = candidates(claim, smoothing)
    if not noises:
        msg = (
            f"smoothing is {float(smoothing):.6g}; no noise keeps the promise with it. It must be well below epsilon, "
            "such as epsilon / 8."
        )
        raise ParameterError(msg)
    return noises[0]

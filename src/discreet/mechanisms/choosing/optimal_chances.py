"""The largest chances with which keys may be shown, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Box, Interval, float_down, float_up
from discreet.noise.bernoulli import coins

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["OptimalChances", "optimal_chances"]

_BITS = 128  # chances are stated to within 2**-128
_LARGEST = Fraction(512)
_FARTHEST = (1 << 62) - 1  # larger counts count as this


@dataclass(frozen=True, slots=True)
class OptimalChances:
    r"""The chances $\pi_n$ of a key that n units hold: for each n the largest that is private between n - 1 and n.

    They are given by $\pi_0 = 0$ and, with $E = e^\varepsilon$,
    $\pi_{n+1} = \min(E \pi_n + \delta,\ 1 - (1 - \pi_n - \delta)/E,\ 1)$ (Desfontaines, Voss, Gipson & Mandayam 2022,
    arXiv:2006.03684, whose Theorem 1 has the closed form). With $S = \delta/(E - 1)$:

    - The first of the three is the least as long as $\pi_n \le (1 - \delta)/(E + 1)$: subtract the first from the
      second and multiply by E. It gives $\pi_n = S (E^n - 1)$, up to the first n above that bound: `turn`,
      $1 + \lfloor \ln((E + 2\delta - 1)/(\delta (E + 1))) / \varepsilon \rfloor$. Chances never fall, so it stays so.
    - From there $1 - \pi_{n+1} = (1 - \pi_n - \delta)/E$, hence with $q = 1 - \pi_{turn}$ and $m = n - turn$
      $1 - \pi_n = q E^{-m} - S (1 - E^{-m})$, until that is not above 0: from
      $turn + 1 + \lfloor \ln((q + S)/S) / \varepsilon \rfloor$ on, `full`, the chance is 1.

    Both whole numbers are floors of irrational numbers, which enclosures settle: E is transcendental, and neither
    equality is an identity in E, but for delta = 1/2, where 1 - 2 delta = 0 makes the second chance 1.

    Nothing is rounded: coins follow these very chances. An epsilon above 512 counts as 512, which promises more.

    >>> chances = optimal_chances(Fraction(1), Fraction(1, 10**5))
    >>> chances.turn, chances.full, round(float(chances.rounded_up(2)), 10), chances.rounded_up(24)
    (11, 23, 3.71828e-05, Fraction(1, 1))
    """

    epsilon: Fraction
    delta: Fraction
    turn: int
    full: int

    def rounded_up(self, count: int) -> Fraction:
        """Return the chance of a key that so many units hold, rounded up by less than 2**-127; 0, delta and 1 exactly.

        >>> optimal_chances(Fraction(1), Fraction(1, 10)).rounded_up(1)
        Fraction(1, 10)
        """
        if count <= 1:
            return self.delta if count == 1 else Fraction(0)
        return self.enclosed(count, _BITS).upper

    def enclosed(self, count: int, precision: int) -> Interval:
        """Enclose the chance of a key that so many units hold to within 2**(1 - precision)."""
        if count <= 0 or count >= self.full:
            return Interval.of(int(count > 0), precision)
        work = precision + _guard(self.epsilon, self.delta)
        one, slope = Interval.of(1, work), _slope(self.epsilon, self.delta, work)
        if count <= self.turn:
            chance = slope * (_power(self.epsilon, count, work) - one)
        else:
            shrunk = _power(self.epsilon, self.turn - count, work)
            chance = one - self._rest(work) * shrunk + slope * (one - shrunk)
        low, high = max(chance.lo, 0), min(chance.hi, one.lo)
        return Interval(low >> work - precision, -(-high >> work - precision), precision)

    def floats(self, counts: NDArray[np.int64]) -> Box:
        """Enclose the chances of many counts, all below 2**62, by floats."""
        turn, full = min(self.turn, _FARTHEST), min(self.full, _FARTHEST + 1)
        work = 256 + _guard(self.epsilon, self.delta)
        slope, rest, one = _box(_slope(self.epsilon, self.delta, work)), _box(self._rest(work)), Box.of(np.ones(1))

        def half(steps: NDArray[np.int64]) -> Box:
            # Added to 0 for its rounding as a float. By e**x - 1 = 2 e**(x/2) sinh(x/2) small powers cancel nothing.
            return (Box.of(steps.astype(np.float64)) + Box.of(np.zeros(1))).scaled(self.epsilon / 2)

        with np.errstate(all="ignore"):  # what floats cannot bound is settled exactly
            up, down = half(np.clip(counts, 0, turn)), half(np.clip(counts - turn, 0, full - turn))
            rising = (slope * up.exp() * up.sinh()).scaled(Fraction(2))
            shrunk = (-down).exp()
            closing = one - rest * shrunk * shrunk + (slope * shrunk * down.sinh()).scaled(Fraction(2))
        first, low, high = counts <= turn, counts <= 0, counts >= full
        ends = [np.where(first, a, b) for a, b in ((rising.lo, closing.lo), (rising.hi, closing.hi))]
        return Box(*(np.where(high, 1.0, np.where(low, 0.0, np.clip(end, 0.0, 1.0))) for end in ends))

    def toss(self, counts: NDArray[np.int64], bits: BitSource) -> NDArray[np.bool_]:
        """Toss the coin of each key."""
        held = np.clip(counts, 0, min(self.full, _FARTHEST))
        most = int(held.max(initial=0))
        if most <= held.size:  # all chances up to the largest are fewer than the keys
            different, which = np.arange(most + 1), held
        else:
            different, which = np.unique(held, return_inverse=True)
        numbers: list[int] = different.tolist()
        return coins(self.floats(different), which, lambda place, p: self.enclosed(numbers[place], p), bits)

    def _rest(self, work: int) -> Interval:
        """The chance of not being shown at the turn."""
        slope, one = _slope(self.epsilon, self.delta, work), Interval.of(1, work)
        return one - slope * (_power(self.epsilon, self.turn, work) - one)


@lru_cache(maxsize=64)
def optimal_chances(epsilon: Fraction, delta: Fraction) -> OptimalChances:
    """Return the chances of coins that are (epsilon, delta)-private each, or refuse a delta that shows nothing.

    >>> optimal_chances(Fraction(1, 10**9), Fraction(1, 10**15)).turn  # no list of them is made
    13122365378
    """
    if delta * (1 << _BITS) < 1:
        msg = "delta for a single key is below 2**-128; no key would ever be shown. Raise delta."
        raise ParameterError(msg)
    rate = min(epsilon, _LARGEST)

    def crossing(work: int) -> Interval:
        grown = _power(rate, 1, work)
        return (grown + grown.constant(2 * delta - 1)) / (grown + grown.constant(1)).scaled(delta)

    turn = 1 + _steps(crossing, rate, delta)
    part = OptimalChances(rate, delta, turn, turn + 1)
    if 2 * delta >= 1:
        return OptimalChances(rate, delta, 1, 2)

    def closing(work: int) -> Interval:
        slope = _slope(rate, delta, work)
        return (part._rest(work) + slope) / slope  # noqa: SLF001 - our own

    left = _steps(closing, rate, delta)
    return OptimalChances(rate, delta, turn, turn + left + 1)


def _steps(ratio: Callable[[int], Interval], epsilon: Fraction, delta: Fraction) -> int:
    """Return the floor of ln(ratio) / epsilon, by closer and closer enclosures."""
    work = 64 + 2 * _guard(epsilon, delta)
    while True:
        steps = ratio(work).log().scaled(1 / epsilon)
        low, high = math.floor(steps.lower), math.floor(steps.upper)
        if low == high:
            return low
        work *= 2


def _guard(epsilon: Fraction, delta: Fraction) -> int:
    """How many bits are lost: S is off by 2**-work / epsilon of itself, and is multiplied by up to E (1 + 1/delta)."""
    small = max(1, math.ceil(1 / epsilon)).bit_length()
    return 2 * small + math.ceil(1 / delta).bit_length() + 2 * math.ceil(epsilon) + 16


def _power(epsilon: Fraction, steps: int, work: int) -> Interval:
    """E to a whole power."""
    return Interval.of(epsilon * steps, work).exp()


def _slope(epsilon: Fraction, delta: Fraction, work: int) -> Interval:
    """S = delta / (E - 1)."""
    return Interval.of(delta, work) / (_power(epsilon, 1, work) - Interval.of(1, work))


def _box(interval: Interval) -> Box:
    """The same by floats."""
    return Box(np.array([float_down(interval.lower)]), np.array([float_up(interval.upper)]))

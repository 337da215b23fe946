"""Noisy sums over a noisy count: means, mean products, and what they are off by.

One place for every ratio, whoever asks: a mechanism on a column, whose ± counts the rows that it released, or a
question, whose ± is foreseen for rows that are expected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.mechanisms.adding.combinations import combined

if TYPE_CHECKING:
    from discreet.mechanisms.adding.combinations import NoisyNumbers
    from discreet.mechanisms.adding.sums import Terms

__all__ = ["Average", "Estimate", "Product", "correlated", "over_one_less", "rooted"]

Estimate = tuple[float, float]
"""A number and its ±."""


@dataclass(frozen=True, slots=True, eq=False)
class Average:
    """A noisy sum over the noisy count of its rows, each of which adds a whole number of steps between two ends.

    >>> from fractions import Fraction
    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.mechanisms.adding.combinations import NoisyNumbers
    >>> from discreet.mechanisms.adding.sums import pair
    >>> terms, noise = pair(0, 1, (0, 10)).terms(0), DiscreteLaplace(10, epsilon=1)
    >>> made = Average(NoisyNumbers((), (noise,)), terms[1], terms[0], (0, 10), 20.0, 0.5)
    >>> made.mean(300.0, 100.0), noise.error(0.95) / 200 < made.error(100.0, 0.95) <= noise.error(0.975) / 200
    (21.5, True)
    """

    noisy: NoisyNumbers
    total: Terms
    count: Terms
    ends: tuple[int | Fraction, int | Fraction]
    center: float
    """The value that is no step."""
    step: float
    rounding: float = 0.0
    """By how much a grid moves a row at most."""
    widest: float = math.inf
    """How far the mean can be off at most, as it is known to lie between bounds."""
    _reaches: dict[float, float] = field(default_factory=dict, repr=False)
    _ends: list[float] = field(default_factory=list, repr=False)
    _places: dict[tuple[int, float], float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Turn the ends into floats once, for all groups."""
        self._ends.extend(map(float, self.ends))

    def mean(self, total: float, count: float) -> float:
        """The center and the noisy ratio, within the bounds."""
        low, high = self._ends
        return self.center + min(max(total / count, low), high) * self.step

    @property
    def farthest(self) -> float:
        """How far the mean can be from the center."""
        return max(map(abs, self._ends)) * self.step

    def reach(self, confidence: float) -> float:
        r"""Bound |z - r z'| for the noise z of the sum and z' of its count, with this probability for any r.

        With S + z and n + z' released and r = S / n, (S + z)/(n + z') - r = (z - r z')/(n + z'), exactly. Let R(r) be
        what |z - r z'| exceeds with the chance of a miss. It is linear in its coefficients, and noises are independent,
        symmetric and log-concave (Laplace, normal): for such, the quantile of |c_1 Z_1 + ... + c_k Z_k| is a norm of c
        (Bobkov 2010, Convex bodies and norms associated to convex measures, doi:10.1007/s00440-009-0209-7: floating
        bodies are convex), so R is convex in r and at most what it is at the ends of the values. Where the count is
        public both are one. `_slack` makes up for noise of whole numbers; where that is more, the two ends share the
        chance of a miss instead.
        """
        if confidence not in self._reaches:
            terms = {combined((self.total, 1), (self.count, -end)) for end in self.ends}
            known = max(self.noisy.reach(end, confidence) for end in terms)
            if len(terms) > 1:
                shared = max(self.noisy.reach(end, (1 + confidence) / 2) for end in terms)
                known = min(known + self._slack, shared)
            self._reaches[confidence] = known * self.step
        return self._reaches[confidence]

    @property
    def _slack(self) -> float:
        """What noise of whole numbers can add to a bound for noise of real ones, and back.

        A discrete Laplace draw exceeds a real one by at most 1, and is exceeded by at most 1; a rounded normal draw by
        half of that. All draws of a combination together: the sum of its coefficients, which is convex in r too.
        """
        ends = (combined((self.total, 1), (self.count, -end)) for end in self.ends)
        return 2 * max(float(sum(abs(coefficient) for *_, coefficient in terms)) for terms in ends)

    def _reach_at(self, place: int, confidence: float) -> float:
        """R at one of `_PLACES` + 1 values, equally far apart from one end to the other; in steps."""
        if (place, confidence) not in self._places:
            low, high = (Fraction(end) for end in self.ends)
            value = low + (high - low) * place / _PLACES
            terms = combined((self.total, 1), (self.count, -value))
            self._places[place, confidence] = self.noisy.reach(terms, confidence)
        return self._places[place, confidence]

    def error(self, count: float, confidence: float, total: float | None = None) -> float:
        """The ± of the mean over so many rows: the reach over the count, and what the grid moves a row by.

        With the noisy `total`, only means that fit to it: those r for which |total / count - r| count <= R(r), among
        which the true one is with this probability (Fieller 1954, doi:10.1111/j.2517-6161.1954.tb00159.x). All of them
        lie within E of total / count where E is the first bound; R is convex, so between two of its values it is at
        most the larger one; that gives a smaller E, and so on.
        """
        known = self.reach(confidence) / count
        if total is not None and self.step and known > 0:
            known = self._fitting(total / count, count, known / self.step, confidence) * self.step
        return min(known + self.rounding, self.widest)

    def _fitting(self, ratio: float, count: float, first: float, confidence: float) -> float:
        """Shrink a bound, in steps, to what fits to a noisy ratio."""
        low, high = self._ends
        width = high - low
        if width <= 0:
            return first
        bound = first
        for _ in range(_ROUNDS):
            places = [(min(max(end, low), high) - low) / width * _PLACES for end in (ratio - bound, ratio + bound)]
            ends = math.floor(places[0]), math.ceil(places[1])
            reach = max(self._reach_at(end, confidence) for end in ends) + self._slack
            if reach / count >= bound:
                break
            bound = reach / count
        return bound


_PLACES = 16
_ROUNDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """The mean product of two values' distances from their means, from sums of values and of products of one count.

    With the centers a and b of the values, `mixed` is the average of (x - a)(y - b). For a variance both are one.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.mechanisms.adding.combinations import NoisyNumbers
    >>> from discreet.mechanisms.adding.sums import squares
    >>> terms, noisy = squares(0, 1, 2, (-1, 1)).terms(0), NoisyNumbers((), (DiscreteLaplace(4, epsilon=4),))
    >>> x = Average(noisy, terms[1], terms[0], (-1, 1), 0.0, 1.0)
    >>> Product(x, x, Average(noisy, terms[2], terms[0], (0, 1), 0.0, 1.0)).centered((500, 500, 500), 1000)
    0.25
    """

    first: Average
    second: Average
    mixed: Average

    def error(self, count: float, away: tuple[float, float], confidence: float) -> float:
        """The ± of E[(x - a)(y - b)] - (E x - a)(E y - b), for means that are so far `away` from the centers a and b.

        All of its ratios, three or for one value two, hold together: each has its part of the chance of a miss. The
        product of two means that are off by e and f is off by at most |E x - a| f + |E y - b| e + e f.
        """
        single = 1 - (1 - confidence) / (2 if self.first is self.second else 3)
        first, second = (average.error(count, single) for average in (self.first, self.second))
        mixed = self.mixed.error(count, single)
        return mixed + abs(away[0]) * second + abs(away[1]) * first + first * second

    def away(self, totals: tuple[float, float, float], count: float) -> tuple[float, float]:
        """How far both means are from their centers."""
        first, second = self.first.mean(totals[0], count), self.second.mean(totals[1], count)
        return first - self.first.center, second - self.second.center

    def centered(self, totals: tuple[float, float, float], count: float) -> float:
        """The mean product over n, from the noisy sums of both values and of their products."""
        x, y = self.away(totals, count)
        return totals[2] / count * self.mixed.step - x * y

    def estimate(self, totals: tuple[float, float, float], count: float, confidence: float) -> Estimate:
        """The mean product over n with its ±."""
        return self.centered(totals, count), self.error(count, self.away(totals, count), confidence)

    def foreseen(self, count: float, confidence: float) -> float:
        """The ± for so many rows, and means anywhere in their range."""
        away = (self.first.farthest, self.second.farthest)
        return self.error(count, away, confidence)


def over_one_less(square: Estimate, count: Estimate) -> Estimate:
    """From a mean over n to the mean over n - 1, with its ±, for a noisy n with a ± of its own; n is 2 at least.

    If both lie within their ±, the truth lies between the products of their ends with n / (n - 1), which falls from 2.

    >>> over_one_less((4.0, 1.0), (5.0, 0.0)), over_one_less((4.0, 0.0), (3.0, 1.0))
    ((5.0, 1.25), (6.0, 2.0))
    """
    (value, error), (rows, off) = square, count
    middle, *ends = (n / (n - 1) for n in (max(n, 2.0) for n in (rows, rows - off, rows + off)))
    released = value * middle
    return released, max(abs((value + sign * error) * end - released) for sign in (-1, 1) for end in ends)


def rooted(square: Estimate) -> Estimate:
    """The root of a variance, which lies between the roots of both ends of it.

    >>> rooted((4.0, 5.0))
    (2.0, 2.0)
    """
    value, error = square
    root = math.sqrt(max(value, 0.0))
    below = root - math.sqrt(max(value - error, 0.0))
    return root, max(math.sqrt(max(value, 0.0) + error) - root, below)


def correlated(cross: Estimate, first: Estimate, second: Estimate) -> Estimate:
    """The covariance over both deviations, of variances above 0, with its ±.

    If covariance and variances lie within their ±, the correlation lies between the least and the largest of their
    ratios; where one of the variances may be 0, anywhere.

    >>> correlated((1.0, 0.0), (4.0, 0.0), (1.0, 0.0))
    (0.5, 0.0)
    """
    (x, off_x), (y, off_y) = first, second
    # Roots first: the product of two variances may be too large or too small for a double.
    value = min(max(cross[0] / (math.sqrt(x) * math.sqrt(y)), -1.0), 1.0)
    least = math.sqrt(max(x - off_x, 0.0)) * math.sqrt(max(y - off_y, 0.0))
    if not least:
        return value, max(1 - value, 1 + value)
    roots = [least, math.sqrt(x + off_x) * math.sqrt(y + off_y)]
    ends = [(cross[0] + sign * cross[1]) / root for sign in (-1, 1) for root in roots]
    low, high = max(min(ends), -1.0), min(max(ends), 1.0)
    return value, max(high - value, value - low)

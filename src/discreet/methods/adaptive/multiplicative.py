"""By what factor one unit moves a p-value: what tests of private data must declare, derived for some of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import float_up, integer, rational, shown
from discreet.mechanisms.inputs.parameters import assign, read_positive, require_single
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = [
    "BinomialTest",
    "ComparisonTest",
    "DeclaredTest",
    "MultiplicativeSensitivity",
    "TruncatedExponentialTest",
]

_RELATIVE = Fraction(1 << 30, (1 << 30) - 1)
_OFF = Fraction(1, 1 << 30)
"""What the logarithm of a computed p-value may be off: ten times the most that was seen, 8e-11 among 10⁹ rows. Noise is
for the p-values that are computed, so that what floats add to their moves is part of η."""


@dataclass(frozen=True, slots=True, init=False)
class MultiplicativeSensitivity:
    r"""Declare that one unit moves a p-value by a factor of at most $e^\eta$, or that it stays below nu.

    For neighbors either $|\ln p - \ln p'| \le \eta$, or both p-values are at most nu (Dwork, Su & Zhang 2021,
    arXiv:1807.04209; Zhang, Kamath & Cummings 2021, arXiv:2002.12321): then $\ln\max(p, \nu)$ moves by at most η. A
    smaller nu tells stronger discoveries from weaker ones, and needs a larger η.

    >>> MultiplicativeSensitivity("0.3", "1e-6")
    MultiplicativeSensitivity(η = 0.3, nu = 1e-06)
    """

    eta: Fraction
    nu: Fraction
    neighbors: Relation
    because: str

    def __init__(
        self,
        eta: Number,
        nu: Number,
        *,
        neighbors: Relation = NeighborRelation.CHANGE_ONE,
        because: str = "",
    ) -> None:
        ratio = read_positive(eta, "eta", zero="a p-value that no unit moves is public")
        floor = rational(nu, name="nu")
        if not 0 < floor < 1 or floor < Fraction(1, 10**300):
            msg = (
                f"nu is {shown(nu)}; it is the p-value below which units may move it by any factor: from 1e-300, "
                "below 1."
            )
            raise ParameterError(msg)
        assign(self, eta=ratio, nu=floor, neighbors=require_relation(neighbors), because=str(because))

    def covers(self, other: MultiplicativeSensitivity) -> bool:
        """Whether noise for this is enough for another.

        >>> wide = MultiplicativeSensitivity("0.3", "1e-6")
        >>> wide.covers(MultiplicativeSensitivity("0.2", "1e-9")), wide.covers(MultiplicativeSensitivity("0.2", "1e-3"))
        (True, False)
        """
        return self.eta >= other.eta and self.nu >= other.nu and self.neighbors == other.neighbors

    def score(self, p_value: float) -> float:
        """Return ln max(p, nu); what is no probability counts as 1, so that no error depends on it.

        >>> declared = MultiplicativeSensitivity("0.3", "1e-6")
        >>> round(declared.score(0), 2), declared.score(float("nan")), declared.score(7)
        (-13.82, 0.0, 0.0)
        """
        try:
            number = float(p_value)
        except (TypeError, ValueError, OverflowError):
            return 0.0
        return math.log(max(number, float(self.nu))) if 0 <= number < 1 else 0.0

    def __repr__(self) -> str:
        return f"MultiplicativeSensitivity(η = {float_up(self.eta):.6g}, nu = {float(self.nu):.6g})"


class DeclaredTest(Protocol):
    """A test that says by what factor one unit moves its p-values.

    >>> test: DeclaredTest = BinomialTest(1000)
    """

    @property
    def sensitivity(self) -> MultiplicativeSensitivity:
        """The factor, derived."""


@dataclass(frozen=True, slots=True, init=False)
class BinomialTest:
    r"""Test whether more of n rows, n public, succeed than by chance: p = P(Bin(n, chance) >= successes).

    Sensitivity. With one row changed the successes move by at most 1. The logarithm of a binomial tail is concave, so
    the factor between neighboring counts grows with the count, and $\ln\max(p, \nu)$ moves most at the last count whose
    p-value is at least nu: by the larger of the moves to it and from it. Both are computed exactly, and rounded up.

    >>> test = BinomialTest(1000, nu="1e-6")
    >>> test.sensitivity, round(test.p_value(560), 6)
    (MultiplicativeSensitivity(η = 0.310683, nu = 1e-06), 8.3e-05)
    """

    rows: int
    chance: Fraction
    nu: Fraction
    sensitivity: MultiplicativeSensitivity

    def __init__(self, rows: SupportsIndex, chance: Number = "1/2", *, nu: Number = "1e-6") -> None:
        count = integer(rows, name="rows", least=1, most=10**9)
        null = _read_chance(chance)
        floor = MultiplicativeSensitivity(1, nu).nu
        eta = float(_worst_binomial(np.array([float(count)]), float(null), float(floor)).max())
        because = f"P(Bin({count}, {null}) >= k) between neighboring k"
        declared = MultiplicativeSensitivity(_rounded(eta), floor, because=because)
        assign(self, rows=count, chance=null, nu=floor, sensitivity=declared)

    def p_value(self, successes: float) -> float:
        """Return how likely so many successes are by chance."""
        return float(_tail(np.float64(_count(successes)), np.float64(self.rows), float(self.chance)))


@dataclass(frozen=True, slots=True, init=False)
class ComparisonTest:
    r"""Test whether the first of two counts of private rows is larger than by chance: p = P(Bin(a + b, 1/2) >= a).

    Counts move by one each time a unit is added or removed, so nobody knows n = a + b. Below a total of `least` the
    second count is filled up, which only makes the p-value larger, and each count is cut at half of `most`, which makes
    it smaller only where it stays above 1/2: both are facts that the test enforces.

    Sensitivity. Let P(n, a) = P(Bin(n, 1/2) >= a). One more in the first count: P(n + 1, a + 1) is the mean of
    P(n, a + 1) and P(n, a), so p falls at most to P(n, a + 1), and to that where the second count was filled up. One
    more in the second: P(n + 1, a) <= P(n, a − 1), so p rises at most to that. One from the second to the first: p
    falls to P(n, a + 1). So the moves of `BinomialTest` at each total from `least` to `most` bound all, where a unit
    counts at most once; both under add/remove and under change-one, where each count moves by at most one.

    >>> test = ComparisonTest(least=1000, most=2000, nu="1e-6")
    >>> test.sensitivity.eta < Fraction(1, 3), round(test.p_value(600, 400), 12)
    (True, 1.36e-10)
    """

    least: int
    most: int
    nu: Fraction
    sensitivity: MultiplicativeSensitivity

    def __init__(
        self,
        *,
        least: SupportsIndex,
        most: SupportsIndex,
        nu: Number = "1e-6",
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low = integer(least, name="least", least=1)
        high = integer(most, name="most", least=low, most=low + 10**6)
        floor, relation = MultiplicativeSensitivity(1, nu).nu, require_single(neighbors)
        eta = float(_worst_binomial(np.arange(low, high + 1, dtype=np.float64), 0.5, float(floor)).max())
        because = f"P(Bin(a + b, 1/2) >= a) with totals from {low} to {high}"
        declared = MultiplicativeSensitivity(_rounded(eta), floor, neighbors=relation, because=because)
        assign(self, least=low, most=high, nu=floor, sensitivity=declared)

    def p_value(self, first: float, second: float) -> float:
        """Return how likely the first count is so large a part of both by chance."""
        half = self.most // 2
        a, b = (min(_count(value), half) for value in (first, second))
        return float(_tail(np.float64(a), np.float64(max(a + b, self.least)), 0.5))


@dataclass(frozen=True, slots=True, init=False)
class TruncatedExponentialTest:
    r"""Test whether n rows, n public, are larger than exponential with mean `scale` cut off at `bound`.

    The p-value is Chernoff's bound for the sum z of the values, clamped into [0, bound]: $\ln p = -\sup_t (t z - n
    \Lambda(t))$ over t >= 0, where Λ is the logarithm of the null's moment generating function. It holds for every n.

    Sensitivity. With one row changed the sum moves by at most `bound`. −ln p is a convex function of the sum that does
    not fall, so its move is largest where it reaches ln(1/nu), or the largest sum if that comes first.

    >>> test = TruncatedExponentialTest(1000, nu="1e-6")
    >>> test.sensitivity.eta < Fraction(3, 5), test.p_value(400), test.p_value(500) < 1e-10
    (True, 1.0, True)
    """

    rows: int
    bound: Fraction
    scale: Fraction
    nu: Fraction
    sensitivity: MultiplicativeSensitivity

    def __init__(self, rows: SupportsIndex, *, bound: Number = 1, scale: Number = 1, nu: Number = "1e-6") -> None:
        count = integer(rows, name="rows", least=1, most=10**9)
        end = read_positive(bound, "bound", zero="then all values are 0")
        mean = read_positive(scale, "scale", zero="then all values are 0")
        floor = MultiplicativeSensitivity(1, nu).nu
        assign(self, rows=count, bound=end, scale=mean, nu=floor)
        wanted, low, high = -math.log(float(floor)), 0.0, float(count * end)
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if self._evidence(middle) < wanted else (low, middle)
        most = min(wanted, self._evidence(float(count * end)))
        eta = most - self._evidence(max(0.0, low - float(end)))
        because = f"Chernoff's bound for {count} exponential values up to {end}"
        off = _OFF + count * self._rounding(min(high, float(count * end)))
        assign(self, sensitivity=MultiplicativeSensitivity(_rounded(eta, off), floor, because=because))

    def p_value(self, total: float) -> float:
        """Bound how likely so large a sum of the clamped values is under the null."""
        return math.exp(-self._evidence(min(_count(total), float(self.rows * self.bound))))

    def _evidence(self, total: float) -> float:
        """−ln p: the supremum over t of a concave function, whose slope falls from z − nμ."""
        mean = total / self.rows
        tilt = self._tilt(mean)
        return max(0.0, self.rows * (tilt * mean - self._log_moment(tilt)))

    def _tilt(self, mean: float) -> float:
        """The t >= 0 at which the supremum is attained, where the tilted null has this mean."""
        low, high = 0.0, 1.0
        if self._slope(0.0) >= mean:
            return 0.0
        while self._slope(high) < mean and high < 1e6:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._slope(middle) < mean else (low, middle)
        return low

    def _rounding(self, total: float) -> Fraction:
        """Bound what floats take from or add to one row's evidence, up to a sum: some last places of its terms."""
        tilt = self._tilt(total / self.rows)
        rate, end = float(1 / self.scale), float(self.bound)
        terms = tilt * end + abs(_log_mass(rate - tilt, end)) + abs(_log_mass(rate, end))
        return Fraction(1 + terms) / 2**48

    def _log_moment(self, t: float) -> float:
        """Λ(t) = ln((1 − e^{−b(r − t)}) r / ((r − t)(1 − e^{−br}))) for the rate r = 1 / scale."""
        rate, end = float(1 / self.scale), float(self.bound)
        return _log_mass(rate - t, end) - _log_mass(rate, end)

    def _slope(self, t: float) -> float:
        """The mean under the null tilted by t: Λ'(t), that of an exponential law of rate r − t cut off at the bound."""
        gap, end = float(1 / self.scale) - t, float(self.bound)
        x = gap * end
        if abs(x) < 1e-5:
            return end * (0.5 - x / 12)
        return end * (1 / x - 1 / math.expm1(x) if x < 700 else 1 / x)


def _log_mass(rate: float, end: float) -> float:
    """Return ln of the integral of e^{−rate x} over [0, end]."""
    x = rate * end
    if abs(x) < 1e-5:
        return math.log(end) - x / 2 + x * x / 24
    if x > 0:
        return math.log(-math.expm1(-x) / rate)
    return -x + math.log(-math.expm1(x) / -rate)


def _read_chance(chance: Number) -> Fraction:
    null = rational(chance, name="chance")
    if not 0 < null < 1:
        msg = f"chance is {shown(chance)}; a null that can be tested lies strictly between 0 and 1."
        raise ParameterError(msg)
    return null


def _rounded(eta: float, off: Fraction = _OFF) -> Fraction:
    return Fraction(math.ceil((Fraction(eta) * _RELATIVE + off) * 2**40), 2**40)


def _count(value: float) -> float:
    """Read a private sum of nonnegative numbers; NaN counts as 0."""
    number = float(value)
    return number if number > 0 else 0.0


def _tail(
    successes: NDArray[np.float64] | np.float64, rows: NDArray[np.float64] | np.float64, chance: float
) -> NDArray[np.float64]:
    """P(Bin(rows, chance) >= successes)."""
    from scipy.special import betainc

    counts = np.ceil(successes)
    inner = np.clip(counts, 1, rows)
    tail: NDArray[np.float64] = np.where(counts <= 0, 1.0, betainc(inner, rows - inner + 1, chance))
    return np.where(counts > rows, 0.0, tail)


def _worst_binomial(rows: NDArray[np.float64], chance: float, nu: float) -> NDArray[np.float64]:
    """By how much ln max(P(Bin(n, chance) >= k), nu) moves at most between neighboring k, for each n of a list."""
    low, high = np.zeros(len(rows)), rows + 1
    while (high - low > 1).any():  # P(Bin(n, chance) >= low) >= nu > P(Bin(n, chance) >= high)
        middle = np.floor((low + high) / 2)
        above = _tail(middle, rows, chance) >= nu
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    last = _tail(low, rows, chance)
    before = np.where(low > 0, _tail(low - 1, rows, chance), last)
    return np.maximum(np.log(before / last), np.log(last / nu))

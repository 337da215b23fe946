"""Plus, minus, times, divided by: total, with the interval of each result.

Two integers give an integer, NULL where 64 bits do not hold it. Otherwise both are taken as doubles and the result is
rounded to nearest, then settled (`Kind.FLOAT`). The interval of a float result is rounded outward, which holds because
rounding is monotone (`Bounds.outward`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.plans.expressions.expression import Facts, Strict, require_kind
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import INT64, LARGEST_FLOAT, SMALLEST_FLOAT, Kind

if TYPE_CHECKING:
    from discreet.tables.kinds import Value

__all__ = [
    "Add",
    "Divide",
    "IntegerDivide",
    "Multiply",
    "Negate",
    "Remainder",
    "Subtract",
    "as_floats",
    "held",
    "numeric_facts",
    "widened",
]

_NUMBERS = {Kind.INTEGER, Kind.FLOAT}


def numeric_facts(kind: Kind, bounds: Bounds, *, nullable: bool) -> Facts:
    """State the facts of a computed number: bounds within what the kind can hold, integer overflow as NULL."""
    if kind is Kind.INTEGER:
        overflows = not bounds.within(INT64)
        return Facts(kind, UNBOUNDED if overflows else bounds, nullable=nullable or overflows)
    outward = bounds.outward()
    low, high = (
        end if end is not None and abs(end) <= LARGEST_FLOAT else None for end in (outward.lower, outward.upper)
    )
    if low is not None and 0 < low < SMALLEST_FLOAT:  # such a float is settled to 0
        low = Fraction(0)
    if high is not None and -SMALLEST_FLOAT < high < 0:
        high = Fraction(0)
    return Facts(kind, Bounds(low, high), nullable=nullable)


def held(facts: Facts) -> Bounds:
    """The bounds of an operand: an integer without bounds still has 64 bits."""
    return facts.bounds.clamped(INT64) if facts.kind is Kind.INTEGER else facts.bounds


def as_floats(facts: Facts) -> Bounds:
    """The bounds of an operand once it is a double: integers beyond 2**53 are rounded."""
    return held(facts).outward()


class _Arithmetic(Strict):
    """Two numbers in, one out; an integer if both are."""

    __slots__ = ()

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """Combine the intervals."""
        require_kind(given, _NUMBERS, self.symbol)
        whole = all(facts.kind is Kind.INTEGER for facts in given)
        bounds = self.combine(*(held(facts) if whole else as_floats(facts) for facts in given))
        return numeric_facts(Kind.INTEGER if whole else Kind.FLOAT, bounds, nullable=self.may_be_null(given))

    @abstractmethod
    def combine(self, *bounds: Bounds) -> Bounds:
        """Give the interval of the result."""


class Add(_Arithmetic):
    """x + y.

    >>> Add(()).apply(2**63 - 1, 1) is None, Add(()).apply(1, 0.5)
    (True, 1.5)
    """

    __slots__ = ()
    symbol: ClassVar[str] = "+"

    def combine(self, *bounds: Bounds) -> Bounds:
        """[a, b] + [c, d] = [a + c, b + d]."""
        return bounds[0] + bounds[1]

    def compute(self, *values: float) -> Value:
        """The sum."""
        return values[0] + values[1]


class Subtract(_Arithmetic):
    """x - y.

    >>> Subtract(()).apply(3, 0.5)
    2.5
    """

    __slots__ = ()
    symbol: ClassVar[str] = "-"

    def combine(self, *bounds: Bounds) -> Bounds:
        """[a, b] - [c, d] = [a - d, b - c]."""
        return bounds[0] - bounds[1]

    def compute(self, *values: float) -> Value:
        """The difference."""
        return values[0] - values[1]


class Multiply(_Arithmetic):
    """x * y.

    >>> Multiply(()).apply(6, 7), Multiply(()).apply(2**62, 2) is None
    (42, True)
    """

    __slots__ = ()
    symbol: ClassVar[str] = "*"

    def combine(self, *bounds: Bounds) -> Bounds:
        """The least and the largest product of ends."""
        return bounds[0] * bounds[1]

    def compute(self, *values: float) -> Value:
        """The product."""
        return values[0] * values[1]


class Negate(_Arithmetic):
    """-x.

    >>> Negate(()).apply(3)
    -3
    """

    __slots__ = ()
    symbol: ClassVar[str] = "negate"

    def combine(self, *bounds: Bounds) -> Bounds:
        """-[a, b] = [-b, -a]."""
        return -bounds[0]

    def compute(self, *values: float) -> Value:
        """The negative."""
        return -values[0]


class Divide(Strict):
    """x / y as floats, whatever the kinds; NULL where y is 0.

    >>> Divide(()).apply(7, 2), Divide(()).apply(1.0, 0) is None
    (3.5, True)
    """

    __slots__ = ()
    symbol: ClassVar[str] = "/"
    partial = True

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """[a, b] * (1 / [c, d]); without bounds if y may be near 0 or of both signs."""
        require_kind(given, _NUMBERS, self.symbol)
        above, below = (as_floats(facts) for facts in given)
        nullable = any(facts.nullable for facts in given) or below.contains(0)
        return numeric_facts(Kind.FLOAT, above * below.inverse(), nullable=nullable)

    def compute(self, *values: float) -> Value:
        """The quotient of the two doubles."""
        divisor = float(values[1])
        return None if divisor == 0 else float(values[0]) / divisor


class IntegerDivide(Strict):
    """x // y of two integers, rounded toward 0; NULL where y is 0.

    >>> IntegerDivide(()).apply(-7, 2)
    -3
    """

    __slots__ = ()
    symbol: ClassVar[str] = "//"
    partial = True

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The interval of x / y without fractions: dropping them is monotone, and |y| is at least 1 where y is not 0.

        If y has both signs, it is [-m, m] for m the largest |x|.
        """
        require_kind(given, {Kind.INTEGER}, self.symbol)
        above, below = (held(facts) for facts in given)
        nullable = any(facts.nullable for facts in given) or below.contains(0)
        for sign in (Bounds(1, None), Bounds(None, -1)):
            if below.within(sign.hull(Bounds(0, 0))):
                return numeric_facts(Kind.INTEGER, _whole(above * below.clamped(sign).inverse()), nullable=nullable)
        return numeric_facts(Kind.INTEGER, above.hull(-above), nullable=nullable)

    def compute(self, *values: int) -> Value:
        """The quotient without its fraction."""
        if values[1] == 0:
            return None
        size = abs(values[0]) // abs(values[1])
        return size if (values[0] < 0) == (values[1] < 0) else -size


class Remainder(Strict):
    """x % y with the sign of x; NULL where y is 0.

    >>> Remainder(()).apply(-7, 2), Remainder(()).apply(5.5, 2)
    (-1, 1.5)
    """

    __slots__ = ()
    symbol: ClassVar[str] = "%"
    partial = True

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """|x % y| is at most |x| and at most |y|, less than |y| if both are whole; its sign is that of x."""
        require_kind(given, _NUMBERS, self.symbol)
        whole = all(facts.kind is Kind.INTEGER for facts in given)
        sizes = [held(facts).magnitude for facts in given]
        if whole and sizes[1]:
            sizes[1] -= 1
        most = min((size for size in sizes if size is not None), default=None)
        low = 0 if held(given[0]).within(Bounds(0, None)) else None if most is None else -most
        high = 0 if held(given[0]).within(Bounds(None, 0)) else most
        nullable = any(facts.nullable for facts in given) or held(given[1]).contains(0)
        return numeric_facts(Kind.INTEGER if whole else Kind.FLOAT, Bounds(low, high), nullable=nullable)

    def compute(self, *values: float) -> Value:
        """The remainder of division toward 0; exact for doubles too."""
        x, y = values
        if y == 0:
            return None
        if isinstance(x, int) and isinstance(y, int):
            return abs(x) % abs(y) * (-1 if x < 0 else 1)
        return math.fmod(x, y)


def _whole(bounds: Bounds) -> Bounds:
    """The ends without their fractions."""
    return Bounds(*(None if end is None else math.trunc(end) for end in (bounds.lower, bounds.upper)))


def widened(bounds: Bounds) -> Bounds:
    """Widen by 2**-40 of the ends, far more than the last-place errors of any engine's functions."""
    slack = Bounds("-1/1099511627776", "1/1099511627776")
    return bounds + bounds * slack

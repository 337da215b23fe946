"""Functions of one number, and buckets."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.exact import exp_lower, exp_upper, log_lower, log_upper, sqrt_lower, sqrt_upper
from discreet.plans.expressions.arithmetic import as_floats, held, numeric_facts, widened
from discreet.plans.expressions.expression import Strict, require_kind, settled
from discreet.plans.refusals import refuse
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Facts
    from discreet.tables.kinds import Value

__all__ = ["Abs", "Bucket", "Ceil", "Exp", "Floor", "Ln", "Power", "Round", "Sign", "Sqrt"]

_NUMBERS = {Kind.INTEGER, Kind.FLOAT}
_LARGEST_EXPONENT = 346  # exp(346.57…) is 2**500, the largest float here
_LARGEST_POWER = 16


class _Function(Strict):
    """A number in, a float out."""

    __slots__ = ()

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The image of the interval, rounded outward."""
        require_kind(given, _NUMBERS, self.symbol)
        bounds = self.image(as_floats(given[0]))
        return numeric_facts(Kind.FLOAT, bounds, nullable=self.undefined(as_floats(given[0])) or given[0].nullable)

    @abstractmethod
    def image(self, bounds: Bounds) -> Bounds:
        """Where the results lie."""

    def undefined(self, bounds: Bounds) -> bool:  # noqa: ARG002 - most functions are defined everywhere
        """Whether the function is undefined, so NULL, somewhere in the interval."""
        return False


class Abs(Strict):
    """|x|, of x's kind.

    >>> Abs(()).apply(-3)
    3
    """

    __slots__ = ()
    symbol: ClassVar[str] = "abs"

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The interval of absolute values."""
        require_kind(given, _NUMBERS, self.symbol)
        return numeric_facts(given[0].kind, held(given[0]).absolute(), nullable=given[0].nullable)

    def compute(self, *values: float) -> Value:
        """The absolute value."""
        return abs(values[0])


class Sign(Strict):
    """-1, 0 or 1, as an integer.

    >>> Sign(()).apply(-0.5)
    -1
    """

    __slots__ = ()
    symbol: ClassVar[str] = "sign"

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """Between -1 and 1."""
        require_kind(given, _NUMBERS, self.symbol)
        return numeric_facts(Kind.INTEGER, Bounds(-1, 1), nullable=given[0].nullable)

    def compute(self, *values: float) -> Value:
        """The sign."""
        return (values[0] > 0) - (values[0] < 0)


class _Whole(Strict):
    """A rounding function: an integer stays as it is, a float becomes a whole float."""

    __slots__ = ()

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The rounded ends: rounding is monotone."""
        require_kind(given, _NUMBERS, self.symbol)
        bounds = held(given[0])
        low = None if bounds.lower is None else Fraction(math.floor(bounds.lower))
        high = None if bounds.upper is None else Fraction(math.ceil(bounds.upper))
        return numeric_facts(given[0].kind, Bounds(low, high), nullable=given[0].nullable)


class Floor(_Whole):
    """The largest whole number that is not above x.

    >>> Floor(()).apply(-1.5)
    -2.0
    """

    __slots__ = ()
    symbol: ClassVar[str] = "floor"

    def compute(self, *values: float) -> Value:
        """Rounded down."""
        return values[0] if isinstance(values[0], int) else float(math.floor(values[0]))


class Ceil(_Whole):
    """The smallest whole number that is not below x.

    >>> Ceil(()).apply(-1.5)
    -1.0
    """

    __slots__ = ()
    symbol: ClassVar[str] = "ceil"

    def compute(self, *values: float) -> Value:
        """Rounded up."""
        return values[0] if isinstance(values[0], int) else float(math.ceil(values[0]))


@dataclass(frozen=True, slots=True)
class Round(Strict):
    """x rounded to a number of decimals, halves away from 0, as round(x * 10**d) / 10**d in doubles.

    For negative d it is round(x / 10**-d) * 10**-d. An integer with d >= 0 stays as it is; otherwise the result is a
    float.

    >>> Round((), 0).apply(2.5), Round((), 1).apply(1.25), Round((), -1).apply(-25)
    (3.0, 1.3, -30.0)
    """

    symbol: ClassVar[str] = "round"

    digits: int

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """At most half a unit of the last decimal beyond the ends."""
        require_kind(given, _NUMBERS, self.symbol)
        if abs(self.digits) > 15:
            refuse(
                f"ROUND(…, {self.digits})",
                why="A double has 15 decimals.",
                instead="ROUND(x, n) with n from -15 to 15.",
            )
        if given[0].kind is Kind.INTEGER and self.digits >= 0:
            return given[0].computed()
        half = Fraction(10) ** -self.digits / 2
        bounds = widened(as_floats(given[0]) + Bounds(-half, half))
        return numeric_facts(Kind.FLOAT, bounds, nullable=given[0].nullable)

    def compute(self, *values: float) -> Value:
        """Scale, round, scale back."""
        x = values[0]
        if isinstance(x, int) and self.digits >= 0:
            return x
        if self.digits >= 0:
            factor = float(10**self.digits)
            return _half_away(x * factor) / factor
        factor = float(10**-self.digits)
        return _half_away(x / factor) * factor


def _half_away(x: float) -> float:
    """Round to the nearest whole number, halves away from 0; the difference to the whole part is exact."""
    whole = float(math.trunc(x))
    return whole + math.copysign(1.0, x) if abs(x - whole) >= 0.5 else whole


class Sqrt(_Function):
    """The square root; NULL below 0.

    >>> Sqrt(()).apply(-1) is None, Sqrt(()).apply(9)
    (True, 3.0)
    """

    __slots__ = ()
    symbol: ClassVar[str] = "sqrt"

    def image(self, bounds: Bounds) -> Bounds:
        """The roots of the ends; the root is monotone and correctly rounded everywhere."""
        there = bounds.clamped(Bounds(0, None))
        low = Fraction(0) if there.lower is None else sqrt_lower(there.lower)
        return Bounds(low, None if there.upper is None else sqrt_upper(there.upper))

    def undefined(self, bounds: Bounds) -> bool:
        """Below 0."""
        return not bounds.within(Bounds(0, None))

    def compute(self, *values: float) -> Value:
        """The root."""
        return None if values[0] < 0 else math.sqrt(values[0])


class Ln(_Function):
    """The natural logarithm; NULL at 0 and below.

    >>> Ln(()).apply(0) is None
    True
    """

    __slots__ = ()
    symbol: ClassVar[str] = "ln"

    def image(self, bounds: Bounds) -> Bounds:
        """The logarithms of the ends, widened: engines differ in the last places."""
        low = log_lower(bounds.lower) if bounds.lower is not None and bounds.lower > 0 else None
        high = log_upper(bounds.upper) if bounds.upper is not None and bounds.upper > 0 else None
        return widened(Bounds(low, high))

    def undefined(self, bounds: Bounds) -> bool:
        """At 0 and below."""
        return bounds.lower is None or bounds.lower <= 0

    def compute(self, *values: float) -> Value:
        """The logarithm."""
        return None if values[0] <= 0 else math.log(values[0])


class Exp(_Function):
    """The exponential; at most 2**500.

    >>> Exp(()).apply(1000) == 2.0**500
    True
    """

    __slots__ = ()
    symbol: ClassVar[str] = "exp"

    def image(self, bounds: Bounds) -> Bounds:
        """The exponentials of the ends, widened; open where they reach the largest float."""
        high = bounds.upper
        low = (
            Fraction(0)
            if bounds.lower is None or bounds.lower < -_LARGEST_EXPONENT
            else exp_lower(min(bounds.lower, Fraction(_LARGEST_EXPONENT)))
        )
        top = None if high is None or high > _LARGEST_EXPONENT else exp_upper(high)
        return widened(Bounds(low, top))

    def compute(self, *values: float) -> Value:
        """The exponential of an exponent that is first clamped to ±400."""
        return math.exp(max(-400.0, min(400.0, values[0])))


@dataclass(frozen=True, slots=True)
class Power(Strict):
    """x to a constant whole power from 2 to 16, as floats: squared and multiplied by x as the exponent's digits say.

    x to the 13 (1101 in binary) is ((x² x)²)² x: five products, each rounded and settled, in this order everywhere.

    >>> Power((), 3).apply(2), Power((), 13).by_base
    (8.0, (False, True, False, False, True))
    """

    symbol: ClassVar[str] = "power"

    exponent: int

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """Even powers: of the absolute value; odd powers: of the ends. Each product is rounded outward."""
        require_kind(given, _NUMBERS, self.symbol)
        if not 2 <= self.exponent <= _LARGEST_POWER:
            refuse(
                f"POWER(x, {self.exponent})",
                why=f"Powers are computed for constant whole exponents from 2 to {_LARGEST_POWER}.",
                instead="SQRT(x), 1 / x, or EXP(y * LN(x)).",
            )
        base = as_floats(given[0])
        base = base.absolute() if self.exponent % 2 == 0 else base
        bounds = base
        for with_base in self.by_base:
            other = base if with_base else bounds
            bounds = Bounds(_product(bounds.lower, other.lower), _product(bounds.upper, other.upper)).outward()
        return numeric_facts(Kind.FLOAT, bounds, nullable=given[0].nullable)

    def compute(self, *values: float) -> Value:
        """Multiply, settling on the way as every product is settled."""
        x = power = float(values[0])
        for with_base in self.by_base:
            power = float(settled(power * (x if with_base else power)) or 0.0)  # type: ignore[arg-type]  # a float
        return power

    @property
    def by_base(self) -> tuple[bool, ...]:
        """Tell for each product, in their order, whether it is with x; else it is a square."""
        digits = bin(self.exponent)[3:]  # all but the first
        return tuple(with_base for digit in digits for with_base in ((False, True) if digit == "1" else (False,)))

    @property
    def weight(self) -> int:
        """One part for each product."""
        return 1 + len(self.by_base)

    @property
    def levels(self) -> int:
        """Each product is made of the last."""
        return len(self.by_base)


def _product(x: Fraction | None, y: Fraction | None) -> Fraction | None:
    """Multiply |x| by |y| with the sign of y: the ends of a monotone power, which all have the sign of its base."""
    if x is None or y is None:
        return None
    return abs(x) * y


@dataclass(frozen=True, slots=True)
class Bucket(Strict):
    """WIDTH_BUCKET(x, lower, upper, count): 0 below, 1 to count inside, count + 1 at upper and above.

    The boundaries are the doubles lower + i * width with width = (upper - lower) / count, computed here once; an
    engine compares.

    >>> [Bucket((), (0.0, 5.0, 10.0)).apply(x) for x in (-1, 0, 7, 10)]
    [0, 1, 2, 3]
    """

    symbol: ClassVar[str] = "bucket"

    edges: tuple[float, ...]

    @property
    def weight(self) -> int:
        """One part for each edge."""
        return 1 + len(self.edges)

    @staticmethod
    def widths(lower: Fraction, upper: Fraction, count: int) -> tuple[float, ...]:
        """Give the edges of equally wide buckets.

        >>> Bucket.widths(Fraction(0), Fraction(10), 2)
        (0.0, 5.0, 10.0)
        """
        if not (lower < upper and 1 <= count <= 4000):
            refuse(
                f"WIDTH_BUCKET(x, {lower}, {upper}, {count})",
                why="Buckets need a lower end below the upper one and a count from 1 to 4000.",
                instead="WIDTH_BUCKET(x, 0, 100, 10)",
            )
        return tuple(float(lower + (upper - lower) * i / count) for i in range(count + 1))

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """One of the bucket numbers: known keys."""
        require_kind(given, _NUMBERS, self.symbol)
        if any(a >= b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            refuse(
                "WIDTH_BUCKET", why="The buckets are narrower than doubles can tell apart.", instead="fewer buckets."
            )
        return numeric_facts(Kind.INTEGER, Bounds(0, len(self.edges)), nullable=given[0].nullable)

    def compute(self, *values: float) -> Value:
        """Count the edges that are not above x."""
        x = float(values[0])
        return sum(edge <= x for edge in self.edges)

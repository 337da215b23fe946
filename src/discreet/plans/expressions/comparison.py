"""Comparisons: true, false, or NULL where an operand is.

Numbers compare by value (an integer and a float as doubles), texts by code point, a date with a timestamp as its
midnight, false before true.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.plans.expressions.expression import Facts, Operation, Strict, refuse_kinds
from discreet.tables.bounds import UNBOUNDED
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.tables.kinds import Value

__all__ = ["Equal", "IsNull", "Less", "LessOrEqual", "NotEqual", "comparable"]


def comparable(left: Kind, right: Kind) -> bool:
    """Tell whether values of two kinds can be compared."""
    return left is right or (left.numeric and right.numeric) or (left.temporal and right.temporal)


def aligned(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Bring two values to one kind: a date beside a timestamp is its midnight, an integer beside a float a double."""
    if any(isinstance(value, dt.datetime) for value in values):
        return tuple(v if isinstance(v, dt.datetime) else dt.datetime.combine(v, dt.time()) for v in values)
    if any(isinstance(value, float) for value in values):
        return tuple(map(float, values))
    return values


class _Comparison(Strict):
    """Two comparable operands in, a truth value out."""

    __slots__ = ()

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """A truth value, NULL where an operand is."""
        if not comparable(given[0].kind, given[1].kind):
            refuse_kinds(self.symbol, f"{given[0].kind.value} and {given[1].kind.value} cannot be compared")
        return Facts(Kind.BOOLEAN, UNBOUNDED, nullable=self.may_be_null(given))


class Equal(_Comparison):
    """x = y.

    >>> Equal(()).apply(1, 1.0), Equal(()).apply(None, None) is None
    (True, True)
    """

    __slots__ = ()
    symbol: ClassVar[str] = "="

    def compute(self, *values: Any) -> Value:  # noqa: ANN401 - comparable values
        """Whether both are the same value."""
        x, y = aligned(values)
        return bool(x == y)


class NotEqual(_Comparison):
    """x <> y.

    >>> NotEqual(()).apply("a", "b")
    True
    """

    __slots__ = ()
    symbol: ClassVar[str] = "<>"

    def compute(self, *values: Any) -> Value:  # noqa: ANN401 - comparable values
        """Whether the two differ."""
        x, y = aligned(values)
        return bool(x != y)


class Less(_Comparison):
    """x < y; x > y is y < x.

    >>> Less(()).apply(1, 2.5), Less(()).apply("Z", "a")
    (True, True)
    """

    __slots__ = ()
    symbol: ClassVar[str] = "<"

    def compute(self, *values: Any) -> Value:  # noqa: ANN401 - comparable values
        """Whether the first is smaller."""
        x, y = aligned(values)
        return bool(x < y)


class LessOrEqual(_Comparison):
    """x <= y; x >= y is y <= x.

    >>> LessOrEqual(()).apply(2, 2)
    True
    """

    __slots__ = ()
    symbol: ClassVar[str] = "<="

    def compute(self, *values: Any) -> Value:  # noqa: ANN401 - comparable values
        """Whether the first is not larger."""
        x, y = aligned(values)
        return bool(x <= y)


class IsNull(Operation):
    """x IS NULL; never NULL itself.

    >>> IsNull(()).apply(None)
    True
    """

    __slots__ = ()
    symbol: ClassVar[str] = "is null"

    def derive(self, given: tuple[Facts, ...]) -> Facts:  # noqa: ARG002 - the same for every operand
        """A truth value, always."""
        return Facts(Kind.BOOLEAN, UNBOUNDED, nullable=False)

    def apply(self, *values: Value) -> Value:
        """Whether the value is missing."""
        return values[0] is None

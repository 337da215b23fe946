"""CASE, COALESCE, NULLIF, GREATEST and LEAST: expressions that pass one of their operands on.

All branches are of one kind; `discreet.plans.normal` puts a cast around integers that stand beside floats.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.plans.expressions.comparison import aligned, comparable
from discreet.plans.expressions.expression import Facts, Operation, refuse_kinds, require_kind
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.tables.kinds import Value

__all__ = ["Case", "Coalesce", "Greatest", "Least", "NullIf"]


def _one_kind(given: tuple[Facts, ...], symbol: str) -> Facts:
    """What holds for a value that is one of several: the hull of the intervals, the union of the known values."""
    kinds = {facts.kind for facts in given}
    if len(kinds) > 1:
        refuse_kinds(symbol, "its branches are of kinds " + ", ".join(sorted(kind.value for kind in kinds)))
    merged = reduce(Facts.merged, (facts.computed() for facts in given))
    if merged.domain is not None:
        merged = replace(merged, domain=tuple(value for value in merged.domain if value is not None))
    return merged


class Case(Operation):
    """CASE WHEN c1 THEN v1 WHEN c2 THEN v2 … ELSE v END.

    The operands are c1, v1, c2, v2, …, v; a missing ELSE is a NULL constant. A condition that is NULL does not hold.
    The known values are the union of the branches': constant branches are known keys.

    >>> Case(()).apply(False, "young", None, "middle", "old")
    'old'
    """

    __slots__ = ()
    symbol: ClassVar[str] = "case"

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The hull of the branches; NULL if a branch may be."""
        require_kind(given[:-1:2], {Kind.BOOLEAN}, self.symbol)
        branches = (*given[1:-1:2], given[-1])
        there = [facts for facts in branches if facts.domain != (None,)]
        # The only branch beside NULLs, or the unit in all of them: no two values in the rows of a unit.
        single = all(facts.unit for facts in there) or (len(there) == 1 and there[0].single)
        return replace(_one_kind(branches, self.symbol), single=bool(there) and single)

    def apply(self, *values: Value) -> Value:
        """The value of the first condition that is true."""
        for condition, value in zip(values[:-1:2], values[1:-1:2], strict=True):
            if condition is True:
                return value
        return values[-1]


class Coalesce(Operation):
    """The first operand that is not NULL.

    >>> Coalesce(()).apply(None, 3, 4)
    3
    """

    __slots__ = ()
    symbol: ClassVar[str] = "coalesce"

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The hull; NULL only if all may be."""
        merged = _one_kind(given, self.symbol)
        return replace(merged, nullable=all(facts.nullable for facts in given))

    def apply(self, *values: Value) -> Value:
        """The first value there is."""
        return next((value for value in values if value is not None), None)


class NullIf(Operation):
    """x, but NULL where x = y.

    >>> NullIf(()).apply(0, 0) is None, NullIf(()).apply(1, None)
    (True, 1)
    """

    __slots__ = ()
    symbol: ClassVar[str] = "nullif"

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """What is known about x, and NULL may occur."""
        if not comparable(given[0].kind, given[1].kind):
            refuse_kinds(self.symbol, f"{given[0].kind.value} and {given[1].kind.value} cannot be compared")
        return replace(given[0].computed(), nullable=True)

    def apply(self, *values: Value) -> Value:
        """NULL for equal values."""
        x, y = values
        if x is None or y is None:
            return x
        left, right = aligned((x, y))
        return None if left == right else x


class _Extreme(Operation):
    """Numbers in, one of them out; NULLs are passed over."""

    __slots__ = ()

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """NULL only if all may be; the interval as in `narrowed`."""
        require_kind(given, {Kind.INTEGER, Kind.FLOAT}, self.symbol)
        merged = _one_kind(given, self.symbol)
        bounds = self.narrowed(merged.bounds, [facts.bounds for facts in given if not facts.nullable])
        return replace(merged, bounds=bounds, nullable=all(facts.nullable for facts in given), domain=None)

    @abstractmethod
    def narrowed(self, hull: Bounds, present: list[Bounds]) -> Bounds:
        """Narrow the hull by the operands that are never NULL."""


class Greatest(_Extreme):
    """The largest operand that is not NULL.

    An operand that is never NULL bounds the result from below: max(x, y) >= y >= its lower end.

    >>> Greatest(()).apply(3, None, 5)
    5
    """

    __slots__ = ()
    symbol: ClassVar[str] = "greatest"

    def narrowed(self, hull: Bounds, present: list[Bounds]) -> Bounds:
        """Raise the lower end."""
        lows = [bounds.lower for bounds in (hull, *present) if bounds.lower is not None]
        return Bounds(max(lows, default=None), hull.upper)

    def apply(self, *values: Any) -> Value:  # noqa: ANN401 - numbers
        """The largest there is."""
        return max((value for value in values if value is not None), default=None)


class Least(_Extreme):
    """The smallest operand that is not NULL; an operand that is never NULL bounds it from above.

    >>> Least(()).apply(3, None, 5)
    3
    """

    __slots__ = ()
    symbol: ClassVar[str] = "least"

    def narrowed(self, hull: Bounds, present: list[Bounds]) -> Bounds:
        """Lower the upper end."""
        highs = [bounds.upper for bounds in (hull, *present) if bounds.upper is not None]
        return Bounds(hull.lower, min(highs, default=None))

    def apply(self, *values: Any) -> Value:  # noqa: ANN401 - numbers
        """The smallest there is."""
        return min((value for value in values if value is not None), default=None)

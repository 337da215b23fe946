"""What may be computed of one unit's rows: functions of those rows alone, exact, independent of their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.plans.expressions.arithmetic import numeric_facts
from discreet.plans.expressions.expression import Facts
from discreet.plans.refusals import refuse
from discreet.plans.statistics.exact import Moment, Snapped
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import INT64, Kind

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema

__all__ = [
    "UnitCount",
    "UnitCountDistinct",
    "UnitCountValues",
    "UnitMax",
    "UnitMean",
    "UnitMin",
    "UnitMoment",
    "UnitStatistic",
    "UnitSum",
]


class UnitStatistic(ABC):
    """One number per unit (and group of its rows); groups are never empty.

    >>> UnitCount().operand is None
    True
    """

    __slots__ = ()

    symbol: ClassVar[str]

    @abstractmethod
    def facts(self, schema: Schema, rows: int | None) -> Facts:
        """Derive what is known about the result, for groups of 1 to `rows` rows."""

    @abstractmethod
    def canonical(self) -> list[object]:
        """Return the statistic as plain lists and texts."""

    @property
    def operand(self) -> Expression | None:
        """The expression that is aggregated, or None."""
        return None


@dataclass(frozen=True, slots=True)
class UnitCount(UnitStatistic):
    """The number of rows.

    >>> UnitCount().facts({}, 20).bounds
    Bounds(1, 20)
    """

    symbol: ClassVar[str] = "count"

    def facts(self, schema: Schema, rows: int | None) -> Facts:  # noqa: ARG002 - rows alone are counted
        """From 1, as a group has a row, to the most that a unit has."""
        return Facts(Kind.INTEGER, Bounds(1, rows), nullable=False)

    def canonical(self) -> list[object]:
        """The symbol."""
        return [self.symbol]


@dataclass(frozen=True, slots=True)
class _OfOperand(UnitStatistic):
    """A statistic of the values of one expression."""

    value: Expression

    @property
    def operand(self) -> Expression | None:
        """The expression that is aggregated."""
        return self.value

    def canonical(self) -> list[object]:
        """The symbol and the expression."""
        return [self.symbol, self.value.canonical()]


@dataclass(frozen=True, slots=True)
class _Counted(_OfOperand):
    """A number of values."""

    def facts(self, schema: Schema, rows: int | None) -> Facts:
        """No more than rows; from 0 if NULL can occur, else from 1."""
        return Facts(Kind.INTEGER, Bounds(0 if self.value.facts(schema).nullable else 1, rows), nullable=False)


@dataclass(frozen=True, slots=True)
class _OneOfThem(_OfOperand):
    """One of the values."""

    def facts(self, schema: Schema, rows: int | None) -> Facts:  # noqa: ARG002 - one of the values
        """What is known about the values."""
        return self.value.facts(schema)


@dataclass(frozen=True, slots=True)
class UnitCountValues(_Counted):
    """The number of values that are not NULL.

    >>> from discreet.plans.expressions import Column
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(-1, 4))}
    >>> UnitCountValues(Column("x")).facts(schema, 20).bounds
    Bounds(0, 20)
    """

    symbol: ClassVar[str] = "count_values"


@dataclass(frozen=True, slots=True)
class UnitCountDistinct(_Counted):
    """The number of different values that are not NULL.

    >>> from discreet.plans.expressions import Column
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(-1, 4))}
    >>> UnitCountDistinct(Column("x")).facts(schema, 20).bounds
    Bounds(0, 20)
    """

    symbol: ClassVar[str] = "count_distinct"


@dataclass(frozen=True, slots=True)
class UnitMin(_OneOfThem):
    """The smallest value that is not NULL, by the order of comparisons; NULL if there is none.

    >>> from discreet.plans.expressions import Column
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(-1, 4))}
    >>> UnitMin(Column("x")).facts(schema, 20).bounds
    Bounds(-1, 4)
    """

    symbol: ClassVar[str] = "min"


@dataclass(frozen=True, slots=True)
class UnitMax(_OneOfThem):
    """The largest value that is not NULL, by the order of comparisons; NULL if there is none.

    >>> from discreet.plans.expressions import Column
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(-1, 4))}
    >>> UnitMax(Column("x")).facts(schema, 20).bounds
    Bounds(-1, 4)
    """

    symbol: ClassVar[str] = "max"


@dataclass(frozen=True, slots=True)
class UnitSum(_OfOperand):
    """The sum of the values that are not NULL; NULL if there is none.

    Integers are summed as they are (NULL where the sum leaves 64 bits). Floats are snapped to the grid of
    `snapped` and summed as integers, so that the order of the rows never changes the sum; the result is the
    double nearest to steps * step.

    >>> from discreet.plans.expressions import Column
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(-1, 4))}
    >>> UnitSum(Column("x")).facts(schema, 20).bounds
    Bounds(-20, 80)
    """

    symbol: ClassVar[str] = "sum"

    def facts(self, schema: Schema, rows: int | None) -> Facts:
        """N values in [a, b] with 1 <= n <= k sum up to between min(a, k a) and max(b, k b)."""
        facts = self.value.facts(schema)
        if not facts.kind.numeric:
            _refuse(self.symbol, facts.kind)
        if rows is None or not facts.bounds.finite:
            if facts.kind is Kind.FLOAT:
                self.snapped(schema)  # refuses floats without bounds
            return Facts(facts.kind, nullable=True)
        bounds = facts.bounds.hull(facts.bounds * Bounds(rows, rows))
        if facts.kind is Kind.FLOAT:
            step = self.snapped(schema).step * rows  # each row is off by half a step at most
            return numeric_facts(Kind.FLOAT, bounds + Bounds(-step, step), nullable=facts.nullable)
        return Facts(
            Kind.INTEGER,
            bounds if bounds.within(INT64) else Bounds(),
            nullable=facts.nullable or not bounds.within(INT64),
        )

    def snapped(self, schema: Schema) -> Snapped:
        """Give the operand on its grid; integers have step 1."""
        return Snapped.of(self.value, self.value.facts(schema), part="a sum per unit")


@dataclass(frozen=True, slots=True)
class UnitMean(_OfOperand):
    """The sum as in `UnitSum`, divided by the number of values that are not NULL, as doubles; NULL if there is none.

    >>> from discreet.plans.expressions import Column
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(-1, 4))}
    >>> UnitMean(Column("x")).facts(schema, 20).bounds
    Bounds(-1, 4)
    """

    symbol: ClassVar[str] = "mean"

    def facts(self, schema: Schema, rows: int | None) -> Facts:
        """Between the bounds of the values, but for the grid's rounding."""
        total = UnitSum(self.value).facts(schema, rows)
        facts = self.value.facts(schema)
        if not facts.bounds.finite:
            return Facts(Kind.FLOAT, nullable=True)
        step = Fraction(0) if facts.kind is Kind.INTEGER else self.snapped(schema).step
        return numeric_facts(Kind.FLOAT, facts.bounds.outward() + Bounds(-step, step), nullable=total.nullable)

    def snapped(self, schema: Schema) -> Snapped:
        """Give the operand on its grid; integers have step 1."""
        return UnitSum(self.value).snapped(schema)


def _refuse(symbol: str, kind: Kind) -> None:
    refuse(
        f"{symbol.upper()} per unit", why=f"Values of kind {kind.value} cannot be added.", instead="COUNT, MIN or MAX."
    )


@dataclass(frozen=True, slots=True)
class UnitMoment(UnitStatistic):
    """The sum, over rows in which no factor is NULL, of the product of the snapped factors.

    0 if there are none. Exact; what leaves 64 bits is set to the end that it leaves by, which the clamp that follows
    does not notice.

    >>> from discreet.plans.expressions import Column
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(-1, 4))}
    >>> UnitMoment((Snapped.of(Column("x"), schema["x"], part="SUM"),)).facts(schema, 20).bounds
    Bounds(-20, 80)
    """

    symbol: ClassVar[str] = "moment"

    factors: tuple[Snapped, ...]

    def facts(self, schema: Schema, rows: int | None) -> Facts:  # noqa: ARG002 - the factors carry their bounds
        """As many times one row's reach as there are rows."""
        low, high = Moment(self.factors).reach({})
        bounds = Bounds() if rows is None else Bounds(low * rows, high * rows)
        return Facts(Kind.INTEGER, bounds if bounds.within(INT64) else Bounds(), nullable=False)

    def canonical(self) -> list[object]:
        """The symbol and the factors."""
        return [self.symbol, *(factor.canonical() for factor in self.factors)]

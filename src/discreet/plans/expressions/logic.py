"""And, or, not, in three-valued logic, and membership in a list of constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.plans.expressions.comparison import aligned, comparable
from discreet.plans.expressions.expression import Facts, Operation, Strict, refuse_kinds, require_kind
from discreet.plans.limits import MOST_CONDITIONS
from discreet.plans.refusals import refuse
from discreet.tables.bounds import UNBOUNDED
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Schema
    from discreet.tables.kinds import Value

__all__ = ["And", "In", "Not", "Or"]


class _Connective(Operation):
    """Truth values in, a truth value out."""

    __slots__ = ()

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """A truth value, NULL at most where an operand may be."""
        require_kind(given, {Kind.BOOLEAN}, self.symbol)
        return Facts(Kind.BOOLEAN, UNBOUNDED, nullable=any(facts.nullable for facts in given))


class And(_Connective):
    """All are true; false if one is false, even beside NULL.

    >>> And(()).apply(True, None) is None, And(()).apply(False, None)
    (True, False)
    """

    __slots__ = ()
    symbol: ClassVar[str] = "and"

    def __post_init__(self) -> None:
        """Refuse too many conditions."""
        if len(self.operands) > MOST_CONDITIONS:
            why = f"More than {MOST_CONDITIONS} conditions are joined by AND."
            refuse("AND", why=why, instead="x NOT IN ('a', 'b') for x <> 'a' AND x <> 'b', or fewer conditions.")
        Operation.__post_init__(self)

    def apply(self, *values: Value) -> Value:
        """False beats NULL, NULL beats true."""
        if any(value is False for value in values):
            return False
        return None if any(value is None for value in values) else True


class Or(_Connective):
    """One is true; true if one is true, even beside NULL.

    >>> Or(()).apply(None, True)
    True
    """

    __slots__ = ()
    symbol: ClassVar[str] = "or"

    def apply(self, *values: Value) -> Value:
        """True beats NULL, NULL beats false."""
        if any(value is True for value in values):
            return True
        return None if any(value is None for value in values) else False


class Not(_Connective):
    """The opposite; NULL stays NULL.

    >>> Not(()).apply(True), Not(()).apply(None) is None
    (False, True)
    """

    __slots__ = ()
    symbol: ClassVar[str] = "not"

    def apply(self, *values: Value) -> Value:
        """True for false, false for true."""
        return None if values[0] is None else not values[0]


@dataclass(frozen=True, slots=True, eq=False)
class In(Strict):
    """x IN (constants without NULL); x NOT IN is its negation.

    Constants are equal only if their types are: for Python 1 is 1.0, but beside large integers they differ in meaning.

    >>> In((), (1, 2)).apply(2), In((), (1, 2)) == In((), (1.0, 2.0))
    (True, False)
    """

    symbol: ClassVar[str] = "in"

    choices: tuple[Value, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, In):
            return NotImplemented
        return (self.operands, self._typed) == (other.operands, other._typed)

    def __hash__(self) -> int:
        return hash((self.operands, self._typed))

    @property
    def weight(self) -> int:
        """One part for each constant."""
        return 1 + len(self.choices)

    def steps(self, schema: Schema) -> int:
        """The value may be compared with each constant."""
        return len(self.choices) * self.operands[0].facts(schema).size

    @property
    def _typed(self) -> tuple[tuple[type, Value], ...]:
        return tuple((type(choice), choice) for choice in self.choices)

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """A truth value, NULL where x is."""
        for choice in self.choices:
            if not comparable(given[0].kind, Kind.of(choice)):
                refuse_kinds(self.symbol, f"{given[0].kind.value} cannot be compared with {Kind.of(choice).value}")
        return Facts(Kind.BOOLEAN, UNBOUNDED, nullable=given[0].nullable)

    def compute(self, *values: Any) -> Value:  # noqa: ANN401 - comparable values
        """Whether x is one of the constants."""
        pairs = (aligned((values[0], choice)) for choice in self.choices)
        return any(x == y for x, y in pairs)

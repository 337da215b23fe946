"""What every expression offers: its operands, its facts, its total meaning, its canonical form."""

from __future__ import annotations

import dataclasses
import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from discreet.plans.facts import ENUMERABLE, Facts, Narrowed
from discreet.plans.limits import require_small
from discreet.plans.refusals import refuse
from discreet.tables.kinds import LARGEST_FLOAT, SMALLEST_FLOAT, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from discreet.plans.facts import Schema
    from discreet.tables.kinds import Value

__all__ = ["Expression", "Operation", "Strict", "refuse_kinds", "require_kind", "settled"]


class Expression(ABC):
    """One value per row, computed from the row alone, for every row.

    It never fails: what other systems call an error (1/0, a bad cast, an overflow) is NULL or a bound here.

    >>> from discreet.plans.expressions import Add, Column, Literal
    >>> [type(part).__name__ for part in Add((Column("x"), Literal(1, Kind.INTEGER))).walk()]
    ['Add', 'Column', 'Literal']
    """

    __slots__ = ()

    symbol: ClassVar[str]
    """The name in canonical forms and explanations; one per class."""

    operands: tuple[Expression, ...]
    """The expressions that this one is computed from."""

    parts: int
    """How many parts it has, written out as a tree."""

    depth: int
    """How many operations stand within each other."""

    @abstractmethod
    def with_operands(self, operands: tuple[Expression, ...]) -> Expression:
        """The same operation on other operands."""

    @abstractmethod
    def facts(self, schema: Schema) -> Facts:
        """Derive what is known about the values, or refuse operands of a wrong kind."""

    @abstractmethod
    def evaluate(self, row: Mapping[str, Value]) -> Value:
        """Compute the value for one row: the reference that every engine reproduces."""

    @abstractmethod
    def canonical(self) -> list[object]:
        """Return the expression as plain lists and texts, the same for equal expressions."""

    def steps(self, schema: Schema) -> int:
        """Bound the work for one row, without that of its operands; a text that is compared counts as an operand."""
        return self.facts(schema).size

    def walk(self) -> Iterator[Expression]:
        """Give this expression and everything inside it."""
        left: list[Expression] = [self]
        while left:
            part = left.pop()
            yield part
            left += part.operands[::-1]


@dataclass(frozen=True, slots=True)
class Operation(Expression):
    """An expression computed from operands; a subclass adds its rule for facts and its meaning.

    >>> from discreet.plans.expressions import Column, Not
    >>> Not((Column("urgent"),)).canonical()
    ['not', ['column', 'urgent']]
    """

    operands: tuple[Expression, ...]
    parts: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was derived from the expression alone, so that parts which many expressions share are looked at once."""

    def __post_init__(self) -> None:
        """Refuse what is too large, as it is put together: everything else may then walk through the whole of it."""
        parts = self.weight + sum(operand.parts for operand in self.operands)
        depth = self.levels + max((operand.depth for operand in self.operands), default=0)
        require_small(parts, depth)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "depth", depth)

    @property
    def weight(self) -> int:
        """How many parts the operation itself is written with."""
        return 1

    @property
    def levels(self) -> int:
        """How many operations within each other the operation itself is written as."""
        return 1

    def with_operands(self, operands: tuple[Expression, ...]) -> Self:
        """The same operation on other operands."""
        return dataclasses.replace(self, operands=operands)

    def facts(self, schema: Schema) -> Facts:
        """Derive facts from those of the operands; where all operands have known values, so has the result.

        What a condition of the rows says about this very expression is in the schema already.
        """
        remembered: tuple[Schema, Facts] | None = self.memo.get("facts")
        if remembered is None or remembered[0] is not schema:  # a schema is never changed once it was looked at
            remembered = self.memo["facts"] = schema, self._derived(schema)
        return remembered[1]

    def _derived(self, schema: Schema) -> Facts:
        if isinstance(schema, Narrowed) and schema.computed and self in schema.computed:
            return schema.computed[self]
        given = tuple(operand.facts(schema) for operand in self.operands)
        found = self.derive(given)
        image = self._image(given, found) if found.domain is None else None
        return found if image is None else dataclasses.replace(found, domain=image)

    def evaluate(self, row: Mapping[str, Value]) -> Value:
        """Apply the operation to the operands' values."""
        return self.apply(*(operand.evaluate(row) for operand in self.operands))

    @abstractmethod
    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """Derive kind, bounds and nulls from the operands' facts."""

    @abstractmethod
    def apply(self, *values: Value) -> Value:
        """Compute the value from the operands' values; NULL is None."""

    def canonical(self) -> list[object]:
        """The symbol, the fixed parameters, the operands."""
        if "canonical" not in self.memo:
            fixed = [each.name for each in dataclasses.fields(self) if each.init and each.name != "operands"]
            settings = [_plain(getattr(self, name)) for name in fixed]
            self.memo["canonical"] = [self.symbol, *settings, *(operand.canonical() for operand in self.operands)]
        found: list[object] = self.memo["canonical"]
        return found

    def _image(self, given: tuple[Facts, ...], found: Facts) -> tuple[Value, ...] | None:
        """Enumerate the results over the operands' known values; numbers have keys by their bounds already."""
        if found.kind not in {Kind.TEXT, Kind.DATE} or not given:
            return None
        choices = [facts.keys for facts in given]
        if any(keys is None for keys in choices) or math.prod(len(keys or ()) for keys in choices) > ENUMERABLE:
            return None
        results = {self.apply(*values) for values in itertools.product(*(keys or () for keys in choices))}
        return tuple(sorted(results - {None}, key=lambda value: value))  # type: ignore[return-value, arg-type]


class Strict(Operation):
    """An operation that is NULL as soon as one operand is; `partial` ones may be NULL for other operands too.

    >>> from discreet.plans.expressions import Add
    >>> Add(()).apply(1, None) is None
    True
    """

    __slots__ = ()

    partial: ClassVar[bool] = False

    def apply(self, *values: Value) -> Value:
        """NULL for NULL, else the result of `compute`, settled."""
        if any(value is None for value in values):
            return None
        return settled(self.compute(*values))

    @abstractmethod
    def compute(self, *values: Any) -> Value:  # noqa: ANN401 - the kinds were checked when the facts were derived
        """Compute the value from operands that are not NULL."""

    def may_be_null(self, given: tuple[Facts, ...]) -> bool:
        """Tell whether some row may give NULL."""
        return self.partial or any(facts.nullable for facts in given)


def settled(value: Value) -> Value:
    """Bring a computed number into its kind: overflow and NaN are NULL, huge floats the largest, tiny ones 0.

    >>> settled(2**63), settled(float("nan")), settled(float("-inf")) == -(2.0**500), settled(1e-200)
    (None, None, True, 0.0)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    if math.isnan(value):
        return None
    if abs(value) < SMALLEST_FLOAT:
        return 0.0
    return max(-LARGEST_FLOAT, min(LARGEST_FLOAT, value))


def require_kind(given: tuple[Facts, ...], allowed: set[Kind], symbol: str) -> None:
    """Refuse operands of another kind."""
    for facts in given:
        if facts.kind not in allowed:
            names = " or ".join(sorted(kind.value for kind in allowed))
            refuse_kinds(symbol, f"it takes {names}, not {facts.kind.value}")


MISFIT = "This operation does not fit its operands"
"""How the refusal of an operation on wrong kinds starts; it is named by a symbol that the question may not hold."""


def refuse_kinds(symbol: str, why: str) -> None:
    """Refuse an operation on kinds that it does not take."""
    refuse(
        symbol,
        why=f"{MISFIT}: {why}.",
        instead="a CAST(… AS …) to the kind that is meant, or another operation.",
    )


def _plain(value: object) -> object:
    """Write a fixed parameter as plain values."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Kind):
        return value.value
    return value if value is None or isinstance(value, bool | int | str) else repr(value)

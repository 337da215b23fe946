"""What every expression offers: its operands, public facts, total meaning, canonical form; and the leaves."""

from __future__ import annotations

import dataclasses
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from discreet.plans.limits import DEEPEST, MOST_PARTS
from discreet.plans.refusals import refuse
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import LARGEST_FLOAT, LONGEST_TEXT, SMALLEST_FLOAT, Kind, Value, as_date, as_number

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Hashable, Iterator

__all__ = [
    "ENUMERABLE",
    "Column",
    "Expression",
    "Facts",
    "Literal",
    "Narrowed",
    "Operation",
    "Released",
    "Schema",
    "Strict",
    "refuse_kinds",
    "require_kind",
    "require_small",
    "settled",
]

ENUMERABLE = 4096
"""A bounded integer, or a bounded date, has known keys if it can take at most so many values."""


MISFIT = "This operation does not fit its operands"
"""How the refusal of an operation on wrong kinds starts; it is named by a symbol that the question may not hold."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Public facts about the values of one expression.

    `bounds` are of numbers, of days since 1970 for dates, of microseconds since 1970 for timestamps. They hold for
    every value that is not NULL. `nullable` is False only where no row can hold NULL. `domain` lists known values, in
    key order; it says which groups exist, never that no other value occurs: grouping drops what it does not list.
    `unit` marks a column that equals the unit of its row, `single` one that has at most one value besides NULL in all
    rows of a unit: a column that is the unit, or NULL. `length` bounds the code points of a text; it says nothing about
    other kinds. `declared` are the keys that the policy lists, whatever conditions leave of them.

    >>> Facts(Kind.INTEGER, Bounds(1, 4), nullable=False).keys
    (1, 2, 3, 4)
    >>> Facts(Kind.TEXT).keys is None
    True
    """

    kind: Kind
    bounds: Bounds = UNBOUNDED
    nullable: bool = True
    domain: tuple[Value, ...] | None = None
    unit: bool = False
    single: bool = False
    length: int = LONGEST_TEXT
    declared: tuple[Value, ...] | None = None

    @property
    def keys(self) -> tuple[Value, ...] | None:
        """The known values: the domain, both truth values, or the whole numbers or dates within narrow bounds."""
        if self.domain is not None:
            return self.domain
        if self.kind is Kind.BOOLEAN:
            return (False, True)
        low, high = self.bounds.lower, self.bounds.upper
        if low is None or high is None or high - low >= ENUMERABLE or self.kind not in {Kind.INTEGER, Kind.DATE}:
            return None
        numbers = range(-int(-low // 1), int(high // 1) + 1)
        return tuple(map(as_date, numbers)) if self.kind is Kind.DATE else tuple(numbers)

    @property
    def range(self) -> Bounds:
        """Between which numbers a sum clamps the values: the bounds, or where there are none the ends of the keys.

        A value that is no key may lie outside, as no row is dropped for it; whoever reads this clamps.

        >>> Facts(Kind.INTEGER, domain=(None, 1, 5)).range
        Bounds(1, 5)
        """
        keys = [Fraction(key) for key in self.domain or () if isinstance(key, int | float)]
        return Bounds(min(keys), max(keys)) if keys and self.kind.numeric and not self.bounds.finite else self.bounds

    @property
    def size(self) -> int:
        """How many steps it takes to look at a value: one for each character of a text, else one."""
        return max(1, self.length) if self.kind is Kind.TEXT else 1

    def computed(self) -> Facts:
        """The same facts for a copy that is no longer the unit."""
        return replace(self, unit=False)

    def or_null(self) -> Facts:
        """The same facts for values that may be missing, such as the right side of a left join."""
        return replace(self, nullable=True)

    def merged(self, other: Facts) -> Facts:
        """What holds for values of one kind that come from either side: the weaker of each fact.

        >>> one, two = Facts(Kind.INTEGER, Bounds(0, 1)), Facts(Kind.INTEGER, Bounds(3, 4), nullable=False)
        >>> one.merged(two)
        Facts(kind=<Kind.INTEGER: 'integer'>, bounds=Bounds(0, 4), nullable=True, domain=None, ...)
        """
        domain, declared = (
            None if one is None or two is None else tuple(dict.fromkeys((*one, *two)))
            for one, two in ((self.domain, other.domain), (self.declared, other.declared))
        )
        bounds, nullable = self.bounds.hull(other.bounds), self.nullable or other.nullable
        if self.domain == (None,) or other.domain == (None,):  # a NULL constant says nothing about the other values
            there = other if self.domain == (None,) else self
            bounds, domain, declared = there.bounds, there.domain, there.declared
        unit = self.unit and other.unit  # two columns with one value per unit each may have two together
        return Facts(self.kind, bounds, nullable, domain, unit, unit, max(self.length, other.length), declared)


Schema: TypeAlias = Mapping[str, Facts]
"""The columns of a relation in their order, each with its facts."""


class Narrowed(dict[str, Facts]):
    """The columns of rows that were chosen by conditions, and what those say about values computed from them.

    `computed` holds the facts of expressions that a condition compares with a constant: `a - b` in rows for which
    `a - b <= 60`. An expression that stands there has these facts wherever it is computed from these rows.

    >>> Narrowed({"x": Facts(Kind.TEXT)}).computed
    {}
    """

    __slots__ = ("computed",)

    def __init__(self, columns: Schema) -> None:
        super().__init__(columns)
        self.computed: dict[Hashable, Facts] = dict(columns.computed) if isinstance(columns, Narrowed) else {}


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
        facts = self.derive(given)
        image = self._image(given, facts) if facts.domain is None else None
        return facts if image is None else dataclasses.replace(facts, domain=image)

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
            fixed = [field.name for field in dataclasses.fields(self) if field.init and field.name != "operands"]
            settings = [_plain(getattr(self, name)) for name in fixed]
            self.memo["canonical"] = [self.symbol, *settings, *(operand.canonical() for operand in self.operands)]
        written: list[object] = self.memo["canonical"]
        return written

    def _image(self, given: tuple[Facts, ...], derived: Facts) -> tuple[Value, ...] | None:
        """Enumerate the results over the operands' known values; numbers have keys by their bounds already."""
        if derived.kind not in {Kind.TEXT, Kind.DATE} or not given:
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


def require_small(parts: int, depth: int) -> None:
    """Refuse what is too large to be planned, written or run.

    >>> require_small(5_000, 100)
    >>> require_small(5_001, 9)
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: the question: With every computed column written out where it is used, it has more \
than 5000 parts. Write instead: fewer steps that use a computed column several times, or several questions.
    """
    if depth > DEEPEST:
        refuse(
            "the question",
            why=f"More than {DEEPEST} operations or subqueries stand within each other; each term of a sum is one.",
            instead="a flatter question: (a + b) + (c + d) for a + b + c + d, one WHERE for several.",
        )
    if parts > MOST_PARTS:
        refuse(
            "the question",
            why=f"With every computed column written out where it is used, it has more than {MOST_PARTS} parts.",
            instead="fewer steps that use a computed column several times, or several questions.",
        )


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
        return [_plain(item) for item in value]
    if isinstance(value, Kind):
        return value.value
    return value if value is None or isinstance(value, bool | int | str) else repr(value)


@dataclass(frozen=True, slots=True)
class Column(Expression):
    """The value of a column of the relation below, by its name there.

    >>> Column("age").evaluate({"age": 41})
    41
    """

    symbol: ClassVar[str] = "column"

    name: str
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    parts: int = field(default=1, init=False, repr=False, compare=False)
    depth: int = field(default=1, init=False, repr=False, compare=False)

    def with_operands(self, operands: tuple[Expression, ...]) -> Expression:  # noqa: ARG002 - there are none
        """A column has no operands."""
        return self

    def facts(self, schema: Schema) -> Facts:
        """What the relation below knows about the column."""
        if self.name not in schema:
            refuse(
                self.name, why="There is no such column here.", instead=f"one of {', '.join(sorted(schema)) or 'none'}."
            )
        return schema[self.name]

    def evaluate(self, row: Mapping[str, Value]) -> Value:
        """The cell."""
        return row[self.name]

    def canonical(self) -> list[object]:
        """The name."""
        return [self.symbol, self.name]


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A constant of the question; NULL needs its kind said.

    >>> Literal(3, Kind.INTEGER).facts({}).bounds
    Bounds(3, 3)
    """

    symbol: ClassVar[str] = "literal"

    value: Value
    kind: Kind
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    parts: int = field(default=1, init=False, repr=False, compare=False)
    depth: int = field(default=1, init=False, repr=False, compare=False)

    def with_operands(self, operands: tuple[Expression, ...]) -> Expression:  # noqa: ARG002 - there are none
        """A constant has no operands."""
        return self

    def facts(self, schema: Schema) -> Facts:  # noqa: ARG002 - a constant is the same everywhere
        """Everything is known about a constant."""
        if self.value is None:
            return Facts(self.kind, UNBOUNDED, nullable=True, domain=(None,), length=0)
        length = len(self.value) if isinstance(self.value, str) else LONGEST_TEXT
        if length > LONGEST_TEXT:
            refuse(
                "a text constant",
                why=f"It has {length} characters, and no text here has more than {LONGEST_TEXT}.",
                instead="a shorter one.",
            )
        return Facts(self.kind, _point(self.value), nullable=False, domain=(self.value,), length=length)

    def evaluate(self, row: Mapping[str, Value]) -> Value:  # noqa: ARG002 - a constant is the same everywhere
        """The constant."""
        return self.value

    def canonical(self) -> list[object]:
        """The kind and the value; floats by their shortest decimal, dates in ISO form."""
        plain = self.value if isinstance(self.value, bool | int | str | None) else _text(self.value)
        return [self.symbol, self.kind.value, plain]


@dataclass(frozen=True, slots=True)
class Released(Expression):
    """A constant that is released before the question: public by then, but unknown when the question is planned.

    So nothing is known about it but its kind: no bounds, keys or noise depend on which constant it will be, and the
    plan is the same for every one. `name` stands for it as long as it is not there.

    >>> Released("hole1", Kind.FLOAT).facts({}).bounds, Released("", Kind.FLOAT, 2.5).evaluate({})
    (Bounds(None, None), 2.5)
    """

    symbol: ClassVar[str] = "released"

    name: str
    kind: Kind
    value: Value = None
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    parts: int = field(default=1, init=False, repr=False, compare=False)
    depth: int = field(default=1, init=False, repr=False, compare=False)

    def with_operands(self, operands: tuple[Expression, ...]) -> Expression:  # noqa: ARG002 - there are none
        """A constant has no operands."""
        return self

    def facts(self, schema: Schema) -> Facts:  # noqa: ARG002 - a constant is the same everywhere
        """The kind alone, whatever the value is."""
        return Facts(self.kind)

    def evaluate(self, row: Mapping[str, Value]) -> Value:  # noqa: ARG002 - a constant is the same everywhere
        """The constant."""
        return self.value

    def canonical(self) -> list[object]:
        """The kind and the value, or the name as long as there is none."""
        plain = self.value if isinstance(self.value, bool | int | str | None) else _text(self.value)
        return [self.symbol, self.kind.value, plain, self.name]


@lru_cache(maxsize=1024, typed=True)
def _point(value: bool | float | str | dt.date) -> Bounds:  # noqa: FBT001 - a cell, not a switch
    """The bounds of a constant."""
    if isinstance(value, bool | str):
        return UNBOUNDED
    if isinstance(value, float):
        return _exactly(value)
    number = value if isinstance(value, int) else as_number(value)
    return Bounds(number, number)


def _exactly(value: float) -> Bounds:
    """Take the float as the binary number that the engine computes with, not as the decimal that it prints as."""
    return Bounds(Fraction(value), Fraction(value))


def _text(value: float | dt.date) -> str:
    return repr(value) if isinstance(value, float) else value.isoformat()

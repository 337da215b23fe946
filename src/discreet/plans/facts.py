"""What is publicly known about a column or an expression: its kind, its bounds, its nulls, its keys, its length."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import LONGEST_TEXT, Kind, Value, as_date

__all__ = ["ENUMERABLE", "Facts", "Narrowed", "Schema"]

ENUMERABLE = 4096
"""A bounded integer, or a bounded date, has known keys if it can take at most so many values."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Public facts about the values of one expression.

    `bounds` are of numbers, of days since 1970 for dates, of microseconds since 1970 for timestamps. They hold for
    every value that is not NULL. `nullable` is False only where no row can hold NULL. `domain` lists known values, in
    key order; it says which groups exist, never that no other value occurs: grouping drops what it does not list.
    `unit` marks a column that equals the unit of its row, `single` one that has at most one value besides NULL in all
    rows of a unit: a column that is the unit, or NULL. `length` bounds the code points of a text; it says nothing about
    other kinds.

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
        domain: tuple[Value, ...] | None = None
        if self.domain is not None and other.domain is not None:
            domain = tuple(dict.fromkeys((*self.domain, *other.domain)))
        bounds, nullable = self.bounds.hull(other.bounds), self.nullable or other.nullable
        if self.domain == (None,) or other.domain == (None,):  # a NULL constant says nothing about the other values
            there = other if self.domain == (None,) else self
            bounds, domain = there.bounds, there.domain
        unit = self.unit and other.unit  # two columns with one value per unit each may have two together
        return Facts(self.kind, bounds, nullable, domain, unit, unit, max(self.length, other.length))


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

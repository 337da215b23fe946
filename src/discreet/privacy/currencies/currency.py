"""What all currencies share: a kind, a neighbor relation, exact fields, sums, JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self, cast

from discreet.errors import ParameterError
from discreet.exact import exact_text, integer, shown
from discreet.privacy.readings import as_text, read_json
from discreet.privacy.relations import (
    NeighborRelation,
    Relation,
    read_relation,
    require_same_relation,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.curve import Curve

__all__ = ["Currency", "from_json"]


class Currency(ABC):
    """A privacy promise as one exact value, tagged with its neighbor relation.

    Currencies add only with their own kind and their own relation; everything else is a
    conversion, and conversions live in `discreet.privacy.convert` alone.

    >>> from discreet.privacy.currencies import Pure
    >>> isinstance(Pure("0.1"), Currency)
    True
    """

    __slots__ = ()

    kind: ClassVar[str]
    kinds: ClassVar[dict[str, Callable[..., Currency]]] = {}
    neighbors: Relation

    def __init_subclass__(cls) -> None:
        """Register the kind, so that JSON finds its class."""
        Currency.kinds[cls.kind] = cls

    @abstractmethod
    def curve(self) -> Curve:
        """Return the worst curve that keeps this promise."""

    @abstractmethod
    def fields(self) -> dict[str, Fraction | tuple[Fraction, ...]]:
        """Return the numbers that make the value, by argument name.

        >>> from discreet.privacy.currencies import Pure
        >>> Pure(0.1).fields()
        {'epsilon': Fraction(1, 10)}
        """

    @abstractmethod
    def _plus(self, other: Self) -> Self:
        """Add a promise of the same kind and relation."""

    @abstractmethod
    def _times(self, count: int) -> Self:
        """Return the promise of `count` compositions with itself, at least one."""

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise ParameterError(_cannot_add(self, other))
        require_same_relation(self.neighbors, other.neighbors)
        return self._plus(other)

    def __radd__(self, other: object) -> Self:
        raise ParameterError(_cannot_add(self, other))

    def __mul__(self, count: int) -> Self:
        return self._times(integer(count, name="count", least=0))

    __rmul__ = __mul__

    def to_json(self) -> str:
        """Write the value as JSON text; numbers are texts such as "1/3", so nothing is rounded.

        >>> from discreet.privacy.currencies import Pure
        >>> Pure("1/3").to_json()
        '{"currency": "pure", "epsilon": "1/3", "neighbors": "add_remove"}'
        """
        numbers = {
            name: exact_text(value) if isinstance(value, Fraction) else [exact_text(part) for part in value]
            for name, value in self.fields().items()
        }
        return json.dumps({"currency": self.kind, **numbers, "neighbors": self.neighbors.value})

    def __repr__(self) -> str:
        parts = [
            f"{name}={as_text(value)}"
            if isinstance(value, Fraction)
            else f"{name}=({', '.join(map(as_text, value))}{',' if len(value) == 1 else ''})"
            for name, value in self.fields().items()
            if name != "delta" or value
        ]
        if self.neighbors is not NeighborRelation.ADD_REMOVE:
            parts.append(f"neighbors={self.neighbors.value}")
        return f"{type(self).__name__}({', '.join(parts)})"


def from_json(text: str) -> Currency:
    """Read what `.to_json()` wrote, unchanged.

    >>> from discreet.privacy.currencies import ZCDP
    >>> from_json(ZCDP(rho="1/50").to_json()) == ZCDP(rho="0.02")
    True
    """
    record = read_json(text, "a promise")
    kind, neighbors = record.pop("currency", None), record.pop("neighbors", None)
    if not isinstance(kind, str) or kind not in Currency.kinds or neighbors is None:
        known = ", ".join(sorted(Currency.kinds))
        msg = (
            f"this JSON is no promise; write an object with 'currency' (one of {known}), its numbers as text, and "
            "'neighbors'."
        )
        raise ParameterError(msg)
    try:
        return Currency.kinds[kind](**record, neighbors=read_relation(cast("str", neighbors)))
    except TypeError:  # a number is missing, or there is one that such a promise does not have
        msg = f"this JSON is no {kind} promise; its numbers are {', '.join(sorted(map(shown, record)))}."
        raise ParameterError(msg) from None


def _cannot_add(left: Currency, right: object) -> str:
    """Say why two values do not add and what to write instead."""
    if isinstance(right, Currency):
        return (
            f"{left!r} and {right!r} are different currencies and do not add. Convert one of them: "
            f"convert({right!r}, to={type(left).__name__}) from discreet.privacy.convert, "
            "or add their curves: left.curve() + right.curve()."
        )
    return (
        f"{shown(right)} of type {type(right).__name__} does not add to {left!r}. "
        f"Write it as a promise of the same kind, {type(left).__name__}(...)."
    )

"""Renyi differential privacy at a list of orders."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from discreet.errors import ParameterError
from discreet.exact import Number, counted, rational, shown
from discreet.privacy.currencies.currency import Currency
from discreet.privacy.enclosures import shortened
from discreet.privacy.readings import as_text, read_list, read_nonnegative
from discreet.privacy.relations import NeighborRelation, Relation, require_relation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.privacy.curve import Curve

__all__ = ["RDP"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class RDP(Currency):
    """At each listed order the Renyi divergence between neighbors is at most the listed value.

    Mironov 2017 (arXiv:1702.07476), Definition 4. Values add order by order (his Proposition 1),
    exactly. Orders are above 1, rising; an order at which a mechanism has no finite value is left
    out.

    >>> RDP((2, 4), (0.1, 0.2)) + RDP((2, 4), (0.3, 0.5))
    RDP(orders=(2, 4), values=(0.4, 0.7))
    """

    kind: ClassVar[str] = "rdp"

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    neighbors: Relation

    def __init__(
        self,
        orders: Sequence[Number],
        values: Sequence[Number],
        *,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        numbers = tuple(rational(order, name="orders") for order in read_list(orders, "orders"))
        bounds = tuple(read_nonnegative(value, "values") for value in read_list(values, "values"))
        if not numbers or len(numbers) != len(bounds):
            msg = (
                f"RDP got {counted(len(numbers), 'order')} and {counted(len(bounds), 'value')}; it needs as many "
                "values as orders, at least one."
            )
            raise ParameterError(msg)
        if numbers[0] <= 1 or any(a >= b for a, b in itertools.pairwise(numbers)):
            msg = (
                f"orders are {', '.join(map(as_text, numbers))}; they must be above 1 and rising. "
                "Order 1 is a mean, not a bound; order infinity is Pure(epsilon)."
            )
            raise ParameterError(msg)
        object.__setattr__(self, "orders", numbers)
        object.__setattr__(self, "values", bounds)
        object.__setattr__(self, "neighbors", require_relation(neighbors))

    def at(self, order: Number) -> Fraction:
        """Return the value at an order; at one in between, by the monotony of the divergence.

        The divergence never falls as the order rises (van Erven & Harremoes 2014, arXiv:1206.2459,
        Theorem 3), so the next listed order above gives a bound.

        >>> RDP((2, 4), (0.1, 0.2)).at(3)
        Fraction(1, 5)
        """
        asked = rational(order, name="order")
        above = [v for o, v in zip(self.orders, self.values, strict=True) if o >= asked]
        if asked <= 1 or not above:
            msg = f"order is {shown(order)}; this promise covers orders above 1 up to {as_text(self.orders[-1])}."
            raise ParameterError(msg)
        return above[0]

    def restrict(self, orders: Sequence[Number]) -> RDP:
        """Return the same promise at other orders within the listed ones.

        >>> RDP((2, 4), (0.1, 0.2)).restrict([4])
        RDP(orders=(4,), values=(0.2,))
        """
        return RDP(orders, [self.at(order) for order in read_list(orders, "orders")], neighbors=self.neighbors)

    def curve(self) -> Curve:
        """Return a curve that no mechanism with this promise exceeds."""
        from discreet.privacy.curves import rdp

        values = [shortened(value) for value in self.values]
        return rdp(self.orders, values, neighbors=self.neighbors)

    def fields(self) -> dict[str, Fraction | tuple[Fraction, ...]]:
        """Return the numbers that make the value."""
        return {"orders": self.orders, "values": self.values}

    def _plus(self, other: Self) -> Self:
        if self.orders != other.orders:
            msg = (
                "two RDP promises add at the same orders only; bring both to common orders with .restrict([...]) first."
            )
            raise ParameterError(msg)
        total = [a + b for a, b in zip(self.values, other.values, strict=True)]
        return type(self)(self.orders, total, neighbors=self.neighbors)

    def _times(self, count: int) -> Self:
        total = [count * value for value in self.values]
        return type(self)(self.orders, total, neighbors=self.neighbors)

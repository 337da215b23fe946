"""Pure differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from discreet.privacy.currencies.currency import Currency
from discreet.privacy.enclosures import shortened
from discreet.privacy.readings import read_nonnegative
from discreet.privacy.relations import NeighborRelation, Relation, require_relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.curve import Curve

__all__ = ["Pure"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Pure(Currency):
    """Every event's probability changes by at most a factor exp(epsilon) between neighbors.

    Dwork, McSherry, Nissim & Smith 2006 (doi:10.1007/11681878_14), Definition 1. Sums are exact.

    >>> Pure(0.1) + Pure(0.2) == Pure(0.3)
    True
    >>> Pure("1/3") * 3
    Pure(epsilon=1)
    """

    kind: ClassVar[str] = "pure"

    epsilon: Fraction
    neighbors: Relation

    def __init__(self, epsilon: Number, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> None:
        object.__setattr__(self, "epsilon", read_nonnegative(epsilon, "epsilon"))
        object.__setattr__(self, "neighbors", require_relation(neighbors))

    def curve(self) -> Curve:
        """Return the worst curve that keeps this promise: randomized response.

        Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776).
        """
        from discreet.privacy.curves import pure

        return pure(shortened(self.epsilon), neighbors=self.neighbors)

    def fields(self) -> dict[str, Fraction | tuple[Fraction, ...]]:
        """Return the numbers that make the value."""
        return {"epsilon": self.epsilon}

    def _plus(self, other: Self) -> Self:
        return type(self)(self.epsilon + other.epsilon, neighbors=self.neighbors)

    def _times(self, count: int) -> Self:
        return type(self)(count * self.epsilon, neighbors=self.neighbors)

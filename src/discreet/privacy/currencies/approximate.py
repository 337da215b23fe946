"""Approximate differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from discreet.errors import ParameterError
from discreet.privacy.currencies.currency import Currency
from discreet.privacy.enclosures import shortened
from discreet.privacy.readings import read_delta, read_nonnegative
from discreet.privacy.relations import NeighborRelation, Relation, require_relation

if TYPE_CHECKING:
    from discreet.exact import Number
    from discreet.privacy.curve import Curve

__all__ = ["Approximate"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Approximate(Currency):
    """Every event's probability is at most exp(epsilon) times its neighbor's, plus delta.

    Dwork, Kenthapadi, McSherry, Mironov & Naor 2006 (doi:10.1007/11761679_29). The sum is
    basic composition (Dwork & Roth 2014, Theorem 3.16): both numbers add, exactly.

    >>> Approximate(0.1, 1e-8) + Approximate(0.2, 1e-8)
    Approximate(epsilon=0.3, delta=2e-08)
    """

    kind: ClassVar[str] = "approximate"

    epsilon: Fraction
    delta: Fraction
    neighbors: Relation

    def __init__(
        self,
        epsilon: Number,
        delta: Number = 0,
        *,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        object.__setattr__(self, "epsilon", read_nonnegative(epsilon, "epsilon"))
        object.__setattr__(self, "delta", read_delta(delta))
        object.__setattr__(self, "neighbors", require_relation(neighbors))

    def curve(self) -> Curve:
        """Return the worst curve that keeps this promise.

        Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776): with probability delta everything is told,
        otherwise randomized response.
        """
        from discreet.privacy.curves import approximate

        return approximate(shortened(self.epsilon), shortened(self.delta), neighbors=self.neighbors)

    def fields(self) -> dict[str, Fraction | tuple[Fraction, ...]]:
        """Return the numbers that make the value."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    def _plus(self, other: Self) -> Self:
        delta = _below_one(self.delta + other.delta)
        return type(self)(self.epsilon + other.epsilon, delta, neighbors=self.neighbors)

    def _times(self, count: int) -> Self:
        delta = _below_one(count * self.delta)
        return type(self)(count * self.epsilon, delta, neighbors=self.neighbors)


def _below_one(delta: Fraction) -> Fraction:
    """Refuse a sum of deltas that promises nothing any more."""
    if delta >= 1:
        msg = (
            f"the deltas sum to {float(min(delta, Fraction(10**9))):.3g}; from 1 on nothing is "
            "promised. Use smaller deltas, or add the curves, which lose less."
        )
        raise ParameterError(msg)
    return delta

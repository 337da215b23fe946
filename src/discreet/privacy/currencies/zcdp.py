"""Zero-concentrated differential privacy, with or without a delta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from discreet.errors import ParameterError
from discreet.privacy.currencies.currency import Currency
from discreet.privacy.enclosures import shortened
from discreet.privacy.readings import read_delta, read_nonnegative
from discreet.privacy.relations import NeighborRelation, Relation, require_relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.curve import Curve

__all__ = ["ZCDP"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZCDP(Currency):
    """For every order a > 1 the Renyi divergence between neighbors is at most rho * a.

    Bun & Steinke 2016 (arXiv:1605.02065), Definition 1.1; with delta > 0 this holds outside events
    of probability delta on either side (their approximate zCDP). Rhos add (their Lemma 1.7), deltas
    add (their composition of approximate zCDP), exactly.

    >>> ZCDP(rho="0.02") + ZCDP(rho="0.03", delta=1e-9)
    ZCDP(rho=0.05, delta=1e-09)
    """

    kind: ClassVar[str] = "zcdp"

    rho: Fraction
    delta: Fraction
    neighbors: Relation

    def __init__(
        self,
        rho: Number,
        delta: Number = 0,
        *,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        object.__setattr__(self, "rho", read_nonnegative(rho, "rho"))
        object.__setattr__(self, "delta", read_delta(delta))
        object.__setattr__(self, "neighbors", require_relation(neighbors))

    def curve(self) -> Curve:
        """Return a curve that no mechanism with this promise exceeds."""
        from discreet.privacy.curves import zcdp

        return zcdp(shortened(self.rho), delta=shortened(self.delta), neighbors=self.neighbors)

    def fields(self) -> dict[str, Fraction | tuple[Fraction, ...]]:
        """Return the numbers that make the value."""
        return {"rho": self.rho, "delta": self.delta}

    def _plus(self, other: Self) -> Self:
        delta = _below_one(self.delta + other.delta)
        return type(self)(self.rho + other.rho, delta, neighbors=self.neighbors)

    def _times(self, count: int) -> Self:
        delta = _below_one(count * self.delta)
        return type(self)(count * self.rho, delta, neighbors=self.neighbors)


def _below_one(delta: Fraction) -> Fraction:
    """Refuse a sum of deltas that promises nothing any more."""
    if delta >= 1:
        msg = "the deltas sum to 1 or more, so nothing is promised any more. Use smaller deltas."
        raise ParameterError(msg)
    return delta

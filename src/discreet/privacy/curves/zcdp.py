"""Zero-concentrated differential privacy, as a bound on all Renyi divergences."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.exact.rational import read_delta, read_nonnegative
from discreet.privacy.curve import Curve
from discreet.privacy.enclosures import shortened
from discreet.privacy.part import Part, Symmetric, as_float, require_size
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["ConcentratedBound", "zcdp"]


@dataclass(frozen=True, slots=True)
class ConcentratedBound(Symmetric):
    """Any mechanism that is delta-approximately rho-zCDP (Bun & Steinke 2016, Definitions 1.1 and 8.1)."""

    kind: ClassVar[str] = "zcdp"

    rho_: Fraction
    delta: Fraction

    def check(self) -> None:
        """A rho of at least 0 and a delta below 1."""
        require_size(self.rho_, "rho")
        read_delta(require_size(self.delta, "delta"))

    def loss(self) -> Loss:
        """K(s) <= rho s (s + 1)."""
        from discreet.privacy.numerics.losses.moments import ConcentratedLoss

        return ConcentratedLoss(as_float(self.rho_), as_float(self.delta))

    def rho(self) -> Fraction | None:
        """rho, unless delta is positive."""
        return None if self.delta else self.rho_

    @property
    def failure(self) -> Fraction:
        """The stated delta."""
        return self.delta

    def kept(self) -> Part:
        """The zCDP promise outside the events of probability delta."""
        return ConcentratedBound(self.rho_, Fraction(0))

    def grouped(self, size: int) -> Part | None:
        """size^2 rho (Bun & Steinke 2016, group privacy), for delta = 0."""
        return None if self.delta else ConcentratedBound(shortened(self.rho_ * size**2), self.delta)


def zcdp(rho: Number, delta: Number = 0, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return a curve that no (delta-approximately) rho-zCDP mechanism exceeds.

    >>> zcdp(rho="0.5").zcdp()
    0.5
    """
    part = ConcentratedBound(read_nonnegative(rho, "rho"), read_delta(delta))
    return Curve(((part, 1),), neighbors)

"""Renyi differential privacy at listed orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import rational
from discreet.privacy.curve import Curve
from discreet.privacy.part import Part, as_float
from discreet.privacy.readings import read_nonnegative
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.loss import Loss

__all__ = ["RenyiBound", "examples", "rdp"]


@dataclass(frozen=True, slots=True)
class RenyiBound(Part):
    """Any mechanism with these Renyi divergences at these orders (Mironov 2017, arXiv:1702.07476, Definition 4)."""

    kind: ClassVar[str] = "rdp"

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]

    def losses(self) -> tuple[Loss, Loss]:
        """K(order - 1) <= (order - 1) value."""
        from discreet.privacy.numerics.moments import RenyiLoss

        shifted = tuple(as_float(order - 1) for order in self.orders)
        bounds = tuple(as_float((order - 1) * value) for order, value in zip(self.orders, self.values, strict=True))
        loss = RenyiLoss(shifted, bounds)
        return loss, loss

    def rho(self) -> None:
        """None: finitely many orders bound no zCDP promise."""


def rdp(
    orders: Sequence[Number], values: Sequence[Number], *, neighbors: Relation = NeighborRelation.ADD_REMOVE
) -> Curve:
    """Return a curve that no mechanism with these Renyi divergences exceeds.

    >>> round(rdp(orders=[2, 8], values=[0.1, 0.4]).rdp(order=8), 12)
    0.4
    """
    pairs = sorted(
        (rational(order, name="orders"), read_nonnegative(value, "values"))
        for order, value in zip(orders, values, strict=True)
    )
    places = [order for order, _ in pairs]
    if not pairs or places[0] <= 1 or len(set(places)) != len(places):
        msg = f"orders are {list(orders)}; they must be distinct and above 1, at least one, such as orders=[2, 8, 32]."
        raise ParameterError(msg)
    part = RenyiBound(tuple(places), tuple(value for _, value in pairs))
    return Curve(((part, 1),), neighbors)


def examples() -> tuple[Curve, ...]:
    """Return curves on which laws are tested, from much noise to little."""
    return rdp([2, 8, 32], ["0.01", "0.04", "0.16"]), rdp([4, 16], [1, 5])

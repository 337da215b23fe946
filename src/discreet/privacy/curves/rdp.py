"""Renyi differential privacy at listed orders."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import counted, rational
from discreet.exact.rational import read_list, read_nonnegative, require_kind
from discreet.privacy.curve import Curve
from discreet.privacy.part import Symmetric, as_float, require_size
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["RenyiBound", "rdp"]


@dataclass(frozen=True, slots=True)
class RenyiBound(Symmetric):
    """Any mechanism with these Renyi divergences at these orders (Mironov 2017, arXiv:1702.07476, Definition 4).

    Finitely many orders bound no zCDP promise.
    """

    kind: ClassVar[str] = "rdp"

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]

    def check(self) -> None:
        """Rising orders above 1, each with a value of at least 0."""
        orders = [require_size(order, "orders") for order in require_kind(self.orders, tuple, "orders")]
        values = [require_size(value, "values") for value in require_kind(self.values, tuple, "values")]
        if not orders or len(orders) != len(values):
            msg = (
                f"there are {counted(len(orders), 'order')} and {counted(len(values), 'value')}; "
                "give one value for each order, at least one."
            )
            raise ParameterError(msg)
        if orders[0] <= 1 or any(low >= high for low, high in itertools.pairwise(orders)):
            msg = "the orders are not rising from above 1; they must be distinct, such as orders=[2, 8, 32]."
            raise ParameterError(msg)

    def loss(self) -> Loss:
        """K(order - 1) <= (order - 1) value."""
        from discreet.privacy.numerics.losses.moments import RenyiLoss

        shifted = tuple(as_float(order - 1) for order in self.orders)
        bounds = tuple(as_float((order - 1) * value) for order, value in zip(self.orders, self.values, strict=True))
        return RenyiLoss(shifted, bounds)


def rdp(
    orders: Sequence[Number], values: Sequence[Number], *, neighbors: Relation = NeighborRelation.ADD_REMOVE
) -> Curve:
    """Return a curve that no mechanism with these Renyi divergences exceeds.

    >>> round(rdp(orders=[2, 8], values=[0.1, 0.4]).rdp(order=8), 12)
    0.4
    """
    places = [rational(order, name="orders") for order in read_list(orders, "orders")]
    bounds = [read_nonnegative(value, "values") for value in read_list(values, "values")]
    if len(places) == len(bounds):  # the part itself refuses unequal lengths
        places, bounds = ([pair[i] for pair in sorted(zip(places, bounds, strict=True))] for i in (0, 1))
    return Curve(((RenyiBound(tuple(places), tuple(bounds)), 1),), neighbors)

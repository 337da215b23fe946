"""Mechanisms on disjoint parts of the data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.privacy.curve import Curve
from discreet.privacy.curves.gaussian import gaussian
from discreet.privacy.curves.laplace import laplace
from discreet.privacy.curves.pure import pure
from discreet.privacy.part import Part
from discreet.privacy.relations import Group, NeighborRelation, require_same_relation

if TYPE_CHECKING:
    from discreet.privacy.numerics.loss import Loss

__all__ = ["Parallel", "examples", "parallel"]


@dataclass(frozen=True, slots=True)
class Parallel(Part):
    """The worst of several curves: the neighbor decides which one counts.

    The maximum of profiles is convex, hence the profile of a pair (Zhu, Dong & Wang 2022, Proposition 10).
    """

    kind: ClassVar[str] = "parallel"

    curves: tuple[Curve, ...]

    def losses(self) -> tuple[Loss, Loss]:
        """The larger profile, per direction."""
        from discreet.privacy.numerics.composed import worst_pair

        return worst_pair([curve.directions() for curve in self.curves])

    def rho(self) -> Fraction | None:
        """The largest."""
        totals = []
        for curve in self.curves:
            each = [(part.rho(), count) for part, count in curve.terms]
            if any(rho is None for rho, _ in each):
                return None
            totals.append(sum((rho * count for rho, count in each if rho), start=Fraction(0)))
        return max(totals)


def parallel(first: Curve, *others: Curve) -> Curve:
    """Return the curve of running each mechanism on its own part of the data.

    Under add/remove a unit is in one part: the worst curve counts. Under change-one a unit leaves one part and enters
    another: the worst sum of two curves counts (the parts being chosen by the units' values, not by their position).

    >>> from discreet import privacy as p
    >>> change = p.NeighborRelation.CHANGE_ONE
    >>> both = p.pure(1, neighbors=change).parallel(p.pure(2, neighbors=change))
    >>> round(both.epsilon(delta=0), 12)
    3.0
    """
    curves = (first, *others)
    for curve in curves:
        if not isinstance(curve, Curve):
            msg = f"{curve!r} is no curve; parallel takes curves."
            raise ParameterError(msg)
        require_same_relation(first.neighbors, curve.neighbors)
    if isinstance(first.neighbors, Group):
        msg = "parallel parts of a group relation: take .parallel for single units first, then .group(k)."
        raise ParameterError(msg)
    if len(curves) > 1 and first.neighbors is not NeighborRelation.ADD_REMOVE:
        curves = tuple(a + b for a, b in combinations(curves, 2))
    distinct = tuple(sorted(set(curves), key=repr))
    if len(distinct) == 1:
        return distinct[0]
    return Curve(((Parallel(distinct), 1),), first.neighbors)


def examples() -> tuple[Curve, ...]:
    """Return curves on which laws are tested, from much noise to little."""
    return pure(1).parallel(pure(2)), gaussian(3).parallel(laplace(4))

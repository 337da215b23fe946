"""Mechanisms on disjoint parts of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import float_up, shown
from discreet.exact.rational import require_kind
from discreet.privacy.curve import Curve
from discreet.privacy.leaks import leak_of
from discreet.privacy.part import OPERATIONS, Part, rho_of
from discreet.privacy.relations import NeighborRelation, require_same_relation

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["Parallel", "parallel"]


@dataclass(frozen=True, slots=True)
class Parallel(Part):
    """The worst of several curves: the neighbor decides which one counts.

    The maximum of profiles is convex, hence the profile of a pair (Zhu, Dong & Wang 2022, arXiv:2106.08567).
    """

    kind: ClassVar[str] = "parallel"

    curves: tuple[Curve, ...]

    def check(self) -> None:
        """At least two add/remove curves: about other neighbors no theorem speaks."""
        curves = [require_kind(curve, Curve, "curves") for curve in require_kind(self.curves, tuple, "curves")]
        singles = [c.neighbors.relation is NeighborRelation.ADD_REMOVE and c.neighbors.size == 1 for c in curves]
        odd = not all(singles) or any(c.sampling_error for c in curves)
        if len(curves) < 2 or odd:
            msg = "parallel parts need at least two curves, all of them for add_remove neighbors."
            raise ParameterError(msg)

    def losses(self) -> tuple[Loss, Loss]:
        """The larger profile, per direction."""
        from discreet.privacy.numerics.composed import worst_pair
        from discreet.privacy.numerics.envelope import coarse_pair

        rho, choices = self.rho(), [curve.directions() for curve in self.curves]
        return coarse_pair(None if rho is None else float_up(rho), choices) or worst_pair(choices)

    def infinite(self, side: int) -> tuple[Fraction, Fraction] | None:
        """The largest."""
        leaks = [leak_of(curve.terms, side) for curve in self.curves]
        known = [chances for chances in leaks if chances is not None]
        return (max(low for low, _ in known), max(high for _, high in known)) if len(known) == len(leaks) else None

    def rho(self) -> Fraction | None:
        """The largest."""
        rhos = [rho_of(curve.terms) for curve in self.curves]
        known = [rho for rho in rhos if rho is not None]
        return max(known) if len(known) == len(rhos) else None


def parallel(first: Curve, *others: Curve) -> Curve:
    """Return the curve of running each mechanism on its own part of the data.

    Under add/remove a unit is in one part, so the worst curve counts (McSherry 2009, Theorem 4). Under change-one a
    unit may leave one part and enter another, about which a change-one curve says nothing: take the add/remove curves,
    .parallel, and then .group(2), which covers one unit leaving and one entering.

    >>> from discreet import privacy as p
    >>> both = p.pure(1).parallel(p.pure(2))
    >>> both.epsilon(delta=0), both.group(2).epsilon(delta=0) >= 4
    (2.0, True)
    """
    curves = (first, *others)
    for curve in curves:
        if not isinstance(curve, Curve):
            msg = f"{shown(curve)} is no curve; parallel takes curves."
            raise ParameterError(msg)
        require_same_relation(first.neighbors, curve.neighbors)
    if first.neighbors.size > 1:
        msg = "parallel parts of a group relation: take .parallel for single units first, then .group(k)."
        raise ParameterError(msg)
    if len(curves) > 1 and first.neighbors.relation is not NeighborRelation.ADD_REMOVE:
        msg = (
            f"these curves are for {first.neighbors.value} neighbors, which says nothing about a part that loses or "
            "gains a unit. Take .parallel of the add_remove curves, then .group(2)."
        )
        raise ParameterError(msg)
    # the other parts' data are the same for both neighbors, and so are the laws of their draws, exact or not
    error = max(curve.sampling_error for curve in curves)
    ideal = {replace(curve, sampling_error=Fraction(0)) for curve in curves}
    distinct = tuple(sorted(ideal, key=Curve.to_json))
    if len(distinct) == 1:
        return replace(distinct[0], sampling_error=error)
    return Curve(((Parallel(distinct), 1),), first.neighbors, error)


OPERATIONS["parallel"] = parallel

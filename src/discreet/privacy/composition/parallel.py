"""Parallel composition: disjoint parts of the data, and what the neighbor relation makes of them."""

from __future__ import annotations

from enum import Enum
from functools import reduce
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import counted
from discreet.exact.rational import read_list, require_kind
from discreet.privacy.currencies import Approximate
from discreet.privacy.relations import NeighborRelation, require_same_relation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Parts", "parallel"]


class Parts(Enum):
    """What decides to which part a unit belongs.

    >>> Parts.BY_VALUE.value
    'by_value'
    """

    BY_VALUE = "by_value"
    """The unit's own data (age, city): a changed unit may leave one part and enter another."""

    BY_INDEX = "by_index"
    """The unit's position, fixed and public: a changed unit stays where it is."""


def parallel(
    promises: Sequence[Approximate],
    parts: Parts = Parts.BY_VALUE,
    *,
    exchanged: Sequence[Approximate] | None = None,
) -> Approximate:
    """Return what one mechanism on each of several disjoint parts promises together.

    McSherry 2009 (doi:10.1145/1559845.1559850), Theorem 4, is about add/remove: one part changes, so the largest
    epsilon counts.

    Under change-one a unit that changes its value may leave one part and enter another: two parts change, one by
    losing a unit and one by gaining one, so the two largest *add/remove* promises add. Or it is exchanged inside its
    part, which is what each mechanism's own change-one promise (`exchanged`) is about. Give both, and the worse of the
    two counts. A change-one promise alone says nothing here: publishing the size of one's part costs nothing under
    change-one, and tells everything when a unit moves from one part to another.

    Parts that are fixed by index (change_one_ordered) never lose or gain: the largest promise counts.

    >>> parallel([Approximate(1), Approximate("0.5"), Approximate("0.2")])
    Approximate(epsilon=1)
    >>> counts = [Approximate(e) for e in ("1", "0.5", "0.2")]
    >>> inside = [Approximate(e, neighbors=NeighborRelation.CHANGE_ONE) for e in ("1", "0.5", "0.2")]
    >>> parallel(counts, exchanged=inside)
    Approximate(epsilon=1.5, neighbors=change_one)
    """
    promises = [require_kind(promise, Approximate, "promises") for promise in read_list(promises, "promises")]
    neighbors = _relation_of(promises, require_kind(parts, Parts, "parts"))
    epsilons = sorted((promise.epsilon for promise in promises), reverse=True)
    deltas = sorted((promise.delta for promise in promises), reverse=True)
    if exchanged is None:
        return Approximate(epsilons[0], deltas[0], neighbors=neighbors)
    inside = [require_kind(promise, Approximate, "exchanged") for promise in read_list(exchanged, "exchanged")]
    if len(inside) != len(promises):
        had, needed = counted(len(inside), "promise"), counted(len(promises), "part")
        msg = f"exchanged has {had} for {needed}; give one for each part."
        raise ParameterError(msg)
    changes = reduce(require_same_relation, (promise.neighbors for promise in inside))
    if neighbors is not NeighborRelation.ADD_REMOVE or changes is not NeighborRelation.CHANGE_ONE:
        msg = "exchanged needs change_one promises beside add_remove ones: one of each for every part."
        raise ParameterError(msg)
    epsilon = max(sum(epsilons[:2]), *(promise.epsilon for promise in inside))
    delta = max(sum(deltas[:2]), *(promise.delta for promise in inside))
    return Approximate(epsilon, delta, neighbors=NeighborRelation.CHANGE_ONE)


def _relation_of(promises: Sequence[Approximate], parts: Parts) -> NeighborRelation:
    """Return the one relation of all promises, if parallel composition covers it."""
    if not promises:
        msg = "promises is empty; parallel composition needs at least one part."
        raise ParameterError(msg)
    neighbors = reduce(require_same_relation, (promise.neighbors for promise in promises))
    if not isinstance(neighbors, NeighborRelation):
        msg = f"neighbors are {neighbors.value}; compose for single units first, then apply group privacy."
        raise ParameterError(msg)
    if parts is Parts.BY_INDEX and neighbors is not NeighborRelation.CHANGE_ONE_ORDERED:
        msg = (
            f"parts by index need change_one_ordered neighbors, not {neighbors.value}: only there positions are fixed."
        )
        raise ParameterError(msg)
    if parts is Parts.BY_VALUE and neighbors is not NeighborRelation.ADD_REMOVE:
        msg = (
            f"the promises are for {neighbors.value} neighbors, which says nothing about a part that loses or gains a "
            "unit. Give add_remove promises, and the change_one ones as exchanged=."
        )
        raise ParameterError(msg)
    return neighbors

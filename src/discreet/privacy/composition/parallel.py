"""Parallel composition: disjoint parts of the data, and what the neighbor relation makes of them."""

from __future__ import annotations

from enum import Enum
from functools import reduce
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.privacy.currencies import Approximate, Pure
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


def parallel(promises: Sequence[Approximate], parts: Parts = Parts.BY_VALUE) -> Approximate:
    """Return what one mechanism on each of several disjoint parts promises together.

    McSherry 2009 (doi:10.1145/1559845.1559850), Theorem 4, is about add/remove: one part changes, so the largest
    epsilon counts. Under change-one a unit that changes its value may leave one part and enter another: two parts
    change, so the two largest add. Only if the parts are fixed by index is it the largest again.

    For change_one each promise must hold for its own part whatever happens there, a unit lost, gained or exchanged:
    the sizes of the parts are not public. Deltas follow the same rule.

    >>> parallel([Approximate(1), Approximate("0.5"), Approximate("0.2")])
    Approximate(epsilon=1)
    >>> change = NeighborRelation.CHANGE_ONE
    >>> parallel([Approximate(e, neighbors=change) for e in ("1", "0.5", "0.2")])
    Approximate(epsilon=1.5, neighbors=change_one)
    """
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
    single = neighbors is NeighborRelation.ADD_REMOVE or parts is Parts.BY_INDEX
    touched = 1 if single else 2
    epsilons = sorted((promise.epsilon for promise in promises), reverse=True)
    deltas = sorted((promise.delta for promise in promises), reverse=True)
    return Approximate(sum(epsilons[:touched]), sum(deltas[:touched]), neighbors=neighbors)


def parallel_pure(promises: Sequence[Pure], parts: Parts = Parts.BY_VALUE) -> Pure:
    """Return the same for pure promises.

    >>> parallel_pure([Pure(1), Pure("0.5")])
    Pure(epsilon=1)
    """
    wide = [Approximate(promise.epsilon, neighbors=promise.neighbors) for promise in promises]
    found = parallel(wide, parts)
    return Pure(found.epsilon, neighbors=found.neighbors)

"""The sparse vector technique, up to a number of answers above the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.privacy.curve import Curve
from discreet.privacy.curves.pure import PureBound
from discreet.privacy.part import Part, read_positive
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = ["SparseVectorBound", "sparse_vector"]


@dataclass(frozen=True, slots=True)
class SparseVectorBound(PureBound):
    """One run of the sparse vector technique whose threshold and query noise together spend epsilon.

    Lyu, Su & Li 2017 (arXiv:1603.01699), the standard form: with threshold noise Lap(sensitivity / e1) and query noise
    Lap(2 c sensitivity / e2), stopping after c answers above, the run is (e1 + e2)-differentially private, however many
    answers below it gives. Numeric answers need their own budget.
    """

    kind: ClassVar[str] = "sparse_vector"

    check = Part.check


def sparse_vector(epsilon: Number, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the curve of one run of the sparse vector technique with this total epsilon.

    >>> sparse_vector(epsilon="0.5").epsilon(delta=0)
    0.5
    """
    return Curve(((SparseVectorBound(read_positive(epsilon, "epsilon", "the run's epsilon")), 1),), neighbors)

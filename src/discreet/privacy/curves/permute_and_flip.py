"""Permute-and-flip, equal to noisy max with exponential noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.privacy.curve import Curve
from discreet.privacy.curves.pure import PureBound
from discreet.privacy.part import Part, read_positive
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = ["PermuteAndFlip", "permute_and_flip"]


@dataclass(frozen=True, slots=True)
class PermuteAndFlip(PureBound):
    """Selection with exponential noise of rate epsilon / (2 sensitivity): epsilon-differentially private.

    McKenna & Sheldon 2020 (arXiv:2010.12603); Ding et al. 2021 (arXiv:2105.07260) for the equality with report
    noisy max. Bounded range is not claimed: the pair of pure privacy is used.
    """

    kind: ClassVar[str] = "permute_and_flip"

    check = Part.check


def permute_and_flip(epsilon: Number, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the curve of one selection by permute-and-flip (report noisy max with exponential noise).

    >>> permute_and_flip(epsilon=1).epsilon(delta=0)
    1.0
    """
    return Curve(((PermuteAndFlip(read_positive(epsilon, "epsilon", "the mechanism's epsilon")), 1),), neighbors)

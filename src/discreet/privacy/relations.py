"""Which datasets count as neighbors: the question every privacy promise answers first.

A promise without its neighbor relation means nothing: the same noise that hides the presence of one unit may hide
the exchange of one unit only half as well. The relation is therefore part of every promise's type, and promises of
different relations never add.

Dwork & Roth 2014 (doi:10.1561/0400000042), Definition 2.4 and its discussion; Kifer & Machanavajjhala 2011
(doi:10.1145/1989323.1989345) for "bounded" (change one) against "unbounded" (add or remove).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from discreet.errors import ParameterError
from discreet.exact import shown

__all__ = [
    "Group",
    "NeighborRelation",
    "Relation",
    "group_size",
    "read_relation",
    "require_relation",
    "require_same_relation",
]


_LONGEST_SIZE = 100  # digits


class NeighborRelation(Enum):
    """How two datasets may differ when they are called neighbors.

    A unit is a person (or whatever the policy protects), never a row.

    >>> NeighborRelation.ADD_REMOVE.value
    'add_remove'
    >>> NeighborRelation.CHANGE_ONE.group(3)
    Group(relation=<NeighborRelation.CHANGE_ONE: 'change_one'>, size=3)
    """

    ADD_REMOVE = "add_remove"
    """One unit is present in one of the two datasets and absent from the other. The size n is private. The default."""

    CHANGE_ONE = "change_one"
    """As multisets the datasets differ by exchanging one unit for another. The size n is public."""

    CHANGE_ONE_ORDERED = "change_one_ordered"
    """As sequences the datasets differ in one position (Hamming distance 1). The size n is public.

    Every such pair is also a CHANGE_ONE pair, so a CHANGE_ONE promise holds here too; the reverse needs a mechanism
    that ignores the order of the rows.
    """

    def group(self, size: int) -> Relation:
        """Return the relation of datasets that are at most `size` steps of this one apart.

        >>> NeighborRelation.ADD_REMOVE.group(1) is NeighborRelation.ADD_REMOVE
        True
        """
        return _grouped(self, 1, size)


@dataclass(frozen=True, slots=True)
class Group:
    """Datasets at most `size` steps of `relation` apart: what a promise to a family or a team needs.

    >>> Group(NeighborRelation.ADD_REMOVE, 2).group(3)
    Group(relation=<NeighborRelation.ADD_REMOVE: 'add_remove'>, size=6)
    """

    relation: NeighborRelation
    size: int

    def __post_init__(self) -> None:
        """Refuse groups that are not groups, so that equal relations compare equal."""
        if not isinstance(self.relation, NeighborRelation):
            msg = f"relation={shown(self.relation)} is not a NeighborRelation; a group of a group is written .group(k)."
            raise ParameterError(msg)
        if isinstance(self.size, bool) or not isinstance(self.size, int) or not 2 <= self.size < 10**_LONGEST_SIZE:
            msg = (
                f"size={shown(self.size)} is not allowed: a group holds at least 2 units, as a whole number of at most "
                f"{_LONGEST_SIZE} digits. "
                f"For a single unit use {self.relation} itself."
            )
            raise ParameterError(msg)

    @property
    def value(self) -> str:
        """The relation as text, as it stands in JSON.

        >>> Group(NeighborRelation.ADD_REMOVE, 2).value
        'add_remove*2'
        """
        return f"{self.relation.value}*{self.size}"

    def group(self, size: int) -> Relation:
        """Return the relation of datasets that are at most `size` of these steps apart.

        >>> Group(NeighborRelation.CHANGE_ONE, 2).group(1).size
        2
        """
        return _grouped(self.relation, self.size, size)


Relation: TypeAlias = NeighborRelation | Group
"""A neighbor relation of single units or of groups."""


def _grouped(relation: NeighborRelation, inner: int, size: int) -> Relation:
    """Multiply group sizes: k steps of m steps are k*m steps."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        msg = f"size={shown(size)} is not allowed: a group needs a whole number of units, at least 1."
        raise ParameterError(msg)
    total = inner * size
    return relation if total == 1 else Group(relation, total)


def group_size(relation: Relation) -> int:
    """Return how many units the relation protects at once.

    >>> group_size(NeighborRelation.ADD_REMOVE), group_size(NeighborRelation.ADD_REMOVE.group(4))
    (1, 4)
    """
    return relation.size if isinstance(relation, Group) else 1


def read_relation(text: str) -> Relation:
    """Read a relation from its `.value`, the form it has in JSON and in policies.

    >>> read_relation("change_one")
    <NeighborRelation.CHANGE_ONE: 'change_one'>
    >>> read_relation("add_remove*3") == NeighborRelation.ADD_REMOVE.group(3)
    True
    """
    if not isinstance(text, str):
        msg = f"a neighbor relation is read from text, and this is of type {type(text).__name__}."
        raise ParameterError(msg)
    name, star, size = text.partition("*")
    known = {relation.value: relation for relation in NeighborRelation}
    if name in known and not star:
        return known[name]
    if name in known and size.isascii() and size.isdigit() and len(size) <= _LONGEST_SIZE:
        return Group(known[name], int(size))
    msg = (
        f"{shown(text)} is not a neighbor relation; write one of {', '.join(known)}, or a group such as 'add_remove*3'."
    )
    raise ParameterError(msg)


def require_relation(neighbors: Relation) -> Relation:
    """Return a relation, or refuse what is none, such as its name as text.

    >>> require_relation(NeighborRelation.CHANGE_ONE).value
    'change_one'
    """
    if not isinstance(neighbors, NeighborRelation | Group):
        msg = f"neighbors is {shown(neighbors)}; it must be a NeighborRelation, such as NeighborRelation.CHANGE_ONE."
        raise ParameterError(msg)
    return neighbors


def require_same_relation(left: Relation, right: Relation) -> Relation:
    """Return the common relation, or refuse: promises about different neighbors do not add.

    >>> require_same_relation(NeighborRelation.ADD_REMOVE, NeighborRelation.ADD_REMOVE).value
    'add_remove'
    """
    if left != right:
        msg = (
            f"promises for different neighbors do not combine: {left.value} and {right.value}. "
            "Bring both to one relation first: an add/remove promise for a group of two covers change_one "
            "(discreet.privacy.convert.to_relation), and change_one covers change_one_ordered."
        )
        raise ParameterError(msg)
    return left

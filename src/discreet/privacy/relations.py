"""Which datasets count as neighbors: the question every privacy promise answers first.

A promise without its neighbor relation means nothing: the same noise that hides the presence of one unit may hide
the exchange of one unit only half as well. The relation is therefore part of every promise's type, and promises of
different relations never add. It also names the kind of unit: a promise to each event of a stream says nothing about a
person who has many of them, until a declared limit makes it a promise to groups.

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
    "Unit",
    "group_size",
    "read_relation",
    "require_relation",
    "require_same_relation",
]


_LONGEST_SIZE = 100  # digits


class Unit(Enum):
    """Whose presence a promise hides.

    >>> NeighborRelation.ADD_REMOVE.of(Unit.EVENT).value
    'add_remove/event'
    """

    PERSON = "person"
    """A person, or whoever else the policy protects, with all that is theirs. The default."""

    ROW = "row"
    """One row of a table in which a person may have several."""

    EVENT = "event"
    """One event of a stream in which a person may have several."""

    EDGE = "edge"
    """One edge of a graph."""

    NODE = "node"
    """One node of a graph, with all its edges."""


_HOLDERS = {
    Unit.ROW: {Unit.PERSON},
    Unit.EVENT: {Unit.PERSON},
    Unit.EDGE: {Unit.NODE, Unit.PERSON},
    Unit.NODE: {Unit.PERSON},
    Unit.PERSON: set(),
}
"""What may hold several of a unit."""


class NeighborRelation(Enum):
    """How two datasets may differ when they are called neighbors.

    A unit is a person (or whatever the policy protects), never a row, unless the relation is `.of` another unit.

    >>> NeighborRelation.ADD_REMOVE.value
    'add_remove'
    >>> NeighborRelation.CHANGE_ONE.group(3).value
    'change_one*3'
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

    @property
    def relation(self) -> NeighborRelation:
        """The relation itself: one unit, which is a person."""
        return self

    @property
    def size(self) -> int:
        """How many units it protects at once."""
        return 1

    @property
    def unit(self) -> Unit:
        """Whom it protects."""
        return Unit.PERSON

    def of(self, unit: Unit) -> Relation:
        """Return the relation for units of another kind.

        >>> NeighborRelation.ADD_REMOVE.of(Unit.PERSON) is NeighborRelation.ADD_REMOVE
        True
        """
        return _related(self, 1, _require_unit(unit))

    def group(self, size: int, unit: Unit | None = None) -> Relation:
        """Return the relation of datasets that are at most `size` steps of this one apart.

        >>> NeighborRelation.ADD_REMOVE.group(1) is NeighborRelation.ADD_REMOVE
        True
        """
        return _grouped(self, size, unit)


@dataclass(frozen=True, slots=True)
class Group:
    """Datasets at most `size` steps of `relation` apart: what a promise to a family or a team needs.

    It may be a group of units of another kind, also of one: an event, an edge.

    >>> Group(NeighborRelation.ADD_REMOVE, 2).group(3).size
    6
    """

    relation: NeighborRelation
    size: int
    unit: Unit = Unit.PERSON

    def __post_init__(self) -> None:
        """Refuse groups that are not groups, so that equal relations compare equal."""
        if not isinstance(self.relation, NeighborRelation):
            msg = f"relation={shown(self.relation)} is not a NeighborRelation; a group of a group is written .group(k)."
            raise ParameterError(msg)
        least = 2 if _require_unit(self.unit) is Unit.PERSON else 1
        if isinstance(self.size, bool) or not isinstance(self.size, int) or not least <= self.size < 10**_LONGEST_SIZE:
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
        size = f"*{self.size}" if self.size > 1 else ""
        return f"{self.relation.value}{size}" + ("" if self.unit is Unit.PERSON else f"/{self.unit.value}")

    def group(self, size: int, unit: Unit | None = None) -> Relation:
        """Return the relation of datasets that are at most `size` of these steps apart.

        Given a unit that holds several of these, at most `size` of them, return the relation for that unit: whatever
        leaves with it is so many steps away. That many are declared, and enforced, for every dataset; and only a
        promise about what comes or goes converts, as two units that are exchanged may hold unequally many.

        >>> NeighborRelation.ADD_REMOVE.of(Unit.EVENT).group(3, Unit.PERSON).value
        'add_remove'
        """
        return _grouped(self, size, unit)


Relation: TypeAlias = NeighborRelation | Group
"""A neighbor relation of single units or of groups."""


def _related(relation: NeighborRelation, size: int, unit: Unit) -> Relation:
    """Return the plain relation for one person, so that equal relations are equal values."""
    return relation if size == 1 and unit is Unit.PERSON else Group(relation, size, unit)


def _grouped(inner: Relation, size: int, unit: Unit | None) -> Relation:
    """Multiply group sizes: k steps of m steps are k*m steps. For another unit, they are one of its own."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        msg = f"size={shown(size)} is not allowed: a group needs a whole number of units, at least 1."
        raise ParameterError(msg)
    if unit is None or _require_unit(unit) is inner.unit:
        return _related(inner.relation, inner.size * size, inner.unit)
    if unit not in _HOLDERS[inner.unit] or inner.relation is not NeighborRelation.ADD_REMOVE:
        msg = (
            f"a promise for {inner.value} neighbors is none for a {unit.value}, however many it holds. Promises for "
            "add_remove neighbors convert, from rows and events to persons and from edges to nodes or persons."
        )
        raise ParameterError(msg)
    return _related(inner.relation, 1, unit)


def _require_unit(unit: Unit) -> Unit:
    if not isinstance(unit, Unit):
        msg = f"unit is {shown(unit)}; it must be a Unit of discreet.privacy, such as Unit.EVENT."
        raise ParameterError(msg)
    return unit


def group_size(relation: Relation) -> int:
    """Return how many units the relation protects at once.

    >>> group_size(NeighborRelation.ADD_REMOVE), group_size(NeighborRelation.ADD_REMOVE.group(4))
    (1, 4)
    """
    return relation.size


def read_relation(text: str) -> Relation:
    """Read a relation from its `.value`, the form it has in JSON and in policies.

    >>> read_relation("change_one")
    <NeighborRelation.CHANGE_ONE: 'change_one'>
    >>> read_relation("add_remove*3") == NeighborRelation.ADD_REMOVE.group(3)
    True
    >>> read_relation("add_remove/event").unit
    <Unit.EVENT: 'event'>
    """
    if not isinstance(text, str):
        msg = f"a neighbor relation is read from text, and this is of type {type(text).__name__}."
        raise ParameterError(msg)
    steps, slash, kind = text.partition("/")
    name, star, size = steps.partition("*")
    known, units = {one.value: one for one in NeighborRelation}, {one.value: one for one in Unit}
    counted = size.isascii() and size.isdigit() and len(size) <= _LONGEST_SIZE
    if name not in known or (slash and kind not in units) or (star and not counted):
        msg = (
            f"{shown(text)} is not a neighbor relation; write one of {', '.join(known)}, a group such as "
            f"'add_remove*3', or another unit ({', '.join(units)}) such as 'add_remove/event'."
        )
        raise ParameterError(msg)
    unit = units[kind] if slash else Unit.PERSON
    return Group(known[name], int(size), unit) if star else known[name].of(unit)


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
    if left.unit is not right.unit:
        msg = (
            f"promises to different units do not combine: {left.value} and {right.value}. Where a person has at most k "
            "events, by a declared limit, curve.group(k, Unit.PERSON) of a promise to each event is one to each person."
        )
        raise ParameterError(msg)
    if left != right:
        msg = (
            f"promises for different neighbors do not combine: {left.value} and {right.value}. "
            "Bring both to one relation first: an add/remove promise for a group of two covers change_one "
            "(discreet.privacy.convert.to_relation), and change_one covers change_one_ordered."
        )
        raise ParameterError(msg)
    return left

"""Join two relations on equal columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.plans.expressions.comparison import comparable
from discreet.plans.limits import MOST_ROWS_JOINED
from discreet.plans.nodes.node import Node, Spread, product
from discreet.plans.refusals import refuse
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Facts

__all__ = ["Join", "JoinKind", "require_joinable"]

_EXACT = Bounds(-(2**53), 2**53)
"""Whole numbers that are told apart as doubles."""


class JoinKind(Enum):
    """Which rows of the left side are kept.

    >>> JoinKind("left") is JoinKind.LEFT
    True
    """

    INNER = "inner"
    """Those with a partner."""
    LEFT = "left"
    """All; where there is no partner, the right side is NULL."""


def require_joinable(left: Node, right: Node, on: tuple[tuple[str, str], ...]) -> None:
    """Refuse columns that are missing or of different kinds, no columns at all, and units of different kinds."""
    if not on:
        refuse(
            "JOIN",
            why="Without an equality every row would meet every row.",
            instead="JOIN b ON a.patient_id = b.patient_id",
        )
    for ours, theirs in on:
        kinds = left.schema[ours].kind, right.schema[theirs].kind
        if not comparable(*kinds):
            refuse(
                f"{_plain(ours)} = {_plain(theirs)}",
                why=f"{kinds[0].value} and {kinds[1].value} cannot be equal.",
                instead="a CAST.",
            )
    if left.private and right.private and left.unit_kind != right.unit_kind:
        refuse(
            "JOIN",
            why=f"The units are of different kinds, {left.unit_kind} and {right.unit_kind}.",
            instead="two questions, one for each table.",
        )


def on_unit(left: Node, right: Node, on: tuple[tuple[str, str], ...]) -> bool:
    """Tell whether one of the equalities is between the units of both sides."""
    return any(left.schema[ours].unit and right.schema[theirs].unit for ours, theirs in on)


@dataclass(frozen=True)
class Join(Node):
    """Pairs of a left and a right row whose `on` columns are equal; NULL equals nothing.

    Columns are named after their side: `l.ward`, `r.beds`. The unit is the left side's, or the right side's if the
    left is public. Three shapes keep stability; everything else is refused.

    1. Public with public: no units.
    2. Private with public, on columns that contain a unique set of the public side: each private row meets at most one
       public row, so a unit has at most as many rows as before. With LEFT, the private side is the left one. Engines
       leave out public rows that repeat all the same: a table may change after it was checked.
    3. Private with private of the same kind, on the unit and perhaps more: a unit's rows meet only its own. With at
       most k1 and k2 rows there are at most k1 * k2 pairs, of which a million are allowed (with LEFT, a row without a
       partner counts as one, and k2 >= 1); where a number is not known, one side must have one row for each of the
       other. If the other columns contain, together with the unit, a set that is unique
       on the right, at most k1.

    Whole numbers beyond 2**53 do not stay apart beside floats, as doubles they are equal to several others: such a
    column counts for no unique set.

    Facts. Columns keep theirs; with LEFT the right side may be NULL. Uniqueness is dropped.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> Join(visits, visits, (("id", "id"),)).rows
    400
    """

    left: Node
    right: Node
    on: tuple[tuple[str, str], ...]
    how: JoinKind = JoinKind.INNER

    def __post_init__(self) -> None:
        """Refuse the shapes that bound nothing."""
        super().__post_init__()
        left, right = self.left, self.right
        require_joinable(left, right, self.on)
        if left.private and right.private:
            if not on_unit(left, right, self.on):
                refuse(
                    "JOIN",
                    why="Rows of one unit would meet rows of another, so one unit could move any number of rows.",
                    instead=f"a join that contains the unit, such as ON a.{_unit(left)} = b.{_unit(right)}.",
                )
            if self.rows is None and 1 not in {left.rows, right.rows} and not any(self._partners_are_single):
                refuse(
                    "JOIN",
                    why="Nothing limits how many pairs of rows one unit has there, so its time could tell of them.",
                    instead="a subquery grouped by the unit on one side, or rows_per_unit in the policy.",
                )
            if self.rows is not None and self.rows > max(MOST_ROWS_JOINED, left.rows or 0):
                refuse(
                    "JOIN",
                    why=f"One unit may have {self.rows} pairs of rows there, more than {MOST_ROWS_JOINED}.",
                    instead="a subquery grouped by the unit on one side, or fewer rows_per_unit in the policy.",
                )
        elif left.private and not self._partners_are_single[0]:
            self._refuse_many([_plain(theirs) for _, theirs in self.on])
        elif right.private and self.how is JoinKind.LEFT:
            refuse(
                "LEFT JOIN",
                why="Public rows without a partner would show that nobody has one.",
                instead="the private table on the left, or an inner JOIN.",
            )
        elif right.private and not self._partners_are_single[1]:
            self._refuse_many([_plain(ours) for ours, _ in self.on])

    @staticmethod
    def _refuse_many(columns: list[str]) -> None:
        refuse(
            "JOIN",
            why=f"The public table may hold several rows for one {', '.join(columns)}, each repeating a unit.",
            instead='a join on columns of one type that the policy declares as unique = ["…"] for the public table.',
        )

    @property
    def compared(self) -> tuple[str, ...]:
        """The left side's columns that are compared."""
        return tuple(ours for ours, _ in self.on)

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """All columns of both sides under their side's letter."""
        left = {f"l.{name}": facts for name, facts in self.left.schema.items()}
        missing = self.how is JoinKind.LEFT
        return left | {
            f"r.{name}": facts.or_null().computed() if missing else facts for name, facts in self.right.schema.items()
        }

    @cached_property
    def rows(self) -> int | None:
        """See the three shapes above."""
        left, right = self.left, self.right
        if left.private and right.private:
            return left.rows if self._partners_are_single[0] else product(left.rows, right.rows)
        return left.rows if left.private else right.rows

    @cached_property
    def _partners_are_single(self) -> tuple[bool, bool]:
        """Whether a row of the left side meets one of the right at most, and the other way round."""
        turned = [(theirs, ours) for ours, theirs in self.on]
        return _single(self.right, self.left, turned), _single(self.left, self.right, list(self.on))

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """A private side's groups are not more after a join; rows for each may be, unless partners are single."""
        joint = []
        for letter, side, other in (("l", self.left, self.right), ("r", self.right, self.left)):
            if side.private:
                missing = letter == "r" and self.how is JoinKind.LEFT  # rows without a partner add a group of NULLs
                for spread in side.spreads:
                    columns = frozenset(f"{letter}.{name}" for name in spread.columns)
                    rows = spread.rows if not other.private else product(spread.rows, other.rows)
                    joint.append(Spread(columns, None if missing else spread.groups, None if missing else rows))
        return tuple(joint)

    def canonical(self) -> list[object]:
        """The kind, the equalities in order, both sides."""
        pairs = sorted([ours, theirs] for ours, theirs in self.on)
        return ["join", self.how.value, pairs, self.left.canonical(), self.right.canonical()]

    def describe(self) -> str:
        """Name the equalities."""
        return f"{self.how.value} join on {', '.join(f'{a} = {b}' for a, b in self.on)}"


def _single(side: Node, other: Node, pairs: list[tuple[str, str]]) -> bool:
    """Tell whether at most one row of a side is equal to a given row of the other one in these pairs of columns."""
    apart = set()
    for name, theirs in pairs:
        facts = side.schema[name]
        rounded = facts.kind is Kind.INTEGER and other.schema[theirs].kind is Kind.FLOAT
        if not rounded or facts.bounds.within(_EXACT):
            apart.add(name)
    return any(unique <= apart for unique in side.unique)


def _unit(node: Node) -> str:
    """The name of a side's unit column, for a message."""
    return _plain(next((name for name, facts in node.schema.items() if facts.unit), "unit"))


def _plain(name: str) -> str:
    """A column as a question calls it, without the sides of joins that it came through."""
    return name.rpartition(".")[2]

"""Rows that a method reads as they are: which ones, at most how many of each unit, and what is public about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import float_down, float_up, shown
from discreet.plans.nodes.node import digest, require_own_tables, tables_of, verified_of
from discreet.plans.normal import Bounding, Shape, bounded, normal
from discreet.plans.refusals import refuse
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Facts, Schema
    from discreet.plans.nodes import Node
    from discreet.privacy.relations import Relation
    from discreet.tables import Policy, Value

__all__ = ["Extract", "code_book", "require_bounded"]


def code_book(facts: Facts) -> tuple[Value, ...] | None:
    """Give the known values whose places stand for them in lent rows; None for a column that is lent as a number.

    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.tables.bounds import Bounds
    >>> code_book(Facts(Kind.TEXT, domain=("a", "b"))), code_book(Facts(Kind.INTEGER, Bounds(0, 9)))
    (('a', 'b'), None)
    """
    return facts.keys if facts.domain is not None or facts.kind is Kind.BOOLEAN else None


def require_bounded(name: str, facts: Facts) -> None:
    """Refuse a column that cannot be lent: its values are neither listed nor bounded, or name the unit.

    >>> from discreet.plans.expressions.expression import Facts
    >>> require_bounded("city", Facts(Kind.TEXT))
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: city: Nothing bounds what one row holds here. Write instead: keys or bounds in the ...
    """
    if facts.unit:
        why = "It names the unit of its row, which is lent as a code that tells nothing."
        refuse(name, why=why, instead="select(…) with the other columns.")
    if code_book(facts) is not None and facts.domain != (None,):
        return
    low, high = facts.bounds.lower, facts.bounds.upper
    if facts.kind is Kind.TEXT or low is None or high is None:
        instead = "keys or bounds in the policy, or a column computed from it: select(x='LEAST(GREATEST(x, 0), 9)')."
        refuse(name, why="Nothing bounds what one row holds here.", instead=instead)
    if (float_up(low) > float_down(high)) if facts.kind is Kind.FLOAT else (-(-low // 1) > high // 1):
        refuse(name, why="No number of its type lies within its bounds.", instead="bounds that are further apart.")


@dataclass(frozen=True)
class Extract:
    """Rows of a relation for a method that computes with rows; engines lend them against a reservation.

    Of each unit there are at most `rows_per_unit`: those that a question about the same relation counts, by the same
    ranks. `bounding` may limit them further (`rows`, `place`). Every column is bounded, or has known values.

    >>> from discreet.plans import table
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="patient_id", rows_per_unit=20, columns=[Column("cost", lower=0, upper=500)])
    >>> extract = table(Policy([visits], epsilon=3), "visits").select("cost").rows(Bounding(rows=5))
    >>> extract.rows_per_unit, extract.unit_kind, extract.schema["cost"].bounds, extract.tables
    (5, 'patient_id', Bounds(0, 500), ('visits',))
    """

    policy: Policy
    relation: Node
    bounding: Bounding = field(default_factory=Bounding)

    def __post_init__(self) -> None:
        """Refuse what cannot be bounded, before anything else happens."""
        if not isinstance(self.bounding, Bounding):
            msg = f"bounding is {shown(self.bounding)}; it must be a Bounding, such as Bounding(rows=5)."
            raise ParameterError(msg)
        limits = self.bounding
        if limits.shape is not Shape.ROWS or limits.groups is not None or limits.rows_per_group is not None:
            msg = "rows are lent without groups and without sums; limit them with Bounding(rows=5) alone."
            raise ParameterError(msg)
        require_own_tables(self.policy, self.relation)
        if not self.relation.private:
            instead = "rows of a private table, or read the public table directly."
            refuse("rows", why="Public rows need no loan.", instead=instead)
        if not self.schema:
            refuse("rows", why="There are no columns to read.", instead="select(…) with at least one column.")
        for name, facts in self.schema.items():
            require_bounded(name, facts)
        _ = self.rows_per_unit

    @cached_property
    def node(self) -> Node:
        """The relation that an engine reads."""
        return bounded(normal(self.relation), (), self.bounding)

    @property
    def schema(self) -> Schema:
        """The columns in their order, each with its public facts."""
        return self.node.schema

    @cached_property
    def rows_per_unit(self) -> int:
        """The most rows of one unit."""
        if self.node.rows is None:
            refuse(
                "the number of rows per unit",
                why="Nothing bounds how many rows one unit has.",
                instead="rows_per_unit in the policy, or rows(Bounding(rows=20)).",
            )
        return self.node.rows

    @property
    def unit_kind(self) -> str:
        """Who the unit is."""
        return str(self.node.unit_kind)

    @property
    def neighbors(self) -> Relation:
        """The relation of the policy: how neighbors differ."""
        return self.policy.budget.neighbors

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that are read; a reservation names them."""
        return tables_of(self.relation)

    @property
    def verified(self) -> tuple[str, ...]:
        """The tables whose declared uniqueness is believed."""
        return verified_of(self.relation)

    @cached_property
    def key(self) -> str:
        """What makes two extracts the same, by their names and rows; beside a method's own parameters it names a spend.

        Names count: a method computes by them.
        """
        form = [list(self.schema), self.node.canonical(), self.policy.facts_hash, self.policy.version]
        return digest(form)

"""Which tables a relation reads, and whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.plans.nodes import Scan

if TYPE_CHECKING:
    from discreet.plans.nodes import Node
    from discreet.tables import Policy

__all__ = ["require_own_tables", "tables_of", "verified_of"]


def require_own_tables(policy: Policy, relation: Node) -> None:
    """Refuse tables as another policy declares them: it may say that private rows are public.

    >>> from discreet.tables import Policy, Table
    >>> require_own_tables(Policy([], epsilon=1), Scan(Table("visits", public=True)))
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: the table visits is that of another policy; a question is about one database.
    """
    for node in relation.walk():
        if isinstance(node, Scan) and node.table not in policy.tables:
            msg = f"the table {node.table.name} is that of another policy; a question is about one database."
            raise ParameterError(msg)


def tables_of(relation: Node) -> tuple[str, ...]:
    """Name the tables that a relation reads, for access rights.

    >>> from discreet.tables import Table
    >>> tables_of(Scan(Table("visits", unit="id")))
    ('visits',)
    """
    return tuple(sorted({node.table.name for node in relation.walk() if isinstance(node, Scan)}))


def verified_of(relation: Node) -> tuple[str, ...]:
    """Name the tables whose declared uniqueness is believed, as the owner had it checked for this version.

    >>> from discreet.tables import Table
    >>> verified_of(Scan(Table("visits", unit="id", unique=["id"]), verified=True))
    ('visits',)
    """
    return tuple(sorted({node.table.name for node in relation.walk() if isinstance(node, Scan) and node.verified}))

"""Which limits on rows a plan needs, and what engines store of them: the same for every question of a version."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from discreet.engines.sql.words import SQL, column, select
from discreet.plans.nodes import BoundRows, Scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.engines.sql.relations import Relation
    from discreet.plans.nodes import Node
    from discreet.tables import Policy

__all__ = ["described", "kept_mark", "kept_name", "limits", "visible"]


def limits(node: Node) -> Iterator[tuple[Scan, int]]:
    """Give each limit on the rows of a stored table whose unit has a name, where there may be something to drop."""
    for each in node.walk():
        if isinstance(each, BoundRows) and isinstance(each.child, Scan) and each.child.table.unit is not None:
            below = each.child.rows
            if below is None or below > each.limit:
                yield each.child, each.limit


def visible(relation: Relation) -> SQL:
    """Leave the hidden unit out: it is one of the columns."""
    return select([column(name) for name in relation.names.values()], relation.query)


def described(policy: Policy) -> str:
    """What stored rows belong to: a dataset, its version and a policy."""
    return f"{policy.dataset}\n{policy.version}\n{policy.hash}"


def kept_name(policy: Policy, table: str, limit: int) -> str:
    """Name the stored rows of a table under a limit."""
    return f"kept_{[each.name for each in policy.tables].index(table)}_{limit}"


def kept_mark(policy: Policy, key: bytes, place: str = "") -> str:
    """Give an end for names of stored rows, from all that decides which rows they are, to tell those of engines apart.

    An engine with an earlier policy may still have the same store open. Under a common name it would read the rows of
    the later one, whose columns stand elsewhere: another column would pass for the unit, which the limit is not for.
    """
    return hashlib.sha256(key + f"{described(policy)}\n{place}".encode()).hexdigest()[:16]

"""Rebuild a node on other children."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.plans.nodes import Node

__all__ = ["rebuilt"]


def rebuilt(node: Node, children: tuple[Node, ...]) -> Node:
    """Return the same node on other children, which checks and derives everything anew.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Table
    >>> visits, stays = Scan(Table("visits", unit="id")), Scan(Table("stays", unit="id"))
    >>> rebuilt(BoundRows(visits, 3), (stays,)).child.table.name
    'stays'
    """
    names = [field.name for field in dataclasses.fields(node) if field.name in {"child", "left", "right"}]  # type: ignore[arg-type]  # nodes are dataclasses
    return dataclasses.replace(node, **dict(zip(names, children, strict=True)))  # type: ignore[type-var]  # as above

"""Where a column of the shell comes from: what is exact, what is a core's own column, and what has no ± at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.sql.grouped import is_aggregate
from discreet.plans.sql.reading import matching

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["EXACT", "NOISY", "Lineage", "Sources", "lineage_of"]

_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile)
_RANKED = "a rank jumps, however small the noise."


@dataclass(frozen=True, slots=True)
class Lineage:
    """What is known of a column of the shell, from the statement alone.

    It is `exact` if it is made of keys, constants and public tables alone. `source` names a core and one of its columns
    that it is, unchanged. `reason` says why no ± means anything. Whatever else holds noise, and simulation tells how
    much.

    >>> EXACT.exact, Lineage(source=("core1", "n")).reason
    (True, '')
    """

    exact: bool = False
    source: tuple[str, str] | None = None
    reason: str = ""


EXACT = Lineage(exact=True)
NOISY = Lineage()


@dataclass(frozen=True)
class Sources:
    """The columns that a part of the shell can see: by source, then those that it gives names to, then from outside.

    >>> from discreet.plans.sql.reading import read_expression
    >>> Sources({"w": {"ward": EXACT}}).find(read_expression("w.WARD")).exact
    True
    """

    tables: Mapping[str, Mapping[str, Lineage]]
    named: Mapping[str, Lineage] | None = None
    outer: Sources | None = None

    def find(self, column: exp.Column) -> Lineage:
        """What is known of a column; nothing of one that is not found here."""
        table = column.args.get("table")
        tables = list(self.tables.values())
        if table is not None:
            name = matching(table, self.tables)
            tables = [] if name is None else [self.tables[name]]
        for known in [*tables, *([self.named] if self.named and table is None else [])]:
            name = matching(column.this, known)
            if name is not None:
                return known[name]
        return NOISY if self.outer is None else self.outer.find(column)

    def star(self, node: exp.Expression) -> dict[str, Lineage]:
        """The columns of * or table.*."""
        table = node.args.get("table") if isinstance(node, exp.Column) else None
        name = None if table is None else matching(table, self.tables)
        chosen = self.tables.values() if name is None else [self.tables[name]]
        return {column: lineage for columns in chosen for column, lineage in columns.items()}


def lineage_of(node: exp.Expression, sources: Sources, *, public: bool) -> Lineage:
    """Tell what an expression of the shell is made of; `public` says that no core is below it.

    >>> from discreet.plans.sql.reading import read_expression
    >>> sources = Sources({"core1": {"ward": EXACT, "n": Lineage(source=("core1", "n"))}})
    >>> [lineage_of(read_expression(text), sources, public=False) for text in ("UPPER(ward)", "n", "n / 2")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [Lineage(exact=True, source=None, reason=''), Lineage(exact=False, source=('core1', 'n'), reason=''),
    Lineage(exact=False, source=None, reason='')]
    """
    if public:
        return EXACT
    if isinstance(node, exp.Paren | exp.Alias):
        return lineage_of(node.this, sources, public=public)
    if isinstance(node, exp.Column):
        return sources.find(node)
    parts = list(_parts(node, sources))
    if any(isinstance(part, _RANKS) for part in node.walk()):
        return Lineage(reason=_RANKED)
    reason = next((part.reason for part in parts if part.reason), "")
    if reason:
        return Lineage(reason=reason)
    groups = any(_is_noisy(part) for part in node.walk())
    return EXACT if not groups and all(part.exact for part in parts) else NOISY


def _is_noisy(part: exp.Expr) -> bool:
    """Whether it computes with several rows; which keys a total is over is no number."""
    counts = is_aggregate(part) and not isinstance(part, exp.Grouping | exp.GroupingId)
    return counts or isinstance(part, exp.Window | exp.Query)


def _parts(node: exp.Expression, sources: Sources) -> Iterator[Lineage]:
    yield from (sources.find(column) for column in node.find_all(exp.Column) if not isinstance(column.this, exp.Star))

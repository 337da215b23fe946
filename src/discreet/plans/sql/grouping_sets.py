"""GROUP BY CUBE, ROLLUP and GROUPING SETS, written out as one question for each set of keys."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.sql.grouped import alias_of
from discreet.plans.sql.reading import read_statement, refuse_part

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["grouping_sets", "sets_of"]

_MOST = 256


def grouping_sets(text: str, dialect: str = "duckdb") -> list[str]:
    """Return one question for each set of keys, the finest first; the question alone if it has no grouping sets.

    >>> grouping_sets("SELECT a, b, COUNT(*) AS n FROM t GROUP BY ROLLUP (a, b)")
    ... # doctest: +NORMALIZE_WHITESPACE
    ['SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b', 'SELECT a, COUNT(*) AS n FROM t GROUP BY a',
     'SELECT COUNT(*) AS n FROM t']
    """
    statement = read_statement(text, dialect)
    group = statement.args.get("group") if isinstance(statement, exp.Select) else None
    sets = None if group is None else sets_of(group)
    if sets is None:
        return [text]
    keys = {key.sql(): key for chosen in sets for key in chosen}
    written = sorted((tuple(key.sql() for key in chosen) for chosen in sets), key=lambda chosen: -len(chosen))
    return [_written(statement, keys, chosen).sql(dialect=dialect) for chosen in written]


def sets_of(group: exp.Group) -> list[list[exp.Expression]] | None:
    """Give the sets of keys of a GROUP BY, each once; None if it has one set alone.

    >>> statement = read_statement("SELECT 1 FROM t GROUP BY a, ROLLUP (b, c)")
    >>> [[key.sql() for key in chosen] for chosen in sets_of(statement.args["group"])]
    [['a', 'b', 'c'], ['a', 'b'], ['a']]
    """
    items = list(group.expressions)
    for word, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):  # Spark's GROUP BY a, b WITH ROLLUP
        if group.args.get(word):
            items = [kind(expressions=items)]
    items = list(group.args.get("grouping_sets") or items)
    if not any(isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets) for item in items):
        return None
    combined = list(itertools.islice(itertools.product(*map(_sets_of, items)), _MOST + 1))
    if len(combined) > _MOST:
        refuse_part(group, f"It has more than {_MOST} sets of keys.", "fewer keys in CUBE.")
    keys = {key.sql(): key for chosen in combined for one in chosen for key in one}
    sets = dict.fromkeys(tuple(dict.fromkeys(key.sql() for one in chosen for key in one)) for chosen in combined)
    return [[keys[key] for key in chosen] for chosen in sets]


def _sets_of(item: exp.Expression) -> list[list[exp.Expression]]:
    """List the sets of keys that an item of GROUP BY stands for."""
    if isinstance(item, exp.Cube):
        keys = [_listed(key) for key in item.expressions]
        return [
            [part for key in chosen for part in key]
            for size in range(len(keys), -1, -1)
            for chosen in itertools.combinations(keys, size)
        ]
    if isinstance(item, exp.Rollup):
        keys = [_listed(key) for key in item.expressions]
        return [[part for key in keys[:size] for part in key] for size in range(len(keys), -1, -1)]
    if isinstance(item, exp.GroupingSets):
        return [chosen for inner in item.expressions for chosen in _inner(inner)]
    return [[item]]


def _inner(item: exp.Expression) -> Iterable[list[exp.Expression]]:
    """A set within GROUPING SETS, which may be a CUBE itself."""
    if isinstance(item, exp.Cube | exp.Rollup | exp.GroupingSets):
        return _sets_of(item)
    return [_listed(item)]


def _listed(item: exp.Expression) -> list[exp.Expression]:
    """The keys in parentheses, or one without."""
    if isinstance(item, exp.Tuple):
        return list(item.expressions)
    return [item.this if isinstance(item, exp.Paren) else item]


def _written(statement: exp.Expression, keys: dict[str, exp.Expression], chosen: tuple[str, ...]) -> exp.Expression:
    """The question for one set: without the keys that it sums over."""
    wanted = statement.copy()
    dropped = set(keys) - set(chosen)
    items = [item for item in wanted.expressions if not {alias_of(item)[0].sql(), alias_of(item)[1]} & dropped]
    wanted.set("expressions", items)
    wanted.set("group", exp.Group(expressions=[keys[key].copy() for key in chosen]) if chosen else None)
    return wanted

"""Rows on loan as one statement, and how its result is read."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from discreet.engines.loan import NAMED
from discreet.engines.sql.relations import UNIT
from discreet.engines.sql.statements import known_places, written
from discreet.engines.sql.words import alias, column, select
from discreet.plans.extract import code_book
from discreet.plans.nodes import GroupKey
from discreet.plans.refusals import refuse
from discreet.tables.kinds import Kind, as_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.engines.loan import Arrays
    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.relations import Emitter
    from discreet.engines.sql.statements import Columns
    from discreet.engines.sql.words import SQL
    from discreet.plans import Extract
    from discreet.plans.expressions.expression import Facts

__all__ = ["lent_arrays", "lent_text"]


def lent_text(extract: Extract, emitter: Emitter, *, named: bool = False) -> str:
    """Write the rows of an extract in the order of their units: each cell as it is read, then the unit's number.

    With `named` the unit as text comes last; it must have a column.
    """
    child, coded = emitter.coded(extract.node, named=named)
    if named and child.unit is None:
        refuse(
            "rows",
            why="Each row is a unit of its own here, and cannot be recognized when it is read again.",
            instead="a table whose policy names the column of the unit.",
        )
    cells = [
        alias(_cell(column(name), facts, emitter.dialect), f"r{place}")
        for place, (name, facts) in enumerate(zip(child.names.values(), extract.schema.values(), strict=True))
    ]
    unit = f"r{len(cells)}"
    last = [alias(emitter.dialect.to(column(UNIT), Kind.TEXT), f"r{len(cells) + 1}")] if named else []
    query = select([*cells, alias(column("n"), unit), *last], coded)
    query.set("order", exp.Order(expressions=[exp.Ordered(this=column(unit), nulls_first=None)]))
    return written(query, emitter.dialect)


def _cell(value: SQL, facts: Facts, dialect: Dialect) -> SQL:
    """Write a moment as the number that bounds speak of; every other cell stays what it is."""
    if not facts.kind.temporal:
        return value
    return dialect.days(value, facts.kind) if facts.kind is Kind.DATE else dialect.microseconds(value)


def lent_arrays(extract: Extract, result: Columns) -> Arrays:
    """Read what the statement gave: the units from 0 on, and of each column its cells and where they are missing."""
    *cells, units = result[: len(extract.schema) + 1]
    columns = {name: _read(column, facts) for column, (name, facts) in zip(cells, extract.schema.items(), strict=True)}
    for names in result[len(extract.schema) + 1 :]:
        columns[NAMED] = np.array(names, dtype=object), np.zeros(len(names), dtype=bool)
    return np.asarray(units, dtype=np.int64) - 1, columns


def _read(
    cells: Sequence[object] | NDArray[np.int64], facts: Facts
) -> tuple[NDArray[np.int64 | np.float64], NDArray[np.bool_]]:
    """Read a column as codes or numbers, and where it is NULL."""
    known = code_book(facts)
    if facts.kind is Kind.FLOAT and known is None:
        numbers = np.array(cells, dtype=np.float64)  # None becomes NaN
        return numbers, np.isnan(numbers)
    whole = isinstance(cells, np.ndarray)
    missing = np.zeros(len(cells), dtype=bool) if whole else np.array([cell is None for cell in cells], dtype=bool)
    if known is not None:
        if facts.kind.temporal:
            known = tuple(int(as_number(key)) if isinstance(key, dt.date) else None for key in known)
        return known_places((GroupKey("", known),), [cells], len(cells)), missing
    return np.array([cell or 0 for cell in cells] if missing.any() else cells, dtype=np.int64), missing

"""Rows on loan as one statement, and how its result is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.bounded_rows import BoundedRows
from discreet.engines.sql.columns import known_places
from discreet.engines.sql.statements import written
from discreet.engines.sql.words import alias, column, select
from discreet.plans.extract import code_book
from discreet.plans.nodes import GroupKey
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.engines.sql.columns import Columns
    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.relations import Emitter
    from discreet.engines.sql.words import SQL
    from discreet.plans import Extract
    from discreet.plans.facts import Facts

__all__ = ["lent_rows", "lent_text"]


def lent_text(extract: Extract, emitter: Emitter) -> str:
    """Write the rows of an extract: each cell as it is read, then the number of the unit."""
    child, coded = emitter.coded(extract.node)
    cells = [
        alias(_cell(column(name), facts, emitter.dialect), f"r{place}")
        for place, (name, facts) in enumerate(zip(child.names.values(), extract.schema.values(), strict=True))
    ]
    query = select([*cells, alias(column("n"), f"r{len(cells)}")], coded)
    return written(emitter.dialect.layered(query), emitter.dialect)


def _cell(value: SQL, facts: Facts, dialect: Dialect) -> SQL:
    """Write a moment as the number that bounds speak of; every other cell stays what it is."""
    if code_book(facts) is not None or not facts.kind.temporal:
        return value
    return dialect.days(value, facts.kind) if facts.kind is Kind.DATE else dialect.microseconds(value)


def lent_rows(extract: Extract, result: Columns) -> BoundedRows:
    """Read what the statement gave."""
    *cells, units = result
    columns = {name: _read(column, facts) for column, (name, facts) in zip(cells, extract.schema.items(), strict=True)}
    return BoundedRows(
        columns,
        extract.schema,
        np.asarray(units, dtype=np.int64) - 1,
        rows_per_unit=extract.rows_per_unit,
        unit_kind=extract.unit_kind,
        neighbors=extract.neighbors,
    )


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
        return known_places((GroupKey("", known),), [cells], len(cells)), missing
    return np.array([cell or 0 for cell in cells] if missing.any() else cells, dtype=np.int64), missing

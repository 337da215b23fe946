"""What plain DuckDB answers to a statement of the corpus, and how a release at a large price compares with it."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

import duckdb
import sqlglot
from sqlglot import exp

from discreet.plans.sql.google import read_options
from tests.corpus.reading import POLICY
from tests.corpus.shop import tables

if TYPE_CHECKING:
    from discreet.releases.showing.shown import ShownAnswer
    from tests.corpus.reading import Statement

_SLACK = 1e-6


class Plain:
    """DuckDB without any privacy."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        for name, table in tables().items():
            self.connection.register(f"{name}_rows", table)
            self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_rows")
        self.connection.execute("CREATE SCHEMA public")
        for name in tables():
            self.connection.execute(f"CREATE VIEW public.{name} AS SELECT * FROM main.{name}")

    def rows(self, statement: Statement) -> list[tuple[Any, ...]] | None:
        """Run a statement as DuckDB reads it; None where DuckDB itself cannot."""
        tree = sqlglot.parse_one(read_options(statement.text)[0], dialect=statement.dialect)
        today = str(POLICY.today)
        for node in list(tree.find_all(exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp)):
            kind = "DATE" if isinstance(node, exp.CurrentDate) else "TIMESTAMP"
            node.replace(exp.cast(exp.Literal.string(today), kind))
        for node in list(tree.find_all(exp.Anonymous)):
            if node.name.lower() == "now":
                node.replace(exp.cast(exp.Literal.string(today), "TIMESTAMP"))
        try:
            return self.connection.execute(tree.sql(dialect="duckdb")).fetchall()
        except duckdb.Error:
            return None


def differences(answer: ShownAnswer, true: list[tuple[Any, ...]]) -> list[str]:
    """Tell how an answer differs from the true rows by more than its ±; rows are matched by their exact cells."""
    cells = answer.cells(1 - 1e-6)
    names = list(cells[0]) if cells else []
    exact = [name for name in names if all(row[name].exact for row in cells)]
    noisy = [name for name in names if name not in exact]
    wanted = {tuple(_same(row[names.index(name)]) for name in exact): row for row in true}
    found = []
    for row in cells:
        key = tuple(_same(row[name].value) for name in exact)
        truth = wanted.pop(key, None)
        for name in noisy:
            value, error = row[name].value, row[name].error
            expected = 0 if truth is None else truth[names.index(name)]
            if error is None or isinstance(value, str | dt.date | tuple | type(None)):
                continue
            if abs(value - float(expected or 0)) > error + _SLACK * max(1.0, abs(value)):
                found.append(f"{key} {name}: {value} ± {error:.4g}, and {expected} is true")
    return found + [f"{key} is missing" for key in wanted if exact and None not in key]


def _same(value: Any) -> Any:  # noqa: ANN401 - a cell
    """One form for what engines tell apart: 1 and 1.0, a date and its midnight."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    if isinstance(value, bool | str | type(None)):
        return value
    return round(float(value), 9) if math.isfinite(float(value)) else None

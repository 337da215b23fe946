"""What plain DuckDB answers to a statement of the corpus, and how a release at a large price compares with it."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import sqlglot
from sqlglot import exp

from discreet.plans.sql.google import read_options
from discreet.releases.shell.question import ShellQuestion
from tests.corpus.reading import POLICY
from tests.corpus.shop import tables

if TYPE_CHECKING:
    from discreet import Database
    from discreet.releases.showing.shown import ShownAnswer
    from tests.corpus.reading import Statement

EPSILON = 200
OTHER_WAYS = {"approx", "TO_CHAR(order_date, 'FMDay')", "monthname", "timestampdiff", "OPTIONS", "histogram"}
"""What plain DuckDB computes otherwise: approximations, other dialects' names, and limits of the question itself."""
_CHOOSES = re.compile(
    r"\b(LIMIT|HAVING|QUALIFY|OFFSET|FETCH|EXCEPT|INTERSECT|JOIN \(SELECT|SELECT .*>.*SELECT)\b|z__", re.IGNORECASE
)
"""Where noise may decide which rows are shown, those of both sides are compared."""
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
        if any(word in statement.text for word in OTHER_WAYS):
            return None
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


@dataclass
class Comparison:
    """How many cells were compared, how many of them are further from the truth than they say, and what is wrong."""

    cells: int = 0
    beyond: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)


def released(statement: Statement, database: Database) -> ShownAnswer:
    """Release a statement at a large price, without a delta where all keys are known."""
    question = database.sql(statement.text, dialect=statement.dialect)
    plans = [core.plan for core in question.cores] if isinstance(question, ShellQuestion) else [question.plan]
    known = all(plan.aggregate.known for plan in plans)
    return question.release(epsilon=EPSILON, delta=0 if known else None)


def compared(statement: Statement, answer: ShownAnswer, true: list[tuple[Any, ...]], confidence: float) -> Comparison:
    """Tell how an answer differs from the true rows by more than its ±; rows are matched by their exact cells."""
    cells = answer.cells(confidence)
    names = list(cells[0]) if cells else []
    exact = [name for name in names if all(row[name].exact for row in cells)]
    keys = [tuple(_same(row[name].value) for name in exact) for row in cells]
    wanted = {tuple(_same(row[names.index(name)]) for name in exact): row for row in true}
    made = Comparison()
    if len(set(keys)) < len(keys) or (len(wanted) < len(true) and not exact and len(true) > 1):
        return made
    chooses = _CHOOSES.search(statement.text) is not None
    for key, row in zip(keys, cells, strict=True):
        truth = wanted.pop(key, None)
        for name in names:
            value, error = row[name].value, row[name].error
            if name in exact or error is None or not isinstance(value, int | float) or (truth is None and chooses):
                continue
            expected = 0 if truth is None else truth[names.index(name)]
            made.cells += 1
            if abs(value - float(expected or 0)) > error + _SLACK * max(1.0, abs(value)):
                made.beyond.append(f"{key} {name}: {value} ± {error:.4g}, and {expected} is true")
    if not chooses:
        made.rows += [f"{key} is missing" for key in wanted if exact and None not in key]
    return made


def _same(value: Any) -> Any:  # noqa: ANN401 - a cell
    """One form for what engines tell apart: 1 and 1.0, a date and its midnight."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    if isinstance(value, bool | str | type(None)):
        return value
    return round(float(value), 9) if math.isfinite(float(value)) else None

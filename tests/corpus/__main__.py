"""How much of the corpus is answered, and how often cells lie within their ±: `python -m tests.corpus [ENGINE …]`."""

from __future__ import annotations

import sys
from collections import Counter

from discreet.errors import DiscreetError
from tests.corpus.comparing import Plain, compared, released
from tests.corpus.engines import ENGINES, opened
from tests.corpus.reading import Statement, statements


def main(engines: list[str], only: str = "") -> None:
    """Print a line for each family, and what is wrong."""
    plain = Plain()
    truths = {
        statement: None if statement.expected == "refused" else plain.rows(statement)  # one of them deletes
        for statement in statements()
        if only in statement.family
    }
    for engine in engines:
        with opened(engine) as database:
            totals: Counter[str] = Counter()
            for family in dict.fromkeys(statement.family for statement in truths):
                counted: Counter[str] = Counter()
                for statement, true in truths.items():
                    if statement.family == family:
                        counted += _one(statement, true, database)
                totals += counted
                _print(engine, family, counted)
            _print(engine, "all", totals)


def _one(statement: Statement, true: list[tuple[object, ...]] | None, database: object) -> Counter[str]:
    counted = Counter({"statements": 1, "useful": int(statement.expected != "refused")})
    try:
        answer = released(statement, database)  # type: ignore[arg-type]  # a Database
    except DiscreetError as error:
        if statement.expected == "answered":
            print(f"! {statement}\n    {error}")
        return counted
    counted["answered"] += statement.expected != "refused"
    if true is not None:
        made = compared(statement, answer, true, 0.95)
        counted += Counter({"cells": made.cells, "within": made.cells - len(made.beyond)})
        far = compared(statement, answer, true, 1 - 1e-6)
        for line in [*far.beyond, *far.rows]:
            print(f"? {statement}\n    {line}")
    return counted


def _print(engine: str, family: str, counted: Counter[str]) -> None:
    share = counted["answered"] / max(counted["useful"], 1)
    within = counted["within"] / max(counted["cells"], 1)
    print(
        f"{engine:9} {family:10} {counted['statements']:4} statements, {counted['useful']:4} useful, "
        f"{counted['answered']:4} answered ({share:.1%}); {counted['cells']:6} cells, {within:.1%} within ±"
    )


if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if word in ENGINES]
    rest = [word for word in sys.argv[1:] if word not in ENGINES]
    main(chosen or ["duckdb"], *rest[:1])

"""Statements of the corpus with a few words changed: each is answered or refused in words, and nothing else happens.

`python -m tests.doors.mutated 50000 [SEED]` tries so many of them.
"""

from __future__ import annotations

import sys
from random import Random
from typing import TYPE_CHECKING

import sqlglot
from sqlglot.errors import SqlglotError

from discreet.errors import DiscreetError, QueryRefused
from discreet.exact import counted
from tests.corpus.engines import opened
from tests.corpus.reading import statements

if TYPE_CHECKING:
    from discreet import Database

__all__ = ["mutated", "raw_errors"]

_WORDS = [
    "", "(", ")", ",", ".", "*", "'", '"', ";", "--", "/*", "[", "]", "::", "=", "<", "NULL", "-1", "0", "1e308",
    "1e999", "9223372036854775808", "'\u0416\u2603'", "'%'", "''", "DATE '9999-12-31'", "INTERVAL 1 MONTH", "x'00'",
    "NaN", "TRUE", "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT 1", "OFFSET 3", "DISTINCT",
    "UNION", "EXCEPT", "JOIN", "LEFT JOIN", "ON", "USING (customer_id)", "WITH q AS (SELECT 1)", "OVER ()",
    "FILTER (WHERE total > 1)", "COUNT(*)", "SUM(total)", "AVG(", "MIN(order_date)", "MODE(status)",
    "QUANTILE_CONT(total, 0.5)", "RANK()", "CASE", "WHEN", "END", "CAST(", "AS", "IN", "NOT", "BETWEEN", "LIKE", "IS",
    "EXISTS (SELECT 1)", "(SELECT AVG(total) FROM orders)", "ROLLUP (status)", "GROUPING(status)", "QUALIFY",
    "UNNEST(", "customer_id", "orders", "customers", "stores", "core1", "main", "total", "status", "channel",
    "ordered_at", "1", "ALL", "RECURSIVE", "TABLESAMPLE 1%", "READ_CSV('/etc/passwd')",
]  # fmt: skip


def mutated(random: Random) -> tuple[str, str]:
    """A statement with one or two of its words left out, doubled, exchanged, or replaced; and its dialect."""
    statement = _STATEMENTS[random.randrange(len(_STATEMENTS))]
    words = _words(statement.text, statement.dialect)
    for _ in range(1 + random.randrange(2)):
        place, other = random.randrange(len(words)), random.randrange(len(words))
        kind = random.randrange(10)
        if kind == 0:
            words[place] = ""
        elif kind == 1:
            words.insert(place, words[other])
        elif kind == 2:
            words[place], words[other] = words[other], words[place]
        elif kind == 3:
            words[place] = _WORDS[random.randrange(len(_WORDS))]
        elif kind < 9:  # by one of its kind
            alike = _ALIKE[_kind(words[place])]
            words[place] = alike[random.randrange(len(alike))]
        else:
            foreign = _STATEMENTS[random.randrange(len(_STATEMENTS))]
            theirs = _words(foreign.text, foreign.dialect)
            start = random.randrange(len(theirs))
            words[place:other] = theirs[start : start + 1 + random.randrange(8)]
            words = words or [""]
    return " ".join(words), statement.dialect


def _kind(word: str) -> str:
    """Numbers, texts, names and words, and signs."""
    return "1" if word[:1].isdigit() else "'" if word[:1] == "'" else "a" if word[:1].isalpha() else "-"


def _words(text: str, dialect: str) -> list[str]:
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except SqlglotError:
        return text.split()
    return [text[token.start : token.end + 1] for token in tokens]


_STATEMENTS = statements()
_ALL = sorted({word for one in _STATEMENTS for word in _words(one.text, one.dialect)} | set(_WORDS))
_ALIKE = {kind: [word for word in _ALL if _kind(word) == kind] for kind in map(_kind, _ALL)}


def raw_errors(database: Database, random: Random, count: int) -> tuple[list[str], int]:
    """Ask so many mutated statements: the errors that are none of ours, and how many were answered."""
    wrong, answered = [], 0
    for _ in range(count):
        text, dialect = mutated(random)
        try:
            database.sql(text, dialect=dialect).explain()
            answered += 1
        except QueryRefused as refused:
            if not (refused.why and refused.instead):
                wrong.append(f"says nothing: {dialect}: {text}")
        except DiscreetError as error:
            wrong.append(f"{type(error).__name__} {error}: {dialect}: {text}")
        except Exception as error:  # noqa: BLE001 - what is looked for
            wrong.append(f"{type(error).__name__} {error}: {dialect}: {text}")
    return wrong, answered


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = sys.argv[2] if len(sys.argv) > 2 else "mutated"
    with opened("duckdb") as shop:
        found, fine = raw_errors(shop, Random(seed), number)
    print("\n".join(found))
    print(f"{counted(number, 'statement')}, {fine} answered; {len(found)} raw errors")

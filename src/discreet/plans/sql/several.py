"""Several statements in one text, such as a file of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot
from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from discreet.plans.refusals import refuse

if TYPE_CHECKING:
    from sqlglot import Token

__all__ = ["statements_in"]


def statements_in(text: str, dialect: str = "duckdb") -> list[str]:
    """Part a text at its semicolons, but not at those in quotes; comments between statements are left out.

    >>> statements_in("SELECT ';' AS a; /* two; not three */ SELECT 2")
    ["SELECT ';' AS a", 'SELECT 2']
    """
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except SqlglotError:
        refuse("the text", why="It is no SQL.", instead="SELECT … ; SELECT …")
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            found.append([])
        else:
            found[-1].append(token)
    return [text[part[0].start : part[-1].end + 1] for part in found if part]

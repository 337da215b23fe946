"""Several statements in one text, such as a file of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot
from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from discreet.plans.refusals import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["statements_in"]


def statements_in(text: str, dialect: str = "duckdb") -> list[str]:
    """Part a text at its semicolons, but not at those in quotes or comments; empty statements are left out.

    >>> statements_in("SELECT ';' AS a; SELECT 2 -- two; not three")
    ["SELECT ';' AS a", 'SELECT 2 -- two; not three']
    """
    return [part for part in _parts(text, dialect) if part]


def _parts(text: str, dialect: str) -> Iterator[str]:
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except SqlglotError:
        refuse("the text", why="It is no SQL.", instead="SELECT … ; SELECT …")
    begin = 0
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            yield text[begin : token.start].strip()
            begin = token.end + 1
    if any(token.start >= begin for token in tokens):
        yield text[begin:].strip()

"""How a plan refuses."""

from __future__ import annotations

from typing import NoReturn

from discreet.errors import QueryRefused

__all__ = ["refuse"]


def refuse(part: str, *, why: str, instead: str) -> NoReturn:
    """Refuse a question: which part, why in one sentence, what to write instead.

    >>> refuse("LIMIT", why="It picks rows of some units.", instead="an aggregate of all rows.")
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: LIMIT: It picks rows of some units. Write instead: an aggregate of all rows.
    """
    raise QueryRefused(part, why=why, instead=instead)

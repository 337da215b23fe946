"""A word for whoever mistyped one."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["hint"]


def hint(word: str, known: Iterable[str]) -> str:
    """Name the known word that looks most like a given one, as a sentence to append; nothing if none does.

    >>> hint("rows_per_units", ["unit", "rows_per_unit"])
    " Did you mean 'rows_per_unit'?"
    >>> hint("x", ["unit"])
    ''
    """
    lowered = {each.lower(): each for each in known}
    close = difflib.get_close_matches(word.lower()[:100], lowered, n=1)
    return f" Did you mean '{lowered[close[0]]}'?" if close else ""

"""A word for whoever mistyped one."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["hint", "nearest"]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Find the known word that looks most like a given one, whatever the case of its letters; None if none does.

    >>> nearest(" Cardiolgy", ["cardiology", "surgery"]), nearest("x", ["surgery"])
    ('cardiology', None)
    """
    lowered = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.strip().lower()[:100], lowered, n=1)
    return lowered[close[0]] if close else None


def hint(word: str, known: Iterable[str]) -> str:
    """Name the known word that looks most like a given one, as a sentence to append; nothing if none does.

    >>> hint("rows_per_units", ["unit", "rows_per_unit"])
    " Did you mean 'rows_per_unit'?"
    >>> hint("x", ["unit"])
    ''
    """
    close = nearest(word, known)
    return "" if close is None else f" Did you mean '{close}'?"

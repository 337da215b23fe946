"""The corpus: statements as tools and people write them, each with what becomes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from discreet.tables import Policy

HERE = Path(__file__).parent
POLICY = Policy.read(HERE / "shop.toml")
"""A shop with its customers, their orders, and its stores."""

_HEAD = re.compile(r"^/\* (answered|refused|missed) (duckdb|postgres|spark) \*/ ", re.MULTILINE)


@dataclass(frozen=True)
class Statement:
    """One statement of the corpus.

    `answered` as it is asked; `refused`, as it is no statistic of many units, or no question; `missed`: it is one, and
    is refused all the same, with another way to ask.
    """

    family: str
    expected: str
    dialect: str
    text: str

    def __str__(self) -> str:
        return f"{self.family}: {' '.join(self.text.split())[:90]}"


def statements() -> list[Statement]:
    """Read all files."""
    found = []
    for file in sorted(HERE.glob("*.sql")):
        _, *parts = _HEAD.split(file.read_text(encoding="utf-8"))
        for expected, dialect, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            found.append(Statement(file.stem, expected, dialect, text.strip()))
    return found

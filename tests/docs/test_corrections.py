"""The page of corrections names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "corrections.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def missing(text: str, root: Path) -> list[str]:
    """Name the tests that a text names and that are not there."""

    def has(path: Path, name: str) -> bool:
        tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
        return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)

    return [f"{path}::{name}" for path, name in NAMED.findall(text) if not has(root / path, name)]


def rows(text: str) -> list[str]:
    """Return the rows of all tables, without heads and rules."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [line for line in lines if not line.startswith(("| ---", "| often printed"))]


def test_every_correction_names_a_test_that_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert missing(text, ROOT) == []
    assert len(rows(text)) >= 30
    assert [row for row in rows(text) if not NAMED.search(row)] == []


def test_a_test_that_is_not_there_is_seen() -> None:
    here = "tests/docs/test_corrections.py"
    text = f"`{here}::test_nothing` `tests/nowhere.py::test_it` `{here}::rows`"
    assert missing(text, ROOT) == [f"{here}::test_nothing", "tests/nowhere.py::test_it"]

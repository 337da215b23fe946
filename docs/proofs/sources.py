"""Tie each proof to the code that it is about: a page records a hash of each function and class it was read against.

The hash is of the syntax tree without docstrings, so that comments, formatting and words may change; a proof is stale
only when the code does something else.
"""

from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "proofs"
LINE = re.compile(r"^- `([\w.]+)` ([0-9a-f]{16}|unread)$", re.MULTILINE)


def pages(folder: Path = FOLDER) -> list[Path]:
    """List the pages that hold proofs."""
    return sorted(path for path in folder.rglob("*.md") if path.name != "index.md")


def recorded(page: Path) -> dict[str, str]:
    """Return the hashes that stand on a page, by the full name of what was read."""
    return dict(LINE.findall(page.read_text(encoding="utf-8")))


def current(name: str, source: Path = ROOT / "src") -> str:
    """Hash the function or class of this name as it is now."""
    module, _, member = name.rpartition(".")
    text = (source / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    found = [node for node in ast.parse(text).body if getattr(node, "name", None) == member]
    if len(found) != 1:
        message = f"{module} has no single function or class named {member}"
        raise LookupError(message)
    return hashlib.sha256(repr(_shape(found[0])).encode()).hexdigest()[:16]


def _shape(part: object) -> object:
    """Write a syntax tree as nested tuples: without free-standing texts, and without fields that versions add empty."""
    if isinstance(part, ast.AST):
        kept = [(name, value) for name, value in ast.iter_fields(part) if value is not None and value != []]
        return type(part).__name__, tuple((name, _shape(value)) for name, value in kept)
    if isinstance(part, list):
        return tuple(_shape(item) for item in part if not _is_text(item))
    return repr(part)


def _is_text(item: object) -> bool:
    """Tell a docstring, or a text that explains the line above it."""
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)


def stale(page: Path, source: Path = ROOT / "src") -> list[str]:
    """Name what has changed since the proof was read against it."""
    return [name for name, old in recorded(page).items() if current(name, source) != old]


def record(page: Path) -> None:
    """Write the current hashes onto a page: to be done after the proof was read again."""
    text = page.read_text(encoding="utf-8")
    page.write_text(LINE.sub(lambda line: f"- `{line[1]}` {current(line[1])}", text), encoding="utf-8")

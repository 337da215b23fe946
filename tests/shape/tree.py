"""The project as a tree of files; each shape check takes a root, so that a test can hand it a broken tree."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
PRODUCTS = {"build", "dist", "site", "__pycache__"}


def python_files(root: Path) -> list[Path]:
    """List the Python files below root, without hidden folders (environments, caches) and products."""

    def wanted(path: Path) -> bool:
        folders = path.relative_to(root).parts[:-1]
        return not any(part in PRODUCTS or part.startswith(".") for part in folders)

    return sorted(path for path in root.rglob("*.py") if wanted(path))


def parse(path: Path) -> ast.Module:
    """Read one file as a syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def module_name(path: Path, source: Path) -> str:
    """Turn src/discreet/noise/__init__.py into discreet.noise."""
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(tree: ast.Module, importer: str, *, is_package: bool) -> Iterator[str]:
    """Give the absolute dotted name behind each import, wherever in the file it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                own = importer.split(".")
                above = own[: len(own) - node.level + is_package]
                module = ".".join([*above, module] if module else above)
            yield from (f"{module}.{alias.name}" for alias in node.names)


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    """Create the given files below root: the broken partners of the checks."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root

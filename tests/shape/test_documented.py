"""Every public name shows how it is used and has its place in the reference."""

from __future__ import annotations

import importlib
import inspect
import re
import types
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tests.shape.tree import ROOT, module_name, python_files, write_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest


NEEDED = {"discreet.methods.learning.deep": "torch"}
"""Packages whose import needs an extra."""


def public_modules(source: Path) -> Iterator[str]:
    """Name the modules that export: every package, and every module that stands directly in the root package."""
    for path in python_files(source):
        name = module_name(path, source)
        public = not any(part.startswith("_") for part in name.split("."))
        if public and (path.name == "__init__.py" or name.count(".") == 1):
            yield name


def exported(source: Path) -> Iterator[tuple[str, object]]:
    """Give each exported name with what stands behind it."""
    for name in public_modules(source):
        if find_spec(NEEDED.get(name, "sys")) is None:
            continue  # an extra that this machine does not have
        module = importlib.import_module(name)
        yield from ((f"{name}.{export}", getattr(module, export)) for export in module.__all__)


def shows_itself(thing: object) -> bool:
    """Tell whether a function or class carries a doctest; the class of a value speaks for the value.

    A module speaks through its own exports, and an alias of a type (int | Fraction) cannot carry a docstring.
    """
    if inspect.ismodule(thing) or isinstance(thing, types.UnionType | types.GenericAlias):
        return True
    speaker = thing if inspect.isclass(thing) or inspect.isroutine(thing) else type(thing)
    return ">>> " in (inspect.getdoc(speaker) or "")


def without_example(source: Path) -> list[str]:
    """Name the exports that nobody shows how to use."""
    return [name for name, thing in exported(source) if not shows_itself(thing)]


def without_page(source: Path, reference: Path) -> list[str]:
    """Name the exports that the reference does not render; naming a module renders all its exports."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(reference.rglob("*.md")))
    pages = set(re.findall(r"^::: ([\w.]+)$", text, flags=re.MULTILINE))

    def places(name: str, thing: object) -> set[str]:
        home = getattr(thing, "__module__", "")
        return {name, name.rpartition(".")[0], f"{home}.{name.rpartition('.')[2]}"}

    return [name for name, thing in exported(source) if not inspect.ismodule(thing) and not places(name, thing) & pages]


def test_every_public_name_has_an_example() -> None:
    assert without_example(ROOT / "src") == []


def test_every_public_name_has_a_page() -> None:
    assert without_page(ROOT / "src", ROOT / "docs" / "reference") == []


FUNCTION = 'def {name}() -> None:\n    """Do it.\n\n    {example}\n    """\n'


def test_a_missing_example_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    functions = FUNCTION.format(name="shown", example=">>> shown()") + FUNCTION.format(name="bare", example="See.")
    write_tree(
        tmp_path,
        {
            "unshown/__init__.py": "from unshown.part import bare, shown\n__all__ = ['bare', 'shown']",
            "unshown/part.py": functions + "def silent(): ...\n__all__ = ['silent']",
        },
    )
    assert without_example(tmp_path) == ["unshown.bare", "unshown.part.silent"]


def test_a_missing_page_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    write_tree(
        tmp_path,
        {
            "unpaged/__init__.py": "__all__ = ['a', 'b', 'd']\nfrom unpaged.deep.part import a, b, d",
            "unpaged/part.py": "__all__ = ['c']\nc = 1",
            "unpaged/deep/__init__.py": "__all__ = []",
            "unpaged/deep/part.py": "def a(): ...\ndef b(): ...\ndef d(): ...",
            "reference/index.md": "# Reference\n\n::: unpaged.a\n\nThe text mentions unpaged.b without showing it.\n",
            "reference/deep/part.md": "::: unpaged.part\n\n::: unpaged.deep.part.d\n",
        },
    )
    assert without_page(tmp_path, tmp_path / "reference") == ["unpaged.b"]

"""Files and functions stay short enough to be read in one sitting, and are named for what they hold."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.shape.tree import ROOT, parse, python_files, write_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES_PER_FILE = 600
LINES_PER_BODY = 50
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "misc", "base", "common"}


def long_files(root: Path) -> list[str]:
    """Name the files with too many lines."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in python_files(root)}
    return [f"{path.relative_to(root)}: {n} lines" for path, n in lengths.items() if n > LINES_PER_FILE]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function's body, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def long_functions(root: Path) -> Iterator[str]:
    """Name the functions whose body has too many lines."""
    for path in python_files(root):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and body_lines(node) > LINES_PER_BODY:
                yield f"{path.relative_to(root)}:{node.lineno} {node.name}: {body_lines(node)} lines"


def empty_names(root: Path) -> list[str]:
    """Name the files and folders whose name says nothing about what they hold."""
    return [
        str(path.relative_to(root))
        for path in python_files(root)
        if any(part.strip("_") in EMPTY_NAMES for part in path.relative_to(root).with_suffix("").parts)
    ]


def test_no_file_is_too_long() -> None:
    assert long_files(ROOT) == []


def test_no_function_is_too_long() -> None:
    assert list(long_functions(ROOT)) == []


def test_no_module_is_a_junk_drawer() -> None:
    assert empty_names(ROOT) == []


def test_a_long_file_is_seen(tmp_path: Path) -> None:
    write_tree(tmp_path, {"src/fits.py": "x = 1\n" * 600, "src/long.py": "x = 1\n" * 601})
    assert long_files(tmp_path) == ["src/long.py: 601 lines"]


@pytest.mark.parametrize("indent, head", [("", ""), ("    ", "class C:\n")])
def test_a_long_function_is_seen(tmp_path: Path, indent: str, head: str) -> None:
    def text(lines: int) -> str:
        docstring = f'{indent}    """One.\n\n{indent}    Two.\n{indent}    """\n'
        return head + f"{indent}def f() -> None:\n" + docstring + f"{indent}    print()\n" * lines

    write_tree(tmp_path, {"fits.py": text(50), "long.py": text(51)})
    assert [line.split(":")[0] for line in long_functions(tmp_path)] == ["long.py"]


@pytest.mark.parametrize("name", ["src/utils.py", "src/_utils.py", "src/helpers/__init__.py", "tests/common.py"])
def test_an_empty_name_is_seen(tmp_path: Path, name: str) -> None:
    write_tree(tmp_path, {name: "", "src/laplace.py": "", ".venv/lib/utils.py": ""})
    assert empty_names(tmp_path) == [name]

"""What is under version control is small, portable and free of results."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.shape.tree import ROOT, write_tree

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 500_000
GIT = shutil.which("git") or "git"
# Written in pieces: this file is under version control too.
HOME_FOLDERS = re.compile(r"(?<![\w.])/(?:home|root|Users|" + "work" + r")/\w|[A-Z]:\\+" + r"Users\\")


def tracked(root: Path) -> list[Path]:
    """List the files under version control that still exist."""
    run = subprocess.run([GIT, "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True)
    return [root / name for name in run.stdout.split("\0") if name and (root / name).is_file()]


def text_of(path: Path) -> str:
    """Read a file; bytes that are no text become marks that match nothing."""
    return path.read_text(encoding="utf-8", errors="replace")


def machine_paths(root: Path) -> list[str]:
    """Name the lines that hold a path of somebody's machine."""
    return [
        f"{path.relative_to(root)}:{number}"
        for path in tracked(root)
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if HOME_FOLDERS.search(line)
    ]


def large_files(root: Path) -> list[str]:
    """Name the files that belong elsewhere."""
    return [str(path.relative_to(root)) for path in tracked(root) if path.stat().st_size > LARGEST]


def notebooks_with_outputs(root: Path) -> list[str]:
    """Name the notebooks that were saved with their results."""

    def has_output(path: Path) -> bool:
        return any(cell.get("outputs") for cell in json.loads(text_of(path))["cells"])

    return [str(path.relative_to(root)) for path in tracked(root) if path.suffix == ".ipynb" and has_output(path)]


def test_no_file_knows_a_machine() -> None:
    assert machine_paths(ROOT) == []


def test_no_file_is_large() -> None:
    assert large_files(ROOT) == []


def test_no_notebook_carries_outputs() -> None:
    assert notebooks_with_outputs(ROOT) == []


def versioned(root: Path, files: dict[str, str]) -> Path:
    """Put the given files under version control."""
    write_tree(root, files)
    for command in (["init", "--quiet"], ["add", "."]):
        subprocess.run([GIT, *command], cwd=root, check=True)
    return root


@pytest.mark.parametrize("path", ["/home" + "/ann/x", "/root" + "/x", "/Users" + "/ann", "C:\\" + "Users\\ann"])
def test_a_machine_path_is_seen(tmp_path: Path, path: str) -> None:
    good = "see docs" + "/root" + "/x, the root/branch, https://example.org/home"
    files = {"good.py": good, "bad.txt": f"one\nopen('{path}')"}
    assert machine_paths(versioned(tmp_path, files)) == ["bad.txt:2"]


def test_a_large_file_is_seen(tmp_path: Path) -> None:
    root = versioned(tmp_path, {"small.csv": "x" * LARGEST, "large.csv": "x" * (LARGEST + 1)})
    assert large_files(root) == ["large.csv"]


def test_an_output_is_seen(tmp_path: Path) -> None:
    def notebook(outputs: list[str]) -> str:
        return json.dumps({"cells": [{"cell_type": "markdown"}, {"cell_type": "code", "outputs": outputs}]})

    root = versioned(tmp_path, {"clean.ipynb": notebook([]), "saved.ipynb": notebook(["3"])})
    assert notebooks_with_outputs(root) == ["saved.ipynb"]

"""Imports form no cycle, bring no foreign randomness, and a bare import of the package brings nothing at all."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import pytest

from tests.shape.tree import ROOT, imported_names, module_name, parse, python_files, write_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOREIGN_RANDOMNESS = ("random", "numpy.random", "scipy.stats.sampling", "scipy.stats.qmc")


def import_graph(source: Path) -> dict[str, set[str]]:
    """Map each module to the modules of the same tree that it imports, lazily or not."""
    files = {module_name(path, source): path for path in python_files(source)}

    def target(name: str) -> str | None:
        if name in files:
            return name
        parent = name.rpartition(".")[0]
        return parent if parent in files else None

    def targets(module: str, path: Path) -> set[str]:
        names = imported_names(parse(path), module, is_package=path.name == "__init__.py")
        return {found for name in names if (found := target(name))}

    return {module: targets(module, path) for module, path in files.items()}


def import_cycle(source: Path) -> list[str]:
    """Give one cycle of imports, or nothing."""
    graph = import_graph(source)
    root_only_names = {"discreet": set[str]()}  # the root names its parts for type checkers and loads none
    try:
        TopologicalSorter(graph | root_only_names).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


def foreign_randomness(source: Path) -> Iterator[str]:
    """Name every place that reaches for a random generator other than discreet.noise."""
    for path in python_files(source):
        tree = parse(path)
        importer = module_name(path, source)
        for name in imported_names(tree, importer, is_package=path.name == "__init__.py"):
            if any(f"{name}.".startswith(f"{banned}.") for banned in FOREIGN_RANDOMNESS):
                yield f"{path.relative_to(source)} imports {name}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in {"np.random", "numpy.random"}:
                yield f"{path.relative_to(source)}:{node.lineno} uses {ast.unparse(node)}"


def loaded_by(statement: str, *, path: Path) -> set[str]:
    """Give the packages, outside the standard library, that a statement loads in a fresh interpreter."""
    script = (
        f"import sys; before = set(sys.modules)\n{statement}\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    environment = {**os.environ, "PYTHONPATH": str(path)}
    run = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True)
    return set(run.stdout.split()) - sys.stdlib_module_names


def test_imports_form_no_cycle() -> None:
    assert import_cycle(ROOT / "src") == []


def test_randomness_comes_from_one_place() -> None:
    assert list(foreign_randomness(ROOT / "src")) == []


def test_a_bare_import_is_light() -> None:
    assert loaded_by("import discreet", path=ROOT / "src") == {"discreet"}


def parts_of(package: Path) -> set[str]:
    """Name the public modules and packages that stand directly in a package."""
    found = {module_name(path, package).partition(".")[0] for path in python_files(package)}
    return {name for name in found if name and not name.startswith("_")}


def test_the_root_names_every_part() -> None:
    import discreet

    parts = parts_of(ROOT / "src" / "discreet")
    assert set(discreet.__all__) == parts, "add the new part to __all__ in src/discreet/__init__.py"
    assert parts <= set(dir(discreet))
    assert all(getattr(discreet, part).__name__ == f"discreet.{part}" for part in parts)


def test_a_new_part_is_seen(tmp_path: Path) -> None:
    write_tree(tmp_path, {"__init__.py": "", "errors.py": "", "noise/laplace.py": "", "_private.py": ""})
    assert parts_of(tmp_path) == {"errors", "noise"}


def test_an_unknown_part_is_refused() -> None:
    import discreet

    with pytest.raises(AttributeError, match="no attribute 'nothing'; its parts are"):
        _ = discreet.nothing


@pytest.mark.parametrize(
    "back",
    [
        "import pack.a",
        "from pack import a",
        "from pack.a import x",
        "from . import a",
        "def f():\n    from .a import x",
    ],
)
def test_a_cycle_is_seen(tmp_path: Path, back: str) -> None:
    good = {"pack/__init__.py": "", "pack/a.py": "from pack.b import y\nx = 1", "pack/b.py": "import math"}
    assert import_cycle(write_tree(tmp_path, good)) == []
    assert set(import_cycle(write_tree(tmp_path, {"pack/b.py": back}))) == {"pack.a", "pack.b"}


def test_a_cycle_through_the_package_is_seen(tmp_path: Path) -> None:
    files = {"pack/__init__.py": "from pack.a import x", "pack/a.py": "from pack import y"}
    assert set(import_cycle(write_tree(tmp_path, files))) == {"pack", "pack.a"}


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "from random import gauss",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.normal()",
        "from scipy.stats import qmc",
    ],
)
def test_foreign_randomness_is_seen(tmp_path: Path, text: str) -> None:
    write_tree(tmp_path, {"pack/good.py": "import numpy as np\nfrom pack.random_bits import random\n"})
    assert list(foreign_randomness(tmp_path)) == []
    write_tree(tmp_path, {"pack/bad.py": text})
    assert len(list(foreign_randomness(tmp_path))) >= 1


def test_a_heavy_import_is_seen(tmp_path: Path) -> None:
    write_tree(tmp_path, {"heavy/__init__.py": "import numpy", "light/__init__.py": "import json"})
    assert loaded_by("import light", path=tmp_path) == {"light"}
    assert "numpy" in loaded_by("import heavy", path=tmp_path)

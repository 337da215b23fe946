"""The layer contracts of pyproject.toml hold, and each of them can break."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.shape.tree import ROOT, write_tree

if TYPE_CHECKING:
    from pathlib import Path

# Every layer at once, each import in a place where it is allowed.
GOOD = {
    "discreet/__init__.py": "",
    "discreet/errors.py": "",
    "discreet/_lazy.py": "",
    "discreet/files.py": "from discreet import errors",
    "discreet/exact/__init__.py": "from discreet import errors",
    "discreet/noise/__init__.py": "from discreet import exact",
    "discreet/privacy/__init__.py": "from discreet import exact",
    "discreet/tables/__init__.py": "from discreet import noise, privacy",
    "discreet/inference/__init__.py": "",
    "discreet/mechanisms/__init__.py": "from discreet import tables",
    "discreet/plans/__init__.py": "import sqlglot",
    "discreet/plans/sql.py": "import sqlglot",
    "discreet/engines/__init__.py": "import duckdb",
    "discreet/engines/spark.py": "import pyspark, sqlglot",
    "discreet/engines/postgres.py": "import psycopg",
    "discreet/releases/__init__.py": "from discreet.engines import spark\nfrom discreet import ledgers",
    "discreet/ledgers/__init__.py": "from discreet import mechanisms",
    "discreet/ledgers/postgres.py": "import psycopg",
    "discreet/methods/__init__.py": "",
    "discreet/methods/learning/__init__.py": "import torch",
    "discreet/methods/learning/sgd.py": "import torch",
    "discreet/database.py": "from discreet import engines, ledgers, methods",
    "discreet/checks/__init__.py": "from discreet import database",
    "discreet/apps/__init__.py": "from discreet import checks",
    "discreet/apps/server/__init__.py": "import fastapi",
    "discreet/apps/server/routes.py": "import fastapi, starlette, uvicorn",
}
BROKEN = [
    ("errors.py", "from discreet import exact", "Imports point down only"),
    ("noise/__init__.py", "from discreet import privacy", "Imports point down only"),
    ("mechanisms/__init__.py", "from discreet import plans", "Imports point down only"),
    ("ledgers/memory.py", "from discreet import releases", "Imports point down only"),
    ("strange.py", "", "Imports point down only"),
    ("releases/__init__.py", "import duckdb", "duckdb and pyspark only in engines"),
    ("methods/__init__.py", "import pyspark", "duckdb and pyspark only in engines"),
    ("engines/__init__.py", "import psycopg", "psycopg only in"),
    ("ledgers/__init__.py", "def f():\n    import psycopg", "psycopg only in"),
    ("releases/__init__.py", "import sqlglot", "sqlglot only in"),
    ("methods/__init__.py", "import torch", "torch only in"),
    ("apps/__init__.py", "import fastapi", "Web frameworks only in"),
    ("exact/__init__.py", "import random", "No randomness but our own"),
    ("exact/__init__.py", "import benchmarks", "No randomness but our own"),
]


def layer_report(folder: Path) -> str:
    """Run import-linter with the project's own contracts on the package in a folder."""
    script = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command(sys.argv[1:])"
    run = subprocess.run(
        [sys.executable, "-c", script, "--no-cache", "--config", str(ROOT / "pyproject.toml")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        check=False,
        capture_output=True,
        text=True,
    )
    return " ".join(run.stdout.split()) + f" exit {run.returncode}"


def test_the_package_keeps_its_layers() -> None:
    assert layer_report(ROOT / "src").endswith("0 broken. exit 0")


def stale_parentheses(layers: list[str], package: Path) -> list[str]:
    """Name the layers that exist and still stand in parentheses."""
    planned = {layer.strip("()") for line in layers for layer in line.split(" | ") if layer.startswith("(")}
    return sorted(name for name in planned if (package / name).is_dir() or (package / f"{name}.py").is_file())


def test_only_missing_layers_stand_in_parentheses() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    assert stale_parentheses(contract["layers"], ROOT / "src" / "discreet") == []


def test_stale_parentheses_are_seen(tmp_path: Path) -> None:
    layers = ["(apps)", "(plans) | mechanisms", "(database)", "errors"]
    write_tree(tmp_path, {"plans/__init__.py": "", "mechanisms/__init__.py": "", "database.py": "", "errors.py": ""})
    assert stale_parentheses(layers, tmp_path) == ["database", "plans"]


def test_the_finished_house_is_accepted(tmp_path: Path) -> None:
    assert layer_report(write_tree(tmp_path, GOOD)).endswith("0 broken. exit 0")


@pytest.mark.parametrize("file, text, contract", BROKEN)
def test_a_broken_layer_is_seen(tmp_path: Path, file: str, text: str, contract: str) -> None:
    report = layer_report(write_tree(tmp_path, {**GOOD, f"discreet/{file}": text}))
    if file == "strange.py":
        assert "not listed as layers: - discreet.strange" in report
    else:
        assert re.search(rf"{contract}((?! KEPT ).)* BROKEN", report)
        assert "1 broken." in report
    assert report.endswith("exit 1")

"""The code blocks of documents run: a wrong one fails the tests, in a document as in a docstring."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = "# Title\n\n```python\nx = 1\n```\n\nText.\n\n```python\n>>> x + 1\n{result}\n\n```\n"


def run_tests(folder: Path, *options: str) -> tuple[int, str]:
    """Run pytest with the project's settings on the files of a folder."""
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "."]
    run = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    return run.returncode, run.stdout


def test_right_blocks_pass_also_when_workers_share_them(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(BLOCK.format(result=2), encoding="utf-8")
    code, output = run_tests(tmp_path, "-n", "2")
    assert code == 0, output
    assert "2 passed" in output


def test_wrong_blocks_doctests_and_warnings_are_seen(tmp_path: Path) -> None:
    wrong = {
        "result.md": BLOCK.format(result=3),
        "raising.md": "```python\nraise RuntimeError\n```\n",
        "part.py": '"""A part.\n\n>>> 1 + 1\n3\n"""\n',
        "test_part.py": "import warnings\n\n\ndef test_it():\n    warnings.warn('old')\n",
    }
    for name, text in wrong.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    code, output = run_tests(tmp_path)
    assert code == 1
    failed = {line.split()[1].partition("::")[0] for line in output.splitlines() if line.startswith("FAILED")}
    assert failed == set(wrong)

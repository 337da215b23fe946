"""Every example runs as a person would run it, and says something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(path: Path) -> str:
    """Run a script with warnings as errors and return what it prints."""
    command = [sys.executable, "-W", "error", str(path)]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_the_example_runs(path: Path) -> None:
    assert run(path).strip()


@pytest.mark.parametrize("text", ["raise SystemExit(1)", "import warnings\nwarnings.warn('old')\nprint(1)"])
def test_a_failing_example_is_seen(tmp_path: Path, text: str) -> None:
    script = tmp_path / "broken.py"
    script.write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError):
        run(script)

"""Every example runs, and prints something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = {"survey_client"}
"""What a phone runs: it sends a report, and sees no estimate."""
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def output(script: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, str(script)], env=environment, check=True, capture_output=True, text=True)
    return run.stdout


@pytest.mark.parametrize("script", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_runs(script: Path) -> None:
    told = output(script)
    assert "±" in told or (script.stem in CLIENTS and told.strip())


def test_a_broken_example_is_seen(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import discreet\ndiscreet.nothing\n")
    with pytest.raises(subprocess.CalledProcessError):
        output(tmp_path / "broken.py")

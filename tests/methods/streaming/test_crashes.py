"""Holders of a stream that are killed at random points: no noise is drawn anew, and no acknowledged step is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from discreet.ledgers import SQLiteLedger
from tests.methods.streaming.crashes import KINDS, POLICY


def told(lines: list[str], word: str) -> dict[int, set[str]]:
    """What was told of each step."""
    found = defaultdict(set)
    for line in lines:
        kind, step, value = line.split()
        if kind == word:
            found[int(step)].add(value)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(len(KINDS)))
def test_killed_holders_draw_nothing_anew_and_lose_nothing(tmp_path: Path, seed: int) -> None:
    """50 kills for each of four streams."""
    file = tmp_path / "hospital.ledger.sqlite"
    words = [sys.executable, "-m", "tests.methods.streaming.crashes", str(file), "50", str(seed)]
    root = Path(__file__).parents[3]
    run = subprocess.run(words, check=True, capture_output=True, text=True, cwd=root, timeout=240)
    assert run.stderr == ""
    lines: list[str] = json.loads(run.stdout)
    drawn, kept = told(lines, "drawn"), told(lines, "kept")
    assert len(kept) >= 10
    assert all(len(values) == 1 for values in drawn.values()), "a step was drawn twice with other bits"
    assert all(values == drawn[step] for step, values in kept.items())
    with SQLiteLedger(file, POLICY) as ledger:
        assert ledger.verify().ok
        parts = [line.body["answer"] for line in ledger.entries(kind="part")]
        assert [part["details"]["step"] for part in parts] == list(range(1, len(parts) + 1))
        assert all({str(part["value"])} == drawn[part["details"]["step"]] for part in parts)
        assert max(kept) <= len(parts)
        assert len(list(ledger.entries(kind="reserved"))) == 1


def test_a_step_that_was_drawn_twice_is_seen() -> None:
    lines = ["drawn 1 5", "drawn 1 6", "kept 1 6"]
    assert not all(len(values) == 1 for values in told(lines, "drawn").values())

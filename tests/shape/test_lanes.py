"""Every test is in a lane that CI runs, and the page for contributors says which lane holds what."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = {"spark": "test-spark", "fuzz": "fuzz"}
"""Markers whose lane looks into some folders only."""


def recipe(target: str) -> str:
    """Give what `make` runs for a target."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return found[1] if found else ""


def outside(marker: str, folder: Path, places: list[str]) -> list[str]:
    """Name the test files with a marker that a lane does not look into."""
    marked = [path for path in sorted(folder.rglob("test_*.py")) if f"mark.{marker}\n" in path.read_text()]
    inside = [folder.parent / place for place in places]
    return [path.name for path in marked if not any(path.is_relative_to(place) for place in inside)]


@pytest.mark.parametrize("marker", PARTS)
def test_every_marked_test_is_where_its_lane_looks(marker: str) -> None:
    places = re.findall(r"\btests/[\w/.]+", recipe(PARTS[marker]))
    assert places
    assert outside(marker, ROOT / "tests", places) == []


def test_a_marked_test_elsewhere_is_seen(tmp_path: Path) -> None:
    for place in ("doors", "noise"):
        (tmp_path / "tests" / place).mkdir(parents=True)
        (tmp_path / "tests" / place / f"test_{place}.py").write_text("@pytest.mark.spark\ndef test_it(): ...\n")
    assert outside("spark", tmp_path / "tests", ["tests/doors"]) == ["test_noise.py"]


def test_the_page_lists_the_lanes_that_ci_runs() -> None:
    lanes = ["test", "test-slow", "fuzz", "test-spark", "mutants-recent", "docs"]
    page, script = (ROOT / "CONTRIBUTING.md").read_text(), (ROOT / ".ci" / "run").read_text()
    for lane in lanes:
        assert f"| `make {lane}` |" in page, lane
        assert re.search(rf"^stages .*\b{lane}\b", script, re.MULTILINE), lane
        assert recipe(lane), lane


def test_the_lanes_of_plain_tests_leave_none_out() -> None:
    """A test is slow or not, and what is neither of Spark nor of the fuzzer is in one of the two lanes."""
    assert '-m "not slow and not spark and not fuzz"' in recipe("test")
    assert '-m "slow and not spark and not fuzz" tests' in recipe("test-slow")

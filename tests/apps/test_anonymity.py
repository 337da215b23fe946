"""`discreet anonymity` measures a file by any distance, and `discreet attack` says what of it can be told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from discreet.apps.cli import main

if TYPE_CHECKING:
    from pathlib import Path

ROWS = ["zip,ill", "130,flu", "130,ulcer", "148,cold", "148,gastritis"]
TREE = ["flu, lungs", "cold, lungs", "ulcer, stomach", "gastritis, stomach"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "ward.csv").write_text("\n".join(ROWS) + "\n")
    (tmp_path / "tree.csv").write_text("\n".join(TREE) + "\n")
    return tmp_path / "ward.csv"


def closeness(capsys: pytest.CaptureFixture[str]) -> float:
    return float(json.loads(capsys.readouterr().out)["closeness"])


def test_illnesses_of_one_organ_are_near_each_other(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each class lacks half of the values, and of organs nothing: half of the mass moves, half of the way up."""
    asked = ["anonymity", str(data), "--quasi", "zip", "--sensitive", "ill", "--json"]
    assert main(asked) == 0
    assert closeness(capsys) == pytest.approx(0.5)
    assert main([*asked, "--hierarchy", str(data.with_name("tree.csv"))]) == 0
    assert closeness(capsys) == pytest.approx(0.25)
    assert main([*asked, "--ordered"]) == 0
    assert closeness(capsys) == pytest.approx(1 / 6)


def test_owners_are_told_that_facts_are_exact(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["anonymity", str(data), "--quasi", "zip", "--sensitive", "ill"]) == 0
    assert "exact facts about private rows" in capsys.readouterr().out
    assert main(["attack", "disclose", str(data), "--quasi", "zip", "--sensitive", "ill"]) == 0
    assert "exact facts about private rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--hierarchy", "nowhere.csv"], "cannot be read"),
        (["--hierarchy", "tree.csv", "--ordered"], "two distances"),
        (["--quasi", "zpi"], "Did you mean 'zip'"),
    ],
)
def test_what_does_not_fit_is_named(
    data: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data.parent)
    assert main(["anonymity", str(data), "--quasi", "zip", "--sensitive", "ill", *arguments]) == 2
    assert message in capsys.readouterr().err

"""`discreet workload`: counting questions of a file, previewed for free and answered for one price."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from discreet.apps.cli import main
from discreet.plans.sql.several import statements_in

if TYPE_CHECKING:
    from pathlib import Path

POLICY = """[source]
url = "."
[budget]
epsilon = 5
[tables.people]
row_is_unit = true
[tables.people.columns]
age = { lower = 0, upper = 99, type = "integer" }
sex = { keys = ["f", "m"] }
"""
QUESTIONS = """SELECT sex, COUNT(*) AS n FROM people GROUP BY CUBE (sex); -- totals; too
SELECT COUNT(*) AS n FROM people WHERE age < 18;"""


@pytest.fixture
def town(tmp_path: Path) -> Path:
    (tmp_path / "town.toml").write_text(POLICY)
    (tmp_path / "people.csv").write_text("age,sex\n" + "30,f\n" * 30 + "9,m\n" * 70)
    (tmp_path / "questions.sql").write_text(QUESTIONS)
    return tmp_path


def run(town: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["workload", str(town / "town.toml"), str(town / "questions.sql"), *options]) == 0
    return capsys.readouterr().out


def test_a_preview_is_free_and_a_release_is_charged(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = run(town, capsys, "--epsilon", "1")
    assert "promise ε = 1" in said
    assert "charge: Pure(epsilon=1)" in said
    preview = json.loads(run(town, capsys, "--epsilon", "1", "--json"))
    assert preview["fits"] is True
    assert set(preview["errors"]) == set(statements_in(QUESTIONS))
    assert "charged Pure(epsilon=4)" in run(town, capsys, "--epsilon", "4", "--release")
    answers = json.loads(run(town, capsys, "--epsilon", "4", "--release", "--json"))["answers"]
    rows = answers[0]["rows"]
    assert rows[0]["n"] + rows[1]["n"] == rows[2]["n"]
    assert json.loads(run(town, capsys, "--epsilon", "2", "--json"))["fits"] is False


def test_a_file_is_parted_at_its_semicolons() -> None:
    assert len(statements_in(QUESTIONS)) == 2
    assert statements_in(" ; ;\n") == []
    assert statements_in("SELECT ';' ; SELECT 1") == ["SELECT ';'", "SELECT 1"]

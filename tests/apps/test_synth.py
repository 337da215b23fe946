"""Synthetic rows on the command line: written, drawn again for nothing, and refused in words."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from discreet.apps.cli import main
from discreet.methods.synthesis import load

if TYPE_CHECKING:
    from pathlib import Path

POLICY = """\
[source]
url = "."
[budget]
epsilon = 9
delta = 1e-4
[tables.people]
row_is_unit = true
[tables.people.columns]
age = { lower = 0, upper = 100 }
town = { keys = ["north", "south"] }
note = { type = "text" }
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rows = [f"{place % 100},north,x" for place in range(600)]
    (tmp_path / "people.csv").write_text("\n".join(["age,town,note", *rows]) + "\n")
    (tmp_path / "people.toml").write_text(POLICY)
    return tmp_path


def test_rows_are_written_for_a_price_and_more_of_them_for_nothing(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["synth", str(people / "people.toml"), "--table", "people", "--epsilon", "4", "--method", "mst"]
    assert main([*told, "--rows", "50", "--out", str(people / "out.csv"), "--model", str(people / "m.json")]) == 0
    first = capsys.readouterr().out
    assert "50 rows in" in first
    assert "ε = 4" in first
    with (people / "out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    assert set(rows[0]) == {"age", "town"}
    assert load(people / "m.json").value.domain.names == ("age", "town")
    assert main(["budget", str(people / "people.toml")]) == 0
    spent = capsys.readouterr().out
    assert main([*told, "--out", str(people / "more.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["promise"].startswith("ε = 4")
    assert main(["budget", str(people / "people.toml")]) == 0
    assert capsys.readouterr().out == spent


def test_what_is_there_is_not_overwritten_and_a_wrong_method_is_named(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["synth", str(people / "people.toml"), "--table", "people", "--epsilon", "1"]
    assert main([*told, "--out", str(people / "people.csv")]) != 0
    assert "is there already" in capsys.readouterr().err
    assert main([*told, "--out", str(people / "o.csv"), "--method", "magic"]) != 0
    assert "must be one of aim, mst, mwem, independent" in capsys.readouterr().err

"""Train on the command line, predict from the file, and be refused in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.apps.cli import main

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
income = { keys = ["low", "high"] }
pay = { lower = 0, upper = 1000 }
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    age = np.random.default_rng(0).integers(0, 100, 3000)
    rows = [f"{each},north,x,{'high' if each > 50 else 'low'},{each * 10}" for each in age]
    (tmp_path / "people.csv").write_text("\n".join(["age,town,note,income,pay", *rows]) + "\n")
    (tmp_path / "new.csv").write_text("town,age,who\nnorth,5,ann\nelsewhere,95,bob\n,,eve\n")
    (tmp_path / "people.toml").write_text(POLICY)
    return tmp_path


def test_a_model_is_trained_for_a_price_and_predicts_for_nothing(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, policy = str(people / "model.json"), str(people / "people.toml")
    told = ["--table", "people", "--target", "income", "--features", "age,town", "--epsilon", "3"]
    assert main(["train", policy, *told, "--out", model]) == 0
    shown = capsys.readouterr().out
    assert "ε = 3" in shown
    assert main(["predict", model, str(people / "new.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["town,age,who,predicted", "north,5,ann,low", "elsewhere,95,bob,high"]
    assert main(["predict", model, str(people / "new.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predicted"][:2] == ["low", "high"]
    assert main(["train", policy, *told, "--out", model]) == 2
    assert "there already" in capsys.readouterr().err
    assert main(["train", policy, *told, "--out", str(people / "again.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(people / "again.json")
    assert (people / "again.json").read_text() == (people / "model.json").read_text()


def test_numbers_are_learned_from_all_bounded_columns(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["train", str(people / "people.toml"), "--table", "people", "--target", "pay", "--model", "linear"]
    assert main([*call, "--epsilon", "3", "--out", str(people / "pay.json")]) == 0
    assert main(["predict", str(people / "pay.json"), str(people / "people.csv"), "--json"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    "options, code, words",
    [
        (["--target", "income"], 2, "one way"),
        (["--target", "nothing", "--epsilon", "1"], 3, "nothing"),
        (["--target", "pay", "--epsilon", "1"], 2, "classes are missing"),
        (["--target", "income", "--epsilon", "1", "--model", "magic"], 2, "one of"),
        (["--target", "income", "--epsilon", "50"], 4, "budget"),
    ],
)
def test_refusals_say_what_to_write(
    people: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, words: str
) -> None:
    call = ["train", str(people / "people.toml"), "--table", "people", "--out", str(people / "m.json"), *options]
    assert main(call) == code
    assert words in capsys.readouterr().err
    assert not (people / "m.json").exists()


def test_a_file_that_is_no_model_is_refused(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(people / "people.toml"), str(people / "new.csv")]) == 2
    assert main(["predict", str(people / "none.json"), str(people / "new.csv")]) == 2
    assert "no file" in capsys.readouterr().err


@pytest.mark.parametrize("told", [["additive"], ["bayes"], ["logistic", "--method", "output"]])
def test_other_models_are_trained_and_used(people: Path, told: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    made = [str(people / "people.toml"), "--table", "people", "--target", "income", "--epsilon", "2"]
    out = str(people / "model.json")
    assert main(["train", *made, "--features", "age", "--out", out, "--model", *told]) == 0
    assert main(["predict", out, str(people / "new.csv")]) == 0
    assert "bob,high" in capsys.readouterr().out


def test_a_method_that_a_model_does_not_have_is_refused(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = [str(people / "people.toml"), "--table", "people", "--target", "income", "--epsilon", "2"]
    assert main(["train", *made, "--out", str(people / "x.json"), "--model", "forest", "--method", "output"]) == 2
    assert "forest has none" in capsys.readouterr().err

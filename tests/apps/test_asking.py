"""How questions are asked on the command line: from files and pipes, as CSV, JSON, pictures; refused in its words."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.apps.cli import main
from discreet.apps.cli.options import in_options
from discreet.ledgers import SQLiteLedger

POLICY = """\
[dataset]
id = "clinic"
[source]
url = "."
[budget]
epsilon = 20
[tables.visits]
unit = "patient_id"
rows_per_unit = 3
[tables.visits.columns]
ward = { keys = ["a", "b"] }
cost = { lower = 0, upper = 100 }
"""
COUNT = "SELECT COUNT(*) AS n FROM visits"
BINS = "SELECT ward, HISTOGRAM(cost, [20, 40]) AS n FROM visits GROUP BY ward"
SOURCE = str(Path(discreet.__file__).resolve().parents[1])


@pytest.fixture
def clinic(tmp_path: Path) -> str:
    rows = "".join(f"p{number // 2},{'ab'[number % 2]},{number % 90}\n" for number in range(800))
    (tmp_path / "visits.csv").write_text(f"patient_id,ward,cost\n{rows}")
    (tmp_path / "clinic.toml").write_text(POLICY)
    return str(tmp_path / "clinic.toml")


def entries(clinic: str) -> list[str]:
    with SQLiteLedger(Path(clinic).with_name("clinic.ledger.sqlite")) as ledger:
        return [line.kind for line in ledger.entries()]


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(list(arguments)) == code
    shown = capsys.readouterr()
    return shown.out, shown.err


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "--version") == (f"{discreet.__version__}\n", "")


@pytest.mark.parametrize("command", ["query", "preview"])
def test_a_question_comes_from_a_file_or_a_pipe(
    command: str, clinic: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(clinic).with_name("question.sql")
    file.write_text(f"{COUNT}\n")
    ask = (command, clinic, "--epsilon", "1", "--json")
    plain = json.loads(told(capsys, *ask, COUNT)[0])
    monkeypatch.setattr(sys, "stdin", io.StringIO(file.read_text()))
    for how in (["--file", str(file)], ["-"]):
        again = json.loads(told(capsys, *ask, *how)[0])
        assert again["errors"] == plain["errors"]
        assert again.get("rows") == plain.get("rows")


def test_a_question_is_given_in_one_way(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ([], [COUNT, "--file", clinic]):
        assert "in one way" in told(capsys, "query", clinic, "--epsilon", "1", *more, code=2)[1]
    missing = told(capsys, "query", clinic, "--epsilon", "1", "--file", f"{clinic}x", code=1)[1]
    assert "No such file" in missing
    Path(clinic).with_name("bytes").write_bytes(b"\xff\xfe")
    odd = told(capsys, "query", clinic, "--epsilon", "1", "--file", str(Path(clinic).with_name("bytes")), code=2)[1]
    assert "--file is no text in UTF-8" in odd


def test_another_spelling_is_asked_for_by_its_name(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    spelled = "SELECT percentile(cost, 0.5) AS m FROM visits"
    assert "--dialect 'spark'" in told(capsys, "preview", clinic, "SELECT FROM FROM", "--epsilon", "1", code=3)[1]
    assert "m: " in told(capsys, "preview", clinic, spelled, "--epsilon", "1", "--dialect", "spark")[0]


def test_an_answer_is_lines_of_csv_with_its_errors(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = told(capsys, "query", clinic, BINS, "--epsilon", "3", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == ["ward", "lower", "upper", "n", "n_error"]
    assert [(row["ward"], row["lower"], row["upper"]) for row in rows] == [
        (ward, *ends) for ward in "ab" for ends in (("0", "20"), ("20", "40"), ("40", "100"))
    ]
    assert {row["n_error"] for row in rows} == {"3.0"}
    assert "charged ε = 3" in err
    out, _ = told(capsys, "query", clinic, "SELECT MEDIAN(cost) AS m FROM visits", "--epsilon", "3", "--csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert row["m_error"] == ""
    assert row["m_reason"].startswith("it misses its rank")
    assert "one of them" in told(capsys, "query", clinic, COUNT, "--epsilon", "1", "--csv", "--json", code=2)[1]


def test_an_answer_is_drawn_and_what_cannot_be_drawn_is_not_paid(
    clinic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = Path(clinic).with_name("bins.svg")
    for wrong in (picture.with_suffix(".txt"), picture.parent / "nowhere" / "bins.svg"):
        assert "--plot is" in told(capsys, "query", clinic, BINS, "--epsilon", "1", "--plot", str(wrong), code=2)[1]
    told(capsys, "budget", clinic)
    assert entries(clinic) == ["opened"]
    told(capsys, "query", clinic, BINS, "--epsilon", "1", "--plot", str(picture))
    assert picture.read_text().startswith("<?xml")


def test_a_key_is_charged_once_however_often_it_is_sent(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ("query", clinic, COUNT, "--epsilon", "1", "--json", "--key")
    first, again = (json.loads(told(capsys, *ask, "request-1")[0]) for _ in range(2))
    assert again["rows"] == first["rows"]
    assert entries(clinic).count("reserved") == 1
    other = told(capsys, "query", clinic, COUNT, "--epsilon", "2", "--key", "request-1", code=2)[1]
    assert "key" in other


def test_bounds_are_bought_with_a_part_of_the_price(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    ask = (clinic, "SELECT SUM(cost) AS s FROM visits", "--epsilon", "4", "--narrow", "0.25")
    assert "chosen first" in told(capsys, "preview", *ask)[0]
    out, _ = told(capsys, "query", *ask)
    assert ", chosen for ε = 1; 3 rows of each patient_id" in out
    assert "charged ε = 4" in out
    assert "--narrow" in told(capsys, "query", *ask[:-1], "2", code=2)[1]


@pytest.mark.parametrize(
    "arguments, kind, code",
    [
        (["query", "P", "SELECT COUNT(*) FROM visit", "--epsilon", "1"], "QueryRefused", 3),
        (["query", "P", COUNT, "--epsilon", "30"], "BudgetError", 4),
        (["query", "P", COUNT], "ParameterError", 2),
        (["query", "P", COUNT, "--epsilon", "1", "--confidence", "9"], "BadParameter", 2),
        (["budget", "Q"], "ParameterError", 2),
        (["quary"], "ParameterError", 2),
    ],
)
def test_errors_are_json_for_a_program(
    arguments: list[str], kind: str, code: int, clinic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = [clinic if word == "P" else word for word in arguments]
    out, err = told(capsys, *call, "--json", code=code)
    error = json.loads(err)
    assert (out, error["error"], error["code"]) == ("", kind, code)
    assert error["message"] in told(capsys, *call, code=code)[1]
    assert ("instead" in error) == (kind == "QueryRefused")


@pytest.mark.parametrize(
    "sql, line, mark",
    [
        ("SELECT COUNT(*) AS n FORM visits", "SELECT COUNT(*) AS n FORM visits", "FORM"),
        ("SELECT COUNT(*)\nFROM visits GROUP ward", "FROM visits GROUP ward", "ward"),
        (f"SELECT {'1 + ' * 30}1 1 FROM visits", None, "1"),
    ],
)
def test_a_syntax_error_shows_its_place(
    sql: str, line: str | None, mark: str, clinic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = told(capsys, "query", clinic, sql, "--epsilon", "1", code=3)
    message, shown, caret = err.splitlines()
    assert message.startswith("discreet: the question: It is not understood as duckdb SQL.")
    assert line is None or shown == f"  {line}"
    assert len(shown) <= 82
    start = caret.index("^")
    assert shown[start:].startswith(mark)
    assert caret.strip() == "^" * len(mark)
    error = json.loads(told(capsys, "query", clinic, sql, "--epsilon", "1", "--json", code=3)[1])
    assert error["notes"] == [f"{shown}\n{caret}"]


def test_rights_and_purposes_are_named_as_options(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(clinic).write_text(f"{POLICY}[analysts.ann]\n[analysts.bob]\nmay = ['explain']\n[purposes.care]\n")
    ask = ("query", clinic, COUNT, "--epsilon", "1")
    care = ("--purpose", "care")
    for call, words in [
        (ask, "--purpose is not given; the policy's purposes are care. Give one: --purpose NAME."),
        ((*ask, *care), "nobody may explain questions about visits without --analyst"),
        ((*ask, *care, "--analyst", "eve"), "--analyst is 'eve'; the policy's analysts are ann, bob."),
        ((*ask, *care, "--analyst", "bob"), "analyst 'bob' may not release questions about visits"),
        ((*ask[:-1], "0", *care, "--analyst", "ann"), "--epsilon is"),
    ]:
        message = told(capsys, *call, code=2)[1]
        assert words in message
        assert "None" not in message
        assert "=" not in message.replace("such as", "")


def test_only_arguments_of_the_command_are_rewritten() -> None:
    names = ["epsilon", "analyst", "expected_count", "within"]
    for text in ("line 9: budget.epsilon is -2", "my_epsilon is 3", "the analyst is new", "--epsilon is 0"):
        assert in_options(text, names) == text.replace("analyst is", "--analyst is")
    assert in_options("within={column: distance} for counts, or epsilon=.", names) == (
        "--within COLUMN=DISTANCE for counts, or --epsilon NUMBER."
    )


@pytest.mark.parametrize("command", [["budget"], ["log"], ["preview", COUNT, "--epsilon", "1"]])
def test_a_command_that_only_looks_says_that_it_entered_an_edit_of_the_policy(
    command: list[str], clinic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = [command[0], clinic, *command[1:]]
    assert told(capsys, *call)[1] == ""
    Path(clinic).write_text(POLICY.replace("epsilon = 20", "epsilon = 30"))
    said = told(capsys, *call)[1]
    assert said == "discreet: the policy was edited, which is entry 1 of its ledger now: budget.epsilon: 20 -> 30\n"
    assert told(capsys, *call)[1] == ""
    assert entries(clinic) == ["opened", "policy"]


def test_every_certificate_stands_in_json_in_the_log_and_in_explanations(
    clinic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(clinic).write_text(POLICY.replace("epsilon = 20", "epsilon = 3\ndelta = 1e-6"))
    explained = told(capsys, "preview", clinic, COUNT, "--epsilon", "0.3", "--explain")[0]
    assert "charge to dataset: ε = 0.3, renyi 8 = 0.2132\n" in explained
    charge = json.loads(told(capsys, "query", clinic, COUNT, "--epsilon", "0.3", "--json")[0])["charge"]
    assert charge == {"epsilon": 0.3, "delta": 0, "renyi 8": pytest.approx(0.213145, abs=1e-6), "failures": 0}
    (account,) = json.loads(told(capsys, "budget", clinic, "--json")[0])["accounts"]
    assert account["spent"] == charge
    assert "reserved  ε = 0.3, renyi 8 = 0.2132\n" in told(capsys, "log", clinic)[0]
    people = told(capsys, "query", clinic, f"{COUNT} WHERE cost > 1", "--epsilon", "0.3")[0]
    assert "renyi" not in people


def test_what_can_be_asked_is_described_without_data_or_ledger(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(clinic).with_name("visits.csv").unlink()
    Path(clinic).write_text(f"{POLICY}[tables.wards]\npublic = true\n[analysts.ann]\ntables = ['visits']\n")
    text, _ = told(capsys, "describe", clinic, "--analyst", "ann")
    for words in ("visits: protects each patient_id, of whom 3 rows count", "0…100     SUM, AVG", "a, b      GROUP BY"):
        assert words in text
    assert "wards" not in text
    record: dict[str, Any] = json.loads(told(capsys, "describe", clinic, "--analyst", "ann", "--json")[0])
    assert record["tables"]["visits"]["ask"]["ward"] == ["GROUP BY"]
    assert "--analyst is 'eve'" in told(capsys, "describe", clinic, "--analyst", "eve", code=2)[1]
    assert not list(Path(clinic).parent.glob("*.ledger*"))


@pytest.mark.parametrize("columns", [80, 120])
def test_an_answer_fits_the_terminal(columns: int, clinic: str) -> None:
    """A real terminal of so many columns: no line is longer, and none is cut."""
    sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost, MEDIAN(cost) AS middle FROM visits GROUP BY ward"
    command = [sys.executable, "-m", "discreet.apps.cli", "query", clinic, sql, "--epsilon", "2"]
    outside, inside = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": SOURCE, "COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "dumb"}
    run = subprocess.run(command, env=environment, check=False, stdout=inside, stderr=subprocess.PIPE)
    os.close(inside)
    assert run.returncode == 0, run.stderr
    text = os.read(outside, 1 << 16).decode().replace("\r\n", "\n")
    os.close(outside)
    assert max(map(len, text.splitlines())) <= columns
    assert "limits, which no ± includes: cost to 0…100; 3 rows of each patient_id" in text
    assert "used 10 % of ε = 20" in text

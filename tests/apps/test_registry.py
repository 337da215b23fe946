"""What holds for every command of the program, found by walking it: a new one is tested before it has a test."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from discreet.apps.cli import main
from discreet.apps.cli.commands_group import build
from discreet.ledgers import open_ledger
from discreet.tables import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POLICY = """\
[source]
url = "."
[budget]
epsilon = 9
[tables.visits]
unit = "id"
rows_per_unit = 3
[tables.visits.columns]
id = { type = "integer" }
cost = { lower = 0, upper = 100 }
"""
COUNT = "SELECT COUNT(*) AS n FROM visits"
SOURCE = str(Path(__file__).resolve().parents[2] / "src")
DOCUMENTED = {0, 1, 2, 3, 4, 5, 130}


def leaves(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - the framework's
    found: Any = build() if group is None else group
    for name in found.list_commands(None):
        command = found.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name)


LEAVES = sorted(leaves())
# How each command is called well: P is the policy, Q a file with a question, D its data, N a new file, X an export, S
# scores, E a policy without ledger, U one whose ledger began without a delta. A command that is missing here fails the
# tests below.
CALLS: dict[tuple[str, ...], list[str]] = {
    ("workload",): ["P", "Q", "--epsilon", "1"],
    ("anonymity",): ["D", "--quasi", "id", "--sensitive", "cost"],
    ("attack", "disclose"): ["D", "--quasi", "id", "--sensitive", "cost"],
    ("attack", "link"): ["D", "D", "--columns", "cost", "--person", "id", "--error", "cost=1"],
    ("attack", "member"): ["S", "--score", "id", "--member", "was_in"],
    ("attack", "reconstruct"): ["D", "--secret", "id=7", "--noise", "0.5"],
    ("audit",): ["laplace", "--draws", "200"],
    ("budget",): ["P"],
    ("calibrate", "gaussian"): ["--epsilon", "1", "--delta", "1e-6"],
    ("calibrate", "laplace"): ["--epsilon", "1"],
    ("check",): ["P"],
    ("demo",): [],
    ("describe",): ["P"],
    ("explain",): ["--epsilon", "1"],
    ("init",): ["D", "--output", "N"],
    ("ledger", "export"): ["P", "N"],
    ("ledger", "import"): ["E", "X"],
    ("ledger", "upgrade"): ["U"],
    ("log",): ["P"],
    ("mechanisms",): [],
    ("preview",): ["P", COUNT, "--epsilon", "1"],
    ("query",): ["P", COUNT, "--epsilon", "1"],
    ("verify",): ["P"],
    ("version", "new"): ["P"],
    ("version", "show"): ["P"],
}
# Numbers in, numbers out: test_cli; a show: test_demo; what is written and read: test_stream, test_synth, test_train.
OWN_TESTS = {"account", "calibrate", "demo", "predict", "stream", "synth", "train"}


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text("id,cost\n" + "".join(f"{number},5\n" for number in range(50)))
    (tmp_path / "scores.csv").write_text("id,was_in\n1,0\n2,1\n")
    (tmp_path / "question.sql").write_text(COUNT + ";")
    file = tmp_path / "p.toml"
    file.write_text(POLICY)
    assert main(["query", str(file), COUNT, "--epsilon", "1"]) == 0
    assert main(["ledger", "export", str(file), str(tmp_path / "p.jsonl")]) == 0
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "p.toml").write_text(POLICY)
    return file


def filled(call: list[str], policy: Path) -> list[str]:
    names = {
        "P": "p.toml",
        "D": "visits.csv",
        "N": "new.toml",
        "X": "p.jsonl",
        "Q": "question.sql",
        "E": "elsewhere/p.toml",
        "S": "scores.csv",
        "U": "begun/p.toml",
    }
    if "U" in call:
        begun(policy)
    return [str(policy.parent / names[each]) if each in names else each for each in call]


def begun(policy: Path) -> None:
    """Make a ledger without a delta, and a policy that has one since."""
    file = policy.parent / "begun" / "p.toml"
    shutil.rmtree(file.parent, ignore_errors=True)
    file.parent.mkdir()
    file.write_text("[budget]\nepsilon = 9\n")
    open_ledger(Policy.read(file), file=file).close()
    file.write_text("[budget]\nepsilon = 9\ndelta = 1e-6\n")


def cleared(policy: Path) -> None:
    """Remove what a command makes, so that it can be called again."""
    begun(policy)
    policy.with_name("new.toml").unlink(missing_ok=True)
    for path in (policy.parent / "elsewhere").glob("p.ledger.*"):
        path.unlink()


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_shows_an_example_and_speaks_to_programs(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Example: discreet {' '.join(path)}" in shown
    assert "--json" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("path", [each for each in LEAVES if each[0] not in OWN_TESTS], ids=" ".join)
def test_every_command_answers_in_plain_text_or_json(
    path: tuple[str, ...], policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    call = [*path, *filled(CALLS[path], policy)]
    assert main(call) == 0
    shown = capsys.readouterr()
    assert shown.out.strip()
    assert "\x1b" not in shown.out + shown.err
    cleared(policy)
    assert main([*call, "--json"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines
    for line in lines:
        json.loads(line)


def books(policy: Path) -> Path:
    return policy.with_name("p.ledger.sqlite")


def changed(policy: Path, statement: str) -> None:
    with closing(sqlite3.connect(books(policy))) as connection:
        connection.execute(statement)
        connection.commit()


def folder_instead(policy: Path) -> None:
    policy.unlink()
    policy.mkdir()


OTHER_UNIT = POLICY.replace('unit = "id"', "row_is_unit = true").replace("rows_per_unit = 3", "")
TROUBLES: dict[str, Callable[[Path], object]] = {
    "a policy of bytes": lambda policy: policy.write_bytes(bytes(range(256))),
    "an empty policy": lambda policy: policy.write_text(""),
    "a policy that is a folder": folder_instead,
    "no policy": lambda policy: policy.unlink(),
    "no data": lambda policy: policy.with_name("visits.csv").unlink(),
    "a cut ledger": lambda policy: os.truncate(books(policy), 5000),
    "an empty ledger": lambda policy: os.truncate(books(policy), 0),
    "a lost ledger": lambda policy: books(policy).unlink(),
    "a ledger of text": lambda policy: books(policy).write_text("no ledger at all, but as long as one\n" * 99),
    "a newer ledger": lambda policy: changed(policy, "PRAGMA user_version = 99"),
    "an edited ledger": lambda policy: changed(policy, "UPDATE lines SET line = '{' WHERE number = 1"),
    "a strange head": lambda policy: policy.with_name("p.ledger.head").write_text("9" * 40),
    "another unit": lambda policy: policy.write_text(OTHER_UNIT),
}
# What a command has no need to read does not stop it; an edited entry is for `verify` and `log` to meet.
HARMLESS = {
    "no data": {"budget", "ledger", "log", "verify", "version"},
    "an edited ledger": {"budget", "check", "preview", "query", "version", "workload"},
    "another unit": {"ledger", "verify"},
}


@pytest.mark.parametrize("kind", TROUBLES)
def test_whatever_is_wrong_is_said_in_one_sentence(kind: str, policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TROUBLES[kind](policy)
    capsys.readouterr()
    for path, call in CALLS.items():
        if "P" not in call or path == ("version", "show") or (path == ("describe",) and "policy" not in kind):
            continue
        code = main([*path, *filled(call, policy)])
        shown = capsys.readouterr()
        assert code in DOCUMENTED, (path, shown)
        if code and not (code == 5 and path == ("verify",)):
            assert shown.err.startswith("discreet: "), (path, shown)
            assert len(shown.err.strip().splitlines()) == 1, (path, shown)
        assert (code == 0) <= (path[0] in HARMLESS.get(kind, ())), (path, shown)


def test_no_file_has_a_name_with_a_nul(capsys: pytest.CaptureFixture[str]) -> None:
    for path, call in CALLS.items():
        if {"P", "D"} & set(call):
            arguments = ["a\0b" if each in {"P", "D"} else each for each in call]
            assert main([*path, *arguments]) in {1, 2}
            assert capsys.readouterr().err.startswith("discreet: ")


def write(kind: str, folder: Path) -> str:
    table = pa.table({"id": list(range(50)), "cost": [5.0] * 50})
    if kind == "csv":
        (folder / "visits.csv").write_text("id,cost\n" + "".join(f"{number},5\n" for number in range(50)))
    elif kind == "parquet":
        parquet.write_table(table, folder / "visits.parquet")
    elif kind == "arrow":
        feather.write_feather(table, str(folder / "visits.arrow"), compression="uncompressed")
    else:
        with duckdb.connect(str(folder / "data.duckdb")) as connection:
            connection.register("here", table)
            connection.execute("CREATE TABLE visits AS SELECT * FROM here")
        return "data.duckdb"
    return "."


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "duckdb"])
def test_a_question_is_answered_from_every_kind_of_file(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(POLICY.replace('url = "."', f'url = "{write(kind, tmp_path)}"'))
    assert main(["query", str(file), COUNT, "--epsilon", "8", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert abs(answer["rows"][0]["n"] - 50) < 30  # noise of scale 3/8: beyond 30 with chance e^-80


def test_a_reader_that_stops_reading_is_no_error(policy: Path) -> None:
    read, write_end = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "discreet.apps.cli", "log", str(policy)]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    run = subprocess.run(command, env=environment, check=False, stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert (run.returncode, run.stderr) == (1, "")

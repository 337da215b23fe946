"""Ctrl-C on the command line: code 130, one sentence, no traceback, and the truth about the budget."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from discreet.apps.cli import main
from discreet.apps.cli.commands import query

if TYPE_CHECKING:
    from pathlib import Path

POLICY = """\
[source]
url = "."
[budget]
epsilon = 9
[tables.t]
row_is_unit = true
[tables.t.columns]
x = { lower = 0, upper = 9 }
"""
# The engine's question is made endless; the sign that it has begun is written just before.
ENDLESS = """
import sys
from discreet.engines.duckdb.engine import DuckDB
real = DuckDB._found
def endless(self, *questions, take=None):
    print("begun", flush=True)
    return real(self, ["SELECT SUM(a.range * b.range) AS s FROM range(10000000) a, range(10000000) b"])
DuckDB._found = endless
from discreet.apps.cli import main
sys.exit(main(sys.argv[1:]))
"""
COUNT = "SELECT COUNT(*) AS n FROM t"


@pytest.fixture
def town(tmp_path: Path) -> str:
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 50)
    (tmp_path / "town.toml").write_text(POLICY)
    return str(tmp_path / "town.toml")


def test_an_interrupt_while_the_engine_computes(town: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-c", ENDLESS, "query", town, COUNT, "--epsilon", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert (run.returncode, out) == (130, "")
    assert err == (
        "discreet: interrupted; Pure(epsilon=1) was taken before and stays spent. No answer was recorded: asking again "
        "costs again.\n"
    )
    assert main(["query", town, COUNT, "--epsilon", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repeated"] is False
    assert main(["budget", town, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accounts"][0]["left"] == {"epsilon": 7}


def test_a_command_that_is_terminated_removes_its_temporary_folder(town: str, tmp_path: Path) -> None:
    """As with Ctrl-C, also what it says; SIGTERM ended Python at once, and copies of rows stayed."""
    place = tmp_path / "temporary"
    place.mkdir()
    command = [sys.executable, "-c", ENDLESS, "query", town, COUNT, "--epsilon", "1"]
    environment = os.environ | {"TMPDIR": str(place)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        assert len(list(place.glob("discreet-*"))) == 1
        run.send_signal(signal.SIGTERM)
        out, err = run.communicate(timeout=120)
    assert (run.returncode, out) == (143, "")
    assert err.startswith("discreet: interrupted; Pure(epsilon=1) was taken before and stays spent.")
    assert list(place.iterdir()) == []


def test_a_host_keeps_its_own_handler_of_signals(town: str) -> None:
    def own(*_: object) -> None: ...

    for handler in (own, signal.SIG_IGN, signal.SIG_DFL):
        before = signal.signal(signal.SIGTERM, handler)
        try:
            assert main(["version", "show", town]) == 0
            assert signal.getsignal(signal.SIGTERM) is handler
        finally:
            signal.signal(signal.SIGTERM, before)


def stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_while_the_answer_is_shown(
    town: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(query, "_show", stop)
        assert main(["query", town, COUNT, "--epsilon", "1"]) == 130
    assert "recorded: asking again shows it and costs nothing." in capsys.readouterr().err
    assert main(["query", town, COUNT, "--epsilon", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repeated"] is True


@pytest.mark.parametrize("where", ["discreet.database.open_engine", "discreet.database.open_ledger"])
def test_an_interrupt_while_it_opens(
    town: str, where: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, stop)
    assert main(["query", town, COUNT, "--epsilon", "1"]) == 130
    shown = capsys.readouterr()
    assert shown.err == (
        "discreet: interrupted; what was taken from a budget before stays spent, and nothing else was: see discreet "
        "budget POLICY.\n"
    )

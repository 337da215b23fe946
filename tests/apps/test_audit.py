"""`discreet audit` passes what keeps its promise, refutes what does not, and names what is not there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from discreet.apps.cli import main

if TYPE_CHECKING:
    from pathlib import Path

SURE = ["--confidence", "0.9999999999"]


def test_a_promise_is_kept_and_a_smaller_one_refuted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "discrete-laplace", "--draws", "2000", *SURE]) == 0
    assert "not refuted" in capsys.readouterr().out
    assert main(["audit", "discrete_laplace", "--draws", "4000", "--epsilon", "0.01", "--json", *SURE]) == 5
    assert json.loads(capsys.readouterr().out)["refuted"] is True


def test_the_worst_case_is_drawn(tmp_path: Path) -> None:
    assert main(["audit", "laplace", "--draws", "200", "--plot", str(tmp_path / "audit.svg"), *SURE]) == 0
    assert (tmp_path / "audit.svg").stat().st_size > 1000


def test_what_is_not_audited_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "lapalce"]) == 2
    assert "Did you mean 'laplace'" in capsys.readouterr().err


POLICY = """
[budget]
epsilon = 3
[tables.visits]
unit = "id"
rows_per_unit = 2
[tables.visits.columns]
cost = { lower = 0, upper = 500 }
"""
SQL = "SELECT SUM(cost) AS s FROM visits"


def test_a_question_is_audited_without_data_and_kept_beside_its_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "town.toml"
    policy.write_text(POLICY)
    asked = ["audit", str(policy), SQL, "--epsilon", "3", "--draws", "1000", *SURE]
    assert main(asked) == 0
    assert "claimed 3.000" in capsys.readouterr().out
    assert not (tmp_path / "town.ledger.sqlite").exists()
    assert main([*asked, "--claim", "0.1", "--keep", "--json"]) == 5
    assert json.loads(capsys.readouterr().out)["audits"][0]["claimed"] == 0.1
    assert main(["log", str(policy), "--json"]) == 0
    assert '"audit"' in capsys.readouterr().out


def test_a_statement_with_one_core_is_audited_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "town.toml"
    policy.write_text(POLICY)
    shell = f"SELECT s, RANK() OVER (ORDER BY s) AS r FROM ({SQL})"
    assert main(["audit", str(policy), shell, "--epsilon", "3", "--draws", "100", *SURE]) == 0
    assert "claimed 3.000" in capsys.readouterr().out


def test_cases_share_what_the_confidence_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    """All of them together are wrong as rarely as is said, and what is above a claim by itself is not held to it."""
    assert main(["audit", "laplace", "--epsilon", "1", "--draws", "200", "--confidence", "0.97", "--json"]) in {0, 5}
    found = json.loads(capsys.readouterr().out)["audits"]
    assert len(found) == 3
    assert {audited["confidence"] for audited in found} == {0.99}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["laplace", "--claim", "1"], "are for a mechanism"),
        (["town.toml"], "the question is missing"),
        (["town.toml", SQL], "there is no policy file"),
    ],
)
def test_what_does_not_fit_is_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *arguments]) == 2
    assert message in capsys.readouterr().err

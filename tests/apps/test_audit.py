"""`discreet audit` passes what keeps its promise, refutes what does not, and names what is not there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from discreet.apps.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

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

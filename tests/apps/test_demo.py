"""The demo tells its story from nothing, and what it tells is true."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.apps.cli import main
from discreet.apps.cli.demonstration import CANCER, QUESTION
from discreet.ledgers import SQLiteLedger

if TYPE_CHECKING:
    import pytest

RECORDING = Path(__file__).resolve().parents[2] / "docs" / "recordings" / "demo.svg"


def test_the_demo_runs_from_nothing_and_stays_where_it_was_put(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "hospital"
    assert main(["demo", "--folder", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["hospital"]["patients"] == 5000
    assert [row["ward"] for row in told["answer"]["rows"]] == ["cardiology", "maternity", "oncology", "surgery"]
    assert told["answer"]["promise"] == "ε = 0.3"
    assert told["repeat"]["same"] is True
    assert told["repeat"]["free"] is True
    assert "Write instead" in told["refusal"]["refusal"]
    assert told["budget"]["entries"] == 3
    _attacks_fail(told)
    with SQLiteLedger(folder / "hospital.ledger.sqlite") as ledger:
        assert ledger.verify().ok
        assert [line.body.get("asked") for line in ledger.entries(kind="reserved")] == [QUESTION]
    assert main(["query", str(folder / "hospital.toml"), CANCER, "--epsilon", "0.1"]) == 0
    assert main(["demo", "--folder", str(folder)]) == 2
    assert "not empty" in capsys.readouterr().err


def _attacks_fail(told: dict[str, dict[str, dict[str, float]]]) -> None:
    """Exact answers tell all; stored answers are equal; the budget ends what is asked anew."""
    assert told["differencing"]["exact"]["accuracy"] == 1.0
    assert told["differencing"]["discreet"]["refused"] == 0
    assert told["averaging"]["uncounted"]["error"] < 1  # 8.9 standard deviations of the mean of 4,000 answers
    assert told["averaging"]["same"]["different"] == 1
    assert told["averaging"]["other"]["answered"] in range(9, 16)
    assert told["averaging"]["other"]["refused"] >= 1


def test_a_person_reads_the_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    for words in ("5,000 patients", "oncology", "free: yes", "Attack 1", "20 of 20", "Attack 2", "discreet init"):
        assert words in text
    assert "\x1b[" not in text
    assert max(map(len, text.splitlines())) <= 160
    _recorded(text)


def _recorded(text: str) -> None:
    """The picture of a run tells the same steps; each title follows an empty line."""
    picture = RECORDING.read_text(encoding="utf-8").replace("&#160;", " ")
    lines = text.splitlines()
    titles = [after for line, after in pairwise(lines) if not line]
    assert len(titles) == 9
    for title in titles[:-1]:
        assert f">{title.replace('&', '&amp;')}<" in picture, "run: python -m docs.recordings"
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")

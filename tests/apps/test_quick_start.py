"""The quick start of the README, copied line by line into a folder with a CSV file, ends in an answer."""

from __future__ import annotations

import random
import re
import shlex
from typing import TYPE_CHECKING

from discreet.apps.cli import main
from tests.shape.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def lines_of_the_quick_start() -> list[list[str]]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## From a file to an answer\n+```sh\n(.*?)```", text, re.DOTALL)
    assert block is not None
    return [shlex.split(line, comments=True) for line in block.group(1).splitlines()]


def write_visits(file: Path) -> None:
    chance = random.Random(3)
    rows = [
        f"p{chance.randrange(5000)},{chance.randrange(18, 95)},{chance.choice(['cardiology', 'surgery'])},"
        f"{chance.expovariate(1 / 300):.2f},202{chance.randrange(5)}-0{chance.randrange(1, 10)}-11"
        for _ in range(9000)
    ]
    file.write_text("\n".join(["patient_id,age,ward,cost,visit_date", *rows]))


def test_it_ends_in_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_visits(tmp_path / "visits.csv")
    answers = {}
    for program, *arguments in lines_of_the_quick_start():
        if program == "cat":
            assert all((tmp_path / file).is_file() for file in arguments)
        else:
            assert program == "discreet"
            code = main(arguments)
            written = capsys.readouterr()
            assert code == 0, written.err
            answers[arguments[0]] = written.out
    assert list(answers) == ["init", "preview", "query", "budget"]
    assert "cardiology" in answers["query"]
    assert "surgery" in answers["query"]

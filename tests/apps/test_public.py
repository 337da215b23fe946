"""What the command line says beside answers does not depend on the data: not on rows, types of cells, or people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from discreet.apps.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

POLICY = """\
[source]
url = "."
[budget]
epsilon = 2
delta = 1e-6
[tables.visits]
unit = "patient_id"
rows_per_unit = 3
[tables.visits.columns]
ward = { keys = ["a", "b"] }
cost = { lower = 0, upper = 100 }
note = { type = "text" }
"""
HEADER = "patient_id,ward,cost,note\n"
USUAL = "".join(f"p{number},a,{number % 90},n\n" for number in range(50))
NEIGHBORS = {
    "nobody": "",
    "usual": USUAL,
    "one more": f"{USUAL}anna,b,7,cancer\n",
    "odd cells": f'{USUAL}anna,zzz,1e999,"un""closed\n',
    "no unit": f"{USUAL},b,7,x\n",
    "much of one": USUAL + "anna,b,7,x\n" * 500,
    "no text": f"{USUAL}anna,b,\udcff,x\n",
}
COMMANDS = [
    [
        "preview",
        "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward",
        "--epsilon",
        "0.1",
        "--explain",
    ],
    ["preview", "SELECT note, COUNT(*) AS n FROM visits GROUP BY note", "--rho", "0.01"],
    ["query", "SELECT anna FROM visits", "--epsilon", "0.1"],
    ["query", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "30"],
    ["query", "SELECT MAX(cost) AS n FROM visits WHERE note = 'cancer'", "--epsilon", "0"],
    ["budget"],
    ["log"],
    ["verify"],
    ["version", "show"],
]


def said(
    folder: Path, rows: str, capsys: pytest.CaptureFixture[str], commands: list[list[str]] = COMMANDS
) -> list[str]:
    """Run commands on a new folder, and give what they print without times, hashes and the folder's name."""
    folder.mkdir()
    (folder / "visits.csv").write_bytes((HEADER + rows).encode("utf-8", "surrogateescape"))
    (folder / "hospital.toml").write_text(POLICY)
    found = []
    for command in commands:
        group = [command[0], "show"] if command[0] == "version" else command[:1]
        code = main([*group, str(folder / "hospital.toml"), *([] if command[0] == "version" else command[1:])])
        shown = capsys.readouterr()
        text = re.sub(r"[0-9a-f]{64}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "…", shown.out + shown.err)
        found.append(f"{code} {text.replace(str(folder), '')}")
    main(["init", str(folder / "visits.csv"), "--output", str(folder / "new.toml")])
    capsys.readouterr()
    return [*found, (folder / "new.toml").read_text()]


def test_everything_but_answers_is_the_same_on_neighbors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = {name: said(tmp_path / name.replace(" ", "-"), rows, capsys) for name, rows in NEIGHBORS.items()}
    for name, output in outputs.items():
        assert output == outputs["usual"], name
    assert [text[0] for text in outputs["usual"][: len(COMMANDS)]] == list("003420000")


def test_the_comparison_sees_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The owner's check does look at all rows, so it says something else."""
    first, second = (
        said(tmp_path / name.replace(" ", "-"), NEIGHBORS[name], capsys, [["check"]])
        for name in ("usual", "much of one")
    )
    assert first != second

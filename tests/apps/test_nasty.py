"""Whatever is typed, the answer is an answer or a sentence, and the code is one of the documented ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from discreet.apps.cli import main

if TYPE_CHECKING:
    from pathlib import Path

POLICY = """\
[source]
url = "."
[budget]
epsilon = 2
delta = 1e-6
[tables.visits]
unit = "id"
rows_per_unit = 3
[tables.visits.columns]
cost = { lower = 0, upper = 100 }
"""
COUNT = "SELECT COUNT(*) AS n FROM visits"
NUMBERS = [
    "nan",
    "inf",
    "-1",
    "0",
    "1e400",
    "1e-400",
    "1/0",
    "x",
    "",
    "9" * 5000,
    "1e99999999",
    "0x10",
    " 1 ",
    "1e-9",
]
TEXTS = ["", ";", "'", "\x00", "SELECT", "SELECT 1", "DROP TABLE visits", f"{COUNT}; {COUNT}", "(" * 500, "🦉", "-- x"]
CODES = {0, 2, 3, 4}


@pytest.fixture
def policy(tmp_path: Path) -> str:
    (tmp_path / "visits.csv").write_text("id,cost\n" + "".join(f"{number},5\n" for number in range(50)))
    (tmp_path / "p.toml").write_text(POLICY)
    return str(tmp_path / "p.toml")


def check(capsys: pytest.CaptureFixture[str], arguments: list[str], codes: set[int] = CODES) -> None:
    code = main(arguments)
    shown = capsys.readouterr()
    assert code in codes, (arguments, shown.err)
    if code:
        assert_a_sentence(shown.err, code, as_json="--json" in arguments)


def assert_a_sentence(shown: str, code: int, *, as_json: bool) -> None:
    """The same for a program as for a person: what stands in the JSON would be one line, and not a long one."""
    if as_json:
        complaint = json.loads(shown)
        assert complaint["error"]
        assert complaint["code"] == code
        shown = "\n".join([f"discreet: {complaint['message']}", *complaint["notes"]])
    assert shown.startswith("discreet: ")
    assert shown.removeprefix("discreet: ").strip()
    assert len(shown.strip().splitlines()) == 1, shown
    assert len(shown) < 700


@pytest.mark.parametrize(
    "record",
    [
        {"error": "ParameterError", "code": 3, "message": "epsilon is 'x'.", "notes": []},
        {"error": "ParameterError", "code": 2, "message": "", "notes": []},
        {"error": "ParameterError", "code": 2, "message": "epsilon is 'x'.\nTraceback", "notes": []},
        {"error": "ParameterError", "code": 2, "message": "epsilon is 'x'.", "notes": ["line 1"]},
        {"error": "ParameterError", "code": 2, "message": "9" * 700, "notes": []},
    ],
)
def test_the_check_sees_what_is_no_sentence(record: dict[str, object]) -> None:
    assert_a_sentence(json.dumps(record | {"code": 2, "message": "epsilon is 'x'.", "notes": []}), 2, as_json=True)
    with pytest.raises(AssertionError):
        assert_a_sentence(json.dumps(record), 2, as_json=True)


@pytest.mark.parametrize("value", NUMBERS)
def test_nasty_numbers(policy: str, capsys: pytest.CaptureFixture[str], value: str) -> None:
    for command in (
        ["explain", "--epsilon", value],
        ["explain", "--epsilon", "1", "--delta", value, "--for", "engineer"],
        ["explain", "--epsilon", "1", "--n", value],
        ["preview", policy, COUNT, "--epsilon", value],
        ["preview", policy, COUNT, "--rho", value],
        ["preview", policy, COUNT, "--epsilon", "1", "--delta", value],
        ["preview", policy, COUNT, "--epsilon", "1", "--confidence", value],
        ["preview", policy, COUNT, "--epsilon", "1", "--expected-count", value],
        ["query", policy, COUNT, "--epsilon", value],
        ["log", policy, "--last", value],
    ):
        check(capsys, [*command, "--json"])


@pytest.mark.parametrize("text", TEXTS)
def test_nasty_texts(policy: str, capsys: pytest.CaptureFixture[str], text: str) -> None:
    check(capsys, ["query", policy, text, "--epsilon", "1"])
    check(capsys, ["preview", policy, COUNT, "--epsilon", "1", "--analyst", text])
    check(capsys, ["preview", policy, COUNT, "--epsilon", "1", "--purpose", text])
    check(capsys, ["verify", policy, "--head", text], {0, 2, 5})
    check(capsys, ["log", policy, "--kind", text])
    check(capsys, ["mechanisms", text])
    check(capsys, [text] if text else ["x"])
    if "\x00" not in text:  # no file has such a name
        check(
            capsys, ["init", text or "nowhere", "--output", f"{policy}.new"], {1, 2}
        )  # 1: the name is too long for a file
        check(capsys, ["version", "new", policy, text], {0, 2})


def test_a_file_that_cannot_be_written_is_named(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = policy.replace("p.toml", "visits.csv")
    assert main(["init", data, "--output", policy.replace("p.toml", "no/such/folder.toml")]) == 2
    shown = capsys.readouterr().err
    assert "no/such/folder.toml cannot be written" in shown

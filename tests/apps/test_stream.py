"""`discreet stream`: run day after day on a file that grows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from discreet.apps.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

POLICY = """
[source]
url = "."
[budget]
epsilon = 900
[tables.visits]
unit = "id"
[tables.visits.columns]
day = { type = "date", lower = "2024-01-01", upper = "2030-01-01" }
ward = { keys = ["a", "b"] }
"""
DAY = "SELECT DATE_TRUNC('day', day) AS d, COUNT(*) AS n FROM visits GROUP BY 1"


def test_a_stream_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, data = tmp_path / "hospital.toml", tmp_path / "visits.csv"
    policy.write_text(POLICY)

    def run(now: str, *more: str) -> str:
        words = ["stream", str(policy), DAY, "--horizon", "30", "--rows", "2", "--epsilon", "500", "--now", now, *more]
        assert main(words) == 0
        return capsys.readouterr().out

    data.write_text("id,day,ward\n" + "".join(f"p{place},2024-01-01,a\n" for place in range(20)))
    (first,) = json.loads(run("2024-01-02", "--json"))["sums"]
    assert (first["from"], first["until"], first["sum"]) == ("2024-01-01", "2024-01-02", 20)
    assert 0 <= first["error"] < 2
    data.write_text("id,day,ward\nlate,2024-01-01,a\n" + "".join(f"q{place},2024-01-02,b\n" for place in range(5)))
    told = json.loads(run("2024-01-04T01:00", "--json"))
    assert [line["sum"] for line in told["sums"]] == [20, 25, 25]
    assert (told["new"], told["left"]) == (2, 27)
    assert "2024-01-03" in run("2024-01-04")


def test_what_is_asked_wrongly_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "hospital.toml"
    policy.write_text(POLICY)
    (tmp_path / "visits.csv").write_text("id,day,ward\n")
    for more, code, words in (
        (["--epsilon", "1", "--now", "soon"], 2, "--now"),
        (["--epsilon", "1", "--rho", "1"], 2, "exactly one"),
        (["--epsilon", "1000"], 4, "900"),
    ):
        assert main(["stream", str(policy), DAY, "--horizon", "30", "--rows", "2", *more]) == code
        assert words in capsys.readouterr().err
    assert (
        main(
            [
                "stream",
                str(policy),
                "SELECT COUNT(*) AS n FROM visits",
                "--horizon",
                "3",
                "--rows",
                "1",
                "--epsilon",
                "1",
            ]
        )
        == 3
    )

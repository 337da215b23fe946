"""Ratios, verdicts, the table and the JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks.report import (
    SCHEMA,
    Direction,
    Figure,
    Target,
    Verdict,
    divide,
    format_number,
    format_table,
    make_document,
    summarize,
    write_document,
)

if TYPE_CHECKING:
    from pathlib import Path

FAST = Target(Direction.AT_LEAST, 500, "×")
SHORT = Target(Direction.AT_MOST, 5, "µs")


@pytest.mark.parametrize(
    "target, value, verdict",
    [
        (FAST, 500, Verdict.MET),
        (FAST, 499.9, Verdict.MISSED),
        (SHORT, 5, Verdict.MET),
        (SHORT, 5.1, Verdict.MISSED),
        (FAST, None, Verdict.UNMEASURED),
        (SHORT, None, Verdict.UNMEASURED),
    ],
)
def test_a_target_judges(target: Target, value: float | None, verdict: Verdict) -> None:
    assert target.judge(value) is verdict


def test_a_ratio_needs_both_sides() -> None:
    assert divide(10, 4) == 2.5
    assert divide(None, 4) is None
    assert divide(10, None) is None
    assert divide(10, 0) is None


def test_a_target_belongs_to_the_ratio_of_a_compared_figure() -> None:
    slow_peer = Figure("s", "c", "peer", 600, "M draws/s", ratio=2, compared=True, target=FAST)
    absent_peer = Figure("s", "c", "peer", None, "M draws/s", compared=True, target=FAST)
    single = Figure("s", "c", "ours", 600, "M draws/s", target=FAST)
    untargeted = Figure("s", "c", "ours", 600, "M draws/s")
    verdicts = [figure.verdict for figure in (slow_peer, absent_peer, single, untargeted)]
    assert verdicts == [Verdict.MISSED, Verdict.UNMEASURED, Verdict.MET, None]


@pytest.mark.parametrize(
    "value, text",
    [
        (None, "–"),
        (0, "0.000"),
        (0.1234, "0.123"),
        (1.234, "1.23"),
        (67.89, "67.9"),
        (1234.5, "1,234"),
        (2e7, "2.00e+07"),
    ],
)
def test_numbers_are_short(value: float | None, text: str) -> None:
    assert format_number(value) == text


def test_the_table_shows_sections_columns_and_verdicts() -> None:
    figures = [
        Figure("Speed", "scale 1", "ours", 240.0, "M draws/s", wall=230.0),
        Figure("Speed", "scale 1", "peer", 0.1, "M draws/s", ratio=2400, compared=True, target=FAST),
        Figure("Speed", "scale 1", "absent", None, "M draws/s", compared=True, target=FAST, note="not installed"),
        Figure("Size", "scale 1", "ours", 9, "µs", target=SHORT),
    ]
    table = format_table(figures)
    assert table.count("== ") == 2
    rows = {
        line.split("  ")[0] + "|" + line.split()[2]: line for line in table.splitlines() if line.startswith("scale")
    }
    assert len(rows) == 3  # "ours" stands in both sections
    assert rows["scale 1|peer"].split()[-5:] == ["2,400×", "≥", "500", "×", "met"]
    assert rows["scale 1|absent"].endswith("not measured  not installed")
    assert summarize(figures).splitlines() == [
        "3 targets: 1 met, 1 missed, 1 not measured",
        "  not measured: Speed, scale 1, absent: –×, ≥ 500 ×",
        "  MISSED: Size, scale 1, ours: 9.00, ≤ 5 µs",
    ]


def test_the_written_document_has_its_schema(tmp_path: Path) -> None:
    figures = [Figure("Speed", "scale 1", "peer", 0.1, "M draws/s", ratio=2400, compared=True, target=FAST)]
    document = make_document("noise", figures, machine={"cores": 2}, versions={"numpy": "2"}, details={"raw": [1]})
    path = write_document(document, tmp_path / "results")
    assert path.name == "noise.json"
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read == document
    assert set(read) == {"schema", "benchmark", "command", "machine", "versions", "figures", "details"}
    assert read["schema"] == SCHEMA
    assert read["command"][:3] == ["python", "-m", "benchmarks.noise"]
    assert read["figures"] == [
        {
            "section": "Speed",
            "case": "scale 1",
            "library": "peer",
            "value": 0.1,
            "unit": "M draws/s",
            "wall": None,
            "ratio": 2400,
            "compared": True,
            "target": "≥ 500 ×",
            "note": "",
            "verdict": "met",
        }
    ]


def test_a_document_with_nan_is_refused_and_not_written(tmp_path: Path) -> None:
    figures = [Figure("Speed", "scale 1", "peer", float("nan"), "M draws/s")]
    document = make_document("noise", figures, machine={}, versions={}, details={})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_document(document, tmp_path)
    assert list(tmp_path.iterdir()) == []

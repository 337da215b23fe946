"""Figures with their targets: printed as a table, written as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from enum import Enum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SCHEMA = 1
"""Raised whenever a key of the written JSON changes its name or meaning."""

RESULTS = Path(__file__).parent / "results"

HEADER = ("case", "library", "value", "unit", "wall", "ours ÷ it", "target", "verdict", "note")


class Direction(Enum):
    """On which side of its limit a figure should lie."""

    AT_LEAST = "≥"
    AT_MOST = "≤"


class Verdict(Enum):
    """What became of a target."""

    MET = "met"
    MISSED = "MISSED"
    UNMEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Target:
    """A limit that a figure should keep."""

    direction: Direction
    limit: float
    unit: str

    def judge(self, value: float | None) -> Verdict:
        """Compare a figure with the limit; a figure on the limit keeps it."""
        if value is None:
            return Verdict.UNMEASURED
        kept = value >= self.limit if self.direction is Direction.AT_LEAST else value <= self.limit
        return Verdict.MET if kept else Verdict.MISSED

    def __str__(self) -> str:
        return f"{self.direction.value} {self.limit:g} {self.unit}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: a value, the same by wall time, our value divided by it, and the target.

    A target belongs to the ratio if the figure can have one (`compared`), else to the value.
    """

    section: str
    case: str
    library: str
    value: float | None
    unit: str
    wall: float | None = None
    ratio: float | None = None
    compared: bool = False
    target: Target | None = None
    note: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """Whether the target is met; None without a target."""
        if self.target is None:
            return None
        return self.target.judge(self.ratio if self.compared else self.value)


def divide(ours: float | None, theirs: float | None) -> float | None:
    """Return ours ÷ theirs, or None if one of them was not measured."""
    if ours is None or not theirs:
        return None
    return ours / theirs


def format_number(value: float | None) -> str:
    """Show three significant digits, without an exponent where a person would write none."""
    if value is None:
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        digits = 3 if abs(value) < 1 else max(0, 3 - len(str(int(abs(value)))))
        return f"{value:,.{digits}f}"
    return f"{value:.2e}"


def _cells(figure: Figure) -> tuple[str, ...]:
    return (
        figure.case,
        figure.library,
        format_number(figure.value),
        figure.unit,
        "" if figure.wall is None else format_number(figure.wall),
        f"{format_number(figure.ratio)}×" if figure.compared else "",
        "" if figure.target is None else str(figure.target),
        "" if figure.verdict is None else figure.verdict.value,
        figure.note,
    )


def format_table(figures: Sequence[Figure]) -> str:
    """Lay the figures out, one block of aligned columns a section."""
    blocks = []
    for section, members in groupby(figures, key=lambda figure: figure.section):
        rows = [HEADER, *(_cells(figure) for figure in members)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
        rows.insert(1, tuple("-" * width for width in widths))
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        blocks.append("\n".join([f"== {section}", *lines]))
    return "\n\n".join(blocks)


def summarize(figures: Iterable[Figure]) -> str:
    """Count the verdicts and name the figures that missed."""
    judged = [(figure, figure.verdict) for figure in figures if figure.verdict is not None]
    counts = {verdict: sum(found is verdict for _, found in judged) for verdict in Verdict}
    total = ", ".join(f"{counts[verdict]} {verdict.value.lower()}" for verdict in Verdict)
    lines = [f"{len(judged)} targets: {total}"]
    for figure, verdict in judged:
        if verdict is not Verdict.MET:
            reached = f"{format_number(figure.ratio)}×" if figure.compared else format_number(figure.value)
            lines.append(
                f"  {verdict.value}: {figure.section}, {figure.case}, {figure.library}: {reached}, {figure.target}"
            )
    return "\n".join(lines)


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def describe_machine() -> dict[str, object]:
    """Say where the figures were measured, and how busy the machine was."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    }


def make_document(
    benchmark: str,
    figures: Sequence[Figure],
    *,
    machine: Mapping[str, object],
    versions: Mapping[str, str],
    details: Mapping[str, object],
) -> dict[str, object]:
    """Put the figures and their circumstances into a value that JSON can hold."""
    return {
        "schema": SCHEMA,
        "benchmark": benchmark,
        "command": ["python", "-m", f"benchmarks.{benchmark}", *sys.argv[1:]],
        "machine": dict(machine),
        "versions": dict(versions),
        "figures": [_plain(figure) for figure in figures],
        "details": dict(details),
    }


def _plain(figure: Figure) -> dict[str, object]:
    row: dict[str, object] = asdict(figure)
    row["target"] = None if figure.target is None else str(figure.target)
    row["verdict"] = None if figure.verdict is None else figure.verdict.value
    return row


def write_document(document: Mapping[str, object], folder: Path = RESULTS) -> Path:
    """Write the document to `<folder>/<benchmark>.json` and return the path; NaN and infinity are refused."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{document['benchmark']}.json"
    path.write_text(text + "\n", encoding="utf-8")
    return path

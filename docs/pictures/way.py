"""The way of a question, traced: which parts of the package run between `db.sql(…)` and the answer, in which order.

`python -m docs.pictures.way` prints how many modules each question touches.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import discreet as dp
from discreet.tables import Column, Policy, Table
from docs.pictures.svg import BLUE, GRAY, Drawing

if TYPE_CHECKING:
    from types import FrameType

MEAN = "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward"
MEDIAN = "SELECT ward, MEDIAN(cost) FROM visits GROUP BY ward"
LANES = ["database", "plans", "releases", "ledgers", "engines", "mechanisms", "noise"]
STATIONS = {
    "Database.sql": "a text, and who asks",
    "read_sql": "parsed, or refused",
    "Plan.aggregate": "what one unit can change",
    "Recipe.of": "blocks that get noise together",
    "pair": "a count and a sum: two parts",
    "SQLEngine.prepare": "the statement, not run yet",
    "Question.release": "at a price",
    "Protection.of": "the noise that the price buys",
    "charge_all": "keeps the order of what follows",
    "Ledger.look": "answered before?",
    "DuckDB.alive": "the source answers",
    "Ledger.take": "reserved, durably",
    "SQLEngine.run": "data is read: exact sums",
    "answered": "the exact numbers end here",
    "Sums.protected": "one block gets its noise",
    "Partition.parts": "sums as parts of one total",
    "noisy_counts": "sums + noise",
    "discrete_laplace": "drawn exactly",
    "Ledger.record": "the answer is kept",
    "Purchase.shown": "an Answer, with its ±",
}
"""The functions that the drawing shows, in any order, with what each adds; that all of them ran is checked."""

_PACKAGE = str(Path(dp.__file__).parent)
_WARDS = ["er", "icu", "surgery"]


def traced(sql: str) -> list[tuple[str, str]]:
    """Ask a question of a warm database, and give the functions that ran, as module and name, in their first order."""
    columns = [
        Column("patient", type="integer"),
        Column("ward", keys=_WARDS),
        Column("cost", lower=0, upper=5000),
    ]
    policy = Policy([Table("visits", unit="patient", rows_per_unit=4, columns=columns)], epsilon=9)
    rows = range(2000)
    visits = {
        "patient": [n // 4 for n in rows],
        "ward": [_WARDS[n % 3] for n in rows],
        "cost": [n % 5000 for n in rows],
    }
    ran: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ANN401 - as sys.setprofile has it
        del argument
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(_PACKAGE):
            module = path.removeprefix(_PACKAGE).removesuffix(".py").strip("/").replace("/", ".")
            ran.setdefault((module, frame.f_code.co_qualname))

    with dp.Database(policy, {"visits": pa.table(visits)}) as db:
        db.sql(sql).release(epsilon=1)  # everything is imported and compiled once
        sys.setprofile(note)
        try:
            db.sql(sql).release(epsilon=2)
        finally:
            sys.setprofile(None)
    return list(ran)


def modules_touched(sql: str) -> list[str]:
    """Name the modules in which a function ran."""
    return sorted({module for module, _ in traced(sql)})


def way() -> str:
    """Draw the stations of one question from top to bottom, each in the lane of its layer."""
    stations = [(module.partition(".")[0], name) for module, name in traced(MEAN) if name in STATIONS]
    if missing := STATIONS.keys() - {name for _, name in stations}:
        msg = f"these did not run: {', '.join(sorted(missing))}; rename them here and in the architecture page."
        raise LookupError(msg)
    wide, high = 150, 46
    drawing = Drawing(wide * len(LANES) + 10, high * len(stations) + 40, f"The way of {MEAN}, traced")
    for number, lane in enumerate(LANES):
        middle = wide * number + wide / 2 + 5
        drawing.text((middle, 20), lane, anchor="middle", size=14)
        drawing.line((middle, 28), (middle, high * len(stations) + 34), GRAY, style='stroke-dasharray="2 4"')
    last = None
    for number, (lane, name) in enumerate(stations):
        left, top = wide * LANES.index(lane) + 9, high * number + 34
        if last is not None:
            drawing.arrow((last[0] + wide / 2, last[1] + 38), (left + wide / 2, top - 1), GRAY)
        drawing.rectangle((left, top, wide - 8, 38), "white", style=f'stroke="{BLUE}" stroke-width="1.2" rx="5"')
        drawing.text((left + wide / 2 - 4, top + 16), name, anchor="middle", size=12)
        drawing.text((left + wide / 2 - 4, top + 31), STATIONS[name], anchor="middle", color=GRAY, size=9)
        last = (left, top)
    return drawing.render()


def pictures() -> dict[str, str]:
    """Draw the way."""
    return {"way.svg": way()}


if __name__ == "__main__":
    for question in (MEAN, MEDIAN):
        print(len(modules_touched(question)), "modules:", question)

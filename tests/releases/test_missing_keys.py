"""Rows whose key is NULL: a group where selection finds them, a line below the answer where nothing can."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.tables import Column, Policy, Table

COLUMNS = [
    Column("word", type="text"),
    Column("number", type="integer"),
    Column("ward", keys=["a", "b"]),
    Column("bed", keys=["x"], null_key=True),
    Column("town", keys=["n", "s"], nullable=False),
]
POLICY = Policy([Table("visits", row_is_unit=True, columns=COLUMNS)], epsilon=10**6, delta="0.1", filter="approximate")
DATA: dict[str, list[Any]] = {
    "word": ["one", None, None],
    "number": [7, 7, None],
    "ward": ["a", "b", None],
    "bed": ["x", "x", None],
    "town": ["n", "s", "s"],
}


def answer(sql: str, repeat: int = 300) -> Any:  # noqa: ANN401 - an answer
    data = pa.table({name: cells * repeat for name, cells in DATA.items()})
    with Database(POLICY, {"visits": data}, ledger="memory") as db:
        return db.sql(sql).release(epsilon=99, delta="0.01")


def test_selection_finds_the_group_of_nulls() -> None:
    rows = answer("SELECT word, COUNT(*) AS n FROM visits GROUP BY word").to_dicts()
    assert rows == [{"word": "one", "n": 300}, {"word": None, "n": 600}]
    rows = answer("SELECT number, word, COUNT(*) AS n FROM visits GROUP BY number, word").to_dicts()
    assert [tuple(row.values()) for row in rows] == [(7, "one", 300), (7, None, 300), (None, None, 300)]


def test_a_group_of_few_nulls_is_not_shown() -> None:
    """Of one unit: the chance is below the delta of selection, as for every other group."""
    data = pa.table({name: [*cells[:1] * 300, *cells[2:]] for name, cells in DATA.items()})
    with Database(POLICY, {"visits": data}, ledger="memory") as db:
        found = db.sql("SELECT word, COUNT(*) AS n FROM visits GROUP BY word").release(epsilon=1, delta="0.0001")
    assert [row["word"] for row in found.to_dicts()] == ["one"]


@pytest.mark.parametrize(
    "keys, line",
    [
        ("ward", "rows whose ward is NULL are in no group"),
        ("UPPER(ward) AS big, bed", "rows whose big is NULL are in no group"),
        ("bed", ""),
        ("town", ""),
        ("word", ""),
    ],
)
def test_what_is_in_no_group_is_said_by_the_policy_alone(keys: str, line: str) -> None:
    group = ", ".join(str(place + 1) for place in range(keys.count(",") + 1))
    asked = f"SELECT {keys}, COUNT(*) AS n FROM visits GROUP BY {group}"
    for repeat in (300, 0):  # the line is there whatever the data hold
        said = [note for note in answer(asked, repeat).notes() if "in no group" in note]
        assert said == ([line] if line else [])


def test_a_value_of_keys_alone_has_no_error() -> None:
    shown = answer("SELECT number + 1 AS next, COUNT(*) AS n FROM visits WHERE number BETWEEN 6 AND 8 GROUP BY number")
    assert str(shown).splitlines()[2].startswith("8     600 ±")
    assert shown.errors()[1]["next"] is None

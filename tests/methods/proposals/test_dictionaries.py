"""Data dictionaries in the forms that people have say what they say, and nothing is paid for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.errors import ParameterError
from discreet.methods.proposals import propose, read_dictionary

if TYPE_CHECKING:
    from pathlib import Path

FRICTIONLESS = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 99}, "description": "in years"},
        {"name": "ward", "type": "string", "constraints": {"enum": ["lab", 'the "big" one']}},
        {"name": "seen", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2024-12-31"}},
        {"name": "cost", "type": "number"},
    ]
}
CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "visits.csv",
    "tableSchema": {
        "columns": [
            {"name": "age", "titles": {"en": ["age"]}, "datatype": {"base": "integer", "minimum": 18, "maximum": 99}},
            {"name": "ward", "datatype": "string"},
            {"name": "seen", "datatype": {"base": "date", "minInclusive": "2020-01-01", "maxInclusive": "2024-12-31"}},
            {"titles": "cost", "datatype": "decimal"},
        ]
    },
}
SMARTNOISE = """
Hospital:
  Care:
    visits:
      max_ids: 7
      person: {type: string, private_id: True}
      age: {type: int, lower: 18, upper: 99}
      ward: {type: string}
      seen: {type: datetime}
      cost: {type: float}
"""
VISITS = pa.table({"person": ["p"], "age": ["1"], "ward": ["x"], "seen": ["y"], "cost": ["z"]})


def written(tmp_path: Path, name: str, text: object) -> Path:
    file = tmp_path / name
    file.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "name, text",
    [
        ("schema.json", FRICTIONLESS),
        ("datapackage.json", {"resources": [{"name": "visits", "schema": FRICTIONLESS}]}),
        ("csvw.json", CSVW),
        ("group.json", {"tables": [CSVW]}),
        ("meta.yaml", SMARTNOISE),
    ],
)
def test_each_form_says_types_and_limits(tmp_path: Path, name: str, text: object) -> None:
    known = read_dictionary(written(tmp_path, name, text))
    age, cost = known.of("visits", "age"), known.of("visits", "cost")
    assert (age.kind, age.lower, age.upper, cost.kind, cost.complete) == ("integer", "18", "99", "float", False)


def test_a_policy_takes_what_is_said(tmp_path: Path) -> None:
    proposal = propose(VISITS, table="visits", unit="person", dictionary=written(tmp_path, "s.json", FRICTIONLESS))
    table = proposal.policy.table("visits")
    assert str(table.column("age").bounds) == "[18, 99]"
    assert table.column("ward").keys == ("lab", 'the "big" one')
    assert table.column("seen").bounds.finite
    assert "# in years" in proposal.text


def test_smartnoise_says_who_is_protected_and_how_often(tmp_path: Path) -> None:
    proposal = propose(VISITS, table="visits", dictionary=written(tmp_path, "m.yml", SMARTNOISE))
    table = proposal.policy.table("visits")
    assert (table.unit, table.rows_per_unit) == ("person", 7)


def test_descriptions_become_comments(tmp_path: Path) -> None:
    lines = written(tmp_path, "names.csv", 'column,meaning\nward,"the ward, by its short name"\nnowhere,x\n')
    text = propose(VISITS, table="visits", unit="person", dictionary=lines).text
    assert "# the ward, by its short name" in text
    assert "nowhere" not in text


@pytest.mark.parametrize(
    "name, text",
    [
        ("a.json", "[]"),
        ("a.json", "{"),
        ("a.json", '{"fields": 3}'),
        ("a.json", '{"tableSchema": {"columns": [3]}}'),
        ("a.yaml", "- a\n- b"),
        ("a.yaml", "a: ["),
        ("a.csv", "only one column\nx\n"),
        ("a.csv", ""),
    ],
)
def test_what_is_no_dictionary_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ParameterError, match="no data dictionary"):
        read_dictionary(written(tmp_path, name, text))


def test_a_limit_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a limit is"):
        read_dictionary(written(tmp_path, "a.json", {"fields": [{"name": "x", "constraints": {"minimum": [1]}}]}))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"nowhere\.json cannot be read"):
        read_dictionary(tmp_path / "nowhere.json")

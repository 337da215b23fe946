"""A policy is proposed from names and declared types; values are read only if they are public."""

from __future__ import annotations

import io
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from discreet.apps.cli import main
from discreet.tables import Policy

HEADER = "patient_id,age,ward,cost,visit_date,_hidden"


def proposed(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, list[str]]:
    assert main(["init", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return (folder / found["policy"]).read_text(), found["fill"]


def test_nothing_of_a_csv_but_its_header_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for name, rows in {"one": "p1,31,surgery,5,2026-01-01,x\n", "two": "SECRET,999,SECRET,-1e9,never,\n" * 3}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "visits.csv").write_text(f"{HEADER}\n{rows}")
        texts.append(proposed(tmp_path, capsys, str(tmp_path / name / "visits.csv"))[0])
    assert texts[0] == texts[1]
    assert "SECRET" not in texts[1]


def test_the_proposal_is_a_policy_that_leaves_the_rest_to_the_owner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "visits.csv").write_text(f"{HEADER}\n")
    text, fill = proposed(tmp_path, capsys, str(tmp_path / "visits.csv"))
    table = Policy.from_toml(text).table("visits")
    assert (table.unit, table.rows_per_unit, sorted(table.named)) == (
        "patient_id",
        10,
        ["age", "patient_id", "visit_date"],
    )
    assert [each.rpartition(".")[2].partition(":")[0] for each in fill[:2]] == ["ward", "cost"]
    filled = text.replace('# ward = { type = "text" }', 'ward = { keys = ["surgery"] }')
    assert Policy.from_toml(filled).table("visits").column("ward").keys == ("surgery",)
    assert main(["check", str(tmp_path / "visits.toml")]) == 0


def test_without_a_name_that_says_who_the_owner_must(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("code,age\n1,2\n")
    text, fill = proposed(tmp_path, capsys, str(tmp_path / "t.csv"))
    assert "tables.t.unit: who is protected" in fill
    assert main(["check", str(tmp_path / "t.toml")]) == 2
    assert "must say who is protected" in capsys.readouterr().err
    assert 'unit = "code"' in proposed(tmp_path, capsys, str(tmp_path / "t.csv"), "--unit", "code", "--force")[0]
    assert text.startswith("# Everything in this file is public")


def test_declared_types_are_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import datetime as dt

    data = pa.table(
        {
            "user_id": ["u"],
            "clicks": [1],
            "rate": [0.5],
            "name": ["n"],
            "paid": [True],
            "seen": [dt.datetime(2026, 1, 1)],  # noqa: DTZ001 - a column without a zone
            "born": [dt.date(2000, 1, 1)],
        }
    )
    parquet.write_table(data, tmp_path / "p.parquet")
    feather.write_feather(data, tmp_path / "a.arrow", compression="uncompressed")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as store:
        store.register("given", data)
        store.execute("CREATE TABLE events AS SELECT * FROM given")
    for file, table in (("p.parquet", "p"), ("a.arrow", "a"), ("d.duckdb", "events")):
        text, fill = proposed(tmp_path, capsys, str(tmp_path / file))
        kinds = {name: column.kind.value for name, column in Policy.from_toml(text).table(table).named.items()}
        assert kinds == {"user_id": "text", "name": "text", "paid": "boolean", "seen": "timestamp", "born": "date"}
        assert {each.partition(":")[0].rpartition(".")[2] for each in fill} >= {"clicks", "rate"}
        assert main(["check", str((tmp_path / file).with_suffix(".toml"))]) == 0
        capsys.readouterr()


def test_values_are_read_only_if_they_are_public(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wards.csv").write_text("ward,beds,area,open,_x\nsurgery,12,3.5,true,1\nlab,0,10,false,2\n")
    text, _ = proposed(tmp_path, capsys, str(tmp_path / "wards.csv"), "--public")
    table = Policy.from_toml(text).table("wards")
    assert table.public
    assert table.column("ward").keys == ("lab", "surgery")
    assert str(table.column("beds").bounds.upper) == "12"
    assert table.column("area").kind.value == "float"
    assert main(["check", str(tmp_path / "wards.toml")]) == 0


def test_a_folder_of_files_is_one_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "visits.csv").write_text("patient_id,age\n")
    (tmp_path / "patients.csv").write_text("patient_id,year\n")
    text, _ = proposed(tmp_path, capsys, str(tmp_path))
    assert [table.name for table in Policy.from_toml(text).tables] == ["patients", "visits"]
    assert (tmp_path / "policy.toml").is_file()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["nowhere.csv"], "no file or folder"),
        (["visits.csv"], "--force writes over it"),
        (["visits.csv", "--output", "new.toml", "--unit", "patent_id"], "Did you mean 'patient_id'?"),
        (["broken.parquet"], "cannot be read"),
        (["broken.arrow"], "no Arrow file"),
        (["broken.duckdb"], "cannot be read"),
        (["empty"], "has no columns"),
    ],
)
def test_impossible_wishes_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(f"{HEADER}\n")
    (tmp_path / "visits.toml").write_text("")
    for ending in ("parquet", "arrow", "duckdb"):
        (tmp_path / f"broken.{ending}").write_text("x" * 100)
    (tmp_path / "empty").mkdir()
    assert main(["init", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert (tmp_path / "visits.toml").read_text() == ""


class Terminal(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        return True


PRICED = ("--epsilon", "1", "--delta", "0")


def asked(
    monkeypatch: pytest.MonkeyPatch, folder: Path, stdin: io.StringIO, *options: str
) -> tuple[int, dict[str, Any] | None]:
    """Run init on visits of 2,000 people; give the exit code, and the policy as far as it was written."""
    target = folder / "v.toml"
    parquet.write_table(pa.table({"code": range(2000), "cost": [12.5] * 2000}), folder / "v.parquet")
    monkeypatch.setattr(sys, "stdin", stdin)
    code = main(["init", str(folder / "v.parquet"), "--force", *options])
    return code, tomllib.loads(target.read_text()) if target.exists() else None


def test_a_terminal_is_asked_for_what_the_ledger_freezes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, policy = asked(monkeypatch, tmp_path, Terminal("code\n\nsome\nchange-one\n7\n"), *PRICED, "--json")
    told = capsys.readouterr()
    assert (code, policy is not None) == (0, True)
    assert policy is not None
    assert policy["tables"]["v"]["unit"] == "code"
    assert policy["budget"] == {"epsilon": 7, "delta": 0, "neighbors": "change_one"}
    assert json.loads(told.out)["fill"] == []
    assert told.err.count("whether a neighbor") == 2  # asked again, as "some" is no relation
    assert "'some' is not" in told.err


def test_units_are_whole_numbers_where_one_table_has_them_as_doubles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Doubles are no texts, and the ledger that pays would keep texts for ever."""
    ids = {"visits": pa.array(range(600)), "labs": pa.array([None if n % 9 == 0 else float(n) for n in range(600)])}
    for name, column in ids.items():
        parquet.write_table(pa.table({"patient_id": column, "age": [40] * 600}), tmp_path / f"{name}.parquet")
    assert main(["init", str(tmp_path), "--unit", "patient_id", "--epsilon", "1"]) == 0
    policy = str(tmp_path / "policy.toml")
    kinds = [table["columns"]["patient_id"] for table in tomllib.loads(Path(policy).read_text())["tables"].values()]
    assert kinds == [{"type": "integer"}] * 2
    capsys.readouterr()
    joined = "SELECT COUNT(*) AS n FROM visits AS v JOIN labs AS l ON v.patient_id = l.patient_id"
    assert main(["query", policy, joined, "--epsilon", "1.9", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["n"] > 100


def test_the_type_of_units_is_stated_before_the_ledger_freezes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "visits.csv").write_text("patient_id,age\n7.0,40\n")
    policy, given = tmp_path / "visits.toml", ("init", str(tmp_path / "visits.csv"), "--unit", "patient_id", "--force")
    for kind, line in ((("--unit-type", "integer"), {"type": "integer"}), ((), None)):
        assert main([*given, *kind]) == 0
        assert tomllib.loads(policy.read_text())["tables"]["visits"]["columns"].get("patient_id") == line
    assert main([*given, "--unit-type", "real"]) == 2
    assert "--unit-type" in capsys.readouterr().err


def test_a_terminal_is_not_asked_for_what_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("--row-is-unit", "--neighbors", "add-remove", "--budget", "3")
    assert asked(monkeypatch, tmp_path, Terminal(""), *PRICED, *given)[0] == 0


def test_enter_takes_the_defaults_and_the_end_of_input_buys_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(monkeypatch, tmp_path, Terminal("code\n"), *PRICED) == (130, None)
    assert not list(tmp_path.glob("*.ledger*"))
    code, policy = asked(monkeypatch, tmp_path, Terminal("code\n\n\n\n"), *PRICED)
    assert code == 0
    assert policy is not None
    assert policy["budget"] == {"epsilon": 3, "delta": 0, "neighbors": "add_remove"}


def test_neither_pipes_nor_proposals_without_a_price_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = asked(monkeypatch, tmp_path, io.StringIO("code\nchange-one\n7\n"), *PRICED)
    assert code == 2
    assert "does not say who is protected" in capsys.readouterr().err
    assert asked(monkeypatch, tmp_path, Terminal(""))[0] == 0

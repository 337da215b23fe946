"""Commands on a policy file: ask, preview, pay, repeat, be refused, look at the books; with codes and sentences."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from discreet.apps.cli import main
from discreet.ledgers import SQLiteLedger

POLICY = """\
[dataset]
id = "clinic"
version = "7"          # the state of the data

[source]
url = "."

[budget]
epsilon = 2

[tables.visits]
unit = "patient_id"
rows_per_unit = 3

[tables.visits.columns]
ward = { keys = ["a", "b"] }
cost = { lower = 0, upper = 100 }
"""
COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def clinic(tmp_path: Path) -> str:
    rows = "".join(f"p{number // 2},{'ab'[number % 2]},{number % 90}\n" for number in range(800))
    (tmp_path / "visits.csv").write_text(f"patient_id,ward,cost\n{rows}")
    (tmp_path / "clinic.toml").write_text(POLICY)
    return str(tmp_path / "clinic.toml")


def record(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, object]:
    assert main([*arguments, "--json"]) == code
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def complaint(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    assert main(list(arguments)) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("discreet: ")
    assert len(shown.err.splitlines()) == 1
    return shown.err


def test_a_question_is_answered_charged_and_repeated_for_free(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    first = record(capsys, "query", clinic, COUNT, "--epsilon", "1")
    again = record(capsys, "query", clinic, "select count(*) as n from visits", "--epsilon", "1/2")
    assert first["rows"] == again["rows"]
    assert (first["charge"], again["charge"]) == ({"epsilon": 1}, {"epsilon": 0})
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert (first["errors"], first["promise"], first["confidence"]) == ([{"n": 9.0}], "ε = 1", 0.95)
    accounts = record(capsys, "budget", clinic)["accounts"]
    assert [(each["spent"], each["left"]) for each in accounts] == [({"epsilon": 1}, {"epsilon": 1})]  # type: ignore[attr-defined]
    assert first["head"] == record(capsys, "verify", clinic)["head"]


def test_a_person_sees_the_value_its_error_the_promise_and_what_is_left(
    clinic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", clinic, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--epsilon", "1"]) == 0
    text = capsys.readouterr().out
    assert "\x1b[" not in text
    assert text.count(" ± 9 ") == 2
    assert "ε = 1; charged ε = 1; head 2:" in text
    assert "used 50 % of ε = 2; about 1 more question like this one" in text
    assert main(["query", clinic, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--epsilon", "1"]) == 0
    assert "asked before; charged nothing; head 2:" in capsys.readouterr().out


def test_what_others_paid_for_is_said_to_be_charged_to_who_sees_it(
    clinic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(clinic).write_text(f"{POLICY}[analysts.ann]\n[analysts.bob]\nepsilon = 1\n")
    record(capsys, "query", clinic, COUNT, "--epsilon", "0.5", "--analyst", "ann")
    asked = (clinic, COUNT, "--epsilon", "0.5", "--analyst", "bob")
    assert main(["preview", *asked]) == 0
    assert "asked before; would charge nothing to dataset, ε = 0.5 to analyst bob; used 25 % of ε = 2" in (
        capsys.readouterr().out
    )
    coming, answer = record(capsys, "preview", *asked), record(capsys, "query", *asked)
    assert coming["charge"] == answer["charge"] == {"epsilon": 0.5}
    assert coming["charges"] == answer["charges"] == {"dataset": {"epsilon": 0}, "analyst bob": {"epsilon": 0.5}}
    assert coming["repeated"] is answer["repeated"] is True
    again = record(capsys, "query", *asked)
    assert (again["charge"], again["rows"]) == ({"epsilon": 0}, answer["rows"])


def test_a_preview_spends_nothing(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT COUNT(*) AS n, AVG(cost) AS cost FROM visits"
    found = record(capsys, "preview", clinic, sql, "--epsilon", "1", "--expected-count", "800")
    assert set(found["errors"]) == {"n", "cost"}  # type: ignore[call-overload]
    assert (found["left"], found["fits"]) == ({"epsilon": 2}, True)
    assert record(capsys, "preview", clinic, sql, "--epsilon", "3")["fits"] is False
    assert main(["preview", clinic, sql, "--epsilon", "3"]) == 0
    assert (
        "would charge ε = 3, which does not fit; used 0 % of ε = 2; no more questions like this one"
        in capsys.readouterr().out
    )
    assert main(["preview", clinic, sql, "--epsilon", "1", "--explain"]) == 0
    text = capsys.readouterr().out
    assert "give --expected-count 1000 for a number" in text
    assert "one unit moves" in text
    with SQLiteLedger(Path(clinic).with_name("clinic.ledger.sqlite")) as ledger:
        assert [line.kind for line in ledger.entries()] == ["opened"]


@pytest.mark.parametrize("distance", ["9", "n=9"])
def test_an_error_can_be_wanted_instead_of_a_price(
    clinic: str, capsys: pytest.CaptureFixture[str], distance: str
) -> None:
    found = record(capsys, "preview", clinic, COUNT, "--within", distance)
    answer = record(capsys, "query", clinic, COUNT, "--within", distance)
    assert (found["errors"], answer["errors"]) == ({"n": 9.0}, [{"n": 9.0}])
    assert 0 < answer["charge"]["epsilon"] <= 1  # type: ignore[index]


@pytest.mark.parametrize(
    "code, arguments, words",
    [
        (3, ["query", "SELECT COUNT(*) AS n FROM visit", "--epsilon", "1"], "Did you mean 'visits'?"),
        (3, ["query", "SELECT AVG(costs) AS n FROM visits", "--epsilon", "1"], "Did you mean 'cost'?"),
        (3, ["query", "SELECT patient_id FROM visits", "--epsilon", "1"], "Write instead"),
        (4, ["query", COUNT, "--epsilon", "3"], "ε = 2 would still fit"),
        (2, ["query", COUNT], "--epsilon 0.5"),
        (2, ["query", COUNT, "--epsilon", "1", "--rho", "1"], "in one way"),
        (2, ["query", COUNT, "--epsilon", "1", "--within", "9"], "in one way"),
        (2, ["query", COUNT, "--within", "n=9", "--within", "8"], "COLUMN=DISTANCE"),
        (2, ["query", COUNT, "--within", "m=9"], "the columns are n"),
        (3, ["query", "SELECT AVG(cost) AS cost FROM visits", "--within", "1"], "within for cost"),
        (2, ["query", COUNT, "--epsilon", "0"], "epsilon"),
        (2, ["query", COUNT, "--epsilon", "x"], "epsilon"),
        (2, ["query", COUNT, "--epsilon", "1", "--confidence", "2"], "--confidence"),
    ],
)
def test_what_is_not_answered_is_said_in_a_sentence_and_costs_nothing(
    clinic: str, capsys: pytest.CaptureFixture[str], code: int, arguments: list[str], words: str
) -> None:
    assert words in complaint(capsys, code, arguments[0], clinic, *arguments[1:])
    assert record(capsys, "budget", clinic)["entries"] == 1


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("rows_per_unit = 3", "rows_per_units = 3", "line 13: tables.visits.rows_per_units is not a key"),
        ("epsilon = 2", "epsilon = -2", "line 9: budget.epsilon"),
        ("[source]", "[source", "line"),
        ("upper = 100", "upper = -1", "line 17: tables.visits.columns.cost"),
        ('unit = "patient_id"', 'unit = "patent_id"', "Did you mean 'patient_id'?"),
        ('url = "."', 'url = "nowhere"', "nowhere"),
    ],
)
def test_mistakes_in_a_policy_are_named(
    clinic: str, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    Path(clinic).write_text(POLICY.replace(old, new))
    assert words in complaint(capsys, 2, "query", clinic, COUNT, "--epsilon", "1")


def test_a_missing_policy_is_answered_with_the_nearest(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Did you mean 'clinic.toml'?" in complaint(capsys, 2, "budget", clinic.replace("clinic.", "clinc."))


def test_rights_and_budgets_of_analysts_count(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(clinic).write_text(f"{POLICY}\n[analysts.ann]\nepsilon = 1\n[analysts.bob]\nmay = ['explain']\n")
    ask = ("query", clinic, COUNT, "--epsilon")
    assert "analyst" in complaint(capsys, 2, *ask, "1")
    assert "may not release" in complaint(capsys, 2, *ask, "1", "--analyst", "bob")
    assert "analyst ann" in complaint(capsys, 4, *ask, "1.5", "--analyst", "ann")
    record(capsys, *ask, "1", "--analyst", "ann")
    accounts = record(capsys, "budget", clinic)["accounts"]
    assert [(each["scope"], each["name"]) for each in accounts] == [  # type: ignore[attr-defined]
        ("dataset", ""),
        ("analyst", "ann"),
        ("analyst", "bob"),
    ]


def test_the_log_tells_who_asked_what_for_how_much(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    record(capsys, "query", clinic, COUNT, "--epsilon", "1/4", "--analyst", "ann")
    assert main(["log", clinic]) == 0
    text = capsys.readouterr().out
    assert all(words in text for words in ("opened", "reserved  ann  ε = 0.25", COUNT, "answer to 1"))
    assert main(["log", clinic, "--json", "--kind", "reserved"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["asked"] == COUNT
    assert main(["log", clinic, "--json", "--last", "2"]) == 0
    assert [json.loads(each)["number"] for each in capsys.readouterr().out.splitlines()] == [1, 2]


def test_a_cut_or_edited_ledger_is_found(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = str(record(capsys, "query", clinic, COUNT, "--epsilon", "1")["head"])
    assert record(capsys, "verify", clinic, "--head", head)["ok"] is True
    found = record(capsys, "verify", clinic, "--head", f"2:{'0' * 64}", code=5)
    assert found["problems"]
    file = Path(clinic).with_name("clinic.ledger.sqlite")
    with sqlite3.connect(file) as ledger:
        ledger.execute("UPDATE lines SET line = replace(line, 'COUNT', 'C0UNT') WHERE number = 1")
    assert main(["verify", clinic]) == 5
    assert "NOT in order" in capsys.readouterr().out
    with sqlite3.connect(file) as ledger:
        ledger.execute("DELETE FROM lines WHERE number = 2")
    assert main(["verify", clinic]) == 5  # it is refused at opening, and can be looked at all the same
    assert "NOT in order" in capsys.readouterr().out
    assert "entries are missing or changed" in complaint(capsys, 1, "query", clinic, COUNT, "--epsilon", "1/2")


def checks(clinic: str) -> list[dict[str, object]]:
    with SQLiteLedger(Path(clinic).with_name("clinic.ledger.sqlite")) as ledger:
        return [dict(line.body) for line in ledger.entries(kind="check")]


def test_what_a_check_finds_is_told_to_the_owner_and_not_to_the_ledger(
    clinic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = Path(clinic).with_name("visits.csv")
    unique, repeated = "patient_id,ward,cost\np1,a,5\np2,a,5\n", "patient_id,ward,cost\np1,a,5\np1,a,5\n"
    Path(clinic).write_text(POLICY.replace("rows_per_unit = 3", 'unique = ["patient_id"]'))
    data.write_text(unique)
    for rows, final in ((unique, ()), (repeated, ()), (repeated, ("--final",))):
        data.write_text(rows)
        found = record(capsys, "check", clinic, *final, code=5 if rows == repeated else 0)
        assert (found["believed"], bool(found["broken"])) == ([], rows == repeated)
    nothing = {"what": "declared facts", "version": "7", "final": False, "tables": []}
    assert checks(clinic) == [nothing] * 3
    data.write_text(unique)
    assert record(capsys, "check", clinic, "--final")["believed"] == ["visits"]
    assert checks(clinic)[3] == nothing | {"final": True, "tables": ["visits"]}
    assert main(["log", clinic, "--kind", "check"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("declared facts") == 3
    assert shown.count("unique columns of visits are believed") == 1
    assert "at most" not in shown


def test_what_the_owner_declares_is_checked(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    fact = "visits: at most 3 rows with the same patient_id"
    assert record(capsys, "check", clinic)["holds"] == [fact]
    Path(clinic).write_text(POLICY.replace("rows_per_unit = 3", "rows_per_unit = 2"))
    assert record(capsys, "check", clinic)["exceeded"] == []
    Path(clinic).write_text(POLICY.replace("rows_per_unit = 3", 'unique = ["patient_id"]'))
    found = record(capsys, "check", clinic, code=5)
    assert (found["holds"], found["broken"]) == ([], ["visits: at most 1 row with the same patient_id"])


def test_a_unit_with_more_rows_than_count_is_told_to_the_owner(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = Path(clinic).with_name("visits.csv")
    data.write_text(data.read_text() + "p1,a,5\np1,a,6\n")
    assert record(capsys, "check", clinic)["exceeded"] == ["visits: at most 3 rows with the same patient_id"]


def test_a_version_is_written_into_its_table_and_into_no_text(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = POLICY.replace('[dataset]\nid = "clinic"\nversion = "7"          # the state of the data\n', "")
    text = text.replace('["a", "b"]', '["a", """\n[dataset]\n"""]')
    Path(clinic).write_text(text)
    assert record(capsys, "version", "new", clinic, "8")["version"] == "8"
    assert text in Path(clinic).read_text()  # and nothing of it changed
    assert record(capsys, "version", "show", clinic)["version"] == "8"


def test_a_new_version_makes_questions_new_and_no_budget(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    record(capsys, "query", clinic, COUNT, "--epsilon", "1")
    assert record(capsys, "version", "show", clinic)["version"] == "7"
    assert record(capsys, "version", "new", clinic)["version"] == "8"
    assert 'version = "8"          # the state of the data\n' in Path(clinic).read_text()
    asked = record(capsys, "query", clinic, COUNT, "--epsilon", "1")
    assert asked["repeated"] is False
    assert "does not fit" in complaint(capsys, 4, "query", clinic, f"{COUNT} WHERE cost > 1", "--epsilon", "1")
    assert "already" in complaint(capsys, 2, "version", "new", clinic, "8")
    assert record(capsys, "version", "new", clinic, "2027 spring")["was"] == "8"
    assert "name the new one" in complaint(capsys, 2, "version", "new", clinic)


@pytest.mark.parametrize("head", ["[dataset]\nid = 'x'\n", "", "[dataset]  # of ours\n\n"])
def test_a_version_is_written_where_there_was_none(head: str, tmp_path: Path) -> None:
    policy = tmp_path / "town.toml"
    policy.write_text(f"{head}[budget]\nepsilon = 1  # all\n")
    assert main(["version", "new", str(policy)]) == 0
    from discreet.tables import Policy

    assert Policy.read(policy).version == "2"
    assert "epsilon = 1  # all" in policy.read_text()


BUDGET = "[budget]\nepsilon = 1\n"
INSIDE = '[tables.t.columns]\ng = { keys = ["""\n[dataset]\nversion = "1"\n"""] }\n'
TABLE = "[tables.t]\nrow_is_unit = true\n"


@pytest.mark.parametrize(
    "before, after",
    [
        (f"{BUDGET}{TABLE}{INSIDE}", f'[dataset]\nversion = "77"\n\n{BUDGET}{TABLE}{INSIDE}'),
        (f"{BUDGET}{TABLE}{INSIDE}[dataset]\n", f'{BUDGET}{TABLE}{INSIDE}[dataset]\nversion = "77"\n'),
        (
            f'{BUDGET}{TABLE}{INSIDE}[dataset]\nversion="1" # x\n',
            f'{BUDGET}{TABLE}{INSIDE}[dataset]\nversion="77" # x\n',
        ),
        (f'dataset.version="1"\n{BUDGET}', f'dataset.version="77"\n{BUDGET}'),
        (f'dataset = {{ id = "a", version="1" }}\n{BUDGET}', f'dataset = {{ id = "a", version="77" }}\n{BUDGET}'),
        (f'[ "dataset" ]\n"version" = """1"""\n{BUDGET}', f'[ "dataset" ]\n"version" = "77"\n{BUDGET}'),
        (f"[dataset]\r\n{BUDGET}", f'[dataset]\r\nversion = "77"\r\n{BUDGET}'),
        (f"budget.epsilon = 1\n{TABLE.strip()}", f'budget.epsilon = 1\n{TABLE}[dataset]\nversion = "77"\n'),
        (f"[dataset]\nid = 'version = 1'\n{BUDGET}", f"[dataset]\nversion = \"77\"\nid = 'version = 1'\n{BUDGET}"),
    ],
)
def test_a_new_version_changes_its_own_value_and_not_a_byte_more(before: str, after: str, tmp_path: Path) -> None:
    policy = tmp_path / "town.toml"
    policy.write_bytes(before.encode())
    assert main(["version", "new", str(policy), "77"]) == 0
    assert policy.read_bytes() == after.encode()


def test_a_version_that_cannot_be_changed_alone_is_left_to_the_owner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "town.toml"
    text = f'dataset = {{ id = "a" }}\n{BUDGET}'  # an inline table is closed: nothing can be added outside it
    policy.write_text(text)
    assert main(["version", "new", str(policy), "77"]) == 2
    assert 'nothing was written. Write it yourself: version = "77" in the table [dataset]' in capsys.readouterr().err
    assert policy.read_text() == text
    assert [each.name for each in tmp_path.iterdir()] == ["town.toml"]


def test_a_linked_policy_stays_a_link(tmp_path: Path) -> None:
    policy, link = tmp_path / "town.toml", tmp_path / "link.toml"
    policy.write_text(BUDGET)
    link.symlink_to(policy)
    assert main(["version", "new", str(link), "77"]) == 0
    assert link.is_symlink()
    assert 'version = "77"' in policy.read_text()


@pytest.mark.parametrize("wrong", ["0x1", "0X1", "1_0", "\u0663", "\uff11"])
def test_a_number_is_written_in_decimal_digits(clinic: str, capsys: pytest.CaptureFixture[str], wrong: str) -> None:
    for command in (
        ["query", clinic, COUNT, "--epsilon", wrong],
        ["query", clinic, COUNT, "--within", f"n={wrong}"],
        ["preview", clinic, COUNT, "--rho", wrong],
        ["account", "gaussian", "--sigma", wrong],
        ["calibrate", "laplace", "--epsilon", wrong],
        ["explain", "--epsilon", wrong],
    ):
        assert "write a decimal number or a fraction, such as 0.5" in complaint(capsys, 2, *command)


def test_a_version_that_the_ledger_refuses_is_not_written(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    record(capsys, "query", clinic, COUNT, "--epsilon", "1")
    changed = POLICY.replace("[budget]", '[budget]\nneighbors = "change_one"')
    Path(clinic).write_text(changed)
    assert main(["version", "new", clinic]) == 1
    assert Path(clinic).read_text() == changed
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("damage", ["truncated", "no ledger", "cut", "a folder"])
def test_a_damaged_ledger_is_refused_in_a_sentence(
    clinic: str, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    """No answer without its ledger: whatever is wrong with the file, nothing is shown."""
    file = Path(clinic).with_name("clinic.ledger.sqlite")
    record(capsys, "query", clinic, COUNT, "--epsilon", "1")
    for beside in file.parent.glob("clinic.ledger.sqlite-*"):
        beside.unlink()
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:5000])
    elif damage == "no ledger":
        file.write_text("not a database at all " * 100)
    elif damage == "cut":
        file.unlink()  # the head file knows that there was one
    else:
        file.unlink()
        file.mkdir()
    for command in (
        ["query", clinic, COUNT, "--epsilon", "1"],
        ["budget", clinic],
        ["log", clinic],
        ["verify", clinic],
    ):
        assert "ledger" in complaint(capsys, 1, *command)


def test_many_groups_are_written_as_plain_lines(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    keys = [f"w{number}" for number in range(2500)]
    Path(clinic).write_text(POLICY.replace('keys = ["a", "b"]', f"keys = {keys}"))
    assert main(["query", clinic, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--epsilon", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ward\tn"
    assert sum(line.startswith("w") for line in lines[1:2501]) == 2500
    assert sum("\t" in line for line in lines) == 2501


@pytest.mark.engine
def test_a_database_behind_an_address_is_asked_alike(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.tables import Policy
    from tests.engines.servers import fill_postgres, postgres

    rows = [{"patient_id": f"p{number}", "ward": "ab"[number % 2], "cost": number % 90} for number in range(400)]
    fill_postgres(postgres(), "c", Policy.from_toml(POLICY), {"visits": rows})
    text = POLICY.replace('url = "."', f'url = "{postgres()}"').replace("tables.visits", 'tables."c.visits"')
    Path(clinic).write_text(text)
    found = record(capsys, "query", clinic, 'SELECT COUNT(*) AS n FROM "c.visits"', "--epsilon", "1")
    assert found["errors"] == [{"n": 9.0}]
    assert record(capsys, "check", clinic)["holds"] == ["c.visits: at most 3 rows with the same patient_id"]


def test_an_interrupt_after_the_reservation_stays_spent(
    clinic: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.engines.sql.running import SQLEngine

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SQLEngine, "run", interrupted)
        assert "stays spent" in complaint(capsys, 130, "query", clinic, COUNT, "--epsilon", "1")
    accounts = record(capsys, "budget", clinic)["accounts"]
    assert [each["left"] for each in accounts] == [{"epsilon": 1}]  # type: ignore[attr-defined]
    again = record(capsys, "query", clinic, COUNT, "--epsilon", "1")
    assert again["repeated"] is False


def test_nothing_that_was_asked_or_found_commands_the_terminal(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    trick = "SELECT COUNT(*) AS n FROM visits WHERE patient_id <> '\x1b]0;owned\x07\x1b[2J\u202e'"
    assert main(["query", clinic, trick, "--epsilon", "1"]) == 0
    assert main(["log", clinic]) == 0
    Path(clinic).write_text(POLICY.replace('"b"]', '"b", "\\u001b[2J"]').replace("epsilon = 2", "epsilon = 5"))
    assert main(["query", clinic, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--epsilon", "1"]) == 0
    shown = capsys.readouterr().out
    assert "visits" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    with SQLiteLedger(Path(clinic).with_name("clinic.ledger.sqlite")) as ledger:
        assert not any("\x1b" in str(line) for line in ledger.entries())


@pytest.fixture
def exported(clinic: str, capsys: pytest.CaptureFixture[str]) -> Path:
    record(capsys, "query", clinic, COUNT, "--epsilon", "1")
    file = Path(clinic).with_name("clinic.jsonl")
    assert record(capsys, "ledger", "export", clinic, str(file))["entries"] == 3
    return file


def test_a_ledger_that_was_lost_comes_back_from_its_export(
    clinic: str, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = record(capsys, "verify", clinic)
    first = record(capsys, "query", clinic, COUNT, "--epsilon", "1")
    for path in Path(clinic).parent.glob("clinic.ledger.sqlite*"):
        path.unlink()
    assert "is gone, and a new one" in complaint(capsys, 1, "query", clinic, COUNT, "--epsilon", "1")
    found = record(capsys, "ledger", "import", clinic, str(exported))
    assert (found["entries"], found["head"], found["dataset"]) == (3, before["head"], "clinic")
    assert record(capsys, "verify", clinic) == before
    again = record(capsys, "query", clinic, COUNT, "--epsilon", "1")
    assert (again["rows"], again["repeated"]) == (first["rows"], True)


def test_an_import_forgets_nothing(clinic: str, exported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "not empty" in complaint(capsys, 1, "ledger", "import", clinic, str(exported))
    record(capsys, "query", clinic, "SELECT SUM(cost) AS s FROM visits", "--epsilon", "1/2")
    for path in Path(clinic).parent.glob("clinic.ledger.sqlite*"):
        path.unlink()
    assert "entries are missing" in complaint(capsys, 1, "ledger", "import", clinic, str(exported))
    assert not list(Path(clinic).parent.glob("clinic.ledger.sqlite"))  # else it would be a ledger with nothing spent
    Path(clinic).with_name("clinic.ledger.head").unlink()  # elsewhere, or the owner is sure
    text = exported.read_text()
    wrong = Path(clinic).with_name("wrong.jsonl")
    for content, words in (
        (text[: text.rindex("\n", 0, -1)], "no end line"),
        (text.replace('"epsilon":"1"', '"epsilon":"0"'), "was edited"),
        ("", "no end line"),
    ):
        wrong.write_text(content)
        assert words in complaint(capsys, 1, "ledger", "import", clinic, str(wrong))
    wrong.write_bytes(bytes(range(256)))
    assert "is no text" in complaint(capsys, 1, "ledger", "import", clinic, str(wrong))
    assert "there is no file" in complaint(capsys, 2, "ledger", "import", clinic, "nowhere.jsonl")
    Path(clinic).write_text(POLICY.replace('"clinic"', '"another"'))
    assert "a ledger keeps it for ever" in complaint(capsys, 1, "ledger", "import", clinic, str(exported))
    assert not list(Path(clinic).parent.glob("clinic.ledger.sqlite"))


def test_an_export_is_new_private_and_of_a_ledger_in_order(
    clinic: str, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported.stat().st_mode & 0o777 == 0o600
    text = exported.read_text()
    assert "is there already" in complaint(capsys, 2, "ledger", "export", clinic, str(exported))
    assert exported.read_text() == text
    target = exported.with_name("second.jsonl")
    for nowhere in (str(exported / "x.jsonl"), str(exported.parent), "a\0b"):
        complaint(capsys, 2, "ledger", "export", clinic, nowhere)
    with sqlite3.connect(Path(clinic).with_name("clinic.ledger.sqlite")) as ledger:
        ledger.execute("UPDATE sums SET loss = loss - 1")
    assert "not in order" in complaint(capsys, 1, "ledger", "export", clinic, str(target))
    fresh = exported.parent / "elsewhere" / "fresh.toml"
    fresh.parent.mkdir()
    fresh.write_text(POLICY)
    assert "there is no ledger" in complaint(capsys, 1, "ledger", "export", str(fresh), str(target))
    assert sorted(path.name for path in exported.parent.glob("*second*")) == []
    assert not fresh.with_name("fresh.ledger.sqlite").exists()


def test_nobody_reads_a_policy_while_it_is_rewritten_who_could_not_before(
    clinic: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A policy may hold the password of a server; its draft was made as the mask says."""
    Path(clinic).chmod(0o600)
    seen, real = [], Path.chmod

    def noted(path: Path, mode: int) -> None:
        seen.append(path.stat().st_mode & 0o777)
        real(path, mode)

    monkeypatch.setattr(Path, "chmod", noted)
    usual = os.umask(0o022)
    try:
        record(capsys, "version", "new", clinic, "later")
    finally:
        os.umask(usual)
    assert seen == [0o600]
    assert Path(clinic).stat().st_mode & 0o777 == 0o600


def test_a_check_reports_what_will_spoil_answers(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No key matches anything: that is said, with what to write, and no sum of the ledger changes."""
    data = Path(clinic).with_name("visits.csv")
    data.write_text("patient_id,ward,cost\n" + "".join(f"p{place},W{place % 2},{place}.5\n" for place in range(50)))
    before = record(capsys, "budget", clinic)["accounts"]
    found = record(capsys, "check", clinic)
    table = found["tables"][0]  # type: ignore[index]
    ward = next(each for each in table["columns"] if each["name"] == "ward")
    assert (table["rows"], ward["outside"]) == (50, 50)
    assert any("visits.ward: 100.0 % are none of the keys" in text for text in found["spoils"])  # type: ignore[attr-defined]
    assert data.read_text().startswith("patient_id,ward,cost\np0,W0,0.5\n")
    assert record(capsys, "budget", clinic)["accounts"] == before
    assert main(["check", clinic]) == 0
    shown = capsys.readouterr().out
    assert "this will spoil answers: visits.ward: 100.0 %" in shown
    assert "are fractions and are rounded" in shown


def test_a_check_reports_ids_that_nearly_agree(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = Path(clinic).with_name("visits.csv")
    data.write_text("patient_id,ward,cost\n7,a,5\n7.0,a,5\nP1,a,5\np1 ,a,5\n")
    assert "patient_id: 2 differ from another" in record(capsys, "check", clinic)["split"][0]  # type: ignore[index]
    assert main(["check", clinic]) == 0
    assert "this may split people: patient_id: 2 differ" in capsys.readouterr().out


def test_a_check_warns_from_a_few_percent_on(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = Path(clinic).with_name("visits.csv")
    for wrong, warned in ((1, False), (2, True)):
        wards = ["c" if place < wrong else "a" for place in range(100)]
        data.write_text("patient_id,ward,cost\n" + "".join(f"p{place},{ward},5\n" for place, ward in enumerate(wards)))
        assert bool(record(capsys, "check", clinic)["spoils"]) is warned

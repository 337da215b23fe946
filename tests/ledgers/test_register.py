"""A dataset id that was seen at a source keeps its ledger, whatever the policy's file is called and where it lies."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from discreet.apps.cli import main
from discreet.errors import LedgerError
from discreet.ledgers import Entry, SQLiteLedger, lock, open_ledger, verify_ledger
from discreet.ledgers.register import Register, _named
from discreet.privacy import Pure
from discreet.tables import Policy

POLICY = """
[source]
url = "{source}"
[budget]
epsilon = 3
[tables.visits]
unit = "id"
rows_per_unit = 2
"""
NAMED = '[dataset]\nid = "hospital"\n' + POLICY
NAME = ".discreet.ledgers"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A hospital of which one third is spent."""
    found = tmp_path / "clinic"
    found.mkdir()
    (found / "visits.csv").write_text("id\n1\n2\n")
    (found / "hospital.toml").write_text(NAMED.format(source="."))
    spend(found / "hospital.toml")
    return found


def spend(file: Path, ledger: str | Path | None = None) -> None:
    with discreet.open(file, ledger=ledger) as db:
        db.sql("SELECT COUNT(*) AS n FROM visits").release(epsilon=1)


def left(file: Path, ledger: str | Path | None = None) -> object:
    with discreet.open(file, ledger=ledger) as db:
        return db.remaining


def lines(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / NAME).read_text().splitlines()]


@pytest.mark.parametrize("act", ["rename", "symlink_to", "hardlink_to", "copy"])
def test_another_name_of_the_policy_is_no_new_budget(folder: Path, act: str) -> None:
    """Each gave the same dataset id its whole budget again."""
    policy, other = folder / "hospital.toml", folder / "clinic.toml"
    if act == "rename":
        policy.rename(other)
    elif act == "copy":
        shutil.copy(policy, other)
    else:
        getattr(other, act)(policy)
    assert left(other) == Pure(2)
    assert main(["budget", str(other)]) == 0
    assert verify_ledger(file=other).ok
    assert not (folder / "clinic.ledger.sqlite").exists()


@pytest.mark.parametrize("act", ["rename", "symlink_to", "hardlink_to", "copy"])
def test_a_policy_that_is_named_by_its_file_alone_is_no_new_dataset(tmp_path: Path, act: str) -> None:
    policy, other = tmp_path / "hospital.toml", tmp_path / "clinic.toml"
    (tmp_path / "visits.csv").write_text("id\n1\n")
    policy.write_text(POLICY.format(source="."))
    spend(policy)
    if act == "rename":
        policy.rename(other)
    elif act == "copy":
        shutil.copy(policy, other)
    else:
        getattr(other, act)(policy)
    with pytest.raises(
        LedgerError, match=r"clinic\.toml names no dataset.*known as 'hospital'.*hospital\.ledger\.sqlite"
    ):
        left(other)
    assert not (tmp_path / "clinic.ledger.sqlite").exists()
    text = other.read_text()
    other.unlink()
    other.write_text(f'[dataset]\nid = "hospital"\n{text}')
    assert left(other) == Pure(2)
    other.write_text(f'[dataset]\nid = "clinic"\n{text}')
    assert left(other) == Pure(3)  # the owner says that it is another


def test_a_second_ledger_for_the_same_id_is_refused_and_the_first_is_named(folder: Path, tmp_path: Path) -> None:
    policy = folder / "hospital.toml"
    for given in ("second.sqlite", tmp_path / "second.sqlite", f"sqlite:///{tmp_path}/second.sqlite"):
        with pytest.raises(LedgerError, match=rf"'hospital' has its ledger at {folder}/hospital\.ledger\.sqlite; "):
            left(policy, given)
    policy.write_text(NAMED.format(source=".") + '[ledger]\nurl = "second.sqlite"\n')
    with pytest.raises(LedgerError, match="would be a second one"):
        left(policy)
    second = SQLiteLedger(tmp_path / "second.sqlite", Policy.read(policy))
    with second, pytest.raises(LedgerError, match="would be a second one"):
        discreet.open(policy, ledger=second)
    assert not (folder / "second.sqlite").exists()
    assert left(policy, "memory") == Pure(3)  # for who opens it to say


def test_a_policy_elsewhere_over_the_same_data_keeps_the_ledger(folder: Path, tmp_path: Path) -> None:
    """By an absolute path, by a link to the folder, by one of its files."""
    (tmp_path / "link").symlink_to(folder)
    for place, source in enumerate([folder, tmp_path / "link", folder / "visits.csv", "../clinic/../clinic"]):
        elsewhere = tmp_path / f"policies{place}"
        elsewhere.mkdir()
        (elsewhere / "hospital.toml").write_text(NAMED.format(source=source))
        assert left(elsewhere / "hospital.toml") == Pure(2)
        assert [each.name for each in elsewhere.iterdir()] == ["hospital.toml"]
    (elsewhere / "other.toml").write_text(NAMED.format(source=folder).replace('"hospital"', '"other"'))
    assert left(elsewhere / "other.toml") == Pure(3)


def test_a_folder_that_is_moved_takes_its_ledger_along(folder: Path, tmp_path: Path) -> None:
    moved = folder.rename(tmp_path / "moved")
    assert left(moved / "hospital.toml") == Pure(2)
    assert [line["folder"] for line in lines(moved)] == [str(folder), str(moved)]
    again = moved.rename(tmp_path / "again")
    (again / "hospital.toml").rename(again / "clinic.toml")
    assert left(again / "clinic.toml") == Pure(2)


def test_a_ledger_that_is_moved_stays_the_ledger(folder: Path, tmp_path: Path) -> None:
    for end in ("sqlite", "head"):
        (folder / f"hospital.ledger.{end}").rename(tmp_path / f"moved.ledger.{end}")
    with pytest.raises(LedgerError, match=r"ledger of dataset 'hospital' was at .* gone.*\.discreet\.ledgers"):
        left(folder / "hospital.toml")
    assert left(folder / "hospital.toml", tmp_path / "moved.ledger.sqlite") == Pure(2)
    assert left(folder / "hospital.toml") == Pure(2)


def test_a_copy_of_everything_is_no_second_budget_while_the_first_is_there(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    with pytest.raises(LedgerError, match=rf"has its ledger at {folder}/hospital\.ledger\.sqlite; {copy}"):
        left(copy / "hospital.toml")
    for end in ("sqlite", "head"):
        (copy / f"hospital.ledger.{end}").unlink()
    assert left(copy / "hospital.toml") == Pure(2)  # of the first
    restored = Path(shutil.copytree(folder, tmp_path / "restored"))
    shutil.rmtree(folder)
    assert left(restored / "hospital.toml") == Pure(2)  # from a backup


def test_deleted_files_are_no_new_budget(folder: Path) -> None:
    """With both removed nothing was left to compare with."""
    lines_before = main(["ledger", "export", str(folder / "hospital.toml"), str(folder / "export.jsonl")])
    for each in folder.glob("hospital.ledger.*"):
        each.unlink()
    with pytest.raises(LedgerError, match=r"gone, and a new one would have .* nothing was ever released"):
        left(folder / "hospital.toml")
    assert lines_before == 0
    with SQLiteLedger(folder / "hospital.ledger.sqlite", Policy.read(folder / "hospital.toml")):
        pass
    with pytest.raises(LedgerError, match="another one, by its first entry"):
        left(folder / "hospital.toml")
    for each in folder.glob("hospital.ledger.*"):
        each.unlink()
    assert main(["ledger", "import", str(folder / "hospital.toml"), str(folder / "export.jsonl")]) == 0
    assert left(folder / "hospital.toml") == Pure(2)


def test_an_export_makes_no_second_ledger_either(folder: Path) -> None:
    policy = Policy.read(folder / "hospital.toml")
    with open_ledger(policy, file=folder / "hospital.toml") as ledger:
        export = list(ledger.export())
    with pytest.raises(LedgerError, match="would be a second one"):
        open_ledger(policy, "second.sqlite", file=folder / "hospital.toml", export=iter(export))
    assert not (folder / "second.sqlite").exists()


def test_a_ledger_of_an_earlier_version_is_entered(folder: Path) -> None:
    (folder / NAME).unlink()
    assert left(folder / "hospital.toml") == Pure(2)
    assert [line["ledger"] for line in lines(folder)] == ["hospital.ledger.sqlite"]
    assert left(folder / "hospital.toml") == Pure(2)
    assert len(lines(folder)) == 1
    assert stat.S_IMODE((folder / NAME).stat().st_mode) == 0o600


def test_where_the_data_cannot_be_written_the_user_has_a_register(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a server, of which the name without a password is entered."""
    (folder / NAME).unlink()
    policies = tmp_path / "policies"
    policies.mkdir()
    for name in ("a.toml", "b.toml"):
        (policies / name).write_text(NAMED.format(source=folder))

    def opened(path: Path, **options: bool | None) -> object:
        if Path(path).parent == folder:
            raise PermissionError
        return lock.opened(path, **options)

    monkeypatch.setattr("discreet.ledgers.register.opened", opened)
    spend(policies / "a.toml")
    assert left(policies / "b.toml") == Pure(2)
    own = Path(os.environ["XDG_STATE_HOME"], "discreet", "ledgers")
    assert [json.loads(line)["source"] for line in own.read_text().splitlines()] == [str(folder)]
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert stat.S_IMODE(own.parent.stat().st_mode) == 0o700
    assert not (folder / NAME).exists()


def test_a_server_has_a_register_beside_the_policy_and_one_of_the_user(tmp_path: Path) -> None:
    address = "postgresql://ann:secret@db.example/hospital?sslmode=require"
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
    policy = Policy([], epsilon=3, dataset="hospital", source=address)
    first = tmp_path / "one" / "hospital.toml"
    with open_ledger(policy, file=first) as ledger:
        ledger.reserve(Pure(1), Entry("count", ()))
    for file in (tmp_path / "one" / "clinic.toml", tmp_path / "two" / "hospital.toml"):
        with open_ledger(policy, file=file) as ledger:
            assert ledger.remaining == Pure(2)
    texts = [(tmp_path / "one" / NAME).read_text(), Path(os.environ["XDG_STATE_HOME"], "discreet/ledgers").read_text()]
    assert all("postgresql://db.example/hospital" in text and "secret" not in text for text in texts)
    other = Policy([], epsilon=3, dataset="hospital", source="postgresql://db.example/other")
    with open_ledger(other, file=tmp_path / "two" / "b.toml") as ledger:
        assert ledger.remaining == Pure(2)  # the same id beside the same policies
    (tmp_path / "three").mkdir()
    with open_ledger(other, file=tmp_path / "three" / "b.toml") as ledger:
        assert ledger.remaining == Pure(2)


def test_frames_and_engines_have_no_place() -> None:
    assert [_named(each) for each in ({}, None, object(), "data", Path("data"))] == [""] * 5
    assert _named("local[2]") == "://local[2]"
    assert str(Register(Policy([], epsilon=1), {})) == ""


@pytest.mark.parametrize("torn", ['{"dataset": "hosp', "\0\0\0\0"])
def test_a_line_that_was_not_written_to_its_end_is_none(folder: Path, torn: str) -> None:
    (folder / NAME).write_text(torn)
    assert left(folder / "hospital.toml") == Pure(2)
    assert [line["dataset"] for line in lines(folder)] == ["hospital"]


@pytest.mark.parametrize("text", ["none\n", "{}\n", "[1]\n", b"\xff\n"])
def test_a_register_that_was_edited_is_refused(folder: Path, text: str | bytes) -> None:
    (folder / NAME).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(LedgerError, match=rf"{NAME} (holds a line that is none|cannot be read)"):
        left(folder / "hospital.toml")


_MANY = """
import sys
from pathlib import Path
from discreet.ledgers import open_ledger
from discreet.tables import Policy

file = Path(sys.argv[1])
with open_ledger(Policy.read(file), file=file) as ledger:
    print(ledger.path.name)
"""


def test_processes_that_open_two_names_at_once_make_one_ledger(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("id\n1\n")
    names = [f"name{place}.toml" for place in range(6)]
    for name in names:
        (tmp_path / name).write_text(NAMED.format(source="."))
    runs = [
        subprocess.Popen([sys.executable, "-c", _MANY, str(tmp_path / name)], stdout=subprocess.PIPE) for name in names
    ]
    assert len({run.communicate(timeout=120)[0] for run in runs}) == 1
    assert len(list(tmp_path.glob("*.sqlite"))) == 1


def test_a_folder_of_links_to_the_data_is_no_new_budget(tmp_path: Path) -> None:
    """The policy is copied into another folder, whose files are links to the first one's."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (first / "visits.csv").write_text("id,cost\n1,5\n")
    (second / "visits.csv").symlink_to(first / "visits.csv")
    for folder in (first, second):
        (folder / "hospital.toml").write_text(NAMED.format(source="."))
    with discreet.open(first / "hospital.toml") as db:
        db.ledger.reserve(Pure(2), Entry("q", ("visits",)))
    with discreet.open(second / "hospital.toml") as db:
        assert db.remaining == Pure(1)


@pytest.mark.parametrize("kind", ["pipe", "device", "deep", "zero"])
def test_what_is_no_register_is_refused_in_words(tmp_path: Path, kind: str) -> None:
    (tmp_path / "visits.csv").write_text("id,cost\n1,5\n")
    (tmp_path / "hospital.toml").write_text(NAMED.format(source="."))
    register = tmp_path / ".discreet.ledgers"
    if kind == "pipe":
        os.mkfifo(register)
    elif kind == "device":
        register.symlink_to(os.devnull)
    else:
        words = {"dataset": "hospital", "ledger": "a\0b", "origin": "", "source": "", "folder": str(tmp_path)}
        register.write_text((json.dumps(words) if kind == "zero" else "[" * 100_000) + "\n")
    with pytest.raises(LedgerError, match=r"is no file|none of a register"):
        discreet.open(tmp_path / "hospital.toml")
    assert Path(os.devnull).stat().st_mode & 0o777 == 0o666

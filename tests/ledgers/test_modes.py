"""Who may read a ledger's files, and hold its locks: their owner, and a group if the owner says so."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from discreet.errors import LedgerError, PolicyError
from discreet.files import made, narrowed
from discreet.ledgers import SQLiteLedger
from discreet.privacy import Pure
from discreet.tables import Policy
from tests.ledgers.stores import COUNT, POLICY, VISITS, Text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHARED = Policy([VISITS], epsilon=3, dataset="hospital", ledger_group=True)
FILES = {"", "-wal", "-shm", ".lock", ".queue"}


@contextmanager
def masked(mask: int) -> Iterator[None]:
    usual = os.umask(mask)
    try:
        yield
    finally:
        os.umask(usual)


def modes(folder: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}


def spend(path: Path, policy: Policy | None = POLICY) -> dict[str, int]:
    """Open a ledger, spend, and tell the modes of all files that are there meanwhile."""
    with SQLiteLedger(path, policy) as ledger:
        ledger.record(ledger.reserve(Pure("0.01"), replace(COUNT, question=os.urandom(8).hex())), Text(7))
        return modes(path.parent)


@pytest.mark.parametrize("mask", [0o022, 0o000, 0o002])
@pytest.mark.parametrize("policy, mode", [(POLICY, 0o600), (SHARED, 0o660)])
def test_nobody_else_may_read_a_ledger_or_hold_its_locks(tmp_path: Path, mask: int, policy: Policy, mode: int) -> None:
    """Under the usual mask everybody read every answer, and could hold the lock, which stops all spending."""
    with masked(mask):
        found = spend(tmp_path / "hospital.ledger.sqlite", policy)
    names = {f"hospital.ledger.sqlite{end}" for end in FILES} | {"hospital.ledger.head"}
    assert found == dict.fromkeys(names, mode)


def test_files_are_made_private_and_not_changed_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the two others could open them, and an open file stays open."""
    seen = []
    monkeypatch.setattr(os, "chmod", lambda *_, **__: seen.append(1))
    monkeypatch.setattr(os, "fchmod", lambda *_, **__: seen.append(1))
    with masked(0o000):
        assert set(spend(tmp_path / "hospital.ledger.sqlite").values()) == {0o600}
    assert seen == []


def test_a_ledger_that_everybody_may_read_is_repaired(file: Path) -> None:
    """Also its head and its logs, where a process that was killed left them."""
    for name in ("hospital.ledger.sqlite.lock", "hospital.ledger.sqlite.queue"):
        (file.parent / name).touch()
    with SQLiteLedger(file, POLICY):
        for each in file.parent.iterdir():
            each.chmod(0o644)
        with SQLiteLedger(file, POLICY):
            assert set(modes(file.parent).values()) == {0o600}
            assert len(modes(file.parent)) == 6


def test_a_group_that_was_asked_for_stays_where_no_policy_is_given(tmp_path: Path) -> None:
    path = tmp_path / "hospital.ledger.sqlite"
    spend(path, SHARED)
    assert set(spend(path, None).values()) == {0o660}
    assert set(spend(path, POLICY).values()) == {0o600}
    assert set(spend(path, SHARED).values()) == {0o660}


def test_a_ledger_of_somebody_else_that_others_may_read_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o644)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chmod", refuse)
    with pytest.raises(LedgerError, match=r"others may read or write .*hospital\.ledger\.sqlite.*chmod 600.*group"):
        SQLiteLedger(file, POLICY)
    monkeypatch.setattr(os, "chmod", lambda *_: None)  # a disk that knows no rights
    with pytest.raises(LedgerError, match="others may read"):
        SQLiteLedger(file, POLICY)
    with pytest.raises(PermissionError, match="others may read"):
        made(file, os.O_RDWR)


@pytest.mark.parametrize("mode, private", [(0o660, [True, True, False]), (0o664, [False, False, False])])
def test_another_users_file_is_shared_with_the_group_alone(
    file: Path, mode: int, private: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.chmod(mode)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    monkeypatch.setattr(os, "chmod", lambda *_: None)
    assert [narrowed(file, group=group) for group in (True, None, False)] == private


def test_a_file_that_may_only_be_read_stays_so(file: Path) -> None:
    file.chmod(0o444)
    assert narrowed(file, group=False)
    assert stat.S_IMODE(file.stat().st_mode) == 0o400


def test_the_group_is_a_word_of_the_policy() -> None:
    text = "[budget]\nepsilon = 1\n[ledger]\ngroup = {}"
    assert Policy.from_toml(text.format("true")).ledger_group
    assert not Policy.from_toml(text.format("false")).ledger_group
    assert Policy.from_toml(text.format("true")).hash == Policy.from_toml(text.format("false")).hash
    with pytest.raises(PolicyError, match=r"line 4: ledger\.group is 'yes'; it must be true or false"):
        Policy.from_toml(text.format('"yes"'))

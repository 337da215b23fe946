"""Temporary folders with copies of private rows are swept after their process, and nobody else's are touched."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from discreet import files
from discreet.files import PrivateFolder, sweep

_ROWS = """
import sys, time
from discreet.engines.duckdb import DuckDB, engine
from tests.engines.test_erasure import FIRST, ask, rows

engine._SPARE = 0  # kept rows go to the file of the temporary folder
with DuckDB(FIRST, rows()) as opened:
    ask(opened)
    opened._connection.execute("CHECKPOINT")
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands in for /tmp, here and in processes that are started."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def started() -> subprocess.Popen[bytes]:
    """Start a process that has kept rows in a temporary folder, and waits."""
    process = subprocess.Popen([sys.executable, "-c", _ROWS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def ended(process: subprocess.Popen[bytes], number: int | None = None) -> None:
    if number is not None:
        process.send_signal(number)
    process.communicate(timeout=60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_killed_process_left_is_swept_by_the_next_one(place: Path, number: signal.Signals) -> None:
    """Copies of private rows stayed in the temporary folder for ever; a process that lives keeps its own."""
    living, killed = started(), started()
    own = {each.name for each in place.iterdir() if f"-{living.pid}-" in each.name}
    ended(killed, number)
    left = [each.name for each in place.iterdir()]
    assert len(left) == 2
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o700 for each in place.iterdir())
    assert any(b"erased-7f3a9c" in each.read_bytes() for each in place.rglob("*") if each.is_file())
    ended(started())  # the next start, and an end as it should be
    assert {each.name for each in place.iterdir()} == own
    ended(living)
    assert list(place.iterdir()) == []


def test_a_name_alone_is_not_enough(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Links are not followed, and what is called otherwise is not ours."""
    target = tmp_path_factory.mktemp("target")
    (target / "kept").write_text("-")
    (place / "discreet-private-1-abcdefgh").symlink_to(target)
    for name in ("discreet-notes", "discreet-private-notes", "discreet-private-1-abcdefgh.old"):
        (place / name).mkdir()
    (place / "discreet-private-1-bbbbbbbb").write_text("-")
    (place / "discreet-private-1-cccccccc").mkdir()
    before = {each.name for each in place.iterdir()}
    sweep()
    assert {each.name for each in place.iterdir()} == before - {"discreet-private-1-cccccccc"}
    assert (target / "kept").read_text() == "-"


def test_a_link_inside_a_folder_is_removed_and_not_followed(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = tmp_path_factory.mktemp("target")
    (target / "kept").write_text("-")
    (place / "discreet-private-1-cccccccc").mkdir()
    (place / "discreet-private-1-cccccccc" / "inside").symlink_to(target)
    sweep()
    assert list(place.iterdir()) == []
    assert (target / "kept").read_text() == "-"


def test_a_folder_of_another_user_is_left_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "discreet-private-1-cccccccc").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        sweep()
    assert len(list(place.iterdir())) == 1
    sweep()
    assert list(place.iterdir()) == []


def test_who_sweeps_while_a_folder_is_made_does_not_take_it_away(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is empty and not locked yet for a moment; whoever loses it then makes another."""
    made: list[str] = []

    def swept(prefix: str, **_: object) -> str:
        found = str(place / f"{prefix}aaaaaaa{len(made)}")
        Path(found).mkdir(mode=0o700)
        made.append(found)
        if len(made) == 1:
            sweep()
        return found

    monkeypatch.setattr(tempfile, "mkdtemp", swept)
    with PrivateFolder() as path:
        assert path.exists()
        assert made == [str(place / f"{path.name[:-1]}0"), str(path)]
        sweep()
        assert path.exists()
    assert list(place.iterdir()) == []


def test_a_forked_child_leaves_the_folder_to_its_parent(place: Path) -> None:
    with PrivateFolder() as path:
        child = os.fork()
        if not child:
            files._remove(path, None, os.getpid() + 1)  # what ends with the child is the parent's
            os._exit(0 if path.exists() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [path] == list(place.iterdir())


def test_a_folder_that_nobody_holds_any_more_is_removed(place: Path) -> None:
    folder = PrivateFolder()
    assert folder.path.exists()
    del folder
    assert list(place.iterdir()) == []


def test_a_folder_that_was_removed_by_hand_is_no_error(place: Path) -> None:
    with PrivateFolder() as path:
        shutil.rmtree(path)
    assert list(place.iterdir()) == []


def test_a_device_or_a_pipe_keeps_its_mode(tmp_path: Path) -> None:
    """An export into /dev/null, by root, would close it to everybody else on the machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o666)
    assert files.narrowed(pipe, group=False)
    assert stat.S_IMODE(pipe.stat().st_mode) == 0o666

"""What all tests share: code blocks of the documents as tests, and seeds."""

from __future__ import annotations

import atexit
import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
from doctest import ELLIPSIS
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest
from hypothesis import settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from xdist.scheduler import LoadScopeScheduling

from discreet.noise import bits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

# Every ```python block of README.md and docs/ runs; there is no way to skip one.
pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)],
    patterns=["*.md"],
).pytest()


_DIGITS = 60  # of mpmath, while tests are collected and before each one
mpmath.mp.dps = _DIGITS

# Timing never decides a test, and a run without --fresh-seeds is the same every time.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("fresh", deadline=None)


class DocumentsWhole(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """Share tests among workers one by one, but give each document to one worker: its blocks use each other's names."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0] if ".md::" in nodeid else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Replace the default of pytest -n; another --dist is the caller's choice."""
    return DocumentsWhole(config, log) if config.getoption("dist") == "load" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run ask for seeds that no run has seen before."""
    parser.addoption(
        "--fresh-seeds",
        action="store_true",
        help="seed statistical tests from the operating system instead of from their names",
    )
    parser.addoption(
        "--one-of",
        type=int,
        default=1,
        metavar="N",
        help="of slow tests and of those that ask by the thousands run one in N; which, depends on the last commit",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let Hypothesis follow the same option, and let processes that tests start hear Ctrl-C.

    A shell starts what it runs in the background with interrupts ignored, and children inherit that: a test that
    interrupts one would wait for ever.
    """
    settings.load_profile("fresh" if config.getoption("--fresh-seeds") else "fixed")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


_NEED_TORCH = ("src/discreet/methods/learning/deep", "docs/reference/deep.md")
"""Examples that need torch, an extra; in CI it is there."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out examples whose extra is not installed; their tests skip with a reason."""
    needs = any(collection_path.is_relative_to(config.rootpath / place) for place in _NEED_TORCH)
    return True if needs and find_spec("torch") is None else None


_NEED_SPARK = ("docs/how-to/use-spark.md::",)
"""Documents whose blocks start Spark: they run in its stage, by tests/engines/test_spark.py, and by `-m spark`."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the blocks of documents that need a server, and leave out what this run need not ask."""
    for item in items:
        if item.nodeid.startswith(_NEED_SPARK):
            item.add_marker("spark")
    if (parts := config.getoption("--one-of")) > 1:
        commit = _last_commit(config.rootpath)
        kept = [item for item in items if not _takes_long(item) or _chosen(item, commit, parts)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept


def _last_commit(root: Path) -> str:
    """Name the last commit; nothing where there is no history."""
    run = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)  # noqa: S607 - git of whoever runs this
    return run.stdout


def _takes_long(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(lane) is not None for lane in ("slow", "fuzz"))


def _chosen(item: pytest.Item, commit: str, parts: int) -> bool:
    return int.from_bytes(hashlib.sha256(f"{commit} {item.nodeid}".encode()).digest()[:8]) % parts == 0


_STATE = tempfile.mkdtemp(prefix="discreet-tests-state-")
_TESTS = count()
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
_KEY_STREAM = bits._key_stream  # noqa: SLF001  the package offers no way in, and none is wanted
_OF_THE_SOURCE = "tests/noise/test_bits.py"  # these test the system's source itself


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the system's source, too, give a test the same bits in every run, as releases of a database take no other.

    Processes that a test starts draw fresh bits: what they assert must hold but for a chance of 1e-9. mpmath's
    precision is the same before each test, too: with the 200 digits of another one, a test would take minutes.
    """
    mpmath.mp.dps = _DIGITS
    os.environ["XDG_STATE_HOME"] = (
        f"{_STATE}/{next(_TESTS)}"  # no test enters a ledger in the register of whoever runs it
    )
    wanted = item.config.getoption("--fresh-seeds") and item.get_closest_marker("fixed_bits") is None
    fresh = wanted or item.nodeid.startswith(_OF_THE_SOURCE)
    bits._key_stream = _KEY_STREAM if fresh else _replayed(item.nodeid)  # type: ignore[assignment]  # noqa: SLF001
    bits.SYSTEM._forget()  # noqa: SLF001


def _replayed(name: str) -> Callable[[int], NDArray[np.uint8]]:
    """Return a source of bytes that depend on a test's name alone."""
    blocks, process = count(), os.getpid()

    def stream(size: int) -> NDArray[np.uint8]:
        if os.getpid() != process:  # a child that was forked must not repeat its parent
            return _KEY_STREAM(size)
        digest = hashlib.sha256(f"{name} {next(blocks)}".encode()).digest()
        return np.random.Generator(np.random.PCG64(int.from_bytes(digest))).integers(0, 256, size, dtype=np.uint8)

    return stream


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Give a statistical test its seed: fixed by its name, or fresh with --fresh-seeds."""
    if request.config.getoption("--fresh-seeds"):
        fresh = secrets.randbits(64)
        request.node.add_report_section("call", "seed", f"seed = {fresh}")
        return fresh
    return int.from_bytes(hashlib.sha256(request.node.nodeid.encode()).digest()[:8])

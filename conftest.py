"""What all tests share: code blocks of the documents as tests, and seeds."""

from __future__ import annotations

import hashlib
import secrets
from doctest import ELLIPSIS
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

# Every ```python block of README.md and docs/ runs; there is no way to skip one.
pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)],
    patterns=["*.md"],
).pytest()


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


def pytest_configure(config: pytest.Config) -> None:
    """Let Hypothesis follow the same option."""
    settings.load_profile("fresh" if config.getoption("--fresh-seeds") else "fixed")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Give a statistical test its seed: fixed by its name, or fresh with --fresh-seeds."""
    if request.config.getoption("--fresh-seeds"):
        fresh = secrets.randbits(64)
        request.node.add_report_section("call", "seed", f"seed = {fresh}")
        return fresh
    return int.from_bytes(hashlib.sha256(request.node.nodeid.encode()).digest()[:8])

"""What all tests share: code blocks of the documents as tests, and seeds."""

from __future__ import annotations

import hashlib
import secrets
from doctest import ELLIPSIS

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

# Every ```python block of README.md and docs/ runs; there is no way to skip one.
pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)],
    patterns=["*.md"],
).pytest()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run ask for seeds that no run has seen before."""
    parser.addoption(
        "--fresh-seeds",
        action="store_true",
        help="seed statistical tests from the operating system instead of from their names",
    )


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Give a statistical test its seed: fixed by its name, or fresh with --fresh-seeds."""
    if request.config.getoption("--fresh-seeds"):
        fresh = secrets.randbits(64)
        request.node.add_report_section("call", "seed", f"seed = {fresh}")
        return fresh
    return int.from_bytes(hashlib.sha256(request.node.nodeid.encode()).digest()[:8])

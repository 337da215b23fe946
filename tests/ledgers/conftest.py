"""The places of ledgers as a fixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from discreet.ledgers import SQLiteLedger
from discreet.privacy import Pure
from tests.ledgers.stores import COUNT, POLICY, Place, Text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.engine)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    found = Place(request.param, tmp_path)
    yield found
    found.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger with one answer, closed."""
    path = tmp_path / "hospital.ledger.sqlite"
    with SQLiteLedger(path, POLICY) as ledger:
        ledger.record(ledger.reserve(Pure("0.5"), COUNT), Text(7))
    return path

"""The places of ledgers as a fixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.ledgers.stores import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.engine)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    found = Place(request.param, tmp_path)
    yield found
    found.close()

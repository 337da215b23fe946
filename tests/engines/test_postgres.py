"""PostgreSQL gives the reference's integers."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from discreet.engines.postgres import Postgres
from tests.engines.conformance import differences
from tests.engines.databases import KEY, key_rank, row_rank, text_database, typed_database
from tests.engines.servers import fill_postgres, postgres
from tests.plans import interpreter
from tests.plans.hospital import POLICY, database

if TYPE_CHECKING:
    from tests.plans.interpreter import Database

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def _same_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "rank", row_rank)
    monkeypatch.setattr(interpreter, "key_rank", key_rank)


@pytest.mark.parametrize("kind", ["typed", "text"])
def test_every_source_gives_the_integers_of_the_reference(kind: str) -> None:
    given = database(Random(kind), units=6)
    stored: Database
    stored, read = text_database(POLICY, given) if kind == "text" else (typed_database(POLICY, given),) * 2
    fill_postgres(postgres(), kind, POLICY, stored, text=kind == "text")
    with Postgres(POLICY, postgres(), schema=kind, rank_key=KEY) as engine:
        assert engine.alive()
        assert list(differences(engine, read, 80, exact_only=True)) == []

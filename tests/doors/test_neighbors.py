"""What DuckDB computes moves by no more than the plan claims when a unit leaves the data."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.sql.relations import Emitter
from discreet.plans.nodes import BoundRows
from tests.engines.conformance import opened, questions
from tests.engines.databases import KEY, arrow_tables, typed_database
from tests.plans import claims
from tests.plans.hospital import POLICY, database, without

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.engines.sql.relations import Relation
    from discreet.plans.nodes import Aggregate, Node
    from tests.plans.interpreter import Database

UNITS = ("p0", "p1")


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """Engines on a database and on its neighbors, in the place of the reference."""
    given = typed_database(POLICY, database(Random("neighbors"), units=5))
    given["answers"] = []  # rows without a name cannot be taken out by name
    shown: dict[str, DuckDB] = {}

    def groups_of(aggregate: Aggregate, data: Database) -> dict[tuple[Any, ...], list[tuple[int, ...]]]:
        return opened(shown[repr(data)].prepare(aggregate).run(), aggregate)

    def neighbor(data: Database, unit: object) -> Database:
        return without(data | {"answers": []}, unit)

    for data in (given, *(neighbor(given, unit) for unit in UNITS)):
        shown[repr(data)] = DuckDB(POLICY, arrow_tables(POLICY, data), rank_key=KEY)
    monkeypatch.setattr(claims, "groups_of", groups_of)
    monkeypatch.setattr(claims, "without", neighbor)
    yield given
    for engine in shown.values():
        engine.close()


def refuted(given: Database, count: int) -> list[str]:
    return [
        f"{name}: {text}"
        for name, plan in questions(count)
        if "answers" not in plan.tables
        for text in claims.wrong_moves(plan.aggregate, given, *UNITS)
    ]


def test_no_unit_moves_an_exact_answer_further_than_claimed(engines: Database) -> None:
    assert refuted(engines, 24) == []


def test_an_engine_that_forgets_a_limit_is_seen(engines: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Emitter.relation

    def forgetful(self: Emitter, node: Node) -> Relation:
        return honest(self, node.child if isinstance(node, BoundRows) else node)

    monkeypatch.setattr(Emitter, "relation", forgetful)
    assert any("moves by" in text for text in refuted(engines, 0))

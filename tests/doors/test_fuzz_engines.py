"""Questions of a grammar by the tens of thousands: none crashes, none fails on rows, none moves further than claimed.

A question is planned; if it is answered, it runs on a database and on two neighbors, each of which lacks one unit. The
exact answers must lie within the plan's claim of each other. `make fuzz` runs it: 50,000 questions planned, 5,000
executed on DuckDB, 300 on PostgreSQL; `make test-spark` runs 30 on Spark. With --fresh-seeds the questions are new.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.engines.sql.relations import Emitter
from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from discreet.plans.nodes import BoundRows
from tests.engines.conformance import LIMITS, opened
from tests.engines.databases import KEY, arrow_tables, typed_database
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.plans import claims
from tests.plans.grammar import Questions
from tests.plans.hospital import POLICY, database, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from discreet.engines import Engine, Prepared
    from discreet.engines.sql.relations import Relation
    from discreet.plans import Plan
    from discreet.plans.nodes import Aggregate, Node
    from tests.plans.interpreter import Database

UNITS = ("p0", "p1")
BLOCKS = 10
PLANNED, EXECUTED = 50_000 // BLOCKS, 5_000 // BLOCKS


class Neighbors:
    """A database and its neighbors, each behind an engine."""

    def __init__(self, name: str, open_one: Callable[[int, Database], Engine], patch: pytest.MonkeyPatch) -> None:
        given = typed_database(POLICY, database(Random(name), units=5))
        given["answers"] = []  # rows without a name cannot be taken out by name
        self.given = given
        self._near = {unit: without(given, unit) | {"answers": []} for unit in UNITS}
        self.engines: dict[int, Engine] = {
            id(data): open_one(place, data) for place, data in enumerate((given, *self._near.values()))
        }
        self._asked: tuple[Aggregate, Prepared] | None = None
        patch.setattr(claims, "groups_of", self._groups_of)
        patch.setattr(claims, "without", lambda _, unit: self._near[unit])

    def _groups_of(self, aggregate: Aggregate, data: Database) -> dict[tuple[Any, ...], list[tuple[int, ...]]]:
        engine = self.engines[id(data)]
        if not isinstance(engine, DuckDB):
            return opened(engine.prepare(aggregate).run(), aggregate)
        if self._asked is None or self._asked[0] is not aggregate:  # the tables have the same names in all three
            self._asked = aggregate, engine.prepare(aggregate)
        return opened(engine.compute(self._asked[1]._statements), aggregate)  # type: ignore[attr-defined]

    def refuted(self, plan: Plan) -> list[str]:
        """Run a question on all three; name the claims that they refute."""
        return list(claims.wrong_moves(plan.aggregate, self.given, *UNITS))

    def close(self) -> None:
        for engine in self.engines.values():
            engine.close()


def planned(numbers: Sequence[int]) -> Iterator[tuple[str, Plan | None]]:
    """Plan questions, a fifth of them with something broken, under limits that take turns."""
    for number in numbers:
        questions = Questions(Random(number))
        sql = questions.question() if number % 5 else questions.broken()
        try:
            yield f"seed {number}: {sql}", plan_sql(POLICY, sql, bounding=LIMITS[number % len(LIMITS)])
        except QueryRefused:
            yield sql, None


def executed(numbers: Sequence[int], near: Neighbors, most: int) -> tuple[list[str], int]:
    """Plan all questions and execute the first that are answered."""
    wrong, done = [], 0
    for name, plan in planned(numbers):
        if plan is None or done == most or "answers" in plan.tables:
            continue
        try:
            wrong += [f"{name}: {text}" for text in near.refuted(plan)]
        except QueryRefused:  # what one engine cannot compute it refuses before it looks at rows
            continue
        done += 1
    return wrong, done


@pytest.fixture
def on_duckdb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Neighbors]:
    def open_one(_: int, data: Database) -> Engine:
        return DuckDB(POLICY, arrow_tables(POLICY, data), rank_key=KEY, threads=1)

    near = Neighbors("fuzz", open_one, monkeypatch)
    yield near
    near.close()


@pytest.mark.fuzz
@pytest.mark.parametrize("block", range(BLOCKS))
def test_duckdb_keeps_the_claims_of_thousands_of_questions(block: int, seed: int, on_duckdb: Neighbors) -> None:
    first = seed % 2**32
    print(f"block {block}: seeds {first} to {first + PLANNED - 1}")  # noqa: T201 - shown when it fails
    wrong, done = executed(range(first, first + PLANNED), on_duckdb, EXECUTED)
    assert wrong == []
    assert done == EXECUTED


@pytest.mark.fuzz
@pytest.mark.engine
def test_postgres_keeps_the_claims_of_hundreds_of_questions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_one(place: int, data: Database) -> Engine:
        fill_postgres(postgres(), f"fuzz_{place}", POLICY, data)
        return Postgres(POLICY, postgres(), schema=f"fuzz_{place}", rank_key=KEY)

    near = Neighbors("fuzz", open_one, monkeypatch)
    first = seed % 2**32
    print(f"seeds from {first} on")  # noqa: T201 - shown when it fails
    wrong, done = executed(range(first, first + 1200), near, 300)
    near.close()
    assert wrong == []
    assert done == 300


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_keeps_the_claims_of_some_questions(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    def open_one(place: int, data: Database) -> Engine:
        folder = tmp_path / str(place)
        folder.mkdir()
        for name, table in arrow_tables(POLICY, data).items():
            pq.write_table(table, folder / f"{name}.parquet")
        return Spark(POLICY, spark_session(), folder=folder, rank_key=KEY)

    near = Neighbors("fuzz", open_one, monkeypatch)
    first = seed % 2**32
    print(f"seeds from {first} on")  # noqa: T201 - shown when it fails
    wrong, done = executed(range(first, first + 200), near, 30)
    assert wrong == []
    assert done == 30


@pytest.mark.fuzz
def test_the_fuzzer_sees_an_engine_that_forgets_a_limit(
    seed: int, on_duckdb: Neighbors, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Emitter.relation

    def forgetful(self: Emitter, node: Node) -> Relation:
        return honest(self, node.child if isinstance(node, BoundRows) else node)

    monkeypatch.setattr(Emitter, "relation", forgetful)
    wrong, _ = executed(range(seed % 2**32, seed % 2**32 + 400), on_duckdb, 200)
    assert any("moves by" in text for text in wrong)

"""Questions of a grammar by the tens of thousands: none crashes, none fails on rows, none moves further than claimed.

A question is planned; if it is answered, it runs on a random database and on a neighbor that lacks one unit, a third of
the questions on a second neighbor as well. The exact answers must lie within the plan's claim of each other. It is
`make fuzz`: 50,000 questions planned, 5,000 executed on DuckDB, 300 on PostgreSQL; `make test-spark` runs 30 on Spark.
Each block prints its seeds. With --fresh-seeds the questions and databases are new.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import duckdb
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.engines.sql.relations import Emitter
from discreet.engines.sql.running import PreparedQuestion
from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from discreet.plans.nodes import BoundRows
from discreet.privacy import NeighborRelation
from tests.engines.conformance import LIMITS, opened
from tests.engines.databases import KEY, arrow_tables, typed_database
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.plans.claims import refuted
from tests.plans.grammar import Questions
from tests.plans.hospital import POLICY, database, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from discreet.engines import Engine
    from discreet.engines.sql.relations import Relation
    from discreet.engines.sql.statements import Statements
    from discreet.plans import Plan
    from discreet.plans.nodes import Aggregate, Node
    from tests.plans.claims import Groups
    from tests.plans.interpreter import Database

BLOCKS = 20
PLANNED, EXECUTED = 50_000 // BLOCKS, 5_000 // BLOCKS
POSTGRES_BLOCKS = 4
CHANGED_TOO = 3
"""Every so many questions the second neighbor is asked as well."""


def neighbors(seed: int) -> list[Database]:
    """A random database, and two neighbors: each lacks a unit of every kind, as a question is about one kind."""
    given = database(Random(seed), units=5)
    found = [given]
    for place in (0, 1):
        found.append(given)
        for unit in (f"p{place}", f"s{place}", f"a{place}"):
            found[-1] = without(found[-1], unit)
    return [typed_database(POLICY, each) for each in found]


class Neighbors:
    """A database and its neighbors, each behind an engine."""

    def __init__(self, seed: int, open_one: Callable[[int, Database], Engine]) -> None:
        self.engines = [open_one(place, data) for place, data in enumerate(neighbors(seed))]

    def refuted(self, aggregate: Aggregate, number: int) -> list[str]:
        """Run a question on the database and on neighbors; name the claims that they refute."""
        here, one = (self._groups(aggregate, place) for place in (0, 1 + number % 2))
        wrong = [*refuted(aggregate, NeighborRelation.ADD_REMOVE, here, one)]
        if number % CHANGED_TOO == 0:
            two = self._groups(aggregate, 2 - number % 2)
            wrong += refuted(aggregate, NeighborRelation.CHANGE_ONE, one, two)
        return wrong

    def _groups(self, aggregate: Aggregate, place: int) -> Groups:
        return opened(self.engines[place].prepare(aggregate).run(), aggregate)

    def close(self) -> None:
        for engine in self.engines:
            engine.close()


class SameTables(Neighbors):
    """Neighbors whose tables have the same names: statements are written, and parsed by DuckDB, once for all."""

    def _groups(self, aggregate: Aggregate, place: int) -> Groups:
        if place == 0:
            asked: Statements = self.engines[0].prepare(aggregate)._statements  # type: ignore[attr-defined]
            self._asked = replace(asked)
            self._asked.__dict__["texts"] = tuple(map(parsed, asked.texts))
        engine = self.engines[place]
        return opened(PreparedQuestion(engine, self._asked).run(), aggregate)  # type: ignore[arg-type]  # they are SQL engines


def parsed(text: str) -> duckdb.Statement:
    """What the driver makes of a text, and takes in its place; a third of the time of a question on a few rows."""
    (statement,) = duckdb.extract_statements(text)
    return statement


def planned(numbers: Iterable[int]) -> Iterator[tuple[int, str, Plan | None, str]]:
    """Plan questions, a fifth of them with something broken, under limits that take turns; name what crashes."""
    for number in numbers:
        questions = Questions(Random(number))
        sql = questions.question() if number % 5 else questions.broken()
        plan, wrong = None, ""
        try:
            plan = plan_sql(POLICY, sql, bounding=LIMITS[number % len(LIMITS)])
        except QueryRefused:
            pass
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is a finding
            wrong = f"planning fails with {problem!r}"
        yield number, f"seed {number}: {sql}", plan, wrong


def executed(numbers: Iterable[int], near: Neighbors, most: int) -> tuple[list[str], int]:
    """Plan all questions and execute the first that are answered; say what is wrong, and how many were executed."""
    wrong, done = [], 0
    for number, name, plan, crash in planned(numbers):
        if crash:
            wrong.append(f"{name}: {crash}")
        if plan is None or done == most:
            continue
        try:
            wrong += [f"{name}: {text}" for text in near.refuted(plan.aggregate, number)]
        except QueryRefused:  # what one engine cannot compute it refuses before it looks at rows
            continue
        except Exception as problem:  # noqa: BLE001 - an error that depends on rows, or a crash
            wrong.append(f"{name}: running fails with {problem!r}")
        done += 1
    return wrong, done


def first_of(seed: int, engine: str) -> int:
    found = seed % 2**32
    print(f"{engine}: seeds from {found} on, database {found}")  # noqa: T201 - `make fuzz` shows it
    return found


def in_duckdb(_: int, data: Database) -> Engine:
    return DuckDB(POLICY, arrow_tables(POLICY, data), rank_key=KEY, threads=1)


@pytest.mark.fuzz
@pytest.mark.engine
@pytest.mark.parametrize("block", range(POSTGRES_BLOCKS))
def test_postgres_keeps_the_claims_of_hundreds_of_questions(block: int, seed: int) -> None:
    def open_one(place: int, data: Database) -> Engine:
        schema = f"fuzz_{block}_{place}"
        fill_postgres(postgres(), schema, POLICY, data)
        return Postgres(POLICY, postgres(), schema=schema, rank_key=KEY)

    first = first_of(seed, "PostgreSQL")
    near = Neighbors(first, open_one)
    most = 300 // POSTGRES_BLOCKS
    wrong, done = executed(range(first, first + 4 * most), near, most)
    near.close()
    assert wrong == []
    assert done == most


@pytest.mark.fuzz
@pytest.mark.parametrize("block", range(BLOCKS))
def test_duckdb_keeps_the_claims_of_thousands_of_questions(block: int, seed: int) -> None:  # noqa: ARG001 - its seed
    first = first_of(seed, "DuckDB")
    near = SameTables(first, in_duckdb)
    wrong, done = executed(range(first, first + PLANNED), near, EXECUTED)
    near.close()
    assert wrong == []
    assert done == EXECUTED


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_keeps_the_claims_of_some_questions(seed: int, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    def open_one(place: int, data: Database) -> Engine:
        folder = tmp_path / str(place)
        folder.mkdir()
        for name, table in arrow_tables(POLICY, data).items():
            pq.write_table(table, folder / f"{name}.parquet")
        return Spark(POLICY, spark_session(), folder=folder, rank_key=KEY)

    first = first_of(seed, "Spark")
    wrong, done = executed(range(first, first + 200), Neighbors(first, open_one), 30)
    assert wrong == []
    assert done == 30


@pytest.mark.fuzz
def test_the_fuzzer_sees_an_engine_that_forgets_a_limit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Emitter.relation

    def forgetful(self: Emitter, node: Node) -> Relation:
        return honest(self, node.child if isinstance(node, BoundRows) else node)

    monkeypatch.setattr(Emitter, "relation", forgetful)
    near = SameTables(seed % 2**32, in_duckdb)
    wrong, _ = executed(range(seed % 2**32, seed % 2**32 + 120), near, 60)
    near.close()
    assert any("moves by" in text for text in wrong)

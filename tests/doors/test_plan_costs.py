"""What plans cost the process that asks: growing and random questions, each on two databases that differ in one unit.

A process of its own plans and runs them under a limit on its memory, so that a plan which grows in an engine's
optimizer ends that process and not the tests. Asserted: no crash, no failure of an engine, the same outcome (answered
or refused) on both databases, and a peak of memory below a generous limit. Time is printed and decides nothing.

`make fuzz` runs all of it, `make test` a few questions of each class. After an upgrade of an engine: `make fuzz
ARGS="-k plan_costs"`, and for Spark `make test-spark`; the figures are in `docs/decisions/0010-plan-costs.md`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from tests.engines.databases import KEY, arrow_tables, typed_database
from tests.plans.grammar import Questions
from tests.plans.growth import GROWING
from tests.plans.hospital import POLICY, database, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.engines import Engine
    from tests.plans.interpreter import Database

MOST_MEMORY = 1_500
"""Megabytes that the process may hold at its peak; some 190 are Python's own, and 560 were the most that was seen."""
ADDRESSES = 8 * 2**30
"""Bytes of addresses: an engine that runs away is stopped here, not by the machine."""
NUMBERS = (4, 10, 16, 31, 95, 390)
SOME = ("a power over a join", "squares of projections", "rows per unit", "a sum of floats", "laughs by joins", "AND")

Case: TypeAlias = tuple[str, str]
Outcome: TypeAlias = dict[str, object]


def neighbors() -> list[Database]:
    """A database, and the same without a unit, which has as many rows as a unit can have."""
    given = database(Random("plan costs"), units=6)
    return [typed_database(POLICY, each) for each in (given, without(given, "p0"))]


def outcome(engine: Engine, sql: str) -> str:
    """What an analyst sees of a question: answered, refused, or something that must not be."""
    try:
        engine.prepare(plan_sql(POLICY, sql).aggregate).run()
    except QueryRefused:
        return "refused"
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is a finding
        return f"fails with {type(problem).__name__}: {str(problem)[:90]}"
    return "answered"


def compared(engines: list[Engine], cases: list[Case]) -> None:
    """Run questions on both databases, and print what came of each as a line."""
    for name, sql in cases:
        start = time.perf_counter()
        seen = [outcome(engine, sql) for engine in engines]
        line = {"name": name, "seen": seen, "peak": _peak(), "seconds": round(time.perf_counter() - start, 2)}
        print(json.dumps(line), flush=True)  # noqa: T201 - read by the test, or shown by it


def in_duckdb(data: Database) -> Engine:
    return DuckDB(POLICY, arrow_tables(POLICY, data), rank_key=KEY, threads=1)


def run_in_duckdb(cases: list[Case]) -> list[Outcome]:
    """Run questions in a process with a limit on its memory; a process that ends early leaves lines out."""
    root = Path(__file__).parents[2]
    search = os.pathsep.join([str(root / "src"), str(root)])
    process = subprocess.run(
        [sys.executable, "-m", "tests.doors.test_plan_costs"],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env=os.environ | {"PYTHONPATH": search},
    )
    print(process.stdout, process.stderr[-2000:])  # noqa: T201 - times and peaks, which `make fuzz` shows
    return [json.loads(line) for line in process.stdout.splitlines()]


def wrong(cases: list[Case], found: list[Outcome], most: int = MOST_MEMORY) -> list[str]:
    """Say what must not be."""
    names = [str(line["name"]) for line in found]
    problems = [f"{name}: the process ended" for name, _ in cases[len(names) : len(names) + 1]]
    for line in found:
        if line["seen"] not in (["answered"] * 2, ["refused"] * 2):
            problems.append(f"{line['name']}: {line['seen']}")
        if int(str(line["peak"])) > most:
            problems.append(f"{line['name']}: {line['peak']} megabytes")
    return problems


def grown(names: list[str], numbers: tuple[int, ...]) -> list[Case]:
    return [(f"{name} {number}", GROWING[name](number)) for name in names for number in numbers]


def random_cases(seed: int, count: int) -> list[Case]:
    """Questions of the grammar, deeper than those of the other lane."""
    return [(f"seed {number}", Questions(Random(number)).question(depth=4)) for number in range(seed, seed + count)]


def test_some_growing_plans_cost_little_in_duckdb() -> None:
    cases = grown([*SOME], (16, 90))
    found = run_in_duckdb(cases)
    assert wrong(cases, found) == []
    answered = [line["name"] for line in found if line["seen"] == ["answered"] * 2]
    assert {"a power over a join 16", "rows per unit 16", "a sum of floats 90", "AND 90"} <= {*answered}


@pytest.mark.slow
def test_the_lane_sees_the_rule_of_duckdb_that_is_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rule on, each float operation below an inner join costs four times the last: six are 20 megabytes."""
    monkeypatch.setenv("PLAN_COSTS_RULES", "statistics_propagation,top_n_window_elimination")
    cases = [("a product over a join", _product(1)), ("seven products over a join", _product(7))]
    few, many = run_in_duckdb(cases)
    assert int(str(many["peak"])) > int(str(few["peak"])) + 40
    monkeypatch.delenv("PLAN_COSTS_RULES")
    few, many = run_in_duckdb(cases)
    assert int(str(many["peak"])) < int(str(few["peak"])) + 20


def _product(number: int) -> str:
    pairs = "visits AS a JOIN visits AS b ON a.patient_id = b.patient_id"
    return f"SELECT COUNT(z{' * z' * number}) FROM (SELECT a.patient_id, a.score + b.score AS z FROM {pairs}) AS q"


def test_the_lane_sees_a_process_that_ends_and_outcomes_that_differ() -> None:
    cases = [("one", ""), ("two", "")]
    line: Outcome = {"name": "one", "seen": ["answered", "refused"], "peak": 2 * MOST_MEMORY}
    assert wrong(cases, [line]) == [
        "two: the process ended",
        "one: ['answered', 'refused']",
        f"one: {2 * MOST_MEMORY} megabytes",
    ]


@pytest.mark.fuzz
@pytest.mark.parametrize("name", GROWING)
def test_growing_plans_cost_little_in_duckdb(name: str) -> None:
    cases = grown([name], NUMBERS)
    assert wrong(cases, run_in_duckdb(cases)) == []


@pytest.mark.fuzz
def test_random_plans_cost_little_in_duckdb(seed: int) -> None:
    cases = random_cases(seed % 2**32, 400)
    assert wrong(cases, run_in_duckdb(cases)) == []


def run_here(cases: list[Case], open_one: Callable[[int, Database], Engine]) -> list[Outcome]:
    """Run questions on an engine with a process of its own, which tells nothing of its memory here."""
    engines = [open_one(place, data) for place, data in enumerate(neighbors())]
    found: list[Outcome] = []
    for name, sql in cases:
        start = time.perf_counter()
        found.append({"name": name, "seen": [outcome(engine, sql) for engine in engines], "peak": 0})
        print(name, found[-1]["seen"], f"{time.perf_counter() - start:.2f} s")  # noqa: T201 - `make fuzz` shows it
    for engine in engines:
        engine.close()
    return found


@pytest.mark.fuzz
@pytest.mark.engine
def test_growing_plans_cost_little_in_postgres() -> None:
    from discreet.engines.postgres import Postgres
    from tests.engines.servers import fill_postgres, postgres

    def open_one(place: int, data: Database) -> Engine:
        fill_postgres(postgres(), f"costs_{place}", POLICY, data)
        return Postgres(POLICY, postgres(), schema=f"costs_{place}", rank_key=KEY)

    cases = grown([*GROWING], (10, 31, 95))
    assert wrong(cases, run_here(cases, open_one)) == []


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_some_growing_plans_cost_little_in_spark(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from discreet.engines.spark import Spark
    from tests.engines.servers import spark_session

    def open_one(place: int, data: Database) -> Engine:
        folder = tmp_path / str(place)
        folder.mkdir()
        for name, table in arrow_tables(POLICY, data).items():
            pq.write_table(table, folder / f"{name}.parquet")
        return Spark(POLICY, spark_session(), folder=folder, rank_key=KEY)

    cases = [*grown(["a power over a join", "rows per unit"], (8, 16)), *grown(["a sum of floats"], (40, 95))]
    assert wrong(cases, run_here(cases, open_one)) == []


def _write_inner_joins() -> None:
    """Join as nobody does here any more: of all rows of both sides the rule aggregates none below a join."""
    from discreet.engines.sql.relations import Emitter

    all_rows = Emitter._all_rows

    def inner(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it takes
        query = all_rows(*arguments, **named)
        query.args["joins"][0].set("side", None)
        return query

    Emitter._all_rows = inner  # type: ignore[method-assign]


def _peak() -> int:
    """The most memory that this program held, in megabytes; what its parent held before it began does not count."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return int(status.read_text().partition("VmHWM:")[2].split()[0]) // 1024


def _main() -> None:
    """Read questions from the standard input, and run them under the limit."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    rules = os.environ.get("PLAN_COSTS_RULES")
    if rules is not None:
        import duckdb

        connect = duckdb.connect

        def with_rules(path: str, config: dict[str, str | bool | int | float | list[str]]) -> duckdb.DuckDBPyConnection:
            return connect(path, config=config | {"disabled_optimizers": rules})

        duckdb.connect = with_rules  # type: ignore[assignment]  # as the engine calls it
        _write_inner_joins()
    compared([in_duckdb(data) for data in neighbors()], json.load(sys.stdin))


if __name__ == "__main__":
    _main()

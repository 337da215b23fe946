"""What one person's row does to the time and memory of a question: `python -m benchmarks.channels`.

Each attack is a question whose work is aimed at one row. It is asked of a table in which that person has the value
that it looks for, and of one in which the person has another. Printed are the CPU time of both, their ratio, and the
difference of peak memory: what whoever asks could see of one row. Attacks that planning refuses are named as such; they
touch no row. Questions that a generator writes follow, of which the worst ratio is printed.

DuckDB runs in this process. `--postgres ADDRESS` asks a server too, in a schema that is made and removed; its time is
that of the clock and its memory that of the server's process, which must be on this machine. `--spark local[2]` asks
Spark, by the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError, QueryRefused
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.engines.sql.running import SQLEngine

POLICY = Policy(
    [
        Table(
            "visits",
            unit="id",
            rows_per_unit=1,
            columns=[Column("id", type="integer"), Column("dx", keys=["hiv", "flu"]), Column("t", type="text")],
        )
    ],
    epsilon=1,
)
PEOPLE, RUNS, GENERATED = 20_000, 5, 12
WANTED = "id = 42 AND dx = 'hiv'"


def aimed(work: str, otherwise: str) -> str:
    """Count rows by a condition that is dear for the attacked row alone."""
    return f"SELECT COUNT(*) AS n FROM visits WHERE CASE WHEN {WANTED} THEN {work} ELSE {otherwise} END"  # noqa: S608 - ours


def nested(levels: int, times: int) -> str:
    """Multiply a text at each level, for the attacked row alone."""
    inner, copies = "(SELECT id, dx, t FROM visits)", " || ".join(["t"] * times)
    for _ in range(levels):
        inner = f"(SELECT id, dx, CASE WHEN {WANTED} THEN {copies} ELSE t END AS t FROM {inner})"  # noqa: S608 - ours
    return f"SELECT COUNT(*) AS n FROM {inner} WHERE t <> 'y'"  # noqa: S608 - ours


LONG = " || ".join(["t"] * 16)
ATTACKS = {
    "texts 20-fold at three levels": nested(3, 20),
    "texts 4-fold at two levels": nested(2, 4),
    "the longest text, compared": aimed(f"{LONG} < 'y'", "TRUE"),
    "LIKE of many pieces": aimed(f"({LONG}) LIKE '{'%a' * 120}%b'", "TRUE"),
    "LIKE of many pieces with _": aimed(f"({LONG}) LIKE '{'%a_' * 80}%b'", "TRUE"),
    "ten of them": aimed(" OR ".join(f"({LONG}) LIKE '{'%a_' * 60}%b{each}'" for each in range(10)), "TRUE"),
    "twenty of them": aimed(" OR ".join(f"({LONG}) LIKE '{'%a_' * 60}%b{each}'" for each in range(20)), "TRUE"),
    "a long text as a number": aimed(f"CAST({LONG} AS DOUBLE) IS NULL", "TRUE"),
    "a long text as a date": aimed(f"CAST({LONG} AS DATE) IS NULL", "TRUE"),
    "different long texts": f"SELECT COUNT(DISTINCT CASE WHEN {WANTED} THEN {LONG} ELSE t END) AS n FROM visits",  # noqa: S608 - ours
}


def generated(chosen: random.Random) -> str:
    """Write a question with text growth, matches and casts that is aimed at the attacked row."""

    def text(depth: int) -> str:
        if depth == 0:
            return chosen.choice(["t", "SUBSTRING(t, 1, 100)", "'ab'", "CAST(id AS VARCHAR)"])
        one, two = text(depth - 1), text(depth - 1)
        return chosen.choice([f"({one} || {two})", f"UPPER({one})", f"TRIM({one} || {two})", f"COALESCE({one}, {two})"])

    def condition() -> str:
        some = text(chosen.randrange(1, 4))
        pattern = "".join(chosen.choices(["%a", "%b", "_", "%a_"], k=40))
        return chosen.choice([f"{some} LIKE '{pattern}'", f"CAST({some} AS BIGINT) > 3", f"LENGTH({some}) > 9"])

    return aimed(" OR ".join(condition() for _ in range(10)), "TRUE")


def rows(attacked: str) -> dict[str, list[Any]]:
    """Everybody has the flu but for the attacked person, who may have what is looked for."""
    return {
        "id": list(range(PEOPLE)),
        "dx": [attacked if each == 42 else "flu" for each in range(PEOPLE)],
        "t": ["a" * 1000 if each == 42 else "abc" for each in range(PEOPLE)],
    }


@contextmanager
def opened(engine: str, attacked: str) -> Iterator[SQLEngine]:
    """Put the rows behind an engine."""
    kind, _, address = engine.partition(" ")
    if kind == "duckdb":
        import pyarrow as pa

        with DuckDB(POLICY, {"visits": pa.table(rows(attacked))}, threads=1) as found:
            yield found
    elif kind == "postgres":
        yield from _postgres(address, attacked)
    else:
        yield from _spark(address, attacked)


def _postgres(address: str, attacked: str) -> Iterator[SQLEngine]:
    import psycopg

    from discreet.engines.postgres import Postgres

    schema = f"channels_{attacked}_{os.getpid()}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        connection.execute(f"CREATE TABLE {schema}.visits (id bigint, dx text, t text)".encode())
        with connection.cursor().copy(f"COPY {schema}.visits FROM STDIN".encode()) as copy:
            for row in zip(*rows(attacked).values(), strict=True):
                copy.write_row(row)
        try:
            with Postgres(POLICY, address, schema=schema) as found:
                yield found
        finally:
            connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())


def _spark(address: str, attacked: str) -> Iterator[SQLEngine]:
    from pyspark.sql import SparkSession

    from discreet.engines.spark import Spark

    session = SparkSession.builder.master(address).config("spark.ui.enabled", "false").getOrCreate()
    cells = list(zip(*rows(attacked).values(), strict=True))
    session.createDataFrame(cells, "id bigint, dx string, t string").createOrReplaceTempView("visits")
    with Spark(POLICY, session) as found:
        yield found
    session.stop()


def peak(engine: SQLEngine) -> int:
    """Give the most memory, in kilobytes, that the process which computes has held; 0 if that is not known."""
    connection = getattr(engine, "_connection", None)
    info = getattr(connection, "info", None)  # psycopg's
    place = "self" if info is None else str(info.backend_pid)
    status = Path(f"/proc/{place}/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found[1]) if found and type(engine).__name__ != "Spark" else 0


def measured(engine: str, attacked: str, question: str) -> dict[str, float | str]:
    """Ask a question some times; give the least time of one, and by how much memory has grown."""
    try:
        aggregate = plan_sql(POLICY, question).aggregate
    except QueryRefused as refused:
        return {"refused": refused.why}
    with opened(engine, attacked) as source:
        clock = time.process_time if engine == "duckdb" else time.perf_counter
        source.prepare(plan_sql(POLICY, "SELECT COUNT(*) AS n FROM visits WHERE t <> 'y'").aggregate).run()
        before, least = peak(source), float("inf")
        for _ in range(RUNS):
            start = clock()
            try:
                source.prepare(aggregate).run()
            except DiscreetError as error:
                return {"failed": type(error).__name__}
            least = min(least, clock() - start)
        return {"seconds": least, "memory": peak(source) - before}


def apart(engine: str, attacked: str, question: str) -> dict[str, Any]:
    """Measure in a process of its own, so that no question inherits the memory of another."""
    code = "import sys, json; from benchmarks.channels import measured; print(json.dumps(measured(*sys.argv[1:])))"
    words = [sys.executable, "-c", code, engine, attacked, question]
    ended = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def shown(name: str, engine: str, question: str) -> float | None:
    """Print one line; give the ratio of the times."""
    there, other = (apart(engine, attacked, question) for attacked in ("hiv", "flu"))
    if "seconds" not in there or "seconds" not in other:
        print(f"{engine[:8]:<9} {name:<32} {there if there == other else f'DIFFERS: {there} against {other}'}")
        return None
    ratio = there["seconds"] / other["seconds"]
    print(
        f"{engine[:8]:<9} {name:<32} {1000 * there['seconds']:8.2f} ms {1000 * other['seconds']:8.2f} ms  "
        f"{ratio:6.2f} ×  {there['memory'] - other['memory']:+8.0f} kB",
        flush=True,
    )
    return float(ratio)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", metavar="ADDRESS")
    parser.add_argument("--spark", metavar="MASTER")
    parser.add_argument("--seed", type=int, default=15)
    given = parser.parse_args()
    engines = ["duckdb", *(f"{name} {getattr(given, name)}" for name in ("postgres", "spark") if getattr(given, name))]
    print(f"{'engine':<9} {'attack':<32} {'with':>11} {'without':>11}   ratio   memory")
    for engine in engines:
        for name, question in ATTACKS.items():
            shown(name, engine, question)
        chosen = random.Random(given.seed)  # noqa: S311 - questions, no noise
        ratios = [shown(f"generated {each}", engine, generated(chosen)) for each in range(GENERATED)]
        print(f"{engine[:8]:<9} worst of the generated: {max((ratio for ratio in ratios if ratio), default=0):.2f} ×")


if __name__ == "__main__":
    main()

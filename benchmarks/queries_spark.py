"""Ten million rows on a Spark cluster of two workers, beside plain Spark SQL and DuckDB."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.queries_cases import EPSILON
from benchmarks.queries_peers.discreet import Asker, policy
from benchmarks.queries_speed import BOUNDS, GROUPS, QUESTION, write_parquet
from benchmarks.queries_worker import tree_cpu
from benchmarks.report import Direction, Figure, Target
from discreet.engines.duckdb import DuckDB
from discreet.engines.spark import Spark
from discreet.plans import plan_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.mechanisms import Progress
    from discreet.engines import Aggregates

LIMIT = 1.5
TURNS = 20
"""Of either question the first ten runs or so are mostly Java's compiler at work, ours the longer ones."""
STEPS = 4 + TURNS
"""What a progress bar counts: rows written, cluster started, aggregates compared, a first run, and the turns."""
SECTION = "Spark, two workers"


def figures(folder: Path, rows: int, progress: Progress) -> Iterator[Figure]:
    """Compare exact aggregates with DuckDB's, and CPU time with plain Spark SQL's."""
    same = Target(Direction.AT_MOST, 0, "numbers differ")
    overhead = Target(Direction.AT_MOST, LIMIT, "× plain")
    cases = (f"exact aggregates of {rows:,} rows", f"count, sum, mean of {rows:,} rows, row unit")
    if shutil.which("java") is None:
        for case, target in zip(cases, (same, overhead), strict=True):
            yield Figure(SECTION, case, "discreet", None, target.unit, target=target, note="no Java here")
        return
    data = folder / "spark"
    data.mkdir()
    write_parquet(data / "visits.parquet", rows)
    progress.step("Spark: rows written")
    with ExitStack() as started:
        session = started.enter_context(cluster(folder))
        progress.step("Spark: cluster started")
        yield Figure(SECTION, cases[0], "discreet", differences(session, data), "numbers differ", target=same)
        progress.step("Spark: exact aggregates compared")
        session.read.parquet(str(data / "visits.parquet")).createOrReplaceTempView("visits")
        ours, base = in_turns(session, progress)
        note = f"{ours:.2f} s CPU of all processes; plain {base:.2f} s"
        yield Figure(SECTION, cases[1], "discreet", ours / base, "× plain", target=overhead, note=note)
    (data / "visits.parquet").unlink()


def differences(session: Any, data: Path) -> int:  # noqa: ANN401  pyspark's own
    """Count the numbers in which both engines' exact aggregates differ."""
    facts = policy(GROUPS, BOUNDS, None)
    aggregate = plan_sql(facts, QUESTION).aggregate
    with DuckDB(facts, data) as near, Spark(facts, session, folder=data) as far:
        found: list[Aggregates] = [engine.prepare(aggregate).run() for engine in (near, far)]
    return sum(
        int(np.count_nonzero(found[0].unprotected(place) != found[1].unprotected(place)))
        for place in range(len(aggregate.statistics))
    )


def in_turns(session: Any, progress: Progress) -> tuple[float, float]:  # noqa: ANN401  pyspark's own
    """Return the least CPU time of our question and of the plain one, of equally many runs."""
    with closing(Asker.of(policy(GROUPS, BOUNDS, None), session)) as asker:
        actions: tuple[Callable[[], object], ...] = (
            lambda: asker.sql(QUESTION).release(epsilon=EPSILON),
            lambda: session.sql(QUESTION).collect(),
        )
        for action in actions:
            action()
        progress.step("Spark: first run")
        times = []
        for turn in range(TURNS):
            times.append([_cpu(action) for action in actions])
            progress.step(f"Spark: turn {turn + 1} of {TURNS}")
    ours, base = (min(column) for column in zip(*times, strict=True))
    return ours, base


def _cpu(action: Callable[[], object]) -> float:
    start = tree_cpu()
    action()
    return tree_cpu() - start


@contextmanager
def cluster(folder: Path) -> Iterator[Any]:
    """Start a standalone master with two workers on loopback, and a session on it; stop them all at the end."""
    import pyspark

    home = Path(pyspark.__file__).parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    address = f"spark://127.0.0.1:{port}"
    common = ["--host", "127.0.0.1", "--webui-port", "0"]
    master = ["org.apache.spark.deploy.master.Master", *common, "--port", str(port)]
    worker = ["org.apache.spark.deploy.worker.Worker", *common, "--cores", "1", "--memory", "1g", address]
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(folder)}
    with ExitStack() as started:
        for place, words in enumerate((master, worker, worker)):
            log = started.enter_context((folder / f"spark-{place}.log").open("w"))
            command = [str(home / "bin" / "spark-class"), *words]
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)  # noqa: S603  pyspark's own
            started.callback(process.wait, timeout=60)
            started.callback(process.terminate)
            if place == 0:
                _wait_for(port)
        session = _session(address, folder)
        started.callback(session.stop)
        yield session


def _wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    message = "the Spark master did not start within a minute"
    raise RuntimeError(message)


def _session(address: str, folder: Path) -> Any:  # noqa: ANN401  pyspark's own
    """Open a session with Spark's own defaults but for memory, addresses and the number of shuffled parts."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "900m",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(address).appName("benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()

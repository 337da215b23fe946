"""Spark on a cluster of a master and two workers gives the reference's integers."""

from __future__ import annotations

import doctest
import re
import signal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from discreet.engines.spark import Spark
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import differences
from tests.engines.databases import KEY, arrow_tables, key_rank, row_rank, text_database, typed_database, write_csv
from tests.engines.servers import spark_session
from tests.engines.test_interrupts import signaled
from tests.plans import interpreter
from tests.plans.hospital import POLICY, database

if TYPE_CHECKING:
    from collections.abc import Callable

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "use-spark.md"

NO_TEXTS = ["E2", "F0", "FF", "80", "C3", "E282", "F09F98", "EDA080", "C0AF", "61FF62", "F8888080"]

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]  # pyspark warns of its own doings


@pytest.fixture(autouse=True)
def _same_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "rank", row_rank)
    monkeypatch.setattr(interpreter, "key_rank", key_rank)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_every_source_gives_the_integers_of_the_reference(kind: str, tmp_path: Path) -> None:
    given = database(Random(kind), units=6)
    if kind == "csv":
        texts, read = text_database(POLICY, given)
        write_csv(tmp_path, POLICY, texts)
    else:
        read = typed_database(POLICY, given)
        for name, table in arrow_tables(POLICY, read).items():
            pq.write_table(table, tmp_path / f"{name}.parquet")
    with Spark(POLICY, spark_session(), folder=tmp_path, rank_key=KEY) as engine:
        assert engine.alive()
        count, fixed = (24, None) if kind == "parquet" else (8, 7)  # of files of texts, it is the reading that differs
        assert list(differences(engine, read, count, exact_only=True, fixed=fixed)) == []


def test_bytes_that_are_no_text_are_null() -> None:
    """Such a text as the name of a group failed the question: whether its row is there could be seen."""
    policy = Policy([Table("odd", unit="id", rows_per_unit=1, columns=[Column("s", type="text")])], epsilon=1)
    odd = [f"SELECT 'u{place}' AS id, CAST(X'{cell}' AS STRING) AS s" for place, cell in enumerate(NO_TEXTS)]
    odd += ["SELECT CAST(X'FF' AS STRING) AS id, 'b' AS s", "SELECT 'v' AS id, 'b' AS s", "SELECT 'w' AS id, 'ä' AS s"]
    session = spark_session()
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW odd AS {' UNION ALL '.join(odd)}")
    with Spark(policy, session, rank_key=KEY) as engine:
        for key in ("s", "UPPER(s)", "SUBSTRING(s, 1, 3)"):
            aggregate = plan_sql(policy, f"SELECT {key} AS k, COUNT(*) FROM odd GROUP BY 1").aggregate
            found = engine.prepare(aggregate).run()
            names = ("B", "ä") if key == "UPPER(s)" else ("b", "ä")
            groups = dict(zip(found.unprotected_groups(), found.unprotected(0)[:, 0].tolist(), strict=True))
            assert groups == {(names[0],): 1, (names[1],): 1}


@pytest.mark.parametrize("handler", [signal.default_int_handler, None], ids=["of a notebook", "of Spark"])
def test_an_interrupt_cancels_the_job_and_stays_an_interrupt(handler: Callable[..., object] | None) -> None:
    """Spark's driver waited for the end of the job, or raised an error of its own for the one that it canceled."""
    session = spark_session()
    session.range(10**13).selectExpr("id % 100 AS cost").createOrReplaceTempView("endless")
    session.range(7).selectExpr("id AS cost").createOrReplaceTempView("short")
    tables = [
        Table(name, row_is_unit=True, columns=[Column("cost", lower=0, upper=99)]) for name in ("endless", "short")
    ]
    policy = Policy(tables, epsilon=1)
    active = session.sparkContext.statusTracker().getActiveJobsIds
    with Spark(policy, session) as engine:
        question, after = (
            engine.prepare(plan_sql(policy, f"SELECT SUM(cost) AS s FROM {name}").aggregate)
            for name in ("endless", "short")
        )
        with signaled(lambda: bool(active()), handler or spark_handler()), pytest.raises(KeyboardInterrupt):
            question.run()
        assert list(active()) == []
        assert engine.alive()
        assert int(after.run().unprotected(0)[0, 0]) == sum(range(7))


def spark_handler() -> Callable[..., object]:
    """Give what Spark does about a Ctrl-C where nobody has set another handler since the session began."""

    def handle(*_: object) -> None:
        spark_session().sparkContext.cancelAllJobs()
        raise KeyboardInterrupt

    return handle


def test_the_how_to_runs() -> None:
    """`local[2]` is a session of its own to a reader; here the cluster's is there already, and Spark gives that one."""
    session, text = spark_session(), HOW_TO.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    test = doctest.DocTestParser().get_doctest("".join(blocks), {}, HOW_TO.name, str(HOW_TO), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    found = runner.run(test)
    session.catalog.dropTempView("visits")
    assert (found.failed, found.attempted > 10) == (0, True)

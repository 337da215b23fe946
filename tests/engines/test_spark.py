"""Spark on a cluster of a master and two workers gives the reference's integers."""

from __future__ import annotations

import datetime as dt
import doctest
import re
import signal
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Thread
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.spark import Spark
from discreet.errors import ParameterError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import differences
from tests.engines.databases import KEY, arrow_tables, key_rank, row_rank, text_database, typed_database, write_csv
from tests.engines.servers import spark_session
from tests.engines.test_interrupts import signaled
from tests.plans import interpreter
from tests.plans.hospital import POLICY, database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
            assert groups == {(None,): len(NO_TEXTS), (names[0],): 1, (names[1],): 1}


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


@contextmanager
def set_to(**settings: str) -> Iterator[Any]:
    """Give the session with some settings of an owner."""
    session = spark_session()
    named = {f"spark.sql.{name.replace('__', '.')}": value for name, value in settings.items()}
    before = {name: session.conf.get(name) for name in named}
    for name, value in named.items():
        session.conf.set(name, value)
    try:
        yield session
        assert {name: session.conf.get(name) for name in named} == named
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def counts(policy: Policy, session: Any, sql: str, **more: Any) -> dict[tuple[object, ...], list[int]]:  # noqa: ANN401
    with Spark(policy, session, rank_key=KEY, **more) as engine:
        aggregate = plan_sql(policy, sql).aggregate
        found = engine.prepare(aggregate).run()
        groups = found.groups if aggregate.known else found.unprotected_groups()
        cells = [found.unprotected(place)[:, 0].tolist() for place in range(len(aggregate.statistics))]
        return {group: [column[place] for column in cells] for place, group in enumerate(groups)}


OLD = [dt.date(1500, 2, 28), dt.date(1582, 10, 10), dt.date(2000, 2, 29)]


@pytest.mark.parametrize("stored", [False, True], ids=["read", "stored"])
def test_settings_of_an_owner_change_no_answer(tmp_path: Path, stored: bool) -> None:  # noqa: FBT001 - of a test
    """Texts were no numbers where backslashes mean nothing, and one day before 1582 failed every question."""
    columns = [Column("day", type="date"), Column("at", type="timestamp"), Column("n", type="text")]
    policy = Policy([Table("old", unit="id", rows_per_unit=1, columns=columns)], epsilon=1)
    moments = [dt.datetime.combine(day, dt.time(23, 30)) for day in OLD]
    table = pa.table({"id": ["a", "b", "c"], "day": OLD, "at": pa.array(moments, pa.timestamp("us")), "n": ["7"] * 3})
    pq.write_table(table, tmp_path / "old.parquet")
    sql = "SELECT day, COUNT(*), COUNT(CAST(n AS BIGINT)), COUNT(CASE WHEN EXTRACT(hour FROM at) = 23 THEN 1 END) "
    sql += "FROM old WHERE day + 1 < DATE '2001-01-01' GROUP BY day"
    modes = dict.fromkeys(["InRead", "InWrite"], "EXCEPTION")
    rebase = {f"parquet__datetimeRebaseMode{end}": mode for end, mode in modes.items()}
    more = {"store": tmp_path / "store"} if stored else {}
    with set_to(
        ansi__enabled="false", session__timeZone="America/St_Johns", parser__escapedStringLiterals="true", **rebase
    ) as session:
        assert counts(policy, session, sql, folder=tmp_path, **more) == {(day,): [1, 1, 1] for day in OLD}


@pytest.mark.parametrize("others", [[], ["x"]], ids=["numbers", "a text"])
def test_names_of_folders_are_texts(tmp_path: Path, others: list[str]) -> None:
    """They were numbers as long as all of them looked so: 007 and 7 were one unit, and two once an x was there."""
    policy = Policy([Table("t", unit="id", rows_per_unit=1, columns=[Column("k", type="text")])], epsilon=1)
    for name in ("007", "7", *others):
        (tmp_path / "t.parquet" / f"id={name}").mkdir(parents=True)
        pq.write_table(pa.table({"k": ["a"]}), tmp_path / "t.parquet" / f"id={name}" / "part.parquet")
    session = spark_session()
    assert counts(policy, session, "SELECT k, COUNT(*) FROM t GROUP BY k", folder=tmp_path) == {
        ("a",): [2 + len(others)]
    }


def test_columns_are_found_as_the_session_finds_them(tmp_path: Path) -> None:
    """Files that write a column in another case had NULL in it, and all rows were dropped."""
    session = spark_session()
    pq.write_table(pa.table({"Id": ["a", "b"], "Cost": [1, 2]}), tmp_path / "part.parquet")
    session.sql(f"CREATE TABLE billed (id STRING, cost BIGINT) USING PARQUET LOCATION '{tmp_path}'")
    cost = Column("cost", lower=0, upper=9)
    try:
        policy = Policy([Table("billed", unit="id", rows_per_unit=1, columns=[cost])], epsilon=1)
        assert counts(policy, session, "SELECT COUNT(*), SUM(cost) FROM billed") == {(): [2, 3]}
    finally:
        session.sql("DROP TABLE billed")
    with set_to(caseSensitive="true"):
        session.sql("SELECT 'a' AS id, 4 AS cost, 5 AS Cost").createOrReplaceTempView("both")
    policy = Policy([Table("both", unit="id", rows_per_unit=1, columns=[cost])], epsilon=1)
    assert counts(policy, session, "SELECT COUNT(*), SUM(cost) FROM both") == {(): [1, 4]}


def test_a_file_that_spark_does_not_read_is_refused_in_our_words(tmp_path: Path) -> None:
    table = pa.table({"id": ["a"], "at": pa.array([0], pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "t.parquet")
    policy = Policy([Table("t", unit="id", rows_per_unit=1)], epsilon=1)
    with pytest.raises(ParameterError, match=r"Spark cannot read t\.parquet"):
        Spark(policy, spark_session(), folder=tmp_path)


def test_engines_of_one_session_wait_for_each_other() -> None:
    """Each set the settings back while the other's question ran, which then counted hours of another zone."""
    session = spark_session()
    policy = Policy([], epsilon=1)
    with Spark(policy, session) as one, Spark(policy, type(session).getActiveSession()) as other:
        with one._settled():
            waiting = Thread(target=other.alive)
            waiting.start()
            waiting.join(1)
            assert waiting.is_alive()
        waiting.join(60)
        assert not waiting.is_alive()


def test_the_how_to_runs() -> None:
    """`local[2]` is a session of its own to a reader; here the cluster's is there already, and Spark gives that one."""
    session, text = spark_session(), HOW_TO.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    test = doctest.DocTestParser().get_doctest("".join(blocks), {}, HOW_TO.name, str(HOW_TO), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    found = runner.run(test)
    session.catalog.dropTempView("visits")
    assert (found.failed, found.attempted > 10) == (0, True)

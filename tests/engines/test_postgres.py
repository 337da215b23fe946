"""PostgreSQL gives the reference's integers."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from discreet.engines.postgres import Postgres
from discreet.errors import EngineError, ParameterError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import differences
from tests.engines.databases import KEY, key_rank, row_rank, text_database, typed_database
from tests.engines.servers import fill_postgres, postgres
from tests.engines.test_interrupts import signaled
from tests.plans import interpreter
from tests.plans.hospital import POLICY, database

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        assert list(differences(engine, read, {"typed": 40, "text": 12}[kind], exact_only=True)) == []


@pytest.fixture
def engine() -> Iterator[Postgres]:
    fill_postgres(postgres(), "small", POLICY, typed_database(POLICY, database(Random(1))))
    with Postgres(POLICY, postgres(), schema="small", seconds=2) as found:
        yield found


@pytest.mark.parametrize("text", ["CREATE TABLE small.leak ()", "DELETE FROM small.visits", "SELECT pg_sleep(20)"])
def test_the_connection_only_reads_and_not_forever(text: str, engine: Postgres) -> None:
    assert engine._results([text]) is None
    assert engine.alive()


def test_a_failing_server_says_nothing_about_the_data(engine: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    question = engine.prepare(plan_sql(POLICY, "SELECT COUNT(*) FROM visits").aggregate)
    bad = ["SELECT CAST(ward AS bigint) FROM small.visits"]  # its message quotes a ward
    monkeypatch.setattr(engine, "_results", lambda _: Postgres._results(engine, bad))
    with pytest.raises(EngineError, match="could not compute") as raised:
        question.run()
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None


def test_decimals_beyond_doubles_are_no_error() -> None:
    """A numeric that no double holds would be an error of the cast."""
    table = Table("t", unit="id", rows_per_unit=9, columns=[Column("x", lower=-1000, upper=1000, type="float")])
    policy = Policy([table], epsilon=1)
    with psycopg.connect(postgres()) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (id text, x numeric)")
        cells = ["1e400", "-1e400", "1e-400", "NaN", "Infinity", "1.5", None]
        for place, cell in enumerate(cells):
            connection.execute("INSERT INTO t VALUES (%s, %s)", [str(place), cell])
    plan = plan_sql(policy, "SELECT COUNT(x), SUM(x) FROM t")
    with Postgres(policy, postgres()) as engine:
        found = engine.prepare(plan.aggregate).run()
    step = plan.aggregate.statistics[1].factors[0].step  # type: ignore[attr-defined]
    assert int(found.unprotected(0)[0, 0]) == 5
    assert int(found.unprotected(1)[0, 0]) * step == Fraction(1000 - 1000 + 0 + 1000) + Fraction(3, 2)


def test_units_are_not_rounded() -> None:
    """Ids that are no whole numbers belong to nobody: 0.6 and 1.4 would be one unit."""
    columns = [Column("id", type="integer"), Column("ward", keys=["cold", "flu"])]
    policy = Policy([Table("odd", unit="id", rows_per_unit=1, columns=columns)], epsilon=1)
    with psycopg.connect(postgres()) as connection:
        connection.execute("DROP TABLE IF EXISTS odd")
        connection.execute("CREATE TABLE odd (id double precision, ward text)")
        connection.execute(
            "INSERT INTO odd VALUES (0.6, 'cold'), (1.4, 'flu'), (2, 'flu'), (3, 'flu'), ('NaN', 'cold')"
        )
    with Postgres(policy, postgres(), rank_key=KEY) as engine:
        found = engine.prepare(plan_sql(policy, "SELECT ward, COUNT(*) FROM odd GROUP BY ward").aggregate).run()
        assert found.unprotected(0)[:, 0].tolist() == [0, 2]


@pytest.mark.parametrize("stored", ["numeric", "numeric(38,2)", "numeric(38,0)"])
def test_decimal_units_are_told_apart(stored: str) -> None:
    """As doubles the first two would be one unit."""
    policy = Policy([Table("long", unit="id", rows_per_unit=1, columns=[Column("id", type="integer")])], epsilon=1)
    with psycopg.connect(postgres()) as connection:
        connection.execute("DROP TABLE IF EXISTS long")
        connection.execute(f"CREATE TABLE long (id {stored})")
        connection.execute("INSERT INTO long VALUES (9007199254740992), (9007199254740993), (-5), ('NaN'), (1e25), (0)")
        if stored != "numeric(38,0)":
            connection.execute("INSERT INTO long VALUES (1.25), (0.01)")
    with Postgres(policy, postgres(), rank_key=KEY) as engine:
        plan = plan_sql(policy, "SELECT COUNT(*), COUNT(DISTINCT id) FROM long")
        found = engine.prepare(plan.aggregate).run()
        assert [int(found.unprotected(place)[0, 0]) for place in (0, 1)] == [4, 4]


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "EUC_JP", "WIN1252", "LATIN1"])
def test_texts_that_are_no_unicode_fail_at_opening_or_never(encoding: str) -> None:
    """A row that the server cannot convert failed the questions that read it: whether it is there could be seen."""
    odd = {"SQL_ASCII": r"\xff", "EUC_JP": r"\x8f\xfe\xfe", "WIN1252": r"\x81", "LATIN1": r"\x81"}[encoding]
    policy = Policy([Table("odd", unit="id", rows_per_unit=1, columns=[Column("s", type="text")])], epsilon=1)
    with psycopg.connect(postgres(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS odd_{encoding}")
        connection.execute(f"CREATE DATABASE odd_{encoding} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'")
    address = make_conninfo(postgres(), dbname=f"odd_{encoding}".lower())
    with psycopg.connect(address) as connection:
        connection.execute(f"SET client_encoding TO '{encoding}'")
        connection.execute("CREATE TABLE odd (id text, s text)")
        connection.execute(f"INSERT INTO odd VALUES ('a', 'b'), ('b', E'{odd}')")
    if encoding != "LATIN1":
        with pytest.raises(ParameterError, match=f"texts as {encoding}"):
            Postgres(policy, address, rank_key=KEY)
        return
    with Postgres(policy, address, rank_key=KEY) as engine:
        aggregate = plan_sql(policy, "SELECT s, COUNT(*) FROM odd GROUP BY s").aggregate
        assert sorted(engine.prepare(aggregate).run().unprotected_groups()) == [("b",), ("\x81",)]


@pytest.mark.parametrize("stored", ["numeric(9,2)[]", "numeric(9,0)[]", "varchar(3)[]", "bigint[]"])
@pytest.mark.parametrize("declared", ["integer", "float", "text"])
def test_arrays_are_refused_before_a_question_is_paid(stored: str, declared: str) -> None:
    policy = Policy([Table("arrays", unit="id", rows_per_unit=2, columns=[Column("x", type=declared)])], epsilon=1)
    with psycopg.connect(postgres()) as connection:
        connection.execute("DROP TABLE IF EXISTS arrays")
        connection.execute(f"CREATE TABLE arrays (id text, x {stored})")
    with pytest.raises(ParameterError, match="such values cannot be read"):
        Postgres(policy, postgres())


def test_a_table_that_is_missing_is_named() -> None:
    with pytest.raises(ParameterError, match="in schema 'nowhere'"):
        Postgres(POLICY, postgres(), schema="nowhere")


@pytest.mark.parametrize("setting", ["extra_float_digits = 0", "extra_float_digits = -15", "DateStyle = 'SQL, DMY'"])
def test_keys_are_read_exactly_whatever_is_set_for_a_role(setting: str) -> None:
    """Two floats that are read as one would be one group, with the rows of whichever comes last."""
    keys = [0.3, 0.1 + 0.2, 1e15 / 7]
    column = Column("x", keys=keys)
    policy = Policy([Table("floats", unit="id", rows_per_unit=2, columns=[column])], epsilon=1)
    with psycopg.connect(postgres()) as connection:
        connection.execute("DO $$ BEGIN CREATE ROLE short LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
        connection.execute("ALTER ROLE short RESET ALL")
        connection.execute(f"ALTER ROLE short SET {setting}")
        connection.execute("DROP TABLE IF EXISTS floats")
        connection.execute("CREATE TABLE floats (id text, x double precision)")
        for place, key in enumerate(keys):
            for each in range(place + 1):
                connection.execute("INSERT INTO floats VALUES (%s, %s)", [f"{place} {each}", key])
        connection.execute("GRANT SELECT ON floats TO short")
    with Postgres(policy, make_conninfo(postgres(), user="short")) as engine:
        found = engine.prepare(plan_sql(policy, "SELECT x, COUNT(*) FROM floats GROUP BY x").aggregate).run()
    assert found.unprotected(0).tolist() == [[1], [2], [3]]


@pytest.mark.parametrize("role", ["address", "store"])
def test_a_role_that_may_not_read_is_refused_before_a_question_is_paid(role: str) -> None:
    """Everybody may see which tables and columns there are."""
    policy = Policy([Table("hidden", unit="id", rows_per_unit=2)], epsilon=1)
    with psycopg.connect(postgres()) as connection:
        connection.execute("DO $$ BEGIN CREATE ROLE nosy LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
        for text in ("TABLE IF EXISTS hidden", "SCHEMA IF EXISTS nosy CASCADE"):
            connection.execute(f"DROP {text}")
        connection.execute("CREATE TABLE hidden (id text, diagnosis text)")
        connection.execute("CREATE SCHEMA nosy AUTHORIZATION nosy")
    nosy = make_conninfo(postgres(), user="nosy")
    roles = {"address": postgres(), "store": postgres()} | {role: nosy}
    with pytest.raises(ParameterError, match=f"the role of `{role}` may not read table 'hidden'"):
        Postgres(policy, roles["address"], store=roles["store"], store_schema="nosy")
    with psycopg.connect(postgres()) as connection:
        connection.execute("GRANT SELECT (id) ON hidden TO nosy")
    with Postgres(policy, roles["address"], store=roles["store"], store_schema="nosy") as engine:
        engine.prepare(plan_sql(policy, "SELECT COUNT(*) FROM hidden").aggregate).run()


def test_an_interrupt_ends_the_statement_on_the_server_and_stays_an_interrupt() -> None:
    policy = Policy([Table("endless", row_is_unit=True, columns=[Column("cost", lower=0, upper=99)])], epsilon=1)
    with psycopg.connect(postgres(), autocommit=True) as connection:
        rows = "generate_series(1::bigint, 10000000000000) AS g(i)"
        connection.execute(f"CREATE OR REPLACE VIEW endless AS SELECT i % 100 AS cost FROM {rows}".encode())
        with Postgres(policy, postgres()) as engine:
            server = engine._connection.info.backend_pid

            def active() -> bool:
                found = connection.execute("SELECT state FROM pg_stat_activity WHERE pid = %s", [server]).fetchone()
                return found == ("active",)

            question = engine.prepare(plan_sql(policy, "SELECT SUM(cost) AS s FROM endless").aggregate)
            with signaled(active), pytest.raises(KeyboardInterrupt):
                question.run()
            assert not active()
            assert engine.alive()


def test_the_how_to_gives_a_role_that_reads_the_tables_and_nothing_else() -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "use-postgres.md").read_text()
    (statements,) = re.findall(r"^```sql\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    policy = Policy(
        [
            Table(name, unit="id", rows_per_unit=1, columns=[Column("id", type="integer")])
            for name in ("visits", "patients")
        ],
        epsilon=1,
    )
    with psycopg.connect(postgres(), autocommit=True) as connection:
        for name in ("visits", "patients", "secrets"):
            connection.execute(
                f"CREATE TABLE public.{name} AS SELECT i AS id FROM generate_series(1, 5) AS g(i)".encode()
            )
        try:
            connection.execute(statements.encode())
            address = postgres().replace("postgres:", "discreet:", 1)
            with Postgres(policy, address) as engine:
                found = engine.prepare(plan_sql(policy, "SELECT COUNT(*) FROM visits").aggregate).run()
                assert int(found.unprotected(0)[0, 0]) == 5
                assert engine._results(["SELECT id FROM public.secrets"]) is None
        finally:
            connection.execute("DROP TABLE public.visits, public.patients, public.secrets")
            connection.execute("DROP OWNED BY discreet; DROP ROLE discreet")

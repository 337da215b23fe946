"""Texts are cut as they are read, on every engine; units are not, and collations of columns change nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from psycopg import sql

from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.errors import PolicyError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import opened
from tests.engines.databases import KEY
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.plans.interpreter import groups_of

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines import Engine
    from tests.plans.interpreter import Database

VISITS = Table(
    "visits",
    unit="id",
    rows_per_unit=20,
    columns=[
        Column("id", type="text", max_length=5),
        Column("note", type="text", max_length=3),
        Column("ward", keys=["abcd", "abce"], max_length=4),
        Column("code", type="text", max_length=2),
    ],
)
POLICY = Policy([VISITS], epsilon=1, delta=1e-6)
_NOTES = ["abcdef", "abcxyz", "äöüß", "😀😀😀😀", "abc", "ab", "", None, "a\nbc", "  a  b"]
ROWS: Database = {
    "visits": [
        {
            "id": ["p1", "p2", "long1", "longer1", "longer2", "ääääää", "ääääß", "p3"][place % 8],
            "note": note,
            "ward": ["abcd", "abcde", "abce", "abc"][place % 4],
            "code": "123"[: place % 4],
        }
        for place, note in enumerate(_NOTES * 2)
    ]
}
QUESTIONS = [
    "SELECT COUNT(*), COUNT(DISTINCT id), COUNT(DISTINCT note) FROM visits",
    "SELECT note, COUNT(*) FROM visits GROUP BY note",
    "SELECT ward, COUNT(*), SUM(LENGTH(note || code)) FROM visits GROUP BY ward",
    "SELECT COUNT(*) FROM visits WHERE note IN ('abc', 'abcdef') OR id LIKE 'lon%'",
    "SELECT COUNT(*) FROM visits v JOIN (SELECT id, MAX(note) AS m FROM visits GROUP BY id) w ON v.id = w.id",
]


def wrong(engine: Engine, given: Database = ROWS) -> list[str]:
    found = []
    for question in QUESTIONS:
        aggregate = plan_sql(POLICY, question).aggregate
        here, wanted = opened(engine.prepare(aggregate).run(), aggregate), groups_of(aggregate, given)
        found += [] if here == wanted else [f"{question}: {here} against {wanted}"]
    return found


def test_the_reference_cuts_texts_and_drops_units_that_are_too_long() -> None:
    aggregate = plan_sql(POLICY, QUESTIONS[0]).aggregate
    assert groups_of(aggregate, ROWS)[()][1] == (5,)  # p1, p2, p3, long1, ääääß
    groups = groups_of(plan_sql(POLICY, QUESTIONS[1]).aggregate, ROWS)
    assert ("abc",) in groups
    assert all(len(note or "") <= 3 for (note,) in groups)


def test_texts_are_cut_and_units_are_not_on_duckdb(tmp_path: Path) -> None:
    with DuckDB(POLICY, {"visits": pa.Table.from_pylist(ROWS["visits"])}, rank_key=KEY) as engine:
        assert wrong(engine) == []
    pq.write_table(pa.Table.from_pylist(ROWS["visits"]), tmp_path / "visits.parquet")
    with DuckDB(POLICY, tmp_path, rank_key=KEY, store=tmp_path / "kept.duckdb") as engine:
        assert wrong(engine) == []


@pytest.mark.engine
def test_texts_are_cut_and_units_are_not_on_postgres() -> None:
    fill_postgres(postgres(), "lengths", POLICY, ROWS)
    with Postgres(POLICY, postgres(), schema="lengths", rank_key=KEY) as engine:
        assert wrong(engine) == []


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_texts_are_cut_and_units_are_not_on_spark(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS["visits"]), tmp_path / "visits.parquet")
    with Spark(POLICY, spark_session(), folder=tmp_path, rank_key=KEY) as engine:
        assert wrong(engine) == []


CASES: Database = {
    "visits": [
        {"id": id_, "note": note, "ward": ward, "code": note}
        for id_, note, ward in [("a", "B", "abcd"), ("A", "b", "ABCD"), ("b", "ä", "abce"), ("B", "Ä", "abcd")]
    ]
}
COLLATIONS = {
    "nondeterministic": "provider = icu, locale = 'und-u-ks-level1', deterministic = false",
    "icu": "provider = icu, locale = 'de'",
    "builtin": "provider = builtin, locale = 'PG_UNICODE_FAST'",
    "libc": "provider = libc, locale = 'C.utf8'",
}


@pytest.mark.engine
@pytest.mark.parametrize("name", COLLATIONS)
def test_texts_are_compared_by_code_point_whatever_collation_their_columns_have(name: str) -> None:
    """By a collation that ignores case a and A would be one unit, and LIKE an error of the server."""
    schema = f"collated_{name}"
    fill_postgres(postgres(), schema, POLICY, CASES)
    with psycopg.connect(postgres(), autocommit=True) as connection:
        collation = sql.Identifier(schema, "other")
        try:
            connection.execute(sql.SQL("CREATE COLLATION {} ({})").format(collation, sql.SQL(COLLATIONS[name])))
        except psycopg.Error:
            pytest.skip("this server has no such collation")
        for column in VISITS.columns:
            change = sql.SQL("ALTER TABLE {} ALTER COLUMN {} TYPE text COLLATE {}")
            connection.execute(change.format(sql.Identifier(schema, "visits"), sql.Identifier(column.name), collation))
    with Postgres(POLICY, postgres(), schema=schema, rank_key=KEY) as engine:
        assert wrong(engine, CASES) == []


@pytest.mark.engine
def test_every_stored_text_gets_the_collation_of_bytes() -> None:
    """As the server of the tests may know no collation that differs: what is written names it for every column."""
    fill_postgres(postgres(), "bytes", POLICY, CASES)
    with Postgres(POLICY, postgres(), schema="bytes", rank_key=KEY) as engine:
        for question in QUESTIONS:
            for text in engine.prepare(plan_sql(POLICY, question).aggregate)._statements.texts:
                for column in VISITS.columns:
                    place = [each.name for each in VISITS.columns].index(column.name)
                    assert f'CAST("x{place}" AS text) COLLATE "C"' in text
                    assert text.count(f'"x{place}"') == 2 * text.count(f'CAST("x{place}" AS text) COLLATE "C"')


@pytest.mark.parametrize(
    "facts, said",
    [
        ({"type": "text", "max_length": 0}, "note.max_length is 0"),
        ({"type": "text", "max_length": 4097}, "note.max_length is 4097"),
        ({"type": "integer", "max_length": 9}, "only texts have a length"),
        ({"keys": ["abcd"], "max_length": 3}, "a key has 4 characters"),
        ({"keys": ["a" * 5000]}, "note.max_length is 5000"),
    ],
)
def test_lengths_that_make_no_sense_are_refused(facts: dict[str, object], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        Column("note", **facts)  # type: ignore[arg-type]


def test_the_length_is_a_fact_of_the_policy() -> None:
    assert Column("note", type="text").max_length == 256
    assert Column("ward", keys=["a" * 300]).max_length == 300
    assert Column("n", type="integer").max_length is None
    text = '[budget]\nepsilon = 1\n[tables.visits]\nunit = "id"\nrows_per_unit = 2\n[tables.visits.columns]\n'
    one, two = (Policy.from_toml(f'{text}note = {{ type = "text", max_length = {most} }}') for most in (40, 41))
    assert one.table("visits").column("note").max_length == 40
    assert one.hash != two.hash
    assert Policy.from_json(one.to_json()) == one
    older = re.sub(r'"max_length":\d+,', "", one.to_json())  # as it was written before
    assert "max_length" not in older
    assert Policy.from_json(older).table("visits").column("note").max_length == 256

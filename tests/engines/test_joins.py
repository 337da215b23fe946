"""A row of a private table meets at most one row of a public one, whatever the public table holds by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import Engine, open_engine
from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from pathlib import Path

BIG = 2**53
WARDS = [Column("ward", type="text"), Column("open", type="boolean"), Column("beds", lower=0, upper=90)]
VISITS = [Column("id", type="integer"), Column("ward", type="text")]
POLICY = Policy(
    [
        Table("visits", unit="id", rows_per_unit=1, columns=VISITS),
        Table("wards", public=True, unique=["ward"], columns=WARDS),
    ],
    epsilon=1,
)
JOINS = [
    ("SELECT COUNT(*), SUM(beds) FROM visits JOIN wards USING (ward)", [2, 7], [1, 4]),
    ("SELECT COUNT(*), COUNT(beds) FROM visits LEFT JOIN wards USING (ward)", [3, 2], [3, 1]),
    ("SELECT COUNT(*) FROM wards w JOIN visits v ON v.ward = w.ward AND w.open", [1], [0]),
]


def counted(engine: Engine, sql: str, policy: Policy = POLICY) -> list[int]:
    aggregate = plan_sql(policy, sql).aggregate
    found = engine.prepare(aggregate).run()
    return [int(found.unprotected(place)[0, 0]) for place in range(len(aggregate.statistics))]


def test_public_rows_that_repeat_later_meet_nobody(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2, 3], "ward": ["a", "b", "c"]}), tmp_path / "visits.parquet")
    wards = tmp_path / "wards.parquet"
    pq.write_table(pa.table({"ward": ["a", "b"], "open": [True, False], "beds": [3, 4]}), wards)
    with open_engine(POLICY, tmp_path) as engine:
        assert [counted(engine, sql) for sql, _, _ in JOINS] == [before for _, before, _ in JOINS]
        repeated = {
            "ward": ["a", "a", "b", None, None],
            "open": [True, True, False, None, None],
            "beds": [3, 3, 4, 1, 1],
        }
        pq.write_table(pa.table(repeated), wards)
        assert [counted(engine, sql) for sql, _, _ in JOINS] == [after for _, _, after in JOINS]


@pytest.mark.engine
def test_public_rows_that_repeat_later_meet_nobody_on_a_server() -> None:
    import psycopg

    from discreet.engines.postgres import Postgres
    from tests.engines.servers import fill_postgres, postgres

    rows = {
        "visits": [{"id": place, "ward": ward} for place, ward in enumerate("abc")],
        "wards": [{"ward": "a", "open": True, "beds": 3}, {"ward": "b", "open": False, "beds": 4}],
    }
    fill_postgres(postgres(), "joins", POLICY, rows)
    with Postgres(POLICY, postgres(), schema="joins") as engine:
        assert [counted(engine, sql) for sql, _, _ in JOINS] == [before for _, before, _ in JOINS]
        with psycopg.connect(postgres()) as connection:
            connection.execute("INSERT INTO joins.wards (ward, open, beds) VALUES ('a', true, 3)")
        assert [counted(engine, sql) for sql, _, _ in JOINS] == [after for _, _, after in JOINS]


def numbered(*, upper: int | None) -> Policy:
    key = Column("k", type="integer") if upper is None else Column("k", lower=0, upper=upper)
    columns = [Column("id", type="integer"), Column("x", type="float"), Column("n", type="integer")]
    return Policy(
        [
            Table("t", unit="id", rows_per_unit=3, columns=columns),
            Table("p", public=True, unique=["k"], columns=[key]),
        ],
        epsilon=1,
    )


def test_whole_numbers_that_floats_do_not_tell_apart_are_not_unique() -> None:
    """As doubles 2**53 and 2**53 + 1 are equal: one row would meet both."""
    beside = "SELECT COUNT(*) FROM t JOIN p ON t.x = p.k"
    with pytest.raises(QueryRefused, match="several rows for one k"):
        plan_sql(numbered(upper=None), beside)
    with pytest.raises(QueryRefused, match="several rows for one k"):
        plan_sql(numbered(upper=BIG + 1), beside)
    for upper, sql in ((BIG, beside), (None, beside.replace("t.x", "t.n"))):
        assert plan_sql(numbered(upper=upper), sql).aggregate.rows_per_unit == 3
    grouped = "(SELECT id, n AS m, COUNT(*) AS c FROM t GROUP BY id, n) q"
    policy = numbered(upper=None)
    once = plan_sql(policy, f"SELECT COUNT(*) FROM t JOIN {grouped} ON t.id = q.id AND t.n = q.m")
    often = plan_sql(policy, f"SELECT COUNT(*) FROM t JOIN {grouped} ON t.id = q.id AND t.x = q.m")
    assert (once.aggregate.rows_per_unit, often.aggregate.rows_per_unit) == (3, 9)
    rows = {
        "t": pa.table({"id": [1] * 3, "x": [float(BIG)] * 3, "n": [BIG - 1, BIG, BIG + 1]}),
        "p": pa.table({"k": [1]}),
    }
    with open_engine(policy, rows) as engine:
        found = counted(engine, f"SELECT COUNT(*) FROM t JOIN {grouped} ON t.id = q.id AND t.x = q.m", policy)
    assert found == [6]


@pytest.mark.parametrize("end", ["9223372036854774784.0", "9.223372036854774784e18"])
def test_a_float_constant_bounds_no_large_whole_numbers(end: str) -> None:
    """2**63 - 600 is the constant, as a double, and the sum of it and 1000 leaves 64 bits: one row was an error."""
    policy = numbered(upper=None)
    sql = f"SELECT COUNT(n + 1000) FROM t WHERE n >= 9.2e18 AND n <= {end}"
    rows = {"t": pa.table({"id": [1, 2], "x": [0.0, 0.0], "n": [2**63 - 600, 2**63 - 5000]}), "p": pa.table({"k": [1]})}
    with open_engine(policy, rows) as engine:
        assert counted(engine, sql, policy) == [1]
    with pytest.raises(QueryRefused, match="no public bounds"):
        plan_sql(policy, sql.replace("COUNT", "AVG"))
    assert plan_sql(policy, "SELECT AVG(n) FROM t WHERE n BETWEEN 0.5 AND 9007199254740991.0")
    with pytest.raises(QueryRefused, match="no public bounds"):
        plan_sql(policy, "SELECT AVG(n) FROM t WHERE n BETWEEN 0.5 AND 9007199254740992.0")

"""Tables without a unit of their own: their rows belong to units through a reference, under a limit for each key."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from discreet.errors import PolicyError, QueryRefused
from discreet.plans import plan_sql
from discreet.plans.nodes import Aggregate, Children, Scan, Spread
from discreet.plans.statistics import RowCount
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import opened
from tests.engines.databases import KEY, arrow_tables
from tests.engines.servers import fill_postgres, postgres
from tests.plans.claims import violations
from tests.plans.hospital import without
from tests.plans.interpreter import groups_of

if TYPE_CHECKING:
    from tests.plans.interpreter import Database

TOML = """
[budget]
epsilon = 3
delta = 1e-6
[tables.orders]
unit = "customer_id"
rows_per_unit = 3
[tables.orders.columns]
order_id = { type = "integer" }
status = { keys = ["a", "b"] }
[tables.items]
references = "orders.order_id"
through = "of_order"
rows_per_parent = 2
[tables.items.columns]
of_order = { type = "integer" }
price = { lower = 0, upper = 10, nullable = false }
kind = { keys = ["x", "y"] }
"""
POLICY = Policy.from_toml(TOML)
ASKED = [
    "SELECT COUNT(*) FROM items",
    "SELECT kind, COUNT(*), SUM(price) FROM items GROUP BY kind",
    "SELECT COUNT(DISTINCT customer_id), COUNT(DISTINCT of_order) FROM items",
    "SELECT status, SUM(price) FROM items JOIN orders ON items.of_order = orders.order_id GROUP BY status",
    "SELECT status, COUNT(*) FROM orders o LEFT JOIN items i ON o.order_id = i.of_order GROUP BY status",
    "SELECT status, COUNT(price) FROM orders o, items i WHERE o.order_id = i.of_order AND price > 3 GROUP BY status",
    "SELECT of_order, COUNT(*) FROM items GROUP BY of_order",
    "SELECT AVG(s) FROM (SELECT customer_id, SUM(price) AS s FROM items GROUP BY customer_id) AS q",
    "SELECT COUNT(*) FROM items a JOIN items b ON a.customer_id = b.customer_id AND a.of_order = b.of_order",
]


def database(random: Random) -> Database:
    """Few keys and few units, so that several units have one key, some keys have many rows, and some nobody."""
    orders = [
        {
            "customer_id": f"p{random.randrange(4)}",
            "order_id": random.choice((0, 1, 2, 3, None)),
            "status": random.choice("ab"),
        }
        for _ in range(random.randrange(12))
    ]
    items = [
        {"of_order": random.choice((0, 1, 2, 3, 4, None)), "price": random.randrange(12), "kind": random.choice("xyz")}
        for _ in range(random.randrange(14))
    ]
    return {"orders": orders, "items": items}


def refuted(sql: str, seeds: int) -> list[str]:
    return [
        text
        for seed in range(seeds)
        for text in violations(plan_sql(POLICY, sql).aggregate, database(Random(seed)), "p0", "p1")
    ]


@pytest.mark.parametrize("sql", ASKED)
def test_what_is_claimed_of_one_unit_holds(sql: str) -> None:
    assert refuted(sql, 40) == []


LIES = [
    ("rows", property(lambda self: self.limit), ASKED[0]),
    ("spreads", property(lambda self: (Spread(frozenset({self.reference}), self.left.rows, 1),)), ASKED[6]),
    ("spreads", property(lambda self: (Spread(frozenset({self.reference}), self.left.rows, 1),)), ASKED[3]),
]


@pytest.mark.parametrize("attribute, lie, sql", LIES)
def test_a_false_claim_is_seen(attribute: str, lie: object, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Children, attribute, lie)
    assert refuted(sql, 40)


@pytest.mark.parametrize("place", range(3))
def test_duckdb_computes_what_the_reference_does(place: int) -> None:
    from discreet.engines.duckdb import DuckDB

    rows = database(Random(100 + place))
    with DuckDB(POLICY, arrow_tables(POLICY, rows), rank_key=KEY) as engine:
        unlimited = Policy.from_toml(TOML.replace("rows_per_unit = 3", "rows_per_unit = 99"))
        with DuckDB(unlimited, arrow_tables(unlimited, rows), rank_key=KEY) as wide:
            for sql in ASKED:  # ranks differ from the reference's where rows are dropped
                aggregate = plan_sql(unlimited, sql).aggregate
                assert opened(wide.prepare(aggregate).run(), aggregate) == groups_of(aggregate, rows), sql
        assert engine.prepare(plan_sql(POLICY, ASKED[0]).aggregate).run() is not None


@pytest.mark.engine
def test_postgres_computes_what_the_reference_does() -> None:
    from discreet.engines.postgres import Postgres

    rows = database(Random(7))
    policy = Policy.from_toml(TOML.replace("rows_per_unit = 3", "rows_per_unit = 99"))
    fill_postgres(postgres(), "children", policy, rows)
    with Postgres(policy, postgres(), schema="children", rank_key=KEY) as engine:
        for sql in ASKED:
            aggregate = plan_sql(policy, sql).aggregate
            assert opened(engine.prepare(aggregate).run(), aggregate) == groups_of(aggregate, rows), sql


def test_a_row_that_several_units_reach_counts_once_for_each() -> None:
    rows: Database = {
        "orders": [{"customer_id": name, "order_id": 1, "status": "a"} for name in ("p0", "p0", "p1")],
        "items": [{"of_order": 1, "price": 3, "kind": "x"}, {"of_order": 2, "price": 3, "kind": "x"}],
    }
    # Not three, though there are three orders; and the item that is nobody's is left out.
    assert groups_of(plan_sql(POLICY, ASKED[0]).aggregate, rows) == {(): [(2,)]}


@pytest.mark.parametrize("sql", ASKED)
def test_it_makes_no_difference_whether_a_unit_takes_its_items_along(sql: str) -> None:
    aggregate = plan_sql(POLICY, sql).aggregate
    for seed in range(30):
        left = without(database(Random(seed)), "p0")
        reached = {order["order_id"] for order in left["orders"]}
        fewer = left | {"items": [item for item in left["items"] if item["of_order"] in reached]}
        assert groups_of(aggregate, left) == groups_of(aggregate, fewer)


def test_joins_through_the_reference_keep_their_stability() -> None:
    through = plan_sql(POLICY, ASKED[3]).aggregate
    assert through.rows_per_unit == 6  # three orders, two items of each
    with pytest.raises(QueryRefused, match="Rows of one unit would meet rows of another"):
        plan_sql(POLICY, "SELECT COUNT(*) FROM items a JOIN items b ON a.of_order = b.of_order")


def test_children_are_nothing_by_themselves() -> None:
    """A scan alone is private and belongs to nobody: no question can be asked of it."""
    alone = Scan(POLICY.table("items"))
    assert alone.private
    assert alone.rows is None
    with pytest.raises(QueryRefused, match="Nothing bounds how many rows"):
        Aggregate(alone, (), (RowCount(),)).sensitivity(RowCount())


def test_the_policy_is_written_and_read_again() -> None:
    assert Policy.from_json(POLICY.to_json()) == POLICY
    assert POLICY.table("items").describe()["rows_per_parent"] == 2
    assert not POLICY.table("items").row_is_unit


WRONG = [
    ('references = "orders.order_id"', 'references = "orders"', "its column"),
    ('references = "orders.order_id"', 'references = "shops.order_id"', "unit column"),
    ('references = "orders.order_id"', 'references = "orders.status"', "of the type"),
    ("rows_per_parent = 2", "", "without rows_per_parent"),
    ("rows_per_parent = 2", "rows_per_parent = 0", "rows_per_parent"),
    ("rows_per_parent = 2", "rows_per_parent = 2\nrow_is_unit = true", "keep one"),
    ('through = "of_order"', 'through = "nothing"', "no column"),
    ('through = "of_order"', "", "no column 'order_id'"),
    ("kind = {", "customer_id = {", "rename it"),
]


@pytest.mark.parametrize("old, new, word", WRONG)
def test_a_wrong_reference_is_refused(old: str, new: str, word: str) -> None:
    with pytest.raises(PolicyError, match=word):
        Policy.from_toml(TOML.replace(old, new))


def test_a_limit_needs_a_reference() -> None:
    with pytest.raises(PolicyError, match="refers to no table"):
        Table("items", row_is_unit=True, rows_per_parent=3, columns=[Column("x", type="integer")])

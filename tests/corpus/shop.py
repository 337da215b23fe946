"""The shop's rows, drawn with fixed chances and within the policy's facts, so that plain DuckDB computes the same."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

_CUSTOMERS = 1500
_CHANNELS = ("web", "Web", "store", "phone", "web-app", None)
_TAGS = ("gift", "gift,sale", "sale,new,last", "new", "", None)


def tables() -> dict[str, pa.Table]:
    """Draw all tables."""
    random = Random("shop")
    customers = [_customer(random, number) for number in range(1, _CUSTOMERS + 1)]
    orders: list[dict[str, Any]] = []
    for customer in customers:
        orders += [_order(random, len(orders) + place, customer["customer_id"]) for place in range(random.randrange(6))]
    regions = ("west", "east", "south")
    stores = [
        {
            "store_id": number,
            "region": regions[number % 3],
            "city": f"city {number}",
            "opened": dt.date(2010 + number, 1, 5),
        }
        for number in range(1, 13)
    ]
    return {
        name: pa.Table.from_pylist(rows)
        for name, rows in (("customers", customers), ("orders", orders), ("stores", stores))
    }


def _one(random: Random, choices: Sequence[Any]) -> Any:  # noqa: ANN401 - a cell
    return choices[random.randrange(len(choices))]


def _day(random: Random, first: dt.date, days: int) -> dt.date:
    return first + dt.timedelta(days=random.randrange(days))


def _customer(random: Random, number: int) -> dict[str, Any]:
    return {
        "customer_id": number,
        "state": _one(random, ("CA", "CA", "NY", "TX", "WA", "OR", "FL", None)),
        "gender": _one(random, ("f", "m", None)),
        "plan": _one(random, ("basic", "basic", "pro", "team")),
        "age": 18 + random.randrange(73),
        "income": None if random.random() < 0.1 else round(random.random() * 150_000, 2),
        "signup_date": _day(random, dt.date(2021, 1, 1), 1270),
        "birth_date": _day(random, dt.date(1934, 1, 1), 26_000),
        "email": _one(random, (f"u{number}@mail.com", f"User{number}@Example.org", None)),
        "active": random.random() < 0.7,
        "score": _one(random, (1, 2, 3, 700, None)),
    }


def _order(random: Random, number: int, customer: int) -> dict[str, Any]:
    ordered = dt.datetime(2023, 1, 1) + dt.timedelta(seconds=random.randrange(545 * 86400))  # noqa: DTZ001
    shipped = ordered + dt.timedelta(seconds=random.randrange(10 * 86400))
    return {
        "order_id": number,
        "customer_id": customer,
        "order_date": ordered.date(),
        "ordered_at": ordered,
        "shipped_at": None if random.random() < 0.2 else shipped,
        "status": _one(random, ("placed", "shipped", "shipped", "returned", "canceled")),
        "channel": _one(random, _CHANNELS),
        "total": round(random.random() * 500, 2),
        "quantity": 1 + random.randrange(20),
        "discount": None if random.random() < 0.3 else _one(random, (0.0, 0.05, 0.06, 0.07, 0.1, 0.5)),
        "priority": 1 + random.randrange(5),
        "store_id": 1 + random.randrange(12),
        "zip": _one(random, (94110, 10001, 73301, 98101, 33101)),
        "tags": _one(random, _TAGS),
    }

"""A small policy with every kind of table and column, and random databases for it."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

from discreet.tables import Policy

if TYPE_CHECKING:
    from random import Random

    from tests.plans.interpreter import Database

TOML = """
[budget]
epsilon = 3
delta = 1e-6

[tables.visits]
unit = "patient_id"
unit_kind = "patient"
rows_per_unit = 3
[tables.visits.columns]
ward = { keys = ["cardiology", "oncology", "surgery"] }
cost = { lower = 0.0, upper = 1000 }
change = { lower = -5, upper = 7 }
diagnosis = { type = "text" }
urgent = { type = "boolean" }
visit_date = { lower = 2020-01-01, upper = 2022-12-31 }
left_at = { type = "timestamp" }
score = { type = "float" }
code = { type = "integer" }

[tables.patients]
unit = "patient_id"
unique = ["patient_id"]
[tables.patients.columns]
age = { lower = 0, upper = 120, nullable = false }
sex = { keys = ["f", "m"], null_key = true }
city = { keys = ["north", "south"], other = "elsewhere" }

[tables.wards]
public = true
unique = ["ward"]
[tables.wards.columns]
ward = { type = "text", nullable = false }
beds = { lower = 1, upper = 100 }
floor = { keys = [1, 2, 3] }

[tables.answers]
row_is_unit = true
[tables.answers.columns]
rating = { lower = 1, upper = 5 }
weight = { lower = -0.5, upper = 2.5 }
comment = { type = "text" }

[tables.staff]
unit = "staff_id"
rows_per_unit = 2
[tables.staff.columns]
hours = { lower = 0, upper = 60 }
"""

POLICY = Policy.from_toml(TOML)

_ODD_NUMBERS: list[Any] = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 2**62, -(2**63), "12", None]
_ODD_TEXTS: list[Any] = [None, "", "surgery ", "Ärzte", "%", "12", "2021-02-30", 7, "a'b\"c--"]
_START = dt.date(2019, 12, 1)


def maybe(random: Random, odd: list[Any], usual: Any) -> Any:  # noqa: ANN401 - cells of any kind
    """Now and then a cell that a careless engine would stumble over."""
    return random.choice(odd) if random.random() < 0.15 else usual


def visit(random: Random, unit: object) -> dict[str, Any]:
    """One row of visits."""
    date = _START + dt.timedelta(days=random.randrange(1200))
    return {
        "patient_id": unit,
        "ward": maybe(random, _ODD_TEXTS, random.choice(["cardiology", "oncology", "surgery", "attic"])),
        "cost": maybe(random, _ODD_NUMBERS, round(random.uniform(-50, 1200), 2)),
        "change": maybe(random, _ODD_NUMBERS, random.randint(-7, 9)),
        "diagnosis": maybe(random, _ODD_TEXTS, random.choice(["flu", "burn", "fracture"])),
        "urgent": random.choice([True, False, None]),
        "visit_date": maybe(random, [None, "x", dt.date(1, 1, 1), dt.date(9999, 12, 31)], date),
        "left_at": maybe(random, [None], dt.datetime.combine(date, dt.time(random.randrange(24), 30))),
        "score": maybe(random, _ODD_NUMBERS, random.gauss(0, 10)),
        "code": maybe(random, _ODD_NUMBERS, random.randint(-100, 100)),
    }


def patient(random: Random, unit: object) -> dict[str, Any]:
    """One row of patients."""
    return {
        "patient_id": unit,
        "age": maybe(random, _ODD_NUMBERS, random.randint(-5, 130)),
        "sex": random.choice(["f", "m", None, "x"]),
        "city": random.choice(["north", "south", "west", None]),
    }


def answer(random: Random) -> dict[str, Any]:
    """One row of answers."""
    rating, weight = random.randint(0, 6), random.uniform(-1, 3)
    return {"rating": rating, "weight": maybe(random, _ODD_NUMBERS, weight), "comment": random.choice(_ODD_TEXTS)}


def database(random: Random, units: int = 4) -> Database:
    """A few patients with a few rows each, some more than the policy allows, some without a name."""
    names = [f"p{number}" for number in range(units)]
    owners = [*names, None]
    return {
        "visits": [visit(random, unit) for unit in owners for _ in range(random.randrange(6))],
        "patients": [patient(random, unit) for unit in owners for _ in range(random.choice([0, 1, 1, 2]))],
        "wards": [
            {"ward": ward, "beds": random.randint(0, 200), "floor": random.randint(1, 4)}
            for ward in ["cardiology", "oncology", "surgery", None]
        ],
        "answers": [answer(random) | {"_row": f"a{number}"} for number in range(random.randrange(6))],
        "staff": [{"staff_id": f"s{n}", "hours": random.randint(0, 70)} for n in range(3)],
    }


def without(database: Database, unit: object) -> Database:
    """The neighbor: all rows of a unit are gone, from every private table."""
    owner = {"visits": "patient_id", "patients": "patient_id", "staff": "staff_id", "answers": "_row"} | {
        "orders": "customer_id"  # of `test_children`
    }
    return {
        name: [row for row in rows if name not in owner or row[owner[name]] != unit] for name, rows in database.items()
    }

"""A question as a tree of frozen nodes, with the share that one unit has in it; from SQL or from Python.

>>> from discreet.plans import aggregates as agg, plan_sql, table
>>> from discreet.tables import Column, Policy, Table
>>> visits = Table("visits", unit="patient_id", rows_per_unit=20, columns=[Column("cost", lower=0, upper=500)])
>>> policy = Policy([visits], epsilon=3)
>>> asked = plan_sql(policy, "SELECT AVG(cost) FROM visits WHERE cost > 100")
>>> built = table(policy, "visits").where("cost > 100").agg(cost=agg.mean("cost"))
>>> asked.key == built.key
True
"""

from __future__ import annotations

from discreet.plans import aggregates
from discreet.plans.builder import Desk, Frame, Groups, table
from discreet.plans.extract import Extract
from discreet.plans.normal import Bounding, Place, Shape
from discreet.plans.plan import Ordering, Plan, Request
from discreet.plans.sql import plan_sql
from discreet.plans.terms import Term, col, lit

__all__ = [
    "Bounding",
    "Desk",
    "Extract",
    "Frame",
    "Groups",
    "Ordering",
    "Place",
    "Plan",
    "Request",
    "Shape",
    "Term",
    "aggregates",
    "col",
    "lit",
    "plan_sql",
    "table",
]

"""SQL in, by allow-list: what is not known to be safe is refused, before any data is touched.

>>> from discreet.plans.sql import plan_sql
>>> from discreet.tables import Policy, Table
>>> plan_sql(Policy([Table("people", row_is_unit=True)], epsilon=1), "SELECT COUNT(*) FROM people").tables
('people',)
"""

from __future__ import annotations

from discreet.plans.sql.question import plan_sql

__all__ = ["plan_sql"]

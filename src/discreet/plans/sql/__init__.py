"""SQL in, by allow-list: what is not known to be safe is refused, before any data is touched.

>>> from discreet.plans.sql import DIALECTS
>>> DIALECTS
('duckdb', 'postgres', 'spark')
"""

from __future__ import annotations

from discreet.plans.sql.question import plan_sql
from discreet.plans.sql.reading import DIALECTS

__all__ = ["DIALECTS", "plan_sql"]

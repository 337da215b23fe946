"""A statement as cores, which are released, and a shell, which is plain SQL over what was released.

>>> from discreet.plans.shell import split_sql
>>> from discreet.tables import Column, Policy, Table
>>> policy = Policy([Table("people", row_is_unit=True, columns=[Column("age", lower=0, upper=120)])], epsilon=1)
>>> split_sql(policy, "SELECT n FROM (SELECT COUNT(*) AS n FROM people) AS q WHERE n > 10").text
'SELECT n FROM (SELECT core1.n AS n FROM core1) AS q WHERE n > 10'
"""

from __future__ import annotations

from discreet.plans.shell.shell import Core, Hole, Shell
from discreet.plans.shell.splitting import read_sql, split_sql

__all__ = ["Core", "Hole", "Shell", "read_sql", "split_sql"]

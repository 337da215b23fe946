"""What is public about the data: policy, tables, columns, kinds, bounds, keys and the unit.

>>> from discreet.tables import Column, Table
>>> Table("wards", public=True, unique=["ward"], columns=[Column("beds", lower=0, upper=100)]).private
False
"""

from __future__ import annotations

from discreet.tables.analyst import Analyst
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.column import Column
from discreet.tables.kinds import Kind, Value
from discreet.tables.policy import Policy
from discreet.tables.purpose import Purpose
from discreet.tables.table import Table

__all__ = ["UNBOUNDED", "Analyst", "Bounds", "Column", "Kind", "Policy", "Purpose", "Table", "Value"]

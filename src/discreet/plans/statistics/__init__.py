"""What engines compute: integers per group, and values per unit.

>>> from discreet.plans.statistics import RowCount
>>> RowCount().reach({})
(0, 1)
"""

from __future__ import annotations

from discreet.plans.statistics.exact import BinCounts, DistinctCount, Moment, RowCount, Statistic, ValueCount
from discreet.plans.statistics.per_unit import (
    UnitCount,
    UnitCountDistinct,
    UnitCountValues,
    UnitMax,
    UnitMean,
    UnitMin,
    UnitMoment,
    UnitStatistic,
    UnitSum,
)
from discreet.plans.statistics.ranked import RankedCells, Window
from discreet.plans.statistics.snapped import Snapped

__all__ = [
    "BinCounts",
    "DistinctCount",
    "Moment",
    "RankedCells",
    "RowCount",
    "Snapped",
    "Statistic",
    "UnitCount",
    "UnitCountDistinct",
    "UnitCountValues",
    "UnitMax",
    "UnitMean",
    "UnitMin",
    "UnitMoment",
    "UnitStatistic",
    "UnitSum",
    "ValueCount",
    "Window",
]

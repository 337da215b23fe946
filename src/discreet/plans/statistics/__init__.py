"""What engines compute: integers per group, and values per unit.

>>> from discreet.plans.statistics import RowCount
>>> RowCount().reach({})
(0, 1)
"""

from __future__ import annotations

from discreet.plans.statistics.exact import (
    BinCounts,
    DistinctCount,
    Moment,
    RankedCells,
    RowCount,
    Snapped,
    Statistic,
    ValueCount,
    Window,
)
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

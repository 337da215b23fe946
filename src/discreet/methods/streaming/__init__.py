"""Streams: sums that keep coming, decisions that follow them, changes that are noticed.

>>> from discreet.methods.streaming import PrefixSum
>>> PrefixSum(365, sensitivity=1, epsilon=1)
PrefixSum(ε = 1, step 0 of 365)
"""

from __future__ import annotations

from discreet.methods.streaming.continual_sum import ContinualSum, Elements, Outside
from discreet.methods.streaming.kept_sum import KeptSum
from discreet.methods.streaming.prefix_sum import PrefixSum
from discreet.methods.streaming.table_stream import TableStream

__all__ = ["ContinualSum", "Elements", "KeptSum", "Outside", "PrefixSum", "TableStream"]

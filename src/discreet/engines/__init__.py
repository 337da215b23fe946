"""Engines: run a plan where the data is, and hold its exact answers until noise is added.

>>> from discreet.engines import open_engine
>>> from discreet.tables import Policy
>>> open_engine(Policy([], epsilon=1), "nowhere.duckdb")
Traceback (most recent call last):
...
discreet.errors.ParameterError: there is no file or folder 'nowhere.duckdb'; give a .duckdb file, or a folder of ...
"""

from __future__ import annotations

from discreet.engines.bounded_rows import BoundedRows
from discreet.engines.engine import Aggregates, Engine, Prepared, Snapshot
from discreet.engines.loan import Batches, Loan
from discreet.engines.opening import open_engine

__all__ = ["Aggregates", "Batches", "BoundedRows", "Engine", "Loan", "Prepared", "Snapshot", "open_engine"]

"""DuckDB: the embedded engine, for files, data frames and DuckDB databases."""

from __future__ import annotations

from discreet.engines.duckdb.engine import DuckDB

__all__ = ["DuckDB"]

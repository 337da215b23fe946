"""Spark 4: a session, a standalone master, or Spark Connect."""

from __future__ import annotations

from discreet.engines.spark.engine import Spark

__all__ = ["Spark"]

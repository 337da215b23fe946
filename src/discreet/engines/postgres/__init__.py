"""PostgreSQL 16 or newer, by psycopg 3."""

from __future__ import annotations

from discreet.engines.postgres.engine import Postgres

__all__ = ["Postgres"]

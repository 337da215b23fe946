"""Open the engine that a source asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines.sql.running import SQLEngine
from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.tables import Policy

__all__ = ["open_engine"]


def open_engine(policy: Policy, source: object = None, *, relative_to: str | Path | None = None) -> Engine:
    """Open a source of data for the tables of a policy.

    - a path of a CSV, Parquet or Arrow file, of a folder of such files, or of a .duckdb file; a mapping of tables to
      data frames: `DuckDB`;
    - `postgresql://…`: `Postgres`;
    - a Spark session, `spark://…` (a master) or `sc://…` (Spark Connect): `Spark`;
    - an engine that is open already, for the same policy: itself. Engines take further settings where they are opened
      by their own names.

    Without `source` it is the policy's; `relative_to` is the folder of the policy's file.

    >>> import pyarrow as pa
    >>> from discreet.tables import Column, Policy, Table
    >>> wards = Table("wards", public=True, columns=[Column("beds", lower=0, upper=99)])
    >>> with open_engine(Policy([wards], epsilon=1), {"wards": pa.table({"beds": [12]})}) as engine:
    ...     type(engine).__name__
    'DuckDB'
    """
    given = policy.source if source is None else source
    if isinstance(given, SQLEngine):
        if given.policy.hash != policy.hash:
            msg = "source is an engine that was opened for another policy; open one for this policy."
            raise ParameterError(msg)
        return given
    if isinstance(given, str):
        scheme = given.partition("://")[0] if "://" in given else ""
        if scheme in {"postgresql", "postgres"}:
            from discreet.engines.postgres import Postgres

            return Postgres(policy, given)
        if scheme in {"spark", "sc"} or given.startswith("local["):
            from discreet.engines.spark import Spark

            return Spark(policy, given)
        if scheme:
            msg = f"source is {shown(scheme)}://…; it must be a path, postgresql://…, spark://… or sc://…."
            raise ParameterError(msg)
    if isinstance(given, str | Path | Mapping):
        from discreet.engines.duckdb import DuckDB

        inside = Path(relative_to or ".") / given if isinstance(given, str | Path) else given
        return DuckDB(policy, inside)
    if hasattr(given, "newSession"):
        from discreet.engines.spark import Spark

        return Spark(policy, given)
    msg = (
        f"source is {'missing' if given is None else 'a ' + type(given).__name__}; it must be a path, an address, a "
        "mapping of tables to data frames, or a Spark session. In a policy file: [source] and below it url = '.', a "
        "folder of CSV or Parquet files beside it."
    )
    raise ParameterError(msg)

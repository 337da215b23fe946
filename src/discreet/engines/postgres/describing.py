"""What a PostgreSQL database says of its tables: names and types of columns, as far as the role may read them."""

from __future__ import annotations

from contextlib import closing

from discreet.engines.postgres.engine import SETTINGS, connected
from discreet.errors import ParameterError

__all__ = ["granted_columns"]

_SECONDS = 60
_COLUMNS = """
SELECT c.relname, a.attname, CASE t.typtype WHEN 'e' THEN 'enum' ELSE format_type(a.atttypid, NULL) END
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND a.attnum > 0 AND NOT a.attisdropped
AND NOT c.relispartition AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY c.relname, a.attnum
"""
_KINDS = {
    "smallint": "BIGINT", "integer": "BIGINT", "bigint": "BIGINT", "real": "DOUBLE", "double precision": "DOUBLE",
    "numeric": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE", "timestamp without": "TIMESTAMP", "text": "VARCHAR",
    "character": "VARCHAR", "enum": "VARCHAR",
}  # fmt: skip


def granted_columns(address: str) -> dict[str, dict[str, str | None]]:
    """Name the tables of the schema `public` and their columns with their declared types; no row is looked at.

    >>> granted_columns("postgresql://nobody@127.0.0.1:1/nothing")
    Traceback (most recent call last):
    ...
    discreet.errors.EngineError: PostgreSQL does not answer at the given address; check host, port, database, ...
    """
    tables: dict[str, dict[str, str | None]] = {}
    with closing(connected(address, _SECONDS, SETTINGS)) as connection:
        for table, column, given in connection.execute(_COLUMNS).fetchall():
            kind = next((kind for start, kind in _KINDS.items() if str(given).startswith(start)), str(given))
            tables.setdefault(str(table), {})[str(column)] = kind
    if not tables:
        msg = "the database has no table in the schema public that this role may read; grant SELECT on it."
        raise ParameterError(msg)
    return tables

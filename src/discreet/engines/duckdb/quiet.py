"""A connection that shows nothing: DuckDB would draw the progress of a private question on the screen of who asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["quiet"]


def quiet(connection: DuckDBPyConnection) -> DuckDBPyConnection:
    """Turn the progress bar off: how far a question is, and how long it takes, depends on private rows.

    In a notebook it is on unless it is turned off. It is a setting of the connection, not of the database.

    >>> import duckdb
    >>> with quiet(duckdb.connect()) as connection:
    ...     connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    [(False,)]
    """
    for setting in ("enable_progress_bar", "enable_progress_bar_print"):
        connection.execute(f"SET {setting} = false")
    return connection

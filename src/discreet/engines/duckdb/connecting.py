"""A connection that shows nothing and can be undone, to paths that DuckDB reads as the system does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from pathlib import Path

    from duckdb import DuckDBPyConnection

__all__ = ["quiet", "require_plain", "undo"]


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


def undo(connection: DuckDBPyConnection) -> None:
    """Roll a transaction back, also if an interrupt that was meant for its statement comes late and hits this.

    Where none is open, as it never began or is committed, there is nothing to undo.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     _ = connection.execute("BEGIN")
    ...     undo(connection)
    ...     connection.execute("SELECT 1").fetchall()
    [(1,)]
    """
    import duckdb

    while True:
        try:
            connection.execute("ROLLBACK")
        except duckdb.InterruptException:
            continue
        except duckdb.TransactionException:
            return
        return


def require_plain(path: Path) -> None:
    """Refuse a database in whose path DuckDB takes a backslash for a slash: it would open another file.

    >>> import pathlib
    >>> require_plain(pathlib.Path("/data/hospital.duckdb"))
    """
    if os.sep == "/" and "\\" in str(path):
        msg = (
            f"the path {shown(str(path))} holds a backslash, which DuckDB takes for a slash; rename the folder or file."
        )
        raise ParameterError(msg)

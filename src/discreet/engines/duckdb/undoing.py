"""Undo what an interrupt left half done."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["undo"]


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

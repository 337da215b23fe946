"""What is checked when a source is opened: that tables can be read as declared, and that public keys are unique."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.engines.sql.statistics import count_rows
from discreet.engines.sql.words import alias, all_of, column, not_null, select
from discreet.errors import ParameterError
from discreet.plans.nodes import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.engines.sql.relations import Emitter
    from discreet.tables import Policy

__all__ = ["repeated", "require_readable"]


def require_readable(policy: Policy, emitter: Emitter) -> None:
    """Refuse stored types that cannot be read as declared."""
    for table in policy.tables:
        try:
            emitter.relation(Scan(table))
        except ParameterError as error:
            msg = f"table {table.name!r}: {error}"
            raise ParameterError(msg) from None


def repeated(policy: Policy, emitter: Emitter, execute: Callable[[str], Sequence[object]]) -> None:
    """Refuse a public table whose unique columns repeat; NULLs never do."""
    for table in policy.tables:
        for unique in table.unique if table.public else ():
            scan = emitter.relation(Scan(table))
            keys = [column(scan.names[name]) for name in unique]
            grouped = select(
                [alias(count_rows(), "n")], scan.query, where=all_of([not_null(key) for key in keys]), group=keys
            )
            largest = select([alias(emitter.dialect.largest(column("n"), scan.schema[unique[0]].kind), "n")], grouped)
            rows = execute(emitter.dialect.written(largest))
            if rows and (rows[0][0] or 0) > 1:  # type: ignore[index]
                msg = (
                    f"the public table {table.name!r} holds a value of {', '.join(unique)} more than once, against its "
                    "policy. Correct the table, or take the columns out of `unique`."
                )
                raise ParameterError(msg)

"""What is checked when a source is opened: that tables can be read as declared, and that public keys are unique."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.engines.sql.rows import count_rows
from discreet.engines.sql.words import alias, all_of, column, not_null, select
from discreet.errors import ParameterError
from discreet.exact import counted
from discreet.plans.nodes import Scan
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.engines.sql.relations import Emitter
    from discreet.tables import Policy, Table

__all__ = ["Declared", "declared_facts", "most_alike", "repeated", "require_readable"]


@dataclass(frozen=True, slots=True)
class Declared:
    """A fact of a policy about rows: how often values of some columns stand in a table at most.

    >>> str(Declared("visits", ("patient_id",), 20))
    'visits: at most 20 rows with the same patient_id'
    """

    table: str
    columns: tuple[str, ...]
    most: int

    def __str__(self) -> str:
        return f"{self.table}: at most {counted(self.most, 'row')} with the same {' and '.join(self.columns)}"


def declared_facts(policy: Policy) -> tuple[Declared, ...]:
    """List the facts that only a look at all rows can verify: unique columns, and rows per unit.

    >>> from discreet.tables import Policy, Table
    >>> [str(each) for each in declared_facts(Policy([Table("people", unit="id", unique=["id"])], epsilon=1))]
    ['people: at most 1 row with the same id']
    """
    declared: dict[Declared, None] = {}
    for table in policy.tables:
        for unique in table.unique:
            declared[Declared(table.name, unique, 1)] = None
        if table.unit is not None and table.rows_per_unit is not None:
            declared[Declared(table.name, (table.unit,), table.rows_per_unit)] = None
    return tuple(declared)


def require_readable(policy: Policy, emitter: Emitter) -> None:
    """Refuse stored types that cannot be read as declared."""
    for table in policy.tables:
        try:
            emitter.relation(Scan(table))
        except ParameterError as error:
            msg = f"table {table.name!r}: {error}"
            raise ParameterError(msg) from None


def most_alike(table: Table, columns: Sequence[str], emitter: Emitter) -> str:
    """Write the question how many rows of a table have the same values in some columns, at most; NULLs do not count."""
    scan = emitter.relation(Scan(table))
    keys = [column(scan.names[name]) for name in columns]
    grouped = select([alias(count_rows(), "n")], scan.query, where=all_of([not_null(key) for key in keys]), group=keys)
    largest = select([alias(emitter.dialect.largest(column("n"), Kind.INTEGER), "n")], grouped)
    return emitter.dialect.written(largest)


def repeated(policy: Policy, emitter: Emitter, execute: Callable[[str], Sequence[object]]) -> None:
    """Refuse a public table whose unique columns repeat; NULLs never do."""
    for table in policy.tables:
        for unique in table.unique if table.public else ():
            rows = execute(most_alike(table, unique, emitter))
            if rows and (rows[0][0] or 0) > 1:  # type: ignore[index]
                msg = (
                    f"the public table {table.name!r} holds a value of {', '.join(unique)} more than once, against its "
                    "policy. Correct the table, or take the columns out of `unique`."
                )
                raise ParameterError(msg)

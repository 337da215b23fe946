"""Rows on loan: a handle that tells public facts, and gives rows only to who has paid for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.engines.bounded_rows import described, facts_of
from discreet.engines.sealed import Sealed
from discreet.ledgers.lending import require_paid
from discreet.ledgers.purse import Entry
from discreet.plans.extract import code_book

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.ledgers import Ledger, Reservation, Session
    from discreet.plans import Extract
    from discreet.plans.facts import Schema
    from discreet.privacy.relations import Relation
    from discreet.tables import Value

__all__ = ["Loan"]


class Loan(Sealed):
    """Bounded rows for a method that needs rows: `db.table("visits").select("cost").rows()`.

    Everything public about them can be asked at any time: columns with their types and bounds, known keys, how many
    rows a unit has at most, who the unit is, how neighbors differ. The rows themselves are read with a reservation in
    hand: the one that `charge` gives to its `run`, that of a step in a session, or a session that is held. It must be
    of this database's ledger, name the tables of the loan, and not have its answer yet. Everything else is refused
    before any data is touched. What a method makes of the rows is its own promise, which it pays for.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.ledgers import charge
    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.privacy import Pure
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=2, columns=[Column("ward", keys=["a", "b"])])
    >>> noise = DiscreteLaplace(sensitivity=2, epsilon=99)
    >>> with Database(Policy([visits], epsilon=99), {"visits": pa.table({"id": range(9), "ward": ["a"] * 9})}) as db:
    ...     loan = db.table("visits").select("ward").rows()
    ...     def run(paid):
    ...         return noise.release(int((loan.read(paid).columns["ward"] == 0).sum()))
    ...     loan, loan.keys("ward"), charge(db.ledger, Pure(99), loan.entry("rows in ward a"), run).value
    (Loan(ward; at most 2 rows of each id), ('a', 'b'), 9)
    """

    __slots__ = ("_alive", "_asker", "_extract", "_ledger", "_rows")

    closed = "rows on loan are not counted, listed, copied, compared or stored; read them with a reservation."

    def __init__(
        self,
        extract: Extract,
        ledger: Ledger,
        rows: Callable[[], BoundedRows],
        alive: Callable[[], bool],
        asker: tuple[str | None, str | None] = (None, None),
    ) -> None:
        """Take what an engine lends: `rows` reads them, and nothing calls it before a reservation was seen."""
        self._extract = extract
        self._ledger = ledger
        self._rows = rows
        self._alive = alive
        self._asker = asker

    @property
    def schema(self) -> Schema:
        """The columns in their order, each with its public facts."""
        return self._extract.schema

    def keys(self, name: str) -> tuple[Value, ...] | None:
        """The known values of a column, by their codes; None for a column of numbers."""
        return code_book(facts_of(self.schema, name))

    @property
    def rows_per_unit(self) -> int:
        """The most rows of one unit."""
        return self._extract.rows_per_unit

    @property
    def unit_kind(self) -> str:
        """Who the unit is."""
        return self._extract.unit_kind

    @property
    def neighbors(self) -> Relation:
        """How neighbors differ."""
        return self._extract.neighbors

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that are read; a reservation must name them."""
        return self._extract.tables

    @property
    def key(self) -> str:
        """What makes two loans the same: columns, conditions, limits, the policy and the dataset version."""
        return self._extract.key

    def alive(self) -> bool:
        """Tell whether the source answers, without looking at data; ask before anything is reserved."""
        return self._alive()

    def entry(self, name: str, *, kind: str = "method", details: Mapping[str, object] | None = None) -> Entry:
        """Say what a method's cost is for: its name, on this loan's rows, by who opened the database.

        It is found again by name and loan, so the name holds every parameter of the method that changes its release.
        """
        extract = self._extract
        analyst, purpose = self._asker
        return Entry(
            f"{name} of {extract.key}",
            extract.tables,
            analyst,
            purpose,
            kind,
            asked=f"{name} of {', '.join(extract.schema)} of {', '.join(extract.tables)}",
            policy=extract.policy.hash,
            version=extract.policy.version,
            details=details or {},
            verified=extract.verified,
        )

    def read(self, paid: Reservation | Session) -> BoundedRows:
        """Give the rows to who has paid; the engine is touched only after the ledger has said so."""
        require_paid(self._ledger, paid, self._extract.tables, self._extract.verified)
        return self._rows()

    def __repr__(self) -> str:
        return f"Loan({described(self.schema, self.rows_per_unit, self.unit_kind)})"

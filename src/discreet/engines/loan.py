"""Rows on loan: a handle that tells public facts, and gives rows only to whoever has paid for them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from discreet.engines.bounded_rows import BoundedRows, described, facts_of, first_of_each
from discreet.engines.sealed import Sealed
from discreet.errors import EngineError, ParameterError
from discreet.exact import integer
from discreet.files import PrivateFolder, made
from discreet.ledgers.lending import require_paid
from discreet.ledgers.purse import Entry
from discreet.plans.extract import code_book
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from fractions import Fraction
    from typing import Self

    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import Coded
    from discreet.ledgers import Ledger, Reservation, Session
    from discreet.plans import Extract
    from discreet.plans.expressions.expression import Schema
    from discreet.privacy.relations import Relation
    from discreet.tables import Value

__all__ = ["Arrays", "Batches", "Loan"]

NAMED = ""
"""Under this name, which no column has, rows may bring the names of their units."""

Arrays: TypeAlias = "tuple[NDArray[np.int64], dict[str, tuple[Coded, NDArray[np.bool_]]]]"
"""Rows as an engine reads them: their units, and of each column its cells and where they are missing."""


class _Reading(Protocol):
    def __call__(self, take: Callable[[Arrays], None], *, whole: bool) -> None:
        """Hand rows over in the order of their units: all at once, or a few at a time."""


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
        rows: _Reading,
        alive: Callable[[], bool],
        asker: tuple[str | None, str | None] = (None, None),
    ) -> None:
        """Take what an engine lends: `rows` hands them over, and nothing calls it before a reservation was seen."""
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
    def ledger(self) -> Ledger:
        """The ledger that a method charges before it reads."""
        return self._ledger

    @property
    def release_delta(self) -> Fraction:
        """The delta of a release that names none, by the policy; 0 where there is none."""
        return self._extract.policy.release_delta

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
            policy=extract.policy.facts_hash,
            version=extract.policy.version,
            details=details or {},
            verified=extract.verified,
        )

    def read(self, paid: Reservation | Session) -> BoundedRows:
        """Give the rows to whoever has paid; the engine is touched only after the ledger has said so."""
        self._require_paid(paid)
        arrays: list[Arrays] = []
        self._rows(arrays.append, whole=True)
        return _bounded(self._extract, arrays[0])

    def batches(self, paid: Reservation | Session, *, rows: int) -> Batches:
        """Give the rows to whoever has paid, at most so many at a time: for more rows than memory holds.

        The engine is read once, in one snapshot, into a private temporary folder, which is removed when the block ends;
        so a method may go through the batches as often as it needs to. All rows of a unit are in one batch: `rows` is
        at least `rows_per_unit`. Put together, the batches are what `read` gives. Each is given only as long as `paid`
        would still read the loan.

        >>> import pyarrow as pa
        >>> from discreet.database import Database
        >>> from discreet.privacy import Pure
        >>> from discreet.tables import Column, Policy, Table
        >>> visits = Table("visits", unit="id", rows_per_unit=2, columns=[Column("cost", lower=0, upper=9)])
        >>> data = {"visits": pa.table({"id": [1, 1, 2, 3], "cost": [5] * 4})}
        >>> with Database(Policy([visits], epsilon=9), data) as db:
        ...     loan = db.table("visits").select("cost").rows()
        ...     with loan.batches(db.ledger.reserve(Pure(1), loan.entry("costs")), rows=2) as batches:
        ...         all(batch.columns["cost"].size <= 2 for batch in batches), batches
        (True, Batches(cost; at most 2 rows of each id))
        """
        most = integer(rows, name="rows", least=self.rows_per_unit)
        self._require_paid(paid)
        return Batches(self._extract, most, lambda: self._require_paid(paid), self._rows)

    def _require_paid(self, paid: Reservation | Session) -> None:
        require_paid(self._ledger, paid, self._extract.tables, self._extract.verified)

    def __repr__(self) -> str:
        return f"Loan({described(self.schema, self.rows_per_unit, self.unit_kind)})"


class Batches(Sealed):
    """Rows on loan in parts: a context, and in it what gives `BoundedRows` one after the other, as often as asked.

    Units are numbered on from batch to batch. How many batches there are is as private as the number of rows.

    >>> Batches.closed
    'batches of private rows are not counted, copied, compared or stored; read them one after the other.'
    """

    __slots__ = ("_extract", "_folder", "_last", "_most", "_path", "_require_paid")

    closed = "batches of private rows are not counted, copied, compared or stored; read them one after the other."

    def __init__(self, extract: Extract, most: int, require_paid: Callable[[], None], rows: _Reading) -> None:
        """Read the rows into a folder: a file for the units, and two for each column."""
        self._extract = extract
        self._most = most
        self._require_paid = require_paid
        self._folder = _private_folder()
        self._path = self._folder.path
        self._last = np.array([], dtype=np.int64)
        try:
            rows(self._keep, whole=False)
        except BaseException:  # who keeps the error keeps this object: rows must not stay as long
            self._folder.__exit__(None, None, None)
            raise

    def _keep(self, arrays: Arrays) -> None:
        """Append rows to the files, of each unit the first: more would not fit into a batch."""
        units, columns = arrays
        limit, before = self._extract.rows_per_unit, self._last.size
        together = np.r_[self._last, units]
        kept = np.sort(first_of_each(together, limit))
        self._last, kept = together[kept][-limit:], kept[before:] - before
        parts: dict[str, NDArray[Any]] = {"units": units}
        for place, (cells, missing) in enumerate(columns.values()):
            parts |= {f"cells {place}": cells, f"missing {place}": missing}
        for name, part in parts.items():
            with os.fdopen(made(self._path / name, os.O_WRONLY | os.O_APPEND), "ab") as file:
                part[kept].tofile(file)

    def _kept(self, name: str, start: int, most: int, kind: type[np.generic] = np.int64) -> NDArray[Any]:
        return np.fromfile(self._path / name, kind, most, offset=start * np.dtype(kind).itemsize)

    def __iter__(self) -> Iterator[BoundedRows]:
        start = 0
        while self._is_open() and (self._path / "units").exists():
            self._require_paid()
            units = self._kept("units", start, self._most + 1)
            if not units.size:
                return
            if units.size > self._most:  # the last unit may go on behind them
                units = units[: np.flatnonzero(np.diff(units))[-1] + 1]
            columns = {}
            for place, (name, facts) in enumerate(self._extract.schema.items()):
                kind = np.float64 if facts.kind is Kind.FLOAT and code_book(facts) is None else np.int64
                cells = self._kept(f"cells {place}", start, units.size, kind)
                columns[name] = cells, self._kept(f"missing {place}", start, units.size, np.bool_)
            start += units.size
            yield _bounded(self._extract, (units, columns))

    def _is_open(self) -> bool:
        if not self._path.exists():
            msg = "the batches were closed, and their rows removed; ask the loan for new ones."
            raise ParameterError(msg)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._folder.__exit__(None, None, None)

    def __repr__(self) -> str:
        extract = self._extract
        return f"Batches({described(extract.schema, extract.rows_per_unit, extract.unit_kind)})"


def _private_folder() -> PrivateFolder:
    with suppress(OSError):
        return PrivateFolder()
    msg = "a temporary folder cannot be made; the rows were not read. Check TMPDIR, and the space there."
    raise EngineError(msg)


def _bounded(extract: Extract, arrays: Arrays) -> BoundedRows:
    """Bound what an engine has read, as an extract says."""
    units, columns = arrays
    names = columns[NAMED][0] if NAMED in columns else None
    return BoundedRows(
        columns,
        extract.schema,
        units,
        rows_per_unit=extract.rows_per_unit,
        unit_kind=extract.unit_kind,
        neighbors=extract.neighbors,
        names=names,  # type: ignore[arg-type]  # texts
    )

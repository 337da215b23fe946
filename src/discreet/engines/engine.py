"""What every engine offers, few methods, none of which gives out a row that nobody has paid for; and exact answers.

Only `Aggregates` holds exact answers, and it shows nothing of itself.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.engines.sealed import Sealed
from discreet.errors import ParameterError
from discreet.exact import integer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from discreet.engines.loan import Loan
    from discreet.engines.sql.checks import Declared
    from discreet.engines.sql.losses import TableLosses
    from discreet.engines.sql.statements import Columns
    from discreet.ledgers import Ledger
    from discreet.plans import Extract
    from discreet.plans.nodes import Aggregate
    from discreet.tables import Policy, Table, Value

__all__ = ["Aggregates", "Engine", "Prepared", "Snapshot"]

_FITS = 2**62


class Aggregates(Sealed):
    """What an engine computed: for each group, each statistic as an exact integer, before any noise.

    There is no repr, no str, no iteration, no length, no equality and no pickling. Whoever adds noise calls
    `unprotected`; the word is there to be found in a review.

    >>> import inspect
    >>> [name for name, _ in inspect.getmembers(Aggregates, inspect.isfunction) if not name.startswith("_")]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['unprotected', 'unprotected_cells', 'unprotected_groups', 'unprotected_keys', 'unprotected_pooled',
     'unprotected_units']
    """

    __slots__ = ("_aggregate", "_keys", "_numbers", "_pooled", "_units")

    closed = "exact answers are not shown, copied, compared or stored; release them through a mechanism."

    def __init__(
        self,
        aggregate: Aggregate,
        keys: Sequence[Sequence[Value] | NDArray[np.int64]] | None,
        numbers: Sequence[
            Sequence[Sequence[int]] | Sequence[NDArray[np.int64]] | NDArray[np.int64] | NDArray[np.object_]
        ],
        units: Sequence[int] | NDArray[np.int64],
        pooled: Mapping[int, NDArray[np.int64]] | None = None,
    ) -> None:
        """Take the keys of all groups, column by column, or None for the known groups in their order.

        `numbers`: by statistic the numbers of each group. Groups that were found in the data come in any order: theirs
        is the engine's, and private.

        `pooled`: by the place of a statistic of cells the counts of its bins over all groups, where there are several.
        """
        self._aggregate = aggregate
        self._keys = keys
        self._numbers = numbers
        self._units = units
        self._pooled = pooled or {}

    @property
    def groups(self) -> tuple[tuple[Value, ...], ...]:
        """The known groups in their order; refused where groups were found in the data."""
        if not self._aggregate.known:
            msg = "the groups were found in the data; hand them to a mechanism that selects partitions privately."
            raise ParameterError(msg)
        return tuple(self.unprotected_groups())

    def unprotected(self, place: int, kept: NDArray[np.int64] | None = None) -> NDArray[np.int64] | NDArray[np.object_]:
        """Give a statistic by its place in the aggregate: one row per group, one column per number.

        With `kept`, the groups at these places alone, in this order. Integers of 64 bits where the public bounds say
        that they are enough for 2**36 rows, else Python's.
        """
        integer(place, name="place", least=0, most=len(self._numbers) - 1)
        statistic = self._aggregate.statistics[place]
        low, high = statistic.reach(self._aggregate.child.schema)
        wide = max(-low, high) * 2**36 > _FITS
        numbers = self._numbers[place]
        if kept is not None:
            numbers = numbers[kept] if isinstance(numbers, np.ndarray) else [numbers[at] for at in kept.tolist()]
        sums = np.array(numbers, dtype=object if wide else np.int64)
        return sums.reshape(len(numbers), statistic.size)

    def unprotected_cells(self, place: int, kept: NDArray[np.int64] | None = None) -> list[NDArray[np.int64]]:
        """Give the cells of a statistic near its ranks: for each group one row per cell, as the statistic says.

        With `kept`, those of the groups at these places, in this order.
        """
        integer(place, name="place", least=0, most=len(self._numbers) - 1)
        numbers = self._numbers[place]
        some = numbers if kept is None else [numbers[at] for at in kept.tolist()]
        return [np.array(cells, dtype=np.int64).reshape(-1, 4) for cells in some]

    def unprotected_pooled(self, place: int) -> NDArray[np.int64]:
        """Give the counts of the bins of a statistic of cells, over all groups together."""
        if place not in self._pooled:
            msg = f"statistic {integer(place, name='place')} has no counts over all groups: they are of known groups."
            raise ParameterError(msg)
        return np.array(self._pooled[place], dtype=np.int64)

    def unprotected_groups(self) -> list[tuple[Value, ...]]:
        """Give all groups; where they were found in the data, in the engine's order."""
        if self._keys is not None:
            return list(zip(*map(_listed, self._keys), strict=True))
        return list(itertools.product(*(key.known or () for key in self._aggregate.keys)))

    def unprotected_keys(self, kept: NDArray[np.int64]) -> list[list[Value] | NDArray[np.int64]]:
        """Give the keys of the groups at some places, column by column, for those that were selected privately."""
        if self._keys is None:
            msg = "the groups are known; keys are read only where groups are found in the data."
            raise ParameterError(msg)
        places = kept.tolist()
        return [
            column[kept] if isinstance(column, np.ndarray) else [column[place] for place in places]
            for column in self._keys
        ]

    def unprotected_units(self) -> NDArray[np.int64]:
        """Give the number of different units in each group that was found in the data."""
        if self._aggregate.known:
            msg = "the groups are known; units are counted only where groups are found in the data."
            raise ParameterError(msg)
        return np.array(self._units, dtype=np.int64)


def _listed(column: Sequence[Value] | NDArray[np.int64]) -> Sequence[Value]:
    """A column as Python's own values."""
    return column.tolist() if isinstance(column, np.ndarray) else column


class Snapshot:
    """Prepared questions of one engine, whose answers are consistent with each other; all are computed, or none.

    >>> import pyarrow as pa
    >>> from discreet.engines import open_engine
    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> policy = Policy([Table("visits", row_is_unit=True, columns=[Column("age", lower=0, upper=120)])], epsilon=1)
    >>> with open_engine(policy, {"visits": pa.table({"age": [50, 7]})}) as engine:
    ...     snapshot = Snapshot(engine)
    ...     asked = ["SELECT COUNT(*) AS n FROM visits", "SELECT SUM(age) AS s FROM visits"]
    ...     exact = [snapshot.add(engine.prepare(plan_sql(policy, sql).aggregate)) for sql in asked]
    ...     [each().groups for each in exact]
    [((),), ((),)]
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._prepared: list[Prepared] = []
        self._exact: list[Aggregates] | None = None

    def add(self, prepared: Prepared) -> Callable[[], Aggregates]:
        """Add a question before the first is computed; the function gives its exact answers."""
        place = len(self._prepared)
        self._prepared.append(prepared)
        return lambda: self._computed()[place]

    def _computed(self) -> list[Aggregates]:
        if self._exact is None:
            self._exact = self._engine.run(self._prepared)
        return self._exact


class Prepared(Protocol):
    """A question that the engine can compute; nothing was read yet.

    >>> hasattr(Prepared, "run")
    True
    """

    def run(self) -> Aggregates:
        """Compute it, in one snapshot of the data where the engine has snapshots: `Engine.run` of it alone."""

    def near(self, aggregate: Aggregate) -> Prepared:
        """Read no more than the windows of an aggregate that is the same apart from them, without writing it anew."""


class Engine(Protocol):
    """A source of data that is open for questions.

    Opening checks what is public: that declared tables and columns exist, that their stored types can be read, that
    the unique sets of public tables do not repeat; and it reads the columns of public tables that state none.
    `prepare` refuses what the engine cannot compute, and looks at no data; so the order is prepare, `alive`, reserve
    the budget, run.

    >>> import pyarrow as pa
    >>> from discreet.engines import open_engine
    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=2, columns=[Column("age", lower=0, upper=120)])
    >>> policy = Policy([visits], epsilon=1)
    >>> plan = plan_sql(policy, "SELECT COUNT(*) AS n FROM visits")
    >>> data = pa.table({"id": ["a", "a", "a", "b"], "age": [50, 50, 50, 7]})
    >>> with open_engine(policy, {"visits": data}) as engine:
    ...     engine.prepare(plan.aggregate).run().groups
    ((),)
    """

    @property
    def policy(self) -> Policy:
        """The policy that it was opened for, with the columns of public tables that state none."""

    def alive(self) -> bool:
        """Tell whether the source answers, without looking at data."""

    def prepare(self, aggregate: Aggregate) -> Prepared:
        """Write the statements for a plan's aggregate, or refuse it."""

    def run(self, questions: Sequence[Prepared]) -> list[Aggregates]:
        """Compute questions that were prepared here in one snapshot, each within its own time; all, or none."""

    def lend(
        self,
        extract: Extract,
        ledger: Ledger,
        analyst: str | None = None,
        purpose: str | None = None,
        *,
        named: bool = False,
    ) -> Loan:
        """Write the statement for rows, or refuse them; they are read against a reservation of the ledger.

        With `named` the rows know their units by name, for a method that reads them more than once.
        """

    def public_rows(self, table: Table) -> Columns:
        """Read a public table, its declared columns as they are declared; refuse a private or a very long one."""

    def verify(self, policy: Policy) -> Mapping[Declared, bool]:
        """Tell which facts of the policy hold that only a look at all rows can verify; for the owner alone."""

    def losses(self, policy: Policy) -> tuple[TableLosses, ...]:
        """Count what reading loses of the stored rows; for the owner alone."""

    def drop_ranks(self) -> None:
        """Forget stored ranks; the next question that needs one computes it anew, under the same key."""

    def close(self) -> None:
        """Close the source and remove temporary storage."""

    def __enter__(self) -> Self:
        """Use the engine in a with statement."""

    def __exit__(self, *raised: object) -> None:
        """Close it."""

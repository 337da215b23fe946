"""Questions that are computed together: the first that is asked for computes all, in one snapshot of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.engines.aggregates import Aggregates
    from discreet.engines.engine import Engine, Prepared

__all__ = ["Snapshot"]


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

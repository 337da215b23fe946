"""What every engine offers: few methods, and none that gives out a row which nobody has paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from discreet.engines.aggregates import Aggregates
    from discreet.engines.loan import Loan
    from discreet.engines.sql.checks import Declared
    from discreet.ledgers import Ledger
    from discreet.plans import Extract
    from discreet.plans.nodes import Aggregate
    from discreet.tables import Policy

__all__ = ["Engine", "Prepared"]


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
    the unique sets of public tables do not repeat. `prepare` refuses what the engine cannot compute, and looks at no
    data; so the order is prepare, `alive`, reserve the budget, run.

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

    def alive(self) -> bool:
        """Tell whether the source answers, without looking at data."""

    def prepare(self, aggregate: Aggregate) -> Prepared:
        """Write the statements for a plan's aggregate, or refuse it."""

    def run(self, questions: Sequence[Prepared]) -> list[Aggregates]:
        """Compute questions that were prepared here in one snapshot, each within its own time; all, or none."""

    def lend(self, extract: Extract, ledger: Ledger, analyst: str | None = None, purpose: str | None = None) -> Loan:
        """Write the statement for rows, or refuse them; they are read against a reservation of the ledger."""

    def verify(self, policy: Policy) -> Mapping[Declared, bool]:
        """Tell which facts of the policy hold that only a look at all rows can verify; for the owner alone."""

    def drop_ranks(self) -> None:
        """Forget stored ranks; the next question that needs one computes it anew, under the same key."""

    def close(self) -> None:
        """Close the source and remove temporary storage."""

    def __enter__(self) -> Self:
        """Use the engine in a with statement."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""

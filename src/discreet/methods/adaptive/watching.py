"""Counting questions of a database against a threshold: what `Database.watch` opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from discreet.errors import EngineError, ParameterError
from discreet.exact import counted, shown
from discreet.ledgers import Entry
from discreet.ledgers.lending import require_paid
from discreet.methods.adaptive.kept import read_name
from discreet.methods.adaptive.sparse_vector import SparseSession, SparseVector
from discreet.plans.aggregates import Count, CountDistinct
from discreet.plans.expressions import Column
from discreet.plans.refusals import refuse
from discreet.privacy import NeighborRelation
from discreet.releases import Question

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self, SupportsIndex

    from discreet.engines import Engine
    from discreet.exact import Number
    from discreet.ledgers import Ledger, Session
    from discreet.mechanisms import Release
    from discreet.methods.adaptive.sparse_vector import Told
    from discreet.plans import Plan
    from discreet.releases.shell import ShellQuestion
    from discreet.tables import Policy

__all__ = ["Asker", "Watching", "rows_moved", "watch"]


class Asker(Protocol):
    """A database, as far as a watch needs one.

    >>> from discreet.database import Database
    >>> hasattr(Database, "sql")
    True
    """

    @property
    def policy(self) -> Policy:
        """What is public about the data."""

    @property
    def ledger(self) -> Ledger:
        """What pays."""

    def sql(self, text: str) -> Question | ShellQuestion:
        """Plan a question."""


def rows_moved(plan: Plan) -> int:
    """Return by how many one unit moves a count, or refuse what is no single count over all rows.

    The count is a sum over units of what their own rows add, or a number of different values, so it never falls when
    a unit is added: counts are monotone under add/remove. Under change-one a unit with r rows leaves and one with r
    enters: the count moves by at most r, either way.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Policy, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=4)
    >>> rows_moved(plan_sql(Policy([visits], epsilon=1), "SELECT COUNT(*) AS n FROM visits"))
    4
    """
    request, instead = plan.request, "SELECT COUNT(*) AS n FROM visits WHERE cost > 100."
    if request.keys:
        refuse("GROUP BY", why="A watch compares one count with its threshold, and here are several.", instead=instead)
    if len(request.measures) != 1 or not isinstance(request.measures[0][1], Count | CountDistinct):
        refuse("SELECT", why="A watch compares one count with its threshold.", instead=instead)
    ((name, _),) = request.measures
    shell = request.having is not None or bool(request.order) or request.limit is not None
    if shell or [value for _, value in request.outputs] != [Column(name)]:
        why = "A watch compares the count itself, and nothing that is computed from it."
        refuse("SELECT", why=why, instead=f"the count alone: {instead}")
    (statistic,) = plan.aggregate.statistics
    return plan.aggregate.sensitivity(statistic, plan.policy.budget.neighbors).largest


def _stated(policy: Policy, tables: Iterable[str]) -> int:
    """The most rows of one unit in one of the tables, as the policy bounds them."""
    rows = [table.rows_per_unit for table in policy.tables if table.name in set(tables)]
    known = [most for most in rows if most is not None]
    if not known:
        msg = "no table bounds the rows of a unit; say how far one unit may move a count: moves=20."
        raise ParameterError(msg)
    return max(known)


def watch(  # noqa: PLR0913 - each is a public fact of the watch
    asker: Asker,
    engine: Engine,
    who: tuple[str | None, str | None],
    *,
    threshold: Number,
    epsilon: Number,
    above: SupportsIndex = 1,
    numbers: Number = 0,
    moves: int | None = None,
    tables: Iterable[str] | None = None,
    name: str = "watch",
) -> Watching:
    """Open a watch for an analyst and a purpose; see `Database.watch`."""
    policy, ledger = asker.policy, asker.ledger
    analyst, purpose = who
    private = [table.name for table in policy.tables if table.private]
    if tables is None:
        named = tuple(table for table in private if ledger.may(analyst, "release", [table]))
    else:
        named = tuple(dict.fromkeys(tables))
    if unknown := [table for table in named if table not in private]:
        msg = f"{shown(unknown[0])} is no private table; watch {', '.join(private) or 'no table: there is none'}."
        raise ParameterError(msg)
    if not named or not ledger.may(analyst, "release", named):
        msg = (
            f"analyst {shown(analyst)} may not release anything about {', '.join(named or private)}; ask the owner of "
            "the policy."
        )
        raise ParameterError(msg)
    public = [table.name for table in policy.tables if not table.private]
    named += tuple(table for table in public if ledger.may(analyst, "release", [table]))
    stated = _stated(policy, named) if moves is None else moves
    relation = policy.budget.neighbors
    vector = SparseVector(
        threshold,
        sensitivity=stated,
        epsilon=epsilon,
        above=above,
        numbers=numbers,
        monotone=relation is NeighborRelation.ADD_REMOVE,
        grid=1,
        inputs="snapped",
        neighbors=relation,
    )
    if not engine.alive():
        msg = "the source does not answer; nothing was spent. Open it again."
        raise EngineError(msg)
    entry = Entry(
        f"{read_name(name)}: {counted(vector.above, 'count')} above {vector.core.threshold} for {vector.promise}",
        named,
        analyst,
        purpose,
        "session",
        asked=f"counts of {', '.join(named)} above {vector.core.threshold}",
        promise=vector.promise,
        policy=policy.facts_hash,
        version=policy.version,
    )
    return Watching(vector.open(ledger, entry), entry, engine, asker)


class Watching:
    """A watch over a database: ask as many counting questions as you like, until the answers above are used up.

    `Database.watch` opens one.

    >>> Watching.ask.__doc__.splitlines()[0]
    'Tell whether a count is above the threshold.'
    """

    def __init__(self, session: SparseSession, entry: Entry, engine: Engine, asker: Asker) -> None:
        self._session = session
        self._entry = entry
        self._engine = engine
        self._asker = asker

    @property
    def left(self) -> int:
        """How many answers above it may still tell of."""
        return self._session.left

    @property
    def answers(self) -> tuple[Release[Told], ...]:
        """All answers so far; those of earlier processes, too."""
        return tuple(self._session.answers)

    @property
    def promise(self) -> SparseVector:
        """What it promises, and how far from the threshold a count is told apart."""
        return self._session.promise

    def ask(self, question: str | Question | ShellQuestion) -> Release[Told]:
        """Tell whether a count is above the threshold.

        Below is free, and so is what was asked before. The count is computed in the engine after the session was seen
        to be paid for and held; nothing but the comparison leaves. An answer is in the ledger before it is shown.
        """
        planned = self._asker.sql(question) if isinstance(question, str) else question
        if not isinstance(planned, Question) or planned.engine is not self._engine:
            msg = f"question is {shown(question)}; it must be SQL, or a question of the database that opened the watch."
            raise ParameterError(msg)
        plan, ledger = planned.plan, self._asker.ledger
        self._require_covered(plan)
        ledger.require_may(self._entry.analyst, "release", plan.tables, "anything")
        prepared = self._engine.prepare(plan.aggregate)
        if not self._engine.alive():
            msg = "the source does not answer; nothing was asked. Open it again."
            raise EngineError(msg)

        def count(session: Session) -> int:
            require_paid(ledger, session, plan.tables, plan.verified)
            return int(prepared.run().unprotected(0)[0][0])

        return self._session.ask(plan.key, count)

    def _require_covered(self, plan: Plan) -> None:
        moved, stated = rows_moved(plan), self.promise.core.sensitivity
        if moved > stated:
            refuse(
                "COUNT",
                why=f"One unit moves it by up to {moved}, and the watch was opened for at most {stated}.",
                instead=f"COUNT(DISTINCT …) of the units, or open a watch with moves={moved}.",
            )
        tables = self._entry.tables
        beyond = [table for table in plan.tables if table not in tables]
        if beyond:
            why = f"The watch was opened for {', '.join(tables)}."
            instead = f"a question about these, or open a watch with tables=[…, '{beyond[0]}']."
            refuse(f"FROM {beyond[0]}", why=why, instead=instead)

    def close(self) -> None:
        """Give the session back; opened again with the same parameters and name it goes on."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Watching({', '.join(self._entry.tables)}; {self.left} of {self.promise.above} above left)"

"""Counts of a table that grows: one step for each period of time that is over. What `Database.stream` opens."""

from __future__ import annotations

import datetime as dt
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.errors import EngineError, ParameterError
from discreet.exact import integer, shown
from discreet.ledgers import Entry
from discreet.methods.streaming.continual_sum import ContinualSum
from discreet.methods.streaming.kept_sum import KeptSum
from discreet.plans import Extract
from discreet.plans.aggregates import Count
from discreet.plans.expressions import And, Column, DateTrunc, Less, LessOrEqual, Literal
from discreet.plans.nodes import Filter, Project
from discreet.plans.nodes.node import digest
from discreet.plans.normal import Bounding, Place, normal
from discreet.plans.refusals import refuse
from discreet.privacy import NeighborRelation
from discreet.releases import Question
from discreet.tables.kinds import Kind, as_date, as_timestamp

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self, SupportsIndex

    from numpy.typing import NDArray

    from discreet.engines import Engine
    from discreet.exact import Number
    from discreet.ledgers import Ledger
    from discreet.mechanisms.release import Release
    from discreet.plans import Plan
    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Facts
    from discreet.plans.nodes import Node
    from discreet.releases.shell.question import ShellQuestion
    from discreet.tables import Policy

__all__ = ["Clock", "StreamAsker", "TableStream", "stream_of"]

_INSTEAD = "SELECT DATE_TRUNC('day', t) AS day, COUNT(*) AS n FROM visits GROUP BY 1."
_LONGEST = 1 << 20


class StreamAsker(Protocol):
    """A database, as far as a stream needs one.

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

    def sql(self, text: str, *, bounding: Bounding | None = None) -> Question | ShellQuestion:
        """Plan a question."""


class Clock:
    """The periods of a stream: by which column rows are dated, and when each period begins.

    >>> from discreet.plans.expressions import Column
    >>> clock = Clock(DateTrunc((Column("t"),), "month"), Kind.DATE, dt.date(2024, 1, 31))
    >>> clock.begins(0), clock.begins(1), clock.over(dt.datetime(2024, 3, 1, tzinfo=dt.UTC))
    (datetime.date(2024, 1, 1), datetime.date(2024, 2, 1), 2)
    """

    def __init__(self, period: DateTrunc, kind: Kind, start: dt.date) -> None:
        self.moment = period.operands[0]
        self.unit = period.unit
        self.period = period
        self._kind = kind
        self._starts = [self._cut(start)]

    def _cut(self, moment: dt.date) -> dt.date:
        """The start of the period that a moment is in, of the column's kind."""
        given = moment if isinstance(moment, dt.datetime) else dt.datetime.combine(moment, dt.time())
        cut = self.period.compute(given if self._kind is Kind.TIMESTAMP else given.date())
        assert isinstance(cut, dt.date)  # noqa: S101 - of a date
        return cut

    def begins(self, place: int) -> dt.date:
        """When a period begins, and the one before it ends."""
        hours = {"hour": 1.5, "minute": 1.5 / 60}.get(self.unit)
        days = {"day": 1.5, "week": 10, "month": 40, "quarter": 120, "year": 500}.get(self.unit, 1.0)
        step = dt.timedelta(hours=hours) if hours else dt.timedelta(days=days)
        while len(self._starts) <= place:
            last = self._starts[-1]
            whole = last if isinstance(last, dt.datetime) else dt.datetime.combine(last, dt.time())
            self._starts.append(self._cut(whole + step))
        return self._starts[place]

    def over(self, now: dt.datetime) -> int:
        """How many periods from the first are over at a time, in UTC, as rows without a time zone are."""
        moment = now.astimezone(dt.UTC).replace(tzinfo=None)
        count = 0
        while count < _LONGEST:
            end = self.begins(count + 1)
            whole = end if isinstance(end, dt.datetime) else dt.datetime.combine(end, dt.time())
            if whole > moment:
                return count
            count += 1
        return count

    def condition(self, place: int) -> Expression:
        """Keep the rows of a period."""
        first, end = (Literal(self.begins(at), self._kind) for at in (place, place + 1))
        return And((LessOrEqual((first, self.moment)), Less((self.moment, end))))


def _parts(plan: Plan) -> tuple[DateTrunc, list[tuple[str, Expression, tuple[Any, ...]]]]:
    """Read a question as a stream: its clock, and the other keys with their known values; or refuse it."""
    request = plan.request
    if request.having is not None or request.order or request.limit is not None:
        refuse("SELECT", why="A stream shows every period in its turn.", instead=_INSTEAD)
    if [type(measure) for _, measure in request.measures] != [Count] or request.measures[0][1].operands:
        refuse("SELECT", why="A stream counts rows.", instead=_INSTEAD)
    clocks = [key for _, key in request.keys if isinstance(key, DateTrunc)]
    if len(clocks) != 1:
        refuse("GROUP BY", why="A stream has one clock: the start of a day, a week, ….", instead=_INSTEAD)
    schema, others = request.relation.schema, []
    for name, key in request.keys:
        if key is clocks[0]:
            continue
        known = key.facts(schema).domain
        if known is None:
            why = "Which groups there are must be known before the first step."
            refuse(f"GROUP BY {name}", why=why, instead="a column whose keys the policy lists.")
        others.append((name, key, tuple(known)))
    named = {name for name, _ in (*request.keys, *request.measures)}
    if any(not isinstance(value, Column) or value.name not in named for _, value in request.outputs):
        refuse("SELECT", why="A stream shows counts, and nothing computed from them.", instead=_INSTEAD)
    return clocks[0], others


def _read_start(start: dt.date | None, facts: Facts) -> dt.date:
    """Read when to begin: without it, at the lower bound of the clock's column."""
    if start is None:
        low = facts.bounds.lower
        if low is None:
            msg = "start is missing, and the policy states no lower bound of the clock's column; say when to begin."
            raise ParameterError(msg)
        return as_date(low) if facts.kind is Kind.DATE else as_timestamp(low)
    if not isinstance(start, dt.date) or (isinstance(start, dt.datetime) and start.tzinfo is not None):
        msg = f"start is {shown(start)}; it must be a date, or a datetime without a time zone."
        raise ParameterError(msg)
    return start


def stream_of(  # noqa: PLR0913 - each is a public fact of the stream
    asker: StreamAsker,
    engine: Engine,
    who: tuple[str | None, str | None],
    text: str | Question | ShellQuestion,
    *,
    horizon: SupportsIndex,
    rows: SupportsIndex,
    epsilon: Number | None = None,
    rho: Number | None = None,
    start: dt.date | None = None,
    name: str = "stream",
) -> TableStream:
    """Open a stream for an analyst and a purpose; see `Database.stream`."""
    most = integer(rows, name="rows", least=1, most=1 << 40)
    question = asker.sql(text, bounding=Bounding(rows=most)) if isinstance(text, str) else text
    if not isinstance(question, Question):
        msg = f"text is more than one count per period, and more than that is not streamed. Write {_INSTEAD}"
        raise ParameterError(msg)
    plan, ledger = question.plan, asker.ledger
    period, others = _parts(plan)
    facts = period.operands[0].facts(plan.request.relation.schema)
    clock = Clock(period, facts.kind, _read_start(start, facts))
    if not isinstance(name, str) or not name.strip():
        msg = f"name is {shown(name)}; it must be a text by which the stream is found again."
        raise ParameterError(msg)
    question.allowed("release")
    relation = asker.policy.budget.neighbors
    if not isinstance(relation, NeighborRelation):
        msg = f"the policy protects {relation.value}; a stream of a table protects single persons."
        raise ParameterError(msg)
    groups = int(np.prod([len(known) for _, _, known in others], dtype=np.int64))
    promise = ContinualSum(
        integer(horizon, name="horizon", least=1, most=_LONGEST),
        1,
        epsilon=epsilon,
        rho=rho,
        dimension=groups,
        elements="totals",
        grid=1,
        events=most,
        neighbors=relation,
        durable=True,
    )
    asked = _Asked(plan, clock, others, most)
    entry = asked.entry(name, who, question.asked)
    asked.lent(engine, ledger, who, 0)  # refuses before anything is paid
    if not engine.alive():
        msg = "the source does not answer; nothing was spent. Open it again."
        raise EngineError(msg)
    return TableStream(promise, ledger, entry, asked, engine)


class _Asked:
    """What is counted: rows of a relation, by a clock and known keys."""

    def __init__(
        self, plan: Plan, clock: Clock, others: list[tuple[str, Expression, tuple[Any, ...]]], rows: int
    ) -> None:
        self.plan, self.clock, self.others, self.rows = plan, clock, others, rows

    def entry(self, name: str, who: tuple[str | None, str | None], asked: str) -> Entry:
        """The entry under which the stream is found again: what is counted, from when, and of how many rows."""
        plan, unit = self.plan, self.clock.unit
        keys = [key.canonical() for _, key, _ in self.others]
        return Entry(
            f"{name}: rows by {unit} from {self.clock.begins(0)}",
            plan.tables,
            *who,
            "stream",
            asked=asked or f"rows by {unit}",
            policy=plan.policy.facts_hash,
            version=plan.policy.version,
            details={
                "counted": digest([normal(plan.request.relation).canonical(), self.clock.period.canonical(), keys]),
                "rows": self.rows,
            },
            verified=plan.verified,
        )

    def lent(self, engine: Engine, ledger: Ledger, who: tuple[str | None, str | None], place: int) -> Any:  # noqa: ANN401
        """Ask for the rows of one period."""
        columns = tuple((f"k{at}", key) for at, (_, key, _) in enumerate(self.others))
        counted = columns or (("one", Literal(1, Kind.INTEGER)),)
        relation: Node = Project(Filter(self.plan.request.relation, self.clock.condition(place)), counted)
        # A limit of the policy is on the rows of this period: those of earlier ones must not take their places.
        extract = Extract(self.plan.policy, relation, Bounding(rows=self.rows, place=Place.AFTER))
        return engine.lend(extract, ledger, *who, named=True)


class TableStream(KeptSum):
    """A stream of counts of a table that grows: `Database.stream` opens one.

    Each period that is over is one step. Its rows are read once, when its turn comes: rows that come late, or are
    deleted or changed afterwards, are ignored, so no two versions are ever compared. Of each unit at most `rows` rows
    count in the whole stream, whatever the table says later: how many it had so far is sealed with each step.

    >>> TableStream.advance.__doc__.splitlines()[0]
    'Take a step for each period that is over, and release the sums after each.'
    """

    def __init__(self, promise: ContinualSum, ledger: Ledger, entry: Entry, asked: _Asked, engine: Engine) -> None:
        self._asked = asked
        self._engine = engine
        self._ledger = ledger
        self._who = entry.analyst, entry.purpose
        super().__init__(promise, ledger, entry)

    @cached_property
    def groups(self) -> list[tuple[Any, ...]]:
        """The known keys beside the clock, in the order of the counts."""
        import itertools

        return list(itertools.product(*(known for _, _, known in self._asked.others)))

    def period(self, step: int) -> tuple[dt.date, dt.date]:
        """When the period of a step begins, and when it is over."""
        return self._asked.clock.begins(step - 1), self._asked.clock.begins(step)

    def advance(self, now: dt.datetime | None = None, *, most: int | None = None) -> list[Release[Any]]:
        """Take a step for each period that is over, and release the sums after each.

        `now`: what time it is; a period counts as over from its end on. At the horizon it stops.
        """
        moment = dt.datetime.now(dt.UTC) if now is None else now
        if not isinstance(moment, dt.datetime) or moment.tzinfo is None:
            msg = f"now is {shown(now)}; it must be a datetime with a time zone."
            raise ParameterError(msg)
        ready = min(self._asked.clock.over(moment), self.promise.longest)
        released: list[Release[Any]] = []
        while self.step < ready and (most is None or len(released) < most):
            released.append(self._count(self.step))
        return released

    def _count(self, place: int) -> Release[Any]:
        """Read the rows of a period, keep those within the limit of their units, and add their count."""
        lent = self._asked.lent(self._engine, self._ledger, self._who, place)
        if not lent.alive():
            msg = "the source does not answer; the stream is where it was. Open it again."
            raise EngineError(msg)
        rows = lent.read(self.session)
        kept = self._running.kept(rows.names.tolist(), rows.names.size)
        first, end = self.period(place + 1)
        details = {"step": place + 1, "from": first.isoformat(), "until": end.isoformat()}
        return self._take(self._counts(rows, kept), details)

    def _counts(self, rows: Any, kept: list[int]) -> NDArray[np.int64]:  # noqa: ANN401
        code = np.zeros(len(kept), dtype=np.int64)
        known = np.ones(len(kept), dtype=bool)
        for at, (_, _, values) in enumerate(self._asked.others):
            column = rows.columns[f"k{at}"][kept]
            known &= column < len(values)
            code = code * len(values) + np.minimum(column, len(values) - 1)
        counts = np.bincount(code[known], minlength=self.promise.dimension)[None]
        return np.minimum(counts, self.promise.reach).astype(np.int64)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"TableStream({', '.join(self._asked.plan.tables)}; step {self.step} of {self.promise.longest})"

"""Counting questions of a database, asked together: what `Database.workload` gives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.engines.engine import Snapshot
from discreet.errors import EngineError, ParameterError
from discreet.exact import counted, shown
from discreet.ledgers import Entry, charge
from discreet.ledgers.lending import require_paid
from discreet.mechanisms.adding.sums import noisy_counts
from discreet.mechanisms.release import Release
from discreet.methods.workloads.algebra.workload import MOST_CELLS
from discreet.methods.workloads.compiled import Asked, Compiled, Statement, asked, compiled
from discreet.methods.workloads.planning import WorkloadPlan, plan
from discreet.methods.workloads.strategies.identity import Cells
from discreet.methods.workloads.strategies.margins import WeightedMargins
from discreet.methods.workloads.strategies.residual import Residual
from discreet.methods.workloads.tables import WorkloadAnswer, WorkloadTable, labels_of, order_of
from discreet.noise import SYSTEM
from discreet.plans import plan_sql
from discreet.plans.nodes.node import digest
from discreet.plans.sql.grouping_sets import grouping_sets
from discreet.privacy import ZCDP, Approximate, Pure
from discreet.privacy.convert import convert
from discreet.releases.noise.protection import Price
from discreet.releases.showing.notes import ungrouped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.engines import Aggregates, Engine
    from discreet.exact import Number
    from discreet.ledgers import Ledger, Reservation
    from discreet.methods.workloads.algebra.workload import Floats
    from discreet.methods.workloads.axes import Axis
    from discreet.methods.workloads.tables import CountPlace
    from discreet.methods.workloads.tallies import Margins
    from discreet.privacy.costs import Amount
    from discreet.tables import Policy
    from discreet.tables.kinds import Value

__all__ = ["WorkloadPreview", "WorkloadQuestion", "workload"]

_GRID = 1 << 20
"""Answers are whole multiples of 2**-20, so that floats add them up exactly."""


class Asker(Protocol):
    """A database, as far as a workload needs one.

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


def workload(
    asker: Asker,
    engine: Engine,
    who: tuple[str | None, str | None],
    questions: Iterable[str],
    *,
    dialect: str = "duckdb",
) -> WorkloadQuestion:
    """Plan counting questions together for an analyst and a purpose; see `Database.workload`."""
    listed = None if isinstance(questions, str) or not isinstance(questions, Iterable) else list(questions)
    if not listed or not all(isinstance(question, str) for question in listed):
        msg = "questions must be a list of counting questions in SQL, at least one, each in quotes."
        raise ParameterError(msg)
    ledger = asker.ledger
    statements = [_statement(asker.policy, ledger.verified, text, dialect) for text in listed]
    question = WorkloadQuestion(compiled(statements), engine, ledger, *who)
    question.require_right("explain")
    return question


def _statement(policy: Policy, verified: frozenset[str], text: str, dialect: str) -> Statement:
    """Plan one statement; the coarser sets of keys count the known groups of the finer ones."""
    sets = [asked(plan_sql(policy, one, dialect=dialect, verified=verified)) for one in grouping_sets(text, dialect)]
    every = {column: key for one in reversed(sets) for column, (_, key) in one.keys.items()}
    outputs = dict.fromkeys(name for one in sets for name in one.plan.columns)
    if len(sets) > 1 and set(outputs) > set(sets[0].plan.columns):  # no set has all keys: these stand before the counts
        outputs = dict.fromkeys(sorted(outputs, key=lambda name: name in sets[-1].plan.columns))
    rolled = [replace(one, rolled={c: key for c, key in every.items() if c not in one.keys}) for one in sets]
    return Statement(text, tuple(outputs), tuple(rolled))


@dataclass(frozen=True)
class WorkloadPreview:
    """What a release of a workload would promise, cost and err by.

    >>> WorkloadPreview.__annotations__["plan"]
    'WorkloadPlan'
    """

    plan: WorkloadPlan
    cost: Amount
    fits: bool
    errors: tuple[tuple[str, float], ...]
    confidence: float

    @property
    def gap(self) -> float:
        """By how much the squared error may exceed the least possible one, as a share of it."""
        return self.plan.gap

    def __str__(self) -> str:
        lines = [
            str(self.plan),
            *(f"± {error:.3g} or less  {text}" for text, error in self.errors),
            f"charge: {self.cost!r}" + ("" if self.fits else ", which does not fit"),
        ]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadQuestion:
    """Counting questions about one table that are answered together; nothing was read or spent yet.

    Privacy. The questions are compiled to cells: every row is in exactly one, so one unit with at most k rows moves the
    cells by at most k in L1. The engine counts the cells, or marginals of them, in one snapshot; what gets noise is
    what the plan's strategy makes of them. Answers, totals and their ± follow from the noisy numbers.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", row_is_unit=True, columns=[Column("ward", keys=["a", "b"])])
    >>> with Database(Policy([visits], epsilon=90), {"visits": pa.table({"ward": ["a"] * 500})}) as db:
    ...     cube = db.workload(["SELECT ward, COUNT(*) AS n FROM visits GROUP BY CUBE (ward)"])
    ...     answer = cube.release(epsilon=80)
    ...     answer[0].to_dicts(), db.remaining
    ([{'ward': 'a', 'n': 500}, {'ward': 'b', 'n': 0}, {'ward': None, 'n': 500}], Pure(epsilon=10))
    """

    compiled: Compiled
    engine: Engine
    ledger: Ledger
    analyst: str | None = None
    purpose: str | None = None

    @property
    def policy(self) -> Policy:
        """What is public about the data."""
        return self.compiled.first.plan.policy

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the questions read."""
        return self.compiled.first.plan.tables

    def require_right(self, right: str) -> None:
        """Refuse who may not."""
        if not self.ledger.may(self.analyst, right, self.tables):
            msg = f"analyst {shown(self.analyst)} may not {right} anything about {', '.join(self.tables)}."
            raise ParameterError(msg)

    def plan(
        self, epsilon: Number | None = None, *, rho: Number | None = None, delta: Number | None = None
    ) -> WorkloadPlan:
        """Choose what to measure and with which noise, for a price; from public facts alone."""
        self.require_right("explain")
        price = Price.read(self.policy, epsilon=epsilon, rho=rho, delta=delta)
        return self.planned(price)

    def planned(self, price: Price) -> WorkloadPlan:
        """Choose what to measure for a price that was read."""
        key = str((price.epsilon, price.rho, price.delta))
        if key not in self._plans:
            neighbors = self.policy.budget.neighbors
            privacy: Pure | Approximate | ZCDP
            if price.rho is not None:
                privacy = ZCDP(price.rho, neighbors=neighbors)
            elif price.delta:
                privacy = Approximate(price.epsilon or 0, price.delta, neighbors=neighbors)
            else:
                privacy = Pure(price.epsilon or 0, neighbors=neighbors)
            found = plan(self.compiled.workload, privacy, rows_per_unit=self.compiled.rows)
            self._plans[key] = self._finest_alone(found)
        return self._plans[key]

    def _finest_alone(self, found: WorkloadPlan) -> WorkloadPlan:
        """Of a single CUBE measure the finest groups alone: as well as without it, and totals are their sums."""
        statements = self.compiled.statements
        if len(statements) > 1 or len(statements[0].sets) == 1 or statements[0].sets[0].rolled:
            return found
        cells = next((one for one in found.considered if one.strategy.name == Cells.name), None)
        return found if cells is None else replace(found, chosen=cells)

    @cached_property
    def _plans(self) -> dict[str, WorkloadPlan]:
        return {}

    def cost_of(self, found: WorkloadPlan) -> Amount:
        """What the noise costs: by the ledger's certificates from its curve, else its claim in its currency."""
        kinds: dict[str, type[Pure | Approximate | ZCDP]] = {"pure": Pure, "approximate": Approximate, "zcdp": ZCDP}
        kind = kinds.get(self.policy.filter)
        promise = found.promise
        return self.ledger.priced(promise.privacy if kind is None else convert(promise.claim, to=kind))

    def preview(
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        confidence: float = 0.95,
    ) -> WorkloadPreview:
        """Say what a release at this price would promise, cost and err by; nothing is read or spent."""
        found = self.plan(epsilon, rho=rho, delta=delta)
        cost = self.cost_of(found)
        errors = self.compiled.arranged(found.error(confidence))
        largest = tuple(
            (statement.text, max(float(table.max()) for table in tables))
            for statement, tables in zip(self.compiled.statements, errors, strict=True)
        )
        return WorkloadPreview(found, cost, self.ledger.admits(cost, self._entry(found)), largest, confidence)

    def explain(self, epsilon: Number | None = None, *, rho: Number | None = None, delta: Number | None = None) -> str:
        """Say which cells are counted and, for a price, what is measured; from public facts alone."""
        self.require_right("explain")
        axes = [
            f"  {axis.column}: {counted(axis.size, 'cell')}" + (", with the rest" * axis.rest) for axis in self.axes
        ]
        lines = [
            f"{counted(self.answers, 'answer')} about {counted(math.prod(self.shape), 'cell')}:",
            *axes,
            f"a unit has at most {counted(self.compiled.rows, 'row')}, each in one cell.",
        ]
        if epsilon is not None or rho is not None:
            lines.append(str(self.plan(epsilon, rho=rho, delta=delta)))
        return "\n".join(lines)

    @property
    def answers(self) -> int:
        """How many counts are answered."""
        sizes = (self.compiled.sizes(one) for statement in self.compiled.statements for one in statement.sets)
        return sum(math.prod(kept for _, kept in size) for size in sizes)

    @property
    def axes(self) -> Sequence[Axis]:
        """The columns as the questions see them."""
        return self.compiled.axes

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells of each axis."""
        return self.compiled.shape

    def _entry(self, found: WorkloadPlan, key: str = "") -> Entry:
        texts = [statement.text for statement in self.compiled.statements]
        keys = [one.plan.key for statement in self.compiled.statements for one in statement.sets]
        sets = [len(statement.sets) for statement in self.compiled.statements]
        return Entry(
            digest(["workload", keys, sets]),
            self.tables,
            self.analyst,
            self.purpose,
            "method",
            asked="; ".join(texts)[:2000],
            promise=found.promise.promise,
            policy=self.policy.facts_hash,
            version=self.policy.version,
            verified=self.compiled.first.plan.verified,
            key=key,
        )

    def release(
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        key: str = "",
    ) -> WorkloadAnswer:
        """Answer all questions; `epsilon` or `rho` is the price of all of them together.

        Asked again for no more than was paid, the same answers are shown again, for nothing. With a `key`, what is sent
        twice is charged once.
        """
        return self.release_planned(
            self.planned(Price.read(self.policy, epsilon=epsilon, rho=rho, delta=delta)), key=key
        )

    def release_planned(self, found: WorkloadPlan, *, key: str = "") -> WorkloadAnswer:
        """Answer all questions as they were planned."""
        self.require_right("release")
        parts = self._parts(found)
        prepared = {part: self.engine.prepare(one.aggregate) for part, one in self.compiled.needed(parts).items()}
        if not self.engine.alive():
            msg = "the source does not answer; nothing was spent. Open it again."
            raise EngineError(msg)
        entry = self._entry(found, key)
        ran: list[int] = []

        def run(paid: Reservation) -> Release[Floats]:
            ran.append(paid.number)
            require_paid(self.ledger, paid, entry.tables, entry.verified)
            snapshot = Snapshot(self.engine)
            counts: dict[tuple[int, ...], Callable[[], Aggregates]] = {
                part: snapshot.add(one) for part, one in prepared.items()
            }
            return self._released(found, self.compiled.margins(parts, counts))

        released = charge(self.ledger, self.cost_of(found), entry, run)
        return self._answer(released, repeated=not ran)

    def _parts(self, found: WorkloadPlan) -> list[tuple[int, ...]]:
        """The marginals that the strategy measures; all axes together where it measures cells."""
        if isinstance(found.strategy, Residual | WeightedMargins):
            return list(found.strategy.weights)
        if math.prod(self.shape) > MOST_CELLS:
            msg = f"the questions tell {math.prod(self.shape)} cells apart; at most {MOST_CELLS} are counted."
            raise ParameterError(msg)
        return [tuple(range(len(self.shape)))]

    def _released(self, found: WorkloadPlan, margins: Margins) -> Release[Floats]:
        """Measure, add noise, and answer; totals are added up from what they are the totals of."""
        strategy = found.strategy
        whole = tuple(range(len(self.shape)))
        counts = margins if isinstance(strategy, Residual | WeightedMargins) else margins.marginal(whole)
        noisy = noisy_counts(strategy.measure(counts), found.noise, SYSTEM).astype(np.float64)
        tables = self.compiled.arranged(np.rint(strategy.answers(noisy) * _GRID) / _GRID)
        for statement, answers in zip(self.compiled.statements, tables, strict=True):
            _add_up(statement.sets, self.compiled, answers)
        deviations = self.compiled.arranged(found.deviations)
        flat, spread = (
            np.concatenate([table.ravel() for listed in each for table in listed]) for each in (tables, deviations)
        )
        return Release(flat, found.promise, MappingProxyType({"deviations": spread}))

    def _answer(self, released: Release[Floats], *, repeated: bool) -> WorkloadAnswer:
        """Name the groups of all answers."""
        found, place = [], 0
        for statement in self.compiled.statements:
            rows: list[tuple[Value | CountPlace, ...]] = []
            places: list[int] = []
            for one in statement.sets:
                labels, order = list(labels_of(one, statement.outputs)), order_of(one).tolist()
                rows += [labels[at] for at in order]
                places += [place + at for at in order]
                place += len(labels)
            kinds = {name: facts.kind for one in statement.sets for name, facts in one.plan.columns.items()}
            names = {name: kinds[name] for name in statement.outputs}
            about = tuple(ungrouped(statement.sets[0].plan))
            where = np.array(places, dtype=np.intp)
            found.append(WorkloadTable(statement.text, names, tuple(rows), released, where, about, repeated))
        return WorkloadAnswer(tuple(found), released)


def _add_up(sets: Sequence[Asked], whole: Compiled, answers: list[Floats]) -> None:
    """Replace coarser tables by sums of the finest one, if it has the keys of all."""
    if len(sets) == 1 or sets[0].rolled:
        return
    finest = sets[0]
    grouped = [axis.column for axis in whole.axes if axis.column in finest.keys]
    sizes = [len(finest.known(column)) for column in grouped]
    table = answers[0].reshape(sizes)
    for place, one in enumerate(sets[1:], start=1):
        summed = table.sum(axis=tuple(axis for axis, column in enumerate(grouped) if column not in one.keys))
        answers[place] = summed.reshape(answers[place].shape)

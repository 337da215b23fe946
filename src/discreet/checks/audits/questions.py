"""A question held to its promise, on neighboring tables that are made up from the policy alone."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.audits.black_box import LEAST_DRAWS, LOOKED_AT, audit_releases
from discreet.checks.audits.made_up import made_up_neighbors, write_tables
from discreet.errors import ParameterError
from discreet.exact import counted, integer
from discreet.noise import SYSTEM, BitSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.checks.audits.made_up import Rows
    from discreet.checks.audits.result import Audit
    from discreet.exact import Number
    from discreet.plans import Plan
    from discreet.plans.shell import Shell
    from discreet.privacy import Curve
    from discreet.releases import Question, ShellQuestion
    from discreet.releases.showing.answer import Answer

    Cells = Mapping[tuple[object, ...], object]

__all__ = ["audit_question"]

PILOT = 60
DRAWS = 4_000
TRIES = 8


@dataclass(frozen=True)
class _Asked:
    """A question on one made-up database: paid for once there, and answered anew as often as asked, as it was paid."""

    answer: Answer
    again: Callable[[], Answer]
    keys: frozenset[str]

    def cells(self, count: int) -> list[Cells]:
        return [_cells(self.again(), self.keys) for _ in range(count)]


def audit_question(  # noqa: PLR0913 - the question and its price are named
    question: Question | ShellQuestion | Plan | Shell,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    claim: Curve | None = None,
    draws: int = DRAWS,
    confidence: Number = "0.95",
    tries: int = TRIES,
    asked: str = "",
    analyst: str | None = None,
    purpose: str | None = None,
    name: str = "",
    bits: BitSource = SYSTEM,
) -> Audit:
    """Hold a question to what it promises for a price, or to another claim; no data of yours is read.

    The policy's public facts are enough to make up tables with and without one unit (`made_up_neighbors`). Each is
    opened with a ledger in memory; the question is paid for there, and answered `draws` times as it was paid: planned,
    computed by DuckDB, noised. Of `tries` pairs of neighbors the one is taken that a few answers tell apart best; those
    are not counted. Nothing is charged to the question's own ledger. A plan will do for a question, with its text
    and who asks it for what. Of a statement that is computed from a core, the core is audited: it alone sees rows.
    Of one with several cores audit each by itself (`question.cores`).

    An answer is looked at as a row of numbers, one for each cell that is not always the same; see `audit_releases`.

    >>> import pyarrow as pa
    >>> import discreet.privacy as p
    >>> from discreet.database import Database
    >>> from discreet.tables import Column, Policy, Table
    >>> people = Table("people", row_is_unit=True, columns=[Column("age", lower=0, upper=120)])
    >>> with Database(Policy([people], epsilon=3), {"people": pa.table({"age": [40]})}) as db:
    ...     count = db.sql("SELECT COUNT(*) AS n FROM people WHERE age > 65")
    >>> audit_question(count, epsilon=1, claim=p.pure(epsilon="0.25"), draws=2000, tries=1).refuted
    True
    """
    count = integer(draws, name="draws", least=LEAST_DRAWS)
    many = integer(tries, name="tries", least=1, most=1000)
    price = {"epsilon": epsilon, "rho": rho, "delta": delta}
    plan = _plan_of(question)
    said = getattr(question, "asked", asked)
    whose = getattr(question, "analyst", analyst), getattr(question, "purpose", purpose)
    pairs = islice(made_up_neighbors(plan.policy, plan.tables, said, bits), many)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        made: dict[str, _Asked] = {}  # neighbors of the same tables share them

        def opening(tables: dict[str, Rows]) -> _Asked:
            content = json.dumps(tables)
            if content not in made:
                home = Path(folder) / str(len(made))
                home.mkdir()
                write_tables(home, tables, plan.policy)
                made[content] = _asked(plan, whose, home, price, opened)
            return made[content]

        sides = [(opening(pair.first), opening(pair.second)) for pair in pairs]
        best = max(sides, key=lambda both: _told_apart(both[0].cells(PILOT), both[1].cells(PILOT)))
        rows = _as_rows(best[0].cells(count), best[1].cells(count))
        paid = best[0].answer
    first, second = _narrowed(rows, count // LOOKED_AT)
    return audit_releases(
        lambda *_: first,
        lambda *_: second,
        claim=paid.privacy if claim is None else claim,
        delta=paid.parts[0].delta if claim is None else 0,
        draws=count,
        confidence=confidence,
        name=name or said or f"{', '.join(plan.columns)} of {', '.join(plan.tables)}",
    )


def _plan_of(question: Question | ShellQuestion | Plan | Shell) -> Plan:
    """Return what sees rows: the plan of a question, or that of the single core of a statement."""
    from discreet.plans.shell import Shell
    from discreet.releases import Question, ShellQuestion

    shell = question.shell if isinstance(question, ShellQuestion) else question
    if isinstance(shell, Shell):
        if len(shell.cores) != 1:
            msg = (
                f"this statement releases {counted(len(shell.cores), 'core')}, each with a promise of its own; audit "
                "them one by one, as the questions that they are: audit(question.cores[0], epsilon=1)."
            )
            raise ParameterError(msg)
        return shell.cores[0].plan
    return shell.plan if isinstance(shell, Question) else shell


def _asked(
    plan: Plan, whose: tuple[str | None, str | None], home: Path, price: Mapping[str, Any], opened: ExitStack
) -> _Asked:
    from discreet.engines import open_engine
    from discreet.engines.engine import Snapshot
    from discreet.ledgers import MemoryLedger
    from discreet.plans.expressions import Column
    from discreet.releases import Question

    engine = open_engine(plan.policy, home)
    opened.callback(engine.close)
    ledger = MemoryLedger(plan.policy)
    if plan.verified:  # made-up rows keep what is declared unique, as the owner's do
        facts = {"version": plan.policy.version, "final": True, "tables": list(plan.verified)}
        ledger.note("check", "declared facts", facts)
    own = Question(plan, engine, ledger, *whose)
    answer = own.release(**price)
    released = {name for name, _ in plan.request.keys}
    keys = {name for name, said in plan.request.outputs if isinstance(said, Column) and said.name in released}
    labels = frozenset(answer.columns) - frozenset(plan.columns)  # the ends of a histogram's bins
    return _Asked(answer, own.ready(answer.parts[0], Snapshot(engine)), frozenset(keys) | labels)


def _cells(answer: Answer, keys: Iterable[str]) -> Cells:
    """Name each cell by its column and the keys of its row, or by its place where rows have no keys."""
    cells: dict[tuple[object, ...], object] = {}
    known = frozenset(keys)
    for place, row in enumerate(answer.to_dicts()):
        where = tuple(value for name, value in row.items() if name in known) if known else (place,)
        cells[("row", *where)] = 1
        for name, value in row.items():
            if isinstance(value, str) and name not in known:
                cells[name, value, *where] = 1
            elif name not in known:
                cells[name, *where] = value
    return cells


def _as_rows(first: Sequence[Cells], second: Sequence[Cells]) -> list[NDArray[np.float64]]:
    """Give every cell that occurs a column; what an answer lacks is nan."""
    places = {
        cell: place for place, cell in enumerate(dict.fromkeys(cell for cells in (*first, *second) for cell in cells))
    }
    rows = [np.full((len(side), max(len(places), 1)), np.nan) for side in (first, second)]
    for side, filled in zip((first, second), rows, strict=True):
        for number, cells in enumerate(side):
            for cell, value in cells.items():
                filled[number, places[cell]] = np.nan if value is None else _number(value)
    return rows


def _narrowed(rows: Sequence[NDArray[np.float64]], looked: int) -> list[NDArray[np.float64]]:
    """Leave out what is the same in all answers that are looked at to choose the event; one column alone is no row."""
    both = np.concatenate([side[:looked] for side in rows])
    same = ((both == both[0]) | (np.isnan(both) & np.isnan(both[0]))).all(axis=0)
    kept = np.flatnonzero(~same) if not same.all() else np.zeros(1, dtype=np.intp)
    return [side[:, kept[0]] if len(kept) == 1 else side[:, kept] for side in rows]


def _number(value: object) -> float:
    if isinstance(value, bool | int | float | np.number):
        return float(value)
    moment = getattr(value, "toordinal", None)
    return float(moment()) if moment is not None else 0.0


def _told_apart(first: Sequence[Cells], second: Sequence[Cells]) -> float:
    """Say how far the two sides' cells are apart, in standard deviations, the largest of all cells."""
    rows = _as_rows(first, second)
    left, right = (np.column_stack([np.nan_to_num(side), np.isnan(side)]) for side in rows)
    spread = np.sqrt(left.var(axis=0) + right.var(axis=0)) + 1e-12
    return float((np.abs(left.mean(axis=0) - right.mean(axis=0)) / spread).max())

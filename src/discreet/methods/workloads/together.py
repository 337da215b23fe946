"""Counting questions that share one price, planned together: what `Database.ask_all` gives to `Questions`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError, QueryRefused
from discreet.methods.workloads.compiled import Statement, asked, compiled
from discreet.methods.workloads.questions import WorkloadQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.ledgers import Ledger
    from discreet.methods.workloads.planning import WorkloadPlan
    from discreet.privacy.costs import Amount
    from discreet.releases import Question
    from discreet.releases.noise.protection import Price
    from discreet.releases.showing.shown import ShownAnswer

__all__ = ["Together", "together"]


@dataclass(frozen=True, eq=False)
class Together:
    """A workload of questions that matter alike, at a price.

    >>> Together.release.__doc__
    'Answer all questions, in their order.'
    """

    question: WorkloadQuestion
    price: Price
    plan: WorkloadPlan

    @property
    def promise(self) -> str:
        """What all answers together promise."""
        return self.plan.promise.promise

    @property
    def cost(self) -> Amount:
        """What all answers cost together."""
        return self.question.cost_of(self.plan)

    def errors(self, confidence: float = 0.95) -> list[float]:
        """Return the largest ± of each question's counts."""
        return [
            max(float(np.max(table)) for table in tables)
            for tables in self.question.compiled.arranged(self.plan.error(confidence))
        ]

    def release(self, key: str = "") -> Sequence[ShownAnswer]:
        """Answer all questions, in their order."""
        return self.question.release_planned(self.plan, key=key)


def together(ledger: Ledger, questions: Sequence[Question], price: Price) -> Together | None:
    """Plan questions of one database together; None if they are no counts of one table by columns.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.releases.noise.protection import Price
    >>> from discreet.tables import Column, Policy, Table
    >>> columns = [Column("ward", keys=["a", "b"]), Column("cost", lower=0, upper=9)]
    >>> visits = Table("visits", row_is_unit=True, columns=columns)
    >>> asked = ["SELECT COUNT(*) AS n FROM visits", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"]
    >>> with Database(Policy([visits], epsilon=9), {"visits": pa.table({"ward": ["a"], "cost": [1]})}) as db:
    ...     questions = [db.sql(text) for text in asked]
    ...     planned = together(db.ledger, questions, Price.read(db.policy, epsilon=1))
    ...     planned.promise, together(db.ledger, [db.sql("SELECT SUM(cost) AS s FROM visits")], planned.price)
    ('ε = 1', None)
    """
    first = questions[0]
    try:
        statements = [Statement(one.asked, tuple(one.plan.columns), (asked(one.plan),)) for one in questions]
        whole = replace(compiled(statements), even=True)
        question = WorkloadQuestion(whole, first.engine, ledger, first.analyst, first.purpose)
        return Together(question, price, question.planned(price))
    except (QueryRefused, ParameterError):  # then each is asked by itself, and says what is wrong with it
        return None

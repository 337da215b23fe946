"""Several questions under one price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.privacy import Budget
from discreet.privacy.convert import zcdp_allowance
from discreet.releases.paying import pay_all
from discreet.releases.protection import Price, Protection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.exact import Number
    from discreet.releases.answer import Answer
    from discreet.releases.preview import Preview
    from discreet.releases.purse import Purse
    from discreet.releases.question import Question

__all__ = ["Questions"]


@dataclass(frozen=True, eq=False, init=False)
class Questions:
    """Questions that share one price, each an equal part of it; all are paid for together, or none.

    With k questions and a price in rho each may cost rho / k. A price in epsilon is divided in one of two ways, by
    which has less noise: epsilon / k and delta / k each (basic composition), or, where the ledger counts in zCDP and a
    delta may be used, the largest rho that converts to (epsilon, delta), divided by k (Bun & Steinke 2016,
    arXiv:1605.02065). Either way all answers together keep the price.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.tables import Policy, Table
    >>> with Database(Policy([Table("t", row_is_unit=True)], epsilon=9), {"t": pa.table({"x": [1]})}) as db:
    ...     db.ask_all(["SELECT COUNT(*) AS n FROM t", "SELECT COUNT(*) AS m FROM t"]).preview(epsilon=1)[0].promise
    'ε = 0.5'
    """

    questions: tuple[Question, ...]
    purse: Purse

    def __init__(self, questions: Sequence[Question], purse: Purse) -> None:
        if not questions:
            msg = "there are no questions; give at least one."
            raise ParameterError(msg)
        if any(question.purse is not purse for question in questions):
            msg = "a question belongs to another database; ask it there."
            raise ParameterError(msg)
        object.__setattr__(self, "questions", tuple(questions))
        object.__setattr__(self, "purse", purse)

    def explain(self) -> str:
        """Say for each question what is computed and which numbers get noise."""
        return "\n\n".join(question.explain() for question in self.questions)

    def preview(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        expected_count: int | None = None,
        confidence: float = 0.95,
    ) -> list[Preview]:
        """Say for each question what its part of the price promises, costs and errs by; nothing is read or spent."""
        part = self._part(epsilon, rho, delta)
        given = {"epsilon": part.epsilon} if part.epsilon is not None else {"rho": part.rho}
        return [
            question.preview(**given, delta=part.delta, expected_count=expected_count, confidence=confidence)
            for question in self.questions
        ]

    def release(
        self, *, epsilon: Number | None = None, rho: Number | None = None, delta: Number | None = None
    ) -> list[Answer]:
        """Answer all questions for one price; what was answered before for its part of it is free."""
        for question in self.questions:
            question._allowed("release")  # noqa: SLF001 - a question knows its own rights
        part = self._part(epsilon, rho, delta)
        return pay_all([(question, Protection.of(question.recipe, part)) for question in self.questions])

    def _part(self, epsilon: Number | None, rho: Number | None, delta: Number | None) -> Price:
        """The price of one question."""
        policy = self.questions[0].plan.policy
        price = Price.read(policy, epsilon=epsilon, rho=rho, delta=delta)
        share = Fraction(1, len(self.questions))
        plain = price.part(share, price.delta * share)
        if price.epsilon is None or not price.delta or policy.filter != "zcdp" or len(self.questions) == 1:
            return plain
        if any(not question.plan.aggregate.known for question in self.questions):
            return plain  # groups are selected with a delta of their own
        whole = Budget(price.epsilon, price.delta, neighbors=policy.budget.neighbors)
        divided = Price(None, zcdp_allowance(whole, share=1).rho * share, Fraction(0))
        return min(plain, divided, key=self._noise)

    def _noise(self, part: Price) -> float:
        """The sum over all noises of the logarithm of their error; chosen points have none."""
        protections = [Protection.of(question.recipe, part) for question in self.questions]
        noises = [noise for each in protections for noise in each.noises]
        added = [noise for noise in noises if isinstance(noise, DiscreteLaplace | Gaussian)]
        return math.fsum(math.log(max(noise.error(), 1e-9)) for noise in added)

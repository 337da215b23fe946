"""Averaging: ask until the noise is gone."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from discreet.errors import BudgetError, ParameterError
from discreet.exact import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Averaging", "averaging"]


@dataclass(frozen=True, slots=True)
class Averaging:
    """What the mean of many answers to one question is worth.

    >>> found = Averaging(truth=40.0, first=47.0, estimate=40.4, answered=200, refused=0, different=35)
    >>> found.told, str(found)
    (True, 'averaging: 40.4 from 200 answers, 35 of them different; the first was off by 7, the mean by 0.4')
    """

    truth: float
    first: float
    estimate: float
    answered: int
    refused: int
    different: int
    """How many of the answers differ from each other."""

    @property
    def error(self) -> float:
        """How far the mean is from the truth.

        >>> Averaging(truth=40.0, first=47.0, estimate=40.5, answered=200, refused=0, different=35).error
        0.5
        """
        return abs(self.estimate - self.truth)

    @property
    def told(self) -> bool:
        """Whether rounding the mean gives the true count.

        >>> Averaging(truth=40.0, first=47.0, estimate=40.6, answered=2, refused=0, different=2).told
        False
        """
        return round(self.estimate) == round(self.truth)

    def __str__(self) -> str:
        refused = f", {self.refused} refused" if self.refused else ""
        return (
            f"averaging: {self.estimate:.1f} from {counted(self.answered, 'answer')}, {self.different} of them "
            f"different{refused}; the first was off by {abs(self.first - self.truth):g}, the mean by {self.error:.2g}"
        )


def averaging(ask: Callable[[str], float], questions: Iterable[str], *, truth: float) -> Averaging:
    """Ask questions that all have the same true answer, and average what comes back.

    Independent noise of standard deviation s leaves s / sqrt(k) after k answers: 10,000 of them give two more digits.
    Against a database this fails twice: a question that was asked before, in whatever spelling, gets the stored
    release; and questions that differ are paid for, until the budget is gone and `ask` raises BudgetError.

    `truth` judges the attack; the attacker does not use it.

    >>> averaging(lambda question: 40.0, ["how many?"] * 3, truth=40.0).told
    True
    """
    answers: list[float] = []
    refused = 0
    for question in questions:
        try:
            answers.append(float(ask(question)))
        except BudgetError:
            refused += 1
    if not answers:
        msg = "questions got no answer at all; there is nothing to average."
        raise ParameterError(msg)
    return Averaging(
        truth=float(truth),
        first=answers[0],
        estimate=fmean(answers),
        answered=len(answers),
        refused=refused,
        different=len(set(answers)),
    )

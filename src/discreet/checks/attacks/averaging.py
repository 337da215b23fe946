"""Averaging: ask until the noise is gone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean
from typing import TYPE_CHECKING

from discreet.checks.attacks.asking import answer_to
from discreet.errors import ParameterError
from discreet.exact import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.axes import Axes

__all__ = ["Averaging", "averaging"]


@dataclass(frozen=True, slots=True)
class Averaging:
    """What the mean of many answers to one question is worth, beside the first answer alone.

    >>> told = Averaging(truth=40.0, answers=(47.0, 33.0, 41.0), refused=0)
    >>> told.told, str(told)
    (True, 'averaging: 40.3 from 3 answers, 3 of them different; the first was off by 7, the mean by 0.33')
    """

    truth: float
    answers: tuple[float, ...]
    refused: int

    @property
    def first(self) -> float:
        """The first answer: what there is without averaging.

        >>> Averaging(truth=40.0, answers=(47.0, 33.0), refused=0).first
        47.0
        """
        return self.answers[0]

    @property
    def estimate(self) -> float:
        """The mean of the answers.

        >>> Averaging(truth=40.0, answers=(47.0, 33.0), refused=0).estimate
        40.0
        """
        return fmean(self.answers)

    @property
    def answered(self) -> int:
        """How many answers there were.

        >>> Averaging(truth=40.0, answers=(47.0, 33.0), refused=5).answered
        2
        """
        return len(self.answers)

    @property
    def different(self) -> int:
        """How many of the answers differ from each other.

        >>> Averaging(truth=40.0, answers=(47.0, 33.0, 47.0), refused=0).different
        2
        """
        return len(set(self.answers))

    @property
    def error(self) -> float:
        """How far the mean is from the truth.

        >>> Averaging(truth=40.0, answers=(47.0, 34.0), refused=0).error
        0.5
        """
        return abs(self.estimate - self.truth)

    @property
    def told(self) -> bool:
        """Whether rounding the mean gives the true count.

        >>> Averaging(truth=40.0, answers=(40.0, 41.2), refused=0).told
        False
        """
        return round(self.estimate) == round(self.truth)

    def __str__(self) -> str:
        refused = f", {self.refused} refused" if self.refused else ""
        return (
            f"averaging: {self.estimate:.1f} from {counted(self.answered, 'answer')}, {self.different} of them "
            f"different{refused}; the first was off by {abs(self.first - self.truth):g}, the mean by {self.error:.2g}"
        )

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the mean after each answer, beside the truth and the first answer (needs the extra `plot`).

        >>> Averaging(truth=40.0, answers=(47.0, 33.0), refused=0).plot().get_ylabel()
        'mean of the answers'
        """
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
        means = [total / many for many, total in enumerate(accumulate(self.answers), start=1)]
        axes.plot(range(1, self.answered + 1), means, label="averaging")
        axes.axhline(self.first, linestyle=":", color="gray", label="the first answer")
        axes.axhline(self.truth, linestyle="--", color="gray", label="truth")
        axes.set_xscale("log")
        axes.set_xlabel("answers")
        axes.set_ylabel("mean of the answers")
        axes.legend()
        return axes


def averaging(ask: Callable[[str], float], questions: Iterable[str], *, truth: float) -> Averaging:
    """Ask questions that all have the same true answer, and average what comes back.

    Independent noise of standard deviation s leaves s / sqrt(k) after k answers: 10,000 of them give two more digits.
    Against a database this fails twice: a question that was asked before, in whatever spelling, gets the stored
    release; and questions that differ are paid for, until the budget is gone and `ask` raises BudgetError.

    `truth` judges the attack; the attacker does not use it.

    >>> averaging(lambda question: 40.0, ["how many?"] * 3, truth=40.0).told
    True
    """
    asked = [answer_to(ask, question) for question in questions]
    answers = tuple(answer for answer in asked if not math.isnan(answer))
    if not answers:
        msg = "questions got no answer at all; there is nothing to average."
        raise ParameterError(msg)
    return Averaging(float(truth), answers, refused=len(asked) - len(answers))

"""One promise in three registers: for the people in the data, for those who decide, for those who build."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from discreet.checks.reports import engineer, policy, public
from discreet.checks.reports.facts import PromiseFacts
from discreet.checks.reports.wording import promise
from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from discreet.checks.reports.wording import Paragraph
    from discreet.exact import Number

__all__ = ["REGISTERS", "Audience", "Explanation", "explain"]


class Audience(StrEnum):
    """Who an explanation is for.

    >>> Audience("policy")
    <Audience.POLICY: 'policy'>
    """

    PUBLIC = "public"
    POLICY = "policy"
    ENGINEER = "engineer"


REGISTERS = {Audience.PUBLIC: public, Audience.POLICY: policy, Audience.ENGINEER: engineer}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Sentences about one promise, each with its claim and numbers.

    Every sentence is true for the given epsilon and delta, whatever mechanism keeps them: bounds are rounded to the
    safe side, and what does not hold is not said.

    >>> explanation = explain(epsilon=1, delta="1e-6", audience="public")
    >>> [statement.claim for statement in explanation.statements][:4]
    ['hidden', 'guess', 'outcome', 'failure']
    >>> explanation.record()["statements"][1]["numbers"]["accuracy"] < 0.7311
    True
    """

    audience: Audience
    facts: PromiseFacts
    statements: tuple[Paragraph, ...]

    @property
    def title(self) -> str:
        """The register's title and the promise."""
        return f"{REGISTERS[self.audience].TITLE}  ({promise(self.facts.epsilon, self.facts.delta)})"

    def record(self) -> dict[str, object]:
        """Give the explanation as plain values, for a program."""
        return {
            "audience": self.audience.value,
            "epsilon": str(self.facts.epsilon),
            "delta": str(self.facts.delta),
            "n": self.facts.n,
            "statements": [
                {"claim": said.claim, "text": said.text, "numbers": said.numbers} for said in self.statements
            ],
        }

    def text(self, width: int = 88) -> str:
        """Write it as paragraphs of lines that are no longer than `width`."""
        return "\n\n".join([self.title, *(textwrap.fill(statement.text, width) for statement in self.statements)])

    def __str__(self) -> str:
        return self.text()


def explain(
    *, epsilon: Number, delta: Number = 0, n: int | None = None, audience: Audience | str = Audience.PUBLIC
) -> Explanation:
    """Say what a promise means; `n` is the number of protected units, if it is public.

    >>> print(explain(epsilon=1, audience="policy").statements[1].text[35:])
    the odds that a given record was used change by a factor of at most 2.72, up or down.
    """
    register = _read_audience(audience)
    facts = PromiseFacts.of(epsilon, delta, n=n)
    return Explanation(register, facts, tuple(REGISTERS[register].statements(facts)))


def _read_audience(given: Audience | str) -> Audience:
    try:
        return Audience(given)
    except ValueError:
        msg = f"audience is {shown(given)}; it must be one of {', '.join(Audience)}."
        raise ParameterError(msg) from None

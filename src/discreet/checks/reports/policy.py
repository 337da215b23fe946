"""For people who decide: what is allowed, what it costs, what remains to be settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.checks.reports.shared import error, judged, odds, population
from discreet.checks.reports.wording import Paragraph, chance, of_hundred, promise
from discreet.exact import float_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.checks.reports.facts import PromiseFacts

__all__ = ["TITLE", "statements"]

TITLE = "What this promise commits you to"


def statements(facts: PromiseFacts) -> Iterator[Paragraph]:
    """Tell a decision maker the risk that is accepted, its price, and the questions to settle."""
    yield Paragraph(
        "summary",
        f"The promise is {promise(facts.epsilon, facts.delta)}. It limits what everything that is published under it, "
        "taken together, can reveal about any one person, to anybody, whatever they know already and whatever they do "
        "with it later. How narrow the limit is, the numbers below say.",
    )
    yield odds(facts)
    yield Paragraph(
        "guess",
        "Of bets at even odds on whether a person's record was used, the best attacker wins at most "
        f"{of_hundred(facts.accuracy)}. {judged(facts)}",
        {"accuracy": facts.accuracy},
    )
    yield Paragraph(
        "detection",
        "An attacker who may wrongly name 1 of 100 people whose record was not used finds at most "
        f"{of_hundred(facts.outcome)} of those whose record was.",
        {"outcome": facts.outcome},
    )
    if facts.delta:
        yield Paragraph(
            "failure",
            f"For each person there may be a chance of {chance(facts.delta)} that the protection fails altogether. The "
            "numbers of bets and of people found include it.",
            {"delta": float_up(facts.delta)},
        )
    counted = population(facts)
    if counted is not None:
        yield counted
    yield error(facts)
    yield from _settled()


def _settled() -> Iterator[Paragraph]:
    yield Paragraph(
        "settle",
        "To be settled beforehand, and published: who counts as one person (all rows of a patient, or one visit), "
        "whether this is the total for ever or per year (a yearly promise adds up year after year), who may ask, "
        "and who keeps the count.",
    )
    yield Paragraph(
        "not",
        "It is no encryption, no secure computation and no access control: the keeper of the records sees them, and "
        "must guard them. It does not hide facts that hold for whole groups.",
    )

"""For people whose records are used: what it means for them, without a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.checks.reports.shared import error, guess, population
from discreet.checks.reports.wording import Paragraph, chance, of_hundred
from discreet.exact import float_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.checks.reports.facts import PromiseFacts

__all__ = ["TITLE", "statements"]

TITLE = "What this promise means for you"


def statements(facts: PromiseFacts) -> Iterator[Paragraph]:
    """Tell a person what others can learn, what may happen, what may fail, and what is not promised."""
    yield Paragraph(
        "hidden",
        "The answers contain random noise. The noise is there to hide your part in them: whether your record was used, "
        "and what it says. How well it does so is what the numbers below say.",
    )
    yield guess(facts)
    yield Paragraph(
        "outcome",
        "Think of anything that these answers might bring upon you. If it had a chance of 1 of 100 without your "
        f"record, it has one of at most {of_hundred(facts.outcome)} with it.",
        {"outcome": facts.outcome},
    )
    if facts.delta:
        yield Paragraph(
            "failure",
            f"These numbers include a chance of {chance(facts.delta)} that the protection fails for you altogether.",
            {"delta": float_up(facts.delta)},
        )
    counted = population(facts)
    if counted is not None:
        yield counted
    yield _adding(facts)
    yield error(facts)
    yield Paragraph(
        "general",
        "Not hidden is what the answers say about people in general. If they show that smoking harms, that is news "
        "about every smoker, with or without a record here.",
    )
    yield Paragraph(
        "keeper",
        "And whoever keeps the records still sees them: this promise is about what is published, not about locks.",
    )


def _adding(facts: PromiseFacts) -> Paragraph:
    """Ten promises are weaker than one."""
    if facts.accuracy == 0.5:
        return Paragraph("adding", "Promises like this one may be repeated: they add up to nothing.", {"tenfold": 0.5})
    return Paragraph(
        "adding",
        f"Promises add up: ten like this one allow {of_hundred(facts.tenfold)} bets to be right. That is why somebody "
        "must keep count.",
        {"tenfold": facts.tenfold},
    )

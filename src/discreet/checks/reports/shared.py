"""Sentences that more than one register needs, with their conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.checks.reports.wording import MILLION, Paragraph, chance, count, factor, of_hundred, whole
from discreet.exact import float_up

if TYPE_CHECKING:
    from discreet.checks.reports.facts import PromiseFacts

__all__ = ["error", "guess", "judged", "odds", "population"]

# Up to which share of right guesses which words may be used; half of the guesses are right without any answer.
_JUDGMENTS = (
    (0.55, "That is little better than tossing a coin."),
    (0.75, "That is better than tossing a coin, and far from certain."),
    (0.95, "That is a weak protection: most guesses may be right."),
    (1.0, "That is next to no protection."),
)


def judged(facts: PromiseFacts) -> str:
    """Say in words how much a share of right guesses is."""
    if facts.accuracy == 0.5:
        return "So nothing is learned."
    return next(words for most, words in _JUDGMENTS if facts.accuracy <= most)


def odds(facts: PromiseFacts) -> Paragraph:
    """Bound what anybody comes to believe; with a delta only up to an exception."""
    who = "the odds that a given record was used"
    if facts.factor is None:
        text = (
            f"For {who} there is no bound worth stating: with a failure chance of {chance(facts.delta)} it would "
            "not hold often enough to mean anything."
        )
        return Paragraph("odds", text)
    numbers = {"log_odds": facts.log_odds or 0.0, "exception": float_up(facts.exception)}
    if facts.factor == 1:
        return Paragraph("odds", f"Whatever somebody believed before, {who} do not change.", numbers)
    size = factor(facts.factor)
    moved = f"a factor of {size}" if facts.factor > MILLION else f"a factor of at most {size}"
    verb = "may change by" if facts.factor > MILLION else "change by"
    if not facts.delta:
        text = f"Whatever somebody believed before, {who} {verb} {moved}, up or down."
        return Paragraph("odds", text, numbers)
    text = (
        f"Whatever somebody believed before, {who} {verb} {moved}, up or down, except with a chance of at most "
        f"{chance(facts.exception)}. In the exception they may learn everything about the record."
    )
    return Paragraph("odds", text, numbers)


def population(facts: PromiseFacts) -> Paragraph | None:
    """Hold delta against the number of units: from 1/n on it protects nobody."""
    if not facts.delta:
        return None
    if facts.n is None or facts.exposed is None:
        text = (
            f"A chance of {chance(facts.delta)} is small only among far fewer than {whole(_more(facts))} people: among "
            "more, publishing the whole record of somebody picked at random would not break the promise."
        )
        return Paragraph("population", text, {} if _more(facts) > 10**300 else {"largest": float(_more(facts) - 1)})
    numbers = {"exposed": facts.exposed, "n": float(facts.n)}
    if facts.delta * facts.n >= 1:
        text = (
            f"Warning: among {facts.n:,} people, a chance of {chance(facts.delta)} for each allows a program that "
            "publishes the whole record of somebody picked at random. It should be far below 1 in the number of people."
        )
        return Paragraph("warning", text, numbers)
    text = f"Among {facts.n:,} people, such failures expose at most {count(facts.exposed)} of them on average."
    return Paragraph("population", text, numbers)


def _more(facts: PromiseFacts) -> int:
    """Give the least number of units for which delta is 1/n or more."""
    return (facts.largest or 0) + 1


def error(facts: PromiseFacts) -> Paragraph:
    """Say what the promise costs in accuracy."""
    if facts.count_error is None:
        text = "The price is accuracy: so much noise drowns every count of people."
        return Paragraph("error", text)
    if facts.count_error == 0:
        text = (
            "The price is accuracy, and here it is nothing: if the whole promise is spent on one count of people, that "
            "count is exact in 95 of 100 cases or more. So little noise hides little."
        )
        return Paragraph("error", text, {"count_error": 0.0})
    text = (
        "The price is accuracy: if the whole promise is spent on one count of people, that count is off by no more "
        f"than {count(facts.count_error)} in 95 of 100 cases."
    )
    return Paragraph("error", text, {"count_error": facts.count_error})


def guess(facts: PromiseFacts) -> Paragraph:
    """Bound the bets on whether a record was used."""
    many = (
        "may be right nearly always"
        if facts.accuracy > 0.999
        else f"is right in at most {of_hundred(facts.accuracy)} bets"
    )
    text = (
        "Somebody who knows all other records, reads the answers, and bets at even odds on whether yours was used "
        f"{many}. Without the answers it would be 50 of 100. {judged(facts)}"
    )
    return Paragraph("guess", text, {"accuracy": facts.accuracy})

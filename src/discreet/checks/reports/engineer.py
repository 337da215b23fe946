"""For people who build: the definition, the tests it allows, what follows for groups, composition and noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.reports.shared import error, odds, population
from discreet.checks.reports.wording import MILLION, Paragraph, factor, of_hundred, promise
from discreet.exact import exp_upper, float_up
from discreet.exact.rational import cost_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.checks.reports.facts import PromiseFacts

__all__ = ["TITLE", "statements"]

TITLE = "What this promise allows, as bounds"


def statements(facts: PromiseFacts) -> Iterator[Paragraph]:
    """Tell an engineer the definition and its consequences."""
    yield _definition(facts)
    yield Paragraph(
        "accuracy",
        f"Membership game at even odds: accuracy at most {cost_text(facts.accuracy, 4)}, advantage at most "
        f"{cost_text(min(1.0, (2 * facts.accuracy - 1) * (1 + 2**-50)), 4)} (total variation; Kairouz, Oh & Viswanath "
        "2015).",
        {"accuracy": facts.accuracy},
    )
    yield Paragraph(
        "tradeoff",
        f"Any test: true positive rate at most {cost_text(facts.outcome, 4)} at a false positive rate of 0.01, and "
        f"{cost_text(facts.rare, 4)} at 0.001.",
        {"outcome": facts.outcome, "rare": facts.rare},
    )
    yield odds(facts)
    if facts.semantic is not None:
        yield Paragraph(
            "semantic",
            "Any posterior differs from the one had the unit been absent by at most "
            f"{cost_text(facts.semantic, 4)} in total variation, tanh(ε/2).",
            {"semantic": facts.semantic},
        )
    yield _group(facts)
    yield Paragraph(
        "composition",
        "k such promises, chosen adaptively, give (kε, kδ) by basic composition; `discreet account` often finds less, "
        "and a ledger's filter keeps the sum under full adaptivity.",
    )
    counted = population(facts)
    if counted is not None:
        yield counted
    yield error(facts)
    yield Paragraph(
        "scope",
        "The unit, the neighbor relation (here: add or remove one unit) and the set of releases that the promise "
        "covers are part of it. Side channels, the store, and correlations between units are not.",
    )


def _definition(facts: PromiseFacts) -> Paragraph:
    slack = " + δ" if facts.delta else ""
    size = float_up(exp_upper(facts.epsilon)) if facts.epsilon <= 700 else math.inf
    return Paragraph(
        "definition",
        f"{promise(facts.epsilon, facts.delta)}: for all neighbors x, x' and every event S, "
        f"Pr[M(x) ∈ S] ≤ e^ε Pr[M(x') ∈ S]{slack}, where e^ε is {'about ' if size <= MILLION else ''}{factor(size)}.",
    )


def _group(facts: PromiseFacts) -> Paragraph:
    if facts.pair is None:
        return Paragraph(
            "group", "Pairs of units are promised nothing: for them δ grows to (1 + e^ε)δ, which reaches 1."
        )
    return Paragraph(
        "group",
        f"Two units at once (2ε, (1 + e^ε)δ): at most {of_hundred(facts.pair)} bets are right.",
        {"pair": facts.pair},
    )

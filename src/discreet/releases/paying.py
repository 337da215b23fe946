"""The order of a release: found again, or reserved, computed, recorded, and only then shown."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from discreet.errors import BudgetError, EngineError
from discreet.releases.answer import Answer
from discreet.releases.fitting import largest_epsilon
from discreet.releases.purse import Entry, Repeat
from discreet.releases.stopping import TAKING, interruptible, what_stays
from discreet.releases.stored import Stored, merged, needed, read_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from fractions import Fraction

    from discreet.engines import Engine
    from discreet.plans import Plan
    from discreet.privacy.currencies import Currency
    from discreet.releases.protection import Protection
    from discreet.releases.purse import Purse, Reservation
    from discreet.releases.recipe import Recipe

__all__ = ["Asked", "known_answer", "pay", "pay_all", "require_room"]


class Asked(Protocol):
    """What is paid for: a question as this module sees it."""

    @property
    def plan(self) -> Plan:
        """What is asked."""

    @property
    def recipe(self) -> Recipe:
        """Which numbers get noise."""

    @property
    def engine(self) -> Engine:
        """Where the data is."""

    @property
    def purse(self) -> Purse:
        """What it is paid from."""

    @property
    def analyst(self) -> str | None:
        """Who asks."""

    @property
    def purpose(self) -> str | None:
        """What for."""

    @property
    def asked(self) -> str:
        """The asker's own words."""

    def ready(self, protection: Protection) -> Callable[[], Answer]:
        """Prepare everything that may fail before anything is spent; the function then computes and adds noise."""


def pay(question: Asked, protection: Protection) -> Answer:
    """Release one question for what its protection costs."""
    return pay_all([(question, protection)])[0]


def pay_all(asked: Sequence[tuple[Asked, Protection]]) -> list[Answer]:
    """Release several questions of one database, all or none.

    A question that was answered before for at least its price gets the stored releases, free for the dataset. For the
    others the order is fixed: the stored releases are readable and the source is alive; all costs are taken together,
    those of showing stored releases to somebody else among them; the engine computes; noise is added; each answer is
    recorded, and shown, combined with earlier ones. What fails after the costs were taken stays spent, as a refund
    would depend on the data.
    """
    entries = [_entry(question, protection) for question, protection in asked]
    kept = [_known(*each, entry) for each, entry in zip(asked, entries, strict=True)]
    known = [(place, repeat) for place, repeat in enumerate(kept) if repeat is not None]
    new, twins = _parted([place for place, repeat in enumerate(kept) if repeat is None], asked, entries)
    if new:
        _require_source(asked[new[0]][0].engine)
    runs = [(place, asked[place][0].ready(asked[place][1])) for place in new]
    with interruptible(TAKING):
        reservations, repeats = _taken(
            [(*asked[place], entries[place]) for place in new],
            [(asked[place][0], repeat, entries[place]) for place, repeat in known],
        )
    found = {}
    with interruptible(
        lambda: what_stays([(asked[place][1].cost, partial(known_answer, *asked[place])) for place in new])
    ):
        for (place, _), repeat in zip(known, repeats, strict=True):
            found[place] = _repeated(asked[place][0], asked[place][1].cost, repeat)
        for (place, compute), reservation in zip(runs, reservations, strict=True):
            answer = compute()
            found[place] = _recorded(*asked[place], answer, reservation)
            for twin in twins.get(place, ()):
                records = (json.loads(answer.to_json()), *reservation.earlier)
                repeat = Repeat(records, reservation.cost, found[place].head)
                found[twin] = _repeated(asked[twin][0], asked[twin][1].cost, repeat)
    return [found[place] for place in range(len(asked))]


def require_room(first: tuple[Asked, Protection], second: tuple[Asked, Protection]) -> None:
    """Refuse to buy the first of two questions unless the second would fit as well; what was seen already is free."""
    (question, protection), entry = first, _entry(*first)
    known = _known(question, protection, entry)
    whole = (protection.cost if known is None else known.cost) + second[1].cost
    if (known is None or known.owed) and not question.purse.admits(whole, entry):
        left = question.purse.remaining_for(question.analyst, question.purpose)
        msg = f"{whole!r} does not fit: {left!r} is left. Nothing was spent; ask for less."
        raise BudgetError(msg)


def _parted(
    places: Sequence[int], asked: Sequence[tuple[Asked, Protection]], entries: Sequence[Entry]
) -> tuple[list[int], dict[int, list[int]]]:
    """Part questions that are to be paid from those that are the same as one of them, for no more: they share it."""
    new: list[int] = []
    twins: dict[int, list[int]] = {}
    for place in places:
        cost = _amounts(asked[place][1].cost)
        same = (other for other in new if _asked(entries[other]) == _asked(entries[place]))
        first = next((other for other in same if _amounts(asked[other][1].cost) == cost), None)
        if first is None:
            new.append(place)
        else:
            twins.setdefault(first, []).append(place)
    return new, twins


def _asked(entry: Entry) -> tuple[str, str | None, str | None]:
    """What is asked, by whom and what for: an answer is shared only by those who are charged for it."""
    return entry.question, entry.analyst, entry.purpose


def _entry(question: Asked, protection: Protection) -> Entry:
    """What a ledger is told about a release."""
    plan = question.plan
    return Entry(
        plan.key,
        plan.tables,
        question.analyst,
        question.purpose,
        asked=question.asked or f"{', '.join(plan.columns)} of {', '.join(plan.tables)}",
        promise=protection.promise,
        policy=plan.policy.hash,
        version=plan.policy.version,
        details={"curve": protection.curve.record(), "bounding": plan.bounding.canonical()},
        verified=plan.verified,
    )


def _require_source(engine: Engine) -> None:
    if not engine.alive():
        msg = "the source does not answer; nothing was spent. Open it again."
        raise EngineError(msg)


_Due = tuple[Asked, "Protection", Entry]


def known_answer(question: Asked, protection: Protection) -> Repeat | None:
    """Give the stored releases that a question would be answered with at this price, free for the dataset; or None."""
    return _known(question, protection, _entry(question, protection))


def _known(question: Asked, protection: Protection, entry: Entry) -> Repeat | None:
    """Find the stored releases that are worth the price, in a form that this version of the package reads."""
    found = question.purse.look(protection.cost, entry)
    if found is None:
        return None
    read = [read_stored(question.plan, record) for record in found.answers]
    parts = _worth([part for part in read if part is not None], protection.cost)
    places = [place for place, part in enumerate(read) if any(part is each for each in parts)]
    if not places:
        return None
    return replace(
        found,
        answers=tuple(found.answers[place] for place in places),
        numbers=tuple(found.numbers[place] for place in places),
    )


def _worth(kept: Sequence[Stored], cost: Currency) -> list[Stored]:
    """The stored releases that can be shown together and are worth a cost, the dearest first; empty if none are.

    Costs of releases that combine add up. Of those that do not (groups found in data, chosen points, bins) one alone
    must be worth it.
    """
    found = []
    for best in kept:
        alike = [best, *(part for part in kept if part is not best and _alike(best, part))]
        paid = best.protection.cost
        if best.recipe.combines:
            paid = sum((part.protection.cost for part in alike[1:]), start=paid)
        else:
            alike = needed(alike)  # who is shown the answer pays for what it is made of, and for no more
        if all(have >= need for have, need in zip(_amounts(paid), _amounts(cost), strict=True)):
            found.append(alike)
    return max(found, key=lambda alike: _amounts(alike[0].protection.cost), default=[])


def _amounts(cost: Currency) -> list[Fraction]:
    """The numbers of a cost, the delta last; all costs of one question are in one currency."""
    return list(cast("dict[str, Fraction]", cost.fields()).values())


def _taken(
    new: Sequence[_Due], known: Sequence[tuple[Asked, Repeat, Entry]]
) -> tuple[Sequence[Reservation], Sequence[Repeat]]:
    """Take all costs; a refusal says what would still fit."""
    costs = [(protection.cost, entry) for _, protection, entry in new]
    purse = (new or known)[0][0].purse
    try:
        return purse.take(costs, [(repeat, entry) for _, repeat, entry in known])
    except BudgetError as error:
        if len(new) + len(known) > 1:
            more = f"The {len(new) + len(known)} questions were refused together."
        elif new:
            more = _fitting(*new[0])
        else:
            more = (
                "The question was answered for somebody else or another purpose, and seeing that answer counts here "
                "with its whole cost; no price makes it less."
            )
        msg = f"{error} {more}"
        raise BudgetError(msg) from None


def _fitting(question: Asked, protection: Protection, entry: Entry) -> str:
    """Say what the budget would still pay for."""
    largest = largest_epsilon(question.recipe, protection.price, lambda cost: question.purse.admits(cost, entry))
    if largest is None:
        return "Nothing of this question fits any more."
    return f"For this question {largest} would still fit."


def _recorded(question: Asked, protection: Protection, answer: Answer, reservation: Reservation) -> Answer:
    """Record an answer, and combine it with earlier ones that were paid for as well."""
    head = question.purse.record(reservation, answer)
    own = Stored(question.recipe, protection, answer.groups, answer.numbers)
    kept = [own, *(part for part in _stored(question.plan, reservation.earlier) if _alike(own, part))]
    if len(kept) == 1 and not head:
        return answer
    found = merged(kept)
    return replace(
        answer, recipe=found.recipe, numbers=found.numbers, promise=_promised(kept), head=head, combined=len(kept)
    )


def _repeated(question: Asked, cost: Currency, found: Repeat) -> Answer:
    """Put the stored releases of a question together that are worth a cost."""
    parts = _worth(_stored(question.plan, found.answers), cost)
    best = parts[0]
    whole, protection = merged(parts), best.protection
    return Answer(
        whole.recipe,
        best.groups,
        whole.numbers,
        _promised(parts),
        protection.cost * 0,
        protection.price,
        head=found.head,
        repeated=True,
        combined=len(parts),
    )


def _promised(parts: Sequence[Stored]) -> str:
    """State the promises of all releases that an answer is made of."""
    return " + ".join(part.protection.promise for part in parts)


def _stored(plan: Plan, answers: Iterable[Mapping[str, Any]]) -> list[Stored]:
    return [part for record in answers if (part := read_stored(plan, record)) is not None]


def _alike(first: Stored, second: Stored) -> bool:
    """Tell whether two releases can be combined: the same blocks for the same groups, and groups not found in data."""
    same = first.recipe.blocks == second.recipe.blocks and first.recipe.plan.aggregate == second.recipe.plan.aggregate
    return first is second or (same and first.protection.selection is None and first.groups == second.groups)

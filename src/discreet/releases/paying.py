"""The order of a release: found again, or reserved, computed, recorded, and only then shown."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import BudgetError, EngineError
from discreet.releases.answer import Answer
from discreet.releases.fitting import largest_epsilon
from discreet.releases.purse import Entry, Repeat
from discreet.releases.repeats import alike, amounts, shown_again
from discreet.releases.stopping import TAKING, interruptible, what_stays
from discreet.releases.stored import Stored, merged, read_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from discreet.engines import Engine
    from discreet.plans import Plan
    from discreet.privacy.currencies import Currency
    from discreet.releases.protection import Protection
    from discreet.releases.purse import Purse, Reservation
    from discreet.releases.recipe import Recipe

__all__ = ["Asked", "Foreseen", "fits", "foresee", "pay", "pay_all", "promised", "require_room"]


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
            [((*asked[place], entries[place]), repeat) for place, repeat in known],
        )
    found = {}
    with interruptible(
        lambda: what_stays([(asked[place][1].cost, partial(_known, *asked[place], entries[place])) for place in new])
    ):
        for (place, chosen), repeat in zip(known, repeats, strict=True):
            again = repeat.only([repeat.numbers.index(number) for number in chosen.numbers])  # the dearest first
            found[place] = _repeated(asked[place][0], entries[place], again)
        for (place, compute), reservation in zip(runs, reservations, strict=True):
            charges = _charges(asked[place][0], entries[place], reservation.cost, None)
            answer = replace(compute(), charges=charges)
            found[place] = _recorded(*asked[place], answer, reservation)
            for twin in twins.get(place, ()):
                records = (json.loads(answer.to_json()), *reservation.earlier)
                repeat = Repeat(records, reservation.cost, found[place].head)
                found[twin] = _repeated(asked[twin][0], entries[twin], repeat)
    return [found[place] for place in range(len(asked))]


def require_room(first: tuple[Asked, Protection], second: tuple[Asked, Protection]) -> None:
    """Refuse to buy the first of two questions unless the second would fit as well; what was seen already is free."""
    (question, protection), entry = first, _entry(*first)
    known, cost = _known(question, protection, entry), second[1].cost
    owed = dict.fromkeys(question.purse.budgets(entry), protection.cost) if known is None else known.owed
    whole = {budget: owed.get(budget, cost * 0) + cost for budget in question.purse.budgets(entry)}
    if owed and not question.purse.affords(whole):
        left = question.purse.remaining_for(question.analyst, question.purpose)
        msg = f"{max(whole.values(), key=amounts)!r} does not fit: {left!r} is left. Nothing was spent; ask for less."
        raise BudgetError(msg)


def _parted(
    places: Sequence[int], asked: Sequence[tuple[Asked, Protection]], entries: Sequence[Entry]
) -> tuple[list[int], dict[int, list[int]]]:
    """Part questions that are to be paid from those that are the same as one of them, for no more: they share it."""
    new: list[int] = []
    twins: dict[int, list[int]] = {}
    for place in places:
        cost = amounts(asked[place][1].cost)
        same = (other for other in new if _asked(entries[other]) == _asked(entries[place]))
        first = next((other for other in same if amounts(asked[other][1].cost) == cost), None)
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


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a release would do: charge these budgets, by title, and show these stored releases, or make a new one."""

    charges: dict[str, Currency]
    stored: tuple[Stored, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether no budget is charged."""
        return not any(any(amounts(charge)) for charge in self.charges.values())


def foresee(question: Asked, protection: Protection) -> Foreseen:
    """Say what a release at this price would charge to whom, and what it would show again; nothing is spent."""
    entry = _entry(question, protection)
    found = _known(question, protection, entry)
    charges = _charges(question, entry, protection.cost, found)
    return Foreseen(charges, () if found is None else tuple(_stored(question.plan, found.answers)))


def _known(question: Asked, protection: Protection, entry: Entry) -> Repeat | None:
    """Find the stored releases to be shown for a price, in a form that this version of the package reads."""
    found = question.purse.look(protection.cost, entry)
    return None if found is None else shown_again(question.plan, found, protection.cost)


def _charges(question: Asked, entry: Entry, cost: Currency, repeat: Repeat | None) -> dict[str, Currency]:
    """What each budget is charged, by the title that a statement gives it."""
    owed = {} if repeat is None else repeat.owed
    each = {budget: cost if repeat is None else owed.get(budget, cost * 0) for budget in question.purse.budgets(entry)}
    return {_title(budget): charge for budget, charge in each.items()}


def _title(budget: tuple[str, str]) -> str:
    scope, name = budget
    return f"{scope} {name}".strip()


def fits(question: Asked, charges: Mapping[str, Currency]) -> bool:
    """Tell whether charges, by title, would fit into the budgets of who asks now; no charge always does."""
    budgets = question.purse.budgets(Entry("", (), analyst=question.analyst, purpose=question.purpose))
    due = {budget: charges[_title(budget)] for budget in budgets}
    return question.purse.affords({budget: charge for budget, charge in due.items() if any(amounts(charge))})


def _taken(new: Sequence[_Due], known: Sequence[tuple[_Due, Repeat]]) -> tuple[Sequence[Reservation], Sequence[Repeat]]:
    """Take all costs; a refusal says what would still fit."""
    costs = [(protection.cost, entry) for _, protection, entry in new]
    every = [*new, *(due for due, _ in known)]
    try:
        return every[0][0].purse.take(costs, [(repeat, entry) for (_, _, entry), repeat in known])
    except BudgetError as error:
        more = f"The {len(every)} questions were refused together." if len(every) > 1 else _fitting(*every[0])
        msg = f"{error} {more}"
        raise BudgetError(msg) from None


def _fitting(question: Asked, protection: Protection, entry: Entry) -> str:
    """Say what the budget would still pay for, and what is stored and free for the dataset."""
    stored = question.purse.look(protection.cost * 0, entry)

    def fits(cost: Currency) -> bool:
        again = None if stored is None else shown_again(question.plan, stored, cost)
        return question.purse.admits(cost, entry) or (again is not None and not again.owed)

    largest = largest_epsilon(question.recipe, protection.price, fits)
    found = "Nothing of this question fits any more." if largest is None else ""
    dearer = None if stored is None else _dearer(question, stored)
    return " ".join(filter(None, (found or f"For this question {largest} would still fit.", dearer)))


def _dearer(question: Asked, stored: Repeat) -> str:
    """Name the least price at which a stored answer of others could be seen."""
    found = []
    for part in _stored(question.plan, stored.answers):
        cost = part.protection.cost
        again = shown_again(question.plan, stored, cost)
        if again is not None and again.owed and question.purse.affords(again.owed):
            found.append((amounts(cost), part.protection.promise))
    if not found:
        return ""
    price = min(found)[1]
    return f"It was answered for somebody else or another purpose: for {price} that answer costs the dataset nothing."


def _recorded(question: Asked, protection: Protection, answer: Answer, reservation: Reservation) -> Answer:
    """Record an answer, and combine it with earlier ones that were paid for as well."""
    head = question.purse.record(reservation, answer)
    own = Stored(question.recipe, protection, answer.groups, answer.numbers)
    kept = [own, *(part for part in _stored(question.plan, reservation.earlier) if alike(own, part))]
    if len(kept) == 1 and not head:
        return answer
    found = merged(kept)
    return replace(
        answer, recipe=found.recipe, numbers=found.numbers, promise=promised(kept), head=head, combined=len(kept)
    )


def _repeated(question: Asked, entry: Entry, found: Repeat) -> Answer:
    """Put the first of stored releases together with those that can be combined with it."""
    kept = _stored(question.plan, found.answers)
    parts = [part for part in kept if alike(kept[0], part)]
    best, whole = parts[0], merged(parts)
    nothing = best.protection.cost * 0
    return Answer(
        whole.recipe,
        best.groups,
        whole.numbers,
        promised(parts),
        nothing,
        best.protection.price,
        head=found.head,
        repeated=True,
        combined=len(parts),
        charges=_charges(question, entry, nothing, found),
    )


def promised(parts: Sequence[Stored]) -> str:
    """State the promises of all releases that an answer is made of."""
    return " + ".join(part.protection.promise for part in parts)


def _stored(plan: Plan, answers: Iterable[Mapping[str, Any]]) -> list[Stored]:
    return [part for record in answers if (part := read_stored(plan, record)) is not None]

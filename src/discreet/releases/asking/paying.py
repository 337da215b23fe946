"""Paying for a question: what was paid for already is found again, and what is not is charged, run and recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

from discreet.engines.engine import Snapshot
from discreet.errors import BudgetError, EngineError
from discreet.ledgers.charging import Spend, charge_all
from discreet.ledgers.purse import Entry
from discreet.privacy.costs import Cost, total
from discreet.releases.asking.prices import largest_epsilon
from discreet.releases.showing.answer import Answer
from discreet.releases.showing.stored import Stored, merged, needed, read_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from discreet.engines import Engine
    from discreet.ledgers.purse import Purse, Released, Repeat, Reservation
    from discreet.plans import Plan
    from discreet.privacy.costs import Amount
    from discreet.releases.noise.protection import Protection
    from discreet.releases.noise.recipe import Recipe

__all__ = [
    "Asked",
    "Foreseen",
    "alike",
    "amounts",
    "fits",
    "foresee",
    "pay",
    "pay_all",
    "promised",
    "require_room",
    "shown_again",
]


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

    def ready(self, protection: Protection, snapshot: Snapshot) -> Callable[[], Answer]:
        """Prepare everything that may fail before anything is spent; the function then computes and adds noise."""


@dataclass(frozen=True, eq=False)
class Purchase(Spend[Answer]):
    """A question at a price, as a ledger's `charge_all` sees it."""

    question: Asked
    protection: Protection
    key: str = ""
    request: str = ""
    snapshot: Snapshot | None = None
    """Where it is computed together with others that are paid with it."""

    @property
    def cost(self) -> Amount:  # type: ignore[override]  # fixed by the protection
        """What the ledger is charged."""
        return self.protection.cost

    @cached_property
    def entry(self) -> Entry:  # type: ignore[override]  # computed once
        """What a ledger is told about the release."""
        question, plan = self.question, self.question.plan
        return Entry(
            plan.key,
            plan.tables,
            question.analyst,
            question.purpose,
            asked=question.asked or f"{', '.join(plan.columns)} of {', '.join(plan.tables)}",
            promise=self.protection.promise,
            policy=plan.policy.facts_hash,
            version=plan.policy.version,
            details={
                "curve": self.protection.curve.record(),
                "bounding": plan.bounding.canonical(),
                **({"read": plan.read} if plan.read else {}),
            },
            verified=plan.verified,
            key=self.key,
            request=self.request,
        )

    def known(self) -> Repeat | None:
        """Find the stored releases that would be shown."""
        repeat = self.question.purse.look(self.cost, self.entry)
        return None if repeat is None else self.chosen(repeat)

    def chosen(self, repeat: Repeat) -> Repeat | None:
        """Choose stored releases in a form that this version of the package reads."""
        return shown_again(self.question.plan, repeat, self.cost)

    def ready(self) -> Callable[[Reservation], Answer]:
        """See that the source answers, and prepare everything that may fail."""
        if not self.question.engine.alive():
            msg = "the source does not answer; nothing was spent. Open it again."
            raise EngineError(msg)
        compute = self.question.ready(self.protection, self.snapshot or Snapshot(self.question.engine))
        return lambda paid: replace(compute(), charges=self.charges(paid.cost, None))

    def shown(self, released: Released, paid: Reservation, head: str) -> Answer:
        """Combine the answer with earlier ones that were paid for as well."""
        answer: Answer = released  # type: ignore[assignment]  # what `ready` made
        own = Stored(self.question.recipe, self.protection, answer.groups, answer.numbers)
        kept = [own, *(part for part in _stored(self.question.plan, paid.earlier) if alike(own, part))]
        whole = merged(kept)
        parts = tuple(part.protection for part in kept)
        return replace(
            answer, recipe=whole.recipe, numbers=whole.numbers, promise=promised(kept), parts=parts, head=head
        )

    def shown_again(self, repeat: Repeat) -> Answer:
        """Put the first of stored releases together with those that can be combined with it."""
        kept = _stored(self.question.plan, repeat.answers)
        parts = [part for part in kept if alike(kept[0], part)]
        best, whole = parts[0], merged(parts)
        nothing = best.protection.cost * 0
        return Answer(
            whole.recipe,
            best.groups,
            whole.numbers,
            promised(parts),
            nothing,
            tuple(part.protection for part in parts),
            head=repeat.head,
            repeated=True,
            charges=self.charges(nothing, repeat),
        )

    def charges(self, cost: Amount, repeat: Repeat | None) -> dict[str, Amount]:
        """What each budget is charged, by the title that a statement gives it."""
        owed = {} if repeat is None else repeat.owed
        return {
            _title(budget): cost if repeat is None else owed.get(budget, cost * 0)
            for budget in self.question.purse.budgets(self.entry)
        }

    def advice(self) -> str:
        """Say what the budget would still pay for, and what is stored and free for the dataset."""
        plan, purse = self.question.plan, self.question.purse
        stored = purse.look(self.cost * 0, self.entry)

        def fits(cost: Amount) -> bool:
            again = None if stored is None else shown_again(plan, stored, cost)
            return purse.admits(cost, self.entry) or (again is not None and not again.owed)

        largest = largest_epsilon(self.question.recipe, self.protection.price, fits)
        nothing = "Nothing of this question fits any more." if largest is None else ""
        dearer = None if stored is None else _dearer(self.question, stored)
        room = nothing or f"{self.protection.promise} was asked for. For this question {largest} would still fit."
        return " ".join(filter(None, (room, dearer)))


def pay(question: Asked, protection: Protection, key: str = "", request: str = "") -> Answer:
    """Release one question for what its protection costs; with a key once, however often it is sent."""
    return pay_all([(question, protection)], key, request)[0]


def pay_all(asked: Sequence[tuple[Asked, Protection]], key: str = "", request: str = "") -> list[Answer]:
    """Release several questions, all or none, in the order that `charge_all` keeps and in one snapshot of the data.

    `request` says what the key is bound to where it is more than one question and its cost.
    """
    snapshots = {id(question.engine): Snapshot(question.engine) for question, _ in asked}
    purchases = [
        Purchase(question, protection, key, request, snapshots[id(question.engine)]) for question, protection in asked
    ]
    return charge_all(asked[0][0].purse, purchases)


def require_room(first: Sequence[tuple[Asked, Protection]], later: Sequence[tuple[Asked, Protection]]) -> None:
    """Refuse to buy the first of some questions unless the later ones fit as well; what was paid for before is free."""
    asked = first[0][0]
    purse, budgets = asked.purse, asked.purse.budgets(Purchase(*first[0]).entry)
    nothing = first[0][1].cost * 0
    whole = dict.fromkeys(budgets, nothing)
    due = False
    for question, protection in {question.plan.key: (question, protection) for question, protection in first}.values():
        purchase = Purchase(question, protection)
        known = purchase.known()
        owed = dict.fromkeys(budgets, purchase.cost) if known is None else known.owed
        due = due or bool(owed)
        whole = {budget: total(spent, owed.get(budget, nothing)) for budget, spent in whole.items()}
    for cost in {question.plan.key: protection.cost for question, protection in later}.values():
        whole = {budget: total(spent, cost) for budget, spent in whole.items()}
    if due and not purse.affords(whole):
        left = purse.remaining_for(asked.analyst, asked.purpose)
        msg = f"{max(whole.values(), key=amounts)!r} does not fit: {left!r} is left. Nothing was spent; ask for less."
        raise BudgetError(msg)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a release would do: charge these budgets, by title, and show these stored releases, or make a new one."""

    charges: dict[str, Amount]
    stored: tuple[Stored, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether no budget is charged."""
        return not any(any(amounts(charge)) for charge in self.charges.values())


def foresee(question: Asked, protection: Protection) -> Foreseen:
    """Say what a release at this price would charge to whom, and what it would show again; nothing is spent."""
    purchase = Purchase(question, protection)
    known = purchase.known()
    charges = purchase.charges(protection.cost, known)
    return Foreseen(charges, () if known is None else tuple(_stored(question.plan, known.answers)))


def _title(budget: tuple[str, str]) -> str:
    scope, name = budget
    return f"{scope} {name}".strip()


def fits(question: Asked, charges: Mapping[str, Amount]) -> bool:
    """Tell whether charges, by title, fit into the asker's budgets as they are now; a charge of nothing always does."""
    budgets = question.purse.budgets(Entry("", (), analyst=question.analyst, purpose=question.purpose))
    due = {budget: charges[_title(budget)] for budget in budgets}
    return question.purse.affords({budget: charge for budget, charge in due.items() if any(amounts(charge))})


def _dearer(question: Asked, stored: Repeat) -> str:
    """Name the least price for which the asker could see an answer that others bought."""
    prices = []
    for part in _stored(question.plan, stored.answers):
        cost = part.protection.cost
        again = shown_again(question.plan, stored, cost)
        if again is not None and again.owed and question.purse.affords(again.owed):
            prices.append((amounts(cost), part.protection.promise))
    if not prices:
        return ""
    price = min(prices)[1]
    return f"It was answered for somebody else or another purpose: for {price} that answer costs the dataset nothing."


def promised(parts: Sequence[Stored]) -> str:
    """State the promises of all releases that an answer is made of."""
    return " + ".join(part.protection.promise for part in parts)


def _stored(plan: Plan, answers: Iterable[Mapping[str, Any]]) -> list[Stored]:
    return [part for record in answers if (part := read_stored(plan, record)) is not None]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A stored release: where it stands in the repeat, what it cost, and in which budgets it does not count yet."""

    place: int
    stored: Stored
    cost: Amount
    unseen: frozenset[tuple[str, str]]


def shown_again(plan: Plan, repeat: Repeat, cost: Amount) -> Repeat | None:
    """Choose the releases that answer a question for a price, the dearest first; None if it is to be asked anew.

    The releases must be worth the price: the costs of those that combine add up; of those that do not (groups found in
    data, chosen points, bins) one must be worth it alone. A release that counts in all of the asker's budgets already
    is free, and is taken first. If that is not enough, releases that others bought are added, as few as possible, and
    never so many that a budget with a limit would be charged more than the price. The dataset pays nothing either way.
    """
    kept = [
        _Kept(place, stored, repeat.costs[place], repeat.unseen[place])
        for place, record in enumerate(repeat.answers)
        if (stored := read_stored(plan, record)) is not None
    ]
    kept.sort(key=lambda release: amounts(release.stored.protection.cost), reverse=True)
    sets = _sets(kept)
    seen = [[release for release in releases if not release.unseen] for releases in sets]
    paid = [parts for releases in seen if (parts := _enough(releases, cost))]
    if paid:
        best = max(paid, key=lambda parts: amounts(parts[0].stored.protection.cost))
    else:
        owed = [parts for releases in sets if (parts := _with_others(releases, cost, repeat.limited))]
        best = min(owed, key=lambda parts: _owed(repeat, parts), default=[])
    places = [part.place for part in best]
    return repeat.only([*places[:1], *sorted(places[1:])]) if best else None


def amounts(cost: Amount) -> list[Fraction]:
    """The numbers of a cost, the delta last; all costs of one question are in one currency.

    >>> from discreet.privacy import Pure
    >>> amounts(Pure(1))
    [Fraction(1, 1)]
    """
    if isinstance(cost, Cost):
        return [Fraction(number) for number in (*cost.losses, *cost.deltas)]
    return list(cast("dict[str, Fraction]", cost.fields()).values())


def alike(first: Stored, second: Stored) -> bool:
    """Tell whether two releases can be combined: the same blocks for the same groups, and groups not found in data."""
    same = first.recipe.blocks == second.recipe.blocks and first.recipe.plan.aggregate == second.recipe.plan.aggregate
    return first is second or (same and first.protection.selection is None and first.groups == second.groups)


def _sets(kept: Iterable[_Kept]) -> list[list[_Kept]]:
    """Part releases into sets of those that can be combined."""
    sets: list[list[_Kept]] = []
    for release in kept:
        mine = next((known for known in sets if alike(known[0].stored, release.stored)), None)
        if mine is None:
            sets.append([release])
        else:
            mine.append(release)
    return sets


def _enough(parts: Sequence[_Kept], cost: Amount) -> list[_Kept]:
    """The releases of a set to be shown, if they are worth a cost; else none."""
    if parts and parts[0].stored.recipe.combines:
        return list(parts) if _worth(parts, cost) else []
    best = next((part for part in parts if _worth([part], cost)), None)
    return [] if best is None else _made_of(best, parts)


def _with_others(parts: Sequence[_Kept], cost: Amount, limited: frozenset[tuple[str, str]]) -> list[_Kept]:
    """The releases of a set that are worth a cost, some bought from others; none if that would charge more than it."""
    free = [part for part in parts if not part.unseen]
    others = sorted((part for part in parts if part.unseen), key=lambda part: (len(part.unseen), amounts(part.cost)))
    combines = parts[0].stored.recipe.combines
    for part in others:  # one that is enough, the cheapest of them
        if _below([part], cost, limited) and _worth([part, *free] if combines else [part], cost):
            return _in_order([part, *free]) if combines else _made_of(part, free)
    if not combines:
        return []
    taken: list[_Kept] = []
    for part in reversed(others):
        if _below([*taken, part], cost, limited):
            taken.append(part)
    if not _worth([*taken, *free], cost):
        return []
    for part in sorted(taken, key=lambda other: amounts(other.cost)):
        fewer = [other for other in taken if other is not part]
        taken = fewer if _worth([*fewer, *free], cost) else taken
    return _in_order([*taken, *free])


def _made_of(best: _Kept, others: Sequence[_Kept]) -> list[_Kept]:
    """A release and those that its sums are combined with; the asker pays for these and no others."""
    both = [best, *(part for part in others if part is not best)]
    used = needed([part.stored for part in both])
    return [part for part in both if any(part.stored is stored for stored in used)]


def _in_order(parts: Iterable[_Kept]) -> list[_Kept]:
    return sorted(parts, key=lambda part: amounts(part.stored.protection.cost), reverse=True)


def _worth(parts: Sequence[_Kept], cost: Amount) -> bool:
    paid = sum((part.stored.protection.cost for part in parts), start=cost * 0)
    return all(have >= need for have, need in zip(amounts(paid), amounts(cost), strict=True))


def _below(parts: Sequence[_Kept], most: Amount, limited: Iterable[tuple[str, str]]) -> bool:
    """Tell whether showing releases charges no limited budget more than a cost."""
    for budget in limited:
        charge = sum((part.cost for part in parts if budget in part.unseen), start=most * 0)
        if any(have > allowed for have, allowed in zip(amounts(charge), amounts(most), strict=True)):
            return False
    return True


def _owed(repeat: Repeat, parts: Sequence[_Kept]) -> list[Fraction]:
    """What showing releases charges in all budgets together, to choose the least."""
    charges = [amounts(charge) for charge in repeat.only([part.place for part in parts]).owed.values()]
    return [sum(numbers, start=0 * numbers[0]) for numbers in zip(*charges, strict=True)]

"""Questions as a ledger charges them: what it is told of a question, and how stored answers are shown again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from discreet.engines.snapshot import Snapshot
from discreet.errors import BudgetError, EngineError
from discreet.ledgers.charging import Spend, charge_all
from discreet.ledgers.purse import Entry
from discreet.releases.asking.prices import largest_epsilon
from discreet.releases.asking.repeats import alike, amounts, shown_again
from discreet.releases.showing.answer import Answer
from discreet.releases.showing.stored import Stored, merged, read_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from discreet.engines import Engine
    from discreet.ledgers.purse import Purse, Released, Repeat, Reservation
    from discreet.plans import Plan
    from discreet.privacy.currencies import Currency
    from discreet.releases.noise.protection import Protection
    from discreet.releases.noise.recipe import Recipe

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
    def cost(self) -> Currency:  # type: ignore[override]  # fixed by the protection
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
            policy=plan.policy.hash,
            version=plan.policy.version,
            details={"curve": self.protection.curve.record(), "bounding": plan.bounding.canonical()},
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
        return replace(
            answer, recipe=whole.recipe, numbers=whole.numbers, promise=promised(kept), head=head, combined=len(kept)
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
            best.protection.price,
            head=repeat.head,
            repeated=True,
            combined=len(parts),
            charges=self.charges(nothing, repeat),
        )

    def charges(self, cost: Currency, repeat: Repeat | None) -> dict[str, Currency]:
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

        def fits(cost: Currency) -> bool:
            again = None if stored is None else shown_again(plan, stored, cost)
            return purse.admits(cost, self.entry) or (again is not None and not again.owed)

        largest = largest_epsilon(self.question.recipe, self.protection.price, fits)
        nothing = "Nothing of this question fits any more." if largest is None else ""
        dearer = None if stored is None else _dearer(self.question, stored)
        return " ".join(filter(None, (nothing or f"For this question {largest} would still fit.", dearer)))


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


def require_room(first: tuple[Asked, Protection], second: tuple[Asked, Protection]) -> None:
    """Refuse to buy the first of two questions unless the second fits as well; what was paid for before is free."""
    purchase, purse, cost = Purchase(*first), first[0].purse, second[1].cost
    known, budgets = purchase.known(), purse.budgets(purchase.entry)
    owed = dict.fromkeys(budgets, purchase.cost) if known is None else known.owed
    whole = {budget: owed.get(budget, cost * 0) + cost for budget in budgets}
    if owed and not purse.affords(whole):
        left = purse.remaining_for(first[0].analyst, first[0].purpose)
        msg = f"{max(whole.values(), key=amounts)!r} does not fit: {left!r} is left. Nothing was spent; ask for less."
        raise BudgetError(msg)


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
    purchase = Purchase(question, protection)
    known = purchase.known()
    charges = purchase.charges(protection.cost, known)
    return Foreseen(charges, () if known is None else tuple(_stored(question.plan, known.answers)))


def _title(budget: tuple[str, str]) -> str:
    scope, name = budget
    return f"{scope} {name}".strip()


def fits(question: Asked, charges: Mapping[str, Currency]) -> bool:
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

"""A ledger: every cost taken durably before data is touched, every answer kept, nothing ever given back."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.exact import shown
from discreet.ledgers.book import Book
from discreet.ledgers.line import Draft, Line, covers, read_sums
from discreet.ledgers.purse import Entry, Purse, Repeat, Reservation
from discreet.ledgers.records import (
    about,
    plain,
    released_record,
    repeat_of,
    require_analyst,
    require_costs,
    require_entry,
    require_name,
    require_purpose,
    require_repeats,
    require_reservation,
    require_right,
    require_texts,
    scopes,
)
from discreet.ledgers.rules import SESSIONS, bound, entry_of_request, require_unused, seen, unanswered, verified_tables
from discreet.ledgers.statement import Statement, Usage
from discreet.ledgers.terms import DATASET, counted_cost
from discreet.privacy.costs import Cost, fitting, holding, lacking, share_text, total, units_of, used_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from discreet.ledgers.line import Scope, Sums
    from discreet.ledgers.page import Page
    from discreet.ledgers.purse import Released
    from discreet.privacy.costs import Amount, Promising
    from discreet.privacy.curve import Curve

__all__ = ["KINDS", "Ledger"]

KINDS = ("question", "method", *SESSIONS)
"""What a reservation pays for."""

_RECENT = 100
"""So far back a statement looks for what the last spend cost."""


class Ledger(Book, Purse):
    """The rules of spending, over any store; a `Purse` for questions and methods.

    `policy` states the budgets. The first policy creates the ledger and fixes dataset, units, relation, filter and the
    split of delta; a later one that differs in other facts is an entry. Without a policy the ledger is that of the last
    one. Many processes may use one ledger at once: each act is one transaction, and a cost is durable when `reserve`
    returns.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.privacy import Pure
    >>> from discreet.tables import Policy
    >>> ledger = MemoryLedger(Policy([], epsilon=1))
    >>> paid = ledger.reserve(Pure("0.4"), Entry("0f3a", ("visits",)))
    >>> from discreet.mechanisms import Laplace
    >>> _ = ledger.record(paid, Laplace(sensitivity=1, epsilon="0.4").release(7))
    >>> ledger.find(Pure("0.3"), Entry("0f3a", ("visits",))).cost, ledger.remaining
    (Pure(epsilon=0.4), Pure(epsilon=0.6))
    """

    # What a question needs

    @property
    def remaining(self) -> Amount:
        """What may still be spent on the dataset in one piece."""
        return self.remaining_for(None, None)

    def remaining_for(self, analyst: str | None, purpose: str | None) -> Amount:
        """What an analyst may still spend for a purpose: the least that is left of the budgets that are charged."""
        require_name("analyst", analyst)
        require_name("purpose", purpose)
        with self._page(write=False) as page:
            self._refresh(page)
            left = [
                limits - self._spent(page, scope)
                for scope in scopes(analyst, purpose)
                if (limits := self._limits.of(scope)) is not None
            ]
        return self._limits.told(reduce(Cost.least, left))

    def usage(self, analyst: str | None, purpose: str | None, cost: Amount | None = None) -> Usage:
        """How much is used of the budgets that are charged, and how many more spends of a cost would fit.

        >>> from discreet.ledgers import MemoryLedger
        >>> from discreet.privacy import Pure
        >>> from discreet.tables import Policy
        >>> ledger = MemoryLedger(Policy([], epsilon=1))
        >>> _ = ledger.reserve(Pure("0.3"), Entry("", ()))
        >>> print(ledger.usage(None, None, Pure("0.3")))
        used 30 % of ε = 1; about 2 more questions like this one
        """
        usages = []
        with self._page(write=False) as page:
            self._refresh(page)
            for scope in scopes(analyst, purpose):
                limits, budget = self._limits.of(scope), self._limits.budget(scope)
                if limits is not None and budget is not None:
                    spent = self._spent(page, scope)
                    more = None if cost is None else fitting(limits, spent, units_of(self.priced(cost)))
                    usages.append(Usage(float(used_of(limits, spent)), budget, " ".join(scope).strip(), more))
        tightest = max(usages, key=lambda usage: usage.share)
        return replace(tightest, more=None if cost is None else min(usage.more or 0 for usage in usages))

    def priced(self, given: Amount | Curve | Promising) -> Amount:
        """What is charged for something: an amount in the ledger's own currency; with `best`, whatever promises.

        >>> from discreet.ledgers import MemoryLedger
        >>> from discreet.mechanisms import Laplace
        >>> from discreet.tables import Policy
        >>> MemoryLedger(Policy([], epsilon=3, delta=1e-6)).priced(Laplace(sensitivity=1, epsilon="0.1"))
        Cost(epsilon=0.1, renyi 8=0.035676773435)
        """
        return self._limits.priced(given)

    def budgets(self, entry: Entry) -> tuple[Scope, ...]:
        """Name the budgets that a cost is charged to: the dataset's, the analyst's, the purpose's."""
        return tuple(scopes(entry.analyst, entry.purpose))

    def admits(self, cost: Amount, entry: Entry) -> bool:
        """Tell whether a cost would fit into all budgets now."""
        require_entry(entry)
        require_texts(entry)
        return self.affords(dict.fromkeys(self.budgets(entry), cost))

    def affords(self, charges: Mapping[Scope, Amount]) -> bool:
        """Tell whether charges to several budgets would fit now, each for itself."""
        with self._page(write=False) as page:
            self._refresh(page)
            try:
                for scope, charge in charges.items():
                    self._admit(page, scope, self.priced(charge))
            except BudgetError:
                return False
        return True

    def look(self, cost: Amount, entry: Entry) -> Repeat | None:
        """Give the stored releases of the same question, if together they cost at least this much.

        Looking is free. Before any of them is shown, `take` (or `find`, which does both) charges it.
        """
        require_entry(entry)
        if not isinstance(entry.question, str) or entry.question:
            require_texts(entry)
        else:
            return None
        with self._page(write=False) as page:
            self._check(page, entry)
            return self._repeat(page, self.priced(cost), entry)

    def find(self, cost: Amount, entry: Entry) -> Repeat | None:
        """Give the stored releases of the same question, if together they cost at least this much.

        The dataset pays nothing. An analyst or a purpose that has not seen them yet pays their full cost from its own
        budget, once.
        """
        answered = self.replay(cost, entry)
        repeat = self.look(cost, entry) if answered is None else None
        return answered if repeat is None else self.take([], [(repeat, bound(self.priced(cost), entry))])[1][0]

    def replay(self, cost: Amount, entry: Entry) -> Repeat | None:
        """Give what the same request got under its key, to be shown as it was; None if it is sent for the first time.

        One that was charged and has no answer is refused with LedgerError: drawn anew, its noise would be another.
        """
        require_entry(entry)
        require_texts(entry)
        if not entry.key:
            return None
        entry = bound(self.priced(cost), entry)
        with self._page(write=False) as page:
            self._allow(page, entry)
            repeat = self._replayed(page, entry)
        self._settle()
        return repeat

    def take(
        self, costs: Sequence[tuple[Amount, Entry]], repeats: Sequence[tuple[Repeat, Entry]]
    ) -> tuple[tuple[Reservation, ...], tuple[Repeat, ...]]:
        """Take several costs durably, and what is owed for repeats that `look` found: all of it, or nothing.

        A repeat may be a part of what `look` gave: an analyst is charged only for what is shown.

        >>> from discreet.ledgers import MemoryLedger
        >>> from discreet.privacy import Pure
        >>> from discreet.tables import Policy
        >>> MemoryLedger(Policy([], epsilon=1)).take([(Pure(1), Entry("0f3a", ()))], [])[0][0].cost
        Pure(epsilon=1)
        """
        costs = [(cost, bound(cost, entry)) for cost, entry in ((self.priced(c), e) for c, e in require_costs(costs))]
        repeats = require_repeats(repeats)
        if not costs and not any(entry.key for _, entry in repeats):
            with self._page(write=False) as page:  # what is owed by nobody is not written, and waits for no writer
                wanted = tuple(self._wanted(page, repeat, entry) for repeat, entry in repeats)
            if not any(repeat.owed for repeat in wanted):
                self._settle()
                return (), wanted
        # Written while nobody has to wait for it.
        drafts = [Draft.of("reserved", self._body(cost, entry)) for cost, entry in costs]
        with self._page(write=True) as page:
            for _, entry in repeats:
                require_unused(page, entry)
            shared = tuple(self._shared(page, repeat, entry) for repeat, entry in repeats)
            reserved = [self._reserved(page, *spend, draft) for spend, draft in zip(costs, drafts, strict=True)]
            return tuple(reserved), shared

    def record(self, reservation: Reservation, answer: Released) -> str:
        """Keep the answer of a reservation, once, and give the head of the ledger. Only then may it be shown."""
        require_reservation(reservation)
        record = released_record(answer)
        with self._page(write=True) as page:
            line = page.line(reservation.number)
            known = line is not None and line.kind == "reserved" and "session" not in line.body
            if line is None or not known or f"{line.number}:{line.hash}" != reservation.head:
                msg = f"reservation {reservation.number} is not of this ledger; reserve first."
                raise ParameterError(msg)
            if page.answer(reservation.number) is not None:
                msg = f"reservation {reservation.number} has its answer already; a cost pays for one. Reserve again."
                raise ParameterError(msg)
            body = {"reservation": reservation.number, "answer": record}
            body |= {"question": line.question, "charges": line.body["charges"]}
            head = self._append(page, Draft.of("recorded", body))
        return str(head)

    @property
    def statement(self) -> Statement:
        """What is spent and left, of the dataset and by whom for what."""
        with self._page(write=False) as page:
            self._refresh(page)
            spent = {(scope, name): self._read(sums) for _, scope, name, sums in page.all_sums("")}
            head = self._head(page)
            recent = list(page.lines(max(head.number - _RECENT, 0), None, "reserved"))
        self._settle()
        last = recent[-1].cost if recent else None
        last = None if last is None else self.priced(last)
        return Statement.of(self._policy, self._limits, spent, head, last)

    # How it is done

    def _allow(self, page: Page, entry: Entry) -> None:
        """Refuse whoever may not have the answer, beside what `_check` refuses."""
        self._check(page, entry)
        require_right(self._policy, entry)

    def _check(self, page: Page, entry: Entry) -> None:
        """Refuse what the policy of the day does not know: an older policy, a strange analyst, purpose or kind."""
        require_texts(entry)
        self._require_policy(page, entry.policy)
        if entry.verified and not verified_tables(page).issuperset(entry.verified):
            msg = (
                "the owner's check, on which this question relies, was withdrawn since this database was opened; "
                "nothing was spent. Close the database and open it again."
            )
            raise LedgerError(msg)
        if entry.kind not in KINDS:
            msg = f"kind is {shown(entry.kind)}; it must be one of {', '.join(KINDS)}."
            raise ParameterError(msg)
        require_analyst(self._policy, entry.analyst)
        require_purpose(self._policy, entry.purpose)

    def _read(self, sums: Sums | None) -> Cost:
        """Read a sum that the store keeps, which must be by the ledger's own certificates."""
        return read_sums(sums, self._limits.dataset)

    def _spent(self, page: Page, scope: Scope) -> Cost:
        return self._read(page.sums("", *scope))

    def _admit(self, page: Page, scope: Scope, charge: Amount) -> None:
        """Refuse a charge after which no certificate of a budget would hold."""
        limits, cost = self._limits.of(scope), units_of(charge)
        if limits is None:
            return
        spent = self._spent(page, scope)
        if not any(holding(limits, spent + cost)):
            whose = "the dataset" if scope == DATASET else f"{scope[0]} {scope[1]}"
            told = self._limits.told
            msg = (
                f"{charge!r} does not fit into the budget of {whose}: {told(limits - spent)!r} is left of "
                f"{told(limits)!r}. Nothing was spent. Ask for less."
            )
            if self._policy.filter == "best":
                needs, used = map(share_text, lacking(limits, spent, cost))
                msg = (
                    f"this needs {needs} of the budget of {whose} and {used} is used: it does not fit. Nothing was "
                    "spent. Ask for less."
                )
            raise BudgetError(msg)

    def _answers(self, page: Page, question: str) -> list[Line]:
        """The answers to a question, as they were recorded: one that was edited is not shown to anybody."""
        lines = page.answers(question) if question else []
        self._require_genuine(lines)
        return lines

    def _costs(self, page: Page, lines: Iterable[Line]) -> list[Amount]:
        """What answers cost, as the ledger counts today: what was charged before an upgrade has a fact of its own."""
        if self._policy.filter != "best":
            return [line.cost for line in lines if line.cost is not None]
        told = [(line.reservation, line.cost) for line in lines if line.cost is not None]
        return [cost if isinstance(cost, Cost) else counted_cost(page, number) or cost for number, cost in told]

    def _repeat(self, page: Page, cost: Amount, entry: Entry) -> Repeat | None:
        lines = self._answers(page, entry.question)
        paid = self._limits.told(self._read(page.sums(entry.question, *DATASET)))
        return self._told(page, lines, entry, paid) if lines and covers(paid, cost) else None

    def _told(self, page: Page, lines: Sequence[Line], entry: Entry, cost: Amount) -> Repeat:
        """Give answers together with which of them the analyst's and the purpose's budgets have not paid for yet."""
        own = {scope: seen(page, entry.question, *scope) for scope in scopes(entry.analyst, entry.purpose)[1:]}
        unseen = [frozenset(scope for scope, known in own.items() if line.reservation not in known) for line in lines]
        limited = frozenset(scope for scope in own if self._limits.of(scope) is not None)
        repeat = repeat_of(lines, self._costs(page, lines), cost, self._head(page))
        return replace(repeat, unseen=tuple(unseen), limited=limited)

    def _replayed(self, page: Page, entry: Entry) -> Repeat | None:
        """The releases that a request was answered with under its key, in the order in which they were shown."""
        number = entry_of_request(page, entry)
        if number is None:
            return None
        line = page.line(number)
        if line is None or not line.is_genuine:
            raise LedgerError(self._edited(number))
        numbers = line.body["reservations"] if line.kind == "shared" else [number, *line.body["earlier"]]
        answers = [answer for answer in map(page.answer, numbers) if answer is not None]
        if len(answers) < len(numbers):
            raise LedgerError(unanswered(entry.key, number))
        self._require_genuine(answers)
        costs = self._costs(page, answers)
        return repeat_of(answers, costs, total(self._limits.nothing, *costs), self._head(page))

    def _wanted(self, page: Page, repeat: Repeat, entry: Entry) -> Repeat:
        """Read stored releases again that `look` gave, in the order in which they are to be shown."""
        self._allow(page, entry)
        answers = {line.reservation: line for line in self._answers(page, entry.question)}
        numbers = list(dict.fromkeys(repeat.numbers))
        if not numbers or not answers.keys() >= set(numbers):
            msg = "these are no answers to this question in this ledger; look first."
            raise ParameterError(msg)
        lines = [answers[number] for number in numbers]
        return self._told(page, lines, entry, total(self._limits.nothing, *self._costs(page, lines)))

    def _shared(self, page: Page, repeat: Repeat, entry: Entry) -> Repeat:
        """Charge stored releases to the analyst and the purpose that have not seen them yet."""
        wanted = self._wanted(page, repeat, entry)
        charges = [(*scope, cost) for scope, cost in wanted.owed.items() if cost != self._limits.nothing]
        if not charges and (not entry.key or entry_of_request(page, entry) is not None):
            return wanted
        for scope, name, charge in charges:
            self._admit(page, (scope, name), charge)
        body = {**about(entry), "reservations": list(wanted.numbers), "charges": plain(charges)}
        head = self._append(page, Draft.of("shared", body))
        return replace(wanted, head=str(head))

    def _body(self, cost: Amount, entry: Entry) -> dict[str, Any]:
        """What an entry says of a cost that is taken."""
        require_texts(entry)
        charges = [(*scope, cost) for scope in scopes(entry.analyst, entry.purpose)]
        return {**about(entry), "what": entry.kind, "charges": plain(charges)}

    def _reserved(self, page: Page, cost: Amount, entry: Entry, draft: Draft) -> Reservation:
        """Take a cost; with it come the earlier answers that analyst and purpose have both paid for already."""
        self._allow(page, entry)
        whose = scopes(entry.analyst, entry.purpose)
        require_unused(page, entry)
        for scope in whose:
            self._admit(page, scope, cost)
        lines = self._answers(page, entry.question)
        own = [line for line in lines if all(line.reservation in seen(page, entry.question, *s) for s in whose[1:])]
        if entry.key:
            draft = Draft.of(draft.kind, {**draft.body, "earlier": [line.reservation for line in own]})
        head = self._append(page, draft)
        return Reservation(head.number, cost, entry, tuple(line.body["answer"] for line in own), str(head))

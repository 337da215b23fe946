"""A ledger: every cost taken durably before data is touched, every answer kept, nothing ever given back."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetError, DiscreetError, LedgerError, ParameterError
from discreet.exact import integer, shown
from discreet.ledgers.amounts import added, covers, least, left_of, read_text, spend, text_of
from discreet.ledgers.heads import Head
from discreet.ledgers.keys import bound, entry_of_request, require_unused, unanswered
from discreet.ledgers.line import Draft, Line, now
from discreet.ledgers.page import MemoryPage
from discreet.ledgers.purse import (
    Entry,
    Repeat,
    Reservation,
    require_costs,
    require_entry,
    require_repeats,
    require_reservation,
)
from discreet.ledgers.records import (
    NOTES,
    about,
    changes,
    plain,
    policy_of,
    released_record,
    repeat_of,
    require_analyst,
    require_name,
    require_note,
    require_policy,
    require_purpose,
    require_texts,
    scopes,
    table_names,
    terms_of,
)
from discreet.ledgers.rules import SESSIONS, apply, seen, verified_tables
from discreet.ledgers.statement import Statement
from discreet.ledgers.sums import sum_text, within
from discreet.ledgers.terms import DATASET, Limits, Terms
from discreet.ledgers.transfer import FORMAT, checked, copy_into, written
from discreet.ledgers.verification import Verification, verified

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Self

    from discreet.ledgers.heads import HeadFile
    from discreet.ledgers.line import Scope
    from discreet.ledgers.page import Page, State
    from discreet.ledgers.purse import Released
    from discreet.ledgers.vaults import Vault
    from discreet.privacy.currencies import Currency
    from discreet.tables import Policy

__all__ = ["KINDS", "Ledger"]

KINDS = ("question", "method", *SESSIONS)
"""What a reservation pays for."""

_WRITTEN = ("opened", "policy", "reserved", "recorded", "shared", "lease", "step", "part", "closed", *NOTES)
_CHUNK = 1000


class Ledger(ABC):
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

    _vault: Vault
    """Where sessions keep what nobody else may read."""

    def __init__(
        self,
        policy: Policy | None,
        *,
        name: str,
        heads: HeadFile | None = None,
        export: Iterable[str] | None = None,
    ) -> None:
        self._name = name
        self._heads = heads
        self._limits: Limits
        self._policy: Policy
        try:
            require_policy(policy)
            if export is not None:
                self._import(checked(export))
            self._join(policy)
        except BaseException:  # whoever is refused holds no file or connection open
            self.close()
            raise

    @abstractmethod
    def _page(self, *, write: bool) -> AbstractContextManager[Page]:
        """Open a transaction; it is durable when the block ends without an error, and undone otherwise."""

    @abstractmethod
    def _settle(self) -> None:
        """Make durable whatever a transaction has read, before it is shown to anybody."""

    # What a question needs

    @property
    def policy(self) -> Policy:
        """The policy under which this ledger was opened."""
        return self._policy

    @property
    def remaining(self) -> Currency:
        """What may still be spent on the dataset in one piece."""
        return self.remaining_for(None, None)

    def remaining_for(self, analyst: str | None, purpose: str | None) -> Currency:
        """What an analyst may still spend for a purpose: the least that is left of the budgets that are charged."""
        require_name("analyst", analyst)
        require_name("purpose", purpose)
        with self._page(write=False) as page:
            left = [
                left_of(limit, self._spent(page, scope))
                for scope in scopes(analyst, purpose)
                if (limit := self._limits.of(scope)) is not None
            ]
        return reduce(least, left)

    def budgets(self, entry: Entry) -> tuple[Scope, ...]:
        """Name the budgets that a cost is charged to: the dataset's, the analyst's, the purpose's."""
        return tuple(scopes(entry.analyst, entry.purpose))

    def admits(self, cost: Currency, entry: Entry) -> bool:
        """Tell whether a cost would fit into all budgets now."""
        require_entry(entry)
        require_texts(entry)
        return self.affords(dict.fromkeys(self.budgets(entry), cost))

    def affords(self, charges: Mapping[Scope, Currency]) -> bool:
        """Tell whether charges to several budgets would fit now, each for itself."""
        with self._page(write=False) as page:
            try:
                for scope, charge in charges.items():
                    self._admit(page, scope, charge)
            except BudgetError:
                return False
        return True

    def look(self, cost: Currency, entry: Entry) -> Repeat | None:
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
            return self._repeat(page, cost, entry)

    def find(self, cost: Currency, entry: Entry) -> Repeat | None:
        """Give the stored releases of the same question, if together they cost at least this much.

        The dataset pays nothing. An analyst or a purpose that has not seen them yet pays their full cost from its own
        budget, once.
        """
        answered = self.replay(cost, entry)
        repeat = self.look(cost, entry) if answered is None else None
        return answered if repeat is None else self.take([], [(repeat, bound(cost, entry))])[1][0]

    def replay(self, cost: Currency, entry: Entry) -> Repeat | None:
        """Give what the same request got under its key, to be shown as it was; None if it is sent for the first time.

        One that was charged and has no answer is refused with LedgerError: drawn anew, its noise would be another.
        """
        require_entry(entry)
        require_texts(entry)
        if not entry.key:
            return None
        entry = bound(cost, entry)
        with self._page(write=False) as page:
            self._check(page, entry)
            repeat = self._replayed(page, entry)
        self._settle()
        return repeat

    def reserve(self, cost: Currency, entry: Entry) -> Reservation:
        """Take a cost durably from all budgets that count, or raise BudgetError and take nothing."""
        return self.reserve_all([(cost, entry)])[0]

    def reserve_all(self, costs: Sequence[tuple[Currency, Entry]]) -> tuple[Reservation, ...]:
        """Take several costs durably, all or none."""
        return self.take(costs, [])[0]

    def take(
        self, costs: Sequence[tuple[Currency, Entry]], repeats: Sequence[tuple[Repeat, Entry]]
    ) -> tuple[tuple[Reservation, ...], tuple[Repeat, ...]]:
        """Take several costs durably, and what is owed for repeats that `look` found: all of it, or nothing.

        A repeat may be a part of what `look` gave: an analyst is charged only for what is shown.

        >>> from discreet.ledgers import MemoryLedger
        >>> from discreet.privacy import Pure
        >>> from discreet.tables import Policy
        >>> MemoryLedger(Policy([], epsilon=1)).take([(Pure(1), Entry("0f3a", ()))], [])[0][0].cost
        Pure(epsilon=1)
        """
        costs = [(cost, bound(cost, entry)) for cost, entry in require_costs(costs)]
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

    # What an owner needs

    def note(self, kind: str, what: str, facts: Mapping[str, object]) -> str:
        """Keep a public fact at cost 0: an `audit`, an owner's `check`, an `unprotected` release, a `stopped` question.

        >>> from discreet.ledgers import MemoryLedger
        >>> from discreet.tables import Policy
        >>> ledger = MemoryLedger(Policy([], epsilon=1))
        >>> _ = ledger.note("audit", "Laplace", {"claimed": "1.0", "shown": "0.41"})
        >>> [line.body["shown"] for line in ledger.entries(kind="audit")]
        ['0.41']
        """
        require_note(kind, what, facts)
        with self._page(write=True) as page:
            if kind == "check":
                self._require_policy(page, "")
                for table in table_names(facts.get("tables", [])):
                    self._policy.table(table)  # refuses a name that is no table
            head = self._append(page, Draft.of(kind, {**facts, "what": what}))
        return str(head)

    @property
    def verified(self) -> frozenset[str]:
        """The tables whose declared uniqueness the owner's last check found to hold, in rows that he says are final.

        A new version, and any other edit of the policy, needs a new check.

        >>> from discreet.ledgers import MemoryLedger
        >>> from discreet.tables import Policy
        >>> MemoryLedger(Policy([], epsilon=1)).verified
        frozenset()
        """
        with self._page(write=False) as page:
            return verified_tables(page)

    def entries(self, *, start: int = 0, kind: str | None = None) -> Iterator[Line]:
        """Give the entries in order, from a number on; of one kind, if it is given."""
        start = integer(start, name="start", least=0, most=2**62)
        if kind is not None and kind not in _WRITTEN:
            msg = f"kind is {shown(kind)}; it must be one of {', '.join(_WRITTEN)}, or None for all."
            raise ParameterError(msg)
        while True:
            with self._page(write=False) as page:
                state = self._state(page)
                lines = list(page.lines(start, start + _CHUNK, kind))
            self._settle()
            yield from lines
            start += _CHUNK
            if state is None or start > state.number:
                return

    @property
    def head(self) -> Head:
        """The last entry by number and hash: print it, keep it elsewhere, and `verify` finds a cut tail."""
        with self._page(write=False) as page:
            last = self._head(page)
        self._settle()
        return last

    def verify(self, *, head: str | Head | None = None) -> Verification:
        """Check the chain of hashes, all sums, all budgets, and that a known head is part of the ledger."""
        if not isinstance(head, str | Head | None):
            msg = f"head is {shown(head)}; it must be a head as it is printed with an answer."
            raise ParameterError(msg)
        known = [Head.read(head) if isinstance(head, str) else head] if head is not None else []
        # Read before the ledger is: it is written after an entry is, so it is never ahead of what is read then.
        kept = self._heads.read() if self._heads is not None else None
        with self._page(write=False) as page:
            verification = verified(page, [*known, *([kept] if kept is not None else [])])
        self._settle()
        return verification

    @property
    def statement(self) -> Statement:
        """What is spent and left, of the dataset and by whom for what."""
        with self._page(write=False) as page:
            spent = {(scope, name): self._amount(text) for _, scope, name, text in page.amounts("")}
            head = self._head(page)
        self._settle()
        return Statement.of(self._policy, self._limits, spent, head)

    def export(self) -> Iterator[str]:
        """Give all entries as lines of JSON with their hashes, and an end line; a new ledger reads them, `export=`."""
        yield from written(self.entries())

    @abstractmethod
    def close(self) -> None:
        """Close the store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> str:
        """Refuse to be pickled or copied."""
        msg = "a ledger is not copied or pickled: a budget that is there twice would be spent twice. Open it again."
        raise TypeError(msg)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, dataset {self._policy.dataset!r})"

    # How it is done

    def _join(self, policy: Policy | None) -> None:
        """Create the ledger, or open it and enter an edited policy; the head file must belong to it."""
        kept = self._heads.read() if self._heads is not None else None
        with self._page(write=False) as page:
            if self._heads is not None and kept is not None:
                self._heads.require_in(page, kept, self._name)
            state = self._state(page)
            known = page.fact("policy_hash")
            if state is not None and (policy is None or policy.hash == known):
                self._policy = policy_of(page)
                self._limits = Limits(self._policy)
                return
        if policy is None:
            msg = f"the ledger {self._name} is empty; give a policy to create it."
            raise LedgerError(msg)
        self._policy, self._limits = policy, Limits(policy)
        with self._page(write=True) as page:
            self._enter(page, policy)

    def _import(self, lines: list[Line]) -> None:
        """Write an export."""
        self._require_head_in(lines)
        with self._page(write=True) as target:
            copy_into(target, lines)

    def _require_head_in(self, lines: Iterable[Line]) -> None:
        """Refuse an export that lacks an entry which the head file knows: it is older than the ledger was."""
        kept = self._heads.read() if self._heads is not None else None
        if self._heads is not None and kept is not None:
            page = MemoryPage.empty()
            copy_into(page, lines)
            page.commit()
            self._heads.require_in(page, kept, self._name)

    def _enter(self, page: Page, policy: Policy) -> None:
        """Write the first entry, or that of an edit."""
        facts = {"policy": json.loads(policy.to_json()), "policy_hash": policy.hash}
        if page.state() is None:
            body = {"format": FORMAT, "dataset": policy.dataset, "terms": Terms.of(policy).record()}
            self._append(page, Draft.of("opened", body | facts))
            return
        if page.fact("policy_hash") == policy.hash:  # another process was faster
            return
        terms = terms_of(page).after(policy)
        edits = changes(json.loads(policy_of(page).to_json()), json.loads(policy.to_json()))
        self._append(page, Draft.of("policy", {"terms": terms.record(), "changes": edits, **facts}))

    def _append(self, page: Page, draft: Draft) -> Head:
        """Chain an entry; its time never runs backwards, whatever the clock does."""
        state = self._state(page)
        time = now()
        if state is not None and time < state.time:
            draft = Draft.of(draft.kind, {**draft.body, "clock": time})
            time = state.time
        line = draft.after(None if state is None else (state.number, state.hash), time)
        apply(line, page)
        page.append(line)
        return Head(line.number, line.hash)

    def _keep_head(self, page: Page) -> None:
        """Copy the head to its file; stores call it after an entry is durable."""
        if self._heads is not None and page.appended is not None:
            self._heads.write(Head(page.appended.number, page.appended.hash))

    def _state(self, page: Page) -> State | None:
        """The last entry, which must be there: a number that is not would be counted on from."""
        state = page.state()
        if (state is None) != (not page.has(0)) or (state is not None and not page.has(state.number)):
            msg = f"the last entry of the ledger {self._name} is unknown: it is damaged. Run verify; restore a backup."
            raise LedgerError(msg)
        return state

    def _head(self, page: Page) -> Head:
        state = self._state(page)
        if state is None:
            msg = f"the ledger {self._name} is empty."
            raise LedgerError(msg)
        return Head(state.number, state.hash)

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

    def _require_policy(self, page: Page, asked_under: str) -> None:
        if page.fact("policy_hash") != self._policy.hash or (asked_under and asked_under != self._policy.hash):
            msg = (
                "the policy was edited since this database was opened; nothing was spent. Close the database and open "
                "it again."
            )
            raise LedgerError(msg)

    def _amount(self, text: str) -> Currency:
        """Read a sum that the store keeps, which must be of the ledger's own currency and relation."""
        nothing = self._limits.nothing
        try:
            amount = read_text(text)
        except DiscreetError:
            amount = None
        if type(amount) is not type(nothing) or amount.neighbors != nothing.neighbors:
            msg = f"a sum of the ledger {self._name} is not readable; nothing was spent. Run verify; restore a backup."
            raise LedgerError(msg)
        return amount

    def _spent(self, page: Page, scope: Scope) -> Currency:
        text = page.amount("", *scope)
        return self._limits.nothing if text is None else self._amount(text)

    def _admit(self, page: Page, scope: Scope, charge: Currency) -> None:
        limit = self._limits.of(scope)
        if limit is not None and not self._clearly_fits(page, scope, charge):
            whose = "the dataset" if scope == DATASET else f"{scope[0]} {scope[1]}"
            spend(limit, self._spent(page, scope), charge, whose)

    def _clearly_fits(self, page: Page, scope: Scope, charge: Currency) -> bool:
        """Whether a charge fits by its digits; the filter decides everything else, and words the refusal."""
        before = page.amount("", *scope)
        try:
            cost = text_of(charge)
            return within(cost if before is None else sum_text(before, cost), self._limits.text(scope))
        except (AttributeError, DiscreetError, TypeError):  # no amount, or one that does not add
            return False

    def _answers(self, page: Page, question: str) -> list[Line]:
        """The answers to a question, as they were recorded: one that was edited is not shown to anybody."""
        lines = page.answers(question) if question else []
        self._require_genuine(lines)
        return lines

    def _require_genuine(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if not line.is_genuine or line.cost is None:
                raise LedgerError(self._edited(line.number))

    def _edited(self, number: int) -> str:
        return f"entry {number} of the ledger {self._name} was edited. Run verify; restore a backup."

    def _total(self, lines: Iterable[Line]) -> Currency:
        return reduce(added, (line.cost for line in lines if line.cost is not None), self._limits.nothing)

    def _repeat(self, page: Page, cost: Currency, entry: Entry) -> Repeat | None:
        lines = self._answers(page, entry.question)
        text = page.amount(entry.question, *DATASET)
        if not lines or text is None or not covers(self._amount(text), cost):
            return None
        return self._told(page, lines, entry, self._amount(text))

    def _told(self, page: Page, lines: Sequence[Line], entry: Entry, cost: Currency) -> Repeat:
        """Give answers together with which of them the analyst's and the purpose's budgets have not paid for yet."""
        own = {scope: seen(page, entry.question, *scope) for scope in scopes(entry.analyst, entry.purpose)[1:]}
        unseen = [frozenset(scope for scope, known in own.items() if line.reservation not in known) for line in lines]
        limited = frozenset(scope for scope in own if self._limits.of(scope) is not None)
        repeat = repeat_of(lines, cost, self._head(page))
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
        return repeat_of(answers, self._total(answers), self._head(page))

    def _wanted(self, page: Page, repeat: Repeat, entry: Entry) -> Repeat:
        """Read stored releases again that `look` gave, in the order in which they are to be shown."""
        self._check(page, entry)
        answers = {line.reservation: line for line in self._answers(page, entry.question)}
        numbers = list(dict.fromkeys(repeat.numbers))
        if not numbers or not answers.keys() >= set(numbers):
            msg = "these are no answers to this question in this ledger; look first."
            raise ParameterError(msg)
        lines = [answers[number] for number in numbers]
        return self._told(page, lines, entry, self._total(lines))

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

    def _body(self, cost: Currency, entry: Entry) -> dict[str, Any]:
        """What an entry says of a cost that is taken."""
        require_texts(entry)
        self._limits.dataset.admits(cost)  # refuses what is no amount of this currency and relation
        charges = [(*scope, cost) for scope in scopes(entry.analyst, entry.purpose)]
        return {**about(entry), "what": entry.kind, "charges": plain(charges)}

    def _reserved(self, page: Page, cost: Currency, entry: Entry, draft: Draft) -> Reservation:
        """Take a cost; with it come the earlier answers that analyst and purpose have both paid for already."""
        page.foresee(entry.question, entry.analyst, entry.purpose)
        self._check(page, entry)
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

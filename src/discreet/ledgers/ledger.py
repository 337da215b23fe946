"""A ledger: every cost taken durably before data is touched, every answer kept, nothing ever given back."""

from __future__ import annotations

import datetime as dt
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.exact import shown
from discreet.ledgers.amounts import amount_text, covers, difference, least, left_of, read_text, spend
from discreet.ledgers.heads import Head
from discreet.ledgers.line import Line
from discreet.ledgers.page import MemoryPage
from discreet.ledgers.rules import apply
from discreet.ledgers.statement import Statement
from discreet.ledgers.terms import DATASET, Limits, Terms
from discreet.ledgers.transfer import checked, copy_into
from discreet.ledgers.verification import Verification, verified
from discreet.releases.purse import Entry, Repeat, Reservation
from discreet.tables import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Self

    from discreet.ledgers.heads import HeadFile
    from discreet.ledgers.line import Charge, Scope
    from discreet.ledgers.page import Page
    from discreet.privacy.currencies import Currency
    from discreet.releases.purse import Released

__all__ = ["FORMAT", "KINDS", "Ledger", "now"]

FORMAT = 1
"""Raised when an older version could no longer read a ledger."""

KINDS = ("question", "stream", "session", "method")
"""What a reservation pays for."""

_NOTES = ("audit", "check", "unprotected")
_CHUNK = 1000


def now() -> str:
    """Give the time of the clock, in UTC.

    >>> now()[-1]
    'Z'
    """
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Ledger(ABC):
    """The rules of spending, over any store; a `Purse` for questions and methods.

    `policy` states the budgets. The first policy creates the ledger and fixes dataset, units, relation, filter and the
    split of delta; a later one that differs in other facts is an entry. Without a policy the ledger is that of the last
    one. Many processes may use one ledger at once: each act is one transaction, and a cost is durable when `reserve`
    returns.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.privacy import Pure
    >>> ledger = MemoryLedger(Policy([], epsilon=1))
    >>> paid = ledger.reserve(Pure("0.4"), Entry("0f3a", ("visits",)))
    >>> from discreet.mechanisms import Laplace
    >>> _ = ledger.record(paid, Laplace(sensitivity=1, epsilon="0.4").release(7))
    >>> ledger.find(Pure("0.3"), Entry("0f3a", ("visits",))).cost, ledger.remaining
    (Pure(epsilon=0.4), Pure(epsilon=0.6))
    """

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
            if export is not None:
                self._import(checked(export))
            self._join(policy)
        except BaseException:  # whoever is refused holds no file or connection open
            self.close()
            raise

    @abstractmethod
    def _page(self, *, write: bool) -> AbstractContextManager[Page]:
        """Open a transaction; it is durable when the block ends without an error, and undone otherwise."""

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
        """What somebody may still spend for something: the least that is left of all budgets that count."""
        with self._page(write=False) as page:
            left = [
                left_of(limit, self._spent(page, scope))
                for scope in _scopes(analyst, purpose)
                if (limit := self._limits.of(scope)) is not None
            ]
        found = left[0]
        for each in left[1:]:
            found = least(found, each)
        return found

    def admits(self, cost: Currency, entry: Entry) -> bool:
        """Tell whether a cost would fit into all budgets now."""
        with self._page(write=False) as page:
            try:
                for scope, name, charge in self._charges(page, cost, entry):
                    self._admit(page, (scope, name), charge)
            except BudgetError:
                return False
        return True

    def look(self, cost: Currency, entry: Entry) -> Repeat | None:
        """Give the stored releases of the same question, if together they cost at least this much; nobody pays.

        What it gives is not to be shown before `take` or `find` was paid for it.
        """
        if not entry.question:
            return None
        with self._page(write=False) as page:
            self._check(page, entry)
            return self._repeat(page, cost, entry)

    def find(self, cost: Currency, entry: Entry) -> Repeat | None:
        """Give the stored releases of the same question, if together they cost at least this much.

        The dataset pays nothing. An analyst or a purpose that has not seen them pays their full cost in its own budget,
        once.
        """
        found = self.look(cost, entry)
        return None if found is None else self.take([], [(cost, entry)])[1][0]

    def reserve(self, cost: Currency, entry: Entry) -> Reservation:
        """Take a cost durably from all budgets that count, or raise BudgetError and take nothing."""
        return self.reserve_all([(cost, entry)])[0]

    def reserve_all(self, costs: Sequence[tuple[Currency, Entry]]) -> tuple[Reservation, ...]:
        """Take several costs durably, all or none."""
        return self.take(costs, [])[0]

    def take(
        self, costs: Sequence[tuple[Currency, Entry]], repeats: Sequence[tuple[Currency, Entry]]
    ) -> tuple[tuple[Reservation, ...], tuple[Repeat, ...]]:
        """Take several costs durably, and what is owed for repeats that `look` found: all of it, or nothing.

        >>> from discreet.ledgers import MemoryLedger
        >>> from discreet.privacy import Pure
        >>> MemoryLedger(Policy([], epsilon=1)).take([(Pure(1), Entry("0f3a", ()))], [])[0][0].cost
        Pure(epsilon=1)
        """
        if not costs:
            with self._page(write=False) as page:  # what is owed by nobody is not written, and waits for no writer
                owed = [self._unseen(page, entry) for _, entry in repeats]
                if not any(owed):
                    return (), tuple(self._shown(page, cost, entry) for cost, entry in repeats)
        with self._page(write=True) as page:
            shared = tuple(self._shown(page, cost, entry) for cost, entry in repeats)
            return tuple(self._reserved(page, cost, entry) for cost, entry in costs), shared

    def record(self, reservation: Reservation, answer: Released) -> str:
        """Keep the answer of a reservation, once, and give the head of the ledger. Only then may it be shown."""
        return self._answer(reservation, "recorded", answer)

    def add(self, reservation: Reservation, part: Released) -> str:
        """Keep one value of a stream or session whose whole cost was reserved at its opening."""
        if reservation.entry.kind not in {"stream", "session"}:
            kind = reservation.entry.kind
            msg = f"reservation {reservation.number} is for a {kind}; only streams and sessions have parts."
            raise ParameterError(msg)
        return self._answer(reservation, "part", part)

    # What an owner needs

    def note(self, kind: str, what: str, facts: Mapping[str, object]) -> str:
        """Keep a public fact at cost 0: an `audit` beside its claim, an owner's `check`, an `unprotected` release.

        >>> from discreet.ledgers import MemoryLedger
        >>> ledger = MemoryLedger(Policy([], epsilon=1))
        >>> _ = ledger.note("audit", "Laplace", {"claimed": "1.0", "shown": "0.41"})
        >>> [line.body["shown"] for line in ledger.entries(kind="audit")]
        ['0.41']
        """
        if kind not in _NOTES:
            msg = f"kind is {shown(kind)}; it must be one of {', '.join(_NOTES)}."
            raise ParameterError(msg)
        with self._page(write=True) as page:
            head = self._append(page, kind, {**facts, "what": what})
        return str(head)

    def entries(self, *, start: int = 0, kind: str | None = None) -> Iterator[Line]:
        """Give the entries in order, from a number on; of one kind, if it is given."""
        while True:
            with self._page(write=False) as page:
                state = page.state()
                lines = list(page.lines(start, start + _CHUNK, kind))
            yield from lines
            start += _CHUNK
            if state is None or start > state.number:
                return

    @property
    def head(self) -> Head:
        """The last entry by number and hash: print it, keep it elsewhere, and `verify` finds a cut tail."""
        with self._page(write=False) as page:
            return self._head(page)

    def verify(self, *, head: str | Head | None = None) -> Verification:
        """Check the chain of hashes, all sums, all budgets, and that a known head is part of the ledger."""
        known = [Head.read(head) if isinstance(head, str) else head] if head is not None else []
        # Read before the ledger is: it is written after an entry is, so it is never ahead of what is read then.
        kept = self._heads.read() if self._heads is not None else None
        with self._page(write=False) as page:
            return verified(page, [*known, *([kept] if kept is not None else [])])

    @property
    def statement(self) -> Statement:
        """What is spent and left, of the dataset and by whom for what."""
        with self._page(write=False) as page:
            spent = {(scope, name): read_text(text) for _, scope, name, text in page.amounts("")}
            head = self._head(page)
        return Statement.of(self._policy, self._limits, spent, head)

    def export(self) -> Iterator[str]:
        """Give all entries as lines of JSON, each with its hash; a new ledger reads them, `export=`."""
        for line in self.entries():
            yield line.to_json()

    @abstractmethod
    def close(self) -> None:
        """Close the store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, dataset {self._policy.dataset!r})"

    # How it is done

    def _join(self, policy: Policy | None) -> None:
        """Create the ledger, or open it and enter an edited policy; the head file must belong to it."""
        kept = self._heads.read() if self._heads is not None else None
        with self._page(write=False) as page:
            state = page.state()
            if kept is not None:
                self._recognize(page, kept)
            known = page.fact("policy_hash")
            if state is not None and (policy is None or policy.hash == known):
                self._policy = _policy_of(page)
                self._limits = Limits(self._policy)
                return
        if policy is None:
            msg = f"the ledger {self._name} is empty; give a policy to create it."
            raise LedgerError(msg)
        self._policy, self._limits = policy, Limits(policy)
        with self._page(write=True) as page:
            self._enter(page, policy)

    def _import(self, lines: list[Line]) -> None:
        """Write an export; one that lacks an entry which the head file knows is older than the ledger was."""
        kept = self._heads.read() if self._heads is not None else None
        if kept is not None:
            page = MemoryPage.empty()
            copy_into(page, lines)
            page.commit()
            self._recognize(page, kept)
        with self._page(write=True) as target:
            copy_into(target, lines)

    def _recognize(self, page: Page, kept: Head) -> None:
        line = page.line(kept.number)
        if line is None or line.hash != kept.hash:
            state = page.state()
            last = "is empty" if state is None else f"ends at entry {state.number}"
            where = self._heads.path if self._heads is not None else ""
            msg = (
                f"the ledger {self._name} {last}, and {where} knows an entry {kept.number} that is not in it: entries "
                "are missing or changed, and so is what they spent. Restore the newest copy of the ledger. Only if the "
                "owner is sure that nothing was released beyond this ledger: remove the head file."
            )
            raise LedgerError(msg)

    def _enter(self, page: Page, policy: Policy) -> None:
        """Write the first entry, or that of an edit."""
        facts = {"policy": json.loads(policy.to_json()), "policy_hash": policy.hash}
        if page.state() is None:
            body = {"format": FORMAT, "dataset": policy.dataset, "terms": Terms.of(policy).record()}
            self._append(page, "opened", body | facts)
            return
        if page.fact("policy_hash") == policy.hash:  # another process was faster
            return
        terms = Terms.read(json.loads(page.fact("terms") or "{}")).after(policy)
        changes = _changes(json.loads(_policy_of(page).to_json()), json.loads(policy.to_json()))
        self._append(page, "policy", {"terms": terms.record(), "changes": changes, **facts})

    def _append(self, page: Page, kind: str, body: Mapping[str, Any]) -> Head:
        """Chain an entry; its time never runs backwards, whatever the clock does."""
        state = page.state()
        time = now()
        if state is not None and time < state.time:
            body = {**body, "clock": time}
            time = state.time
        line = Line.after(None if state is None else (state.number, state.hash), kind, body, time)
        apply(line, page)
        page.append(line)
        return Head(line.number, line.hash)

    def _keep_head(self, page: Page) -> None:
        """Copy the head to its file; stores call it after a commit, while nobody else writes."""
        if self._heads is not None and page.appended is not None:
            self._heads.write(Head(page.appended.number, page.appended.hash))

    def _head(self, page: Page) -> Head:
        state = page.state()
        if state is None:  # pragma: no cover - a ledger is created with its first entry
            msg = "the ledger is empty."
            raise LedgerError(msg)
        return Head(state.number, state.hash)

    def _check(self, page: Page, entry: Entry) -> None:
        """Refuse what the policy of the day does not know: an older policy, a strange analyst, purpose or kind."""
        if page.fact("policy_hash") != self._policy.hash or (entry.policy and entry.policy != self._policy.hash):
            msg = (
                "the policy was edited since this database was opened; nothing was spent. Close the database and open "
                "it again."
            )
            raise LedgerError(msg)
        if entry.kind not in KINDS:
            msg = f"kind is {shown(entry.kind)}; it must be one of {', '.join(KINDS)}."
            raise ParameterError(msg)
        for word, name in (("analyst", entry.analyst), ("purpose", entry.purpose)):
            if name is not None and not (isinstance(name, str) and name and name.isprintable()):
                msg = f"{word} is {shown(name)}; it must be a text of printable characters."
                raise ParameterError(msg)
        names = [each.name for each in self._policy.analysts]
        if names and entry.analyst not in names:
            msg = f"analyst is {shown(entry.analyst)}; the policy's analysts are {', '.join(names)}."
            raise ParameterError(msg)
        if not self._policy.serves(entry.purpose):
            purposes = ", ".join(each.name for each in self._policy.purposes)
            msg = f"purpose is {shown(entry.purpose)}; the policy's purposes are {purposes}. Give one: purpose=…."
            raise ParameterError(msg)

    def _spent(self, page: Page, scope: Scope, topic: str = "") -> Currency:
        text = page.amount(topic, *scope)
        return self._limits.nothing if text is None else read_text(text)

    def _admit(self, page: Page, scope: Scope, charge: Currency) -> None:
        limit = self._limits.of(scope)
        if limit is not None:
            whose = "the dataset" if scope == DATASET else f"{scope[0]} {scope[1]}"
            spend(limit, self._spent(page, scope), charge, whose)

    def _charges(self, page: Page, cost: Currency, entry: Entry) -> list[Charge]:
        """The cost for each budget; who has not paid for earlier answers of the question pays for them too."""
        unseen = {(scope, name): missing for scope, name, missing in self._unseen(page, entry)}
        return [
            (*scope, cost + unseen[scope] if scope in unseen else cost)
            for scope in _scopes(entry.analyst, entry.purpose)
        ]

    def _unseen(self, page: Page, entry: Entry) -> list[Charge]:
        """What of the answers' cost is not in the budgets of who asks and what for."""
        if not entry.question:
            return []
        whole = self._spent(page, DATASET, entry.question)
        found = [
            (*scope, difference(whole, self._spent(page, scope, entry.question)))
            for scope in _scopes(entry.analyst, entry.purpose)
            if scope != DATASET
        ]
        return [charge for charge in found if charge[2] != self._limits.nothing]

    def _repeat(self, page: Page, cost: Currency, entry: Entry) -> Repeat | None:
        text = page.amount(entry.question, *DATASET)
        if text is None or not covers(read_text(text), cost):
            return None
        answers = tuple(line.body["answer"] for line in page.answers(entry.question))
        return Repeat(answers, read_text(text), str(self._head(page)))

    def _shown(self, page: Page, cost: Currency, entry: Entry) -> Repeat:
        """The stored releases of a question, charged to who asks and what for where they have not seen them."""
        self._check(page, entry)
        found = self._repeat(page, cost, entry)
        if found is None:
            msg = f"{cost!r} is more than was paid for the answers to this question; look first."
            raise ParameterError(msg)
        charges = self._unseen(page, entry)
        if not charges:
            return found
        for scope, name, charge in charges:
            self._admit(page, (scope, name), charge)
        numbers = [line.reservation for line in page.answers(entry.question)]
        body = {**_about(entry), "reservations": numbers, "charges": _plain(charges)}
        return Repeat(found.answers, found.cost, str(self._append(page, "shared", body)))

    def _reserved(self, page: Page, cost: Currency, entry: Entry) -> Reservation:
        self._check(page, entry)
        earlier = page.answers(entry.question) if entry.question else []
        charges = self._charges(page, cost, entry)
        for scope, name, charge in charges:
            self._admit(page, (scope, name), charge)
        head = self._append(page, "reserved", {**_about(entry), "what": entry.kind, "charges": _plain(charges)})
        answers = tuple(line.body["answer"] for line in earlier)
        return Reservation(head.number, cost, entry, answers, str(head))

    def _answer(self, reservation: Reservation, kind: str, answer: Released) -> str:
        record = json.loads(answer.to_json())
        with self._page(write=True) as page:
            line = page.line(reservation.number)
            if line is None or line.kind != "reserved" or f"{line.number}:{line.hash}" != reservation.head:
                msg = f"reservation {reservation.number} is not of this ledger; reserve first."
                raise ParameterError(msg)
            if page.is_recorded(reservation.number):
                msg = f"reservation {reservation.number} has its answer already; a cost pays for one. Reserve again."
                raise ParameterError(msg)
            body = {"reservation": reservation.number, "answer": record}
            if kind == "recorded":
                body |= {"question": line.question, "charges": line.body["charges"]}
            head = self._append(page, kind, body)
        return str(head)


def _scopes(analyst: str | None, purpose: str | None) -> list[Scope]:
    """The budgets that a spend must fit."""
    found = [DATASET]
    if analyst is not None:
        found.append(("analyst", analyst))
    if purpose is not None:
        found.append(("purpose", purpose))
    return found


def _plain(charges: Iterable[Charge]) -> list[list[object]]:
    return [[scope, name, amount_text(cost)] for scope, name, cost in charges]


def _about(entry: Entry) -> dict[str, Any]:
    """What an entry says of the question."""
    found = {
        "question": entry.question,
        "tables": list(entry.tables),
        "analyst": entry.analyst,
        "purpose": entry.purpose,
        "asked": entry.asked,
        "promise": entry.promise,
        "version": entry.version,
        **({"details": dict(entry.details)} if entry.details else {}),
    }
    return {name: value for name, value in found.items() if value not in (None, "")}


def _policy_of(page: Page) -> Policy:
    """The policy of the day, from the entry that brought it."""
    line = page.line(int(page.fact("policy") or 0))
    if line is None or "policy" not in line.body:
        msg = "the entry with the ledger's policy is missing; run verify, and restore a backup."
        raise LedgerError(msg)
    return Policy.from_json(json.dumps(line.body["policy"]))


def _changes(was: Mapping[str, Any], now_is: Mapping[str, Any], path: str = "") -> list[str]:
    """Name the facts that differ, from where to where where that is short."""
    found = []
    for key in sorted({*was, *now_is}):
        old, new = was.get(key), now_is.get(key)
        place = f"{path}.{key}" if path else key
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            found += _changes(old, new, place)
        elif isinstance(old, dict | list) or isinstance(new, dict | list):
            found.append(f"{place} {'added' if old is None else 'removed' if new is None else 'changed'}")
        else:
            found.append(f"{place}: {old} -> {new}")
    return found

"""The book of a ledger: entries that are only added, each chained to the one before, under the policy of the day."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from discreet.errors import LedgerError, ParameterError
from discreet.exact import integer, shown
from discreet.ledgers.line import FORMAT, Draft, Line, now
from discreet.ledgers.page import Head, MemoryPage
from discreet.ledgers.records import (
    NOTES,
    changes,
    policy_of,
    require_note,
    require_policy,
    table_names,
    terms_of,
)
from discreet.ledgers.rules import apply, verified_tables
from discreet.ledgers.terms import Limits, Terms
from discreet.ledgers.transfer import checked, copy_into, written
from discreet.ledgers.verification import Verification, verified

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Self

    from discreet.ledgers.page import HeadFile, Page, State
    from discreet.ledgers.vaults import Vault
    from discreet.tables import Policy

__all__ = ["Book"]

_WRITTEN = ("opened", "policy", "reserved", "recorded", "shared", "lease", "step", "part", "closed", *NOTES)
_CHUNK = 1000
_EDITED = (
    "the policy was edited since this database was opened; nothing was spent. Close the database and open it again."
)


class Book(ABC):
    """Entries and policies, over any store: made, joined, imported, exported, read and verified.

    `policy` states the budgets. The first policy creates the book and fixes dataset, units, relation, filter and the
    split of delta; a later one that differs in other facts is an entry. Without a policy it is that of the last one.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.tables import Policy
    >>> isinstance(MemoryLedger(Policy([], epsilon=1)), Book)
    True
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

    @property
    def policy(self) -> Policy:
        """The policy under which this ledger was opened."""
        return self._policy

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

    def export(self) -> Iterator[str]:
        """Give all entries as lines of JSON with their hashes, and an end line; a new ledger reads them, `export=`."""
        yield from written(self.entries())

    @abstractmethod
    def close(self) -> None:
        """Close the store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
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
            if state is not None and (policy is None or self.kept(policy, page).hash == page.fact("policy_hash")):
                self._keep(page)
                return
        if policy is None:
            msg = f"the ledger {self._name} is empty; give a policy to create it."
            raise LedgerError(msg)
        with self._page(write=True) as page:
            self._enter(page, policy)
            self._keep(page)

    @staticmethod
    def kept(policy: Policy, page: Page) -> Policy:
        """A policy as the book keeps it: by the filter and the certificates that it was created with."""
        return policy if page.state() is None else terms_of(page).kept(policy)

    def _keep(self, page: Page) -> None:
        """Go by the policy of the day from now on."""
        self._policy = self.kept(policy_of(page), page)
        self._limits = Limits(self._policy)

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
        policy = self.kept(policy, page)
        facts = {"policy": json.loads(policy.to_json()), "policy_hash": policy.hash}
        facts["facts_hash"] = policy.facts_hash
        if page.state() is None:
            body = {"format": FORMAT, "dataset": policy.dataset, "terms": Terms.of(policy).record()}
            self._append(page, Draft.of("opened", body | facts))
            return
        if page.fact("policy_hash") == policy.hash:  # another process was faster
            return
        terms = terms_of(page).after(policy, spent=bool(page.all_sums("")))
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

    def _refresh(self, page: Page) -> None:
        """Go by the rights and budgets of today; other facts than those that questions were planned by are refused."""
        if page.fact("policy_hash") != self._policy.hash:
            today = self.kept(policy_of(page), page)
            if (today.facts_hash, today.filter) != (self._policy.facts_hash, self._policy.filter):
                raise LedgerError(_EDITED)
            self._keep(page)

    def may(self, analyst: str | None, action: str, tables: Iterable[str]) -> bool:
        """Tell whether somebody may do something with tables, by the policy of the day.

        >>> from discreet.ledgers import MemoryLedger
        >>> from discreet.tables import Analyst, Policy
        >>> MemoryLedger(Policy([], epsilon=1, analysts=[Analyst("ann", may=["preview"])])).may("ann", "release", [])
        False
        """
        with self._page(write=False) as page:
            self._refresh(page)
            return self._policy.may(analyst, action, tables)

    def _require_policy(self, page: Page, asked_under: str) -> None:
        self._refresh(page)
        if asked_under and asked_under != self._policy.facts_hash:
            raise LedgerError(_EDITED)

    def _require_genuine_all(self, lines: Iterable[Line]) -> None:
        """Refuse to count entries anew that were edited, whatever they are."""
        for line in lines:
            if not line.is_genuine:
                raise LedgerError(self._edited(line.number))

    def _require_genuine(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if not line.is_genuine or line.cost is None:
                raise LedgerError(self._edited(line.number))

    def _edited(self, number: int) -> str:
        return f"entry {number} of the ledger {self._name} was edited. Run verify; restore a backup."

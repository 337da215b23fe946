"""Whether a ledger is what it was: every hash, every sum, every budget, and a head that somebody kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, LedgerError
from discreet.exact import counted
from discreet.ledgers.line import FORMAT, NOTHING, read_amount, read_sums
from discreet.ledgers.page import MemoryPage
from discreet.ledgers.recounting import terms_after
from discreet.ledgers.rules import apply, key_problem, steps_of
from discreet.ledgers.terms import Limits, Terms
from discreet.privacy.costs import DELTA_UNITS, LOSS_UNITS, Cost, holding, units_of
from discreet.tables import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.ledgers.line import Line, Scope
    from discreet.ledgers.page import Filed, Head, Page
    from discreet.privacy.costs import Amount

__all__ = ["NO_LEDGERS_ENTRY", "Verification", "verified"]

_MOST = 100

NO_LEDGERS_ENTRY = (DiscreetError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading the body of an entry may raise that no ledger wrote."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` found: problems, none in a ledger that nobody touched, and remarks that are none.

    >>> Verification(3, "2:0f…").ok
    True
    """

    entries: int
    head: str
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"{counted(self.entries, 'entry')}; head {self.head}; {'all in order' if self.ok else 'NOT in order'}"]
        return "\n".join([*lines, *(f"problem: {problem}" for problem in self.problems), *self.remarks])


@dataclass(slots=True)
class _Walk:
    """The state of a check, from entry to entry."""

    page: MemoryPage
    store: Page
    """Where the entries are that are checked."""
    problems: list[str] = field(default_factory=list)
    open: dict[int, object] = field(default_factory=dict)
    sessions: dict[int, Amount] = field(default_factory=dict)
    limits: Limits | None = None
    terms: Terms | None = None
    past: list[Policy] = field(default_factory=list)
    last: tuple[int, str, str] = (-1, NOTHING, "")
    slow_clocks: int = 0
    summed_fractions: bool = False
    inexact: int = 0
    """How many charges of an older format were no whole units."""

    def complain(self, text: str) -> None:
        if len(self.problems) < _MOST:
            self.problems.append(text)

    def meet(self, filed: Filed) -> None:
        """Check an entry as the store holds it; one that is unreadable is reported, and the next one looked at."""
        line = filed.line
        if line is not None:
            self.see(line)
            if not filed.agrees:
                self.complain(
                    f"entry {line.number} is kept under another number, kind, question or reservation than its own: "
                    "the store's columns were edited."
                )
            return
        number, _, time = self.last
        if filed.number != number + 1:
            self.complain(f"entry {filed.number} follows entry {number}: entries were removed or reordered.")
        self.complain(f"entry {filed.number} is not readable: it was edited or damaged.")
        self.last = (filed.number, filed.hash, time)

    def see(self, line: Line) -> None:
        """Check one entry against the one before, and carry it into the sums."""
        number, before, time = self.last
        if line.number != number + 1:
            self.complain(f"entry {line.number} follows entry {number}: entries were removed or reordered.")
        if not line.is_genuine:
            self.complain(f"entry {line.number} was edited: its content does not have its hash.")
        if line.previous != before:
            self.complain(f"entry {line.number} does not continue entry {number}: an entry was edited or replaced.")
        if line.time < time:
            self.complain(f"entry {line.number} is older than the one before it.")
        self.slow_clocks += "clock" in line.body
        self.last = (line.number, line.hash, line.time)
        try:
            self._carry(line)
        except NO_LEDGERS_ENTRY:
            self.complain(f"entry {line.number} is not what a ledger writes.")

    def _carry(self, line: Line) -> None:
        if (line.number == 0) != (line.kind == "opened"):
            self.complain(f"entry {line.number} is of kind {line.kind}: a ledger is opened by its first entry alone.")
        if line.kind in {"opened", "policy"}:
            self._policy(line)
        if line.kind == "reserved":
            self.open[line.number] = (line.question, line.body["charges"])
            if line.body.get("session") is True and line.cost is not None:
                self.sessions[line.number] = line.cost
        if line.kind in {"recorded", "part"}:
            self._answer(line)
        if "key" in line.body and (problem := key_problem(line, self.page)):
            self.complain(f"entry {line.number} {problem}.")
        apply(line, self.page, self.store)
        if self.summed_fractions:
            amounts = [
                *(amount for *_, amount in line.charges),
                *([read_amount(line.body["inner"])] if line.kind == "step" else []),
            ]
            self.inexact += sum(map(_is_rounded, amounts))
        self._within_limits(line)
        if line.kind in {"lease", "step", "part", "closed"}:
            self._within_session(line)

    def _policy(self, line: Line) -> None:
        """A policy brings its limits; what a ledger fixes for ever must follow from it and from those before."""
        policy = Policy.from_json(json.dumps(line.body["policy"]))
        stated = Terms.read(line.body["terms"])
        self.limits = Limits(stated.kept(policy))
        if self.terms is None:
            self.summed_fractions = line.body.get("format", FORMAT) < 3
        try:
            if self.terms is None:
                due = Terms.of(stated.kept(policy))
            elif line.body.get("upgrade") is True:
                due = terms_after(self.terms, self.past, policy)
            else:
                due = self.terms.after(policy, spent=bool(self.page.all_sums("")))
        except LedgerError as error:
            self.complain(f"entry {line.number} changes what is fixed: {error}")
        else:
            if due != stated or line.body.get("facts_hash", policy.facts_hash) != policy.facts_hash:
                self.complain(f"entry {line.number} states other units or another filter than its policy.")
        self.terms = stated
        self.past.append(policy)

    def _answer(self, line: Line) -> None:
        """An answer belongs to one reservation, which is not answered yet."""
        reservation = -1 if line.reservation is None else line.reservation
        if reservation not in self.open:
            self.complain(f"entry {line.number} answers entry {reservation}, which is no open reservation.")
        elif line.kind == "recorded" and self.open.pop(reservation) != (line.question, line.body["charges"]):
            self.complain(f"entry {line.number} states another cost or question than its reservation {reservation}.")

    def _within_session(self, line: Line) -> None:
        """What a session writes belongs to one, and its steps cost no more than was taken for it."""
        number = -1 if line.reservation is None else line.reservation
        cost = self.sessions.get(number)
        if cost is None:
            self.complain(f"entry {line.number} is of entry {number}, which opened no session.")
            return
        due = units_of(cost)
        spent = read_sums(self.page.sums(*steps_of(number)), due)
        if line.kind == "step" and not self._rounded(due).covers(spent):
            self.complain(f"entry {line.number} spends more than was taken for the session of entry {number}.")

    def _within_limits(self, line: Line) -> None:
        """No charge passes a limit, and no upgrade happens where one was passed or a session goes on."""
        if line.kind in {"reserved", "shared"}:
            self._within_budget([(scope, name) for scope, name, _ in line.body["charges"]], line.number)
        if line.body.get("upgrade") is True and self.limits is not None:
            self._within_budget(self.limits.named, line.number)
            if any(self.page.fact(f"closed {number}") is None for number in self.sessions):
                self.complain(f"entry {line.number} changes the filter while a session is open.")

    def _within_budget(self, scopes: Iterable[Scope], number: int) -> None:
        for scope, name in scopes:
            limits = self.limits.of((scope, name)) if self.limits is not None else None
            if limits is not None and not any(
                holding(self._rounded(limits), read_sums(self.page.sums("", scope, name), limits))
            ):
                self.complain(
                    f"entry {number} spends more than the policy allowed ({scope} {name}).".replace(" )", ")")
                )

    def _rounded(self, limits: Cost) -> Cost:
        """Limits as a ledger of an older format kept them: it added fractions, which are each rounded up here."""
        extra = self.inexact + 1 if self.inexact else 0
        return replace(
            limits,
            losses=tuple(loss + extra for loss in limits.losses),
            deltas=tuple(delta + extra for delta in limits.deltas),
        )


def _is_rounded(amount: object) -> bool:
    """Whether an amount is no whole number of units."""
    numbers = {} if isinstance(amount, Cost) else amount.fields()  # type: ignore[attr-defined]  # a currency
    units = {name: DELTA_UNITS if name == "delta" else LOSS_UNITS for name in numbers}
    return any((number * units[name]).denominator != 1 for name, number in numbers.items())


def verified(page: Page, heads: Iterable[Head]) -> Verification:
    """Read a ledger from its first entry to its last, and compare everything that follows from it with what it keeps.

    >>> from discreet.ledgers.page import MemoryPage
    >>> verified(MemoryPage.empty(), []).problems
    ('the ledger has no entries.',)
    """
    walk = _Walk(MemoryPage.empty(), page)
    wanted = list(heads)
    met = set()
    seen = 0
    for entry in page.filed():
        walk.meet(entry)
        met |= {head for head in wanted if head.hash == entry.hash and head.number in {-1, entry.number}}
        seen += 1
    if not seen:
        return Verification(0, "", ("the ledger has no entries.",))
    for head in wanted:
        if head not in met:
            walk.complain(f"the known head {head} is not in the ledger: its tail was cut off or rewritten.")
    _compare(walk, page)
    for damage in page.damage():
        walk.complain(damage)
    remarks = []
    if walk.open:
        remarks.append(
            f"{counted(len(walk.open), 'reservation')} without an answer: open, or lost in a crash, and spent."
        )
    if walk.slow_clocks:
        remarks.append(f"{counted(walk.slow_clocks, 'entry')} written while the clock was behind an earlier entry.")
    return Verification(seen, f"{walk.last[0]}:{walk.last[1]}", tuple(walk.problems), tuple(remarks))


def _compare(walk: _Walk, page: Page) -> None:
    """Compare the sums and facts that the ledger keeps with those that follow from its entries."""
    state = page.state()
    if state is None or tuple(state) != walk.last:
        walk.complain("the kept last entry is not the last one: entries were removed, or added by hand.")
    if sorted(page.all_sums(None), key=repr) != sorted(walk.page.all_sums(None), key=repr):
        walk.complain("the kept sums are not those of the entries: they were edited.")
    if page.facts() != walk.page.facts():
        walk.complain("the kept facts are not those of the entries: they were edited.")

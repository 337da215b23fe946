"""Random histories of a ledger against a model that a person can check at a glance."""

from __future__ import annotations

import shutil
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from discreet.errors import BudgetError, LedgerError
from discreet.ledgers import Entry, MemoryLedger, SQLiteLedger
from discreet.privacy import Pure
from discreet.tables import Analyst, Policy, Purpose
from tests.ledgers.stores import VISITS, Text

if TYPE_CHECKING:
    from discreet.ledgers import Ledger, Reservation

THIRD = Fraction(333333333334, 10**12)
"""What a ledger charges for a third: costs are rounded up to whole units."""
COSTS = st.sampled_from([Fraction(1, 10), THIRD, Fraction(1, 2), Fraction(1)])
WHO = st.sampled_from(["ann", "bob"])
WHAT_FOR = st.sampled_from(["care", "research"])
QUESTIONS = st.sampled_from(["count", "sum", ""])


def policy(epsilon: int) -> Policy:
    return Policy(
        [VISITS],
        epsilon=epsilon,
        dataset="hospital",
        analysts=[Analyst("ann", epsilon=1), Analyst("bob", epsilon=2)],
        purposes=[Purpose("care"), Purpose("research", epsilon="1.5")],
    )


class Model:
    """Sums in dictionaries: what was taken from whom, and which answers each has paid for."""

    def __init__(self) -> None:
        self.limit = {"dataset": Fraction(3), "ann": Fraction(1), "bob": Fraction(2), "research": Fraction(3, 2)}
        self.spent = dict.fromkeys(["dataset", "ann", "bob", "care", "research"], Fraction(0))
        self.costs: dict[int, Fraction] = {}
        self.answers: dict[str, list[int]] = {}
        self.seen: dict[str, set[int]] = {name: set() for name in self.spent}

    def missing(self, question: str, name: str) -> Fraction:
        unseen = set(self.answers.get(question, [])) - self.seen[name]
        return sum((self.costs[answer] for answer in unseen), Fraction(0))

    def take(self, charges: dict[str, Fraction]) -> bool:
        if any(self.spent[name] + cost > self.limit.get(name, Fraction(99)) for name, cost in charges.items()):
            return False
        for name, cost in charges.items():
            self.spent[name] += cost
        return True


class Histories(RuleBasedStateMachine):
    """Reserve, record, ask again, edit, reopen: the ledger and the model never differ."""

    open_reservations = Bundle("open_reservations")

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.policy = policy(3)
        self.counter = 0

    def opened(self) -> Ledger:
        return MemoryLedger(self.policy)

    @initialize()
    def begin(self) -> None:
        self.ledger = self.opened()

    @rule(target=open_reservations, cost=COSTS, who=WHO, what_for=WHAT_FOR, question=QUESTIONS)
    def reserve(self, cost: Fraction, who: str, what_for: str, question: str) -> Any:  # noqa: ANN401 - what a bundle takes
        charges = dict.fromkeys(("dataset", who, what_for), cost)
        entry = Entry(question, ("visits",), who, what_for)
        both = self.model.seen[who] & self.model.seen[what_for]
        earlier = [answer for answer in self.model.answers.get(question, []) if answer in both]
        fits = self.model.take(charges)
        assert self.ledger.admits(Pure(cost), entry) is fits
        try:
            paid = self.ledger.reserve(Pure(cost), entry)
        except BudgetError:
            assert not fits
            return multiple()
        assert fits
        assert [each["value"] for each in paid.earlier] == earlier
        return paid, charges

    @rule(reservation=open_reservations)
    def record(self, reservation: tuple[Reservation, dict[str, Fraction]]) -> None:
        paid, charges = reservation
        self.counter += 1
        question = paid.entry.question
        done = paid.number in {line.reservation for line in self.ledger.entries(kind="recorded")}
        try:
            self.ledger.record(paid, Text(self.counter))
        except ValueError:
            assert done
            return
        assert not done
        if question:
            self.model.costs[self.counter] = charges["dataset"]
            self.model.answers.setdefault(question, []).append(self.counter)
            for name in charges:
                self.model.seen[name].add(self.counter)

    @rule(cost=COSTS, who=WHO, what_for=WHAT_FOR, question=QUESTIONS)
    def ask_again(self, cost: Fraction, who: str, what_for: str, question: str) -> None:
        whole = sum((self.model.costs[answer] for answer in self.model.answers.get(question, [])), Fraction(0))
        charges = {name: gap for name in (who, what_for) if (gap := self.model.missing(question, name))}
        known = bool(question) and question in self.model.answers and cost <= whole
        fits = known and self.model.take(charges)
        try:
            found = self.ledger.find(Pure(cost), Entry(question, ("visits",), who, what_for))
        except BudgetError:
            assert known
            assert not fits
            return
        assert (found is not None) is known is fits
        if found is not None:
            assert [each["value"] for each in found.answers] == self.model.answers[question]
            for name in (who, what_for):
                self.model.seen[name].update(self.model.answers[question])

    @rule(epsilon=st.sampled_from([1, 3, 5]))
    def edit(self, epsilon: int) -> None:
        self.policy = policy(epsilon)
        self.model.limit["dataset"] = Fraction(epsilon)
        self.ledger._join(self.policy)

    @invariant()
    def sums_agree(self) -> None:
        if not hasattr(self, "ledger"):
            return
        spent = {account.name or "dataset": account.spent for account in self.ledger.statement.accounts}
        assert {name: each.epsilon for name, each in spent.items() if isinstance(each, Pure)} == self.model.spent
        left = max(self.model.limit["dataset"] - self.model.spent["dataset"], Fraction(0))
        assert self.ledger.remaining == Pure(left)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            assert self.ledger.verify().problems == ()
            self.ledger.close()


class FileHistories(Histories):
    """The same in a file, closed and opened again, exported and imported, at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.moves = 0

    @property
    def file(self) -> Path:
        return self.folder / f"{self.moves}.ledger.sqlite"

    def opened(self) -> Ledger:
        return SQLiteLedger(self.file, self.policy)

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self.opened()

    @rule()
    def move(self) -> None:
        lines = list(self.ledger.export())
        self.ledger.close()
        self.moves += 1
        self.ledger = SQLiteLedger(self.file, export=lines)

    @rule()
    def restore_too_old(self) -> None:
        """An older copy under the same head file is refused, whatever happened since."""
        self.ledger.close()
        old = self.file.read_bytes()
        self.ledger = self.opened()
        self.ledger.note("check", "something", {})
        self.ledger.close()
        new = self.file.read_bytes()
        self.file.write_bytes(old)
        try:
            self.opened().close()
        except LedgerError:
            self.file.write_bytes(new)
        else:
            msg = "an older copy was opened"
            raise AssertionError(msg)
        self.ledger = self.opened()

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=30)
TestFileHistories = FileHistories.TestCase
TestFileHistories.settings = settings(max_examples=12, stateful_step_count=20)

"""What a release is paid from: first reserved, then recorded, never given back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.privacy.costs import total

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from discreet.ledgers.statement import Usage
    from discreet.privacy.costs import Amount, Promising
    from discreet.privacy.curve import Curve

__all__ = [
    "Entry",
    "Purse",
    "Released",
    "Repeat",
    "Reservation",
]

_NOTHING: Mapping[str, object] = MappingProxyType({})


class Released(Protocol):
    """Anything that was made private and can be kept as JSON.

    >>> from discreet.mechanisms import Laplace
    >>> released: Released = Laplace(sensitivity=1, epsilon=1).release(3)
    """

    def to_json(self) -> str:
        """Write it as a JSON object."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a cost is for: public facts of the question.

    `question` is the key by which a repeat is recognized; empty for what is never repeated (a stream, a training run).
    `kind` says what is paid: a `question`, a `stream` or `session` (whose whole cost is reserved at its opening), or a
    `method`. `asked` are the asker's own words, `details` whatever else is public: limits, the curve. `verified` names
    the tables whose uniqueness is not enforced, as the owner had it checked.

    With a `key`, the analyst's own, what is sent twice is charged once and gets the same release; see `charge`. The key
    is bound to the request: to `request`, where one request takes several entries, else to this entry and its cost.

    >>> Entry(question="0f3a", tables=("visits",), analyst="ann").tables
    ('visits',)
    """

    question: str
    tables: tuple[str, ...]
    analyst: str | None = None
    purpose: str | None = None
    kind: str = "question"
    asked: str = ""
    promise: str = ""
    policy: str = ""
    version: str = ""
    details: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    verified: tuple[str, ...] = ()
    key: str = ""
    request: str = ""

    def by(self, analyst: str | None, purpose: str | None) -> Entry:
        """The same entry for somebody else."""
        return replace(self, analyst=analyst, purpose=purpose)


@dataclass(frozen=True, slots=True)
class Reservation:
    """A cost that was taken from a purse, whatever becomes of the release.

    `earlier` holds, as JSON objects, the releases of the same question that this analyst and purpose paid for before:
    the new answer is combined with them.
    `head` names the last entry of the ledger by its hash.

    >>> from discreet.privacy import Pure
    >>> Reservation(0, Pure(1), Entry("0f3a", ())).cost
    Pure(epsilon=1)
    """

    number: int
    cost: Amount
    entry: Entry
    earlier: tuple[Mapping[str, Any], ...] = ()
    head: str = ""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A question that was paid for before: its stored releases as JSON objects, and what they cost together.

    For each release, `numbers` has the reservation that paid for it, `costs` what it cost, and `unseen` which of the
    analyst's and the purpose's budgets have not been charged for it yet. `limited` names those of these two budgets
    that have a limit.

    >>> from discreet.privacy import Pure
    >>> bob = frozenset({("analyst", "bob")})
    >>> repeat = Repeat(({}, {}), Pure(3), "", (1, 5), (Pure(1), Pure(2)), (frozenset(), bob))
    >>> repeat.owed, repeat.only([0]).owed
    ({('analyst', 'bob'): Pure(epsilon=2)}, {})
    """

    answers: tuple[Mapping[str, Any], ...]
    cost: Amount
    head: str = ""
    numbers: tuple[int, ...] = ()
    costs: tuple[Amount, ...] = ()
    unseen: tuple[frozenset[tuple[str, str]], ...] = ()
    limited: frozenset[tuple[str, str]] = frozenset()

    @property
    def owed(self) -> dict[tuple[str, str], Amount]:
        """What each budget would still be charged for showing all of them; budgets that have paid are left out."""
        owed: dict[tuple[str, str], Amount] = {}
        for cost, budgets in zip(self.costs, self.unseen, strict=True):
            for budget in sorted(budgets):
                owed[budget] = total(owed[budget], cost) if budget in owed else cost
        return owed

    def only(self, places: Sequence[int]) -> Repeat:
        """Keep some of the releases, at least one, by their places."""
        costs = [self.costs[place] for place in places]
        return replace(
            self,
            answers=tuple(self.answers[place] for place in places),
            cost=total(*costs),
            numbers=tuple(self.numbers[place] for place in places),
            costs=tuple(costs),
            unseen=tuple(self.unseen[place] for place in places),
        )


class Purse(Protocol):
    """Whoever keeps the budget; ledgers are purses.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.tables import Policy
    >>> purse: Purse = MemoryLedger(Policy([], epsilon=1))
    >>> purse.remaining
    Pure(epsilon=1)
    """

    @property
    def remaining(self) -> Amount:
        """What may still be spent on the dataset in one piece."""

    def remaining_for(self, analyst: str | None, purpose: str | None) -> Amount:
        """What an analyst may still spend for a purpose in one piece: the least of the budgets that are charged."""

    def priced(self, given: Amount | Curve | Promising) -> Amount:
        """What is charged for something, in the purse's own currency or by its certificates."""

    def may(self, analyst: str | None, action: str, tables: Iterable[str]) -> bool:
        """Tell whether somebody may do something with tables, by the policy of the day."""

    def require_may(self, analyst: str | None, action: str, tables: Iterable[str], what: str = "questions") -> None:
        """Refuse who may not do something with tables."""
        if not self.may(analyst, action, tables):
            owned = ", ".join(tables)
            msg = f"analyst {shown(analyst)} may not {action} {what} about {owned}; ask the owner of the policy."
            raise ParameterError(msg)

    def usage(self, analyst: str | None, purpose: str | None, cost: Amount | None = None) -> Usage:
        """How much is used of the budgets that are charged, and how many more spends of a cost would fit."""

    def budgets(self, entry: Entry) -> tuple[tuple[str, str], ...]:
        """Name the budgets that a cost is charged to, by scope and name: of the dataset, the analyst, the purpose."""

    def admits(self, cost: Amount, entry: Entry) -> bool:
        """Tell whether a cost would fit now; asking is free."""

    def affords(self, charges: Mapping[tuple[str, str], Amount]) -> bool:
        """Tell whether charges to several budgets would fit now, each for itself."""

    def look(self, cost: Amount, entry: Entry) -> Repeat | None:
        """Give what was released for the same question, if at least this cost was paid for it; `take` comes first."""

    def replay(self, cost: Amount, entry: Entry) -> Repeat | None:
        """Give what the same request got under its key; None without a key, or when it is sent for the first time."""

    def reserve(self, cost: Amount, entry: Entry) -> Reservation:
        """Take a cost durably before any data is touched, or raise BudgetError and take nothing."""
        return self.reserve_all([(cost, entry)])[0]

    def reserve_all(self, costs: Sequence[tuple[Amount, Entry]]) -> tuple[Reservation, ...]:
        """Take several costs durably, all or none."""
        return self.take(costs, [])[0]

    def take(
        self, costs: Sequence[tuple[Amount, Entry]], repeats: Sequence[tuple[Repeat, Entry]]
    ) -> tuple[tuple[Reservation, ...], tuple[Repeat, ...]]:
        """Take several costs, and what is owed for showing repeats, which is free for the dataset: all or none.

        A repeat is what `look` gave, or the part of it that is shown.
        """

    def note(self, kind: str, what: str, facts: Mapping[str, object]) -> str:
        """Keep a public fact for the owner, at cost 0."""

    def record(self, reservation: Reservation, answer: Released) -> str:
        """Keep the answer that a reservation paid for; once. Give the hash of the last entry, if there is one."""

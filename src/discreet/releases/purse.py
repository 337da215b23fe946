"""What a release is paid from: first reserved, then recorded, never given back."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.privacy import ZCDP, Approximate, ApproximateFilter, Pure, PureFilter, ZCDPFilter
from discreet.privacy.convert import zcdp_allowance
from discreet.tables import Policy

if TYPE_CHECKING:
    from discreet.privacy import Budget
    from discreet.privacy.currencies import Currency
    from discreet.privacy.filters import Filter

__all__ = [
    "Entry",
    "MemoryPurse",
    "Purse",
    "Released",
    "Repeat",
    "Reservation",
    "budget_filter",
    "require_costs",
    "require_entry",
    "require_repeats",
    "require_reservation",
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

    def by(self, analyst: str | None, purpose: str | None) -> Entry:
        """The same entry for somebody else."""
        return replace(self, analyst=analyst, purpose=purpose)


@dataclass(frozen=True, slots=True)
class Reservation:
    """A cost that was taken from a purse, whatever becomes of the release.

    `earlier` holds what was released before for the same question and is in the budgets of who asks already, as JSON
    objects: the new answer is combined with it.
    `head` names the last entry of the ledger by its hash.

    >>> Reservation(0, Pure(1), Entry("0f3a", ())).cost
    Pure(epsilon=1)
    """

    number: int
    cost: Currency
    entry: Entry
    earlier: tuple[Mapping[str, Any], ...] = ()
    head: str = ""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A question that was paid for before: its stored releases as JSON objects, and what they cost together.

    Of each release `numbers` has the reservation that paid for it, `costs` what it cost, and `unseen` in which budgets
    of who asks and what for it does not count yet; `limited` are those of these budgets that have a limit.

    >>> bob = frozenset({("analyst", "bob")})
    >>> found = Repeat(({}, {}), Pure(3), "", (1, 5), (Pure(1), Pure(2)), (frozenset(), bob))
    >>> found.owed, found.only([0]).owed
    ({('analyst', 'bob'): Pure(epsilon=2)}, {})
    """

    answers: tuple[Mapping[str, Any], ...]
    cost: Currency
    head: str = ""
    numbers: tuple[int, ...] = ()
    costs: tuple[Currency, ...] = ()
    unseen: tuple[frozenset[tuple[str, str]], ...] = ()
    limited: frozenset[tuple[str, str]] = frozenset()

    @property
    def owed(self) -> dict[tuple[str, str], Currency]:
        """What seeing all of them would still be charged, by budget; nothing in those that paid already."""
        found: dict[tuple[str, str], Currency] = {}
        for cost, budgets in zip(self.costs, self.unseen, strict=True):
            for budget in sorted(budgets):
                found[budget] = found[budget] + cost if budget in found else cost
        return found

    def only(self, places: Sequence[int]) -> Repeat:
        """Keep some of the releases, at least one, by their places."""
        costs = [self.costs[place] for place in places]
        return replace(
            self,
            answers=tuple(self.answers[place] for place in places),
            cost=sum(costs[1:], start=costs[0]),
            numbers=tuple(self.numbers[place] for place in places),
            costs=tuple(costs),
            unseen=tuple(self.unseen[place] for place in places),
        )


class Purse(Protocol):
    """Whoever keeps the budget; ledgers are purses.

    >>> from discreet.tables import Policy
    >>> purse: Purse = MemoryPurse(Policy([], epsilon=1))
    >>> purse.remaining
    Pure(epsilon=1)
    """

    @property
    def remaining(self) -> Currency:
        """What may still be spent on the dataset in one piece."""

    def remaining_for(self, analyst: str | None, purpose: str | None) -> Currency:
        """What may still be spent in one piece by somebody for something: the least of all budgets that count."""

    def budgets(self, entry: Entry) -> tuple[tuple[str, str], ...]:
        """Name the budgets that a cost is charged to, by scope and name: the dataset's, then those of who asks."""

    def admits(self, cost: Currency, entry: Entry) -> bool:
        """Tell whether a cost would fit now; asking is free."""

    def affords(self, charges: Mapping[tuple[str, str], Currency]) -> bool:
        """Tell whether charges to several budgets would fit now, each for itself."""

    def look(self, cost: Currency, entry: Entry) -> Repeat | None:
        """Give what was released for the same question, if at least this cost was paid for it; not yet to be shown."""

    def reserve(self, cost: Currency, entry: Entry) -> Reservation:
        """Take a cost before any data is touched, or refuse it; a refusal takes nothing."""

    def reserve_all(self, costs: Sequence[tuple[Currency, Entry]]) -> tuple[Reservation, ...]:
        """Take several costs, all or none."""

    def take(
        self, costs: Sequence[tuple[Currency, Entry]], repeats: Sequence[tuple[Repeat, Entry]]
    ) -> tuple[tuple[Reservation, ...], tuple[Repeat, ...]]:
        """Take several costs, and what is owed for showing repeats, which is free for the dataset: all or none.

        A repeat is what `look` gave, or the part of it that is shown.
        """

    def record(self, reservation: Reservation, answer: Released) -> str:
        """Keep the answer that a reservation paid for; once. Give the hash of the last entry, if there is one."""


class MemoryPurse:
    """The policy's budget, enforced within one process; it remembers costs and no answers, so a repeat costs again.

    The filter is the policy's: sums of epsilon (`pure`), of epsilon and delta (`approximate`), or of rho and delta
    (`zcdp`, whose limit is the largest that converts to the policy's epsilon and delta). All three hold for costs that
    are chosen after seeing earlier answers. When the process ends, what was spent is forgotten; budgets of analysts and
    purposes are not kept. `discreet.ledgers` holds purses that do more.

    >>> from discreet.tables import Policy
    >>> purse = MemoryPurse(Policy([], epsilon=1))
    >>> purse.reserve(Pure("0.4"), Entry("0f3a", ())).number, purse.remaining
    (0, Pure(epsilon=0.6))
    >>> purse.reserve(Pure("0.7"), Entry("0f3a", ()))
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetError: Pure(epsilon=0.7) does not fit: Pure(epsilon=0.6) is left of Pure(epsilon=1). Ask ...
    """

    def __init__(self, policy: Policy) -> None:
        if not isinstance(policy, Policy):
            msg = f"policy is {shown(policy)}; it must be a Policy."
            raise ParameterError(msg)
        self._filter: Filter[Any] = budget_filter(policy, policy.budget)
        self._lock = threading.Lock()
        self._reserved: list[Reservation] = []
        self._answers: dict[int, object] = {}

    @property
    def remaining(self) -> Currency:
        """What may still be spent in one piece."""
        found: Currency = self._filter.remaining
        return found

    def remaining_for(self, analyst: str | None, purpose: str | None) -> Currency:
        """What may still be spent: the dataset's budget is the only one."""
        del analyst, purpose
        return self.remaining

    @property
    def spent(self) -> Currency:
        """What was reserved so far."""
        found: Currency = self._filter.spent
        return found

    @property
    def entries(self) -> tuple[Reservation, ...]:
        """What was reserved, in order."""
        return tuple(self._reserved)

    def budgets(self, entry: Entry) -> tuple[tuple[str, str], ...]:
        """The dataset's budget alone."""
        del entry
        return (("dataset", ""),)

    def admits(self, cost: Currency, entry: Entry) -> bool:
        """Tell whether a cost would fit now."""
        require_entry(entry)
        return bool(self._filter.admits(cost))

    def affords(self, charges: Mapping[tuple[str, str], Currency]) -> bool:
        """Tell whether a charge to the dataset would fit now; other budgets are not kept."""
        return all(self._filter.admits(charge) for (scope, _), charge in charges.items() if scope == "dataset")

    def look(self, cost: Currency, entry: Entry) -> Repeat | None:
        """Find nothing: a purse keeps no answers for others to see."""
        del cost, entry
        return None

    def reserve(self, cost: Currency, entry: Entry) -> Reservation:
        """Take a cost, or raise BudgetError."""
        return self.reserve_all([(cost, entry)])[0]

    def reserve_all(self, costs: Sequence[tuple[Currency, Entry]]) -> tuple[Reservation, ...]:
        """Take several costs, or none and raise BudgetError."""
        costs = require_costs(costs)
        with self._lock:
            after = self._filter
            for cost, _ in costs:
                after = after.spend(cost)
            start = len(self._reserved)
            found = [Reservation(start + place, cost, entry) for place, (cost, entry) in enumerate(costs)]
            self._filter = after
            self._reserved += found
        return tuple(found)

    def take(
        self, costs: Sequence[tuple[Currency, Entry]], repeats: Sequence[tuple[Repeat, Entry]]
    ) -> tuple[tuple[Reservation, ...], tuple[Repeat, ...]]:
        """Take several costs; there are no repeats."""
        if require_repeats(repeats):
            msg = "this purse keeps no answers, so it has no repeats to show; use a ledger of discreet.ledgers."
            raise ParameterError(msg)
        return self.reserve_all(costs), ()

    def record(self, reservation: Reservation, answer: object) -> str:
        """Keep the answer of a reservation."""
        require_reservation(reservation)
        with self._lock:
            known = any(each is reservation for each in self._reserved[reservation.number : reservation.number + 1])
            if not known or reservation.number in self._answers:
                msg = f"reservation {reservation.number} is not open in this purse; reserve first, and record once."
                raise ParameterError(msg)
            self._answers[reservation.number] = answer
        return ""

    def answer(self, reservation: Reservation) -> object | None:
        """Give what was recorded for a reservation; None if nothing was."""
        require_reservation(reservation)
        return self._answers.get(reservation.number)


_PRICED = "pairs of a cost and its Entry, such as [(Pure(1), Entry(question, tables))]"
_LOOKED_UP = "pairs of a Repeat that `look` gave and its Entry"


def require_entry(entry: Entry) -> None:
    """Refuse what does not say what a cost is for.

    >>> require_entry(None)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: entry is None; it must be an Entry: Entry(question, tables) says what a cost is for.
    """
    if not isinstance(entry, Entry):
        msg = f"entry is {shown(entry)}; it must be an Entry: Entry(question, tables) says what a cost is for."
        raise ParameterError(msg)
    if not isinstance(entry.details, Mapping):
        msg = f"details is {shown(entry.details)}; it must be a dictionary of public facts."
        raise ParameterError(msg)


def require_costs(costs: Iterable[tuple[Currency, Entry]]) -> list[tuple[Currency, Entry]]:
    """Read costs with what each is for.

    >>> require_costs([None])
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: costs holds None; it must be pairs of a cost and its Entry, such as ...
    """
    return [(cost, entry) for cost, entry in _pairs(costs, "costs", _PRICED)]


def require_repeats(repeats: Iterable[tuple[Repeat, Entry]]) -> list[tuple[Repeat, Entry]]:
    """Read repeats with what each is for.

    >>> require_repeats([(None, Entry("0f3a", ()))])
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: repeats holds None; it must be pairs of a Repeat that `look` gave and its Entry.
    """
    found = _pairs(repeats, "repeats", _LOOKED_UP)
    for repeat, _ in found:
        if not isinstance(repeat, Repeat):
            msg = f"repeats holds {shown(repeat)}; it must be {_LOOKED_UP}."
            raise ParameterError(msg)
        numbers = repeat.numbers
        if not isinstance(numbers, tuple) or not all(isinstance(each, int) for each in numbers):
            msg = f"numbers is {shown(numbers)}; it must be the reservations that `look` gave, as a tuple."
            raise ParameterError(msg)
    return found


def _pairs(given: Any, name: str, allowed: str) -> list[tuple[Any, Entry]]:  # noqa: ANN401 - what is read here
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        msg = f"{name} is {shown(given)}; it must be {allowed}."
        raise ParameterError(msg)
    found = []
    for each in given:
        if not isinstance(each, tuple | list) or len(each) != 2:
            msg = f"{name} holds {shown(each)}; it must be {allowed}."
            raise ParameterError(msg)
        require_entry(each[1])
        found.append((each[0], each[1]))
    return found


def require_reservation(reservation: Reservation) -> None:
    """Refuse what no purse gave.

    >>> require_reservation(7)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: reservation is 7; it must be what `reserve` gave.
    """
    if not isinstance(reservation, Reservation):
        msg = f"reservation is {shown(reservation)}; it must be what `reserve` gave."
        raise ParameterError(msg)
    number = reservation.number
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**63:
        msg = f"the reservation's number is {shown(number)}; it must be what `reserve` gave."
        raise ParameterError(msg)


def budget_filter(policy: Policy, budget: Budget) -> Filter[Any]:
    """Build the filter of a budget in the policy's currency: the dataset's own, an analyst's or a purpose's.

    For `zcdp` the policy's share of delta pays for the conversion, and the limit is the largest rho that converts.

    >>> from discreet.tables import Policy
    >>> policy = Policy([], epsilon=3, filter="approximate")
    >>> budget_filter(policy, policy.budget).limit
    Approximate(epsilon=3)
    """
    if policy.filter == "pure":
        return PureFilter(Pure(budget.epsilon, neighbors=budget.neighbors))
    if policy.filter == "approximate":
        return ApproximateFilter(Approximate(budget.epsilon, budget.delta, neighbors=budget.neighbors))
    limit: ZCDP = zcdp_allowance(budget, share=policy.delta_conversion / policy.budget.delta)
    return ZCDPFilter(limit)

"""What a release is paid from: first reserved, then recorded, never given back."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import ParameterError
from discreet.privacy import ZCDP, Approximate, ApproximateFilter, Pure, PureFilter, ZCDPFilter
from discreet.privacy.convert import zcdp_allowance

if TYPE_CHECKING:
    from discreet.privacy.currencies import Currency
    from discreet.privacy.filters import Filter
    from discreet.tables import Policy

__all__ = ["Entry", "MemoryPurse", "Purse", "Reservation"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a cost is for: public facts of the question.

    >>> Entry(question="0f3a", tables=("visits",), analyst="ann").tables
    ('visits',)
    """

    question: str
    tables: tuple[str, ...]
    analyst: str | None = None


@dataclass(frozen=True, slots=True)
class Reservation:
    """A cost that was taken from a purse, whatever becomes of the release.

    >>> Reservation(0, Pure(1), Entry("0f3a", ())).cost
    Pure(epsilon=1)
    """

    number: int
    cost: Currency
    entry: Entry


class Purse(Protocol):
    """Whoever keeps the budget; ledgers are purses.

    >>> from discreet.tables import Policy
    >>> purse: Purse = MemoryPurse(Policy([], epsilon=1))
    >>> purse.remaining
    Pure(epsilon=1)
    """

    @property
    def remaining(self) -> Currency:
        """What may still be spent in one piece."""

    def reserve(self, cost: Currency, entry: Entry) -> Reservation:
        """Take a cost before any data is touched, or refuse it; a refusal takes nothing."""

    def record(self, reservation: Reservation, answer: object) -> None:
        """Keep the answer that a reservation paid for; once."""


class MemoryPurse:
    """The policy's budget, enforced within one process.

    The filter is the policy's: sums of epsilon (`pure`), of epsilon and delta (`approximate`), or of rho and delta
    (`zcdp`, whose limit is the largest that converts to the policy's epsilon and delta). All three hold for costs that
    are chosen after seeing earlier answers. When the process ends, what was spent is forgotten: an owner who needs more
    keeps one process, or a durable ledger.

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
        self._filter: Filter[Any] = _filter_of(policy)
        self._lock = threading.Lock()
        self._reserved: list[Reservation] = []
        self._answers: dict[int, object] = {}

    @property
    def remaining(self) -> Currency:
        """What may still be spent in one piece."""
        found: Currency = self._filter.remaining
        return found

    @property
    def spent(self) -> Currency:
        """What was reserved so far."""
        found: Currency = self._filter.spent
        return found

    @property
    def entries(self) -> tuple[Reservation, ...]:
        """What was reserved, in order."""
        return tuple(self._reserved)

    def reserve(self, cost: Currency, entry: Entry) -> Reservation:
        """Take a cost, or raise BudgetError."""
        with self._lock:
            self._filter = self._filter.spend(cost)
            found = Reservation(len(self._reserved), cost, entry)
            self._reserved.append(found)
        return found

    def record(self, reservation: Reservation, answer: object) -> None:
        """Keep the answer of a reservation."""
        with self._lock:
            known = reservation.number < len(self._reserved) and self._reserved[reservation.number] is reservation
            if not known or reservation.number in self._answers:
                msg = f"reservation {reservation.number} is not open in this purse; reserve first, and record once."
                raise ParameterError(msg)
            self._answers[reservation.number] = answer

    def answer(self, reservation: Reservation) -> object | None:
        """Give what was recorded for a reservation; None if nothing was."""
        return self._answers.get(reservation.number)


def _filter_of(policy: Policy) -> Filter[Any]:
    """Build the policy's filter from its budget."""
    budget = policy.budget
    if policy.filter == "pure":
        return PureFilter(Pure(budget.epsilon, neighbors=budget.neighbors))
    if policy.filter == "approximate":
        return ApproximateFilter(Approximate(budget.epsilon, budget.delta, neighbors=budget.neighbors))
    limit: ZCDP = zcdp_allowance(budget, share=policy.delta_conversion / budget.delta)
    return ZCDPFilter(limit)

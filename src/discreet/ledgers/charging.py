"""The order of every spend: found again, or alive, reserved, run, recorded, and only then shown.

Whoever interrupts it is told what stays spent.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from discreet.errors import BudgetError, DiscreetError, TimeLimitError
from discreet.ledgers.line import covers
from discreet.ledgers.purse import Repeat
from discreet.ledgers.rules import bound
from discreet.mechanisms.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from discreet.ledgers.purse import Entry, Purse, Released, Reservation
    from discreet.mechanisms.promise import Claim
    from discreet.privacy.costs import Amount, Promising
    from discreet.privacy.curve import Curve

__all__ = ["TAKING", "Spend", "charge", "charge_all", "charged", "interruptible", "what_stays"]

TAKING = (
    "interrupted while the cost was being taken: it is spent as a whole or not at all, and the ledger says which "
    "(`discreet budget`, `Database.budget`)."
)
"""What is said where the ledger may have written the cost just before."""

Shown = TypeVar("Shown")


@contextmanager
def interruptible(sentence: str | Callable[[], str]) -> Iterator[None]:
    """Let an interrupt of the keyboard say what stays spent; it goes on as an interrupt.

    >>> try:
    ...     with interruptible("nothing was spent."):
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt as stop:
    ...     print(stop)
    nothing was spent.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(sentence if isinstance(sentence, str) else sentence()) from None


def what_stays(taken: Sequence[tuple[Amount, Callable[[], object]]]) -> str:
    """Say after an interrupt which costs stay spent, and whether asking again is free.

    Each cost comes with a function that gives its recorded answer, or None.

    An answer that is recorded is shown again for nothing. If it is not, there is nothing to show, and the noise that
    was drawn is gone: asked again, the question is a new one.

    >>> from discreet.privacy import Pure
    >>> what_stays([(Pure(1), lambda: None)])
    'interrupted; Pure(epsilon=1) was taken before and stays spent. No answer was recorded: asking again costs again.'
    """
    if not taken:
        return "interrupted; nothing was taken from the budget of the dataset."
    whole = " and ".join(dict.fromkeys(repr(cost) for cost, _ in taken))
    spent = f"{whole} was taken before and stays spent" if len(taken) == 1 else f"the costs ({whole}) stay spent"
    try:
        recorded = sum(find() is not None for _, find in taken)
    except DiscreetError:
        more = "What the ledger recorded is shown again for nothing; what it did not costs again."
    else:
        more = _about(recorded, len(taken))
    return f"interrupted; {spent}. {more}"


def _about(recorded: int, count: int) -> str:
    if not recorded:
        return "No answer was recorded: asking again costs again."
    if recorded == count:
        return "The answer was recorded: asking again shows it and costs nothing."
    return f"Of {count} answers {recorded} had been recorded: free when asked again, the others cost again."


class Spend(ABC, Generic[Shown]):
    """Something to be paid for: a question, or one run of a method. `charge_all` calls its methods in their order.

    >>> sorted(Spend.__abstractmethods__)
    ['chosen', 'ready', 'shown', 'shown_again']
    """

    cost: Amount
    entry: Entry

    @abstractmethod
    def chosen(self, repeat: Repeat) -> Repeat | None:
        """Choose the stored releases that answer this for its cost; None if it is to be computed anew."""

    @abstractmethod
    def ready(self) -> Callable[[Reservation], Released]:
        """Do whatever may fail before anything is spent; the function then computes, and adds noise."""

    @abstractmethod
    def shown(self, released: Released, paid: Reservation, head: str) -> Shown:
        """Show what was just recorded, with the head of the ledger after it."""

    @abstractmethod
    def shown_again(self, repeat: Repeat) -> Shown:
        """Show stored releases."""

    def advice(self) -> str:
        """Say what would still fit, where this does not."""
        return ""


@dataclass(frozen=True)
class _Run(Spend[Release[Any]]):
    """One run of a method, whose release is found again by its question."""

    cost: Amount
    entry: Entry
    run: Callable[[Reservation], Release[Any]]

    def chosen(self, repeat: Repeat) -> Repeat | None:
        """Take one release that cost enough alone, as releases of methods do not combine; if possible a free one."""
        enough = [place for place, cost in enumerate(repeat.costs) if covers(cost, self.cost)]
        return repeat.only([min(enough, key=lambda place: len(repeat.unseen[place]))]) if enough else None

    def ready(self) -> Callable[[Reservation], Release[Any]]:
        return self.run

    def shown(self, released: Released, paid: Reservation, head: str) -> Release[Any]:
        del head
        return charged(cast("Release[Any]", released), paid.cost)

    def shown_again(self, repeat: Repeat) -> Release[Any]:
        return charged(Release.from_json(json.dumps(repeat.answers[0])), repeat.cost)


def charged(release: Release[Any], cost: Amount, whole: str = "") -> Release[Any]:
    """Let a release know what was charged, for it or for a `whole` that it is a part of.

    The ledger's own entry says so, and what it keeps of the release does not.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.privacy import Pure
    >>> charged(DiscreteLaplace(1, epsilon=1).release(7), Pure(2)).explain().splitlines()[-1]
    'Charged: ε = 2, to the ledger that recorded it.'
    """
    return replace(release, charged=cast("Claim", cost), charged_for=whole)


def charge(
    purse: Purse, cost: Amount | Curve | Promising, entry: Entry, run: Callable[[Reservation], Release[Any]]
) -> Release[Any]:
    """Release what a method computes, for a cost: the one way for whatever is no question of a database.

    What was released before under the same `entry.question`, for at least this cost, is shown again and nothing runs.
    Otherwise the cost is reserved durably, `run` gets the reservation (with which rows on loan can be read), and what
    it gives is recorded and only then returned. If it fails, the cost stays spent, as a refund would depend on data.
    Either way the release says what it was charged.

    With `entry.key` the same request of the same analyst, sent twice, is charged once, whoever else sends it at that
    moment, and gets the same release. The key is bound to the entry and its cost: with another request it is refused.
    A request that was charged and whose answer a crash cut off is told so, and nothing is drawn for it again.

    >>> from discreet.ledgers import Entry, MemoryLedger
    >>> from discreet.mechanisms import Laplace
    >>> from discreet.privacy import Pure
    >>> from discreet.tables import Policy
    >>> ledger = MemoryLedger(Policy([], epsilon=1))
    >>> laplace, entry = Laplace(sensitivity=1, epsilon="0.4"), Entry("how many", ("visits",), kind="method")
    >>> first = charge(ledger, Pure("0.4"), entry, lambda paid: laplace.release(7))
    >>> again = charge(ledger, Pure("0.4"), entry, lambda paid: laplace.release(7))
    >>> first == again, first.charged, ledger.remaining
    (True, Pure(epsilon=0.4), Pure(epsilon=0.6))
    """
    return charge_all(purse, [_Run(purse.priced(cost), entry, run)])[0]


def charge_all(purse: Purse, spends: Sequence[Spend[Shown]]) -> list[Shown]:
    """Release several things from one purse, all or none.

    What was sent before under the same key, or released before for at least its cost, is shown again; the dataset pays
    nothing for it. For the rest the order is fixed: make each spend ready, which asks whether its source is alive; take
    all costs at once, with what analysts owe for stored releases that are new to them; then compute, record and show
    one after the other. Whatever fails after the costs were taken stays spent, as a refund would depend on the data.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.tables import Policy
    >>> charge_all(MemoryLedger(Policy([], epsilon=1)), [])
    []
    """
    sent_before = [(spend, purse.replay(spend.cost, spend.entry)) for spend in spends]
    shown = {id(spend): spend.shown_again(repeat) for spend, repeat in sent_before if repeat is not None}
    stored = [(spend, _found(purse, spend)) for spend, repeat in sent_before if repeat is None]
    known = [(spend, repeat) for spend, repeat in stored if repeat is not None]
    new, twins = _parted([spend for spend, repeat in stored if repeat is None])
    runs = [spend.ready() for spend in new]
    with interruptible(TAKING):
        paid, repeats = _taken(purse, new, known)
    with interruptible(lambda: what_stays([(spend.cost, partial(_found, purse, spend)) for spend in new])):
        for (spend, _), repeat in zip(known, repeats, strict=True):
            shown[id(spend)] = spend.shown_again(repeat)
        for place, (spend, run, reservation) in enumerate(zip(new, runs, paid, strict=True)):
            released = _in_time(purse, run, paid[place:])
            head = purse.record(reservation, released)
            shown[id(spend)] = spend.shown(released, reservation, head)
            for twin in twins.get(id(spend), ()):
                records = (json.loads(released.to_json()), *reservation.earlier)
                shown[id(twin)] = twin.shown_again(Repeat(records, reservation.cost, head))
    return [shown[id(spend)] for spend in spends]


def _in_time(purse: Purse, run: Callable[[Reservation], Released], paid: Sequence[Reservation]) -> Released:
    """Compute the first of what was paid; if the time runs out, note all for the owner. What they cost stays spent."""
    first = paid[0]
    try:
        return run(first)
    except TimeLimitError as error:
        for stopped in paid:
            late = f"took longer than {error.seconds} seconds"
            together = f"was paid together with entry {first.number}, which {late}"
            what = f"entry {stopped.number} {late if stopped is first else together}"
            purse.note("stopped", what, {"entry": stopped.number, "seconds": error.seconds})
        raise


def _found(purse: Purse, spend: Spend[Any]) -> Repeat | None:
    """Find a release that was made before and is worth the cost."""
    repeat = purse.look(spend.cost, spend.entry)
    return None if repeat is None else spend.chosen(repeat)


def _parted(spends: Sequence[Spend[Shown]]) -> tuple[list[Spend[Shown]], dict[int, list[Spend[Shown]]]]:
    """Separate what is paid for from its twins: the same question of the same analyst shares one release."""
    first: dict[tuple[object, ...], Spend[Shown]] = {}
    twins: dict[int, list[Spend[Shown]]] = {}
    new = []
    for spend in spends:
        entry = spend.entry
        who = (entry.question, entry.analyst, entry.purpose, *spend.cost.fields().values())
        if entry.question and who in first:
            twins.setdefault(id(first[who]), []).append(spend)
        else:
            first[who] = spend
            new.append(spend)
    return new, twins


def _taken(
    purse: Purse, new: Sequence[Spend[Shown]], known: Sequence[tuple[Spend[Shown], Repeat]]
) -> tuple[Sequence[Reservation], Sequence[Repeat]]:
    """Take all costs; a refusal says what would still fit."""
    spends = [*new, *(spend for spend, _ in known)]
    try:
        costs = [(spend.cost, spend.entry) for spend in new]
        return purse.take(costs, [(repeat, bound(spend.cost, spend.entry)) for spend, repeat in known])
    except BudgetError as error:
        more = f"The {len(spends)} questions were refused together." if len(spends) > 1 else spends[0].advice()
        msg = f"{error} {more}".rstrip()
        raise BudgetError(msg) from None

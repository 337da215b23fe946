"""A client's own budget: what it told, so that it is told once and paid for once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.ledgers import Entry, MemoryLedger, SQLiteLedger, charge
from discreet.ledgers.pricing import price
from discreet.privacy import NeighborRelation
from discreet.tables import Policy

if TYPE_CHECKING:
    from typing import Self

    from discreet.exact import Number
    from discreet.methods.local.randomizer import Randomizer
    from discreet.privacy.costs import Amount

__all__ = ["Purse"]


class Purse:
    """What one person may still tell, kept by that person: a ledger without tables.

    A question has a name. Asked it again, the client sends the report that it sent before, whatever its value is now,
    and pays nothing: a server that asks every day does not average the noise away (permanent responses: Erlingsson,
    Pihur & Korolova 2014, arXiv:1407.6981). A value that changes is asked about under a new name, and paid for again.
    A report is written down before it is sent. Without a file the purse is forgotten with the process.

    >>> from discreet.methods.local import Direct
    >>> purse = Purse(epsilon=2)
    >>> first, again = (purse.report(Direct(4, epsilon=1), item, question="color") for item in (2, 3))
    >>> first == again, purse.remaining
    (True, Pure(epsilon=1, neighbors=change_one_ordered))
    """

    def __init__(self, path: str | Path | None = None, *, epsilon: Number) -> None:
        local = NeighborRelation.CHANGE_ONE_ORDERED
        policy = Policy([], epsilon=epsilon, neighbors=local, dataset="my reports")
        self._ledger = MemoryLedger(policy) if path is None else SQLiteLedger(Path(path), policy)

    @property
    def remaining(self) -> Amount:
        """What may still be told."""
        return self._ledger.remaining

    def report(self, randomizer: Randomizer, value: Any, *, question: str) -> bytes:  # noqa: ANN401  its own value
        """Return the report to send; the one that was sent before if the question was answered."""
        if not isinstance(question, str) or not question.strip():
            msg = f"question is {shown(question)}; it must be a text: the report is found again by it."
            raise ParameterError(msg)
        entry = Entry(f"{question} {randomizer.header.hex()}", (), kind="method", promise=randomizer.promise)
        cost = price(self._ledger, randomizer)
        released = charge(self._ledger, cost, entry, lambda _paid: randomizer.release(value))
        (sent,) = released.value.encoded()
        return bytes(sent)

    def close(self) -> None:
        """Close the file."""
        if isinstance(self._ledger, SQLiteLedger):
            self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

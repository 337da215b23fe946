"""A stream of sums that a ledger keeps: reopened after a crash, it goes on as it was."""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import LedgerError
from discreet.ledgers import Session
from discreet.ledgers.charging import charged
from discreet.ledgers.pricing import price
from discreet.methods.streaming.prefix_sum import Running, Summing

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from discreet.ledgers import Entry, Ledger
    from discreet.mechanisms.release import Release
    from discreet.methods.streaming.continual_sum import ContinualSum

__all__ = ["KeptSum"]


class KeptSum(Summing):
    """A stream of sums as a session of a ledger: its whole price is taken when it is first opened.

    A step is acknowledged when `add` returns: the sum that it shows and the private state after it are in the ledger
    then, together. Who opens the stream again under the same name and with the same parameters, in this process or
    after it was killed, goes on behind the last step that was kept. A step that a crash cut off was shown to nobody,
    and is drawn with the same bits. While one process holds it, another is refused.

    >>> from discreet.ledgers import Entry, MemoryLedger
    >>> from discreet.methods.streaming import ContinualSum
    >>> from discreet.privacy import NeighborRelation
    >>> from discreet.tables import Policy
    >>> ledger = MemoryLedger(Policy([], epsilon=50))
    >>> promise = ContinualSum(7, 1, epsilon=40, grid=1, events=1)
    >>> entry = Entry("visits by day", ("visits",), kind="stream")
    >>> with KeptSum(promise, ledger, entry) as stream:
    ...     first = stream.add_events([1] * 200, units=range(200))
    >>> with KeptSum(promise, ledger, entry) as stream:
    ...     stream.step, stream.releases == [first], ledger.remaining
    (1, True, Pure(epsilon=10))
    """

    def __init__(self, promise: ContinualSum, ledger: Ledger, entry: Entry) -> None:
        from dataclasses import replace

        self.promise = promise
        whole = replace(entry, promise=promise.promise, details={**entry.details, "stream": promise.record()})
        self.session = Session.open(ledger, price(ledger, promise), whole)
        try:
            self._running = Running(promise)
            self._load(self.session.state)
        except BaseException:
            self.session.leave()
            raise
        self._recent = deque([np.zeros(promise.dimension)], maxlen=1)

    def _load(self, sealed: bytes) -> None:
        if sealed:
            self._running.load(json.loads(sealed)["sums"])

    @property
    def releases(self) -> list[Release[Any]]:
        """All that was shown so far, in order; a bulk of steps is one release."""
        return self.session.releases

    def state(self) -> dict[str, Any]:
        """What is sealed with the next step."""
        return {"sums": self._running.state()}

    def _take(self, rows: NDArray[np.int64], details: dict[str, object]) -> Release[Any]:
        if why := self.session.over:
            msg = f"the stream of entry {self.session.number} {why}; nothing was added."
            raise LedgerError(msg)
        try:
            sums = self._running.extend(rows, self.session.bits())
            released = self._released(sums, details)
            self.session.append([released], state=json.dumps(self.state()).encode())
        except BaseException:
            # What is in memory is ahead of what was kept, and its bits are used: who goes on opens it again.
            self.session.leave()
            raise
        return charged(released, self.session.cost)

    def close(self) -> None:
        """Give the stream back, so that somebody else may go on with it."""
        self.session.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"KeptSum({self.promise.promise}, entry {self.session.number}, step {self.step})"

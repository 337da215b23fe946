"""A ledger that lives as long as its process."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.errors import LedgerError
from discreet.ledgers.ledger import Ledger
from discreet.ledgers.page import MemoryPage, MemoryStore
from discreet.ledgers.vaults import MemoryVault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from discreet.tables import Policy

__all__ = ["MemoryLedger"]


class MemoryLedger(Ledger):
    """A ledger in memory, for trying out and for tests: every rule holds, but only until the process ends.

    >>> from discreet.privacy import Pure
    >>> from discreet.ledgers import Entry
    >>> from discreet.tables import Policy
    >>> ledger = MemoryLedger(Policy([], epsilon=1))
    >>> _ = ledger.reserve(Pure("0.4"), Entry("", ("visits",), analyst="ann"))
    >>> ledger.remaining, len(list(ledger.entries())), ledger.verify().ok
    (Pure(epsilon=0.6), 2, True)
    """

    def __init__(self, policy: Policy | None = None, *, export: Iterable[str] | None = None) -> None:
        self._store = MemoryStore()
        self._vault = MemoryVault()
        self._process = os.getpid()
        self._lock = threading.RLock()
        super().__init__(policy, name="memory", export=export)

    def close(self) -> None:
        """Do nothing: what is in memory stays until nobody holds it."""

    def _settle(self) -> None:
        """Do nothing: memory is as durable as it gets."""

    @contextmanager
    def _page(self, *, write: bool) -> Iterator[MemoryPage]:
        if self._process != os.getpid():  # before the lock, which a thread of the parent may have held
            msg = (
                "this process was forked from the one whose memory holds the ledger: both would spend the same budget. "
                "Nothing was spent. Keep the ledger in a file: ledger='hospital.ledger.sqlite'."
            )
            raise LedgerError(msg)
        with self._lock:
            page = MemoryPage(self._store)
            yield page
            if write:
                page.commit()

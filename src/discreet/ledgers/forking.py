"""What must hold when a process forks: nobody is in the middle of anything, and the child starts with free locks."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Protocol

__all__ = ["Forked", "Locked", "renew_lock", "rest_before"]

_PATIENCE = 0.05
"""For so many seconds a thread that forks waits for one ledger before it lets all others go and begins again."""


class Locked(Protocol):
    """Something with a lock of its own, which a child must find free."""

    _thread_lock: threading.RLock


class Forked(Locked, Protocol):
    """Something that must not be in use when the process forks."""

    def _put_aside(self) -> None:
        """Leave nothing open that a child must not inherit; the lock is held."""


class _Gate:
    """Let one thread fork at a time, with the locks of all that is known held until the child is there.

    Each fork lets go what itself holds: another thread's may be under way. The child is one thread, and of the locks
    that it inherits it cannot know who holds them; so it gets new ones.
    """

    def __init__(self) -> None:
        self._known: weakref.WeakSet[Forked] = weakref.WeakSet()
        self._turn = threading.RLock()
        self._new_locks: weakref.WeakSet[Locked] = weakref.WeakSet()
        self._held: list[tuple[int, list[Forked]]] = []  # by the thread that has the turn, for each fork of its own

    def add(self, ledger: Forked) -> None:
        with self._turn:
            self._known.add(ledger)
            self._new_locks.add(ledger)

    def add_lock(self, ledger: Locked) -> None:
        with self._turn:
            self._new_locks.add(ledger)

    def before(self) -> None:
        while not self._hold_all():
            time.sleep(_PATIENCE / 10)  # the other thread may be about to fork as well

    def _hold_all(self) -> bool:
        """Take the turn and all locks, or nothing: a thread that holds one of them may wait for the turn."""
        held: list[Forked] = []
        self._turn.acquire()
        try:
            for ledger in list(self._known):
                if not ledger._thread_lock.acquire(timeout=_PATIENCE):  # noqa: SLF001 - what the protocol is for
                    self._let_go(held)
                    return False
                held.append(ledger)
            for ledger in held:
                ledger._put_aside()  # noqa: SLF001 - likewise
        except BaseException:  # an interrupt: Python forks all the same, and there is nothing to undo then
            self._let_go(held)
            raise
        self._held.append((threading.get_ident(), held))
        return True

    def _let_go(self, held: list[Forked]) -> None:
        for ledger in held:
            ledger._thread_lock.release()  # noqa: SLF001 - likewise
        self._turn.release()

    def after_in_parent(self) -> None:
        if self._held and self._held[-1][0] == threading.get_ident():  # else an interrupt came before
            self._let_go(self._held.pop()[1])

    def after_in_child(self) -> None:
        self._turn = threading.RLock()
        self._held.clear()
        for ledger in list(self._new_locks):
            ledger._thread_lock = threading.RLock()  # noqa: SLF001 - likewise


_GATE = _Gate()


def rest_before(ledger: Forked) -> None:
    """Put something aside before every fork from now on, as long as it lives; a child finds its lock free.

    >>> import threading
    >>> class Quiet:
    ...     def __init__(self):
    ...         self._thread_lock = threading.RLock()
    ...     def _put_aside(self):
    ...         pass
    >>> rest_before(Quiet())
    """
    _GATE.add(ledger)


def renew_lock(ledger: Locked) -> None:
    """Give a forked child a new lock for something that its parent may go on using.

    >>> class Shared:
    ...     _thread_lock = threading.RLock()
    >>> renew_lock(Shared())
    """
    _GATE.add_lock(ledger)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_GATE.before, after_in_parent=_GATE.after_in_parent, after_in_child=_GATE.after_in_child)

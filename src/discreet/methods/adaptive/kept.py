"""What the sessions of this package share: answers that are kept before they are shown, and found again by name."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.exact import shown
from discreet.ledgers import Session
from discreet.ledgers.charging import charged
from discreet.ledgers.forking import renew_lock
from discreet.ledgers.pricing import price

if TYPE_CHECKING:
    from typing import Self

    from discreet.ledgers import Entry, Ledger
    from discreet.mechanisms import AboveThreshold
    from discreet.mechanisms.promise import Promise
    from discreet.mechanisms.release import Release
    from discreet.noise import BitSource

__all__ = ["Barred", "Kept", "read_name"]


def read_name(name: str) -> str:
    """Read the name of a question, by which its answer is found again.

    >>> read_name("more than 100 in ward b?")
    'more than 100 in ward b?'
    """
    if not isinstance(name, str) or not name.strip():
        msg = f"name is {shown(name)}; it must be a text that says what is asked: its answer is found again by it."
        raise ParameterError(msg)
    return name


class Kept(ABC):
    """A session that answers question after question: the whole cost is taken at its opening.

    Each answer is written to the ledger together with the private state that belongs to it, and only then shown. Who
    opens the session again, in this process or another, goes on with the noisy threshold that was drawn, and a question
    that was answered is shown its answer again. What a crash cut off was shown to nobody, and is drawn as it was.

    >>> Kept.__init__.__doc__
    'Open it, or go on with it.'
    """

    def __init__(self, promise: Promise[Any], ledger: Ledger, entry: Entry) -> None:
        """Open it, or go on with it."""
        self._thread_lock = threading.RLock()
        """Held while an answer is kept; who holds it from the bits of an answer on is not refused for other threads."""
        self._mine = threading.local()
        renew_lock(self)
        self.session = Session.open(ledger, price(ledger, promise), entry)
        try:
            self.answers: list[Release[Any]] = self.session.releases
        except BaseException:
            self.session.leave()
            raise
        named = [(answer.details.get("question"), answer) for answer in self.answers]
        self._by_name = {str(name): answer for name, answer in named if name}

    @property
    @abstractmethod
    def left(self) -> int:
        """How many of the answers that cost something are left."""

    def find(self, name: str) -> Release[Any] | None:
        """Give the answer of a question that was asked before."""
        return self._by_name.get(name)

    def bits(self, *, left: int, more: str) -> BitSource:
        """Give the bits of the next answer, or say that the session is over.

        `left` is what the caller saw; what another thread was told since counts as well.
        """
        self._mine.asked = len(self.answers)
        if not min(left, self.left):
            msg = f"this session has told all that it may, and its state is forgotten. {more}"
            raise BudgetError(msg)
        if why := self.session.over:
            msg = f"the session of entry {self.session.number} {why}. {more}"
            raise LedgerError(msg)
        return self.session.bits()

    def state(self) -> dict[str, int]:
        """What was sealed last: noisy thresholds by name, in steps."""
        sealed = self.session.state
        read: dict[str, int] = json.loads(sealed) if sealed else {}
        return read

    def keep(self, answer: Release[Any], state: dict[str, int], *, last: bool) -> Release[Any]:
        """Write an answer with the state after it, and only then give it; after the last one the state is forgotten."""
        with self._thread_lock:
            if getattr(self._mine, "asked", None) != len(self.answers):  # both might be the last that was paid for
                msg = "another thread asked meanwhile; nothing was told, and nothing is charged. Ask again."
                raise LedgerError(msg)
            self.session.append([answer], state=json.dumps(state).encode())
            kept = charged(answer, self.session.cost, self.session.whole)
            self.answers.append(kept)
        if name := answer.details.get("question"):
            self._by_name[str(name)] = kept
        if last:
            self.session.close()
        return kept

    def close(self) -> None:
        """Give the session back, so that somebody else may go on with it."""
        self.session.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class Barred(Kept):
    """A session that compares with a noisy threshold, drawn once before the first answer that it belongs to.

    >>> Barred.bar.__doc__
    'The noisy threshold, drawn once, before the first answer that is compared with it.'
    """

    def __init__(self, promise: Promise[Any], core: AboveThreshold, ledger: Ledger, entry: Entry) -> None:
        super().__init__(promise, ledger, entry)
        self._core = core
        self._bar: int | None = None

    def bar(self, bits: BitSource) -> int:
        """The noisy threshold, drawn once, before the first answer that is compared with it."""
        if self._bar is None:
            self._bar = self.state().get("bar")
        if self._bar is None:
            self._bar = self._core.bar(bits)
        return self._bar

    def keep_under(self, bar: int, answer: Release[Any], *, used_up: bool, last: bool) -> Release[Any]:
        """Keep an answer and the threshold that it was compared with; one that is used up is forgotten.

        Whoever asks holds the lock from `bar` on, so that no other thread compares with one that is used up.
        """
        with self._thread_lock:
            kept = self.keep(answer, {} if used_up else {"bar": bar}, last=last)
            self._bar = None if used_up else bar
        return kept

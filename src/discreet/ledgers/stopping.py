"""What is true of the budget when the user interrupts a release."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from discreet.privacy.currencies import Currency

__all__ = ["TAKING", "interruptible", "what_stays"]

TAKING = (
    "interrupted while the cost was being taken: it is spent as a whole or not at all, and the ledger says which "
    "(`discreet budget`, `Database.budget`)."
)
"""What is said where the ledger may have written the cost just before."""


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


def what_stays(taken: Sequence[tuple[Currency, Callable[[], object]]]) -> str:
    """Say after an interrupt which costs stay spent, and whether asking again is free.

    Each cost comes with a function that gives its recorded answer, or None.

    An answer that is recorded is shown again for nothing. Of one that is not there is nothing to show, and the noise
    that was drawn is gone: asked again, the question is a new one.

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

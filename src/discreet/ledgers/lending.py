"""Who may read rows on loan: whoever has paid for their tables and has no answer for it yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import LedgerError
from discreet.ledgers.records import require_reservation
from discreet.ledgers.rules import verified_tables
from discreet.ledgers.session import HELD, Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.ledgers.ledger import Ledger
    from discreet.ledgers.line import Line
    from discreet.ledgers.page import Page
    from discreet.ledgers.purse import Reservation

__all__ = ["require_paid"]


def require_paid(
    ledger: Ledger, paid: Reservation | Session, tables: Iterable[str], verified: Iterable[str] = ()
) -> None:
    """Refuse to lend rows of some tables, unless a reservation of this ledger that has no answer yet pays for them.

    `paid` is what `charge` gave to a method's `run`, the step of a session that is held here, or such a session. What
    counts is what the ledger's own entries say, not what the reservation says of itself.

    >>> from discreet.ledgers import Entry, MemoryLedger
    >>> from discreet.privacy import Pure
    >>> from discreet.tables import Policy
    >>> ledger = MemoryLedger(Policy([], epsilon=1))
    >>> paid = ledger.reserve(Pure(1), Entry("a histogram", ("visits",), kind="method"))
    >>> require_paid(ledger, paid, ["visits"])
    >>> require_paid(ledger, paid, ["patients"])
    Traceback (most recent call last):
    ...
    discreet.errors.LedgerError: entry 1 pays for visits, not for patients; nothing was read. Name them in its Entry.
    """
    if isinstance(paid, Session):
        paid._require_open()  # noqa: SLF001 - a session's own part
    else:
        require_reservation(paid)
    with ledger._page(write=False) as page:  # noqa: SLF001 - a ledger's own part
        ledger._require_policy(page, "")  # noqa: SLF001 - as above
        if not verified_tables(page).issuperset(verified):
            msg = (
                "the owner's check, on which these rows rely, was withdrawn; nothing was read. Open the database again."
            )
            raise LedgerError(msg)
        for line in _paying(ledger, page, paid):
            missing = sorted(set(tables) - set(line.body.get("tables", ())))
            if missing:
                named = ", ".join(line.body.get("tables", ())) or "no table"
                msg = (
                    f"entry {line.number} pays for {named}, not for {', '.join(missing)}; nothing was read. Name them "
                    "in its Entry."
                )
                raise LedgerError(msg)


def _paying(ledger: Ledger, page: Page, paid: Reservation | Session) -> list[Line]:
    """Give the entries that must pay: that of the reservation, and for a step that of its session as well."""
    line = page.line(paid.number)
    if line is None or not _is_own(ledger, page, paid, line):
        msg = f"entry {paid.number} is no reservation of this database's ledger; nothing was read. Pay for the rows."
        raise LedgerError(msg)
    if line.kind == "reserved" and not line.body.get("session"):
        if page.answer(line.number) is not None:
            msg = f"entry {line.number} has its answer already, and pays for nothing more; nothing was read."
            raise LedgerError(msg)
        return [line]
    number = line.number if line.kind == "reserved" else line.reservation
    opened = _held(ledger, page, number)
    if line.kind == "reserved":
        return [opened]
    if page.fact(f"answered {line.number}") is not None:
        msg = f"step {line.number} has its answer already, and pays for nothing more; nothing was read."
        raise LedgerError(msg)
    return [line, opened]


def _is_own(ledger: Ledger, page: Page, paid: Reservation | Session, line: Line) -> bool:
    """Whether an entry of this ledger stands behind what was given: heads of other ledgers have other hashes.

    A step that was begun before a crash is given again, with the head of the ledger as it was then.
    """
    if isinstance(paid, Session):
        return paid.belongs_to(ledger)
    number, _, stated = paid.head.partition(":")
    head = page.line(int(number)) if number.isdecimal() and len(number) < 19 else None
    if head is None or head.hash != stated:
        return False
    return head.number == line.number if line.kind == "reserved" else line.kind == "step" and head.number >= line.number


def _held(ledger: Ledger, page: Page, number: int | None) -> Line:
    """Give the entry that opened a session, if it is held here and goes on; else refuse."""
    held = HELD.get(ledger)
    session = None if held is None or number is None else held.get(number)
    if session is None:
        msg = f"the session of entry {number} is not held by this program; open it to go on."
        raise LedgerError(msg)
    session._require_open()  # noqa: SLF001 - a session's own part
    session._require_holder(page, "step")  # noqa: SLF001 - as above
    return session._opened  # noqa: SLF001 - as above

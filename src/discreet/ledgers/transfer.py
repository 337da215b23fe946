"""A ledger from an export: verified line by line, written only into an empty place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import LedgerError
from discreet.ledgers.line import Line
from discreet.ledgers.page import MemoryPage
from discreet.ledgers.rules import apply
from discreet.ledgers.verification import verified

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.ledgers.page import Page

__all__ = ["checked", "copy_into"]


def checked(export: Iterable[str]) -> list[Line]:
    """Read an export and check it as `verify` would; raise LedgerError with the first problem.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.tables import Policy
    >>> len(checked(MemoryLedger(Policy([], epsilon=1)).export()))
    1
    """
    lines = [Line.from_json(text) for text in export if text.strip()]
    page = MemoryPage.empty()
    copy_into(page, lines)
    page.commit()
    found = verified(page, [])
    if not found.ok:
        msg = f"the export is not a whole ledger: {found.problems[0]} Export it again."
        raise LedgerError(msg)
    return lines


def copy_into(page: Page, lines: Iterable[Line]) -> None:
    """Write entries with their hashes as they are, and the sums that follow.

    >>> page = MemoryPage.empty()
    >>> copy_into(page, [])
    >>> page.state()
    """
    if page.state() is not None:
        msg = "the ledger to import into is not empty; give a new one. Ledgers are never merged."
        raise LedgerError(msg)
    for line in lines:
        try:
            apply(line, page)
        except (KeyError, TypeError, ValueError):
            msg = f"entry {line.number} of the export is not what a ledger writes. Export it again."
            raise LedgerError(msg) from None
        page.append(line)
